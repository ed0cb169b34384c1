//===- GraphElementwise.cpp - Types and folds of elementwise ops -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/InferTypes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

//===----------------------------------------------------------------------===//
// Result types
//===----------------------------------------------------------------------===//

static SymbolicTensorType boolsLike(Value V) {
  return typeOf(V).withElementType(IntegerType::get(V.getContext(), 1));
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> Loc,
                                          Adaptor Op,
                                          SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  Types.push_back(boolsLike(Op.getA()));
  return success();
}

LogicalResult CompareOp::verify() {
  Type Element = typeOf(getA()).getElementType();
  if (isFloat(Element) || isInteger(Element))
    return success();
  return emitOpError() << "compares elements of " << Element
                       << "; cast them to a wider type";
}

LogicalResult IsNanOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> Loc, Adaptor Op,
                                        SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  Types.push_back(boolsLike(Op.getX()));
  return success();
}

LogicalResult IsInfOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> Loc, Adaptor Op,
                                        SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  Types.push_back(boolsLike(Op.getX()));
  return success();
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> Loc,
                                         Adaptor Op,
                                         SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  Types.push_back(Op.getA().getType());
  return success();
}

LogicalResult SelectOp::verify() {
  if (typeOf(getCondition()).getDims() != typeOf(getA()).getDims())
    return emitOpError() << "condition and values differ in size: "
                         << getCondition().getType() << " and "
                         << getA().getType();
  return success();
}

LogicalResult CastOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> Loc, Adaptor Op,
                                       SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  return appendTensor(Loc, typeOf(Op.getX()).getDims(), Op.getTo(), Types);
}

LogicalResult BitcastOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> Loc,
                                          Adaptor Op,
                                          SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  return appendTensor(Loc, typeOf(Op.getX()).getDims(), Op.getTo(), Types);
}

LogicalResult BitcastOp::verify() {
  Type From = typeOf(getX()).getElementType(), To = getTo();
  if (isBool(From) || isBool(To) || elementBytes(From) != elementBytes(To))
    return emitOpError() << "reads the bits of " << From << " as " << To
                         << "; expected two types of as many bytes, not bool";
  return success();
}

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  return getX().getType() == getY().getType() ? getX() : Value();
}

//===----------------------------------------------------------------------===//
// Folds: neutral elements. x*0 is not 0 for NaN, and x+0 is x but for -0.
//===----------------------------------------------------------------------===//

static bool isIntegerValued(Value V) {
  return isInteger(typeOf(V).getElementType());
}

/// Whether the first of two operands that may change places was repeated, and
/// now is the second. Exporters write biases on either side: kernels that are
/// alike but for that are one.
static bool movesRepeatedBack(Operation *Op) {
  Value A = Op->getOperand(0), B = Op->getOperand(1);
  if (!A.getDefiningOp<BroadcastOp>() || B.getDefiningOp<BroadcastOp>() ||
      matchPattern(B, m_Constant()))
    return false;
  Op->setOperands({B, A});
  return true;
}

OpFoldResult AddOp::fold(FoldAdaptor) {
  std::optional<double> B = splatValue(getB());
  // x + -0.0 is x for every x; x + 0.0 turns -0.0 into 0.0.
  if (B && *B == 0 && (isIntegerValued(getA()) || std::signbit(*B)))
    return getA();
  return movesRepeatedBack(*this) ? getY() : Value();
}

OpFoldResult SubOp::fold(FoldAdaptor) {
  std::optional<double> B = splatValue(getB());
  if (B && *B == 0 && !std::signbit(*B))
    return getA();
  return {};
}

OpFoldResult MulOp::fold(FoldAdaptor) {
  if (splatValue(getB()) == 1.0)
    return getA();
  if (splatValue(getA()) == 1.0)
    return getB();
  return movesRepeatedBack(*this) ? getY() : Value();
}

OpFoldResult DivOp::fold(FoldAdaptor) {
  if (splatValue(getB()) == 1.0)
    return getA();
  return {};
}

/// A constant of one number in another type of reals; null for the rest. Traces
/// of PyTorch keep the numbers of their source as f64.
static Attribute castSplat(Attribute X, Type To) {
  auto Elements = dyn_cast_or_null<DenseElementsAttr>(X);
  if (!Elements || !Elements.isSplat() ||
      !isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(To))
    return {};
  auto From = dyn_cast<FloatType>(Elements.getElementType());
  if (!From || From.getWidth() < 16)
    return {};
  APFloat Number = Elements.getSplatValue<APFloat>();
  bool Lost = false;
  Number.convert(cast<FloatType>(To).getFloatSemantics(),
                 APFloat::rmNearestTiesToEven, &Lost);
  return DenseElementsAttr::get(Elements.getType().clone(To), Number);
}

OpFoldResult CastOp::fold(FoldAdaptor A) {
  if (getX().getType() == getY().getType())
    return getX();
  if (Attribute Known = castSplat(A.getX(), getTo()))
    return Known;
  // Widening and back gives the same value.
  auto Inner = getX().getDefiningOp<CastOp>();
  if (!Inner || Inner.getX().getType() != getY().getType())
    return {};
  Type Narrow = getTo(), Wide = Inner.getTo();
  bool Exact = isFloat(Narrow) && isFloat(Wide) &&
               (Wide.isF64() || (Wide.isF32() && !Narrow.isF64()));
  return Exact ? Inner.getX() : OpFoldResult();
}
