//===- InferTypes.cpp - Types that a file does not declare ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Infer.h"

#include "llvm/ADT/StringSwitch.h"

namespace kpc::torch {

namespace {
/// What a result's type follows from, where no argument `dtype` says it.
enum class From {
  Self,
  RealSelf,   ///< floats stay, others become f32
  SummedSelf, ///< floats stay, others become i64
  Default,    ///< f32
  Value,      ///< the number that fills it
  Range,      ///< i64 where all its numbers are whole
  Tensors,    ///< what all of a list promote to
  Bounds,     ///< self, min and max together
  Other,
};
} // namespace

static From source(llvm::StringRef Operator) {
  return llvm::StringSwitch<From>(Operator)
      .Cases({"softmax", "log_softmax", "_softmax", "_log_softmax"},
             From::RealSelf)
      .Cases({"sum", "prod", "cumsum"}, From::SummedSelf)
      .Cases({"empty", "ones", "zeros", "rand", "randn", "eye", "linspace",
              "scalar_tensor"},
             From::Default)
      .Case("full", From::Value)
      .Case("arange", From::Range)
      .Cases({"cat", "concat", "concatenate", "stack"}, From::Tensors)
      .Cases({"clamp", "clamp_min", "clamp_max", "clip"}, From::Bounds)
      .Case("type_as", From::Other)
      .Default(From::Self);
}

static Type numberType(NodeImport &N, std::string_view Name) {
  const Argument *A = N.argument(Name);
  if (!A || A->Is == Argument::Kind::Float)
    return N.f32();
  return A->Is == Argument::Kind::Bool ? N.i1() : N.i64();
}

static Type rangeType(NodeImport &N) {
  for (std::string_view Name : {"start", "end", "step"})
    if (const Argument *A = N.argument(Name);
        A && A->Is == Argument::Kind::Float)
      return N.f32();
  return N.i64();
}

static Type listType(NodeImport &N) {
  Type Result;
  for (Value V : N.tensors("tensors"))
    if (V)
      Result = N.wider(Result, N.element(V));
  return Result;
}

static Type selfType(NodeImport &N) {
  Value X = N.tensor(N.has("input") ? "input" : N.has("a") ? "a" : "self");
  return X ? N.element(X) : Type();
}

Type inferType(NodeImport &N) {
  if (N.has("dtype"))
    return N.type("dtype");
  llvm::StringRef Target(N.node().Target);
  Target.consume_front("aten.");
  llvm::StringRef Name = Target.split('.').first;
  if (Name.ends_with("_") && !Name.ends_with("__"))
    Name = Name.drop_back();
  // `to` a tensor's type.
  From Source = Name == "to" && N.has("other") ? From::Other : source(Name);
  switch (Source) {
  case From::Default:
    return N.f32();
  case From::Value:
    return numberType(N, "fill_value");
  case From::Range:
    return rangeType(N);
  case From::Tensors:
    return listType(N);
  case From::Bounds: {
    Type T = selfType(N);
    for (std::string_view Bound : {"min", "max"})
      if (N.has(Bound))
        T = N.wider(T, N.promoted("self", Bound));
    return T;
  }
  case From::Other: {
    Value X = N.tensor("other");
    return X ? N.element(X) : Type();
  }
  case From::Self:
  case From::RealSelf:
  case From::SummedSelf:
    break;
  }
  Type T = selfType(N);
  if (T && !graph::isFloat(T) && Source == From::RealSelf)
    return N.f32();
  if (T && !graph::isFloat(T) && Source == From::SummedSelf)
    return N.i64();
  return T;
}

} // namespace kpc::torch
