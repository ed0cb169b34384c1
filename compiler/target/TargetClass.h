//===- TargetClass.h - Targets that share a plan ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A plan is made once for each class of targets. Precision, fusion and layout
/// ask a target what it can do (Capabilities), how much fits (Limits) and how
/// fast it is (the rates of Costs); targets that answer alike get the same plan
/// and share it. So a target's plan does not depend on what else is compiled.
/// Instruction sets and rates of 4 and 8 bits differ within a class: they
/// concern code generation and the choice of schedules, which are each
/// target's own.
///
///   classesOf({sm_90a, sm_100a, sm_103a, host}):
///     {sm_90a}, {sm_100a, sm_103a}, {host:x86-64-v3}
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_TARGET_TARGETCLASS_H
#define KPC_COMPILER_TARGET_TARGETCLASS_H

#include "compiler/target/Target.h"

namespace kpc::target {

struct TargetClass {
  /// In the order in which they were named; never empty.
  std::vector<const Target *> Targets;

  const Target &first() const { return *Targets.front(); }
  bool isGpu() const { return first().isGpu(); }
  bool contains(const Target &T) const;
  /// The names of its targets: "sm_100a+sm_103a". Colons become dashes, so
  /// that it can be part of a file's name.
  std::string name() const;
};

/// Whether kernels on tensor cores multiply FP8, faster than floats.
bool multipliesFp8(const Target &T);
/// Whether those that are faster read whole rows of 16 bytes alone, as TMA
/// copies them: by wgmma and tcgen05.
bool copiesRowsOfFp8(const Target &T);
/// Whether kernels on tensor cores multiply codes with block scales (MXFP8,
/// MXFP4, NVFP4): by mma.sync or tcgen05.
bool multipliesBlocks(const Target &T);
/// Whether kernels on tensor cores multiply integers of 8 bits.
bool multipliesInt8(const Target &T);
/// Whether that is faster than floats: not by mma.sync where there is tcgen05.
bool prefersInt8(const Target &T);

/// Whether passes that plan cannot tell the two apart.
bool sharePlan(const Target &A, const Target &B);

/// The classes of `All`, by their first targets.
std::vector<TargetClass> classesOf(std::span<const Target *const> All);

} // namespace kpc::target

#endif // KPC_COMPILER_TARGET_TARGETCLASS_H
