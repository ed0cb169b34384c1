//===- Walk.cpp - One call of a method ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/Walk.h"
#include "compiler/import/torchscript/OtherMethods.h"
#include "compiler/import/torchscript/Signature.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kpc::torchscript {

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
  if (!Result || !E.ends(*Result) || !E.ends(Top))
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

} // namespace kpc::torchscript
