//===- Report.h - A run of an artifact as one page of HTML ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The page holds all it needs: data as JSON, and the scripts and styles of
/// this folder, which are built in. It asks nothing of any network.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_REPORT_REPORT_H
#define KPC_TOOLS_KPC_REPORT_REPORT_H

#include "tools/kpc/ArtifactTable.h"
#include "tools/kpc/Bench.h"
#include "tools/kpc/Json.h"
#include "tools/kpc/report/Peaks.h"

namespace kpc::cli {

/// Where the times of a page are from.
enum class TimeSource { Measured, Emulated, Recorded, Modelled };

/// One artifact with its times, and what its table says of the target.
struct ReportSide {
  std::string Artifact;
  BenchResult Result;
  TargetFacts Facts;
  RemarkFacts Remarks;
  Peaks Best;
  TimeSource Source = TimeSource::Measured;
  std::string RecordedIn; ///< the file, for TimeSource::Recorded
};

/// What the compiler said of work of `Target` that misses the Tensor Cores,
/// with the way out: a text for each reason, "93% of the arithmetic …".
std::vector<std::string> slowPathsOf(const ArtifactFacts &Facts,
                                     const std::string &Target);

/// What the artifact's table says, for the target and dims of the result.
std::optional<ReportSide> reportSide(const std::string &Artifact,
                                     BenchResult Result, Diagnostics &Diags);

/// What each step could take at the chip's peak rates, where these are known
/// and a chip was measured.
void setRooflines(BenchResult &R, const ArtifactFacts &Facts);

/// Of the steps of a target for these dims, what the cost models of their
/// schedules say, or the peak rates and a launch. None, with a diagnostic, for
/// a target without peak rates.
std::optional<BenchResult> modelledTimes(const TargetFacts &T,
                                         const shape::Bindings &Dims,
                                         Diagnostics &Diags);
/// What `kpc bench --json` wrote of the same target, dims and steps.
std::optional<BenchResult> recordedTimes(const std::string &Path,
                                         const TargetFacts &T,
                                         const shape::Bindings &Dims,
                                         Diagnostics &Diags);

/// The target that they say they are of; empty: none.
std::string targetOfTimes(const std::string &Path);

Json reportData(const std::vector<ReportSide> &Sides);
/// `Sides`: the artifact, and perhaps another to stand beside it.
std::string reportPage(const std::vector<ReportSide> &Sides);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_REPORT_REPORT_H
