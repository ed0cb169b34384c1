//===- CompileJson.cpp - compile --json -----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/CompileJson.h"

#include "tools/kpc/Json.h"

namespace kpc::cli {

static Json targetJson(const TargetReport &T) {
  Json J;
  J["name"] = T.Name;
  J["kernels"] = T.Kernels;
  J["launches"] = T.Launches;
  J["cache_hits"] = T.CacheHits;
  J["code_bytes"] = T.CodeBytes;
  J["added_weight_bytes"] = T.AddedWeightBytes;
  return J;
}

void printCompileJson(const CompileOptions &Options,
                      const CompileReport &Report, const Diagnostics &Diags,
                      double Seconds) {
  Json J;
  J["model"] = Options.Model;
  J["output"] = Options.Output;
  J["compiled"] = Report.Ok && !Diags.hasErrors();
  J["bytes"] = Report.ArtifactBytes;
  J["weight_bytes"] = Report.WeightBytes;
  J["seconds"] = Seconds;
  J["peak_memory_bytes"] = Report.PeakMemoryBytes;
  J["targets"] = Json::array();
  for (const TargetReport &T : Report.Targets)
    J["targets"].push_back(targetJson(T));
  J["phases"] = Json::array();
  for (const auto &[Phase, Spent] : Report.Timing)
    J["phases"].push_back({{"name", Phase}, {"seconds", Spent}});
  J["notes"] = Report.Notes;
  J["slow_paths"] = Report.SlowPaths;
  if (!Options.PrecisionTable.empty())
    J["precision_table"] = Options.PrecisionTable;
  if (Report.Internal) {
    J["reproducer"] = Report.Reproducer;
    J["replay"] = Report.ReplayCommand;
  }
  // Its own writer is the one of `check --json`.
  J["diagnostics"] = Json::parse(Diags.json());
  printJsonText(J);
}

} // namespace kpc::cli
