//===- PlanWeights.cpp - A plan's weights as the artifact's ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/artifact/PlanWeights.h"
#include "compiler/weights/WeightRecipe.h"

using namespace kpc;
using namespace mlir;
using kpc::shape::Expr;
using llvm::createStringError;
using llvm::Expected;

ElementType kpc::portTypeOf(Type Element) {
  if (isa<Float4E2M1FNType>(Element))
    return ElementType::F4E2M1;
  if (!graph::isNarrowInteger(Element))
    return elementTypeOf(Element);
  if (Element.getIntOrFloatBitWidth() == 4)
    return Element.isUnsignedInteger() ? ElementType::U4 : ElementType::I4;
  return Element.isUnsignedInteger() ? ElementType::U2 : ElementType::I2;
}

ElementType kpc::elementTypeOf(Type Element) {
  if (Element.isF32())
    return ElementType::F32;
  if (Element.isF64())
    return ElementType::F64;
  if (Element.isF16())
    return ElementType::F16;
  if (Element.isBF16())
    return ElementType::BF16;
  if (isa<Float8E4M3FNType>(Element))
    return ElementType::F8E4M3FN;
  if (isa<Float8E4M3FNUZType>(Element))
    return ElementType::F8E4M3FNUZ;
  if (isa<Float8E5M2Type>(Element))
    return ElementType::F8E5M2;
  if (isa<Float8E5M2FNUZType>(Element))
    return ElementType::F8E5M2FNUZ;
  if (isa<Float8E8M0FNUType>(Element))
    return ElementType::F8E8M0;
  if (isa<Float4E2M1FNType>(Element))
    return ElementType::U8; // its code
  auto Int = dyn_cast<IntegerType>(Element);
  if (!Int || Int.isSigned())
    return ElementType::Undefined;
  switch (Int.getWidth()) {
  case 1:
    return Int.isUnsigned() ? ElementType::Undefined : ElementType::Bool;
  case 2:
  case 4:
  case 8:
    return Int.isUnsigned() ? ElementType::U8 : ElementType::I8;
  case 16:
    return Int.isUnsigned() ? ElementType::U16 : ElementType::I16;
  case 32:
    return Int.isUnsigned() ? ElementType::U32 : ElementType::I32;
  case 64:
    return Int.isUnsigned() ? ElementType::U64 : ElementType::I64;
  default:
    return ElementType::Undefined;
  }
}

/// Elements as the artifact stores them: bools are bytes.
static artifact::Bytes bytesOf(ElementsAttr Value) {
  auto Dense = cast<DenseElementsAttr>(Value);
  artifact::Bytes Bytes;
  int64_t Count = Dense.getNumElements();
  if (Dense.getElementType().isInteger(1)) {
    for (bool B : Dense.getValues<bool>())
      Bytes.push_back(B);
    return Bytes;
  }
  if (graph::isNarrowInteger(Dense.getElementType())) {
    bool Unsigned = Dense.getElementType().isUnsignedInteger();
    for (const llvm::APInt &V : Dense.getValues<llvm::APInt>())
      Bytes.push_back(
          uint8_t(Unsigned ? V.getZExtValue() : uint64_t(V.getSExtValue())));
    return Bytes;
  }
  ArrayRef<char> Raw = Dense.getRawData();
  size_t Times = Dense.isSplat() ? Count : 1;
  for (size_t I = 0; I < Times; ++I)
    Bytes.insert(Bytes.end(), Raw.begin(), Raw.end());
  return Bytes;
}

Expected<artifact::Weight> kpc::preparedWeight(StringRef Source,
                                               ArrayAttr Recipe,
                                               graph::SymbolicTensorType Ty,
                                               const WeightStore &Weights) {
  const Weight *Stored = Weights.find(Source);
  if (!Stored)
    return createStringError("weight '" + Source +
                             "' is not in the model that the text names");
  auto Prepared = prepareWeight(Source.str(), *Stored, Recipe);
  if (!Prepared)
    return Prepared.takeError();
  ElementType Wanted = elementTypeOf(Ty.getElementType());
  bool Fits = Wanted != ElementType::Undefined && Prepared->Type == Wanted &&
              llvm::equal(Prepared->Dims, Ty.getDims(),
                          [](int64_t Size, const Expr &E) {
                            return E.asConstant() == Size;
                          });
  if (Fits)
    return Prepared;
  return createStringError("weight '" + Source +
                           "' of the model has other sizes or another type "
                           "than the text says");
}

artifact::Weight kpc::constantWeight(std::string Name, ElementsAttr Value) {
  ShapedType Shape = Value.getShapedType();
  return artifact::weightFromBytes(
      std::move(Name), elementTypeOf(Shape.getElementType()),
      std::vector<int64_t>(Shape.getShape()), bytesOf(Value));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

Expected<uint32_t> WeightTable::add(plan::WeightOp Op) {
  std::string Key = Op.getSource().str() + recipeText(Op.getRecipe());
  auto [Known, IsNew] = BySourceAndRecipe.try_emplace(Key, All.size());
  if (!IsNew)
    return Known->second;
  auto Prepared = preparedWeight(Op.getSource(), Op.getRecipe(),
                                 graph::typeOf(Op.getBuffer()), Weights);
  if (!Prepared)
    return Prepared.takeError();
  All.push_back(std::move(*Prepared));
  return Known->second;
}

uint32_t WeightTable::add(plan::ConstantOp Op) {
  auto [Known, IsNew] = ByValue.try_emplace(Op.getValue(), All.size());
  if (IsNew)
    All.push_back(
        constantWeight("constant" + std::to_string(All.size()), Op.getValue()));
  return Known->second;
}
