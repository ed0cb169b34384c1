//===- CompileReport.h - What a compilation tells ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The results of a compilation, for people: the text of `--emit`, schedules
/// and the reasons for them, sizes and times. Plain data; errors are in
/// Diagnostics.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_COMPILEREPORT_H
#define KPC_COMPILER_COMPILEREPORT_H

#include "compiler/Remarks.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kpc {

/// The schedules that a kernel's builder chose from, for --explain.
struct KernelSchedules {
  std::string Target, Kernel;
  std::string Chosen;
  bool Forced = false; ///< by the user
  /// For a variant, the sizes that it is for.
  std::string Where;
  /// The sizes for which costs are printed, and for which the schedule was
  /// chosen. Empty if all are known.
  std::string At;
  /// The best first, each with the parts of its cost.
  std::vector<std::string> Costs;
};

struct TargetReport {
  std::string Name;
  size_t Kernels = 0; ///< distinct ones
  size_t Launches = 0;
  size_t CacheHits = 0;
  size_t Assembled = 0; ///< cubins made
  uint64_t CodeBytes = 0;
  /// Bytes that this target adds to the artifact: weights that no earlier
  /// target uses.
  uint64_t AddedWeightBytes = 0;
};

/// An output that was added for calibration.
struct WatchedResult {
  std::string Output;
  /// The nodes that multiply by it, each with "gemm" or "conv".
  std::vector<std::pair<std::string, std::string>> Of;
};

/// A node that got a switch, and the types it can have; the first is what 1
/// stands for.
struct SwitchedNode {
  std::string Node;
  std::vector<std::string> Types; ///< "int8", "fp8"
};

/// A launch of a GPU target's plan, and the estimated time of its best schedule
/// at the optimum sizes.
struct LaunchEstimate {
  std::string Target;
  bool Multiplies = false; ///< its root is a GEMM, a convolution or attention
  int64_t Products = 0;    ///< GEMMs of it; a gate has two
  std::vector<std::string> Nodes;
  double Microseconds = 0;
};

struct CompileReport {
  bool Ok = false;
  /// A fault of kpc's own rather than of the input: exit code 70.
  bool Internal = false;
  /// Internal: the file that reproduces it and the command that replays it.
  std::string Reproducer, ReplayCommand;
  /// Emit: the written texts, by file name ("model.graph.mlir").
  std::vector<std::pair<std::string, std::string>> Emitted;
  std::vector<std::string> Notes; ///< for the user: "sm_90 means sm_90a"
  std::vector<TargetReport> Targets;
  std::vector<Remark> Remarks;
  std::vector<KernelSchedules> Schedules;
  std::vector<WatchedResult> Watched;
  std::vector<SwitchedNode> Switches;
  std::vector<LaunchEstimate> Estimates;
  /// Arithmetic that does not run on Tensor Cores: a paragraph each.
  std::vector<std::string> SlowPaths;
  uint64_t ArtifactBytes = 0, WeightBytes = 0;
  /// Seconds by phase, in order.
  std::vector<std::pair<std::string, double>> Timing;
  uint64_t PeakMemoryBytes = 0; ///< of this process and its workers
};

} // namespace kpc

#endif // KPC_COMPILER_COMPILEREPORT_H
