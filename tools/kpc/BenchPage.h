//===- BenchPage.h - What bench found, as one page of HTML ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_BENCHPAGE_H
#define KPC_TOOLS_KPC_BENCHPAGE_H

#include "tools/kpc/ArtifactTable.h"
#include "tools/kpc/Bench.h"

namespace kpc::cli {

/// One artifact that was measured, and what its table says of the target.
struct PageSide {
  BenchOptions Options;
  BenchResult Result;
  TargetFacts Facts;
  RemarkFacts Remarks;
};

/// The page holds all it needs. `Sides`: the artifact, and perhaps another to
/// stand beside it.
std::string benchPage(const std::vector<PageSide> &Sides);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_BENCHPAGE_H
