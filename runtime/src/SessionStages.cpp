//===- SessionStages.cpp - Sizes that a run decides -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where data decides a size, a plan runs in stages: what comes before the
/// number is known, then the rest, bound with it. Each stage is a binding of
/// its own; values keep their places from one to the next.
///
//===----------------------------------------------------------------------===//

#include "runtime/src/Session.h"

#include <algorithm>
#include <cinttypes>

namespace kpc::rt {

// Numbers lie apart: kernels want what they write aligned.
static constexpr size_t DecidedStride = 64;

Status Session::makeDecided() {
  const std::vector<DataSizeInfo> &Sizes = TheModel->dataSizes();
  if (Sizes.empty())
    return success();
  auto Made =
      Block::make(TheDevice->memory(), DecidedStride * Sizes.size(), 256);
  if (!Made)
    return Made.takeError();
  Decided = std::move(*Made);
  for (size_t I = 0; I < Sizes.size(); ++I)
    DecidedTensors.push_back(
        {static_cast<uint8_t *>(Decided.data()) + I * DecidedStride, nullptr, 0,
         KPC_I64, TheDevice->where()});
  return success();
}

Stage Session::stageAtHand() const {
  Stage Part;
  Part.Number = AtStage;
  Part.First = AtStage ? Borders[AtStage - 1] : 0;
  if (AtStage < Borders.size())
    Part.End = Borders[AtStage];
  Part.Open = Open;
  return Part;
}

// Memory for those of the library's outputs whose sizes have become known.
Status Session::allocateOutputs() {
  const auto &From =
      OwnedOnHost ? TheDevice->hostMemory() : TheDevice->memory();
  for (size_t I = 0; I < Owned->All.size(); ++I) {
    const Binding::PortShape &Shape = Current->Plan->Outputs[I];
    if (Outputs[I].Tensor || Shape.Open)
      continue;
    const PortInfo &P = TheModel->outputs()[I];
    OutputSet::One &One = Owned->All[I];
    auto Made =
        Block::make(From, Shape.Bytes, std::max<uint64_t>(Shape.Alignment, 64));
    if (!Made)
      return Made.takeError();
    One.Data = std::move(*Made);
    One.Name = P.Name;
    One.Dims = Shape.Dims;
    One.Tensor = {One.Name.c_str(),
                  {One.Data.data(), One.Dims.data(), int32_t(One.Dims.size()),
                   int32_t(P.Type), From->device()}};
    Outputs[I].Tensor = &One.Tensor.tensor;
  }
  return success();
}

// Addresses for the outputs whose sizes are known by now.
Status Session::placeOutputs() {
  size_t Own = TheModel->callersOutputs().size();
  for (size_t I = 0; I < DecidedTensors.size(); ++I)
    Outputs[Own + I].Tensor = &DecidedTensors[I];
  if (Owned)
    if (Status S = allocateOutputs(); !S)
      return S;
  if (Owned || AtStage)
    if (Status S = checkOutputs(); !S)
      return S;
  return stage(Outputs, Current->Plan->Outputs, Current->OutputStaging,
               OutputAddresses);
}

Status Session::runStage(const Addresses &At, void *Stream, Profile *Timing) {
  Binding &Plan = *Current->Plan;
  if (!Timing)
    return TheDevice->run(Plan, At, Stream);
  if (AtStage == 0)
    return TheDevice->profile(Plan, At, *Timing);
  Profile Own;
  if (Status S = TheDevice->profile(Plan, At, Own); !S)
    return S;
  // The stage begins when the one before it ended.
  double Start = 0;
  for (const ProfileStep &Step : Timing->Steps)
    Start = std::max(Start, Step.Facts.start_us + Step.Facts.duration_us);
  for (size_t I = Plan.FirstStep; I < Plan.EndStep; ++I) {
    Timing->Steps[I] = std::move(Own.Steps[I]);
    Timing->Steps[I].Facts.start_us += Start;
  }
  return success();
}

// A number that a stage counted decides a symbol, or must be what the sizes
// say.
Status Session::decide(const DataSizeInfo &Size, int64_t Value) {
  std::optional<Solution> Solved;
  if (std::optional<uint32_t> Symbol = asSymbol(*Size.Size);
      Symbol && !Known[*Symbol])
    Solved = Solution{*Symbol, Value};
  else
    Solved = solve(*Size.Size, Value, Symbols, Known);
  if (Value >= 0 && Solved) {
    Symbols[Solved->Symbol] = Solved->Value;
    Known[Solved->Symbol] = 1;
    Open[Solved->Symbol] = 0;
    return success();
  }
  if (Value < 0) {
    Error E = failure(ErrorCode::OutOfRange,
                      "the data decides that %s is %" PRId64
                      ", but sizes are 0 or more",
                      Size.Text.c_str(), Value);
    E.Hint = "give inputs of which this holds";
    return E;
  }
  std::optional<int64_t> Expected =
      isReady(*Size.Size) ? evaluate(*Size.Size, Symbols) : std::nullopt;
  if (Expected == Value)
    return success();
  std::string Must = Expected ? " = " + std::to_string(*Expected) : "";
  Error E = failure(
      ErrorCode::OutOfRange,
      "the data decides a size of %" PRId64 ", but it must be %s%s", Value,
      Size.Text.c_str(), Must == " = " + Size.Text ? "" : Must.c_str());
  E.Hint = "give inputs of which this holds";
  return E;
}

// All numbers of a border come back with one wait.
Status Session::readDecided(void *Stream) {
  std::vector<int64_t> Values(TheModel->dataSizes().size());
  size_t Own = TheModel->callersOutputs().size();
  auto AtBorder = [&](auto Visit) -> Status {
    for (const format::Readback *R :
         format::each(TheDevice->target().readbacks()))
      if (R->step() == Borders[AtStage])
        if (Status S = Visit(R->output() - Own); !S)
          return S;
    return success();
  };
  Status S = AtBorder([&](size_t I) {
    return TheDevice->copy(&Values[I], DecidedTensors[I].data, sizeof(int64_t),
                           Stream);
  });
  if (S)
    S = TheDevice->wait(Stream);
  if (!S)
    return S;
  return AtBorder(
      [&](size_t I) { return decide(TheModel->dataSizes()[I], Values[I]); });
}

Status Session::nextStage(void *Stream) {
  if (Status S = readDecided(Stream); !S)
    return S;
  ++AtStage;
  if (AtStage == Borders.size())
    for (uint32_t I = 0; I < Open.size(); ++I)
      if (Open[I])
        return failure(ErrorCode::Malformed,
                       "no output of the artifact decides '%s'",
                       format::printable(TheModel->symbol(I).name()).c_str());
  if (Status S = bind(); !S)
    return S;
  return placeOutputs();
}

// Each open size at its greatest; later ones may be bounded by earlier ones.
Result<std::span<const int64_t>> Session::greatestDims(size_t Index) {
  std::vector<int64_t> Most = Symbols;
  std::vector<uint8_t> Found = Known;
  for (const DataSizeInfo &Size : TheModel->dataSizes())
    if (std::optional<int64_t> Value = evaluate(*Size.AtMost, Most)) {
      if (std::optional<uint32_t> Symbol = asSymbol(*Size.Size);
          Symbol && !Found[*Symbol]) {
        Most[*Symbol] = *Value;
        Found[*Symbol] = 1;
      } else if (auto Solved = solve(*Size.Size, *Value, Most, Found)) {
        Most[Solved->Symbol] = Solved->Value;
        Found[Solved->Symbol] = 1;
      }
    }
  Greatest.clear();
  for (const format::Expr *E : TheModel->outputs()[Index].Exprs)
    Greatest.push_back(evaluate(*E, Most).value_or(0));
  return std::span<const int64_t>(Greatest);
}

} // namespace kpc::rt
