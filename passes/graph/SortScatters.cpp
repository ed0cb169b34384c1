//===- SortScatters.cpp - Scatters of many updates by sorting ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.scatter_nd add, %x, %i, %u      // [P, R], [U, 1], [U, R]
///     →  %t = which row of x each update meets; P where it meets none
///        %s, %o = graph.sort %t axis 0
///        %b = graph.search_sorted %s, iota     // [P + 1]
///        %y = graph.fold_segments add, %x, %u, %o, %b
///
/// The sort is stable: a row meets its updates in their order, as it does where
/// each row looks through all updates, and the bits are the same.
///
//===----------------------------------------------------------------------===//

#include "dialects/shape/PracticalRange.h"
#include "passes/graph/Passes.h"
#include "passes/graph/TensorMath.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_SORTSCATTERS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// A scatter whose rows are numbered: x is [Rows, Columns], updates are
/// [Count, Columns].
struct RowScatter {
  ScatterKind Kind;
  Value X, Updates;
  /// Which row each update meets, i64 [Count]; `Rows` where it meets none.
  Value Targets;
};

Expr productOf(ArrayRef<Expr> Dims) {
  Expr All(1);
  for (const Expr &E : Dims)
    All = All * E;
  return All;
}

/// The value that kernels are chosen for, if someone has said it; else the
/// greatest that there may be.
int64_t typicalOrMost(const Expr &E, const shape::Facts &Facts) {
  std::set<std::string, std::less<>> Names;
  E.collectSymbols(Names);
  for (const std::string &Name : Names) {
    auto Known = Facts.symbols().find(Name);
    if (Known == Facts.symbols().end() || !Known->second.Optimum)
      return Facts.range(E).Max;
  }
  return Facts.optimum(E).value_or(Facts.range(E).Max);
}

class ScatterSorter {
public:
  ScatterSorter(Operation *Op, const shape::Facts &Facts)
      : Builder(Op), M(Builder, Op->getLoc()), Facts(Facts) {}

  Value sorted(ScatterNdOp Op);
  Value sorted(ScatterElementsOp Op);

private:
  Value fold(const RowScatter &S);
  /// `Row` as a number of a row of `Size`, negative ones from the end, and
  /// whether there is such a row.
  std::pair<Value, Value> wrapped(Value Index, const Expr &Size);
  /// Indices that are the same in all columns: one for each row. Null if they
  /// are not.
  Value indicesOfRows(ScatterElementsOp Op);
  Value ofRows(ScatterElementsOp Op, Value Indices);
  Value ofElements(ScatterElementsOp Op);

  OpBuilder Builder;
  TensorMath M;
  const shape::Facts &Facts;
};

std::pair<Value, Value> ScatterSorter::wrapped(Value Index, const Expr &Size) {
  Value Zero = M.number(0, Index), Limit = M.size(Size, Index);
  Value Row = M.select(M.compare(Predicate::lt, Index, Zero),
                       M.add(Index, Limit), Index);
  Value IsInside = M.bitAnd(M.compare(Predicate::ge, Row, Zero),
                            M.compare(Predicate::lt, Row, Limit));
  return {Row, IsInside};
}

Value ScatterSorter::fold(const RowScatter &S) {
  Location Loc = M.loc();
  Expr Rows = TensorMath::dims(S.X)[0];
  auto IsShort = [&](const Expr &E) {
    return shape::practicalRange(Facts, E).Max < INT32_MAX;
  };
  Type I32 = Builder.getI32Type(), I64 = Builder.getI64Type();
  Type KeyTy = IsShort(Rows) ? I32 : I64;
  // The last target is that of updates which meet no row.
  int64_t Bits = std::min<int64_t>(
      llvm::Log2_64(uint64_t(shape::practicalRange(Facts, Rows).Max)) + 1,
      KeyTy.getIntOrFloatBitWidth() - 1);
  auto Sort = SortOp::create(Builder, Loc, M.cast(S.Targets, KeyTy), 0,
                             /*descending=*/false, /*first=*/DimsAttr(),
                             Builder.getI64IntegerAttr(Bits));
  Value Starts = SearchSortedOp::create(Builder, Loc, Sort.getY(),
                                        M.iota({Rows + Expr(1)}, 0, KeyTy),
                                        /*right=*/false);
  Starts = M.cast(Starts, IsShort(TensorMath::dims(S.Updates)[0]) ? I32 : I64);
  return FoldSegmentsOp::create(Builder, Loc, S.Kind, S.X, S.Updates,
                                Sort.getIndices(), Starts);
}

Value ScatterSorter::sorted(ScatterNdOp Op) {
  ArrayRef<Expr> Dims = TensorMath::dims(Op.getX());
  SymbolicTensorType IndexTy = typeOf(Op.getIndices());
  int64_t Tuple = IndexTy.getRank() - 1, Length = *IndexTy.getStaticDim(Tuple);
  Expr Count = productOf(IndexTy.getDims().drop_back());
  Expr Rows = productOf(Dims.take_front(Length)),
       Columns = productOf(Dims.drop_front(Length));
  Value Tuples = M.cast(M.reshape(Op.getIndices(), {Count, Expr(Length)}),
                        Builder.getI64Type());
  Value Target, Inside;
  for (int64_t K = 0; K < Length; ++K) {
    auto Column = SliceOp::create(
        Builder, Op.getLoc(), typeOf(Tuples).withDims({Count, Expr(1)}), Tuples,
        DimsAttr::get(Op.getContext(), {Expr(0), Expr(K)}),
        ArrayRef<int64_t>{1, 1});
    auto [Index, IsInside] = wrapped(M.reshape(Column, {Count}), Dims[K]);
    Target =
        Target ? M.add(M.mul(Target, M.size(Dims[K], Target)), Index) : Index;
    Inside = Inside ? M.bitAnd(Inside, IsInside) : IsInside;
  }
  RowScatter S;
  S.Kind = Op.getKind();
  S.X = M.reshape(Op.getX(), {Rows, Columns});
  S.Updates = M.reshape(Op.getUpdates(), {Count, Columns});
  S.Targets = M.select(Inside, Target, M.size(Rows, Target));
  return M.reshape(fold(S), Dims);
}

Value ScatterSorter::indicesOfRows(ScatterElementsOp Op) {
  auto Spread = Op.getIndices().getDefiningOp<BroadcastOp>();
  SymbolicTensorType X = typeOf(Op.getX()), Index = typeOf(Op.getIndices());
  if (!Spread)
    return {};
  ArrayRef<Expr> From = TensorMath::dims(Spread.getX());
  int64_t Ahead = X.getRank() - int64_t(From.size()), Axis = Op.getAxis();
  for (int64_t D = 0; D < X.getRank(); ++D) {
    Expr Given = D < Ahead ? Expr(1) : From[D - Ahead];
    if (D == Axis ? Given != Index.getDims()[D]
                  : Given != Expr(1) || X.getDims()[D] != Index.getDims()[D])
      return {};
  }
  return M.reshape(Spread.getX(), {Index.getDims()[Axis]});
}

Value ScatterSorter::ofRows(ScatterElementsOp Op, Value Indices) {
  int64_t Axis = Op.getAxis(), Rank = typeOf(Op.getX()).getRank();
  SmallVector<int64_t> Perm{Axis}, Back(Rank);
  for (int64_t D = 0; D < Rank; ++D)
    if (D != Axis)
      Perm.push_back(D);
  for (auto [I, D] : llvm::enumerate(Perm))
    Back[D] = int64_t(I);
  auto Turned = [&](Value V, ArrayRef<int64_t> By) -> Value {
    return Axis == 0 ? V : TransposeOp::create(Builder, Op.getLoc(), V, By);
  };
  Value X = Turned(Op.getX(), Perm), Updates = Turned(Op.getUpdates(), Perm);
  SmallVector<Expr> Dims(TensorMath::dims(X));
  Expr Columns = productOf(ArrayRef(Dims).drop_front());
  auto [Row, IsInside] =
      wrapped(M.cast(Indices, Builder.getI64Type()), Dims[0]);
  RowScatter S;
  S.Kind = Op.getKind();
  S.X = M.reshape(X, {Dims[0], Columns});
  S.Updates = M.reshape(Updates, {TensorMath::dims(Updates)[0], Columns});
  S.Targets = M.select(IsInside, Row, M.size(Dims[0], Row));
  return Turned(M.reshape(fold(S), Dims), Back);
}

Value ScatterSorter::ofElements(ScatterElementsOp Op) {
  ArrayRef<Expr> Dims = TensorMath::dims(Op.getX()),
                 At = TensorMath::dims(Op.getIndices());
  Type I64 = Builder.getI64Type();
  Expr Rows = productOf(Dims), Count = productOf(At);
  Value Target, Inside;
  for (size_t D = 0; D < Dims.size(); ++D) {
    Value Index;
    if (D == Op.getAxis()) {
      std::tie(Index, Inside) = wrapped(M.cast(Op.getIndices(), I64), Dims[D]);
    } else {
      Index = M.iota(At, int64_t(D), I64);
    }
    Target =
        Target ? M.add(M.mul(Target, M.size(Dims[D], Target)), Index) : Index;
  }
  RowScatter S;
  S.Kind = Op.getKind();
  S.X = M.reshape(Op.getX(), {Rows, Expr(1)});
  S.Updates = M.reshape(Op.getUpdates(), {Count, Expr(1)});
  S.Targets =
      M.reshape(M.select(Inside, Target, M.size(Rows, Target)), {Count});
  return M.reshape(fold(S), Dims);
}

Value ScatterSorter::sorted(ScatterElementsOp Op) {
  if (Value Indices = indicesOfRows(Op))
    return ofRows(Op, Indices);
  return ofElements(Op);
}

struct SortScattersPass : graph::impl::SortScattersBase<SortScattersPass> {
  using SortScattersBase::SortScattersBase;

  /// Whether the scatter costs less where each element looks through all
  /// updates that may meet it.
  bool isSearched(Value X, const Expr &Count, const shape::Facts &Facts) const {
    auto Typical = [&](const Expr &E) { return typicalOrMost(E, Facts); };
    int64_t Updates = Typical(Count), Pairs = 0;
    bool IsFew = Updates <= MostSearched ||
                 (!llvm::MulOverflow(
                      Updates, Typical(typeOf(X).getNumElements()), Pairs) &&
                  Pairs <= MostPairs);
    // An index is less than 2^31, and a product of sizes has an expression.
    constexpr int64_t MostSorted = int64_t(1) << 31;
    auto Least = [&](const Expr &E) { return Facts.range(E).Min; };
    return IsFew || Least(Count) >= MostSorted || Count.overflowed() ||
           (typeOf(X).getNumElements() + Expr(1)).overflowed();
  }

  void runOnOperation() override {
    shape::Facts Facts = symbolFacts(getOperation());
    SmallVector<Operation *> Scatters;
    getOperation().walk([&](Operation *Op) {
      if (isa<ScatterElementsOp, ScatterNdOp>(Op))
        Scatters.push_back(Op);
    });
    for (Operation *Op : Scatters) {
      Value New;
      if (auto Nd = dyn_cast<ScatterNdOp>(Op)) {
        ArrayRef<Expr> At = typeOf(Nd.getIndices()).getDims();
        if (At.back() != Expr(0) &&
            !isSearched(Nd.getX(), productOf(At.drop_back()), Facts))
          New = ScatterSorter(Op, Facts).sorted(Nd);
      } else {
        auto Elements = cast<ScatterElementsOp>(Op);
        const Expr &Line =
            typeOf(Elements.getIndices()).getDims()[Elements.getAxis()];
        if (!isSearched(Elements.getX(), Line, Facts) &&
            !typeOf(Elements.getIndices()).getNumElements().overflowed())
          New = ScatterSorter(Op, Facts).sorted(Elements);
      }
      if (!New)
        continue;
      Op->getResult(0).replaceAllUsesWith(New);
      Op->erase();
    }
  }
};

} // namespace
