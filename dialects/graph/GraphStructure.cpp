//===- GraphStructure.cpp - Constants, weights, regions ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/InferTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> Loc,
                                           Adaptor Op,
                                           SmallVectorImpl<Type> &Types) {
  if (!isa<DenseElementsAttr>(Op.getValue()))
    return emitOptionalError(Loc, "needs dense elements");
  ShapedType Shape = Op.getValue().getShapedType();
  SmallVector<Expr> Dims;
  for (int64_t Size : Shape.getShape())
    Dims.push_back(Expr(Size));
  return appendTensor(Loc, Dims, Shape.getElementType(), Types);
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

/// Whether what a recipe's step is given can be what it needs.
static bool isSoundStep(StringRef Name, Attribute Given) {
  if (Name == "cast") {
    auto To = dyn_cast<TypeAttr>(Given);
    return To && (isFloat(To.getValue()) ||
                  (isNarrowFloat(To.getValue()) && !isSubByte(To.getValue())));
  }
  auto List = dyn_cast<DenseI64ArrayAttr>(Given);
  if (!List)
    return false;
  SmallVector<int64_t> Values(List.asArrayRef());
  if (Name == "transpose") {
    llvm::sort(Values);
    return llvm::equal(Values, llvm::seq<int64_t>(0, Values.size()));
  }
  if (Name == "pad" && Values.size() != 1)
    return false;
  if (Name == "tiles")
    return Values.size() == 6 && (Values[0] == 4 || Values[0] == 8) &&
           Values[1] > 0 && Values[2] > 0 && Values[3] > 0 && Values[4] > 0 &&
           Values[5] >= 0;
  int64_t Count = 1;
  return llvm::all_of(Values, [&](int64_t Size) {
    return Size >= 0 && !llvm::MulOverflow(Count, Size, Count);
  });
}

LogicalResult graph::verifyRecipe(Operation *Op, SymbolicTensorType Ty,
                                  ArrayAttr Recipe) {
  if (!Ty.hasStaticShape())
    return Op->emitOpError() << "of " << Ty << ": a weight's sizes are numbers";
  for (Attribute Step : Recipe) {
    auto Fields = dyn_cast<DictionaryAttr>(Step);
    StringRef Name = Fields && Fields.size() == 1
                         ? Fields.begin()->getName().strref()
                         : StringRef();
    if (Name != "transpose" && Name != "reshape" && Name != "cast" &&
        Name != "pad" && Name != "tiles")
      return Op->emitOpError()
             << "recipe step " << Step
             << " is none of transpose, reshape, cast, pad, tiles";
    if (!isSoundStep(Name, Fields.begin()->getValue()))
      return Op->emitOpError() << "recipe step " << Step
                               << " needs a permutation, sizes or a float type";
  }
  return success();
}

LogicalResult WeightOp::verify() {
  return verifyRecipe(*this, typeOf(getY()), getRecipe());
}

LogicalResult SizesOp::inferReturnTypes(MLIRContext *Context,
                                        std::optional<Location> Loc, Adaptor Op,
                                        SmallVectorImpl<Type> &Types) {
  Expr Count(static_cast<int64_t>(Op.getValues().getDims().size()));
  return appendTensor(Loc, Count, IntegerType::get(Context, 64), Types);
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
