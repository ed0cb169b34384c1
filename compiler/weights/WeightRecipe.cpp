//===- WeightRecipe.cpp - Prepares weights for the artifact -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/weights/WeightRecipe.h"
#include "compiler/weights/WeightView.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

#include <numeric>

using namespace kpc;
using namespace mlir;
using llvm::createStringError;

namespace {

ElementType elementTypeByName(StringRef Name) {
  return llvm::StringSwitch<ElementType>(Name)
      .Case("f32", ElementType::F32)
      .Case("f64", ElementType::F64)
      .Case("f16", ElementType::F16)
      .Case("bf16", ElementType::BF16)
      .Case("i1", ElementType::Bool)
      .Case("i8", ElementType::I8)
      .Case("i16", ElementType::I16)
      .Case("i32", ElementType::I32)
      .Case("i64", ElementType::I64)
      .Case("ui8", ElementType::U8)
      .Case("ui16", ElementType::U16)
      .Case("ui32", ElementType::U32)
      .Case("ui64", ElementType::U64)
      .Default(ElementType::Undefined);
}

std::string typeName(Type Ty) {
  std::string Text;
  llvm::raw_string_ostream(Text) << Ty;
  return Text;
}

SmallVector<int64_t> rowMajor(ArrayRef<int64_t> Dims) {
  SmallVector<int64_t> Strides(Dims.size(), 1);
  for (size_t I = Dims.size(); I-- > 1;)
    Strides[I - 1] = Strides[I] * Dims[I];
  return Strides;
}

int64_t count(ArrayRef<int64_t> Dims) {
  return std::accumulate(Dims.begin(), Dims.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

llvm::Error applyStep(WeightView &V, NamedAttribute Step) {
  StringRef Name = Step.getName().strref();
  if (Name == "cast") {
    V.To =
        elementTypeByName(typeName(cast<TypeAttr>(Step.getValue()).getValue()));
    return llvm::Error::success();
  }
  auto List = dyn_cast<DenseI64ArrayAttr>(Step.getValue());
  if (!List)
    return createStringError("recipe step '" + Name + "' needs a list");
  ArrayRef<int64_t> Values = List;
  if (Name == "transpose") {
    if (Values.size() != V.Dims.size())
      return createStringError("recipe transposes a tensor of another rank");
    WeightView Old = V;
    for (auto [I, P] : llvm::enumerate(Values)) {
      V.Dims[I] = Old.Dims[P];
      V.Strides[I] = Old.Strides[P];
    }
    return llvm::Error::success();
  }
  if (Name == "reshape" && count(Values) == count(V.Dims) &&
      ArrayRef(V.Strides) == ArrayRef(rowMajor(V.Dims))) {
    V.Dims.assign(Values.begin(), Values.end());
    V.Strides = rowMajor(V.Dims);
    return llvm::Error::success();
  }
  return createStringError("recipe step '" + Name +
                           "' does not fit the tensor");
}

} // namespace

llvm::Expected<artifact::Weight>
kpc::prepareWeight(std::string Name, const Weight &Source, ArrayAttr Recipe) {
  WeightView V;
  V.Dims.assign(Source.Dims.begin(), Source.Dims.end());
  V.Strides = rowMajor(V.Dims);
  V.From = V.To = elementTypeByName(Source.ElementType);
  if (V.From == ElementType::Undefined)
    return createStringError("weight '" + Name + "' has no known element type");
  for (Attribute Step : Recipe)
    for (NamedAttribute Field : cast<DictionaryAttr>(Step))
      if (llvm::Error E = applyStep(V, Field))
        return E;
  if (!canCast(V.From, V.To))
    return createStringError("weight '" + Name + "': recipes cast floats only");

  artifact::Weight W;
  W.Name = std::move(Name);
  W.Type = V.To;
  W.Dims.assign(V.Dims.begin(), V.Dims.end());
  W.Length = count(V.Dims) * (bitWidth(V.To) / 8);
  if (count(Source.Dims) * uint64_t(bitWidth(V.From) / 8) > Source.Bytes.size())
    return createStringError("weight '" + W.Name + "' has too few bytes");
  W.Read = readerOf(std::move(V), Source.Bytes);
  return W;
}

std::string kpc::recipeText(ArrayAttr Recipe) {
  std::string Text;
  llvm::raw_string_ostream(Text) << Recipe;
  return Text;
}
