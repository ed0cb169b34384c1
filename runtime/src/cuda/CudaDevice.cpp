//===- CudaDevice.cpp - Runs plans on a CUDA device -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/RunLimit.h"
#include "runtime/src/cuda/Segments.h"

namespace kpc::rt {

using namespace cuda;

namespace {

/// Events that are destroyed whatever happens.
class Events {
public:
  explicit Events(const Driver &D) : D(D) {}
  Events(const Events &) = delete;
  Events &operator=(const Events &) = delete;
  ~Events() {
    for (Event E : All)
      (void)D->EventDestroy(E);
  }
  Status add(cuda::Stream Stream) {
    All.reserve(All.size() + 1);
    Event E = nullptr;
    if (Status S = D.check(D->EventCreate(&E, EventDefault), "create an event");
        !S)
      return S;
    All.push_back(E);
    return D.check(D->EventRecord(E, Stream), "record an event");
  }
  Event operator[](size_t Index) const { return All[Index]; }
  /// Lets all but the first go.
  void keepFirst() {
    for (; All.size() > 1; All.pop_back())
      (void)D->EventDestroy(All.back());
  }

private:
  const Driver &D;
  std::vector<Event> All;
};

class CudaDevice : public Device {
public:
  /// The address of a place in a run, as kernels take it.
  struct AddressRule {
    const CudaDevice &D;
    uint64_t operator()(const Place &P, const Addresses &A) const {
      return uint64_t(uintptr_t(D.address(P, A)));
    }
  };

  CudaDevice(const format::Target &T, std::shared_ptr<CudaModel> M,
             const DeviceOptions &Options)
      : Device(T, {KPC_DEVICE_CUDA, M->context()->ordinal()}, Options.Ranges,
               deviceMemory(M->context(), Options.Allocator),
               rt::hostMemory(Options.Allocator)),
        TheModel(std::move(M)), D(context().driver()), NoGraph(Options.NoGraph),
        Overlap{Options.OneChain, Options.NoEarlyLaunch},
        Limit(Options.MostRunMicroseconds), TheLog(Options.TheLog) {}

  ~CudaDevice() override {
    Current Guard(context());
    if (LastRun)
      (void)D->EventDestroy(LastRun);
    if (Own)
      (void)D->StreamDestroy(Own);
  }

  Status open(const Model &M) {
    Current Guard(context());
    if (Status S = Guard.status(); !S)
      return S;
    for (const PortInfo &P : M.outputs())
      Aliases.push_back(P.Table->alias());
    if (Status S = D.check(D->StreamCreate(&Own, StreamNonBlocking),
                           "create a stream");
        !S)
      return S;
    return D.check(D->EventCreate(&LastRun, EventDisableTiming),
                   "create an event");
  }

  Status prepare(Binding &B, void *Arena) override {
    Params.reserve(B);
    return guarded([&]() -> Status {
      if (Status S = allowShared(B); !S)
        return S;
      if (goesStepByStep(B) || touchesPortsWithoutKernel(B))
        return success();
      // Kernels take any address until they run: update() puts the real ones
      // in.
      std::vector<void *> NoInputs(B.Inputs.size()),
          NoOutputs(B.Outputs.size());
      return record(B, {NoInputs, NoOutputs, Arena});
    });
  }

  Status begin(void *Stream) override {
    return guarded([&] {
      cuda::Stream Now = streamOf(Stream);
      if (!HasRun || Now == LastStream)
        return success();
      return D.check(D->StreamWaitEvent(Now, LastRun, 0), "order two streams");
    });
  }

  Status end(void *Stream) override {
    return guarded([&] {
      LastStream = streamOf(Stream);
      HasRun = true;
      return D.check(D->EventRecord(LastRun, LastStream), "record an event");
    });
  }

  Status run(Binding &B, const Addresses &A, void *Stream) override {
    Limit.start();
    return guarded([&]() -> Status {
      if (goesStepByStep(B))
        return B.walk(
            [&](uint32_t Step) {
              return enqueue(B, Step, A, streamOf(Stream));
            },
            [&](const Place &P) { return holds(P, A, streamOf(Stream)); });
      if (!B.Recorded)
        if (Status S = record(B, A); !S)
          return S;
      auto *Recorded = static_cast<SegmentRecording *>(B.Recorded.get());
      MayNotEnd = Recorded->MayNotEnd;
      Addresses All = A;
      All.Scratch = Recorded->Scratch.data();
      Status S = launch(B, Recorded->Segments, All, streamOf(Stream));
      // Some nodes may have new addresses, some old: record again next time.
      if (!S)
        B.Recorded.reset();
      return S;
    });
  }

  Status profile(Binding &B, const Addresses &A, Profile &Out) override;

  Status copy(void *To, const void *From, uint64_t Bytes,
              void *Stream) override {
    return guarded([&] {
      return D.check(D->MemcpyAsync(Pointer(uintptr_t(To)),
                                    Pointer(uintptr_t(From)), Bytes,
                                    streamOf(Stream)),
                     "copy");
    });
  }

  Status wait(void *Stream) override {
    return guarded([&] {
      return withLoops(
          D.check(D->StreamSynchronize(streamOf(Stream)), "finish the run"));
    });
  }

  void drain() override {
    Current Guard(context());
    if (Own)
      (void)D->StreamSynchronize(Own);
    if (HasRun)
      (void)D->EventSynchronize(LastRun);
  }

  const void *weight(uint32_t Index) const override {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's are numbers
    return reinterpret_cast<const void *>(uintptr_t(TheModel->weight(Index)));
  }
  uint64_t weightBytes() const override { return TheModel->weightBytes(); }
  std::optional<int64_t> fact(format::SymbolSource Which) const override {
    if (Which == format::SymbolSource::MultiprocessorCount)
      return context().multiprocessors();
    return std::nullopt;
  }

private:
  const DeviceContext &context() const { return *TheModel->context(); }
  AddressRule rule() const { return {*this}; }
  cuda::Stream streamOf(void *Given) const {
    return Given ? static_cast<cuda::Stream>(Given) : Own;
  }

  // With the context current, and not after the session was lost.
  template <class Function> Status guarded(Function Body) {
    if (Lost) {
      Error E = failure(ErrorCode::SessionLost,
                        "the session is lost since an earlier error: %s",
                        LostWhy.c_str());
      E.Hint = "free this process's sessions and start a new process";
      return E;
    }
    Current Guard(context());
    if (Status S = Guard.status(); !S)
      return S;
    Status S = Body();
    if (!S && S.error().Code == ErrorCode::SessionLost) {
      Lost = true;
      LostWhy = S.error().Message;
    }
    return S;
  }

  // Behind a readback sizes change from run to run: recording costs more than
  // it gives.
  bool goesStepByStep(const Binding &B) const {
    return NoGraph || B.StageNumber != 0;
  }

  // Copies and fills check their addresses when they are added.
  static bool touchesPortsWithoutKernel(const Binding &B) {
    for (const BoundStep &S : B.Steps)
      if (S.Kind != StepKind::Launch)
        for (const BoundParam &P : B.params(S))
          if (P.At.Where == Base::Input || P.At.Where == Base::Output)
            return true;
    return false;
  }

  Status ofKernel(Status Failed, uint32_t Kernel) const {
    const format::Kernel *K = target().kernels()->Get(Kernel);
    Failed.error().Kernel = displayName(*K);
    Failed.error().Node = sourceNodes(*K);
    return Failed;
  }

  /// The driver's text may say in which kernel ("of kernel NAME,"): the
  /// emulator's does.
  Status ofNamedKernel(Status Done, const Binding &B) const {
    if (Done)
      return Done;
    for (const BoundStep &S : B.Steps) {
      if (S.Kind != StepKind::Launch)
        continue;
      const format::Kernel *K = target().kernels()->Get(S.Kernel);
      if (Done.error().Message.find("of kernel " + K->symbol()->str() + ",") !=
          std::string::npos)
        return ofKernel(std::move(Done), S.Kernel);
    }
    return Done;
  }

  /// What decides a loop in a graph traps where the loop has too many
  /// iterations, and the driver does not say which kernel did.
  Status withLoops(Status Done) const {
    if (Done || MayNotEnd.empty() ||
        Done.error().Code != ErrorCode::SessionLost)
      return Done;
    Done.error().Message += ", perhaps because " + MayNotEnd;
    Done.error().Hint +=
        "; give inputs with which the loop's data ends it, and the session a "
        "limit of time (max_run_us), beyond which a run ends with an error";
    return Done;
  }

  Status allowShared(const Binding &B) {
    for (const BoundStep &S : B.Steps)
      if (S.Kind == StepKind::Launch && !S.Empty)
        if (Status Done = TheModel->allowShared(S.Kernel, S.Shared); !Done)
          return ofKernel(std::move(Done), S.Kernel);
    return success();
  }

  Status record(Binding &B, const Addresses &A) {
    NvtxRange Range(ranges(), "record");
    Result<bool> Conditions = takesConditions(B);
    if (!Conditions)
      return Conditions.takeError();
    Status S = record(B, A, *Conditions);
    // A driver may refuse nodes that others take; without them all goes on.
    if (!S && *Conditions && S.error().Code == ErrorCode::Driver) {
      TheModel->refuseConditions(TheLog, S.error().Message);
      S = record(B, A, /*Conditions=*/false);
    }
    return S;
  }

  // A limit of time is kept where a condition is read back.
  Result<bool> takesConditions(const Binding &B) {
    bool Has = false;
    for (const BoundControl &C : B.Controls)
      Has |= C.HasCondition;
    return Has && !Limit.isSet() ? TheModel->takesConditions(TheLog)
                                 : Result<bool>(false);
  }

  Status record(Binding &B, Addresses A, bool Conditions) {
    B.Times.descriptors_us = B.Times.record_us = B.Times.instantiate_us = 0;
    auto Made = std::make_unique<SegmentRecording>();
    uint64_t ScratchBytes = 0;
    {
      Lap Recording(B.Times.record_us);
      Made->Segments = cutIntoSegments(B, target(), Conditions, TheLog);
      if (Status S = unroll(B, Made->Segments, ScratchBytes); !S)
        return S;
    }
    if (ScratchBytes) {
      auto Scratch = Block::make(deviceMemory(TheModel->context(), {}),
                                 ScratchBytes, /*Alignment=*/256);
      if (!Scratch) {
        Scratch.error().Message += " for the counters of loops";
        return Scratch.takeError();
      }
      Made->Scratch = std::move(*Scratch);
      A.Scratch = Made->Scratch.data();
    }
    if (Status S = record(B, Made->Segments, A); !S)
      return S;
    for (const BoundControl &C : B.Controls)
      if (Conditions && C.MustEnd)
        Made->MayNotEnd = neverEnds(C).Message;
    B.Recorded = std::move(Made);
    return success();
  }

  static Status unroll(Binding &B, std::vector<Segment> &Segments,
                       uint64_t &ScratchBytes);
  Status record(Binding &B, std::vector<Segment> &Segments, const Addresses &A);
  Status launch(Binding &B, std::vector<Segment> &Segments, const Addresses &A,
                cuda::Stream Stream);
  Result<bool> holds(const Place &Condition, const Addresses &A,
                     cuda::Stream Stream);

  Status build(Binding &B, Segment &S, const Addresses &A);
  Status update(Binding &B, Segment &S, const Addresses &A);
  // Room for all parameters of a step, those of bodies as well.
  void reserve(const BoundSteps &B) {
    Params.reserve(B);
    for (const std::unique_ptr<BoundSteps> &Body : B.Bodies)
      reserve(*Body);
  }
  Status enqueue(Binding &B, size_t Index, const Addresses &A,
                 cuda::Stream Stream);
  Status runTimed(Binding &B, uint32_t Step, const Addresses &A, Events &Marks,
                  Profile &Out);

  std::shared_ptr<CudaModel> TheModel;
  const Driver &D;
  bool NoGraph;
  GraphOptions Overlap;
  RunLimit Limit;
  Log TheLog;
  std::vector<int32_t> Aliases;
  StepParams Params;
  cuda::Stream Own = nullptr, LastStream = nullptr;
  cuda::Event LastRun = nullptr; ///< recorded at the end of each run
  bool HasRun = false;
  bool Lost = false;
  std::string LostWhy;
  std::string MayNotEnd; ///< of the last run's graph
};

Status CudaDevice::unroll(Binding &B, std::vector<Segment> &Segments,
                          uint64_t &ScratchBytes) {
  if (B.Controls.empty())
    return success();
  for (Segment &S : Segments) {
    if (S.What == Segment::Kind::Branch) {
      for (std::vector<Segment> *Side : {&S.Then, &S.Else})
        if (Status Done = unroll(B, *Side, ScratchBytes); !Done)
          return Done;
    } else if (S.What == Segment::Kind::Graph) {
      auto Steps = cuda::unroll(B, S.First, S.End, S.Control,
                                /*IsLimited=*/false);
      if (!Steps)
        return Steps.takeError();
      ScratchBytes = std::max(ScratchBytes, Steps->ScratchBytes);
      S.Unrolled = std::move(*Steps);
    }
  }
  return success();
}

Status CudaDevice::record(Binding &B, std::vector<Segment> &Segments,
                          const Addresses &A) {
  for (Segment &S : Segments) {
    if (S.What == Segment::Kind::OneByOne)
      continue;
    if (S.What == Segment::Kind::Branch) {
      for (std::vector<Segment> *Side : {&S.Then, &S.Else})
        if (Status Done = record(B, *Side, A); !Done)
          return Done;
      continue;
    }
    if (Status Done = build(B, S, A); !Done)
      return Done;
  }
  return success();
}

Status CudaDevice::build(Binding &B, Segment &S, const Addresses &A) {
  BoundSteps &Steps = S.Unrolled.Steps ? *S.Unrolled.Steps : B;
  reserve(Steps);
  S.Graph = std::make_unique<CudaGraph>(TheModel, target(), Overlap);
  return S.Graph->build(Steps, Aliases, A, Params, B.Times, rule());
}

// No documentation says that nodes inside conditional ones take new addresses.
// A driver that refuses gets a new graph; its steps begin without handles.
Status CudaDevice::update(Binding &B, Segment &S, const Addresses &A) {
  BoundSteps &Steps = S.Unrolled.Steps ? *S.Unrolled.Steps : B;
  Status Done = S.Graph->update(Steps, A, Params, rule());
  if (Done || !S.Graph->hasConditions() ||
      Done.error().Code != ErrorCode::Driver)
    return Done;
  auto Again = cuda::unroll(B, S.First, S.End, S.Control, /*IsLimited=*/false);
  if (!Again)
    return Again.takeError();
  S.Graph.reset();
  S.Unrolled = std::move(*Again);
  return build(B, S, A);
}

Status CudaDevice::launch(Binding &B, std::vector<Segment> &Segments,
                          const Addresses &A, cuda::Stream Stream) {
  auto Enqueue = [&](uint32_t Step) { return enqueue(B, Step, A, Stream); };
  auto Holds = [&](const Place &P) { return holds(P, A, Stream); };
  for (Segment &S : Segments) {
    Status Done = success();
    if (S.What == Segment::Kind::OneByOne) {
      Done = B.walkControl(S.Control, Enqueue, Holds);
    } else if (S.What == Segment::Kind::Branch) {
      Result<bool> Taken = Holds(B.Controls[S.Control].Condition);
      if (!Taken)
        return Taken.takeError();
      Done = launch(B, *Taken ? S.Then : S.Else, A, Stream);
    } else {
      Done = update(B, S, A);
      if (Done)
        Done =
            ofNamedKernel(D.check(D->GraphLaunch(S.Graph->executable(), Stream),
                                  "launch the graph"),
                          B);
    }
    if (!Done)
      return Done;
  }
  return success();
}

// One byte comes back: the stream has to be waited for. Loops that data ends
// ask for it once an iteration, so none runs on past the limit.
Result<bool> CudaDevice::holds(const Place &Condition, const Addresses &A,
                               cuda::Stream Stream) {
  uint8_t Byte = 0;
  Status S = D.check(D->MemcpyAsync(Pointer(uintptr_t(&Byte)),
                                    rule()(Condition, A), 1, Stream),
                     "read a condition");
  if (S)
    S = D.check(D->StreamSynchronize(Stream), "wait for a condition");
  if (!S)
    return S.takeError();
  if (Limit.isOver())
    return Limit.error();
  return Byte != 0;
}

Status CudaDevice::enqueue(Binding &B, size_t Index, const Addresses &A,
                           cuda::Stream Stream) {
  const BoundStep &S = B.Steps[Index];
  if (S.Empty)
    return success();
  NvtxRange Range(ranges(), nameOf(S));
  if (Status Failed = setParams(D, B, S, A, Params, rule()); !Failed)
    return Failed;
  if (S.Kind == StepKind::Copy)
    return D.check(D->MemcpyAsync(Params[0], Params[1], size_t(S.Work), Stream),
                   "copy");
  if (S.Kind == StepKind::Fill) {
    MemsetNodeParams P = fillParams(S, Params[0]);
    Outcome Code =
        P.ElementSize == 1
            ? D->MemsetD8Async(P.To, uint8_t(P.Value), P.Width, Stream)
        : P.ElementSize == 2
            ? D->MemsetD16Async(P.To, uint16_t(P.Value), P.Width, Stream)
            : D->MemsetD32Async(P.To, P.Value, P.Width, Stream);
    return D.check(Code, "fill");
  }
  KernelNodeParams P = kernelParams(*TheModel, S, Params);
  constexpr Outcome NotSupported = 801;
  bool Together = target().kernels()->Get(S.Kernel)->cooperative();
  Outcome Code =
      Together && !D->LaunchCooperativeKernel ? NotSupported
      : Together
          ? D->LaunchCooperativeKernel(P.Kernel, P.GridX, P.GridY, P.GridZ,
                                       P.BlockX, P.BlockY, P.BlockZ,
                                       P.SharedBytes, Stream, P.Params)
          : D->LaunchKernel(P.Kernel, P.GridX, P.GridY, P.GridZ, P.BlockX,
                            P.BlockY, P.BlockZ, P.SharedBytes, Stream, P.Params,
                            nullptr);
  Status Done = D.check(Code, "launch a kernel");
  if (!Done)
    return ofKernel(std::move(Done), S.Kernel);
  return Done;
}

// Events around a step. The stream is waited for after it, so that an error is
// that step's. A step in a loop begins when it begins first and takes what all
// its iterations take.
Status CudaDevice::runTimed(Binding &B, uint32_t Step, const Addresses &A,
                            Events &Marks, Profile &Out) {
  ProfileStep &Into = Out.Steps[Step];
  Marks.keepFirst();
  if (Status S = Marks.add(Own); !S)
    return S;
  if (Status S = enqueue(B, Step, A, Own); !S)
    return S;
  if (Status S = Marks.add(Own); !S)
    return S;
  if (Status S = D.check(D->StreamSynchronize(Own), "finish a step"); !S) {
    S.error().Kernel = Into.Name;
    S.error().Node = Into.Nodes;
    return S;
  }
  float Start = 0, Length = 0;
  if (Status S = D.check(D->EventElapsedTime(&Start, Marks[0], Marks[1]),
                         "read an event");
      !S)
    return S;
  if (Status S = D.check(D->EventElapsedTime(&Length, Marks[1], Marks[2]),
                         "read an event");
      !S)
    return S;
  if (Into.Facts.duration_us == 0)
    Into.Facts.start_us = double(Start) * 1000;
  Into.Facts.duration_us += double(Length) * 1000;
  ++Into.Runs;
  return success();
}

Status CudaDevice::profile(Binding &B, const Addresses &A, Profile &Out) {
  return guarded([&]() -> Status {
    Limit.lift();
    Out.Track = context().name();
    Events Marks(D);
    if (Status S = Marks.add(Own); !S)
      return S;
    for (size_t I = 0; I < B.Steps.size(); ++I)
      Out.Steps.push_back(describeStep(B, I));
    auto Run = [&](uint32_t Step) { return runTimed(B, Step, A, Marks, Out); };
    return B.walk(Run, [&](const Place &P) { return holds(P, A, Own); });
  });
}

} // namespace

Result<std::unique_ptr<Device>> makeCudaDevice(const std::shared_ptr<Model> &M,
                                               const DeviceOptions &Options) {
  if (Status S = checkTargetName(*M, Options); !S)
    return S;
  auto Opened = Driver::open(Options.Driver);
  if (!Opened)
    return Opened.takeError();
  auto Context = DeviceContext::open(*Opened, Options.Where.ordinal);
  if (!Context)
    return Context.takeError();
  auto Target = chooseTarget(*M, **Context, Options.Target);
  if (!Target)
    return Target.takeError();
  std::string Key = (*Opened)->path() + "\n" +
                    std::to_string(Options.Where.ordinal) + "\n" +
                    (*Target)->name()->str();
  auto Shared = M->deviceModel(
      Key, [&] { return CudaModel::load(*M, **Target, *Context); });
  if (!Shared)
    return Shared.takeError();
  auto Out = std::make_unique<CudaDevice>(
      **Target, std::static_pointer_cast<CudaModel>(*Shared), Options);
  if (Status S = Out->open(*M); !S)
    return S;
  if (Options.TheLog.wanted())
    Options.TheLog.info("session on " + (*Context)->name() + " with target " +
                        (*Target)->name()->str());
  return Result<std::unique_ptr<Device>>(std::move(Out));
}

} // namespace kpc::rt
