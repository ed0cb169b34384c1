//===- GraphStructure.cpp - Constants, weights, regions -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location>, Adaptor Op,
                                           SmallVectorImpl<Type> &Types) {
  ShapedType Shape = Op.getValue().getShapedType();
  SmallVector<Expr> Dims;
  for (int64_t Size : Shape.getShape())
    Dims.push_back(Expr(Size));
  Types.push_back(SymbolicTensorType::get(Dims, Shape.getElementType()));
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult WeightOp::verify() {
  if (!typeOf(getY()).hasStaticShape())
    return emitOpError() << "of " << getY().getType()
                         << ": a weight's sizes are numbers";
  for (Attribute Step : getRecipe()) {
    auto Fields = dyn_cast<DictionaryAttr>(Step);
    StringRef Name = Fields && Fields.size() == 1
                         ? Fields.begin()->getName().strref()
                         : StringRef();
    if (Name != "transpose" && Name != "reshape" && Name != "cast")
      return emitOpError() << "recipe step " << Step
                           << " is none of transpose, reshape, cast";
  }
  return success();
}

LogicalResult SizesOp::inferReturnTypes(MLIRContext *Context,
                                        std::optional<Location>, Adaptor Op,
                                        SmallVectorImpl<Type> &Types) {
  Expr Count(static_cast<int64_t>(Op.getValues().getDims().size()));
  Types.push_back(
      SymbolicTensorType::get(Context, Count, IntegerType::get(Context, 64)));
  return success();
}

LogicalResult RegionOp::verify() {
  Block &Body = getBody().front();
  if (Body.getArgumentTypes() != TypeRange(getInputs()))
    return emitOpError("block arguments differ from the inputs' types");
  auto Yield = dyn_cast<YieldOp>(Body.back());
  if (!Yield || TypeRange(Yield.getValues()) != getResultTypes())
    return emitOpError("yields other types than its results");
  return success();
}
