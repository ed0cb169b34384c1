//===- GraphOrder.cpp - Elements in order --------------------------------===//
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

LogicalResult SortOp::inferReturnTypes(MLIRContext *Context,
                                       std::optional<Location> Loc, Adaptor Op,
                                       SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType X = typeOf(Op.getX());
  int64_t Axis = Op.getAxis();
  if (Axis < 0 || Axis >= X.getRank())
    return emitOptionalError(Loc, "axis ", Axis, " is outside the rank");
  SmallVector<Expr> Dims(X.getDims());
  if (Op.getFirst()) {
    if (Op.getFirst()->getDims().size() != 1)
      return emitOptionalError(Loc, "expected one expression in 'first', got ",
                               Op.getFirst()->getDims().size());
    Dims[Axis] = Op.getFirst()->getDims().front();
  }
  if (Op.getBits()) {
    auto Element = dyn_cast<IntegerType>(X.getElementType());
    int64_t Bits = *Op.getBits();
    if (!Element || Bits < 1 || Bits >= Element.getWidth())
      return emitOptionalError(Loc, "expected integers of more than ", Bits,
                               " bits, got ", X);
  }
  if (failed(appendTensor(Loc, Dims, X.getElementType(), Types)))
    return failure();
  return appendTensor(Loc, Dims, IntegerType::get(Context, 64), Types);
}

LogicalResult SortRunsOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> Loc,
                                           Adaptor Op,
                                           SmallVectorImpl<Type> &Types) {
  constexpr int64_t MostAtOnce = 4096;
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType X = typeOf(Op.getX());
  if (X.getRank() < 1 || !X.getElementType().isSignlessInteger(64))
    return emitOptionalError(Loc, "expected rows of i64, got ", X);
  int64_t From = Op.getFrom(), To = Op.getTo();
  bool AtOnce = From == 1 && To <= MostAtOnce, Merges = To == 2 * From;
  if (From < 1 || To < 2 || !llvm::isPowerOf2_64(To) || (!AtOnce && !Merges))
    return emitOptionalError(
        Loc, "expected runs of 1 to become a power of two up to ", MostAtOnce,
        ", or runs twice as long, got ", From, " to ", To);
  if (!Op.getFirst()) {
    Types.push_back(X);
    return success();
  }
  if (Op.getFirst()->getDims().size() != 1 || !AtOnce ||
      X.getDims().back() != Expr(To))
    return emitOptionalError(
        Loc, "expected one expression in 'first', and rows that are one run "
             "sorted at once");
  SmallVector<Expr> Dims(X.getDims());
  Dims.back() = Op.getFirst()->getDims().front();
  return appendTensor(Loc, Dims, X.getElementType(), Types);
}

/// What passes of a radix sort ask of the rows and of the digit.
static LogicalResult checkDigit(std::optional<Location> Loc,
                                SymbolicTensorType X, int64_t Shift,
                                int64_t Bits) {
  // Shared memory has room for a count of each value and warp.
  constexpr int64_t MostBits = 8;
  if (X.getRank() < 1 || !X.getElementType().isSignlessInteger(64))
    return emitOptionalError(Loc, "expected rows of i64, got ", X);
  if (Shift < 0 || Bits < 1 || Bits > MostBits || Shift + Bits > 64)
    return emitOptionalError(Loc, "expected a digit of 1 to ", MostBits,
                             " bits inside of 64, got ", Bits, " from bit ",
                             Shift, " on");
  return success();
}

LogicalResult DigitCountsOp::inferReturnTypes(MLIRContext *Context,
                                              std::optional<Location> Loc,
                                              Adaptor Op,
                                              SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType X = typeOf(Op.getX());
  int64_t Bits = Op.getBits(), Parts = Op.getParts();
  if (failed(checkDigit(Loc, X, Op.getShift(), Bits)))
    return failure();
  if (Parts < 1)
    return emitOptionalError(Loc, "expected one part or more, got ", Parts);
  SmallVector<Expr> Dims(X.getDims().drop_back());
  Dims.append({Expr(Parts), Expr(int64_t(1) << Bits)});
  return appendTensor(Loc, Dims, IntegerType::get(Context, 32), Types);
}

LogicalResult OrderByDigitOp::inferReturnTypes(MLIRContext *,
                                               std::optional<Location> Loc,
                                               Adaptor Op,
                                               SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType X = typeOf(Op.getX()), Counts = typeOf(Op.getCounts());
  size_t Rows = X.getDims().size() - 1;
  std::optional<int64_t> Parts, Values;
  if (Counts.getDims().size() == Rows + 2) {
    Parts = Counts.getStaticDim(Rows);
    Values = Counts.getStaticDim(Rows + 1);
  }
  if (!Parts || !Values || !llvm::isPowerOf2_64(*Values) ||
      !Counts.getElementType().isSignlessInteger(32) ||
      Counts.getDims().take_front(Rows) != X.getDims().drop_back())
    return emitOptionalError(Loc, "counts ", Counts, " are none of ", X);
  if (failed(checkDigit(Loc, X, Op.getShift(), llvm::Log2_64(*Values))))
    return failure();
  Types.push_back(X);
  return success();
}

LogicalResult SearchSortedOp::inferReturnTypes(MLIRContext *Context,
                                               std::optional<Location> Loc,
                                               Adaptor Op,
                                               SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType In = typeOf(Op.getSorted()), Of = typeOf(Op.getValues());
  if (In.getRank() != 1 || In.getElementType() != Of.getElementType())
    return emitOptionalError(Loc,
                             "expected a vector and values of one type, "
                             "got ",
                             In, " and ", Of);
  return appendTensor(Loc, Of.getDims(), IntegerType::get(Context, 64), Types);
}

LogicalResult FoldSegmentsOp::inferReturnTypes(MLIRContext *,
                                               std::optional<Location> Loc,
                                               Adaptor Op,
                                               SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType X = typeOf(Op.getX()), Updates = typeOf(Op.getUpdates()),
                     Order = typeOf(Op.getOrder()),
                     Starts = typeOf(Op.getStarts());
  if (X.getRank() != 2 || Updates.getRank() != 2 || Order.getRank() != 1 ||
      Starts.getRank() != 1 || X.getDims()[1] != Updates.getDims()[1] ||
      X.getElementType() != Updates.getElementType() ||
      Order.getDims()[0] != Updates.getDims()[0] ||
      Starts.getDims()[0] != X.getDims()[0] + Expr(1))
    return emitOptionalError(Loc, "x ", X, ", updates ", Updates, ", order ",
                             Order, " and starts ", Starts,
                             " do not fit together");
  Types.push_back(X);
  return success();
}
