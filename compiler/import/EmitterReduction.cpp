//===- EmitterReduction.cpp - Builds reductions and contractions ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Emitter.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::frontend {

Value Emitter::reduce(ReduceKind K, Value X, ArrayRef<int64_t> Axes,
                      bool KeepDims) {
  if (!X || Axes.empty())
    return X;
  Value Y =
      build(ReduceOp::getOperationName(), {X},
            {B.getNamedAttr("kind", ReduceKindAttr::get(B.getContext(), K)),
             listAttr("axes", Axes)});
  return KeepDims ? unsqueeze(Y, Axes) : Y;
}

Value Emitter::mean(Value X, ArrayRef<int64_t> Axes, bool KeepDims) {
  if (!X || Axes.empty())
    return X;
  Expr Count(1);
  for (int64_t A : Axes)
    Count = Count * dims(X)[static_cast<size_t>(A)];
  Value Sum = reduce(ReduceKind::sum, X, Axes, KeepDims);
  return div(Sum, sizeScalar(Count, element(X)));
}

Value Emitter::argReduce(ReduceKind K, Value X, int64_t Axis, bool SelectLast) {
  SmallVector<NamedAttribute> Attributes = {
      B.getNamedAttr("kind", ReduceKindAttr::get(B.getContext(), K)),
      intAttr("axis", Axis)};
  if (SelectLast)
    Attributes.push_back(flagAttr("select_last"));
  return build(ArgReduceOp::getOperationName(), {X}, Attributes);
}

Value Emitter::cumsum(Value X, int64_t Axis, bool Exclusive, bool Reverse) {
  SmallVector<NamedAttribute> Attributes = {intAttr("axis", Axis)};
  if (Exclusive)
    Attributes.push_back(flagAttr("exclusive"));
  if (Reverse)
    Attributes.push_back(flagAttr("reverse"));
  return build(CumSumOp::getOperationName(), {X}, Attributes);
}

Emitter::Order Emitter::sort(Value X, int64_t Axis, bool Descending,
                             const Expr &Count) {
  // An element's index takes 31 bits of what is sorted.
  constexpr int64_t Longest = int64_t(1) << 31;
  if (!X)
    return {};
  const Expr &Size = dims(X)[static_cast<size_t>(Axis)];
  if (Size.asConstant().value_or(0) > Longest)
    return {fail(Code::ImportUnsupported, "orders a size of " + Size.str() +
                                              "; kpc orders up to " +
                                              std::to_string(Longest)),
            {}};
  SmallVector<Expr> Sizes(dims(X));
  Sizes[static_cast<size_t>(Axis)] = Count;
  if (!checkedType(Sizes, i64()))
    return {fail(Code::ImportBadDims, "a tensor of " + dimsText(Sizes) +
                                          " is larger than any memory"),
            {}};
  DimsAttr First;
  if (Count != Size)
    First = DimsAttr::get(B.getContext(), {Count});
  auto Sort = SortOp::create(B, Loc, X, Axis, Descending, First,
                             /*bits=*/IntegerAttr());
  return {Sort.getY(), Sort.getIndices()};
}

Value Emitter::searchSorted(Value Sorted, Value Values, bool Right) {
  SmallVector<NamedAttribute> Attributes;
  if (Right)
    Attributes.push_back(flagAttr("right"));
  return build(SearchSortedOp::getOperationName(), {Sorted, Values},
               Attributes);
}

/// Whether a window of `Taps` fits into a padded size at least once, where
/// that is known; no number on the way may overflow. Of nothing there may be
/// no windows: ONNX's formula gives a size of 0 there, of less for windows that
/// reach further.
static bool windowFits(const Expr &Size, int64_t Taps, int64_t Stride,
                       int64_t Dilation, int64_t Low, int64_t High) {
  int64_t Reach = 0, Slack = 0;
  if (Taps < 1 || Stride < 1 || Dilation < 1 ||
      __builtin_mul_overflow(Taps - 1, Dilation, &Reach) ||
      __builtin_add_overflow(Low, High, &Slack) ||
      __builtin_sub_overflow(Slack, Reach, &Slack))
    return false;
  Expr Room = Size + (Slack - 1);
  int64_t Least = Size == Expr(0) ? -Stride : 0;
  return !Room.overflowed() && Room.asConstant().value_or(0) >= Least;
}

Value Emitter::window(ReduceKind K, Value X, ArrayRef<int64_t> Window,
                      ArrayRef<int64_t> Stride, ArrayRef<int64_t> Dilation,
                      ArrayRef<int64_t> Low, ArrayRef<int64_t> High) {
  if (!X)
    return {};
  for (size_t I = 0; I < Window.size(); ++I)
    if (!windowFits(dims(X)[I], Window[I], Stride[I], Dilation[I], Low[I],
                    High[I]))
      return fail(Code::ImportShape,
                  "a window of " + std::to_string(Window[I]) +
                      " does not fit the padded size of " + dims(X)[I].str());
  return build(WindowOp::getOperationName(), {X},
               {B.getNamedAttr("kind", ReduceKindAttr::get(B.getContext(), K)),
                listAttr("window", Window), listAttr("stride", Stride),
                listAttr("dilation", Dilation), listAttr("low", Low),
                listAttr("high", High)});
}

/// A sum of products of factors like `Factor` in the factor's type: of integers
/// of 8 bits the op's own has 32.
Value Emitter::inTypeOf(Value Factor, Value Sum) {
  if (!Sum || !isInt8(element(Factor)))
    return Sum;
  return cast(Sum, element(Factor));
}

Value Emitter::conv(Value X, Value W, ArrayRef<int64_t> Stride,
                    ArrayRef<int64_t> Dilation, ArrayRef<int64_t> Low,
                    ArrayRef<int64_t> High, int64_t Groups) {
  if (!X || !W)
    return {};
  for (size_t I = 0; I < Stride.size(); ++I) {
    std::optional<int64_t> Taps = dims(W)[I].asConstant();
    if (!Taps)
      return fail(Code::ImportShape, "the kernel's size " + dims(W)[I].str() +
                                         " must be a number");
    if (!windowFits(dims(X)[I + 1], *Taps, Stride[I], Dilation[I], Low[I],
                    High[I]))
      return fail(Code::ImportShape, "a kernel of " + std::to_string(*Taps) +
                                         " does not fit the padded size of " +
                                         dims(X)[I + 1].str());
  }
  Value Y = build(ConvOp::getOperationName(), {X, W},
                  {listAttr("stride", Stride), listAttr("dilation", Dilation),
                   listAttr("low", Low), listAttr("high", High),
                   intAttr("groups", Groups)});
  return inTypeOf(X, Y);
}

Value Emitter::convTranspose(Value X, Value W, ArrayRef<int64_t> Stride,
                             ArrayRef<int64_t> Dilation, ArrayRef<int64_t> Low,
                             ArrayRef<int64_t> High, int64_t Groups) {
  if (!X || !W)
    return {};
  for (size_t I = 0; I < Stride.size(); ++I) {
    std::optional<int64_t> Taps = dims(W)[I].asConstant();
    if (!Taps)
      return fail(Code::ImportShape, "the kernel's size " + dims(W)[I].str() +
                                         " must be a number");
    std::optional<int64_t> Size = dims(X)[I + 1].asConstant();
    if (!Size)
      continue;
    int64_t Result = (*Size - 1) * Stride[I] + (*Taps - 1) * Dilation[I] + 1 -
                     Low[I] - High[I];
    if (Result < 0)
      return fail(Code::ImportShape,
                  "padding makes a size of " + std::to_string(Result));
  }
  return build(ConvTransposeOp::getOperationName(), {X, W},
               {listAttr("stride", Stride), listAttr("dilation", Dilation),
                listAttr("low", Low), listAttr("high", High),
                intAttr("groups", Groups)});
}

Value Emitter::matmul(Value A, Value C) {
  if (!A || !C)
    return {};
  if (rank(A) == 0 || rank(C) == 0)
    return fail(Code::ImportRank, "a matrix product of a scalar");
  bool RowVector = rank(A) == 1, ColumnVector = rank(C) == 1;
  if (RowVector)
    A = unsqueeze(A, {0});
  if (ColumnVector)
    C = unsqueeze(C, {1});
  auto Rank = static_cast<size_t>(std::max(rank(A), rank(C)));
  auto Level = [&](Value &X) {
    Dims Sizes(Rank - dims(X).size(), Expr(1));
    llvm::append_range(Sizes, dims(X));
    X = reshape(X, Sizes);
  };
  const Expr Columns = dims(A).back(), Rows = dims(C)[dims(C).size() - 2];
  if (Columns != Rows && !unify(Columns, Rows))
    return fail(Code::ImportShape,
                "matrices of " + dimsText(dims(A)) + " and " +
                    dimsText(dims(C)) + " cannot be multiplied: " +
                    Columns.str() + " columns meet " + Rows.str() + " rows");
  Level(A);
  Level(C);
  for (size_t I = 0; A && C && I + 2 < Rank; ++I)
    if (const Expr &P = dims(A)[I], &Q = dims(C)[I];
        P != Q && P != Expr(1) && Q != Expr(1))
      unifyBroadcast(P, Q);
  Value Y = inTypeOf(A, build(MatmulOp::getOperationName(), {A, C}, {}));
  if (!Y || !(RowVector || ColumnVector))
    return Y;
  Dims Sizes(dims(Y));
  if (ColumnVector)
    Sizes.pop_back();
  if (RowVector)
    Sizes.erase(Sizes.end() - (ColumnVector ? 1 : 2));
  return reshape(Y, Sizes);
}

Value Emitter::softmax(Value X, ArrayRef<int64_t> Axes, bool Logarithm) {
  if (!X)
    return {};
  if (Axes.empty())
    return fail(Code::ImportRank, "softmax of a scalar");
  // In f32 at least, as the sum of many 16-bit numbers has no digits left.
  Type Stored = element(X);
  if (Stored.isF16() || Stored.isBF16())
    X = cast(X, f32());
  Value Top = reduce(ReduceKind::max, X, Axes, /*KeepDims=*/true);
  Value Shifted = sub(X, Top);
  Value Powers = exp(Shifted);
  Value Sum = reduce(ReduceKind::sum, Powers, Axes, /*KeepDims=*/true);
  return cast(Logarithm ? sub(Shifted, log(Sum)) : div(Powers, Sum), Stored);
}

} // namespace kpc::frontend
