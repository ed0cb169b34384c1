//===- CompileKernel.h - One GPU kernel, from linalg form to PTX *- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a worker process does with one kernel for one GPU target: builder,
/// lowering, PTX. Ptxas.h makes the cubin of it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_NVPTX_COMPILEKERNEL_H
#define KPC_CODEGEN_NVPTX_COMPILEKERNEL_H

#include "codegen/artifact/TensorMap.h"
#include "codegen/nvptx/Nvptx.h"
#include "codegen/nvptx/Ptxas.h"
#include "compiler/target/Target.h"
#include "mlir/IR/BuiltinOps.h"

#include <array>

namespace kpc::nvptx {

struct CompiledKernel {
  std::string Symbol;
  std::string Ptx;
  /// Blocks, as expressions of dialects/shape over `argN` and `sm_count`, the
  /// multiprocessors of the device.
  std::array<std::string, 3> Grid;
  std::array<int32_t, 3> Block = {1, 1, 1};
  int64_t SharedBytes = 0;     ///< dynamic; static shared memory is the cubin's
  bool NoEarlyStart = false;   ///< begins when earlier kernels have ended
  bool Cooperative = false;    ///< the whole grid runs at once
  std::vector<int64_t> Unread; ///< buffers that it neither reads nor writes
  std::string Schedule;        ///< what the builder chose
  /// What it had to choose from, with the parts of the costs.
  std::vector<std::string> ScheduleCosts;
  /// Parameters after the kernel's arguments: see TensorMapAttr.h.
  std::vector<artifact::KernelTensorMap> TensorMaps;
};

/// Compiles the one kernel of `Module`, a func.func in linalg form or a
/// gpu.module that a builder has left; it is lowered in place. Failure after a
/// diagnostic.
mlir::FailureOr<CompiledKernel>
buildAndCompileGpuKernel(mlir::ModuleOp Module, const target::Target &T,
                         const GpuListings &Listings = {});

} // namespace kpc::nvptx

#endif // KPC_CODEGEN_NVPTX_COMPILEKERNEL_H
