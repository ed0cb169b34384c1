//===- Bench.cpp - Measuring an artifact ----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Bench.h"
#include "tools/kpc/CudaMemory.h"
#include "tools/kpc/Emulator.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <thread>

namespace kpc::cli {

using Clock = std::chrono::steady_clock;
using tensorfile::HostTensor;

double BenchResult::percentile(double P) const {
  if (Latencies.empty())
    return 0;
  // The nearest rank: a time that was measured, not one between two.
  auto Rank = static_cast<size_t>(
      std::ceil(P / 100 * static_cast<double>(Latencies.size())));
  return Latencies[std::clamp<size_t>(Rank, 1, Latencies.size()) - 1];
}

double BenchResult::mean() const {
  double Sum = 0;
  for (double L : Latencies)
    Sum += L;
  return Latencies.empty() ? 0 : Sum / static_cast<double>(Latencies.size());
}

double BenchResult::runsPerSecond() const {
  return Seconds > 0 ? static_cast<double>(Latencies.size()) / Seconds : 0;
}

namespace {
/// A session with its tensors, used by one thread.
class Stream {
public:
  Stream(const Model &M, const BenchOptions &Options, const Inputs &In)
      : M(M), Options(Options), In(In) {}

  bool open(Diagnostics &Diags);
  /// One run, and how long it took.
  bool run(double &Milliseconds);
  std::optional<Profile> profile();
  const Session &session() const { return *S; }
  const Error &error() const { return Failed; }
  bool onDevice() const { return Device != nullptr; }
  bool measureCalls(HostCost &Cost);

private:
  bool makeOutputs(Diagnostics &Diags);
  bool moveToDevice(Diagnostics &Diags);

  const Model &M;
  const BenchOptions &Options;
  const Inputs &In;
  std::optional<Session> S;
  std::unique_ptr<CudaMemory> Device;
  std::vector<HostTensor> Out;
  std::vector<NamedTensor> Inputs, Outputs;
  Error Failed;
};
} // namespace

static bool isGpu(const Model &M, const Session &S) {
  for (const kpc_target &T : M.targets())
    if (std::string_view(T.name) == S.target())
      return T.device_kind == KPC_DEVICE_CUDA;
  return false;
}

bool Stream::makeOutputs(Diagnostics &Diags) {
  std::vector<kpc_port> Ports = M.outputs();
  for (size_t I = 0; I < Ports.size(); ++I) {
    Result<std::vector<int64_t>> Dims = S->outputDims(I);
    if (!Dims) {
      report(Dims.error(), Diags);
      return false;
    }
    auto Type = static_cast<ElementType>(Ports[I].type);
    std::optional<HostTensor> T =
        tensorfile::makeTensor(Ports[I].name, Type, *Dims);
    if (!T) {
      Diags.error(Code::RuntimeOutOfMemory)
          .message("an output would be larger than any memory");
      return false;
    }
    Out.push_back(std::move(*T));
  }
  for (HostTensor &T : Out)
    Outputs.push_back(
        {T.Name,
         Tensor(T.Data.data(), static_cast<kpc_element_type>(T.Type), T.Dims)});
  return true;
}

bool Stream::moveToDevice(Diagnostics &Diags) {
  std::string Why;
  int Ordinal = Options.Choice.Device.Ordinal;
  Device = CudaMemory::open(Ordinal, Why);
  if (!Device) {
    Diags.error(Code::RuntimeDriver).message(Why);
    return false;
  }
  for (std::vector<NamedTensor> *List : {&Inputs, &Outputs})
    for (NamedTensor &T : *List) {
      void *There =
          Device->allocate(static_cast<size_t>(T.Value.bytes()),
                           List == &Inputs ? T.Value.data() : nullptr);
      if (!There) {
        Diags.error(Code::RuntimeDeviceOutOfMemory)
            .message(
                fmt::format("no device memory for '{}'", printable(T.Name)));
        return false;
      }
      T.Value = Tensor(There, static_cast<kpc_element_type>(T.Value.type()),
                       T.Value.dims(), cuda(Ordinal));
    }
  return true;
}

bool Stream::open(Diagnostics &Diags) {
  S = openSession(M, Options.Choice, Diags);
  if (!S)
    return false;
  Inputs = asRuntimeTensors(In);
  // The first run binds the shape and tells how large the outputs are.
  if (auto First = S->run(Inputs); !First) {
    report(First.error(), Diags);
    return false;
  }
  if (!makeOutputs(Diags))
    return false;
  return Options.Transfers || !isGpu(M, *S) || moveToDevice(Diags);
}

bool Stream::run(double &Milliseconds) {
  auto Start = Clock::now();
  if (Device && !Device->startTimer())
    return false;
  auto Done = S->run(Inputs, Outputs, Device ? Device->stream() : nullptr);
  if (!Done) {
    Failed = Done.error();
    return false;
  }
  if (Device)
    return Device->stopTimer(Milliseconds);
  Milliseconds =
      std::chrono::duration<double, std::milli>(Clock::now() - Start).count();
  return true;
}

bool Stream::measureCalls(HostCost &Cost) {
  // A graph with copies of the caller's tensors is made in the first run.
  kpc_bind_times Times = S->bindTimes();
  if (Cost.graphMicroseconds() == 0) {
    Cost.Binding.record_us = Times.record_us;
    Cost.Binding.instantiate_us = Times.instantiate_us;
  }
  std::vector<NamedTensor> There;
  There.reserve(Out.size());
  for (const HostTensor &T : Out)
    There.push_back(
        {T.Name, Tensor(const_cast<uint8_t *>(T.Data.data()),
                        static_cast<kpc_element_type>(T.Type), T.Dims)});
  std::optional<Error> E =
      cli::measureCalls(*S, Options, asRuntimeTensors(In), There, Cost);
  if (E)
    Failed = *E;
  return !E;
}

std::optional<Profile> Stream::profile() {
  Result<Profile> P = S->profile(Inputs, Outputs);
  if (P)
    return std::move(*P);
  Failed = P.error();
  return std::nullopt;
}

/// The same symbol in front of all inputs is a batch.
static int64_t batchOf(const Model &M, const Inputs &In) {
  std::string Name;
  std::vector<kpc_port> Ports = M.inputs();
  for (size_t I = 0; I < Ports.size(); ++I) {
    if (!Ports[I].rank || Ports[I].dims[0] >= 0)
      return 1;
    if (I && Name != Ports[I].dim_texts[0])
      return 1;
    Name = Ports[I].dim_texts[0];
  }
  return Ports.empty() ? 1 : std::max<int64_t>(In.Tensors[0].Dims[0], 1);
}

static bool addProfile(Stream &First, BenchResult &R) {
  constexpr int Profiles = 7;
  std::vector<std::vector<double>> Times;
  for (int I = 0; I < Profiles; ++I) {
    std::optional<Profile> P = First.profile();
    if (!P)
      return false;
    Times.resize(P->Steps.size());
    R.Steps.resize(P->Steps.size());
    for (size_t J = 0; J < P->Steps.size(); ++J) {
      const ProfileStep &Step = P->Steps[J];
      Times[J].push_back(Step.Facts.duration_us);
      R.Steps[J].Name = Step.Name;
      R.Steps[J].Symbol = Step.Symbol;
      R.Steps[J].Nodes = Step.Nodes;
      R.Steps[J].Step = static_cast<size_t>(Step.Facts.step);
      R.Steps[J].StartMicroseconds = Step.Facts.start_us;
      R.Steps[J].IsLaunch = !Step.Symbol.empty();
      R.Steps[J].Bytes = Step.Facts.bytes_read + Step.Facts.bytes_written;
      R.Steps[J].Flops = Step.Facts.flops;
    }
    R.Trace = std::move(P->Trace);
  }
  for (size_t J = 0; J < R.Steps.size(); ++J) {
    std::nth_element(Times[J].begin(), Times[J].begin() + Times[J].size() / 2,
                     Times[J].end());
    R.Steps[J].Microseconds = Times[J][Times[J].size() / 2];
  }
  return true;
}

namespace {
/// What one thread measured.
struct Lane {
  std::vector<double> Latencies;
  Clock::time_point Start, End;
  bool Failed = false;
};
} // namespace

/// The runs of one thread: warm-up, wait for the others, measure.
static void runLane(Stream &S, const BenchOptions &Options,
                    std::barrier<> &Ready, Lane &Out) {
  double Milliseconds;
  for (int64_t I = 0; I < Options.Warmup && !Out.Failed; ++I)
    Out.Failed = !S.run(Milliseconds);
  Ready.arrive_and_wait();
  constexpr int64_t Least = 10;
  Out.Start = Clock::now();
  for (int64_t I = 0; !Out.Failed; ++I) {
    std::chrono::duration<double> Spent = Clock::now() - Out.Start;
    bool Enough = Options.Iterations
                      ? I >= Options.Iterations
                      : I >= Least && Spent.count() >= Options.Seconds;
    if (Enough)
      break;
    Out.Failed = !S.run(Milliseconds);
    Out.Latencies.push_back(Milliseconds);
  }
  Out.End = Clock::now();
}

/// From the first lane's start to the last one's end: what waits for the lanes
/// may wake up after they have ended.
static double secondsOf(const std::vector<Lane> &Lanes) {
  Clock::time_point Start = Lanes.front().Start, End = Lanes.front().End;
  for (const Lane &L : Lanes) {
    Start = std::min(Start, L.Start);
    End = std::max(End, L.End);
  }
  return std::chrono::duration<double>(End - Start).count();
}

static bool runLanes(std::vector<std::unique_ptr<Stream>> &Streams,
                     const BenchOptions &Options, BenchResult &R) {
  std::vector<Lane> Lanes(Streams.size());
  std::barrier<> Ready(static_cast<std::ptrdiff_t>(Streams.size()));
  std::vector<std::thread> Threads;
  Threads.reserve(Streams.size());
  for (size_t I = 0; I < Streams.size(); ++I)
    Threads.emplace_back(runLane, std::ref(*Streams[I]), std::cref(Options),
                         std::ref(Ready), std::ref(Lanes[I]));
  for (std::thread &T : Threads)
    T.join();
  R.Seconds = secondsOf(Lanes);
  for (Lane &L : Lanes) {
    if (L.Failed)
      return false;
    R.Latencies.insert(R.Latencies.end(), L.Latencies.begin(),
                       L.Latencies.end());
  }
  std::sort(R.Latencies.begin(), R.Latencies.end());
  return true;
}

std::optional<BenchResult>
measure(const Model &M, const BenchOptions &Options, Diagnostics &Diags,
        const std::function<bool(const BenchResult &)> &GoOn) {
  std::optional<Inputs> In = makeInputs(M, Options.In, Diags);
  if (!In)
    return std::nullopt;
  std::vector<std::unique_ptr<Stream>> Streams;
  for (int64_t I = 0; I < Options.Streams; ++I) {
    Streams.push_back(std::make_unique<Stream>(M, Options, *In));
    if (!Streams.back()->open(Diags))
      return std::nullopt;
  }
  BenchResult R;
  Stream &First = *Streams.front();
  bool Gpu = isGpu(M, First.session());
  R.Target = First.session().target();
  std::string Emulates = Gpu ? emulatedTarget() : "";
  R.Emulated = !Emulates.empty();
  R.Device = R.Emulated ? "emulate:" + Emulates
             : Gpu      ? fmt::format("cuda:{}", Options.Choice.Device.Ordinal)
                        : "host";
  R.Dims = In->Dims;
  R.Batch = batchOf(M, *In);
  auto ClocksNow = [&] {
    return Gpu && !R.Emulated ? gpuClocks(Options.Choice.Device.Ordinal)
                              : hostClocks();
  };
  if (GoOn) {
    R.Speed = ClocksNow();
    if (!GoOn(R))
      return std::nullopt;
  }
  if (!measureBinding(M, Options, In->Dims, R.Host, Diags))
    return std::nullopt;
  bool Good = runLanes(Streams, Options, R);
  R.Speed = ClocksNow(); // while the device is warm
  R.Memory = First.session().memory();
  if (Good && Gpu && !R.Emulated)
    Good = First.measureCalls(R.Host);
  Good = Good && addProfile(First, R);
  if (Good)
    return R;
  for (auto &S : Streams)
    if (S->error().status() != KPC_OK) {
      report(S->error(), Diags);
      return std::nullopt;
    }
  Diags.error(Code::RuntimeDriver)
      .message("the CUDA driver failed while times were taken");
  return std::nullopt;
}

} // namespace kpc::cli
