//===- SinkTransposes.cpp - Moves transposes until they cancel -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %1 = graph.transpose %0 [0, 3, 1, 2]      %1 = graph.relu %0
///   %2 = graph.relu %1                    →   %2 = graph.transpose %1 [0, 3,
///   1, 2]
///
/// and graph.transpose of graph.transpose folds. Applied until nothing moves.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/HoldsAny.h"
#include "passes/graph/OneBlock.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RefinedDims.h"
#include "passes/graph/RopeRegion.h"
#include "passes/graph/RowSpace.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_SINKTRANSPOSES
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

SmallVector<int64_t> inverse(ArrayRef<int64_t> Perm) {
  SmallVector<int64_t> Result(Perm.size());
  for (auto [I, P] : llvm::enumerate(Perm))
    Result[P] = I;
  return Result;
}

template <typename T>
SmallVector<T> permuted(ArrayRef<T> List, ArrayRef<int64_t> Perm) {
  return llvm::map_to_vector(Perm, [&](int64_t P) { return List[P]; });
}

/// Whether a transpose of the value costs nothing: it is made of constants, or
/// repeats something smaller.
bool isFreeToTranspose(Value V) {
  Operation *Def = V.getDefiningOp();
  return isa_and_present<ConstantOp, WeightOp, BroadcastOp, IotaOp>(Def);
}

/// The transpose that most operands share; null where one operand is neither
/// such a transpose nor free to transpose. Where all are free, one that was
/// transposed stays so: the others would be turned in its place, and then it
/// again.
TransposeOp commonTranspose(OperandRange Operands) {
  TransposeOp Common;
  bool IsOfData = false, HasOther = false;
  for (Value Operand : Operands) {
    auto Transpose = Operand.getDefiningOp<TransposeOp>();
    if (Transpose && !isa_and_present<ConstantOp, WeightOp>(
                         Transpose.getX().getDefiningOp())) {
      if (Common && Common.getPerm() != Transpose.getPerm())
        return {};
      Common = Transpose;
      IsOfData |= !isFreeToTranspose(Transpose.getX());
    } else if (!isFreeToTranspose(Transpose ? Transpose.getX() : Operand)) {
      return {};
    } else {
      HasOther = true;
    }
  }
  return IsOfData || !HasOther ? Common : TransposeOp();
}

/// Whether a transpose of the type moves dimensions of size 1 alone. What is
/// turned so at no cost (a vector, the angles of each position for all heads)
/// is turned before it is repeated, all else after.
bool movesOnesOnly(SymbolicTensorType Ty, ArrayRef<int64_t> Perm) {
  SmallVector<int64_t> Moving;
  for (int64_t P : Perm)
    if (Ty.getDims()[P] != Expr(1))
      Moving.push_back(P);
  return llvm::is_sorted(Moving);
}

/// Elementwise ops: all operands before the transpose.
struct SinkThroughElementwise : RewritePattern {
  SinkThroughElementwise(MLIRContext *Context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, Context) {}

  LogicalResult matchAndRewrite(Operation *Op,
                                PatternRewriter &R) const override {
    if (!Op->hasTrait<ElementwiseTrait>() || Op->getNumResults() != 1)
      return failure();
    TransposeOp Common = commonTranspose(Op->getOperands());
    if (!Common)
      return failure();
    ArrayRef<int64_t> Perm = Common.getPerm();
    SmallVector<int64_t> Back = inverse(Perm);
    SmallVector<Value> Operands;
    for (Value Operand : Op->getOperands()) {
      auto Transpose = Operand.getDefiningOp<TransposeOp>();
      Operands.push_back(
          Transpose && Transpose.getPerm() == Perm
              ? Transpose.getX()
              : TransposeOp::create(R, Op->getLoc(), Operand, Back)
                    .getResult());
    }
    SymbolicTensorType Ty = typeOf(Op->getResult(0));
    Operation *New =
        R.create(Op->getLoc(), Op->getName().getIdentifier(), Operands,
                 Ty.withDims(permuted(Ty.getDims(), Back)), Op->getAttrs());
    R.replaceOpWithNewOp<TransposeOp>(Op, New->getResult(0), Perm);
    return success();
  }
};

/// reduce(T(x)) → T'(reduce(x)), T' on the dimensions that are left.
struct SinkThroughReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp Op,
                                PatternRewriter &R) const override {
    auto Transpose = Op.getX().getDefiningOp<TransposeOp>();
    if (!Transpose)
      return failure();
    SmallVector<int64_t> Axes, Left, Sorted;
    for (auto [I, P] : llvm::enumerate(Transpose.getPerm()))
      (llvm::is_contained(Op.getAxes(), static_cast<int64_t>(I)) ? Axes : Left)
          .push_back(P);
    llvm::sort(Axes);
    Sorted = Left;
    llvm::sort(Sorted);
    SmallVector<int64_t> Perm;
    for (int64_t P : Left)
      Perm.push_back(llvm::find(Sorted, P) - Sorted.begin());
    Value New =
        ReduceOp::create(R, Op.getLoc(), Op.getKind(), Transpose.getX(), Axes);
    R.replaceOpWithNewOp<TransposeOp>(Op, New, Perm);
    return success();
  }
};

/// broadcast(T(x)) → T(broadcast(x)) where no dimension is added.
struct SinkThroughBroadcast : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp Op,
                                PatternRewriter &R) const override {
    auto Transpose = Op.getX().getDefiningOp<TransposeOp>();
    SymbolicTensorType To = typeOf(Op.getY());
    if (!Transpose || typeOf(Op.getX()).getRank() != To.getRank() ||
        movesOnesOnly(typeOf(Transpose.getX()), Transpose.getPerm()))
      return failure();
    SmallVector<int64_t> Back = inverse(Transpose.getPerm());
    Value New = BroadcastOp::create(R, Op.getLoc(),
                                    To.withDims(permuted(To.getDims(), Back)),
                                    Transpose.getX());
    R.replaceOpWithNewOp<TransposeOp>(Op, New, Transpose.getPerm());
    return success();
  }
};

/// T(broadcast(x)) → broadcast(T'(x)) where dimensions are added: x is small.
struct RaiseThroughBroadcast : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp Op,
                                PatternRewriter &R) const override {
    auto Broadcast = Op.getX().getDefiningOp<BroadcastOp>();
    if (!Broadcast)
      return failure();
    SymbolicTensorType From = typeOf(Broadcast.getX()), To = typeOf(Op.getX());
    if (From.getRank() == To.getRank() && !movesOnesOnly(From, Op.getPerm()))
      return failure();
    SmallVector<Expr> Full(To.getRank() - From.getRank(), Expr(1));
    llvm::append_range(Full, From.getDims());
    Value Wide = Broadcast.getX();
    if (Full.size() != From.getDims().size())
      Wide = ReshapeOp::create(R, Op.getLoc(), From.withDims(Full), Wide);
    Value Transposed = TransposeOp::create(R, Op.getLoc(), Wide, Op.getPerm());
    R.replaceOpWithNewOp<BroadcastOp>(Op, Op.getType(), Transposed);
    return success();
  }
};

/// Attention reads its heads through transposes, and writes them.
bool isOfAttention(TransposeOp Op) {
  return Op.getX().getDefiningOp<AttentionOp>() ||
         llvm::any_of(Op->getUsers(), llvm::IsaPred<AttentionOp>);
}

/// A transpose that only moves dimensions of size 1 is a reshape.
struct TransposeOfOnes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp Op,
                                PatternRewriter &R) const override {
    if (!movesOnesOnly(typeOf(Op.getX()), Op.getPerm()) || isOfAttention(Op))
      return failure();
    R.replaceOpWithNewOp<ReshapeOp>(Op, Op.getType(), Op.getX());
    return success();
  }
};

/// reshape(slice(x)) that only moves dimensions of size 1, which x has as well
///   → slice(reshape(x)): what reads the slice reads x in its place.
struct MoveOnesBeforeSlice : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp Op,
                                PatternRewriter &R) const override {
    auto Slice = Op.getX().getDefiningOp<SliceOp>();
    if (!Slice || !movesOnesOnly(Op))
      return failure();
    SymbolicTensorType Whole = typeOf(Slice.getX()), To = typeOf(Op.getY());
    ArrayRef<Expr> Part = typeOf(Slice.getY()).getDims();
    SmallVector<size_t> Kept;
    for (auto [D, Size] : llvm::enumerate(Part))
      if (Size != Expr(1))
        Kept.push_back(D);
      else if (Whole.getDims()[D] != Expr(1))
        return failure();
    SmallVector<Expr> Sizes(To.getDims()), Starts(Sizes.size(), Expr(0));
    SmallVector<int64_t> Steps(Sizes.size(), 1);
    size_t Next = 0;
    for (auto [D, Size] : llvm::enumerate(To.getDims())) {
      if (Size == Expr(1))
        continue;
      size_t From = Kept[Next++];
      Sizes[D] = Whole.getDims()[From];
      Starts[D] = Slice.getStart().getDims()[From];
      Steps[D] = Slice.getStep()[From];
    }
    Value Moved = R.createOrFold<ReshapeOp>(Op.getLoc(), To.withDims(Sizes),
                                            Slice.getX());
    R.replaceOpWithNewOp<SliceOp>(Op, To, Moved,
                                  DimsAttr::get(R.getContext(), Starts),
                                  R.getDenseI64ArrayAttr(Steps));
    return success();
  }
};

/// concat(T(a), T(b)) → T(concat(a, b)).
struct SinkThroughConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp Op,
                                PatternRewriter &R) const override {
    auto First = Op.getXs().front().getDefiningOp<TransposeOp>();
    if (!First)
      return failure();
    SmallVector<Value> Xs;
    for (Value X : Op.getXs()) {
      auto Transpose = X.getDefiningOp<TransposeOp>();
      if (!Transpose || Transpose.getPerm() != First.getPerm())
        return failure();
      Xs.push_back(Transpose.getX());
    }
    // A weight that is transposed is another recipe of the weight; what is made
    // of several has none, and each kernel would read it transposed.
    if (llvm::all_of(Xs, [](Value X) {
          return isa_and_present<ConstantOp, WeightOp>(X.getDefiningOp());
        }))
      return failure();
    Value New =
        ConcatOp::create(R, Op.getLoc(), Xs, First.getPerm()[Op.getAxis()]);
    R.replaceOpWithNewOp<TransposeOp>(Op, New, First.getPerm());
    return success();
  }
};

/// Whether `User` reads another operand transposed by `Perm`, as `V` could be:
/// a residual of an image that has been a sequence of pixels.
bool meetsTranspose(Operation *User, Value V, ArrayRef<int64_t> Perm) {
  if (!User->hasTrait<ElementwiseTrait>())
    return false;
  return llvm::any_of(User->getOperands(), [&](Value Other) {
    auto Transpose = Other.getDefiningOp<TransposeOp>();
    return Other != V && Transpose && Transpose.getPerm() == Perm;
  });
}

/// reshape(T(x)) → T'(reshape(x)) where what the reshape joins lies next to
/// each other in x as well:
///
///   [n, h, w, 320] T [0, 3, 1, 2] to [n, 32, 10, h·w]
///     →  [n, h, w, 320] to [n, h·w, 32, 10] T' [0, 2, 3, 1]
///
/// A reshape that only splits stays in front, unless it is for a reduction or
/// for RoPE, or T' meets its like: heads that are split and repeated are
/// recognised where exporters put them.
struct SinkThroughReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp Op,
                                PatternRewriter &R) const override {
    auto Transpose = Op.getX().getDefiningOp<TransposeOp>();
    if (!Transpose)
      return failure();
    ArrayRef<Expr> From = typeOf(Op.getX()).getDims();
    SymbolicTensorType To = typeOf(Op.getY());
    RefinedDims Parts(From);
    if (llvm::is_contained(From, Expr(0)) || !Parts.add(To.getDims()))
      return failure();
    // Where each part of a dimension is among those of x.
    SmallVector<unsigned> Starts = Parts.startsOf(From);
    SmallVector<unsigned> PlaceInX(Parts.dims().size());
    unsigned Next = 0;
    for (int64_t Dim : inverse(Transpose.getPerm()))
      for (unsigned Part = Starts[Dim]; Part < Starts[Dim + 1]; ++Part)
        PlaceInX[Part] = Next++;
    // Ones go with the dimension in front of them.
    SmallVector<std::pair<unsigned, int64_t>> Order;
    Starts = Parts.startsOf(To.getDims());
    bool Joins = false;
    unsigned Place = 0;
    for (int64_t I = 0; I < To.getRank(); ++I) {
      for (unsigned Part = Starts[I]; Part + 1 < Starts[I + 1]; ++Part) {
        Joins = true;
        if (PlaceInX[Part + 1] != PlaceInX[Part] + 1)
          return failure();
      }
      if (Starts[I] < Starts[I + 1])
        Place = PlaceInX[Starts[I]];
      Order.emplace_back(Place, I);
    }
    llvm::sort(Order);
    SmallVector<int64_t> Perm(To.getRank());
    SmallVector<Expr> Dims;
    for (auto [New, Entry] : llvm::enumerate(Order)) {
      Perm[Entry.second] = int64_t(New);
      Dims.push_back(To.getDims()[Entry.second]);
    }
    if (!Joins && !llvm::any_of(Op->getUsers(), [&](Operation *User) {
          return isa<ReduceOp>(User) || rotatedPairs(User) ||
                 meetsTranspose(User, Op, Perm);
        }))
      return failure();
    Value New =
        ReshapeOp::create(R, Op.getLoc(), To.withDims(Dims), Transpose.getX());
    R.replaceOpWithNewOp<TransposeOp>(Op, New, Perm);
    return success();
  }
};

struct SinkThroughPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp Op, PatternRewriter &R) const override {
    auto Transpose = Op.getX().getDefiningOp<TransposeOp>();
    if (!Transpose)
      return failure();
    SmallVector<int64_t> Back = inverse(Transpose.getPerm());
    Value New =
        PadOp::create(R, Op.getLoc(), Transpose.getX(), Op.getFiller(),
                      permuted(Op.getLow(), Back), permuted(Op.getHigh(), Back),
                      permuted(Op.getInterior(), Back));
    R.replaceOpWithNewOp<TransposeOp>(Op, New, Transpose.getPerm());
    return success();
  }
};

struct SinkThroughSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp Op, PatternRewriter &R) const override {
    auto Transpose = Op.getX().getDefiningOp<TransposeOp>();
    if (!Transpose)
      return failure();
    SmallVector<int64_t> Back = inverse(Transpose.getPerm());
    SymbolicTensorType To = typeOf(Op.getY());
    auto Start =
        DimsAttr::get(Op.getContext(), permuted(Op.getStart().getDims(), Back));
    Value New = SliceOp::create(
        R, Op.getLoc(), To.withDims(permuted(To.getDims(), Back)),
        Transpose.getX(), Start, permuted(Op.getStep(), Back));
    R.replaceOpWithNewOp<TransposeOp>(Op, New, Transpose.getPerm());
    return success();
  }
};

struct SinkTransposesPass
    : graph::impl::SinkTransposesBase<SinkTransposesPass> {
  void runOnOperation() override {
    if (!holdsAny<TransposeOp, ReshapeOp>(getOperation()))
      return;
    // Those of ones alone cancel as others do, where sizes are known to be 1
    // (one token of one sequence): they are reshapes once all have moved.
    for (bool OnesToo : {false, true}) {
      RewritePatternSet Patterns(&getContext());
      Patterns
          .add<SinkThroughElementwise, SinkThroughReduce, SinkThroughBroadcast,
               RaiseThroughBroadcast, SinkThroughConcat, SinkThroughReshape,
               SinkThroughPad, SinkThroughSlice>(&getContext());
      if (OnesToo)
        Patterns.add<TransposeOfOnes, MoveOnesBeforeSlice>(&getContext());
      if (failed(applyPatternsGreedily(getOperation(), std::move(Patterns),
                                       inOneBlock())))
        getOperation().emitWarning(
            "transposes still move after the most rounds");
    }
  }
};

} // namespace
