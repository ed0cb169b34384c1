//===- Evaluator.cpp - Walks a TorchScript program ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Names and calls. Statements are in EvaluatorStatements.cpp, what the archive
/// holds in EvaluatorObjects.cpp, operators in Builtins*.cpp and Aten.cpp.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torchscript/Evaluator.h"
#include "compiler/import/torchscript/KnownFunctions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace kpc::torchscript {

using llvm::StringRef;
using Kind = Datum::Kind;

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

Datum Evaluator::fail(Code C, std::string Message, std::string Hint) {
  if (Bad)
    return {};
  Bad = true;
  ModelPlace Where;
  if (!Frames.empty()) {
    const Frame &F = Frames.back();
    Where.Node =
        printable(F.Module.empty() ? F.Function : F.Module + "." + F.Function);
    if (F.File)
      Message += " (" + printable(F.File->place(F.Line)) + ")";
  }
  Diagnostic &D =
      Into.diagnostics().error(C).at(Where).message(std::move(Message));
  if (!Hint.empty())
    D.hint(std::move(Hint));
  return {};
}

Datum Evaluator::unknownNumber(const std::string &What) {
  return fail(Code::ImportNotConstant,
              "needs a number when compiling, but " + What,
              "give the sizes that it comes from as numbers in --input-shape, "
              "or compute it outside of the model");
}

bool Evaluator::charge(uint64_t Count) {
  Items += Count;
  if (Items > MostItems)
    fail(Code::ImportTooLarge,
         "makes lists and strings of more than " + std::to_string(MostItems) +
             " elements",
         FewerRounds);
  return !Bad;
}

void Evaluator::note(const std::string &Text) {
  if (!llvm::is_contained(Notes, Text))
    Notes.push_back(Text);
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// "torch.nn.x" of nested attributes of a plain name; empty for others.
static std::string dotted(const Node &N) {
  if (N.Is == Node::Kind::Name)
    return N.Text;
  if (N.Is != Node::Kind::Attribute)
    return {};
  std::string Front = dotted(N.Items.front());
  return Front.empty() ? Front : Front + "." + N.Text;
}

/// The name, if it begins with one of the roots that the printer knows.
static std::string globalName(const Node &N) {
  std::string Name = dotted(N);
  StringRef Root = StringRef(Name).split('.').first;
  bool Known = Root == "torch" || Root == "ops" || Root == "__torch__" ||
               Root == "CONSTANTS";
  return Known && Name.size() > Root.size() ? Name : std::string();
}

Datum Evaluator::constantOf(const ScriptFile &File, const Node &N) {
  Frames.push_back({&File, "a default", "", {}, N.Line, nullptr});
  Datum V = evaluate(N);
  Frames.pop_back();
  return V;
}

Datum Evaluator::evaluate(const Node &N) {
  if (Bad)
    return {};
  auto Leave = llvm::scope_exit([&] { --Depth; });
  if (++Depth > Deepest)
    return fail(Code::ImportTooDeep, "calls nest deeper than " +
                                         std::to_string(Deepest) + " levels");
  switch (N.Is) {
  case Node::Kind::None:
    return {};
  case Node::Kind::Bool:
    return Datum::ofBool(N.Int != 0);
  case Node::Kind::Int:
    return Datum::ofInt(N.Int);
  case Node::Kind::Float:
    return Datum::ofFloat(N.Float);
  case Node::Kind::Text:
    return Datum::ofText(N.Text);
  case Node::Kind::Name: {
    auto It = Frames.back().Locals.find(N.Text);
    if (It == Frames.back().Locals.end())
      return fail(Code::ImportUndefinedValue,
                  "reads '" + printable(N.Text) + "', which nothing defines");
    return It->second;
  }
  case Node::Kind::Attribute: {
    std::string Name = globalName(N);
    StringRef Constant(Name);
    size_t Index = 0;
    if (Constant.consume_front("CONSTANTS.c") &&
        !Constant.getAsInteger(10, Index)) {
      if (const PickleValue *V = Script.constant(Index))
        return V->Is == PickleValue::Kind::Tensor ? tensorFrom(*V, Name, true)
                                                  : object(*V, Name);
      return fail(Code::ImportExternalMissing,
                  "the archive has no constant " + std::to_string(Index));
    }
    if (!Name.empty() && N.Items.front().Is == Node::Kind::Attribute &&
        (N.Text == "value" || N.Text == "name"))
      if (Datum Of = evaluate(N.Items.front()); isEnum(Of))
        return ofEnum(Of, N.Text);
    if (!Name.empty())
      return Datum::ofText(Name, Kind::Function);
    Datum Of = evaluate(N.Items.front());
    return Bad ? Datum() : attribute(Of, N.Text);
  }
  case Node::Kind::Subscript: {
    Datum Of = evaluate(N.Items.front());
    Datum At = evaluate(N.Items.back());
    return Bad ? Datum() : element(Of, At);
  }
  case Node::Kind::Tuple:
  case Node::Kind::List:
  case Node::Kind::Dict: {
    std::vector<Datum> Parts;
    Parts.reserve(N.Items.size());
    for (const Node &Part : N.Items)
      Parts.push_back(evaluate(Part));
    if (!charge(Parts.size()))
      return {};
    Datum Made = Datum::ofList(std::move(Parts),
                               N.Is == Node::Kind::Tuple  ? Kind::Tuple
                               : N.Is == Node::Kind::List ? Kind::List
                                                          : Kind::Dict);
    if (!Sides.empty())
      MadeLists[Made.Items.get()] = {Made.Items, Sides.back()};
    return Made;
  }
  case Node::Kind::Call:
    return evaluateCall(N);
  }
  return {};
}

Datum Evaluator::attribute(const Datum &Of, const std::string &Name) {
  if (Of.Is == Kind::Object) {
    auto It = Of.Object->Attributes.find(Name);
    if (It != Of.Object->Attributes.end()) {
      std::string Path = Of.Object->pathOf(Name);
      if (It->second.Is != Kind::Object && !Assigned.count(Path))
        ReadFirst.insert(Path);
      return It->second;
    }
    // What is the same for all objects of the class stands in its source.
    std::string Why;
    Archive::Found C = Script.find(Of.Object->Class, Why);
    if (C.TheClass)
      for (const Statement &S : C.TheClass->Attributes)
        if (S.Is == Statement::Kind::Declare && S.Value &&
            S.Targets.front().Text == Name)
          return constantOf(*C.File, *S.Value);
    return fail(Code::ImportUndefinedValue,
                "reads the attribute '" + printable(Name) + "', which " +
                    printable(Of.Object->Class) + " has not");
  }
  if (Of.Is == Kind::Function && (Name == "value" || Name == "name"))
    return ofEnum(Of, Name);
  if (Of.Is == Kind::Tuple && !Of.Text.empty()) {
    std::string Why;
    Archive::Found C = Script.find(Of.Text, Why);
    for (size_t I = 0; C.TheClass && I < C.TheClass->Attributes.size(); ++I)
      if (!C.TheClass->Attributes[I].Targets.empty() &&
          C.TheClass->Attributes[I].Targets.front().Text == Name &&
          I < Of.Items->size())
        return (*Of.Items)[I];
  }
  return fail(Code::ImportUnsupported, "reads the attribute '" +
                                           printable(Name) + "' of " +
                                           Of.kindText());
}

std::optional<int64_t> Evaluator::placeOfKey(const Datum &Dict,
                                             const Datum &Key) {
  for (size_t I = 0; I + 1 < Dict.Items->size(); I += 2) {
    std::optional<bool> Equal = same((*Dict.Items)[I], Key);
    if (!Equal)
      return std::nullopt;
    if (*Equal)
      return static_cast<int64_t>(I);
  }
  return -1;
}

Datum Evaluator::element(const Datum &Of, const Datum &At) {
  if (Of.Is == Kind::Dict) {
    std::optional<int64_t> Place = placeOfKey(Of, At);
    if (!Place)
      return unknownNumber("it looks for a size in a dict");
    if (*Place < 0)
      return fail(Code::ImportMalformed, "the dict has no such key");
    return (*Of.Items)[static_cast<size_t>(*Place) + 1];
  }
  // A ModuleList or a ModuleDict.
  if (Of.Is == Kind::Object) {
    int64_t Place = At.asInt().value_or(0);
    if (Place < 0)
      Place += llvm::count_if(Of.Object->Attributes, [](const auto &Part) {
        return llvm::isDigit(Part.first.front());
      });
    if (At.Is == Kind::Text || At.asInt())
      return attribute(Of,
                       At.Is == Kind::Text ? At.Text : std::to_string(Place));
  }
  if (Of.Is != Kind::List && Of.Is != Kind::Tuple && Of.Is != Kind::Text)
    return fail(Code::ImportUnsupported,
                "takes an element of " + Of.kindText());
  std::optional<int64_t> I = At.asInt();
  if (!I)
    return unknownNumber("it picks from a list");
  auto Size = static_cast<int64_t>(Of.Is == Kind::Text ? Of.Text.size()
                                                       : Of.Items->size());
  if (*I < -Size || *I >= Size)
    return fail(Code::ImportMalformed, "takes element " + std::to_string(*I) +
                                           " of " + std::to_string(Size));
  auto Place = static_cast<size_t>(*I < 0 ? *I + Size : *I);
  return Of.Is == Kind::Text ? Datum::ofText(Of.Text.substr(Place, 1))
                             : (*Of.Items)[Place];
}

std::optional<bool> Evaluator::truth(const Datum &V) {
  switch (V.Is) {
  case Kind::None:
    return false;
  case Kind::Bool:
  case Kind::Int:
    if (std::optional<int64_t> N = V.asInt())
      return *N != 0;
    if (Into.facts().range(V.Int).Min > 0)
      return true;
    return std::nullopt;
  case Kind::Float:
    return V.Float != 0;
  case Kind::Text:
    return !V.Text.empty();
  case Kind::List:
  case Kind::Tuple:
  case Kind::Dict:
    return !V.Items->empty();
  case Kind::Tensor:
    if (std::optional<Datum> N = knownNumber(V))
      return truth(*N);
    return std::nullopt;
  case Kind::Unsettled:
    return std::nullopt;
  default:
    return true;
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

PassedList Evaluator::arguments(const Node &Call) {
  PassedList List;
  for (size_t I = 1; I < Call.Items.size(); ++I)
    List.push_back({Call.Keywords[I], evaluate(Call.Items[I])});
  return List;
}

/// As Python's isinstance; what a container holds is not asked.
static bool isOfType(const Datum &V, const Node &Type) {
  StringRef Name(Type.Is == Node::Kind::Subscript ? Type.Items.front().Text
                                                  : Type.Text);
  // One of several types stands in a tuple.
  if (Type.Is == Node::Kind::Tuple || Name == "Union")
    return llvm::any_of(Type.Items,
                        [&](const Node &One) { return isOfType(V, One); });
  if (Name == "Optional")
    return V.isNone() || isOfType(V, Type.Items.back());
  return (Name == "Tensor" && V.isTensor()) ||
         (Name == "int" && V.Is == Kind::Int) ||
         (Name == "float" && V.Is == Kind::Float) ||
         (Name == "bool" && V.Is == Kind::Bool) ||
         (Name == "str" && V.Is == Kind::Text) ||
         (Name == "NoneType" && V.isNone()) ||
         (Name == "List" && V.Is == Kind::List) ||
         (Name == "Tuple" && V.Is == Kind::Tuple) ||
         (Name == "Dict" && V.Is == Kind::Dict);
}

Datum Evaluator::evaluateCall(const Node &N) {
  const Node &Callee = N.Items.front();
  if (Callee.Is == Node::Kind::Name) {
    const std::string &Name = Callee.Text;
    if (auto It = Frames.back().Locals.find(Name);
        It != Frames.back().Locals.end()) {
      Datum Of = It->second;
      if (Of.Is == Kind::Function)
        return evaluateNamed(N, Of.Text, arguments(N));
      if (Of.Is == Kind::Object)
        return callMethod(Of, "__call__", arguments(N));
      return fail(Code::ImportUnsupported, "calls " + Of.kindText());
    }
    if (Name == "uninitialized")
      return {};
    if ((Name == "annotate" || Name == "unchecked_cast") && N.Items.size() == 3)
      return evaluate(N.Items[2]);
    if ((Name == "fork" || Name == "awaitable") && N.Items.size() == 2 &&
        Frames.back().Defined.count(N.Items[1].Text))
      return runTask(N.Items[1].Text);
    if (Name == "isinstance" && N.Items.size() == 3) {
      Datum V = evaluate(N.Items[1]);
      return Bad ? Datum() : Datum::ofBool(isOfType(V, N.Items[2]));
    }
    PassedList Given = arguments(N);
    if (Bad)
      return {};
    if (Name == "getattr" && Given.size() == 2)
      return attribute(Given[0].Value, Given[1].Value.Text);
    if ((Name == "int" || Name == "float" || Name == "bool" || Name == "str") &&
        Given.size() == 1)
      return convert(Name, Given[0].Value);
    if (std::optional<Datum> Result = callBuiltin(Name, Given))
      return *Result;
    return fail(Code::ImportUnsupported,
                "calls '" + printable(Name) + "', which kpc does not know");
  }
  if (std::string Name = globalName(Callee); !Name.empty())
    return evaluateNamed(N, Name, arguments(N));
  if (Callee.Is != Node::Kind::Attribute)
    return fail(Code::ImportUnsupported, "calls the result of an expression");
  Datum Self = evaluate(Callee.Items.front());
  if (Bad)
    return {};
  PassedList Given = arguments(N);
  return Bad ? Datum() : callMethod(Self, Callee.Text, std::move(Given));
}

Datum Evaluator::runTask(const std::string &Name) {
  Frame Own = Frames.back();
  const std::vector<Statement> *Body = Own.Defined.at(Name);
  Frames.push_back(std::move(Own));
  std::optional<Datum> Result = runBlock(*Body);
  Frames.pop_back();
  return Bad ? Datum() : Result.value_or(Datum());
}

Datum Evaluator::evaluateNamed(const Node &N, const std::string &Name,
                               PassedList Arguments) {
  if (Bad)
    return {};
  Frames.back().Line = N.Line;
  StringRef Operator(Name);
  if (Operator.starts_with("ops.profiler._record_function"))
    return Datum();
  if (Operator.starts_with("__torch__."))
    return callNamed(Name, std::move(Arguments));
  bool Own = Operator.consume_front("torch.") ||
             Operator.consume_front("ops.prim.") ||
             Operator.consume_front("ops.aten.");
  if (!Own)
    Operator.consume_front("ops.");
  if (std::optional<Datum> Result =
          Own ? callBuiltin(Operator.str(), Arguments) : std::nullopt)
    return *Result;
  return Bad ? Datum() : callAten(Operator.str(), std::move(Arguments));
}

Datum Evaluator::callMethod(const Datum &Self, const std::string &Name,
                            PassedList Arguments) {
  if (Self.isTensor() && Name == "tolist")
    return listOf(Self);
  if (Self.Is != Kind::Object)
    return fail(Code::ImportUnsupported, "calls the method '" +
                                             printable(Name) + "' of " +
                                             Self.kindText());
  std::string Why;
  Archive::Found C = Script.find(Self.Object->Class, Why);
  if (C.TheClass)
    for (const Function &F : C.TheClass->Methods)
      if (F.Name == Name) {
        Arguments.insert(Arguments.begin(), {"", Self});
        Called.insert({Self.Object->Class, Name});
        return callFunction(*C.File, F, Arguments, Self.Object->Path);
      }
  return fail(Code::ImportFunction, C.TheClass ? printable(Self.Object->Class) +
                                                     " has no method '" +
                                                     printable(Name) + "'"
                                               : Why);
}

/// A function of the archive, or a class of which an object is made.
Datum Evaluator::callNamed(const std::string &Name, PassedList Arguments) {
  StringRef Class(Name);
  bool Makes = Class.consume_back(".__new__");
  std::string Why;
  Archive::Found Of = Script.find(Class.str(), Why);
  if (Of.TheFunction) {
    if (auto Known = knownForm(Name, *Of.File, *Of.TheFunction)) {
      note("'" + printable(Of.TheFunction->Name) + "' is compiled " +
           Known->How);
      return callFunction(*Known->File, Known->File->Source.Functions.front(),
                          Arguments, Frames.back().Module);
    }
    return callFunction(*Of.File, *Of.TheFunction, Arguments,
                        Frames.back().Module);
  }
  if (!Of.TheClass)
    return fail(Code::ImportFunction, Why);
  if (Of.TheClass->Base == "NamedTuple") {
    std::vector<Datum> Parts;
    for (const Passed &P : Arguments)
      Parts.push_back(P.Value);
    Datum Tuple = Datum::ofList(std::move(Parts), Kind::Tuple);
    Tuple.Text = Class.str();
    return Tuple;
  }
  Datum Object = Datum::ofObject(Class.str(), "(" + Of.TheClass->Name + ")");
  if (!Makes)
    callMethod(Object, "__init__", std::move(Arguments));
  return Object;
}

Datum Evaluator::callFunction(const ScriptFile &File, const Function &F,
                              const PassedList &Arguments,
                              const std::string &Module) {
  auto Leave = llvm::scope_exit([&] { --Depth; });
  if (++Depth > Deepest)
    return fail(Code::ImportTooDeep, "calls nest deeper than " +
                                         std::to_string(Deepest) + " levels");
  std::unordered_map<std::string, Datum> Locals;
  size_t Place = 0;
  for (const Passed &A : Arguments) {
    if (A.Keyword.empty() && Place >= F.Parameters.size())
      return fail(Code::ImportArity,
                  "passes " + std::to_string(Arguments.size()) +
                      " arguments to '" + printable(F.Name) +
                      "', which takes " + std::to_string(F.Parameters.size()));
    Locals.insert_or_assign(
        A.Keyword.empty() ? F.Parameters[Place++].Name : A.Keyword, A.Value);
  }
  Frames.push_back({&File, F.Name, Module, std::move(Locals), F.Line, &F.Body});
  for (const Parameter &P : F.Parameters) {
    if (Frames.back().Locals.count(P.Name))
      continue;
    if (!P.Default) {
      fail(Code::ImportArity,
           "argument '" + printable(P.Name) + "' is missing");
      break;
    }
    Frames.back().Locals.emplace(P.Name, evaluate(*P.Default));
  }
  std::optional<Datum> Result;
  if (!Bad)
    Result = runBlock(F.Body);
  Frames.pop_back();
  return Bad ? Datum() : Result.value_or(Datum());
}

} // namespace kpc::torchscript
