//===- AutoPrecision.cpp - --precision auto -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/AutoPrecision.h"

#include "compiler/CalibrationFile.h"
#include "compiler/target/TargetClass.h"
#include "tools/kpc/Files.h"
#include "tools/kpc/PrecisionGains.h"
#include "tools/kpc/PrecisionPlan.h"
#include "tools/kpc/PrecisionTrial.h"
#include "tools/kpc/TextTable.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Regex.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace kpc::cli {

namespace {

std::string wordOf(Precision P) { return precisionWords()[size_t(P)]; }

/// One search, step by step.
class AutoPrecision {
public:
  AutoPrecision(const AutoArguments &Arguments, CompileOptions &Options,
                bool Quiet, Diagnostics &Diags, std::vector<std::string> &Notes)
      : Arguments(Arguments), Options(Options), Quiet(Quiet), Diags(Diags),
        Notes(Notes), Trial(settingOf(Arguments, Options, Quiet), Diags) {}

  bool run();
  bool isFault() const { return Fault || Trial.isFault(); }

private:
  static PrecisionTrial::Setting settingOf(const AutoArguments &Arguments,
                                           const CompileOptions &Options,
                                           bool Quiet);
  bool findTypes();
  bool estimateTimes();
  bool isFixed(const std::string &Node) const;
  /// Layers that can have nothing but what is stored are not told of.
  bool isTold(const Layer &L) const {
    return !L.Types.empty() || isFixed(L.Node);
  }
  bool measureLayers();
  bool measureStored();
  bool search();
  bool fill();
  bool compareSingles();
  bool checkByCommand();
  bool keep();

  CompileOptions optionsFor(const Allocation &At) const;
  std::optional<std::vector<LaunchEstimate>>
  estimated(const CompileOptions &For);
  std::optional<bool> passesCommand(const Allocation &At);
  bool isWithin(const Costs &Of) const {
    return Arguments.Budget.Text.empty() ||
           greatest(Of) <= Arguments.Budget.Limit;
  }
  std::string dataText() const;
  std::string tableText() const;

  const AutoArguments &Arguments;
  CompileOptions &Options;
  bool Quiet;
  Diagnostics &Diags;
  std::vector<std::string> &Notes;
  PrecisionTrial Trial;
  std::vector<std::string> Gpus;
  std::vector<Precision> Types;
  /// Those of Types that only weights of few rows have, on all targets.
  std::vector<Precision> OfWeights;
  Precision Stored = Precision::Fp16;
  std::vector<LaunchEstimate> Plain; ///< all in what is stored
  std::vector<std::vector<LaunchEstimate>> InType;
  std::vector<Layer> Layers;
  std::vector<Allocation> Ways;
  size_t Place = 0; ///< of what is chosen, in Ways
  Allocation Chosen;
  Costs OfStored, OfChosen;
  double Expected = 0; ///< microseconds of what is chosen
  std::string Said;    ///< the last words of the command
  bool Fault = false;
};

} // namespace

PrecisionTrial::Setting AutoPrecision::settingOf(const AutoArguments &Arguments,
                                                 const CompileOptions &Options,
                                                 bool Quiet) {
  PrecisionTrial::Setting S;
  S.Options = Options;
  S.Options.Emit.reset();
  S.Data = Arguments.Data;
  S.Measure = Arguments.Budget.Of;
  S.LayerSamples = Arguments.LayerSamples;
  S.Quiet = Quiet;
  return S;
}

std::string AutoPrecision::dataText() const {
  std::string Many = fmt::format("{} {}", Trial.samples(),
                                 Trial.samples() == 1 ? "sample" : "samples");
  return Arguments.Data.empty()
             ? Many + " of random numbers"
             : fmt::format("{} of '{}'", Many, printable(Arguments.Data));
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// The types of codes that some target multiplies, and that weights of few rows
/// may be on all.
bool AutoPrecision::findTypes() {
  bool Int8 = false, Fp8 = false, Blocks = false;
  for (const std::string &Name : Options.Targets.empty()
                                     ? std::vector<std::string>{"native"}
                                     : Options.Targets) {
    target::Lookup Found = target::lookup(Name);
    for (const target::Target *T : Found.Targets) {
      if (!T->isGpu())
        continue;
      Gpus.emplace_back(T->Name);
      Int8 |= target::prefersInt8(*T);
      Fp8 |= target::multipliesFp8(*T);
      Blocks |= target::multipliesBlocks(*T);
    }
  }
  if (Gpus.empty()) {
    Diags.error(Code::UsageNotAvailable)
        .message("--precision auto chooses by the time that GPUs take, and no "
                 "target is one")
        .hint("give --arch sm_90a or another GPU, with host beside it if need "
              "be; the host is no faster with codes");
    return false;
  }
  Types = {Precision::Int8, Precision::Fp8};
  if (!Int8)
    OfWeights.push_back(Precision::Int8);
  if (!Fp8)
    OfWeights.push_back(Precision::Fp8);
  OfWeights.push_back(Precision::Int4);
  if (Blocks)
    for (Precision P : {Precision::Mxfp8, Precision::Nvfp4, Precision::Mxfp4})
      Types.push_back(P);
  Types.push_back(Precision::Int4);
  return true;
}

std::optional<std::vector<LaunchEstimate>>
AutoPrecision::estimated(const CompileOptions &For) {
  CompileOptions Of = For;
  Of.Targets = Gpus;
  Of.Strict = false;
  // Which code is the nearest changes no time, and takes long to find.
  Of.RoundByFeedback = false;
  Diagnostics Ours;
  CompileReport Report = estimate(Of, Ours);
  Fault |= Report.Internal;
  if (Report.Ok)
    return std::move(Report.Estimates);
  Diags = std::move(Ours);
  return std::nullopt;
}

bool AutoPrecision::estimateTimes() {
  CompileOptions Of = Options;
  Of.Compute = Stored;
  auto Found = estimated(Of);
  if (!Found)
    return false;
  Plain = std::move(*Found);
  for (Precision Type : Types) {
    Of.Compute = Type;
    auto In = estimated(Of);
    if (!In)
      return false;
    InType.push_back(std::move(*In));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// What --precision-for says of a node is not chosen here.
bool AutoPrecision::isFixed(const std::string &Node) const {
  return std::any_of(
      Options.PrecisionFor.begin(), Options.PrecisionFor.end(),
      [&](const auto &F) { return llvm::Regex(F.first).match(Node); });
}

/// The gain, or 0: a hundredth of a microsecond is no reason to lose accuracy.
static double worthwhile(double Gain) { return Gain > 0.01 ? Gain : 0; }

bool AutoPrecision::measureLayers() {
  if (!Trial.open(Types))
    return false;
  std::vector<std::string> Nodes;
  Nodes.reserve(Trial.nodes().size());
  for (const SwitchedNode &N : Trial.nodes())
    Nodes.push_back(N.Node);
  std::vector<std::map<std::string, double>> Gains;
  Gains.reserve(InType.size());
  for (const auto &Plan : InType)
    Gains.push_back(gainsOf(Plain, Plan, Nodes));
  // Codes of weights alone gain with few rows. Else they are not measured.
  for (Precision P : OfWeights) {
    auto Place = std::find(Types.begin(), Types.end(), P) - Types.begin();
    if (std::any_of(Nodes.begin(), Nodes.end(), [&](const std::string &N) {
          return worthwhile(Gains[size_t(Place)][N]) > 0;
        }))
      continue;
    Types.erase(Types.begin() + Place);
    InType.erase(InType.begin() + Place);
    Gains.erase(Gains.begin() + Place);
  }
  if (Types.empty())
    Notes.push_back(fmt::format("kernels of {} multiply no codes faster than "
                                "fp16: no layer is quantised",
                                fmt::join(Gpus, " and ")));
  for (const SwitchedNode &N : Trial.nodes()) {
    Layer &L = Layers.emplace_back();
    L.Node = N.Node;
    if (isFixed(N.Node))
      continue;
    for (size_t T = 0; T < Types.size(); ++T) {
      double Gain = Gains[T][N.Node];
      bool Can = std::find(N.Types.begin(), N.Types.end(), wordOf(Types[T])) !=
                 N.Types.end();
      if (Can)
        L.Types.push_back({wordOf(Types[T]), worthwhile(Gain), {}});
    }
  }
  return Trial.measure(Layers);
}

/// The error of what values are stored in: nothing that is chosen has less.
bool AutoPrecision::measureStored() {
  bool Beyond = false;
  if (!Options.Calibration.empty()) {
    auto File = CalibrationFile::read(Options.Calibration, Diags);
    if (!File)
      return false;
    Beyond = !File->BeyondFp16.empty();
  }
  for (Precision P : {Precision::Fp16, Precision::Bf16}) {
    Stored = P;
    if (P == Precision::Fp16 && Beyond)
      continue;
    auto Cost = Trial.costOf(optionsFor(Allocation(Layers.size())));
    if (!Cost)
      return false;
    OfStored = *Cost;
    if (std::isfinite(greatest(OfStored)))
      break;
  }
  if (Stored == Precision::Bf16)
    Notes.push_back("values are greater than fp16's 65504: they are stored in "
                    "bf16");
  if (isWithin(OfStored))
    return true;
  Diags.error(Code::AccuracyNotMet)
      .message(fmt::format(
          "--accuracy-budget {}: the best that was reached is {}, with all "
          "layers in {}, on {}",
          Arguments.Budget.Text, Arguments.Budget.textOf(greatest(OfStored)),
          wordOf(Stored), dataText()));
  return false;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

CompileOptions AutoPrecision::optionsFor(const Allocation &At) const {
  CompileOptions Of = Options;
  Of.Compute = Stored;
  std::vector<std::pair<std::string, Precision>> Lines;
  for (size_t I = 0; I < Layers.size(); ++I)
    if (At[I])
      Lines.emplace_back(
          patternOf(Layers[I].Node),
          parsePrecision("--precision", Layers[I].Types[At[I] - 1].Type));
  Of.PrecisionFor.insert(Of.PrecisionFor.begin(), Lines.begin(), Lines.end());
  return Of;
}

bool AutoPrecision::search() {
  Ways = waysBack(Layers);
  size_t Guess = 0;
  while (Guess + 1 < Ways.size() &&
         !isWithin(predicted(Layers, Ways[Guess], OfStored)))
    ++Guess;
  bool Failed = false;
  auto ByErrorOf = [&](auto Cost) {
    return [this, Cost](size_t I) -> std::optional<bool> {
      std::optional<Costs> Of = Cost(I);
      if (!Of)
        return std::nullopt;
      if (isWithin(*Of))
        OfChosen = *Of;
      return isWithin(*Of);
    };
  };
  // By the switches first, which needs no compile; values are fp32 there.
  size_t Last = Ways.size() - 1;
  auto Found = firstThatMeets(0, Last, std::min(Guess, Last ? Last - 1 : 0),
                              ByErrorOf([&](size_t I) -> std::optional<Costs> {
                                auto Of = Trial.costOf(Layers, Ways[I]);
                                return Of ? std::optional(sum(*Of, OfStored))
                                          : std::nullopt;
                              }),
                              Failed);
  if (Failed)
    return false;
  Place = Found.value_or(Last);
  // Then as it will be compiled.
  auto True = firstThatMeets(Place, Last, Place, ByErrorOf([&](size_t I) {
                               return Trial.costOf(optionsFor(Ways[I]));
                             }),
                             Failed);
  if (Failed)
    return false;
  Place = True.value_or(Last);
  if (!True)
    OfChosen = OfStored;
  Chosen = Ways[Place];
  return Arguments.Budget.Text.empty() || fill();
}

/// What was found may leave room for layers that stepped back early.
bool AutoPrecision::fill() {
  Allocation More = filled(Layers, Chosen, OfStored, Arguments.Budget.Limit);
  if (More == Chosen)
    return true;
  auto Fast = Trial.costOf(Layers, More);
  if (!Fast)
    return false;
  if (!isWithin(sum(*Fast, OfStored)))
    return true;
  auto True = Trial.costOf(optionsFor(More));
  if (!True)
    return false;
  if (isWithin(*True)) {
    Chosen = std::move(More);
    OfChosen = *True;
  }
  return true;
}

/// One type for all may be faster than what was found step by step: gains of
/// layers do not quite add up. Times of whole plans decide.
bool AutoPrecision::compareSingles() {
  auto Times = estimated(optionsFor(Chosen));
  if (!Times)
    return false;
  double Least = microsecondsOf(*Times);
  std::vector<Allocation> Others = {Allocation(Layers.size())};
  std::vector<double> Expected = {microsecondsOf(Plain)};
  for (size_t T = 0; T < Types.size(); ++T) {
    Others.push_back(allOf(Layers, wordOf(Types[T])));
    Expected.push_back(microsecondsOf(InType[T]));
  }
  for (size_t I = 0; I < Others.size(); ++I) {
    if (Expected[I] >= Least)
      continue;
    auto Fast = Trial.costOf(Layers, Others[I]);
    if (!Fast)
      return false;
    if (!isWithin(sum(*Fast, OfStored)))
      continue;
    auto True = Trial.costOf(optionsFor(Others[I]));
    if (!True)
      return false;
    if (!isWithin(*True))
      continue;
    Chosen = Others[I];
    OfChosen = *True;
    Least = Expected[I];
  }
  return true;
}

std::optional<bool> AutoPrecision::passesCommand(const Allocation &At) {
  CompileOptions Of = optionsFor(At);
  Of.Output = Trial.pathFor("checked.kpc");
  Of.Strict = false;
  // It is run here, where there may be no GPU.
  if (std::find(Of.Targets.begin(), Of.Targets.end(), "host") ==
      Of.Targets.end())
    Of.Targets.push_back("host");
  Diagnostics Ours;
  if (!compileAndOpen(Of, Quiet, Ours, Fault)) {
    Diags = std::move(Ours);
    return std::nullopt;
  }
  ProcessResult Ran = runProcess(
      {"/bin/sh", "-c", Arguments.Check + " \"$1\"", "sh", Of.Output});
  Said = Ran.Out + Ran.Err;
  if (!Ran.Failure.empty() || Ran.ExitCode == 126 || Ran.ExitCode == 127) {
    Diags.error(Code::UsageValue)
        .message(
            fmt::format("--accuracy-check: '{}' cannot be run: {}",
                        printable(Arguments.Check),
                        printable(Ran.Failure.empty() ? Said : Ran.Failure)))
        .hint("give a command that a shell finds; it gets the artifact's path "
              "as its last argument");
    return std::nullopt;
  }
  return Ran.ok();
}

bool AutoPrecision::checkByCommand() {
  if (Arguments.Check.empty())
    return true;
  // The way back from what the budget allows.
  std::vector<Allocation> Rest = {Chosen};
  for (size_t I = Place + 1; I < Ways.size(); ++I)
    Rest.push_back(Ways[I]);
  bool Failed = false;
  auto Found = firstThatMeets(
      0, Rest.size(), 0, [&](size_t I) { return passesCommand(Rest[I]); },
      Failed);
  if (Failed)
    return false;
  if (!Found) {
    Diags.error(Code::AccuracyNotMet)
        .message(fmt::format(
            "--accuracy-check: '{}' fails even with all layers in {}{}",
            printable(Arguments.Check), wordOf(Stored),
            Said.empty() ? "" : "; it said: " + printable(Said)))
        .hint("run it with an artifact of --precision fp32, to see that the "
              "command itself is right");
    return false;
  }
  if (*Found == 0)
    return true;
  Chosen = Rest[*Found];
  auto Cost = Trial.costOf(optionsFor(Chosen));
  if (Cost)
    OfChosen = *Cost;
  return Cost.has_value();
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

std::string AutoPrecision::tableText() const {
  std::string Sides = "ll";
  std::vector<std::string> Head = {"layer", "choice"};
  for (Precision T : Types) {
    Sides += "rr";
    Head.push_back(wordOf(T) + ": us gained");
    Head.push_back("error alone");
  }
  TextTable Table(Sides);
  Table.row(Head);
  for (size_t I = 0; I < Layers.size(); ++I) {
    const Layer &L = Layers[I];
    if (!isTold(L))
      continue;
    std::vector<std::string> Row = {printable(L.Node),
                                    Chosen[I] ? L.Types[Chosen[I] - 1].Type
                                              : wordOf(Stored)};
    for (Precision T : Types) {
      auto It = std::find_if(
          L.Types.begin(), L.Types.end(),
          [&](const LayerType &Of) { return Of.Type == wordOf(T); });
      bool Has = It != L.Types.end();
      Row.push_back(!Has           ? "-"
                    : It->Gain > 0 ? fmt::format("{:.2f}", It->Gain)
                                   : "none");
      Row.push_back(Has ? Arguments.Budget.textOf(greatest(It->Alone)) : "-");
    }
    Table.row(Row);
  }
  return Table.text();
}

bool AutoPrecision::keep() {
  CompileOptions Final = optionsFor(Chosen);
  auto Times = estimated(Final);
  if (!Times)
    return false;
  Expected = microsecondsOf(*Times);
  std::map<std::string, size_t> Counts;
  for (size_t I = 0; I < Layers.size(); ++I)
    if (isTold(Layers[I]))
      ++Counts[Chosen[I] ? Layers[I].Types[Chosen[I] - 1].Type
                         : wordOf(Stored)];
  std::string Shares;
  for (const auto &[Word, Count] : Counts)
    Shares +=
        fmt::format("{}{} in {}", Shares.empty() ? "" : ", ", Count, Word);
  std::string Singles;
  for (size_t T = 0; T < Types.size(); ++T)
    Singles += fmt::format(", {:.1f} all in {}", microsecondsOf(InType[T]),
                           wordOf(Types[T]));
  std::vector<std::string> Head = {
      fmt::format("layers: {}", Shares.empty() ? "none to choose for" : Shares),
      fmt::format("expected on {}: {:.1f} us, against {:.1f} all in {}{}",
                  fmt::join(Gpus, " and "), Expected, microsecondsOf(Plain),
                  wordOf(Stored), Singles),
      fmt::format("error on {}: {}{}", dataText(),
                  Arguments.Budget.textOf(greatest(OfChosen)),
                  Arguments.Budget.Text.empty()
                      ? ""
                      : "; asked for: " + Arguments.Budget.Text)};
  std::string Table = tableText();
  std::string All = Table;
  for (const std::string &Line : Head)
    All += Line + "\n";
  if (!Quiet)
    fmt::print("{}", All);
  if (Arguments.Data.empty())
    Notes.push_back("without --data errors were measured with random numbers, "
                    "which say little of a trained model");
  if (Options.Calibration.empty())
    Notes.push_back("without --calibration only GEMMs are quantised, with "
                    "scales that each run finds");
  Options = std::move(Final);
  Options.PrecisionTable = All;
  if (Arguments.PlanOut.empty())
    return true;
  std::vector<PlannedLayer> Lines;
  for (size_t I = 0; I < Layers.size(); ++I) {
    const Layer &L = Layers[I];
    if (!isTold(L) || (isFixed(L.Node) && !Chosen[I]))
      continue;
    PlannedLayer &Line = Lines.emplace_back();
    Line.Node = L.Node;
    Line.Type = Chosen[I] ? L.Types[Chosen[I] - 1].Type : wordOf(Stored);
    for (const LayerType &T : L.Types)
      Line.Comment += fmt::format(
          "{}{} {:.2f} us, {}", Line.Comment.empty() ? "" : "; ", T.Type,
          T.Gain, Arguments.Budget.textOf(greatest(T.Alone)));
  }
  FileSet Files(Diags);
  return Files.add(Arguments.PlanOut, planText(Head, wordOf(Stored), Lines)) &&
         Files.keep();
}

bool AutoPrecision::run() {
  return findTypes() && estimateTimes() && measureLayers() && measureStored() &&
         search() && compareSingles() && checkByCommand() && keep();
}

bool chooseAuto(const AutoArguments &Arguments, CompileOptions &Options,
                bool Quiet, Diagnostics &Diags, std::vector<std::string> &Notes,
                bool &Fault) {
  AutoPrecision Search(Arguments, Options, Quiet, Diags, Notes);
  bool Good = Search.run();
  Fault = Search.isFault();
  return Good;
}

} // namespace kpc::cli
