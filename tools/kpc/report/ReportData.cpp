//===- ReportData.cpp - What the page of a report knows -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/report/LaunchName.h"
#include "tools/kpc/report/Limits.h"
#include "tools/kpc/report/Report.h"

namespace kpc::cli {

static const char *sourceName(TimeSource S) {
  switch (S) {
  case TimeSource::Measured:
    return "measured";
  case TimeSource::Emulated:
    return "emulated";
  case TimeSource::Recorded:
    return "recorded";
  case TimeSource::Modelled:
    return "modelled";
  }
  return "";
}

static std::string sourceText(const ReportSide &S) {
  switch (S.Source) {
  case TimeSource::Measured:
    return "Each kernel's time is the median of 7 profiles, taken one kernel "
           "at a time.";
  case TimeSource::Emulated:
    return "Times are the emulator's, on a processor: they say nothing of a "
           "GPU.";
  case TimeSource::Recorded:
    return "Times were measured earlier, and read from " + S.RecordedIn + ".";
  case TimeSource::Modelled:
    return "Nothing was run. Times are what the cost models of the kernels' "
           "schedules expect, or the chip's peak rates and a launch.";
  }
  return "";
}

static Json peaksJson(const Peaks &P) {
  Json Out = {{"of", P.Of}, {"gbps", P.GBps}, {"rates", Json::array()}};
  for (const Peaks::Rate &R : P.rates())
    Out["rates"].push_back({{"name", R.Name}, {"tflops", R.Tflops}});
  return Out;
}

static Json stepJson(const ReportSide &Side, size_t Number, const StepTime &T) {
  const TargetFacts &Facts = Side.Facts;
  ReportStep S;
  S.Time = &T;
  S.Gpu = Facts.Gpu;
  size_t Step = T.Step;
  if (Step < Facts.LaunchOfStep.size() && Facts.LaunchOfStep[Step]) {
    S.Launch = &Facts.Launches[*Facts.LaunchOfStep[Step]];
    S.Kernel = &Facts.Kernels[S.Launch->Kernel];
  }
  Bounds B = boundsOf(S, Side.Best);
  Limit L = limitOf(S, B);
  Json Out = {{"step", Step},          {"number", Number},
              {"us", T.Microseconds},  {"start", T.StartMicroseconds},
              {"bytes", T.Bytes},      {"flops", std::max<int64_t>(T.Flops, 0)},
              {"memory_us", B.Memory}, {"compute_us", B.Compute},
              {"limit", L.Name},       {"why", L.Why},
              {"try", L.Try}};
  Json Waits = Json::array();
  if (Step < Facts.Waits.size())
    for (size_t Earlier : Facts.Waits[Step])
      Waits.push_back(Earlier);
  Out["waits"] = std::move(Waits);
  if (!S.Launch) {
    Out["title"] = T.Name;
    Out["kind"] = "copy";
    Out["scope"] = "";
    Out["nodes"] = Json::array();
    return Out;
  }
  const LaunchFacts &Launch = *S.Launch;
  Out["title"] = Launch.Title.empty() ? Launch.Name
                                      : titleAt(Launch.Title, Side.Result.Dims);
  Out["kind"] = Launch.Kind.empty() ? "kernel" : Launch.Kind;
  Out["scope"] = Launch.Scope;
  ModulePlace Place = placeOfScope(Launch.Scope);
  Out["layer"] = Place.Layer;
  Out["place"] = Place.Rest;
  Out["nodes"] = Launch.Nodes;
  Out["kernel"] = S.Kernel->Name;
  Out["schedule"] = S.Kernel->Family;
  Out["types"] = S.Kernel->Precision;
  Out["tensor"] = Facts.Gpu && usesTensorCores(S.Kernel);
  if (!S.Kernel->Expected.empty())
    Out["expected"] = S.Kernel->Expected;
  if (S.Kernel->Registers >= 0)
    Out["registers"] = S.Kernel->Registers;
  if (S.Kernel->SpillBytes > 0)
    Out["spilled"] = S.Kernel->SpillBytes;
  return Out;
}

static Json sideJson(const ReportSide &Side) {
  const BenchResult &R = Side.Result;
  Json Out = {{"artifact", Side.Artifact},
              {"target", R.Target},
              {"gpu", Side.Facts.Gpu},
              {"device", R.Speed.Device.empty() ? R.Device : R.Speed.Device},
              {"dims", dimsText(R.Dims)},
              {"source", sourceName(Side.Source)},
              {"source_text", sourceText(Side)},
              {"peaks", peaksJson(Side.Best)},
              {"slow_paths", Side.Result.SlowPaths},
              {"fused", Side.Remarks.Made},
              {"not_fused", Side.Remarks.Refused}};
  if (!R.Latencies.empty()) {
    Out["latency_us"] = {{"p50", R.percentile(50) * 1e3},
                         {"p90", R.percentile(90) * 1e3},
                         {"p99", R.percentile(99) * 1e3}};
    Out["samples_per_second"] =
        R.runsPerSecond() * static_cast<double>(R.Batch);
    Out["bind_us"] = R.Host.bindMicroseconds();
  }
  Out["memory"] = {{"workspace", R.Memory.arena_bytes
                                     ? R.Memory.arena_bytes
                                     : Side.Facts.LiveBytes.value_or(0)},
                   {"least", Side.Facts.LiveBytes.value_or(0)},
                   {"without_reuse", Side.Facts.ValueBytes.value_or(0)},
                   {"weights", Side.Facts.WeightBytes}};
  Out["live"] = Side.Facts.LiveByStep;
  Out["values"] = Json::array();
  for (const ValueFacts &V : Side.Facts.Values)
    Out["values"].push_back({{"name", V.Name},
                             {"first", V.FirstStep},
                             {"last", V.LastStep},
                             {"bytes", V.Bytes}});
  Out["steps"] = Json::array();
  for (size_t I = 0; I < R.Steps.size(); ++I)
    Out["steps"].push_back(stepJson(Side, I, R.Steps[I]));
  return Out;
}

Json reportData(const std::vector<ReportSide> &Sides) {
  Json Out = {{"kpc", KPC_VERSION}, {"sides", Json::array()}};
  for (const ReportSide &S : Sides)
    Out["sides"].push_back(sideJson(S));
  return Out;
}

} // namespace kpc::cli
