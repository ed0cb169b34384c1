//===- PrecisionTrial.cpp - The error of types of layers ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/PrecisionTrial.h"

#include "tools/kpc/Interrupt.h"
#include "tools/kpc/tensorfile/TensorFile.h"

#include <algorithm>
#include <fmt/format.h>

namespace kpc::cli {

using tensorfile::HostTensor;

/// Samples of random numbers, where there is no data.
static constexpr int64_t RandomSamples = 8;
/// The input that switch-precisions adds.
static constexpr const char *SwitchInput = "kpc.precisions";

std::optional<Model> PrecisionTrial::compileForHost(CompileOptions Options,
                                                    const std::string &Name,
                                                    CompileReport *Into) {
  Options.Targets = {"host"};
  Options.Output = pathFor(Name);
  Options.Io = Precision::Model;
  Options.CommandLine.clear();
  Options.PrecisionTable.clear();
  Options.Strict = false;
  Diagnostics Ours;
  std::optional<Model> M = compileAndOpen(Options, Given.Quiet, Ours, Fault,
                                          /*LoadFlags=*/0, Into);
  // Warnings are told by the compile that is asked for.
  if (!M)
    Diags = std::move(Ours);
  return M;
}

std::optional<Session> PrecisionTrial::sessionOf(const Model &M) {
  DeviceChoice Choice;
  Choice.Device = {DeviceOption::Host, 0};
  Choice.Threads = Given.Threads;
  Choice.Quiet = true;
  return openSession(M, Choice, Diags);
}

std::optional<Inputs> PrecisionTrial::sample(int64_t I) {
  if (Data)
    return Data->read(I, *Plain, Diags);
  InputOptions Random;
  Random.Others = Filling::Random;
  Random.Seed = I;
  return makeInputs(*Plain, Random, Diags);
}

std::optional<PrecisionTrial::Values>
PrecisionTrial::run(Session &S, const std::vector<NamedTensor> &In) {
  if (interrupted())
    return std::nullopt;
  Result<Outputs> Ran = S.run(In);
  if (!Ran) {
    report(Ran.error(), Diags);
    return std::nullopt;
  }
  Values All;
  for (const NamedTensor &T : *Ran) {
    auto Type = static_cast<ElementType>(T.Value.type());
    if (Type != ElementType::F32 && Type != ElementType::F16 &&
        Type != ElementType::BF16 && Type != ElementType::F64)
      continue;
    int64_t N = 1;
    for (int64_t D : T.Value.dims())
      N *= D;
    auto Wide =
        tensorfile::toDoubles(Type,
                              {static_cast<const uint8_t *>(T.Value.data()),
                               static_cast<size_t>(T.Value.bytes())},
                              N);
    All.push_back(Wide ? std::move(*Wide) : std::vector<double>());
  }
  return All;
}

bool PrecisionTrial::open(const std::vector<Precision> &Asked) {
  if (Folder.path().empty()) {
    Diags.error(Code::OutputUnwritable).message(Folder.error());
    return false;
  }
  Types = Asked;
  CompileOptions Options = Given.Options;
  Options.PrecisionFor.clear();
  Options.PlanLines.clear();
  Options.Compute = Precision::Fp32;
  CompileOptions WithSwitches = Options;
  Options.Calibration.clear();
  WithSwitches.Switched = Types;
  Plain = compileForHost(Options, "plain.kpc", nullptr);
  if (!Plain)
    return false;
  if (!Given.Data.empty()) {
    Data = Samples::open(Given.Data, *Plain, Diags);
    if (!Data)
      return false;
  }
  Count = Data ? Data->count() : RandomSamples;
  std::optional<Session> Reference = sessionOf(*Plain);
  if (!Reference)
    return false;
  Progress Bar(Given.Quiet);
  for (int64_t I = 0; I < Count; ++I) {
    Bar.show("samples", static_cast<size_t>(I), static_cast<size_t>(Count));
    std::optional<Inputs> In = sample(I);
    std::optional<Values> Out =
        In ? run(*Reference, asRuntimeTensors(*In)) : std::nullopt;
    if (!Out)
      return false;
    Wanted.push_back(std::move(*Out));
  }
  Bar.clear();
  if (Wanted.empty() || Wanted.front().empty()) {
    Diags.error(Code::UsageNotAvailable)
        .message("--precision auto: no output of the model is of floats, so "
                 "that no error can be measured")
        .hint("give the model an output of floats, such as what its argmax is "
              "of, or choose with --precision-for");
    return false;
  }
  ByChoice = compileForHost(WithSwitches, "switched.kpc", &Report);
  if (!ByChoice)
    return false;
  Switched = sessionOf(*ByChoice);
  return Switched.has_value();
}

std::vector<int32_t>
PrecisionTrial::switchesFor(const std::vector<Layer> &Layers,
                            const Allocation &At) const {
  std::vector<int32_t> Switches(Layers.size());
  for (size_t I = 0; I < Layers.size(); ++I) {
    if (!At[I])
      continue;
    const std::string &Type = Layers[I].Types[At[I] - 1].Type;
    for (size_t T = 0; T < Types.size(); ++T)
      if (precisionWords()[size_t(Types[T])] == Type)
        Switches[I] = static_cast<int32_t>(T) + 1;
  }
  return Switches;
}

std::optional<std::vector<Costs>> PrecisionTrial::costsWith(
    Session &S, const std::vector<std::vector<int32_t>> *Asked, int64_t Limit) {
  size_t Runs = Asked ? Asked->size() : 1;
  std::vector<std::vector<OutputError>> Errors(
      Runs, std::vector<OutputError>(Wanted.front().size()));
  int64_t Taken = std::min(Limit, Count);
  Progress Bar(Given.Quiet);
  for (int64_t Turn = 0; Turn < Taken; ++Turn) {
    int64_t I = Turn * Count / Taken; // spread over all of them
    std::optional<Inputs> In = sample(I);
    if (!In)
      return std::nullopt;
    for (size_t R = 0; R < Runs; ++R) {
      Bar.show("errors of layers", static_cast<size_t>(Turn) * Runs + R,
               static_cast<size_t>(Taken) * Runs);
      std::vector<NamedTensor> Tensors = asRuntimeTensors(*In);
      std::vector<int32_t> Switches;
      if (Asked && !(*Asked)[R].empty()) {
        Switches = (*Asked)[R];
        std::vector<int64_t> Dims = {static_cast<int64_t>(Switches.size())};
        Tensors.push_back(
            {SwitchInput, Tensor(Switches.data(), KPC_I32, Dims)});
      }
      std::optional<Values> Got = run(S, Tensors);
      if (!Got)
        return std::nullopt;
      const Values &Of = Wanted[static_cast<size_t>(I)];
      for (size_t O = 0; O < std::min(Of.size(), Got->size()); ++O)
        Errors[R][O].add((*Got)[O], Of[O]);
    }
  }
  std::vector<Costs> All(Runs);
  for (size_t R = 0; R < Runs; ++R)
    for (const OutputError &E : Errors[R])
      All[R].push_back(E.cost(Given.Measure));
  return All;
}

bool PrecisionTrial::measure(std::vector<Layer> &Layers) {
  std::vector<std::vector<int32_t>> Asked;
  for (size_t I = 0; I < Layers.size(); ++I)
    for (size_t T = 0; T < Layers[I].Types.size(); ++T) {
      Allocation At(Layers.size());
      At[I] = T + 1;
      Asked.push_back(switchesFor(Layers, At));
    }
  auto All = costsWith(*Switched, &Asked, Given.LayerSamples);
  if (!All)
    return false;
  size_t Next = 0;
  for (Layer &L : Layers)
    for (LayerType &T : L.Types)
      T.Alone = (*All)[Next++];
  return true;
}

std::optional<Costs> PrecisionTrial::costOf(const std::vector<Layer> &Layers,
                                            const Allocation &At) {
  std::vector<std::vector<int32_t>> Asked = {switchesFor(Layers, At)};
  auto All = costsWith(*Switched, &Asked, Count);
  return All ? std::optional(All->front()) : std::nullopt;
}

std::optional<Costs> PrecisionTrial::costOf(const CompileOptions &Options) {
  std::optional<Model> M = compileForHost(Options, "chosen.kpc", nullptr);
  std::optional<Session> S = M ? sessionOf(*M) : std::nullopt;
  if (!S)
    return std::nullopt;
  auto All = costsWith(*S, nullptr, Count);
  return All ? std::optional(All->front()) : std::nullopt;
}

} // namespace kpc::cli
