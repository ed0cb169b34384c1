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

static FragmentLayout layoutOf(Type Ty) {
  if (auto Column = dyn_cast<ColumnType>(Ty))
    return Column.getLayout();
  return cast<FragmentType>(Ty).getLayout();
}

static Type elementOf(Type Ty) {
  if (auto Column = dyn_cast<ColumnType>(Ty))
    return Column.getElement();
  return cast<FragmentType>(Ty).getElement();
}

LogicalResult SplatOp::verify() {
  if (getValue().getType() == elementOf(getResult().getType()))
    return success();
  return emitOpError("expected a value of the result's element type");
}

LogicalResult RowNumbersOp::verify() {
  ColumnType Ty = getResult().getType();
  if (Ty.getElement().isInteger(32) && !Ty.getParts())
    return success();
  return emitOpError("expected a whole column of i32 as result");
}

LogicalResult ApplyOp::verify() {
  Type To = getResult().getType();
  auto Fragment = dyn_cast<FragmentType>(To);
  for (Type Ty : getOperandTypes()) {
    bool Fits = rowsOf(Ty) == rowsOf(To) && layoutOf(Ty) == layoutOf(To);
    if (auto Other = dyn_cast<FragmentType>(Ty))
      Fits = Fragment && Other.getShape() == Fragment.getShape();
    if (!Fits)
      return emitOpError() << "expected operands of the result's shape, got "
                           << Ty << " for " << To;
  }
  // Parts of a thread stay parts.
  auto Column = dyn_cast<ColumnType>(To);
  bool Parts = llvm::any_of(getOperandTypes(), [](Type Ty) {
    auto C = dyn_cast<ColumnType>(Ty);
    return C && C.getParts();
  });
  if (Parts && (!Column || !Column.getParts()))
    return emitOpError("expected a partial result of partial operands: "
                       "'tile.lane_reduce' alone makes a whole");
  SmallVector<Type> Arguments;
  for (Type Ty : getOperandTypes())
    Arguments.push_back(elementOf(Ty));
  if (Fragment)
    Arguments.push_back(IntegerType::get(getContext(), 32));
  Block &Body = getBody().front();
  if (!llvm::equal(Body.getArgumentTypes(), Arguments))
    return emitOpError(
        "expected a block with one element of each operand, and with the "
        "column's number where the result is a fragment");
  auto Yield = dyn_cast<YieldOp>(Body.getTerminator());
  if (!Yield || !Yield.getValue() ||
      Yield.getValue().getType() != elementOf(To))
    return emitOpError() << "expected to yield " << elementOf(To);
  return success();
}

LogicalResult ThreadReduceOp::verify() {
  FragmentType From = getFragment().getType();
  ColumnType To = getResult().getType();
  if (From.getRows() != To.getRows() || From.getElement() != To.getElement() ||
      !To.getParts() || !From.getElement().isF32())
    return emitOpError(
        "expected a fragment of f32 and a partial column of its rows");
  if (From.getLayout() != To.getLayout())
    return emitOpError("expected a result in the fragment's layout");
  if (getInitial() && getInitial().getType() != To)
    return emitOpError("expected an initial value of the result's type");
  auto Chains = int32_t(getChains());
  int64_t OfThread =
      From.isTmemLayout() ? From.getColumns() : From.getColumns() / 4;
  if (Chains < 1 || OfThread % Chains)
    return emitOpError() << "expected a number of chains that divides a "
                            "thread's columns, got "
                         << Chains;
  return success();
}

LogicalResult LaneReduceOp::verify() {
  ColumnType From = getParts().getType(), To = getResult().getType();
  if (From.getRows() == To.getRows() && From.getElement() == To.getElement() &&
      From.getElement().isF32() && From.getParts() && !To.getParts() &&
      From.getLayout() == To.getLayout())
    return success();
  return emitOpError("expected a partial column of f32, and a whole one of its "
                     "rows as result");
}

LogicalResult WarpAboveOp::verify() {
  if (getColumn().getType().getElement().isF32())
    return success();
  return emitOpError("expected a column of f32");
}

LogicalResult PackOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  PackedType To = getResult().getType();
  int64_t Columns = 0;
  for (Value V : getFragments()) {
    auto From = cast<FragmentType>(V.getType());
    if (From.getRows() != To.getRows() || !From.getElement().isF32())
      return emitOpError("expected f32 fragments of the result's rows");
    // Words of FP8 have columns of two blocks of 8.
    if (To.getElement().getIntOrFloatBitWidth() == 8 && From.getColumns() % 16)
      return emitOpError() << "to FP8 expected fragments of a multiple of 16 "
                              "columns, got "
                           << From.getColumns();
    Columns += From.getColumns();
  }
  if (Columns != To.getColumns())
    return emitOpError() << "expected " << To.getColumns() << " columns, got "
                         << Columns;
  return success();
}

LogicalResult PackWordsOp::verify() {
  PackedType To = getResult().getType();
  if (To.getElement().getIntOrFloatBitWidth() != 16)
    return emitOpError() << "expected elements of 16 bits, got "
                         << To.getElement();
  if (int64_t(getWords().size()) != To.getPerThread())
    return emitOpError() << "expected " << To.getPerThread() << " words, got "
                         << getWords().size();
  return success();
}
