//===- ArtifactTable.h - What is written in an artifact ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The facts of an artifact's table that people ask for, as plain data: what
/// `kpc inspect` prints and `kpc bench` puts beside its times.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_ARTIFACTTABLE_H
#define KPC_TOOLS_KPC_ARTIFACTTABLE_H

#include "compiler/diagnostics/Diagnostics.h"
#include "dialects/shape/Expr.h"

#include <optional>

namespace kpc::cli {

/// A tensor map of where a kernel may be launched first, for the dims asked
/// about. Lists
/// are in the order of the dims, innermost first; -1: cannot be computed.
struct TensorMapFacts {
  std::string Buffer, Element, Mode;
  std::vector<int64_t> Dims, Strides, Box, Traversal, Lower, Upper;
  int Swizzle = 0, Promotion = 0; ///< bytes
  unsigned Channels = 0, Pixels = 0;
};

struct KernelFacts {
  std::string Symbol, Name, Family, Precision;
  /// What its schedule's cost model expected, in words that begin with
  /// microseconds; empty: it has none.
  std::string Expected;
  std::vector<std::string> Nodes;
  std::vector<TensorMapFacts> TensorMaps;
  int Registers = -1, SpillBytes = -1; ///< -1: not known
  /// Of a kernel for a part of the sizes: which they are where it may be
  /// launched first. Empty: of all others.
  std::string Where;
  size_t Launches = 0; ///< for the dims asked about
};

/// One launch of the plan.
struct LaunchFacts {
  size_t Kernel = 0; ///< for the dims asked about
  /// Nothing reads what it writes for these dims.
  bool LeftOut = false;
  std::string Name; ///< for people
  std::vector<std::string> Nodes;
  /// What it computes, for people; see artifact.fbs. Empty in older artifacts.
  std::string Kind, Title, Scope;
  /// Floating-point operations, as an expression over the dims; empty: not
  /// known.
  std::string FlopsText;
  /// For the dims asked about, of all iterations of the loops around it; each
  /// tensor counts once in each.
  std::optional<int64_t> Flops, Bytes;
};

/// A loop or branch of the plan. Steps are counted from 0.
struct ControlFacts {
  bool IsLoop = true;
  size_t First = 0, Else = 0, End = 0; ///< `End` is behind the last
  std::string CountText, Condition; ///< a condition ends a loop before `Count`
  std::optional<int64_t> Count;     ///< for the dims asked about
  /// On GPUs: why its condition is read back rather than being a node of a
  /// graph. Null if it is one, or has no condition.
  const char *ReadBack = nullptr;
};

/// An intermediate value: from the start of its first step to the end of its
/// last one it has memory.
struct ValueFacts {
  std::string Name;
  size_t FirstStep = 0, LastStep = 0;
  uint64_t Bytes = 0; ///< aligned
};

struct TargetFacts {
  std::string Name;
  bool Gpu = false;
  int32_t LeastDriver = 0; ///< 12040 is CUDA 12.4; 0: any
  size_t Steps = 0, Copies = 0;
  uint64_t ImageBytes = 0, PtxBytes = 0, WeightBytes = 0;
  std::vector<KernelFacts> Kernels;
  std::vector<LaunchFacts> Launches;
  std::vector<ControlFacts> Controls;
  /// Of each step: its launch, if it is one, and the steps that it waits for.
  std::vector<std::optional<size_t>> LaunchOfStep;
  std::vector<std::vector<size_t>> Waits;
  /// For the dims asked about: the largest sum of intermediate values that
  /// live at once, and what they take without any reuse. None where a size
  /// cannot be computed.
  std::optional<uint64_t> LiveBytes, ValueBytes;
  // Empty where LiveBytes is none.
  std::vector<ValueFacts> Values;
  std::vector<uint64_t> LiveByStep;
};

/// What the compiler said of fusions and of patterns that it knows, a sentence
/// each.
struct RemarkFacts {
  std::vector<std::string> Made, Refused;
};

struct WeightFacts {
  std::string Name;
  std::string Type; ///< "f32[64,128]"
  uint64_t Bytes = 0;
};

struct ArtifactFacts {
  uint64_t FileBytes = 0, WeightBytes = 0;
  size_t Weights = 0;
  int FormatMajor = 0, FormatMinor = 0;
  /// The key that it says it is signed with; empty: none.
  std::string SignedBy;
  std::vector<TargetFacts> Targets;
  /// Shared objects of custom operators: names and bytes in the file.
  std::vector<std::pair<std::string, uint64_t>> Libraries;
  std::vector<WeightFacts> WeightList; ///< the largest first
  std::vector<std::pair<std::string, std::string>> Provenance;
  // Not among the provenance's properties here:
  RemarkFacts Remarks;
  std::string PrecisionTable; ///< what --precision auto found; or empty
  /// Dims of the model's that are none of the artifact's, and what they are.
  std::vector<std::pair<std::string, std::string>> TakenDims;
  /// What the model's maker says of it: class names, dictionaries.
  std::vector<std::pair<std::string, std::string>> Metadata;
  /// Why dims must be as the artifact says, by name.
  std::vector<std::pair<std::string, std::string>> Reasons;
};

/// Reads the table of a file that the runtime has loaded already, so that
/// nothing is wrong with it.
std::optional<ArtifactFacts> readFacts(const std::string &Path,
                                       const shape::Bindings &Dims,
                                       Diagnostics &Diags);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_ARTIFACTTABLE_H
