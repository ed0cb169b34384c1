//===- Aten.cpp - Operators on tensors become nodes -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A call of the source names no overload and few arguments: the schemas say
/// which one takes the values at hand. The node then goes the way of those of
/// torch.export.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/KnownValues.h"
#include "compiler/import/torch/Rules.h"
#include "compiler/import/torchscript/Evaluator.h"
#include "compiler/import/torchscript/Types.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

namespace kpc::torchscript {

using llvm::StringRef;
using torch::Argument;
using torch::ScalarType;
using torch::Schema;
using torch::SchemaArgument;
using Kind = Datum::Kind;

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

Datum Evaluator::tensorFrom(const PickleValue &V, const std::string &Path,
                            bool Constant) {
  if (!P.Payloads.count(Path))
    Unread.insert({Path, {&V, Constant}});
  return tensorNamed(Path);
}

/// The one number of a tensor without dimensions, for folding.
static std::optional<Datum> numberIn(const torch::Payload &Of) {
  if (!Of.Meta.Sizes.empty())
    return std::nullopt;
  unsigned Width = torch::bytesOf(Of.Meta.Type);
  uint64_t At = static_cast<uint64_t>(Of.Meta.Offset.Number) * Width;
  if (Width == 0 || At + Width > Of.Bytes.size())
    return std::nullopt;
  const uint8_t *From = Of.Bytes.data() + At;
  uint64_t Bits = 0;
  std::memcpy(&Bits, From, Width); // little endian
  switch (Of.Meta.Type) {
  case ScalarType::Bool:
    return Datum::ofBool(Bits != 0);
  case ScalarType::Byte:
    return Datum::ofInt(static_cast<int64_t>(Bits));
  case ScalarType::Char:
  case ScalarType::Short:
  case ScalarType::Int:
  case ScalarType::Long:
    return Datum::ofInt(llvm::SignExtend64(Bits, 8 * Width));
  case ScalarType::Float: {
    float F = 0;
    std::memcpy(&F, From, sizeof(F));
    return Datum::ofFloat(static_cast<double>(F));
  }
  case ScalarType::Double: {
    double F = 0;
    std::memcpy(&F, From, sizeof(F));
    return Datum::ofFloat(F);
  }
  default:
    return std::nullopt;
  }
}

bool Evaluator::readWeight(const std::string &Name) {
  auto It = Unread.find(Name);
  if (It == Unread.end())
    return !Bad;
  Weight W = It->second;
  Unread.erase(It);
  std::string Why;
  std::optional<torch::Payload> Of = Script.payload(*W.Of, W.Constant, Why);
  if (!Of) {
    fail(Code::ImportExternalMissing,
         "the data of tensor '" + printable(Name) + "': " + Why);
    return false;
  }
  if (std::optional<Datum> Number = numberIn(*Of))
    Known.insert_or_assign(Name, *Number);
  P.Payloads.insert_or_assign(Name, std::move(*Of));
  torch::InputSpec Spec;
  Spec.Is = W.Constant ? torch::InputSpec::Kind::Constant
                       : torch::InputSpec::Kind::Buffer;
  Spec.Value.Is = Argument::Kind::Tensor;
  Spec.Value.Values = {Name};
  Spec.Target = Name;
  P.Inputs.push_back(Spec);
  size_t Errors = Into.diagnostics().errorCount();
  Into.addPayload(Spec);
  Bad |= Into.diagnostics().errorCount() != Errors;
  return !Bad;
}

mlir::Value Evaluator::valueOf(const Datum &Tensor) {
  if (!readWeight(Tensor.Text))
    return {};
  mlir::Value V = Into.look(Tensor.Text);
  if (!V)
    fail(Code::ImportUndefinedValue,
         "reads '" + printable(Tensor.Text) + "', which is not computed");
  return V;
}

std::optional<Datum> Evaluator::knownNumber(const Datum &Tensor) const {
  auto It = Known.find(Tensor.Text);
  return It == Known.end() ? std::nullopt : std::optional(It->second);
}

std::optional<Datum> Evaluator::computedNumber(const Datum &Tensor) {
  if (std::optional<Datum> N = knownNumber(Tensor))
    return N;
  mlir::Value V = valueOf(Tensor);
  if (!V)
    return std::nullopt;
  // Anew each time: what was seen may have been erased since.
  onnx::KnownValues Values(Into.facts(), Weights);
  std::optional<onnx::Contents> Of = Values.contents(V);
  if (!Of || Of->count() != 1)
    return std::nullopt;
  if (Of->isReal())
    return Datum::ofFloat(Of->Real[0]);
  if (graph::isBool(torch::Emitter::element(V))) {
    std::optional<int64_t> Truth = Of->Whole[0].asConstant();
    return Truth ? std::optional(Datum::ofBool(*Truth != 0)) : std::nullopt;
  }
  return Datum::ofInt(Into.facts().simplify(Of->Whole[0]));
}

Datum Evaluator::scalarTensor(const Datum &Number) {
  ScalarType T = Number.Is == Kind::Float  ? ScalarType::Float
                 : Number.Is == Kind::Bool ? ScalarType::Bool
                                           : ScalarType::Long;
  Datum Made = callAten("scalar_tensor",
                        {{"", Number}, {"dtype", Datum::ofInt(numberOf(T))}});
  if (!Bad)
    Known.insert_or_assign(Made.Text, Number);
  return Made;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

void Evaluator::bindInt(const Datum &V, Argument &A) {
  std::optional<int64_t> N = V.asInt();
  A.Ints.push_back(N.value_or(0));
  A.Values.emplace_back();
  if (N)
    return;
  A.Values.back() = "size_" + std::to_string(NamesUsed["size"]++);
  Into.defineNumber(A.Values.back(), V.Int);
}

bool Evaluator::bindOne(const SchemaArgument &S, const Datum &Given,
                        Argument &A) {
  using Wants = SchemaArgument::Kind;
  A.Name = S.Name;
  if (S.Is == Wants::Other) {
    A.Is = Argument::Kind::Other;
    return true;
  }
  if (Given.isNone()) {
    A.Is = Argument::Kind::None;
    return S.Optional || S.HasDefault;
  }
  // A tensor that holds a known number serves as one.
  Datum V = Given;
  bool WantsTensor = S.Is == Wants::Tensor || S.Is == Wants::Tensors;
  if (Given.isTensor() && !WantsTensor)
    if (std::optional<Datum> N = computedNumber(Given))
      V = *N;
  auto ListOf = [&](Kind First, Kind Second) {
    return V.isSequence() && llvm::all_of(*V.Items, [&](const Datum &D) {
             std::optional<Datum> N =
                 D.isTensor() ? computedNumber(D) : std::optional(D);
             return N && (D.isTensor() || N->Is == First || N->Is == Second);
           });
  };
  auto Number = [&](const Datum &D) {
    return D.isTensor() ? computedNumber(D).value_or(D) : D;
  };
  switch (S.Is) {
  case Wants::Tensor:
    A.Is = Argument::Kind::Tensor;
    A.Values = {V.Text};
    return V.isTensor();
  case Wants::Tensors:
    A.Is = Argument::Kind::Tensors;
    if (!V.isSequence())
      return false;
    for (const Datum &D : *V.Items) {
      if (!D.isTensor() && !(D.isNone() && S.Optional))
        return false;
      A.Values.push_back(D.isTensor() ? D.Text : "");
    }
    return true;
  case Wants::Number:
    A.Is = V.Is == Kind::Float  ? Argument::Kind::Float
           : V.Is == Kind::Bool ? Argument::Kind::Bool
                                : Argument::Kind::Int;
    A.Floats = {V.Float};
    if (V.Is != Kind::Float && V.isNumber())
      bindInt(V, A);
    return V.isNumber();
  case Wants::Int:
    A.Is = Argument::Kind::Int;
    if (V.Is == Kind::Int)
      bindInt(V, A);
    return V.Is == Kind::Int;
  case Wants::Ints:
    A.Is = Argument::Kind::Ints;
    if (V.Is == Kind::Int)
      bindInt(V, A);
    else if (ListOf(Kind::Int, Kind::Int))
      for (const Datum &D : *V.Items)
        bindInt(Number(D), A);
    else
      return false;
    return true;
  case Wants::Float:
    A.Is = Argument::Kind::Float;
    A.Floats = {V.asReal().value_or(0)};
    return (V.Is == Kind::Float || V.Is == Kind::Int) && V.asReal();
  case Wants::Floats:
    A.Is = Argument::Kind::Floats;
    if (!ListOf(Kind::Float, Kind::Int))
      return false;
    for (const Datum &D : *V.Items)
      A.Floats.push_back(Number(D).asReal().value_or(0));
    return true;
  case Wants::Bool:
    A.Is = Argument::Kind::Bool;
    A.Ints = {V.asInt().value_or(0)};
    A.Values = {""};
    return V.Is == Kind::Bool;
  case Wants::Text:
    A.Is = Argument::Kind::Text;
    A.Text = V.Text;
    return V.Is == Kind::Text;
  case Wants::ScalarType:
    A.Is = Argument::Kind::ScalarType;
    A.Ints = {static_cast<int64_t>(typeOf(V.asInt().value_or(-1)))};
    return V.Is == Kind::Int;
  case Wants::Other:
    break;
  }
  return true;
}

bool Evaluator::bind(const Schema &S, const PassedList &Given, torch::Node &N) {
  size_t Place = 0, Used = 0;
  for (const SchemaArgument &Wanted : S.Arguments) {
    const Datum *V = nullptr;
    if (!Wanted.KeywordOnly && Place < Given.size() &&
        Given[Place].Keyword.empty()) {
      V = &Given[Place++].Value;
    } else {
      for (const Passed &P : Given)
        if (P.Keyword == Wanted.Name)
          V = &P.Value;
    }
    if (!V) {
      if (!Wanted.HasDefault)
        return false;
      continue;
    }
    ++Used;
    Argument A;
    if (!bindOne(Wanted, *V, A))
      return false;
    N.Inputs.push_back(std::move(A));
  }
  return Used == Given.size();
}

static SchemaArgument schemaOf(const custom::Attribute &A) {
  using Wants = SchemaArgument::Kind;
  constexpr Wants Kinds[] = {Wants::Int, Wants::Float, Wants::Text, Wants::Ints,
                             Wants::Floats};
  return {Kinds[size_t(A.Is)], A.Name, /*Optional=*/false,
          /*HasDefault=*/A.Default.has_value(), /*KeywordOnly=*/false};
}

/// A manifest does not say how tensors and attributes follow one another in a
/// call: each fills the next place of its kind.
bool Evaluator::bindCustom(const custom::Operator &Op, const PassedList &Given,
                           torch::Node &N) {
  std::vector<SchemaArgument> Tensors, Attributes;
  Tensors.reserve(Op.Inputs.size());
  for (const custom::Tensor &T : Op.Inputs)
    Tensors.push_back({SchemaArgument::Kind::Tensor, T.Name});
  Attributes.reserve(Op.Attributes.size());
  for (const custom::Attribute &A : Op.Attributes)
    Attributes.push_back(schemaOf(A));
  size_t NextTensor = 0, NextAttribute = 0;
  for (const Passed &P : Given) {
    const SchemaArgument *Wanted = nullptr;
    if (P.Keyword.empty()) {
      std::vector<SchemaArgument> &From =
          P.Value.isTensor() ? Tensors : Attributes;
      size_t &Next = P.Value.isTensor() ? NextTensor : NextAttribute;
      if (Next < From.size())
        Wanted = &From[Next++];
    } else {
      for (const auto *From : {&Tensors, &Attributes})
        for (const SchemaArgument &S : *From)
          if (P.Keyword == S.Name)
            Wanted = &S;
    }
    Argument A;
    if (!Wanted || !bindOne(*Wanted, P.Value, A))
      return false;
    N.Inputs.push_back(std::move(A));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Numbers that tensors hold stay known through what is done to them, as
/// traces compute with sizes.
void Evaluator::foldNumbers(const std::string &Name, const PassedList &Given,
                            const Datum &Result) {
  bool OfSizes = false;
  for (const Passed &P : Given)
    if (Ratios.count(P.Value.Text))
      OfSizes = true;
    else if (!P.Value.isNumber())
      return foldKnown(Name, Given, Result);
  if (OfSizes)
    Ratios.try_emplace(Result.Text, Ratio{shape::Expr(0), 0});
  if (OfSizes && (Name == "mul" || Name == "div") && Given.size() == 2) {
    bool First = Ratios.count(Given[0].Value.Text) != 0;
    std::optional<double> By = Given[First ? 1 : 0].Value.asReal();
    const Ratio &Of = Ratios.at(Given[First ? 0 : 1].Value.Text);
    if (By && (First || Name == "mul"))
      if (auto R = scaled(Of, *By, Name == "div"))
        Ratios.insert_or_assign(Result.Text, *R);
  }
  foldKnown(Name, Given, Result);
}

void Evaluator::foldKnown(const std::string &Name, const PassedList &Given,
                          const Datum &Result) {
  std::vector<Datum> Numbers;
  std::string Rounding;
  for (const Passed &P : Given) {
    if (P.Keyword == "rounding_mode")
      Rounding = P.Value.Text;
    else if (P.Keyword == "alpha" && P.Value.asReal() != 1.0)
      return;
    if (!P.Keyword.empty())
      continue;
    std::optional<Datum> N =
        P.Value.isTensor() ? knownNumber(P.Value) : std::nullopt;
    if (P.Value.isTensor() && !N)
      return;
    Numbers.push_back(N ? *N : P.Value);
  }
  if (Numbers.empty() || !Numbers[0].isNumber())
    return;
  Datum A = Numbers[0];
  bool Same = Name == "detach" || Name == "clone" || Name == "alias" ||
              Name == "contiguous" || Name == "squeeze";
  if (Name == "to" || Name == "type_as") {
    // What the value has become says which type is meant.
    mlir::Value V = valueOf(Result);
    if (!V)
      return;
    bool Real = torch::Emitter::isFloat(V);
    if (Real == (A.Is == Kind::Float))
      Known.insert_or_assign(Result.Text, A);
    else if (std::optional<double> N = A.asReal())
      Known.insert_or_assign(Result.Text,
                             Real ? Datum::ofFloat(*N)
                                  : Datum::ofInt(static_cast<int64_t>(*N)));
    return;
  }
  if (Same) {
    Known.insert_or_assign(Result.Text, A);
    return;
  }
  if (Numbers.size() < 2 || !Numbers[1].isNumber())
    return;
  Datum C = Numbers[1];
  std::string Operator = Name;
  // A third number is the factor alpha, of what is added or taken away.
  bool Reversed = Name == "rsub";
  if (Numbers.size() > 2 && Numbers[2].asReal() != 1.0) {
    bool Scales = Reversed || Name == "add" || Name == "sub";
    if (!Scales || !Numbers[2].isNumber())
      return;
    Datum &Scaled = Reversed ? A : C;
    if (Scaled.Is == Kind::Float || Numbers[2].Is == Kind::Float)
      return;
    Scaled = arithmetic("mul", Scaled, Numbers[2]);
  }
  if (Reversed) {
    std::swap(A, C);
    Operator = "sub";
  }
  if (Name == "div" && !Rounding.empty()) {
    // Both roundings are the same above zero.
    if (Rounding == "trunc" && Into.facts().range(A.Int).Min < 0)
      return;
    Operator = "floordiv";
  }
  bool Always = Operator == "add" || Operator == "sub" || Operator == "mul";
  bool Divides = Operator == "floordiv" || Operator == "floor_divide" ||
                 Operator == "remainder" || Operator == "div";
  bool Settled = C.asReal().value_or(0) > 0 &&
                 (A.asReal() || (Operator != "div" && C.asInt()));
  bool Sizes = A.Is != Kind::Float && C.Is != Kind::Float;
  if ((Always && (Sizes || (A.asReal() && C.asReal()))) ||
      (Divides && Settled && (Sizes || A.asReal())))
    Known.insert_or_assign(Result.Text, arithmetic(Operator, A, C));
}

static std::string kindsText(const PassedList &Given) {
  std::string Text;
  for (const Passed &P : Given)
    Text += (Text.empty() ? "" : ", ") +
            (P.Keyword.empty() ? "" : P.Keyword + " = ") + P.Value.kindText();
  return Text;
}

Datum Evaluator::callAten(const std::string &Name, PassedList Given) {
  if (Nodes.size() >= MostNodes)
    return fail(Code::ImportTooLarge,
                "makes more than " + std::to_string(MostNodes) + " nodes",
                FewerRounds);
  StringRef Operator(Name);
  bool InPlace = !Operator.ends_with("__") && Operator.consume_back("_");
  const custom::Operator *Custom = Into.customOperator(Name);
  Schema Own{"default", {}, Custom ? int(Custom->Outputs.size()) : 0};
  const std::vector<Schema> None,
      &Schemas =
          Custom ? None : torch::schemasOf({Operator.data(), Operator.size()});
  const Schema *Chosen = nullptr;
  torch::Node N;
  if (Custom) {
    if (!bindCustom(*Custom, Given, N))
      return fail(Code::ImportCustomNode,
                  "expected inputs and attributes as in the manifest of '" +
                      printable(Custom->fullName()) +
                      "', got: " + kindsText(Given));
    InPlace = false;
    Chosen = &Own;
    N.Target = Name + ".default";
  }
  for (const Schema &S : Schemas) {
    N.Inputs.clear();
    if (bind(S, Given, N)) {
      Chosen = &S;
      break;
    }
  }
  torch::InPlace Form = torch::InPlace::No;
  // "torchvision.nms" has its domain.
  bool Domain = Operator.contains('.') || Operator.contains("::");
  if (Chosen && !Custom)
    N.Target =
        (Domain ? "" : "aten.") + Name + "." + std::string(Chosen->Overload);
  if (!Custom &&
      (Schemas.empty() || (Chosen && !torch::findRule(N.Target, Form)))) {
    return fail(Code::ImportUnknownOp,
                "kpc has no import rule for the operator '" +
                    std::string(Domain ? "" : "aten::") + printable(Name) + "'",
                Domain ? "it is an operator of its own library: a manifest "
                         "describes it to kpc (--operator FILE.json; "
                         "docs/custom-operators.md)"
                       : "`kpc ops --domain aten` lists what imports");
  }
  if (!Chosen)
    return fail(Code::ImportAttributeType,
                "no form of 'aten::" + printable(Name) +
                    "' takes these: " + kindsText(Given),
                "`kpc ops --domain aten " + Operator.str() +
                    "` shows the forms that import");
  if (InPlace && Form == torch::InPlace::No)
    return fail(Code::ImportUnsupported,
                "'aten::" + printable(Name) + "' changes a tensor in place",
                "use the form that gives a new tensor");
  if (Form == torch::InPlace::Sizes) {
    if (!mayChange("changes the sizes of a tensor"))
      return {};
    if (P.Payloads.count(Given[0].Value.Text) ||
        Unread.count(Given[0].Value.Text))
      return fail(Code::ImportUnsupported,
                  "changes the sizes of '" + printable(Given[0].Value.Text) +
                      "', which the module keeps between calls",
                  "use the form that gives a new tensor: " + Operator.str());
  }
  for (const Argument &A : N.Inputs)
    if (A.Is == Argument::Kind::Tensor || A.Is == Argument::Kind::Tensors)
      for (const std::string &Of : A.Values)
        if (!Of.empty() && !readWeight(Of))
          return {};
  N.Name = Name + "_" + std::to_string(NamesUsed[Name]++);
  if (!Frames.empty() && Frames.back().File) {
    const Frame &F = Frames.back();
    N.Module = F.Module;
    N.Source = F.File->place(F.Line);
  }
  size_t Errors = Into.diagnostics().errorCount();
  size_t Count = static_cast<size_t>(std::max(Chosen->Results, 1));
  if (Chosen->Results < 0) {
    std::optional<size_t> Parts = Into.countResults(N);
    if (!Parts) {
      Bad = true;
      if (Into.diagnostics().errorCount() == Errors)
        Bad = false, fail(Code::ImportShape, "its parts are not known");
      return {};
    }
    Count = *Parts;
  }
  std::vector<Datum> Results;
  Argument List;
  List.Is = Argument::Kind::Tensors;
  for (size_t I = 0; I < Count && Chosen->Results != 0; ++I) {
    std::string Result =
        "%" + N.Name + (Count > 1 ? "." + std::to_string(I) : "");
    Results.push_back(tensorNamed(Result));
    Argument A;
    A.Is = Argument::Kind::Tensor;
    A.Values = {Result};
    List.Values.push_back(Result);
    if (Chosen->Results > 0)
      N.Outputs.push_back(A);
  }
  if (Chosen->Results < 0)
    N.Outputs.push_back(List);
  Nodes.push_back(std::move(N));
  Into.importNode(Nodes.back());
  if (Into.diagnostics().errorCount() != Errors) {
    Bad = true;
    return {};
  }
  if (Chosen->Results == 0)
    return {};
  if (Form != torch::InPlace::No) {
    // Views of a number's tensor may hold another one now.
    mlir::Value Self = valueOf(Given[0].Value);
    if (Self && torch::Emitter::rank(Self) == 0)
      Known.clear();
    return Given[0].Value;
  }
  if (Chosen->Results < 0)
    return charge(Results.size()) ? Datum::ofList(std::move(Results)) : Datum();
  for (Datum &D : Results)
    if (Into.isUndefined(D.Text))
      D = Datum();
  if (Results.size() > 1)
    return Datum::ofList(std::move(Results), Kind::Tuple);
  foldNumbers(Name, Given, Results[0]);
  return Results[0];
}

} // namespace kpc::torchscript
