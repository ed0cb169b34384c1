//===- Selection.cpp - What flags select, and boxes that do not overlap ---===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Selection.h"

#include <limits>

using namespace kpc::graph;

namespace kpc::frontend {

Value flatten(Emitter &N, Value X) {
  return X ? N.reshape(X, {graph::typeOf(X).getNumElements()}) : X;
}

Value countTrue(Emitter &N, Value Flags) {
  return N.reduce(ReduceKind::sum, N.cast(Flags, N.i64()), {0});
}

Value runningCount(Emitter &N, Value Flags, Type As) {
  if (!Flags)
    return {};
  return N.cumsum(N.cast(Flags, As), 0, /*Exclusive=*/false,
                  /*Reverse=*/false);
}

Value ordinals(Emitter &N, const Expr &Count, Value Running) {
  if (!Running)
    return {};
  return N.addScalar(N.iota({Count}, 0, N.element(Running)), 1);
}

Value trueIndices(Emitter &N, Value Flags, const Expr &Count, Type As) {
  Value Running = runningCount(N, Flags, As);
  Value Index = N.searchSorted(Running, ordinals(N, Count, Running));
  if (!Index)
    return {};
  Value IsThere =
      N.compare(Predicate::lt, Index, N.sizeScalar(N.dims(Flags)[0], N.i64()));
  return N.select(IsThere, Index, N.scalarInt(0, N.i64()));
}

SmallVector<Value> rowsOf(Emitter &N, Value Flat, Dims Sizes) {
  SmallVector<Value> Rows;
  Expr Below(1);
  for (size_t I = Sizes.size(); I-- > 0;) {
    Value Row = N.binary<ModOp>(N.div(Flat, N.sizeScalar(Below, N.i64())),
                                N.sizeScalar(Sizes[I], N.i64()));
    Rows.insert(Rows.begin(), Row);
    Below = Below * Sizes[I];
  }
  return Rows;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

namespace {
/// Corners of boxes, each [batch, boxes, 1] or the like.
struct Boxes {
  Value Top, Left, Bottom, Right;
};
} // namespace

static Boxes cornersOf(Emitter &N, Value All, bool AreCenters) {
  Value Part[4];
  for (int64_t I = 0; I < 4; ++I)
    Part[I] =
        N.reshape(N.sliceAxis(All, 2, I, 1), {N.dims(All)[0], N.dims(All)[1]});
  if (AreCenters) { // x, y, width, height
    Value HalfWidth = N.mulScalar(Part[2], 0.5),
          HalfHeight = N.mulScalar(Part[3], 0.5);
    return {N.sub(Part[1], HalfHeight), N.sub(Part[0], HalfWidth),
            N.add(Part[1], HalfHeight), N.add(Part[0], HalfWidth)};
  }
  // Any two opposite corners: y, x, y, x.
  return {N.min(Part[0], Part[2]), N.min(Part[1], Part[3]),
          N.max(Part[0], Part[2]), N.max(Part[1], Part[3])};
}

/// Whether two boxes overlap by more than a part of what they cover together.
static Value overlaps(Emitter &N, const Boxes &A, const Boxes &B,
                      Value Threshold) {
  auto Side = [&](Value EndA, Value EndB, Value BeginA, Value BeginB) {
    return N.max(N.sub(N.min(EndA, EndB), N.max(BeginA, BeginB)),
                 N.like(0, BeginA));
  };
  auto Area = [&](const Boxes &X) {
    return N.mul(N.sub(X.Right, X.Left), N.sub(X.Bottom, X.Top));
  };
  Value Shared = N.mul(Side(A.Right, B.Right, A.Left, B.Left),
                       Side(A.Bottom, B.Bottom, A.Top, B.Top));
  Value AreaA = Area(A), AreaB = Area(B);
  Value Both = N.sub(N.add(AreaA, AreaB), Shared);
  Value Zero = N.like(0, Shared);
  auto IsMore = [&](Value X) { return N.compare(Predicate::gt, X, Zero); };
  Value Counts = N.bitAnd(N.bitAnd(IsMore(Shared), IsMore(Both)),
                          N.bitAnd(IsMore(AreaA), IsMore(AreaB)));
  return N.bitAnd(Counts,
                  N.compare(Predicate::gt, N.div(Shared, Both), Threshold));
}

std::optional<std::pair<Value, Value>>
takeBoxes(Emitter &N, Value All, Value Left, Value Threshold, bool AreCenters,
          const Expr &Rounds, LoopBuilder Loop) {
  Boxes Given = cornersOf(N, All, AreCenters);
  auto Iteration =
      [&](const Expr &,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
    Value Scores = Carried[0];
    Value Gone = N.like(-std::numeric_limits<double>::infinity(), Scores);
    // The first of the highest. As two plain reductions, which GPUs do with a
    // block for each row; the place of a greatest element has one thread.
    Value Highest = N.reduce(ReduceKind::max, Scores, {2}, /*KeepDims=*/true);
    Value Places = N.iota(N.dims(Scores), 2, N.i64());
    Value Best =
        N.reduce(ReduceKind::min,
                 N.select(N.compare(Predicate::eq, Scores, Highest), Places,
                          N.sizeScalar(N.dims(Scores)[2] - 1, N.i64())),
                 {2});
    Value Taken = N.compare(Predicate::gt, Highest, Gone);
    auto Own = [&](Value Corner) {
      return N.unsqueeze(N.gatherElements(Corner, Best, 1), {2});
    };
    auto Each = [&](Value Corner) { return N.unsqueeze(Corner, {1}); };
    Boxes A = {Own(Given.Top), Own(Given.Left), Own(Given.Bottom),
               Own(Given.Right)};
    Boxes B = {Each(Given.Top), Each(Given.Left), Each(Given.Bottom),
               Each(Given.Right)};
    Value IsBest = N.compare(Predicate::eq, Places, N.unsqueeze(Best, {2}));
    Value Next = N.select(N.binary<OrOp>(overlaps(N, A, B, Threshold), IsBest),
                          Gone, Scores);
    if (!Next || !Best || !Taken)
      return std::nullopt;
    return SmallVector<Value>{Next, Best, N.reshape(Taken, N.dims(Best))};
  };
  bool InOrder[] = {false, false};
  std::optional<SmallVector<Value>> Results =
      Loop(Rounds, {Left}, InOrder, Iteration);
  if (!Results)
    return std::nullopt;
  return std::pair((*Results)[1], (*Results)[2]);
}

} // namespace kpc::frontend
