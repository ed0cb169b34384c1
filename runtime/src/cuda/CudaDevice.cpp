//===- CudaDevice.cpp - Runs plans on a CUDA device -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/cuda/CudaGraph.h"

namespace kpc::rt {

using namespace cuda;

namespace {

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
        Overlap{Options.OneChain, Options.NoEarlyLaunch} {}

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
      if (NoGraph || touchesPortsWithoutKernel(B))
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
    return guarded([&]() -> Status {
      if (NoGraph) {
        for (size_t I = 0; I < B.Steps.size(); ++I)
          if (Status S = enqueue(B, I, A, streamOf(Stream)); !S)
            return S;
        return success();
      }
      if (!B.Recorded)
        if (Status S = record(B, A); !S)
          return S;
      auto *Graph = static_cast<CudaGraph *>(B.Recorded.get());
      Status S = Graph->update(B, A, Params, rule());
      if (!S) {
        // Some nodes have new addresses, some old: record again next time.
        B.Recorded.reset();
        return S;
      }
      return ofNamedKernel(
          D.check(D->GraphLaunch(Graph->executable(), streamOf(Stream)),
                  "launch the graph"),
          B);
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
      return D.check(D->StreamSynchronize(streamOf(Stream)), "finish the run");
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

  Status allowShared(const Binding &B) {
    for (const BoundStep &S : B.Steps)
      if (S.Kind == StepKind::Launch && !S.Empty)
        if (Status Done = TheModel->allowShared(S.Kernel, S.Shared); !Done)
          return ofKernel(std::move(Done), S.Kernel);
    return success();
  }

  Status record(Binding &B, const Addresses &A) {
    NvtxRange Range(ranges(), "record");
    auto Graph = std::make_unique<CudaGraph>(TheModel, target(), Overlap);
    if (Status S = Graph->build(B, Aliases, A, Params, rule()); !S)
      return S;
    B.Recorded = std::move(Graph);
    return success();
  }

  Status enqueue(Binding &B, size_t Index, const Addresses &A,
                 cuda::Stream Stream);

  std::shared_ptr<CudaModel> TheModel;
  const Driver &D;
  bool NoGraph;
  GraphOptions Overlap;
  std::vector<int32_t> Aliases;
  StepParams Params;
  cuda::Stream Own = nullptr, LastStream = nullptr;
  cuda::Event LastRun = nullptr; ///< recorded at the end of each run
  bool HasRun = false;
  bool Lost = false;
  std::string LostWhy;
};

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
  Status Done = D.check(
      D->LaunchKernel(P.Kernel, P.GridX, P.GridY, P.GridZ, P.BlockX, P.BlockY,
                      P.BlockZ, P.SharedBytes, Stream, P.Params, nullptr),
      "launch a kernel");
  if (!Done)
    return ofKernel(std::move(Done), S.Kernel);
  return Done;
}

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

private:
  const Driver &D;
  std::vector<Event> All;
};

// One event before the first step and one after each. The stream is waited for
// after each step, so that an error is that step's.
Status CudaDevice::profile(Binding &B, const Addresses &A, Profile &Out) {
  return guarded([&]() -> Status {
    Out.Track = context().name();
    Events Marks(D);
    if (Status S = Marks.add(Own); !S)
      return S;
    for (size_t I = 0; I < B.Steps.size(); ++I) {
      Out.Steps.push_back(describeStep(B, I));
      if (Status S = Marks.add(Own); !S)
        return S;
      if (Status S = enqueue(B, I, A, Own); !S)
        return S;
      if (Status S = Marks.add(Own); !S)
        return S;
      if (Status S = D.check(D->StreamSynchronize(Own), "finish a step"); !S) {
        S.error().Kernel = Out.Steps.back().Name;
        S.error().Node = Out.Steps.back().Nodes;
        return S;
      }
      float Start = 0, Length = 0;
      size_t Mark = 1 + 2 * I;
      if (Status S = D.check(D->EventElapsedTime(&Start, Marks[0], Marks[Mark]),
                             "read an event");
          !S)
        return S;
      if (Status S = D.check(
              D->EventElapsedTime(&Length, Marks[Mark], Marks[Mark + 1]),
              "read an event");
          !S)
        return S;
      Out.Steps.back().Facts.start_us = double(Start) * 1000;
      Out.Steps.back().Facts.duration_us = double(Length) * 1000;
    }
    return success();
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
