//===- KernelUses.h - What the launches of kernels are for ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_KERNELS_KERNELUSES_H
#define KPC_COMPILER_KERNELS_KERNELUSES_H

#include "dialects/plan/Plan.h"
#include "llvm/ADT/SetVector.h"

#include <map>

namespace kpc {

/// All that a kernel, which several launches may share, computes.
struct KernelUse {
  std::string Name; ///< of the first launch: what people are shown
  llvm::SetVector<llvm::StringRef> Nodes;
};
using KernelUses = std::map<std::string, KernelUse>; ///< by symbol

/// What the launches of each kernel are for. Several kernels may be of one
/// node: those behind the first have the number that their symbols have.
KernelUses kernelUses(plan::ProgramOp Program);

} // namespace kpc

#endif // KPC_COMPILER_KERNELS_KERNELUSES_H
