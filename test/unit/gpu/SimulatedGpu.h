//===- SimulatedGpu.h - Runs a built GPU kernel on the CPU ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a builder made (a gpu.func) is compiled for the CPU, each GPU thread
/// being a fiber: a thread runs until it waits at a barrier or a shuffle. This
/// checks indices, bounds and synchronisation of builders where there is no
/// GPU; of the way from there to machine code it says nothing.
///
/// Stricter than the hardware: all threads of a block must meet at the same
/// barrier, all lanes of a warp at the same shuffle; shared memory starts as
/// NaNs; threads can be run backwards, which shows missing barriers.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_GPU_SIMULATEDGPU_H
#define KPC_TEST_UNIT_GPU_SIMULATEDGPU_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm::orc {
class LLJIT;
}

namespace kpc::testing {

class SimulatedKernel {
public:
  /// Compiles the one kernel of `Module`, which is left as it was.
  static std::unique_ptr<SimulatedKernel> create(mlir::gpu::GPUModuleOp Module,
                                                 std::string &Error);
  ~SimulatedKernel();

  /// Runs all blocks of `Grid`. Empty, or what went wrong.
  std::string run(const std::vector<uint64_t> &Parameters,
                  const std::array<int64_t, 3> &Grid, bool Backwards);

  std::array<int32_t, 3> Block;
  int64_t Barriers = 0; ///< passed so far

private:
  SimulatedKernel();
  std::unique_ptr<llvm::orc::LLJIT> Jit;
  void (*Entry)(const uint64_t *) = nullptr;
  std::vector<int64_t> SharedBytes;
};

} // namespace kpc::testing

#endif // KPC_TEST_UNIT_GPU_SIMULATEDGPU_H
