//===- Limits.h - What a kernel waits for -----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_REPORT_LIMITS_H
#define KPC_TOOLS_KPC_REPORT_LIMITS_H

#include "tools/kpc/ArtifactTable.h"
#include "tools/kpc/report/Peaks.h"

namespace kpc::cli {

/// A step with what the artifact says of it.
struct ReportStep {
  const StepTime *Time = nullptr;
  const LaunchFacts *Launch = nullptr; ///< none: a copy or a fill
  const KernelFacts *Kernel = nullptr;
  bool Gpu = false;
};

/// Kernels on tensor cores are named after the schedule that built them.
bool usesTensorCores(const KernelFacts *K);

/// Microseconds at the peak rates; 0 where they are not known.
struct Bounds {
  double Memory = 0, Compute = 0;
  double least() const { return std::max(Memory, Compute); }
};
Bounds boundsOf(const ReportStep &S, const Peaks &P);

/// What the figures say of why a step takes as long as it does.
struct Limit {
  /// "memory", "cache", "arithmetic", "launch", "latency", "scalar", "spills",
  /// "copy", "not known".
  std::string Name;
  std::string Why; ///< a sentence
  std::string Try; ///< a sentence; empty: there is nothing to change
};
Limit limitOf(const ReportStep &S, const Bounds &B);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_REPORT_LIMITS_H
