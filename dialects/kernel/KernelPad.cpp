//===- KernelPad.cpp - A tensor with a constant around it -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace kpc::kernel;

namespace {

/// Writes the body of a `kernel.pad`. What does not fit together is left to the
/// verifier.
class PadBody {
public:
  PadBody(OperationState &State, MLIRContext *Context, Value X,
          ValueRange Sizes)
      : State(State), B(State.location, Context), X(X), Sizes(Sizes) {}

  void write(ArrayRef<int64_t> Low, ArrayRef<int64_t> High, TypedAttr Outside) {
    Block &Body = State.addRegion()->emplaceBlock();
    for (Value Operand : State.operands)
      Body.addArgument(getElementTypeOrSelf(Operand), State.location);
    B.setInsertionPointToStart(&Body);
    linalg::YieldOp::create(B, element(Low, High, Outside));
  }

private:
  Value element(ArrayRef<int64_t> Low, ArrayRef<int64_t> High,
                TypedAttr Outside);
  Value sizeOf(unsigned Dim);

  OperationState &State;
  ImplicitLocOpBuilder B;
  Value X;
  ValueRange Sizes;
  unsigned Taken = 0; ///< of Sizes
};

Value PadBody::sizeOf(unsigned Dim) {
  auto Ty = cast<RankedTensorType>(X.getType());
  if (!Ty.isDynamicDim(Dim))
    return arith::ConstantIndexOp::create(B, Ty.getDimSize(Dim));
  return Taken < Sizes.size() ? Sizes[Taken++] : Value();
}

Value PadBody::element(ArrayRef<int64_t> Low, ArrayRef<int64_t> High,
                       TypedAttr Outside) {
  auto Ty = dyn_cast<RankedTensorType>(X.getType());
  Value Beside = arith::ConstantOp::create(B, Outside);
  if (!Ty || Low.size() != size_t(Ty.getRank()) || High.size() != Low.size() ||
      Ty.getElementType() != Outside.getType())
    return Beside;
  SmallVector<Value> Place;
  for (int64_t Dim = 0; Dim < Ty.getRank(); ++Dim)
    Place.push_back(linalg::IndexOp::create(B, Dim));
  Value Inside;
  for (auto [Dim, At] : llvm::enumerate(Place)) {
    if (Low[Dim] == 0 && High[Dim] == 0)
      continue;
    Value Size = sizeOf(Dim);
    if (!Size)
      return Beside;
    Value Shift = arith::ConstantIndexOp::create(B, Low[Dim]);
    At = arith::SubIOp::create(B, At, Shift);
    // As unsigned, a negative index is beyond the size too.
    Value Fits = arith::CmpIOp::create(B, arith::CmpIPredicate::ult, At, Size);
    Inside = Inside ? arith::AndIOp::create(B, Inside, Fits).getResult() : Fits;
  }
  auto Read = [&](OpBuilder &Then, Location Loc) {
    Value V = tensor::ExtractOp::create(Then, Loc, X, Place);
    scf::YieldOp::create(Then, Loc, V);
  };
  auto Skip = [&](OpBuilder &Else, Location Loc) {
    scf::YieldOp::create(Else, Loc, Beside);
  };
  if (!Inside)
    return tensor::ExtractOp::create(B, X, Place);
  return scf::IfOp::create(B, Inside, Read, Skip).getResult(0);
}

} // namespace

void PadOp::build(OpBuilder &B, OperationState &State, Value X,
                  ValueRange Sizes, Value Init, ArrayRef<int64_t> Low,
                  ArrayRef<int64_t> High, TypedAttr Outside) {
  State.addOperands(X);
  State.addOperands(Sizes);
  State.addOperands(Init);
  State.addTypes(Init.getType());
  State.addAttribute(getLowAttrName(State.name), B.getDenseI64ArrayAttr(Low));
  State.addAttribute(getHighAttrName(State.name), B.getDenseI64ArrayAttr(High));
  State.addAttribute(getOutsideAttrName(State.name), Outside);
  PadBody(State, B.getContext(), X, Sizes).write(Low, High, Outside);
}

ParseResult PadOp::parse(OpAsmParser &Parser, OperationState &State) {
  OpAsmParser::UnresolvedOperand X, Init;
  SmallVector<OpAsmParser::UnresolvedOperand> Sizes;
  DenseI64ArrayAttr Low, High;
  TypedAttr Outside;
  RankedTensorType From, To;
  if (Parser.parseOperand(X) || Parser.parseKeyword("low") ||
      Parser.parseCustomAttributeWithFallback(Low) ||
      Parser.parseKeyword("high") ||
      Parser.parseCustomAttributeWithFallback(High) ||
      Parser.parseKeyword("outside") || Parser.parseAttribute(Outside))
    return failure();
  if (succeeded(Parser.parseOptionalKeyword("sizes")) &&
      Parser.parseOperandList(Sizes, OpAsmParser::Delimiter::Square))
    return failure();
  SmallVector<Value> SizeValues;
  if (Parser.parseKeyword("into") || Parser.parseOperand(Init) ||
      Parser.parseOptionalAttrDict(State.attributes) || Parser.parseColon() ||
      Parser.parseType(From) || Parser.parseKeyword("into") ||
      Parser.parseType(To) || Parser.resolveOperand(X, From, State.operands) ||
      Parser.resolveOperands(Sizes, Parser.getBuilder().getIndexType(),
                             SizeValues))
    return failure();
  State.addOperands(SizeValues);
  if (Parser.resolveOperand(Init, To, State.operands))
    return failure();
  State.addAttribute(getLowAttrName(State.name), Low);
  State.addAttribute(getHighAttrName(State.name), High);
  State.addAttribute(getOutsideAttrName(State.name), Outside);
  State.addTypes(To);
  PadBody(State, Parser.getContext(), State.operands.front(), SizeValues)
      .write(Low, High, Outside);
  return success();
}

void PadOp::print(OpAsmPrinter &Printer) {
  Printer << ' ' << getX() << " low ";
  Printer.printStrippedAttrOrType(getLowAttr());
  Printer << " high ";
  Printer.printStrippedAttrOrType(getHighAttr());
  Printer << " outside " << getOutside();
  if (!getSizes().empty())
    Printer << " sizes [" << getSizes() << ']';
  Printer << " into " << getInit();
  Printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {getLowAttrName(), getHighAttrName(), getOutsideAttrName()});
  Printer << " : " << getX().getType() << " into " << getInit().getType();
}

SmallVector<utils::IteratorType> PadOp::getIteratorTypesArray() {
  return SmallVector<utils::IteratorType>(getY().getType().getRank(),
                                          utils::IteratorType::parallel);
}

/// The body reads x by itself: its map says where a padded dimension begins.
ArrayAttr PadOp::getIndexingMaps() {
  unsigned Rank = getY().getType().getRank();
  Builder B(getContext());
  SmallVector<AffineExpr> OfX;
  for (unsigned I = 0; I < Rank; ++I)
    OfX.push_back(isPadded(I) ? B.getAffineConstantExpr(0)
                              : B.getAffineDimExpr(I));
  SmallVector<AffineMap> Maps(getSizes().size(),
                              AffineMap::get(Rank, 0, getContext()));
  Maps.insert(Maps.begin(), AffineMap::get(Rank, 0, OfX, getContext()));
  Maps.push_back(B.getMultiDimIdentityMap(Rank));
  return B.getAffineMapArrayAttr(Maps);
}

LogicalResult PadOp::verify() {
  RankedTensorType X = getX().getType(), Y = getY().getType();
  if (getInit().getType() != Y)
    return emitOpError("expected 'into' of the result's type ")
           << Y << ", got " << getInit().getType();
  if (X.getRank() != Y.getRank())
    return emitOpError("expected a result of x's ")
           << X.getRank() << " dimensions, got " << Y.getRank();
  if (X.getElementType() != Y.getElementType() ||
      X.getElementType() != getOutside().getType())
    return emitOpError("expected x, 'outside' and the result of one type, got ")
           << X.getElementType() << ", " << getOutside().getType() << " and "
           << Y.getElementType();
  if (int64_t(getLow().size()) != X.getRank() ||
      int64_t(getHigh().size()) != X.getRank())
    return emitOpError("expected 'low' and 'high' of ")
           << X.getRank() << " numbers, got " << getLow().size() << " and "
           << getHigh().size();
  size_t Unknown = 0;
  for (int64_t I = 0; I < X.getRank(); ++I) {
    int64_t Size = X.getDimSize(I);
    bool IsUnknown = ShapedType::isDynamic(Size);
    Unknown += IsUnknown && isPadded(I);
    auto Padded = int64_t(uint64_t(Size) + getLow()[I] + getHigh()[I]);
    if (!IsUnknown && !Y.isDynamicDim(I) && Y.getDimSize(I) != Padded)
      return emitOpError("expected ") << Padded << " elements in dimension "
                                      << I << ", got " << Y.getDimSize(I);
    if (Size == 0 && isPadded(I))
      return emitOpError("expected elements in dimension ")
             << I << " of x, got none; fill the result";
  }
  if (getSizes().size() != Unknown)
    return emitOpError("expected ")
           << Unknown << " sizes of padded dimensions, got "
           << getSizes().size();
  return success();
}
