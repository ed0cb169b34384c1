//===- ReportTimes.cpp - Times of an artifact that is not run -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/report/Limits.h"
#include "tools/kpc/report/Report.h"

#include <charconv>
#include <fstream>

namespace kpc::cli {

/// A kernel of a graph that does next to nothing, by the cost models:
/// microseconds.
constexpr double Launch = 1.6;

static std::vector<StepTime> stepsOf(const TargetFacts &T) {
  std::vector<StepTime> Out;
  for (size_t Step = 0; Step < T.LaunchOfStep.size(); ++Step) {
    StepTime S;
    S.Step = Step;
    S.Name = "copy";
    if (std::optional<size_t> Number = T.LaunchOfStep[Step]) {
      const LaunchFacts &L = T.Launches[*Number];
      S.IsLaunch = true;
      S.Name = L.Name;
      S.Bytes = L.Bytes.value_or(0);
      S.Flops = L.Flops.value_or(-1);
    }
    Out.push_back(std::move(S));
  }
  return Out;
}

/// One step after the other.
static void setStarts(std::vector<StepTime> &Steps) {
  double Now = 0;
  for (StepTime &S : Steps) {
    S.StartMicroseconds = Now;
    Now += S.Microseconds;
  }
}

/// A step with its launch and its kernel.
static ReportStep withFacts(const StepTime &S, const TargetFacts &T) {
  ReportStep R;
  R.Time = &S;
  R.Gpu = T.Gpu;
  if (S.Step < T.LaunchOfStep.size() && T.LaunchOfStep[S.Step]) {
    R.Launch = &T.Launches[*T.LaunchOfStep[S.Step]];
    R.Kernel = &T.Kernels[R.Launch->Kernel];
  }
  return R;
}

void setRooflines(BenchResult &R, const ArtifactFacts &Facts) {
  Peaks P = peaksOf(R.Target);
  if (R.Emulated || !P.known())
    return; // a chip's peak rates are none of its emulator's
  for (const TargetFacts &T : Facts.Targets)
    if (T.Name == R.Target)
      for (StepTime &S : R.Steps)
        S.RooflineMicroseconds = boundsOf(withFacts(S, T), P).least();
}

std::optional<BenchResult> modelledTimes(const TargetFacts &T,
                                         const shape::Bindings &Dims,
                                         Diagnostics &Diags) {
  Peaks P = peaksOf(T.Name);
  if (!P.known()) {
    Diags.error(Code::UsageMissing)
        .message(fmt::format("'{}' has no peak rates to model times with",
                             printable(T.Name)))
        .hint("give --times FILE, written by kpc bench --json, or let kpc "
              "bench --report measure it");
    return std::nullopt;
  }
  BenchResult Out;
  Out.Target = T.Name;
  Out.Dims = Dims;
  Out.Speed.Device = P.Of.substr(0, P.Of.find(','));
  Out.Steps = stepsOf(T);
  for (StepTime &S : Out.Steps) {
    ReportStep R = withFacts(S, T);
    S.Microseconds = boundsOf(R, P).least() + Launch;
    // The words begin with the figure: see artifact.fbs.
    double Expected = 0;
    if (R.Kernel) {
      const std::string &Text = R.Kernel->Expected;
      std::from_chars(Text.data(), Text.data() + Text.size(), Expected);
    }
    S.Microseconds = std::max(S.Microseconds, Expected);
  }
  setStarts(Out.Steps);
  return Out;
}

static Json readJson(const std::string &Path) {
  std::ifstream File(Path);
  File.peek(); // a folder opens, but gives nothing
  if (File.bad() || !File.is_open())
    return {};
  return Json::parse(File, nullptr, /*allow_exceptions=*/false);
}

std::string targetOfTimes(const std::string &Path) {
  Json J = readJson(Path);
  return J.is_object() && J.contains("target") && J["target"].is_string()
             ? J["target"].get<std::string>()
             : "";
}

std::optional<BenchResult> recordedTimes(const std::string &Path,
                                         const TargetFacts &T,
                                         const shape::Bindings &Dims,
                                         Diagnostics &Diags) {
  auto Fail = [&](const std::string &Why) {
    Diags.error(Code::BenchBaseline)
        .message(fmt::format("the times '{}' {}", printable(Path), Why))
        .hint("write them with kpc bench --json, of this artifact");
    return std::nullopt;
  };
  Json J = readJson(Path);
  if (J.is_null())
    return Fail("cannot be read");
  if (!J.is_object() || !J.contains("kernels") || !J["kernels"].is_array() ||
      !J.contains("dims") || !J.contains("target"))
    return Fail("are not what `kpc bench --json` writes");
  if (J["target"] != Json(T.Name))
    return Fail(fmt::format("are of target {}, expected {}",
                            printable(jsonText(J["target"])), T.Name));
  Json Asked = Json::object();
  for (const auto &[Name, Value] : Dims)
    Asked[Name] = Value;
  if (J["dims"] != Json::parse(jsonText(Asked)))
    return Fail(fmt::format("are of other dims: {} there, expected {}",
                            printable(jsonText(J["dims"])),
                            printable(jsonText(Asked))));
  const Json &Kernels = J["kernels"];
  if (Kernels.size() != T.LaunchOfStep.size())
    return Fail(fmt::format("have {} steps, the artifact has {}",
                            Kernels.size(), T.LaunchOfStep.size()));
  BenchResult Out;
  Out.Target = T.Name;
  Out.Dims = Dims;
  Out.Speed.Device = J.contains("device_name") && J["device_name"].is_string()
                         ? J["device_name"].get<std::string>()
                         : "";
  Out.Steps = stepsOf(T);
  for (size_t I = 0; I < Kernels.size(); ++I) {
    const Json &K = Kernels[I];
    auto Number = [&](const char *Key) {
      return K.is_object() && K.contains(Key) && K[Key].is_number();
    };
    if (!Number("us") || !Number("bytes"))
      return Fail(fmt::format("have no time of step {}", I));
    Out.Steps[I].Microseconds = K["us"].get<double>();
    Out.Steps[I].Bytes = K["bytes"].get<int64_t>();
    if (Number("flops"))
      Out.Steps[I].Flops = K["flops"].get<int64_t>();
  }
  setStarts(Out.Steps);
  return Out;
}

} // namespace kpc::cli
