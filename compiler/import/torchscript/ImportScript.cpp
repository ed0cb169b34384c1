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
#include "compiler/import/torchscript/Evaluator.h"
#include "compiler/import/torchscript/KeptState.h"
#include "compiler/import/torchscript/OtherMethods.h"
#include "compiler/import/torchscript/Signature.h"
#include "compiler/import/torchscript/Types.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kpc::torchscript {

namespace {

/// One walk over the program.
class Walk {
public:
  Walk(Archive &Script, const ScriptOptions &Options, const std::string &Path,
       Diagnostics &Diags, std::vector<std::string> &Notes)
      : Script(Script), Options(Options), Path(Path), Diags(Diags),
        Notes(Notes) {}

  OwningOpRef<ModuleOp> run(MLIRContext &Context,
                            const torch::ImportOptions &Import,
                            const std::string &Name, const Function &F,
                            const KeptMap &State, WeightStore &Weights);
  // Filled by `run`.
  KeptMap Changed;
  /// What the call assigned before it read it: another branch of a later call
  /// may read it.
  KeptMap SetAnew;
  /// Attributes that were none and are objects now.
  KeptMap Made;
  /// What the call reads and only another method assigns.
  KeptMap Shared;
  std::set<std::string> ReadFirst;

private:
  bool body(torch::Importer &Into, const Function &F, const KeptMap &State,
            const WeightStore &Weights,
            const std::map<std::string, Datum> &Arguments);
  void addOutputs(Evaluator &E, const Datum &V, const std::string &Name);
  void findChanged(Evaluator &E, const Datum &Top,
                   const std::map<std::string, Datum> &Before);
  Datum keptParts(Evaluator &E, const std::string &Name, const Datum &V);
  void findShared(Evaluator &E, const std::string &Name, const Datum &Value,
                  const OtherMethods &Others);

  Archive &Script;
  const ScriptOptions &Options;
  const std::string &Path;
  Diagnostics &Diags;
  std::vector<std::string> &Notes;
  torch::Program P;
};

} // namespace

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// What a NamedTuple calls its parts; empty for other values.
static std::vector<std::string> fieldsOf(Archive &Script, const Datum &V) {
  std::vector<std::string> Names;
  std::string Why;
  if (V.Is == Datum::Kind::Tuple && !V.Text.empty())
    if (const Class *C = Script.find(V.Text, Why).TheClass)
      for (const Statement &S : C->Attributes)
        Names.push_back(S.Targets.empty() ? "" : S.Targets.front().Text);
  return Names;
}

void Walk::addOutputs(Evaluator &E, const Datum &V, const std::string &Name) {
  auto Part = [&](const std::string &Key) {
    return Name.empty() ? Key : Name + "_" + Key;
  };
  if (V.Is == Datum::Kind::Dict) {
    for (size_t I = 0; I + 1 < V.Items->size(); I += 2)
      addOutputs(E, (*V.Items)[I + 1],
                 Part((*V.Items)[I].Is == Datum::Kind::Text
                          ? (*V.Items)[I].Text
                          : std::to_string(I / 2)));
    return;
  }
  if (V.isSequence()) {
    std::vector<std::string> Names = fieldsOf(Script, V);
    for (size_t I = 0; I < V.Items->size(); ++I)
      addOutputs(E, (*V.Items)[I],
                 Part(I < Names.size() ? Names[I] : std::to_string(I)));
    return;
  }
  Datum Result = V.isNumber() ? E.scalarTensor(V) : V;
  if (!Result.isTensor()) {
    if (!V.isNone())
      Notes.push_back("the output '" + printable(Name) + "' is " +
                      V.kindText() + " and left out");
    return;
  }
  if (!E.valueOf(Result))
    return;
  torch::OutputSpec Spec;
  Spec.Value.Is = torch::Argument::Kind::Tensor;
  Spec.Value.Values = {Result.Text};
  P.Outputs.push_back(Spec);
  P.OutputNames.push_back(Name);
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

/// Every attribute of a module and of those in it, by its path.
static void collect(const Datum &Of, std::set<const Instance *> &Seen,
                    std::map<std::string, Datum> &All) {
  if (Of.Is != Datum::Kind::Object || !Seen.insert(Of.Object.get()).second)
    return;
  for (const auto &[Name, V] : Of.Object->Attributes) {
    collect(V, Seen, All);
    if (V.Is != Datum::Kind::Object)
      All.emplace(Of.Object->Path.empty() ? Name : Of.Object->Path + "." + Name,
                  copied(V));
  }
}

/// Every module and other object in one, by its path.
static void collectObjects(const Datum &Of, std::set<const Instance *> &Seen,
                           std::map<std::string, Datum> &All) {
  if (Of.Is != Datum::Kind::Object || !Seen.insert(Of.Object.get()).second)
    return;
  for (const auto &[Name, V] : Of.Object->Attributes) {
    collectObjects(V, Seen, All);
    if (V.Is == Datum::Kind::Object)
      All.emplace(Of.Object->Path.empty() ? Name : Of.Object->Path + "." + Name,
                  V);
  }
}

/// Whether an assignment changes nothing: `self.x = self.x.to(dtype)`.
static bool sameValue(Evaluator &E, const Datum &A, const Datum &B) {
  if (A.isTensor() && B.isTensor()) {
    Value X = E.valueOf(A);
    return X && X == E.valueOf(B);
  }
  if (A.Is == B.Is && A.isSequence() && A.Items->size() == B.Items->size())
    return llvm::all_of(llvm::zip(*A.Items, *B.Items), [&](const auto &Pair) {
      return sameValue(E, std::get<0>(Pair), std::get<1>(Pair));
    });
  return E.same(A, B).value_or(false);
}

static std::map<std::string, Datum> attributesOf(const Datum &Top) {
  std::set<const Instance *> Seen;
  std::map<std::string, Datum> All;
  collect(Top, Seen, All);
  return All;
}

void Walk::findChanged(Evaluator &E, const Datum &Top,
                       const std::map<std::string, Datum> &Before) {
  const OtherMethods Others(Script, E, Top);
  std::set<const Instance *> Seen;
  std::map<std::string, Datum> Objects;
  collectObjects(Top, Seen, Objects);
  for (const auto &[Name, After] : Objects)
    if (Before.count(Name))
      Made[Name].After = After;
  for (const auto &[Name, After] : attributesOf(Top)) {
    if (E.isReadFirst(Name))
      ReadFirst.insert(Name);
    auto It = Before.find(Name);
    if (It == Before.end())
      continue;
    if (sameValue(E, It->second, After)) {
      findShared(E, Name, After, Others);
      continue;
    }
    // What each call sets anew before it reads it, no call takes over.
    bool Anew = E.assignedAttributes().count(Name) != 0 && !E.isReadFirst(Name);
    Kept &K = Anew ? SetAnew[Name] : Changed[Name];
    K.After = After;
    if (auto Place = E.assignedAttributes().find(Name);
        Place != E.assignedAttributes().end())
      K.Place = Place->second;
    if (!Anew && After.isSequence() && isOfParts(After))
      K.After = keptParts(E, Name, After);
    if (!After.isTensor())
      continue;
    Value V = E.valueOf(After);
    if (!V)
      return;
    K.Meta = metaOf(V);
    std::string Reader = Anew ? Others.readerOf(Name) : std::string();
    if (Anew && (!Options.ExplicitState || Reader.empty()))
      continue;
    if (Anew)
      Notes.push_back("the method '" + printable(Reader) + "' reads '" +
                      printable(Name) + "', which this one sets: it is the " +
                      "output '" + printable(Name) + "_out'");
    torch::OutputSpec Spec;
    Spec.Is = torch::OutputSpec::Kind::BufferMutation;
    Spec.Value.Is = torch::Argument::Kind::Tensor;
    Spec.Value.Values = {After.Text};
    Spec.Target = Anew ? Name + "_out" : Name;
    P.Outputs.push_back(Spec);
  }
}

/// The tensors in a list become state with names of their own: "state.0". What
/// is given is the list with these.
Datum Walk::keptParts(Evaluator &E, const std::string &Name, const Datum &V) {
  if (V.isTensor()) {
    Value Now = E.valueOf(V);
    if (!Now)
      return V;
    Kept &K = Changed[Name];
    K.After = V;
    K.Meta = metaOf(Now);
    torch::OutputSpec Spec;
    Spec.Is = torch::OutputSpec::Kind::BufferMutation;
    Spec.Value.Is = torch::Argument::Kind::Tensor;
    Spec.Value.Values = {V.Text};
    Spec.Target = Name;
    P.Outputs.push_back(Spec);
    return Evaluator::tensorNamed(Name);
  }
  if (!V.isSequence())
    return V;
  Datum Parts = copied(V);
  bool IsDict = V.Is == Datum::Kind::Dict;
  for (size_t I = IsDict; I < Parts.Items->size(); I += IsDict ? 2 : 1) {
    const Datum &Key = IsDict ? (*V.Items)[I - 1] : Datum();
    std::string Part =
        Key.Is == Datum::Kind::Text ? Key.Text : std::to_string(I);
    (*Parts.Items)[I] = keptParts(E, Name + "." + Part, (*V.Items)[I]);
  }
  return Parts;
}

void Walk::findShared(Evaluator &E, const std::string &Name, const Datum &Value,
                      const OtherMethods &Others) {
  std::string Assigns = Others.assignerOf(Name);
  if (!Value.isTensor() || Assigns.empty() || !E.isReadFirst(Name))
    return;
  if (!Options.ExplicitState) {
    Notes.push_back("'" + printable(Name) + "' is as the file has it; the " +
                    "method '" + printable(Assigns) +
                    "' assigns it, and --state explicit makes it an input");
    return;
  }
  Kept &K = Shared[Name];
  K.After = Value;
  K.Assigns = Assigns;
  if (mlir::Value V = E.valueOf(Value))
    K.Meta = metaOf(V);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

bool Walk::body(torch::Importer &Into, const Function &F, const KeptMap &State,
                const WeightStore &Weights,
                const std::map<std::string, Datum> &Arguments) {
  size_t Errors = Diags.errorCount();
  Evaluator E(Script, P, Into, Weights, Notes);
  for (const auto &[Name, K] : State)
    E.presetAttribute(Name, K.After.isTensor() ? Evaluator::tensorNamed(Name)
                                               : copied(K.After));
  Datum Top = E.object(Script.top(), "");
  if (Diags.errorCount() != Errors)
    return false;
  std::map<std::string, Datum> Before = attributesOf(Top);
  std::optional<Datum> Result = E.run(Top, F.Name, Arguments);
  if (!Result)
    return false;
  addOutputs(E, *Result, "");
  findChanged(E, Top, Before);
  // What was written in place, rather than assigned.
  for (const torch::InputSpec &S : P.Inputs)
    if (S.Is == torch::InputSpec::Kind::Buffer && !State.count(S.Target) &&
        Into.isWritten(S.Target)) {
      Kept &K = Changed[S.Target];
      K.After = Evaluator::tensorNamed(S.Target);
      if (Value V = E.valueOf(K.After))
        K.Meta = metaOf(V);
    }
  if (P.Outputs.empty() && Diags.errorCount() == Errors)
    Diags.error(Code::ImportValueType)
        .message("'" + printable(F.Name) + "' returns no tensor");
  return Diags.errorCount() == Errors;
}

OwningOpRef<ModuleOp> Walk::run(MLIRContext &Context,
                                const torch::ImportOptions &Import,
                                const std::string &Name, const Function &F,
                                const KeptMap &State, WeightStore &Weights) {
  P.Complete = false;
  SignatureReader Reader(Script, F, Options, Path, P, Diags);
  std::optional<std::map<std::string, Datum>> Arguments = Reader.read();
  if (!Arguments)
    return {};
  std::set<std::string> Inputs;
  for (const auto &[Attribute, K] : State) {
    if (!K.After.isTensor())
      continue;
    torch::InputSpec Spec;
    Spec.Is = torch::InputSpec::Kind::Buffer;
    Spec.Value.Is = torch::Argument::Kind::Tensor;
    Spec.Value.Values = {Attribute};
    Spec.Target = Attribute;
    P.Inputs.push_back(Spec);
    P.Main.Tensors.emplace(Attribute, K.Meta);
    Inputs.insert(Attribute);
  }
  torch::Importer I(Context, Import, Name, P, Inputs, Weights, Diags);
  return I.run([&](torch::Importer &Into) {
    return body(Into, F, State, Weights, *Arguments);
  });
}

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
