//===- TileFragment.cpp - Verifiers of arithmetic on fragments ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/tile/Tile.h"

using namespace mlir;
using namespace kpc::tile;

static int64_t rowsOf(Type Ty) {
  if (auto Column = dyn_cast<ColumnType>(Ty))
    return Column.getRows();
  return cast<FragmentType>(Ty).getRows();
}

static Type elementOf(Type Ty) {
  if (auto Column = dyn_cast<ColumnType>(Ty))
    return Column.getElement();
  return cast<FragmentType>(Ty).getElement();
}

LogicalResult SplatOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  if (getValue().getType() == elementOf(getResult().getType()))
    return success();
  return emitOpError("repeats a value of another type than its result's");
}

LogicalResult RowNumbersOp::verify() {
  ColumnType Ty = getResult().getType();
  if (Ty.getElement().isInteger(32) && !Ty.getParts())
    return success();
  return emitOpError("gives a column of i32");
}

LogicalResult ApplyOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  Type To = getResult().getType();
  auto Fragment = dyn_cast<FragmentType>(To);
  for (Type Ty : getOperandTypes()) {
    bool Fits = rowsOf(Ty) == rowsOf(To);
    if (auto Other = dyn_cast<FragmentType>(Ty))
      Fits = Fragment && Other.getShape() == Fragment.getShape();
    if (!Fits)
      return emitOpError() << "joins " << Ty << " and " << To;
  }
  // Parts of a thread stay parts.
  auto Column = dyn_cast<ColumnType>(To);
  bool Parts = llvm::any_of(getOperandTypes(), [](Type Ty) {
    auto C = dyn_cast<ColumnType>(Ty);
    return C && C.getParts();
  });
  if (Parts && (!Column || !Column.getParts()))
    return emitOpError(
        "makes a whole of parts, as only 'tile.lane_reduce' does");
  SmallVector<Type> Arguments;
  for (Type Ty : getOperandTypes())
    Arguments.push_back(elementOf(Ty));
  if (Fragment)
    Arguments.push_back(IntegerType::get(getContext(), 32));
  Block &Body = getBody().front();
  if (!llvm::equal(Body.getArgumentTypes(), Arguments))
    return emitOpError("has a block of one element of each operand, and of the "
                       "column's number where it gives a fragment");
  auto Yield = dyn_cast<YieldOp>(Body.getTerminator());
  if (!Yield || !Yield.getValue() ||
      Yield.getValue().getType() != elementOf(To))
    return emitOpError() << "yields a " << elementOf(To);
  return success();
}

LogicalResult ThreadReduceOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  FragmentType From = getFragment().getType();
  ColumnType To = getResult().getType();
  if (From.getRows() != To.getRows() || From.getElement() != To.getElement() ||
      !To.getParts() || !From.getElement().isF32())
    return emitOpError("of f32 gives parts, one for each row");
  if (getInitial() && getInitial().getType() != To)
    return emitOpError("begins with parts of the result's type");
  auto Chains = int32_t(getChains());
  if (Chains < 1 || From.getColumns() / 4 % Chains)
    return emitOpError("has chains that do not share a thread's columns");
  return success();
}

LogicalResult LaneReduceOp::verify() {
  ColumnType From = getParts().getType(), To = getResult().getType();
  if (From.getRows() == To.getRows() && From.getElement() == To.getElement() &&
      From.getElement().isF32() && From.getParts() && !To.getParts())
    return success();
  return emitOpError("makes a whole of parts of f32");
}

LogicalResult PackOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  PackedType To = getResult().getType();
  int64_t Columns = 0;
  for (Value V : getFragments()) {
    auto From = cast<FragmentType>(V.getType());
    if (From.getRows() != To.getRows() || !From.getElement().isF32())
      return emitOpError("rounds f32 fragments of as many rows");
    Columns += From.getColumns();
  }
  if (Columns != To.getColumns())
    return emitOpError() << "has " << Columns << " columns for "
                         << To.getColumns();
  return success();
}
