//===- Session.cpp - A model on a device ----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Session.h"
#include "runtime/src/SymbolCheck.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace kpc::rt {

Result<std::unique_ptr<Session>> Session::make(const std::shared_ptr<Model> &M,
                                               const SessionOptions &Options) {
  std::unique_ptr<Session> Out(new Session(M));
  Out->Options = Options;
  auto Made = Options.Device.Where.kind == KPC_DEVICE_CUDA
                  ? makeCudaDevice(M, Options.Device)
                  : makeHostDevice(M, Options.Device);
  if (!Made)
    return Made.takeError();
  Out->TheDevice = std::move(*Made);
  if (Options.Workspace) {
    if (uintptr_t(Options.Workspace) % 256)
      return failure(ErrorCode::Misaligned,
                     "the workspace is not aligned to 256 bytes");
    Out->Arena = Options.Workspace;
    Out->ArenaSize = Options.WorkspaceSize;
  }
  Out->Inputs.resize(M->inputs().size());
  Out->Outputs.resize(M->outputs().size());
  Out->InputAddresses.resize(M->inputs().size());
  Out->OutputAddresses.resize(M->outputs().size());
  Out->Symbols.resize(M->symbolCount());
  Out->Known.resize(M->symbolCount());
  Out->Prepared.resize(M->symbolCount());
  Out->InputValues.resize(M->inputValues().size());
  Out->ValueBytes.resize(M->inputValues().size());
  Out->Borders = stageBorders(Out->TheDevice->target());
  Out->Open.resize(M->symbolCount());
  // A run of several stages keeps the shape of each.
  Out->Options.MaxBoundShapes += Out->Borders.size();
  Out->Shapes.reserve(Out->Options.MaxBoundShapes + 1);
  if (Status S = Out->makeDecided(); !S)
    return S;
  return Out;
}

Session::~Session() {
  if (TheDevice)
    TheDevice->drain();
}

// Finds or makes the plan for `Symbols`.
Status Session::bind() {
  for (auto &Shape : Shapes)
    if (Shape->Plan->StageNumber == AtStage &&
        std::equal(Symbols.begin(), Symbols.end(),
                   Shape->Plan->Symbols.begin())) {
      Current = Shape.get();
      Current->Plan->LastUse = ++Uses;
      return ensureArena(Current->Plan->Arena.Size);
    }
  NvtxRange Range(Options.Device.Ranges, "bind");
  auto Plan =
      Binding::make(*TheModel, TheDevice->target(), Symbols, stageAtHand(),
                    {Options.KeepValues, Options.MostIterations});
  if (!Plan)
    return Plan.takeError();
  if (Status S = ensureArena((*Plan)->Arena.Size); !S)
    return S;
  auto Shape = std::make_unique<Bound>();
  Shape->Plan = std::move(*Plan);
  Shape->InputStaging.resize(Inputs.size());
  Shape->OutputStaging.resize(Outputs.size());
  if (Status S = TheDevice->prepare(*Shape->Plan, Arena); !S)
    return S;
  makeRoom();
  Shape->Plan->LastUse = ++Uses;
  Current = Shape.get();
  Shapes.push_back(std::move(Shape));
  return success();
}

// Lets the least recently used shape go when there are as many as allowed.
void Session::makeRoom() {
  if (Shapes.size() < Options.MaxBoundShapes)
    return;
  auto Oldest = std::min_element(Shapes.begin(), Shapes.end(),
                                 [](const auto &A, const auto &B) {
                                   return A->Plan->LastUse < B->Plan->LastUse;
                                 });
  TheDevice->drain();
  if (Current == Oldest->get())
    Current = nullptr;
  if (Ran == Oldest->get())
    Ran = nullptr;
  Shapes.erase(Oldest);
}

Status Session::ensureArena(uint64_t Bytes) {
  if (Bytes <= ArenaSize)
    return success();
  if (Options.Workspace)
    return failure(ErrorCode::TooSmall,
                   "the workspace has %" PRIu64
                   " bytes, these dims need %" PRIu64,
                   ArenaSize, Bytes);
  TheDevice->drain();
  forgetRun();
  // What earlier stages of this run wrote is needed.
  Block Before = AtStage ? std::move(OwnArena) : Block();
  uint64_t Kept = AtStage ? ArenaSize : 0;
  Arena = nullptr;
  ArenaSize = 0;
  OwnArena.reset();
  auto Made = Block::make(TheDevice->memory(), Bytes, 256);
  if (!Made)
    return Made.takeError();
  if (Kept) {
    Status S = TheDevice->copy(Made->data(), Before.data(), Kept, nullptr);
    if (S)
      S = TheDevice->wait(nullptr);
    if (!S)
      return S;
  }
  OwnArena = std::move(*Made);
  Arena = OwnArena.data();
  ArenaSize = Bytes;
  return success();
}

Status Session::bindInputs(Tensors Given, void *Stream) {
  if (Status S = match(TheModel->inputs(), Given, Inputs, "input"); !S)
    return S;
  for (size_t I = 0; I < Inputs.size(); ++I)
    if (Status S = checkTensor(TheModel->inputs()[I], *Inputs[I].Tensor); !S)
      return S;
  if (Status S = readInputValues(Stream); !S)
    return S;
  if (Status S = unifySymbols(); !S)
    return S;
  AtStage = 0;
  return bind();
}

// The caller's outputs; those that decide sizes are the session's own.
Status Session::bindOutputs(Tensors Given) {
  if (Status S = match(TheModel->callersOutputs(), Given, Outputs, "output");
      !S)
    return S;
  return checkOutputs();
}

// Decides for each port whether its tensor is used in place or through a copy
// that the device reaches and that is aligned.
Status Session::stage(std::vector<Given> &Ports,
                      const std::vector<Binding::PortShape> &Shapes,
                      std::vector<Block> &Staging,
                      std::vector<void *> &Addresses) {
  for (size_t I = 0; I < Ports.size(); ++I) {
    const Binding::PortShape &Shape = Shapes[I];
    if (Ports[I].Placed || Shape.Open)
      continue;
    Ports[I].Placed = true;
    const kpc_tensor &T = *Ports[I].Tensor;
    bool Aligned = uintptr_t(T.data) % Shape.Alignment == 0;
    Ports[I].Staged = Shape.Bytes != 0 && (!isLocal(T) || !Aligned);
    Addresses[I] = T.data;
    if (!Ports[I].Staged)
      continue;
    if (isLocal(T) && !SaidStaged) {
      SaidStaged = true;
      Options.Device.TheLog.warning(
          formatted("a tensor is not aligned to %" PRIu64
                    " bytes and is copied in every run",
                    Shape.Alignment));
    }
    if (!Staging[I].data()) {
      auto Made = Block::make(TheDevice->memory(), Shape.Bytes,
                              std::max<uint64_t>(Shape.Alignment, 256));
      if (!Made)
        return Made.takeError();
      Staging[I] = std::move(*Made);
    }
    Addresses[I] = Staging[I].data();
  }
  return success();
}

Status Session::execute(void *Stream, Profile *Timing) {
  forgetRun();
  if (Status S = stage(Inputs, Current->Plan->Inputs, Current->InputStaging,
                       InputAddresses);
      !S)
    return S;
  std::fill(OutputAddresses.begin(), OutputAddresses.end(), nullptr);
  if (Status S = placeOutputs(); !S)
    return S;
  if (Status S = TheDevice->begin(Stream); !S)
    return S;
  bool OnHost = Stream == nullptr;
  for (size_t I = 0; I < Inputs.size(); ++I) {
    OnHost |= !isLocal(*Inputs[I].Tensor);
    if (Inputs[I].Staged)
      if (Status S = TheDevice->copy(InputAddresses[I], Inputs[I].Tensor->data,
                                     Current->Plan->Inputs[I].Bytes, Stream);
          !S)
        return S;
  }
  if (Status S =
          runStage({InputAddresses, OutputAddresses, Arena}, Stream, Timing);
      !S)
    return S;
  while (AtStage < Borders.size()) {
    if (Status S = nextStage(Stream); !S)
      return S;
    if (Status S =
            runStage({InputAddresses, OutputAddresses, Arena}, Stream, Timing);
        !S)
      return S;
  }
  for (size_t I = 0; I < TheModel->callersOutputs().size(); ++I) {
    OnHost |= !isLocal(*Outputs[I].Tensor);
    if (Outputs[I].Staged)
      if (Status S =
              TheDevice->copy(Outputs[I].Tensor->data, OutputAddresses[I],
                              Current->Plan->Outputs[I].Bytes, Stream);
          !S)
        return S;
  }
  if (Status S = TheDevice->end(Stream); !S)
    return S;
  if (OnHost)
    if (Status S = TheDevice->wait(Stream); !S)
      return S;
  Ran = Current;
  return success();
}

static Status checkStream(const Device &D, void *Stream) {
  if (D.isHost() && Stream)
    return failure(ErrorCode::InvalidArgument,
                   "a host session takes no stream");
  return success();
}

Status Session::run(Tensors GivenInputs, Tensors GivenOutputs, void *Stream) {
  NvtxRange Range(Options.Device.Ranges, "run");
  if (Status S = checkStream(*TheDevice, Stream); !S)
    return S;
  if (Status S = bindInputs(GivenInputs, Stream); !S)
    return S;
  if (Status S = bindOutputs(GivenOutputs); !S)
    return S;
  return execute(Stream, nullptr);
}

Status Session::profile(Tensors GivenInputs, Tensors GivenOutputs,
                        Profile &Out) {
  NvtxRange Range(Options.Device.Ranges, "profile");
  if (Status S = bindInputs(GivenInputs, nullptr); !S)
    return S;
  if (Status S = bindOutputs(GivenOutputs); !S)
    return S;
  if (Status S = execute(nullptr, &Out); !S)
    return S;
  Out.finish();
  return success();
}

Result<std::shared_ptr<OutputSet>> Session::runOwned(Tensors GivenInputs,
                                                     void *Stream) {
  NvtxRange Range(Options.Device.Ranges, "run");
  if (Status S = checkStream(*TheDevice, Stream); !S)
    return S;
  if (Status S = bindInputs(GivenInputs, Stream); !S)
    return S;
  bool OnHost = Inputs.empty();
  for (const Given &G : Inputs)
    OnHost |= !isLocal(*G.Tensor);
  auto Set = std::make_shared<OutputSet>();
  Set->All.resize(TheModel->callersOutputs().size());
  std::fill(Outputs.begin(), Outputs.end(), Given());
  Owned = Set.get();
  OwnedOnHost = OnHost;
  Status Done = execute(Stream, nullptr);
  Owned = nullptr;
  if (!Done) {
    TheDevice->drain(); // nothing may write to what is freed now
    return Done;
  }
  for (const OutputSet::One &One : Set->All)
    Set->Tensors.push_back(One.Tensor);
  return Set;
}

Status Session::prepare(std::span<const kpc_dim> Dims) {
  startSymbols();
  for (const kpc_dim &Dim : Dims) {
    auto Found = std::find_if(
        TheModel->dims().begin(), TheModel->dims().end(), [&](uint32_t Index) {
          return std::strcmp(TheModel->symbolName(Index), Dim.name) == 0;
        });
    if (Found == TheModel->dims().end()) {
      Error E = failure(ErrorCode::UnknownName, "the model has no dim '%s'",
                        Dim.name);
      for (uint32_t I : TheModel->dims())
        E.Hint += (E.Hint.empty() ? "its dims are " : ", ") +
                  std::string(TheModel->symbolName(I));
      return E;
    }
    Symbols[*Found] = Dim.value;
    Known[*Found] = 1;
  }
  if (Status S = completeSymbols(); !S)
    return S;
  if (Status S = checkSymbols(*TheModel, Symbols, Open); !S)
    return S;
  for (const kpc_dim &Dim : Dims)
    for (uint32_t I : TheModel->dims())
      if (std::strcmp(TheModel->symbolName(I), Dim.name) == 0)
        Prepared[I] = Dim.value;
  AtStage = 0;
  return bind();
}

Result<std::span<const int64_t>> Session::outputDims(size_t Index) {
  size_t Count = TheModel->callersOutputs().size();
  if (Index >= Count)
    return failure(ErrorCode::OutOfRange, "the model has %zu outputs", Count);
  if (!Current)
    return failure(ErrorCode::Missing,
                   "no shape is bound: prepare or run first");
  if (Current->Plan->Outputs[Index].Open)
    return greatestDims(Index);
  return std::span<const int64_t>(Current->Plan->Outputs[Index].Dims);
}

kpc_memory Session::memory() const {
  kpc_memory Out{};
  Out.weight_bytes = TheDevice->weightBytes();
  Out.reserved_bytes = OwnArena.size();
  Out.bound_shapes = int32_t(Shapes.size());
  for (const auto &Shape : Shapes) {
    for (const Block &B : Shape->InputStaging)
      Out.staging_bytes += B.size();
    for (const Block &B : Shape->OutputStaging)
      Out.staging_bytes += B.size();
  }
  if (Current) {
    Out.arena_bytes = Current->Plan->Arena.Size;
    Out.live_bytes = Current->Plan->Arena.LiveBytes;
    Out.value_bytes = Current->Plan->Arena.SumBytes;
  }
  return Out;
}

} // namespace kpc::rt
