//===- BuiltinTensors.cpp - What a program asks of tensors ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sizes, types and the like of tensors are known while the program is walked.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/KnownValues.h"
#include "compiler/import/torchscript/Evaluator.h"
#include "compiler/import/torchscript/Types.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <cstring>

namespace kpc::torchscript {

using llvm::StringRef;
using torch::Emitter;
using torch::ScalarType;
using Kind = Datum::Kind;
using shape::Expr;

std::optional<Datum> Evaluator::callBuiltin(const std::string &Name,
                                            PassedList &A) {
  for (auto Try : {&Evaluator::callNumber, &Evaluator::callText,
                   &Evaluator::callSequence, &Evaluator::callTensor}) {
    std::optional<Datum> Result = (this->*Try)(Name, A);
    if (Result || Bad)
      return Result ? Result : Datum();
  }
  return std::nullopt;
}

/// Questions whose answer is the same for every tensor of a compiled model.
static std::optional<bool> fixedAnswer(StringRef Name) {
  return llvm::StringSwitch<std::optional<bool>>(Name)
      .Cases({"requires_grad", "is_cuda", "is_sparse", "is_quantized",
              "is_mkldnn", "is_nested", "is_mps", "is_meta", "is_xpu",
              "is_complex", "is_conj", "is_neg", "is_inference"},
             false)
      .Cases({"is_contiguous", "is_cpu", "is_leaf"}, true)
      .Default(std::nullopt);
}

std::optional<Datum> Evaluator::callTensor(const std::string &Name,
                                           PassedList &A) {
  if (Name == "RaiseException")
    return fail(Code::ImportUnsupported,
                "the program raises an exception" +
                    (A.empty() || A[0].Value.Text.empty()
                         ? std::string()
                         : ": " + printable(A[0].Value.Text)),
                "give other sizes or values of the inputs");
  if (Name == "_assert" && !A.empty()) {
    std::optional<bool> Holds = truth(A[0].Value);
    if (Holds == false)
      return fail(Code::ImportUnsupported, "an assertion of the program fails");
    if (!Holds)
      noteUnchecked(Frames.back().Line);
    return Datum();
  }
  // A task has run where it was started.
  if ((Name == "wait" || Name == "awaitable_wait") && A.size() == 1)
    return A[0].Value;
  if (Name == "device")
    return Datum::ofText("cpu", Kind::Device);
  if (!A.empty() && A[0].Value.Is == Kind::Device) {
    if (Name == "type")
      return Datum::ofText("cpu");
    if (Name == "index")
      return Datum();
  }
  // With gradients, layers take the way that is written out, not PyTorch's
  // kernels for whole encoder layers.
  if (Name == "is_grad_enabled" || Name == "is_scripting")
    return Datum::ofBool(true);
  if (Name == "is_autocast_enabled" || Name == "is_tracing" ||
      Name == "is_autocast_cpu_enabled")
    return Datum::ofBool(false);
  if (Name == "set_grad_enabled" || Name == "_set_deterministic")
    return Datum();
  if (Name == "get_default_dtype")
    return Datum::ofInt(numberOf(ScalarType::Float));
  if (A.empty())
    return std::nullopt;
  if (Name == "unchecked_unwrap_optional" || Name == "_unwrap_optional")
    return A[0].Value;
  if (Name == "NumToTensor" && A[0].Value.isNumber())
    return scalarTensor(A[0].Value);
  if (Name == "tensor" || Name == "as_tensor")
    return tensorOf(A);
  if (!A[0].Value.isTensor())
    return std::nullopt;
  Datum X = A[0].Value;
  if (std::optional<bool> Answer = fixedAnswer(Name))
    return Datum::ofBool(*Answer);
  bool Passes = llvm::StringSwitch<bool>(Name)
                    .Cases({"data", "cpu", "cuda", "requires_grad_",
                            "pin_memory", "ScalarImplicit"},
                           true)
                    .Default(false);
  if (Name == "ScalarImplicit")
    if (std::optional<Datum> N = knownNumber(X))
      return N;
  if (Passes)
    return X;
  if (Name == "grad")
    return Datum();
  if (Name == "layout")
    return Datum::ofInt(0);
  if (Name == "T" || Name == "H")
    return callAten("numpy_T", A);
  if (Name == "item") {
    if (std::optional<Datum> N = computedNumber(X))
      return N;
    return unknownNumber("the data of a tensor decides it");
  }
  if (Name == "Int" || Name == "IntImplicit")
    return convert("int", X);
  if (Name == "Float" || Name == "FloatImplicit")
    return convert("float", X);
  if (Name == "Bool")
    return convert("bool", X);
  bool Asks = llvm::StringSwitch<bool>(Name)
                  .Cases({"size", "shape", "dim", "ndim", "len", "numel",
                          "dtype", "device", "is_floating_point", "is_signed",
                          "stride", "element_size", "itemsize"},
                         true)
                  .Default(false);
  if (!Asks)
    return std::nullopt;
  mlir::Value V = valueOf(X);
  if (!V)
    return Datum();
  llvm::ArrayRef<Expr> Sizes = Emitter::dims(V);
  auto Axis = [&](const Datum &At) -> std::optional<size_t> {
    auto Rank = static_cast<int64_t>(Sizes.size());
    int64_t I = At.asInt().value_or(INT64_MAX);
    if (I < -Rank || I >= Rank) {
      fail(Code::ImportAttributeValue, "axis " + At.Int.str() +
                                           " is outside the rank " +
                                           std::to_string(Rank));
      return std::nullopt;
    }
    return static_cast<size_t>(I < 0 ? I + Rank : I);
  };
  if (Name == "device")
    return Datum::ofText("cpu", Kind::Device);
  if (Name == "dtype")
    return Datum::ofInt(numberOf(Emitter::element(V)));
  if (Name == "is_floating_point")
    return Datum::ofBool(Emitter::isFloat(V));
  if (Name == "is_signed")
    return Datum::ofBool(!Emitter::element(V).isUnsignedInteger() &&
                         !graph::isBool(Emitter::element(V)));
  if (Name == "element_size" || Name == "itemsize")
    return Datum::ofInt(static_cast<int64_t>(
        torch::bytesOf(typeOf(numberOf(Emitter::element(V))))));
  if (Name == "dim" || Name == "ndim")
    return Datum::ofInt(static_cast<int64_t>(Sizes.size()));
  if (Name == "len") {
    if (Sizes.empty())
      return fail(Code::ImportRank, "asks for the length of a scalar");
    return Datum::ofInt(Sizes[0]);
  }
  if (Name == "numel") {
    Expr All(1);
    for (const Expr &E : Sizes)
      All = All * E;
    return Datum::ofInt(All);
  }
  // Everything is laid out densely, the last axis next to each other.
  std::vector<Datum> All(Sizes.size());
  Expr Stride(1);
  for (size_t I = Sizes.size(); I-- > 0;) {
    All[I] = Datum::ofInt(Name == "stride" ? Stride : Sizes[I]);
    Stride = Stride * Sizes[I];
  }
  if (A.size() < 2)
    return Datum::ofList(std::move(All));
  std::optional<size_t> At = Axis(A[1].Value);
  return At ? All[*At] : Datum();
}

/// Numbers of lists in lists, row by row; false where rows differ.
static bool flatten(const Datum &V, std::vector<Datum> &All,
                    std::vector<int64_t> &Sizes, size_t Depth) {
  if (!V.isSequence()) {
    All.push_back(V);
    return Depth == Sizes.size();
  }
  auto Size = static_cast<int64_t>(V.Items->size());
  if (Depth == Sizes.size()) {
    if (!All.empty() || Depth > 32)
      return false;
    Sizes.push_back(Size);
  }
  if (Sizes[Depth] != Size)
    return false;
  for (const Datum &Part : *V.Items)
    if (!flatten(Part, All, Sizes, Depth + 1))
      return false;
  return true;
}

Datum Evaluator::listOf(const Datum &Tensor) {
  mlir::Value V = valueOf(Tensor);
  if (!V)
    return {};
  onnx::KnownValues Values(Into.facts(), Weights);
  std::optional<onnx::Contents> Of = Values.contents(V);
  if (!Of)
    return unknownNumber("the data of a tensor decides the numbers of a list");
  auto Number = [&](size_t I) {
    if (Of->isReal())
      return Datum::ofFloat(Of->Real[I]);
    Datum N = Datum::ofInt(Of->Whole[I]);
    if (graph::isBool(Emitter::element(V)))
      N.Is = Kind::Bool;
    return N;
  };
  std::vector<Datum> All;
  for (size_t I = 0; I < Of->count() && charge(1); ++I)
    All.push_back(Number(I));
  llvm::ArrayRef<Expr> Sizes = Emitter::dims(V);
  if (Bad || Sizes.empty())
    return Bad ? Datum() : All.front();
  // From the last axis to the first, each row becomes a list.
  for (const Expr &Size : llvm::reverse(Sizes.drop_front())) {
    auto Row = static_cast<size_t>(Size.asConstant().value_or(0));
    if (Row == 0)
      return unknownNumber("a list of lists has no elements");
    std::vector<Datum> Rows;
    for (size_t I = 0; I + Row <= All.size(); I += Row) {
      auto First = All.begin() + static_cast<int64_t>(I);
      Rows.push_back(Datum::ofList({First, First + static_cast<int64_t>(Row)}));
    }
    All = std::move(Rows);
  }
  return Datum::ofList(std::move(All));
}

Datum Evaluator::tensorOf(PassedList &A) {
  Datum Wanted;
  for (const Passed &P : A)
    if (P.Keyword == "dtype")
      Wanted = P.Value;
  auto Typed = [&](Datum Made) {
    if (Bad || Wanted.isNone())
      return Made;
    return callAten("to", {{"", Made}, {"", Wanted}});
  };
  const Datum &Data = A[0].Value;
  if (Data.isTensor())
    return Typed(Data);
  if (Data.isNumber())
    return Typed(scalarTensor(Data));
  std::vector<Datum> All;
  std::vector<int64_t> Sizes;
  if (!Data.isSequence() || !flatten(Data, All, Sizes, 0) ||
      !charge(All.size()))
    return fail(Code::ImportUnsupported,
                "makes a tensor of " + Data.kindText());
  bool Reals = false, Open = false, Tensors = false;
  for (const Datum &D : All) {
    Reals |= D.Is == Kind::Float;
    Open |= !D.asReal();
    Tensors |= D.isTensor();
  }
  if (Open && Sizes.size() == 1) {
    std::vector<Datum> Parts;
    Parts.reserve(All.size());
    for (const Datum &D : All)
      Parts.push_back(D.isNumber() ? scalarTensor(D) : D);
    return Typed(callAten("stack", {{"", Datum::ofList(std::move(Parts))}}));
  }
  if (Open || Tensors)
    return unknownNumber("a list of sizes makes a tensor");
  torch::Payload Of;
  Of.Meta.Type = Reals ? ScalarType::Float : ScalarType::Long;
  if (!All.empty() && std::all_of(All.begin(), All.end(), [](const Datum &D) {
        return D.Is == Kind::Bool;
      }))
    Of.Meta.Type = ScalarType::Bool;
  unsigned Width = torch::bytesOf(Of.Meta.Type);
  auto Bytes = std::make_shared<std::vector<uint8_t>>(All.size() * Width);
  for (size_t I = 0; I < All.size(); ++I) {
    uint8_t *To = Bytes->data() + I * Width;
    int64_t Whole = All[I].asInt().value_or(0);
    auto Real = static_cast<float>(*All[I].asReal());
    if (Reals)
      std::memcpy(To, &Real, sizeof(Real));
    else
      std::memcpy(To, &Whole, Width); // little endian
  }
  int64_t Stride = 1;
  for (int64_t Size : Sizes)
    Of.Meta.Sizes.push_back({Size, ""});
  for (size_t I = Sizes.size(); I-- > 0; Stride *= Sizes[I])
    Of.Meta.Strides.insert(Of.Meta.Strides.begin(), {Stride, ""});
  Of.Bytes = {Bytes->data(), Bytes->size()};
  Of.Keep = Bytes;
  std::string Name = "tensor_" + std::to_string(NamesUsed["tensor"]++);
  P.Payloads.emplace(Name, std::move(Of));
  torch::InputSpec Spec;
  Spec.Is = torch::InputSpec::Kind::Constant;
  Spec.Value.Is = torch::Argument::Kind::Tensor;
  Spec.Value.Values = {Name};
  Spec.Target = Name;
  P.Inputs.push_back(Spec);
  Into.addPayload(Spec);
  return Typed(tensorNamed(Name));
}

} // namespace kpc::torchscript
