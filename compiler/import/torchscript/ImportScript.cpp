//===- ImportScript.cpp - From TorchScript archives to the graph ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a module assigns to its own attributes stays there until the next call.
/// A first walk finds such state and the shapes that it takes; with
/// --state explicit a second one starts from inputs of these shapes. Numbers
/// among the state (the sample rate of the last call) are taken as the first
/// call leaves them: the compiled model is the second call and all after it.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/ImportScript.h"
#include "compiler/import/torchscript/Signature.h"
#include "compiler/import/torchscript/Walk.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kpc::torchscript {

static std::string textOf(ModuleOp Module) {
  std::string Text;
  llvm::raw_string_ostream(Text) << Module;
  return Text;
}

/// The method of the top module; null after a report.
static const Function *findMethod(Archive &Script, const std::string &Name,
                                  Diagnostics &Diags) {
  std::string Why;
  Archive::Found Top = Script.findTop(Why);
  if (!Top.TheClass) {
    Diags.error(Code::ImportMalformed)
        .message("the archive is damaged: " + Why);
    return nullptr;
  }
  std::string Others;
  for (const Function &F : Top.TheClass->Methods) {
    if (F.Name == Name)
      return &F;
    Others += (Others.empty() ? "" : ", ") + printable(F.Name);
  }
  Diags.error(Code::ImportFunction)
      .message("the module has no method '" + printable(Name) + "'")
      .hint(Others.empty() ? "it has none at all"
                           : "--method takes one of its own: " + Others);
  return nullptr;
}

static std::unique_ptr<Archive> openArchive(const std::string &Path,
                                            Diagnostics &Diags) {
  std::string Why;
  std::unique_ptr<Archive> Script = Archive::open(Path, Why);
  if (!Script)
    Diags.error(Code::ImportMalformed)
        .message("the file is no TorchScript archive that kpc can read: " +
                 Why);
  return Script;
}

std::optional<ScriptFacts> readFacts(const std::string &Path,
                                     Diagnostics &Diags) {
  std::unique_ptr<Archive> Script = openArchive(Path, Diags);
  std::string Why;
  if (!Script)
    return std::nullopt;
  Archive::Found Top = Script->findTop(Why);
  if (!Top.TheClass) {
    Diags.error(Code::ImportMalformed)
        .message("the archive is damaged: " + Why);
    return std::nullopt;
  }
  ScriptFacts Facts;
  Facts.Class = Top.TheClass->Name;
  for (const Function &F : Top.TheClass->Methods)
    Facts.Methods.push_back(signatureText(F));
  return Facts;
}

namespace {
/// Tensors by the paths that the evaluator gives them.
class WeightReader {
public:
  WeightReader(MLIRContext &Context, Archive &Script, std::string Model,
               WeightStore &Weights)
      : Context(Context), Script(Script), Model(std::move(Model)),
        Weights(Weights) {}
  bool read(const PickleValue &V, const std::string &Path, bool Constant);
  std::string Why;

private:
  MLIRContext &Context;
  Archive &Script;
  std::string Model;
  WeightStore &Weights;
  std::set<const PickleValue *> Seen;
};
} // namespace

bool WeightReader::read(const PickleValue &V, const std::string &Path,
                        bool Constant) {
  auto Part = [&](const std::string &Key) {
    return Path.empty() ? Key : Path + "." + Key;
  };
  if (V.Is == PickleValue::Kind::Tensor) {
    std::optional<torch::Payload> Of = Script.payload(V, Constant, Why);
    Type Element = Of ? torch::graphType(&Context, Of->Meta.Type) : Type();
    std::optional<Weight> W =
        Element ? torch::packed(*Of, torch::typeText(Element)) : std::nullopt;
    if (W)
      Weights.add(Model + "#" + printable(Path), std::move(*W));
    return W.has_value();
  }
  if (!Seen.insert(&V).second)
    return true;
  if (V.Is == PickleValue::Kind::Object && !V.Items.empty()) {
    const std::vector<const PickleValue *> &State = V.Items.front()->Items;
    for (size_t I = 0; I + 1 < State.size(); I += 2)
      if (!read(*State[I + 1], Part(State[I]->Text), Constant))
        return false;
  } else if (V.Is == PickleValue::Kind::List ||
             V.Is == PickleValue::Kind::Tuple ||
             V.Is == PickleValue::Kind::Dict) {
    for (size_t I = 0; I < V.Items.size(); ++I)
      if (!read(*V.Items[I], Part(std::to_string(I)), Constant))
        return false;
  }
  return true;
}

bool loadScriptWeights(MLIRContext &Context, const std::string &Path,
                       WeightStore &Weights, Diagnostics &Diags) {
  std::unique_ptr<Archive> Script = openArchive(Path, Diags);
  if (!Script)
    return false;
  Context.loadDialect<graph::GraphDialect>();
  WeightReader Reader(Context, *Script, Path.substr(Path.rfind('/') + 1),
                      Weights);
  bool Good = Reader.read(Script->top(), "", false);
  for (size_t I = 0; Good && Script->constant(I); ++I)
    Good = Reader.read(*Script->constant(I), "CONSTANTS.c" + std::to_string(I),
                       true);
  if (!Good)
    Diags.error(Code::ImportExternalMissing)
        .message("the archive's weights: " + Reader.Why);
  return Good;
}

/// What to do with a scripted detector, which takes a list of images: as a
/// trace of one image it is as long as that list.
static void adviseTrace(const Function &F, size_t Before, Diagnostics &Diags) {
  const Parameter *List = nullptr;
  for (const Parameter &P : F.Parameters)
    if (P.Type && typeText(*P.Type) == "List[Tensor]")
      List = &P;
  for (size_t I = Before; I < Diags.all().size(); ++I) {
    Code C = Diags.all()[I].Id;
    if (C == Code::ImportNoRank || C == Code::ImportValueOption)
      return; // of the options, not of the module
  }
  if (!List)
    return;
  Diags.error(Code::ImportUnsupported)
      .message("the method takes a list of tensors, '" + printable(List->Name) +
               "', as scripted detectors do; what of it does not compile is "
               "said above")
      .hint("trace it with a module that takes one image, as "
            "docs/from-pytorch.md shows under Detectors, then: kpc compile "
            "detector.pt --input-shape image=3,480,640");
}

OwningOpRef<ModuleOp> importScript(MLIRContext &Context,
                                   const std::string &Path,
                                   const torch::ImportOptions &Options,
                                   const ScriptOptions &Script,
                                   WeightStore &Weights, Diagnostics &Diags) {
  std::string Name = Options.ModelName.empty()
                         ? Path.substr(Path.rfind('/') + 1)
                         : Options.ModelName;
  if (Diags.file().empty())
    Diags.setFile(Name);
  std::unique_ptr<Archive> Of = openArchive(Path, Diags);
  const Function *F = Of ? findMethod(*Of, Script.Method, Diags) : nullptr;
  if (!F)
    return {};
  size_t Before = Diags.all().size();
  // `Perhaps`: assigned before it was read. Where numbers among the state lead
  // a later call elsewhere, it may be read there.
  KeptMap State, Perhaps;
  // Without --state explicit: what the first call computes and leaves.
  std::string First;
  KeptMap Flags, SetFirst;
  // Shapes of the state may need some calls until they stay as they are.
  for (int Call = 0; Call < 6; ++Call) {
    std::vector<std::string> Notes;
    torch::ImportOptions Own = Options;
    Own.Notes = &Notes;
    WeightStore Found;
    Walk W(*Of, Script, Path, Diags, Notes);
    OwningOpRef<ModuleOp> Module = W.run(Context, Own, Name, *F, State, Found);
    if (!Module) {
      adviseTrace(*F, Before, Diags);
      return {};
    }
    if (Call == 0 && !Script.ExplicitState && !W.Changed.empty() &&
        holdNoTensor(W.Changed) && holdNoTensor(W.Made)) {
      First = textOf(*Module);
      Flags = State = W.Changed;
      State.insert(W.Made.begin(), W.Made.end());
      SetFirst = W.SetAnew;
      continue;
    }
    if (Call == 1 && !Script.ExplicitState) {
      bool Read = llvm::any_of(SetFirst, [&](const auto &Entry) {
        return W.ReadFirst.count(Entry.first) != 0;
      });
      if (Read || !W.Changed.empty() || !W.Made.empty() ||
          textOf(*Module) != First) {
        refuseState(Flags, Diags);
        return {};
      }
      noteSettled(Flags, Notes);
      State.clear();
    } else if (!Script.ExplicitState && !refuseState(W.Changed, Diags)) {
      return {};
    }
    KeptMap Next = State;
    for (const auto &[Attribute, K] : W.Changed)
      Next.insert_or_assign(Attribute, K);
    for (const auto &[Attribute, K] : W.Shared)
      Next.try_emplace(Attribute, K);
    for (auto It = Perhaps.begin(); It != Perhaps.end();) {
      if (!W.ReadFirst.count(It->first))
        Next.erase(It->first);
      else if (!refuseLists({*It}, /*IsPerhaps=*/true, Diags))
        return {};
      It = Perhaps.erase(It);
    }
    if (Call == 0 && !Next.empty())
      for (const auto &[Attribute, K] : W.SetAnew) {
        Perhaps.emplace(Attribute, K);
        if (!K.After.isSequence() && K.After.Is != Datum::Kind::Object)
          Next.emplace(Attribute, K);
      }
    if (Next == State) {
      for (const auto &[Source, Weight] : Found.all())
        Weights.add(Source, Weight);
      if (Options.Notes) {
        llvm::append_range(*Options.Notes, Notes);
        noteState(State, *Options.Notes);
      }
      return Module;
    }
    if (!refuseLists(Next, /*IsPerhaps=*/false, Diags))
      return {};
    State = std::move(Next);
  }
  for (const auto &[Attribute, K] : State) {
    if (isPart(State, Attribute))
      continue;
    Diagnostic &D =
        Diags.error(Code::ImportUnsupported)
            .message("what the module keeps in '" + printable(Attribute) +
                     "' has another shape or value after each call" +
                     (K.Place.empty() ? "" : " (" + printable(K.Place) + ")"));
    if (K.After.isSequence())
      D.hint("a list that grows has no size: keep a tensor for all steps, and "
             "write to its rows");
  }
  return {};
}

} // namespace kpc::torchscript
