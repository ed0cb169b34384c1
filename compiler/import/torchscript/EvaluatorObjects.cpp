//===- EvaluatorObjects.cpp - Modules, their hooks, members of Enums ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/Evaluator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace kpc::torchscript {

using llvm::StringRef;
using Kind = Datum::Kind;

//===----------------------------------------------------------------------===//
// The top module
//===----------------------------------------------------------------------===//

std::optional<Datum>
Evaluator::run(const Datum &Top, const std::string &Method,
               const std::map<std::string, Datum> &Arguments) {
  PassedList List;
  for (const auto &[Name, V] : Arguments)
    List.push_back({Name, V});
  std::string Why;
  Archive::Found C = Script.find(Top.Object->Class, Why);
  Datum Result;
  const Function *Forward = nullptr;
  if (C.TheClass && Method == "forward")
    for (const Function &F : C.TheClass->Methods)
      if (F.Name == Method)
        Forward = &F;
  Result = Forward ? callTop(Top, *C.TheClass, *C.File, *Forward, List)
                   : callMethod(Top, Method, std::move(List));
  return Bad ? std::nullopt : std::optional(std::move(Result));
}

/// The names in `__forward_hooks__` and `__forward_pre_hooks__` of a class.
static std::vector<std::string> hooksOf(const Class &Of, StringRef List) {
  std::vector<std::string> All;
  for (const Statement &S : Of.Attributes)
    if (S.Is == Statement::Kind::Assign && S.Value &&
        S.Targets.front().Text == List)
      for (const Node &Name : S.Value->Items)
        All.push_back(Name.Text);
  return All;
}

/// PyTorch writes the hooks of submodules where these are called; those of the
/// top module are called by who calls it.
Datum Evaluator::callTop(const Datum &Top, const Class &Of,
                         const ScriptFile &File, const Function &F,
                         PassedList Arguments) {
  std::vector<std::string> Before = hooksOf(Of, "__forward_pre_hooks__"),
                           After = hooksOf(Of, "__forward_hooks__");
  if (Before.empty() && After.empty())
    return callMethod(Top, F.Name, std::move(Arguments));
  std::vector<Datum> Inputs;
  for (size_t I = 1; I < F.Parameters.size(); ++I) {
    const Parameter &P = F.Parameters[I];
    auto It = llvm::find_if(
        Arguments, [&](const Passed &A) { return A.Keyword == P.Name; });
    Inputs.push_back(It != Arguments.end() ? It->Value
                     : P.Default           ? constantOf(File, *P.Default)
                                           : Datum());
  }
  auto Packed = [&] { return Datum::ofList(Inputs, Kind::Tuple); };
  for (const std::string &Hook : Before) {
    Datum Given = callMethod(Top, Hook, {{"", Packed()}});
    if (Given.Is == Kind::Tuple)
      Inputs = *Given.Items;
    else if (!Given.isNone())
      Inputs = {Given};
  }
  PassedList List;
  for (const Datum &Input : Inputs)
    List.push_back({"", Input});
  Datum Result = callMethod(Top, F.Name, std::move(List));
  for (const std::string &Hook : After) {
    Datum Given = callMethod(Top, Hook, {{"", Packed()}, {"", Result}});
    if (!Given.isNone())
      Result = Given;
  }
  return Result;
}

//===----------------------------------------------------------------------===//
// Members of Enums
//===----------------------------------------------------------------------===//

/// The member of an Enum that a name or a value means; null where none does.
static const Statement *
memberOf(const Class *Enum, llvm::function_ref<bool(const Statement &)> Is) {
  if (Enum && Enum->Base == "Enum")
    for (const Statement &S : Enum->Attributes)
      if (S.Is == Statement::Kind::Assign && S.Value && Is(S))
        return &S;
  return nullptr;
}

bool Evaluator::isEnum(const Datum &Of) {
  std::string Why;
  const Class *C =
      Of.Is == Kind::Function
          ? Script.find(StringRef(Of.Text).rsplit('.').first.str(), Why)
                .TheClass
          : nullptr;
  return C && C->Base == "Enum";
}

Datum Evaluator::ofEnum(const Datum &Of, const std::string &Name) {
  auto [Class, Member] = StringRef(Of.Text).rsplit('.');
  std::string Why;
  Archive::Found C = Script.find(Class.str(), Why);
  const Statement *S = memberOf(C.TheClass, [&](const Statement &S) {
    return S.Targets.front().Text == Member;
  });
  if (!S)
    return fail(Code::ImportUndefinedValue,
                "reads '" + Name + "' of '" + printable(Of.Text) +
                    "', which is no member of an Enum");
  return Name == "name" ? Datum::ofText(Member.str())
                        : constantOf(*C.File, *S->Value);
}

/// An Enum's member is pickled as its class and its value.
Datum Evaluator::enumObject(const PickleValue &V) {
  std::string Why;
  Archive::Found C = Script.find(V.Text, Why);
  Datum Value = object(*V.Items.front(), "(" + V.Text + ")");
  const Statement *S = memberOf(C.TheClass, [&](const Statement &S) {
    return same(constantOf(*C.File, *S.Value), Value).value_or(false);
  });
  return S ? Datum::ofText(V.Text + "." + S->Targets.front().Text,
                           Kind::Function)
           : fail(Code::ImportMalformed,
                  "'" + printable(V.Text) + "' is no Enum with such a member");
}

//===----------------------------------------------------------------------===//
// Objects of the archive
//===----------------------------------------------------------------------===//

bool Evaluator::ends(const Datum &V) {
  std::vector<std::pair<const Datum *, unsigned>> Waiting = {{&V, 0}};
  std::set<const Instance *> Seen;
  while (!Waiting.empty() && !Bad) {
    auto [Of, Level] = Waiting.back();
    Waiting.pop_back();
    if (Level > DeepestLists)
      fail(Code::ImportTooDeep, DeepLists);
    else if (Of->isSequence() && charge(Of->Items->size()))
      for (const Datum &Part : *Of->Items)
        Waiting.emplace_back(&Part, Level + 1);
    else if (Of->Is == Kind::Object && Seen.insert(Of->Object.get()).second)
      for (const auto &[Name, Part] : Of->Object->Attributes)
        Waiting.emplace_back(&Part, Level + 1);
  }
  return !Bad;
}

Datum Evaluator::object(const PickleValue &V, const std::string &Path) {
  if (auto It = Presets.find(Path); It != Presets.end())
    return It->second;
  // Values may be shared many times over.
  if (!charge(1))
    return {};
  auto Parts = [&] {
    std::vector<Datum> All;
    All.reserve(V.Items.size());
    for (size_t I = 0; I < V.Items.size(); ++I)
      All.push_back(object(*V.Items[I], Path + "." + std::to_string(I)));
    return All;
  };
  switch (V.Is) {
  case PickleValue::Kind::None:
    return {};
  case PickleValue::Kind::Bool:
    return Datum::ofBool(V.Int != 0);
  case PickleValue::Kind::Int:
    return Datum::ofInt(V.Int);
  case PickleValue::Kind::Float:
    return Datum::ofFloat(V.Float);
  case PickleValue::Kind::Text:
    return Datum::ofText(V.Text);
  case PickleValue::Kind::Device:
    return Datum::ofText(V.Text, Kind::Device);
  case PickleValue::Kind::List:
    return Datum::ofList(Parts());
  case PickleValue::Kind::Tuple:
    return Datum::ofList(Parts(), Kind::Tuple);
  case PickleValue::Kind::Dict:
    return Datum::ofList(Parts(), Kind::Dict);
  case PickleValue::Kind::Tensor:
    return tensorFrom(V, Path, false);
  case PickleValue::Kind::Object:
    break;
  default:
    return fail(Code::ImportMalformed,
                "'" + printable(Path) + "' holds a value that is no attribute");
  }
  if (!V.Items.empty() && V.Items.front()->Is != PickleValue::Kind::Dict)
    return enumObject(V);
  // A module that two others hold is one.
  if (auto It = Objects.find(&V); It != Objects.end())
    return It->second;
  Datum D = Datum::ofObject(V.Text, Path);
  Objects.emplace(&V, D);
  if (V.Items.empty())
    return D;
  const std::vector<const PickleValue *> &State = V.Items.front()->Items;
  for (size_t I = 0; I + 1 < State.size() && !Bad; I += 2)
    D.Object->Attributes.insert_or_assign(
        State[I]->Text,
        object(*State[I + 1],
               Path.empty() ? State[I]->Text : Path + "." + State[I]->Text));
  return D;
}

} // namespace kpc::torchscript
