//===- KernelRecords.h - What kernels are to an artifact --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parts of an artifact's tables that follow from a kernel or a target alone,
/// whatever plan it is launched by.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_ARTIFACT_KERNELRECORDS_H
#define KPC_COMPILER_ARTIFACT_KERNELRECORDS_H

#include "codegen/artifact/Contents.h"
#include "compiler/kernels/KernelJob.h"
#include "compiler/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <map>

namespace kpc {

/// What kernels call the multiprocessors of the device in their sizes.
inline constexpr const char *MultiprocessorsSymbol = "sm_count";

void describeTarget(artifact::Target &T, const target::Target &From);

/// Whether Tensor Cores round f32 that the kernel reads: its PTX multiplies
/// tf32, and its linalg form allows that.
bool roundsToTf32(mlir::func::FuncOp Kernel, const CompiledKernel &Compiled);

/// What a kernel reads and writes: "f32", "f16 -> f32", "tf32 -> f32"; of f32
/// that is multiplied as sums of two numbers of tf32, "3xtf32 -> f32".
std::string precisionOf(mlir::func::FuncOp Kernel,
                        const CompiledKernel &Compiled);

/// The values of a kernel's arguments, which are called `arg0`, `arg1`, ….
using ArgumentSizes = std::map<std::string, shape::Expr, std::less<>>;

/// An expression over `argN` as one over the artifact's symbols.
llvm::Expected<shape::Expr> substituted(const std::string &Text,
                                        const ArgumentSizes &Args);

/// The parameter that follows those of `L`: a tensor map of one of its buffers.
llvm::Expected<artifact::Param>
tensorMapParam(const artifact::KernelTensorMap &Asked,
               const artifact::Launch &L, const ArgumentSizes &Args);

/// Whether a size of the kernel depends on the device's multiprocessors.
bool usesMultiprocessors(const CompiledKernel &Kernel);

} // namespace kpc

#endif // KPC_COMPILER_ARTIFACT_KERNELRECORDS_H
