//===- HostDevice.cpp - Runs plans on this machine's processor ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Cpu.h"
#include "runtime/src/Device.h"
#include "runtime/src/RunLimit.h"
#include "runtime/src/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

namespace kpc::rt {

namespace {

// A job is cut into at most this many chunks: enough to even out threads that
// start late, few enough that their calls cost nothing.
constexpr int64_t LargestChunkCount = 256;

class HostDevice : public Device {
public:
  HostDevice(std::shared_ptr<Model> M, const format::Target &T,
             const Nvtx *Ranges, const std::shared_ptr<Memory> &OnHost,
             int64_t MostMicroseconds)
      : Device(T, KPC_HOST, Ranges, OnHost, OnHost), TheModel(std::move(M)),
        Limit(MostMicroseconds) {}

  Status open(const DeviceOptions &Options) {
    for (const format::Kernel *K : format::each(target().kernels())) {
      if (const format::HostFunction *F = K->function()) {
        auto Library = TheModel->hostLibrary(F->library());
        if (!Library)
          return Library.takeError();
        Code &C = Kernels.emplace_back();
        if (Status S = (*Library)->find(K->symbol()->c_str(), C.Function); !S)
          return S;
        Libraries.push_back(std::move(*Library));
        continue;
      }
      const format::Range *R = target().modules()->Get(K->module_())->image();
      auto Image = TheModel->hostImage(R->segment());
      if (!Image)
        return Image.takeError();
      uintptr_t Entry = uintptr_t((*Image)->base()) + R->offset() + K->entry();
      // NOLINTNEXTLINE(performance-no-int-to-ptr): code is bytes until here
      Kernels.push_back({reinterpret_cast<HostKernel>(Entry), nullptr});
      if (Images.empty() || Images.back() != *Image)
        Images.push_back(std::move(*Image));
    }
    for (const format::Buffer *B : format::each(target().buffers()))
      if (B->kind() == format::BufferKind::Weight)
        WeightBytes += TheModel->weight(B->index()).size();
    int Threads =
        Options.NumThreads ? Options.NumThreads : availableProcessors();
    auto Made = ThreadPool::make(Threads);
    if (!Made)
      return Made.takeError();
    Pool = std::move(*Made);
    return success();
  }

  Status prepare(Binding &B, void *) override {
    uint32_t Most = 0;
    for (const BoundStep &S : B.Steps)
      Most = std::max(Most, S.ParamCount);
    if (Scratch.size() < Most)
      Scratch.resize(Most);
    return success();
  }

  Status run(Binding &B, const Addresses &A, void *) override {
    Late.store(false, std::memory_order_relaxed);
    Limit.start();
    return B.walk(
        [&](uint32_t Step) -> Status {
          if (!B.Steps[Step].Empty)
            if (Status Failed = runStep(B, B.Steps[Step], A); !Failed)
              return Failed;
          return Limit.applies() && isLate() ? Status(Limit.error())
                                             : success();
        },
        [&](const Place &P) -> Result<bool> { return holds(P, A); });
  }

  Status profile(Binding &B, const Addresses &A, Profile &Out) override {
    using Clock = std::chrono::steady_clock;
    Limit.lift();
    using Microseconds = std::chrono::duration<double, std::micro>;
    Out.Track = formatted("host, %d threads", Pool->threads());
    for (size_t I = 0; I < B.Steps.size(); ++I)
      Out.Steps.push_back(describeStep(B, I));
    Clock::time_point Start = Clock::now();
    // A step in a loop begins when it begins first and takes what all its
    // iterations take.
    auto RunStep = [&](uint32_t I) -> Status {
      Clock::time_point Begin = Clock::now();
      if (!B.Steps[I].Empty)
        if (Status Failed = runStep(B, B.Steps[I], A); !Failed)
          return Failed;
      Clock::time_point End = Clock::now();
      kpc_profile_step &Facts = Out.Steps[I].Facts;
      if (Facts.duration_us == 0)
        Facts.start_us = Microseconds(Begin - Start).count();
      Facts.duration_us += Microseconds(End - Begin).count();
      ++Out.Steps[I].Runs;
      return success();
    };
    return B.walk(RunStep,
                  [&](const Place &P) -> Result<bool> { return holds(P, A); });
  }

  Status copy(void *To, const void *From, uint64_t Bytes, void *) override {
    if (Bytes)
      std::memcpy(To, From, Bytes);
    return success();
  }
  Status begin(void *) override { return success(); }
  Status end(void *) override { return success(); }
  Status wait(void *) override { return success(); }
  void drain() override {}
  const void *weight(uint32_t Index) const override {
    return TheModel->weight(Index).data();
  }
  uint64_t weightBytes() const override { return WeightBytes; }

private:
  bool holds(const Place &Condition, const Addresses &A) const {
    return *address(Condition, A) != 0;
  }

  struct Job {
    HostKernel Kernel;
    const uint64_t *Params;
    HostDevice *Limit; ///< null: none
  };

  bool isLate() {
    if (Late.load(std::memory_order_relaxed))
      return true;
    bool Now = Limit.isOver();
    if (Now)
      Late.store(true, std::memory_order_relaxed);
    return Now;
  }

  // UBSan's check of function types reads the bytes before a function, which an
  // image does not have.
#if defined(__clang__)
  __attribute__((no_sanitize("function")))
#endif
  static void runChunk(void *Context, int64_t Begin, int64_t End) {
    const Job *J = static_cast<const Job *>(Context);
    if (J->Limit && J->Limit->isLate())
      return;
    J->Kernel(J->Params, Begin, End);
  }

  Status launch(Binding &B, const BoundStep &S, const Addresses &A) {
    uint64_t *Out = Scratch.data();
    for (const BoundParam &P : B.params(S))
      *Out++ = P.IsSize ? P.Size : uint64_t(uintptr_t(address(P.At, A)));
    const Code &C = Kernels[S.Kernel];
    if (C.Function)
      return callOperator(C.Function, *target().kernels()->Get(S.Kernel),
                          Scratch.data());
    int64_t Chunk = std::max(S.Grain, (S.Work - 1) / LargestChunkCount + 1);
    Job J{C.Kernel, Scratch.data(), Limit.applies() ? this : nullptr};
    Pool->run(S.Work, Chunk, runChunk, &J);
    return success();
  }

  Status runStep(Binding &B, const BoundStep &S, const Addresses &A) {
    NvtxRange Range(ranges(), nameOf(S));
    if (S.Kind == StepKind::Launch)
      return launch(B, S, A);
    const BoundParam *P = B.params(S).data();
    uint8_t *To = address(P[0].At, A);
    uint64_t Bytes = P[0].At.Length;
    if (S.Kind == StepKind::Copy) {
      std::memmove(To, address(P[1].At, A), Bytes);
      return success();
    }
    if (S.PatternBytes == 1)
      std::memset(To, int(S.Pattern & 0xff), Bytes);
    else if (S.PatternBytes == 2)
      std::fill_n(reinterpret_cast<uint16_t *>(To), Bytes / 2,
                  uint16_t(S.Pattern));
    else
      std::fill_n(reinterpret_cast<uint32_t *>(To), Bytes / 4, S.Pattern);
    return success();
  }

  /// A kernel of kpc's, or a custom operator's function.
  struct Code {
    HostKernel Kernel = nullptr;
    kpc_operator_function Function = nullptr;
  };

  std::shared_ptr<Model> TheModel;
  std::vector<std::shared_ptr<const HostImage>> Images;
  std::vector<std::shared_ptr<const HostLibrary>> Libraries;
  std::vector<Code> Kernels;
  std::unique_ptr<ThreadPool> Pool;
  std::vector<uint64_t> Scratch; ///< parameters of the launch at hand
  uint64_t WeightBytes = 0;
  // Of the run at hand.
  RunLimit Limit;
  std::atomic<bool> Late{false};
};

bool isNativeIsa(format::Isa Isa) {
#if defined(__x86_64__)
  return Isa == format::Isa::X86_64;
#elif defined(__aarch64__)
  return Isa == format::Isa::AArch64;
#else
  return false;
#endif
}

// The highest level that this processor has, or what is missing.
Result<const format::Target *> chooseHostTarget(const Model &M,
                                                const DeviceOptions &Options) {
  int Level = cpuLevel();
  const format::Target *Best = nullptr, *TooHigh = nullptr;
  for (const TargetInfo &Info : M.targets()) {
    const format::Target *T = Info.Table;
    if (T->kind() != format::TargetKind::Host || !isNativeIsa(T->isa()) ||
        (!Options.Target.empty() && T->name()->string_view() != Options.Target))
      continue;
    if (T->isa() == format::Isa::X86_64 && T->cpu_level() > Level) {
      if (!TooHigh || T->cpu_level() < TooHigh->cpu_level())
        TooHigh = T;
    } else if (!Best || T->cpu_level() > Best->cpu_level()) {
      Best = T;
    }
  }
  if (Best)
    return Best;
  if (TooHigh) {
    Error E = failure(ErrorCode::CpuLevel,
                      "the artifact needs an %s processor, this one is %s",
                      cpuLevelName(TooHigh->cpu_level()), cpuLevelName(Level));
    E.Hint = std::string("compile with --arch host:") + cpuLevelName(Level);
    return E;
  }
  Error E = failure(ErrorCode::NoTarget,
                    "the artifact has no code for this host; it holds %s",
                    targetList(M).c_str());
  E.Hint = "compile with --arch host";
  return E;
}

} // namespace

Result<std::unique_ptr<Device>> makeHostDevice(const std::shared_ptr<Model> &M,
                                               const DeviceOptions &Options) {
  if (Status S = checkTargetName(*M, Options); !S)
    return S;
  auto Target = chooseHostTarget(*M, Options);
  if (!Target)
    return Target.takeError();
  auto Out = std::make_unique<HostDevice>(M, **Target, Options.Ranges,
                                          hostMemory(Options.Allocator),
                                          Options.MostRunMicroseconds);
  if (Status S = Out->open(Options); !S)
    return S;
  return Result<std::unique_ptr<Device>>(std::move(Out));
}

} // namespace kpc::rt
