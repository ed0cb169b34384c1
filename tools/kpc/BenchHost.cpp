//===- BenchHost.cpp - What a call costs the host -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Bench.h"
#include "tools/kpc/CudaMemory.h"

#include <algorithm>
#include <chrono>

namespace kpc::cli {

using Clock = std::chrono::steady_clock;

static double median(std::vector<double> Values) {
  auto Middle = Values.begin() + static_cast<std::ptrdiff_t>(Values.size() / 2);
  std::nth_element(Values.begin(), Middle, Values.end());
  return *Middle;
}

bool measureBinding(const Model &M, const BenchOptions &Options,
                    const shape::Bindings &Dims, HostCost &Out,
                    Diagnostics &Diags) {
  // A shape that is bound stays bound: a session for each time. They share
  // the weights.
  constexpr size_t Times = 5;
  std::vector<Dim> List;
  for (const auto &[Name, Value] : Dims)
    List.emplace_back(Name.c_str(), Value);
  DeviceChoice Choice = Options.Choice;
  Choice.Quiet = true;
  std::vector<kpc_bind_times> Found;
  for (size_t I = 0; I < Times; ++I) {
    std::optional<Session> S = openSession(M, Choice, Diags);
    if (!S)
      return false;
    if (auto Done = S->prepare(List); !Done) {
      report(Done.error(), Diags);
      return false;
    }
    Found.push_back(S->bindTimes());
  }
  for (double kpc_bind_times::*Part :
       {&kpc_bind_times::sizes_us, &kpc_bind_times::workspace_us,
        &kpc_bind_times::descriptors_us, &kpc_bind_times::record_us,
        &kpc_bind_times::instantiate_us}) {
    std::vector<double> Values;
    for (const kpc_bind_times &T : Found)
      Values.push_back(T.*Part);
    Out.Binding.*Part = median(Values);
  }
  return true;
}

/// The tensors with their elements on the device; false where there is no room.
static bool toDevice(std::vector<NamedTensor> &Tensors, CudaMemory &Device,
                     int Ordinal) {
  for (NamedTensor &T : Tensors) {
    void *There =
        Device.allocate(static_cast<size_t>(T.Value.bytes()), T.Value.data());
    if (!There)
      return false;
    T.Value = Tensor(There, static_cast<kpc_element_type>(T.Value.type()),
                     T.Value.dims(), cuda(Ordinal));
  }
  return true;
}

std::optional<Error> measureCalls(Session &S, const BenchOptions &Options,
                                  std::vector<NamedTensor> Inputs,
                                  std::vector<NamedTensor> Outputs,
                                  HostCost &Out) {
  int Ordinal = Options.Choice.Device.Ordinal;
  std::string Why;
  std::unique_ptr<CudaMemory> Device = CudaMemory::open(Ordinal, Why);
  std::vector<NamedTensor> Others = Outputs;
  if (!Device || !toDevice(Inputs, *Device, Ordinal) ||
      !toDevice(Outputs, *Device, Ordinal) ||
      !toDevice(Others, *Device, Ordinal))
    return std::nullopt; // said where it is needed: --no-transfers
  constexpr int Warmup = 5, Most = 200;
  for (bool Alternate : {false, true}) {
    std::vector<double> Times;
    auto Start = Clock::now();
    for (int I = 0; I < Warmup + Most; ++I) {
      auto Before = Clock::now();
      auto Done = S.run(Inputs, Alternate && I % 2 ? Others : Outputs,
                        Device->stream());
      std::chrono::duration<double, std::micro> Spent = Clock::now() - Before;
      if (!Done)
        return Done.error();
      // Nothing is waited for within the call, so nothing may be queued.
      if (!Device->synchronize())
        return std::nullopt;
      if (I >= Warmup)
        Times.push_back(Spent.count());
      if (Times.size() >= 9 &&
          Clock::now() - Start > std::chrono::milliseconds(500))
        break;
    }
    (Alternate ? Out.OtherPointers : Out.SamePointers) = median(Times);
  }
  return std::nullopt;
}

} // namespace kpc::cli
