//===- BenchReport.cpp - What bench found, as text and JSON ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Bench.h"
#include "tools/kpc/TextTable.h"

#include <algorithm>
#include <fstream>
#include <map>

namespace kpc::cli {

static std::string clocksText(const Clocks &C) {
  std::string Out = C.Device;
  if (C.Core)
    Out += fmt::format("{}{} MHz", Out.empty() ? "" : ", ", *C.Core);
  if (C.Memory)
    Out += fmt::format(", memory {} MHz", *C.Memory);
  return Out;
}

static std::string timeText(double Milliseconds) {
  if (Milliseconds < 1e-3)
    return fmt::format("{:.4g} ns", Milliseconds * 1e6);
  return Milliseconds < 1 ? fmt::format("{:.4g} us", Milliseconds * 1e3)
                          : fmt::format("{:.4g} ms", Milliseconds);
}

/// Microseconds in a column: to a nanosecond where they are few.
static std::string microsecondsText(double Value) {
  return Value < 1    ? fmt::format("{:.3f}", Value)
         : Value < 10 ? fmt::format("{:.2f}", Value)
                      : fmt::format("{:.1f}", Value);
}

static std::string rateText(double PerSecond) {
  return PerSecond < 1000 ? fmt::format("{:.4g}", PerSecond)
                          : fmt::format("{:.0f}", PerSecond);
}

/// "bound in 98.2 us (sizes 61.0, workspace 30.1, tensor maps 7.1), graph …"
static std::vector<std::vector<std::string>> hostRows(const HostCost &H) {
  const kpc_bind_times &B = H.Binding;
  std::vector<std::vector<std::string>> Rows;
  Rows.push_back(
      {"binding", fmt::format("{} us: sizes {}, workspace {}, tensor maps {}",
                              microsecondsText(H.bindMicroseconds()),
                              microsecondsText(B.sizes_us),
                              microsecondsText(B.workspace_us),
                              microsecondsText(B.descriptors_us))});
  if (H.graphMicroseconds() > 0)
    Rows.push_back(
        {"graph", fmt::format("recorded in {} us, instantiated in {} us",
                              microsecondsText(B.record_us),
                              microsecondsText(B.instantiate_us))});
  if (H.SamePointers && H.OtherPointers)
    Rows.push_back(
        {"call", fmt::format("{} us of the host, {} us with other pointers",
                             microsecondsText(*H.SamePointers),
                             microsecondsText(*H.OtherPointers))});
  return Rows;
}

static std::string percent(double Part, double Whole) {
  return Whole > 0 ? fmt::format("{:.1f}%", Part / Whole * 100) : "-";
}

/// All launches of a kernel, or one copy or fill.
struct KernelTimes {
  const StepTime *First;
  size_t Launches = 0;
  double Microseconds = 0, Roofline = 0;
  int64_t Bytes = 0, Flops = 0;
};

static std::vector<KernelTimes> timesByKernel(const std::vector<StepTime> &Of) {
  std::vector<KernelTimes> All;
  std::map<std::string, size_t> Known;
  for (const StepTime &S : Of) {
    auto [At, IsNew] = Known.try_emplace(S.Symbol, All.size());
    if (IsNew || S.Symbol.empty()) {
      At->second = All.size();
      All.push_back({&S});
    }
    KernelTimes &K = All[At->second];
    ++K.Launches;
    K.Microseconds += S.Microseconds;
    K.Roofline += S.RooflineMicroseconds.value_or(0);
    K.Bytes += S.Bytes;
    K.Flops += std::max<int64_t>(S.Flops, 0);
  }
  std::stable_sort(All.begin(), All.end(),
                   [](const KernelTimes &A, const KernelTimes &B) {
                     return A.Microseconds > B.Microseconds;
                   });
  return All;
}

static std::string kernelTable(const BenchResult &R) {
  constexpr size_t Shown = 20;
  double All = 0;
  for (const StepTime &S : R.Steps)
    All += S.Microseconds;
  std::vector<KernelTimes> Kernels = timesByKernel(R.Steps);
  TextTable Table("lrrrrrrl");
  Table.row({"kernel", "launches", "us", "share", "GB/s", "GFLOP/s",
             "of roofline", "nodes"});
  for (size_t I = 0; I < Kernels.size() && I < Shown; ++I) {
    const KernelTimes &K = Kernels[I];
    auto Rate = [&](int64_t Amount) {
      return K.Microseconds > 0
                 ? fmt::format("{:.1f}", static_cast<double>(Amount) /
                                             K.Microseconds / 1e3)
                 : std::string("-");
    };
    Table.row({printable(K.First->Name, 48), std::to_string(K.Launches),
               microsecondsText(K.Microseconds), percent(K.Microseconds, All),
               Rate(K.Bytes), K.Flops ? Rate(K.Flops) : "-",
               K.Roofline > 0 ? percent(K.Roofline, K.Microseconds) : "-",
               printable(K.First->Nodes, 60)});
  }
  std::string Out = fmt::format("kernels, one by one ({} us in all):\n",
                                microsecondsText(All)) +
                    Table.text();
  if (Kernels.size() > Shown)
    Out +=
        fmt::format("  and {} more; --json has all\n", Kernels.size() - Shown);
  return Out;
}

std::string benchText(const BenchOptions &Options, const BenchResult &R) {
  TextTable Table("ll");
  std::string Where = R.Device;
  if (std::string C = clocksText(R.Speed); !C.empty())
    Where += " (" + C + ")";
  Table.row({"target", R.Target});
  Table.row({"device", Where});
  if (R.Emulated)
    Table.row({"times", "the emulator's, on this processor: they say nothing "
                        "of a GPU"});
  if (!R.Dims.empty())
    Table.row({"dims", dimsText(R.Dims)});
  Table.row(
      {"runs", fmt::format("{} on {} {}", R.Latencies.size(), Options.Streams,
                           Options.Streams == 1 ? "stream" : "streams")});
  if (R.Device != "host")
    Table.row(
        {"transfers", Options.Transfers
                          ? "included: inputs from and outputs to the host"
                          : "none: inputs and outputs on the device"});
  Table.row({"latency",
             fmt::format("p50 {}  p90 {}  p99 {}  least {}  mean {}",
                         timeText(R.percentile(50)), timeText(R.percentile(90)),
                         timeText(R.percentile(99)), timeText(R.percentile(0)),
                         timeText(R.mean()))});
  std::string Rate = rateText(R.runsPerSecond()) + " runs/s";
  if (R.Batch > 1)
    Rate += ", " + rateText(R.runsPerSecond() * static_cast<double>(R.Batch)) +
            " samples/s";
  Table.row({"throughput", Rate});
  Table.row({"memory", fmt::format("{} workspace, {} weights",
                                   bytesText(R.Memory.arena_bytes),
                                   bytesText(R.Memory.weight_bytes))});
  for (std::vector<std::string> &Row : hostRows(R.Host))
    Table.row(std::move(Row));
  for (const std::string &Path : R.SlowPaths)
    Table.row({"slow path", Path});
  return Table.text() + kernelTable(R);
}

Json benchJson(const BenchOptions &Options, const BenchResult &R) {
  Json Out;
  Out["artifact"] = Options.Artifact;
  Out["model_digest"] = Options.ModelDigest;
  Out["target"] = R.Target;
  Out["device"] = R.Device;
  Out["device_name"] = R.Speed.Device;
  Out["emulated"] = R.Emulated;
  Out["slow_paths"] = R.SlowPaths;
  Out["clocks_mhz"] = Json::object();
  if (R.Speed.Core)
    Out["clocks_mhz"]["core"] = *R.Speed.Core;
  if (R.Speed.Memory)
    Out["clocks_mhz"]["memory"] = *R.Speed.Memory;
  Out["dims"] = Json::object();
  for (const auto &[Name, Value] : R.Dims)
    Out["dims"][Name] = Value;
  Out["streams"] = Options.Streams;
  Out["threads"] = Options.Choice.Threads;
  Out["transfers"] = Options.Transfers;
  Out["warmup"] = Options.Warmup;
  Out["runs"] = R.Latencies.size();
  Out["latency_ms"] = {{"p50", R.percentile(50)},   {"p90", R.percentile(90)},
                       {"p99", R.percentile(99)},   {"least", R.percentile(0)},
                       {"most", R.percentile(100)}, {"mean", R.mean()}};
  Out["runs_per_second"] = R.runsPerSecond();
  Out["samples_per_second"] = R.runsPerSecond() * static_cast<double>(R.Batch);
  Out["memory"] = {{"workspace_bytes", R.Memory.arena_bytes},
                   {"least_workspace_bytes", R.Memory.live_bytes},
                   {"value_bytes", R.Memory.value_bytes},
                   {"weight_bytes", R.Memory.weight_bytes},
                   {"staging_bytes", R.Memory.staging_bytes}};
  const kpc_bind_times &B = R.Host.Binding;
  Out["host_us"] = {{"bind", R.Host.bindMicroseconds()},
                    {"sizes", B.sizes_us},
                    {"workspace", B.workspace_us},
                    {"tensor_maps", B.descriptors_us},
                    {"record", B.record_us},
                    {"instantiate", B.instantiate_us}};
  if (R.Host.SamePointers && R.Host.OtherPointers) {
    Out["host_us"]["call"] = *R.Host.SamePointers;
    Out["host_us"]["call_other_pointers"] = *R.Host.OtherPointers;
  }
  Out["kernels"] = Json::array();
  for (const StepTime &S : R.Steps) {
    Json K = {{"name", S.Name},
              {"us", S.Microseconds},
              {"bytes", S.Bytes},
              {"nodes", S.Nodes}};
    if (S.Flops >= 0)
      K["flops"] = S.Flops;
    if (S.RooflineMicroseconds)
      K["roofline_us"] = *S.RooflineMicroseconds;
    Out["kernels"].push_back(std::move(K));
  }
  return Out;
}

static void refuseBaseline(const std::string &Path, const std::string &Why,
                           Diagnostics &Diags) {
  Diags.error(Code::BenchBaseline)
      .message(fmt::format("the baseline '{}' {}", printable(Path), Why));
}

static std::string fileName(const std::string &Path) {
  return Path.substr(Path.rfind('/') + 1); // npos + 1 is 0
}

/// The same model, or a file of the same name that was compiled again.
static bool sameArtifact(const Json &Old, const BenchOptions &Options) {
  return (!Options.ModelDigest.empty() &&
          Old.value("model_digest", "") == Options.ModelDigest) ||
         fileName(Old.value("artifact", "")) == fileName(Options.Artifact);
}

std::optional<Json> readBaseline(const std::string &Path,
                                 const BenchOptions &Options,
                                 Diagnostics &Diags) {
  auto Fail = [&](const std::string &Why) {
    refuseBaseline(Path, Why, Diags);
    return std::nullopt;
  };
  std::ifstream File(Path);
  File.peek(); // a folder opens, but gives nothing
  if (File.bad() || !File.is_open())
    return Fail("cannot be read");
  Json Old = Json::parse(File, nullptr, /*allow_exceptions=*/false);
  auto Text = [&](const char *Key) {
    return !Old.contains(Key) || Old[Key].is_string();
  };
  if (!Old.is_object() || !Old.contains("latency_ms") ||
      !Old["latency_ms"].is_object() || !Old["latency_ms"].contains("p50") ||
      !Old["latency_ms"]["p50"].is_number() || !Text("artifact") ||
      !Text("model_digest"))
    return Fail("is not what `kpc bench --json` writes");
  if (!(Old["latency_ms"]["p50"].get<double>() > 0))
    return Fail("has no time in it");
  if (!sameArtifact(Old, Options))
    return Fail(fmt::format("is of another artifact: '{}' there, '{}' now",
                            printable(Old.value("artifact", "")),
                            printable(Options.Artifact)));
  return Old;
}

/// As the file that a baseline was read from has it.
static Json asWritten(const Json &J) { return Json::parse(jsonText(J)); }

bool isComparable(const std::string &Path, const Json &Old, const Json &Now,
                  Diagnostics &Diags) {
  static constexpr std::pair<const char *, const char *> Same[] = {
      {"target", "another target"},
      {"device", "another device"},
      {"dims", "other dims"},
      {"device_name", "another device"},
      {"transfers", "other transfers"},
      {"streams", "another number of streams"}};
  for (auto [Key, Other] : Same)
    if (!Old.contains(Key) || Old[Key] != asWritten(Now.at(Key))) {
      refuseBaseline(Path,
                     fmt::format("is of {}: {} there, {} now", Other,
                                 Old.contains(Key)
                                     ? printable(jsonText(Old[Key]))
                                     : "nothing",
                                 printable(jsonText(Now.at(Key)))),
                     Diags);
      return false;
    }
  return true;
}

Comparison compareTimes(const Json &Old, const Json &Now) {
  auto Median = [](const Json &Of) {
    return Of.at("latency_ms").at("p50").get<double>();
  };
  return {Median(Old), Median(Now)};
}

} // namespace kpc::cli
