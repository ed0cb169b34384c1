//===- Bench.h - Measuring an artifact --------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_BENCH_H
#define KPC_TOOLS_KPC_BENCH_H

#include "tools/kpc/Clocks.h"
#include "tools/kpc/Inputs.h"
#include "tools/kpc/Json.h"

namespace kpc::cli {

struct BenchOptions {
  std::string Artifact;
  std::string ModelDigest; ///< of what the artifact was compiled from
  InputOptions In;
  DeviceChoice Choice;
  int64_t Warmup = 10;
  int64_t Iterations = 0; ///< 0: as many as fit into Seconds, 10 at least
  double Seconds = 3;
  int64_t Streams = 1;
  bool Transfers = true;
};

/// One step of the plan, the median of several profiles.
struct StepTime {
  std::string Name, Nodes;
  std::string Symbol;    ///< of its kernel; empty: a copy or a fill
  size_t Step = 0;       ///< in the plan
  bool IsLaunch = false; ///< of a kernel; else a copy or a fill
  double Microseconds = 0;
  double StartMicroseconds = 0; ///< in one run, step by step
  int64_t Bytes = 0, Flops = -1;
  /// What the chip could do it in at its peak rates, those of Tensor Cores for
  /// kernels that use them (setRooflines); none where they are not known.
  std::optional<double> RooflineMicroseconds;
};

/// Microseconds of the host.
struct HostCost {
  kpc_bind_times Binding{}; ///< each the median of several
  /// A call that only enqueues, with tensors on the device: the pointers of the
  /// call before, or other ones; none on the host, and where the device is
  /// emulated, which works within the call.
  std::optional<double> SamePointers, OtherPointers;

  double bindMicroseconds() const {
    return Binding.sizes_us + Binding.workspace_us + Binding.descriptors_us;
  }
  double graphMicroseconds() const {
    return Binding.record_us + Binding.instantiate_us;
  }
};

struct BenchResult {
  std::string Target, Device; ///< "sm_90a", "cuda:0"
  /// Times are the emulator's, on the processor.
  bool Emulated = false;
  shape::Bindings Dims;
  /// Of each run, sorted; milliseconds.
  std::vector<double> Latencies;
  double Seconds = 0; ///< all runs of all streams, by the clock
  /// Runs times the size that all inputs begin with; 1 where there is none.
  int64_t Batch = 1;
  kpc_memory Memory{};
  HostCost Host;
  Clocks Speed;
  std::vector<StepTime> Steps;
  std::string Trace; ///< Chrome trace events
  /// Of the target, with the way out; see slowPathsOf in report/Report.h.
  std::vector<std::string> SlowPaths;

  double percentile(double P) const;
  double mean() const;
  double runsPerSecond() const;
};

/// `GoOn`: asked when it is known what is measured, where and for which dims,
/// and nothing is measured yet; after a no, which it has reported, nothing is.
std::optional<BenchResult>
measure(const Model &M, const BenchOptions &Options, Diagnostics &Diags,
        const std::function<bool(const BenchResult &)> &GoOn = {});

/// Binds the shape several times, in sessions of its own.
bool measureBinding(const Model &M, const BenchOptions &Options,
                    const shape::Bindings &Dims, HostCost &Out,
                    Diagnostics &Diags);
/// Times calls of a session on a GPU, which has the shape bound. An error is
/// one of the runtime.
std::optional<Error> measureCalls(Session &S, const BenchOptions &Options,
                                  std::vector<NamedTensor> Inputs,
                                  std::vector<NamedTensor> Outputs,
                                  HostCost &Out);

std::string benchText(const BenchOptions &Options, const BenchResult &R);
Json benchJson(const BenchOptions &Options, const BenchResult &R);

struct Comparison {
  double Old = 0, New = 0; ///< p50, milliseconds
  double slowerPercent() const { return (New / Old - 1) * 100; }
};
/// What an earlier bench wrote. None, with a diagnostic, where the file is
/// something else or of another artifact; nothing need be measured for that.
std::optional<Json> readBaseline(const std::string &Path,
                                 const BenchOptions &Options,
                                 Diagnostics &Diags);
/// False, with a diagnostic, where that was measured in another way.
bool isComparable(const std::string &Path, const Json &Old, const Json &Now,
                  Diagnostics &Diags);
Comparison compareTimes(const Json &Old, const Json &Now);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_BENCH_H
