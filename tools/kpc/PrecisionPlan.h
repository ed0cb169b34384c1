//===- PrecisionPlan.h - A type for each layer, as text ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What --precision-plan reads and --precision-plan-out writes, made to be
/// edited and committed:
///
///   # what it was made of
///   * fp16                      what values are stored in
///   encoder.layer.0.fc1 int8    # 3.2 us, 41.5 dB
///
/// A name is all in front of the last word, so that it may hold blanks.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_PRECISIONPLAN_H
#define KPC_TOOLS_KPC_PRECISIONPLAN_H

#include "compiler/CompileOptions.h"
#include "compiler/diagnostics/Diagnostics.h"

namespace kpc::cli {

/// Each line becomes a pattern in front of those of --precision-for, so that
/// these count. False after errors, which name the lines.
bool usePrecisionPlan(const std::string &Path, CompileOptions &Options,
                      Diagnostics &Diags);

/// The pattern that matches the name and nothing else.
std::string patternOf(const std::string &Name);

struct PlannedLayer {
  std::string Node, Type, Comment;
};
std::string planText(const std::vector<std::string> &Head,
                     const std::string &Stored,
                     const std::vector<PlannedLayer> &Layers);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_PRECISIONPLAN_H
