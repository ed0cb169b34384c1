//===- GpuRowReduction.cpp - Reductions along contiguous memory -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A warp, a block or, of a short row, a few threads reduce one row. Lanes walk
/// the row together, group by group. Their partial results are joined by
/// shuffles, and in blocks then through shared memory. The code fixes the order
/// of every join.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/GpuReduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

constexpr int32_t BlockThreads = 256;
constexpr int32_t WarpThreads = 32;
constexpr int32_t Warps = BlockThreads / WarpThreads;
/// Shorter rows are not worth a warp each.
constexpr int64_t ShortestRow = 8;
/// Rows that a warp walks in at most this many steps leave the block to others.
constexpr int64_t WarpRow = 1024;
/// Fewer results do not fill a chip with a warp each.
constexpr int64_t FewResults = 128;
/// Threads of a row, at least: what they load together are whole sectors.
constexpr int32_t FewestWalkers = 4;
/// Threads of a multiprocessor; with fewer a chip is not full.
constexpr int64_t MostResident = 2048;
/// The length of a row of which nothing is known.
constexpr int64_t UnknownRow = 1024;

class RowNest {
public:
  RowNest(GpuWriter &W, const Reduction &R, unsigned Lanes)
      : W(W), R(R), Lanes(Lanes) {}

  /// Partial results of one of `Walkers` threads, the one numbered `Walker`.
  LogicalResult walk(ValueRange At, Value Walker, int64_t Walkers,
                     SmallVectorImpl<Value> &Partial) {
    SmallVector<Value> Start;
    for (Operation *Combiner : R.Combiners)
      Start.push_back(neutral(W, Combiner));
    LogicalResult Result = success();
    auto Bound = Reduction::boundOf(R.ReducedSizes);
    Partial = W.loop(
        W.mul(Walker, W.index(Lanes)), W.size(R.ReducedSizes),
        W.index(Walkers * Lanes), Start, [&](Value First, ValueRange Carried) {
          SmallVector<Value> Reduced = W.split(First, R.ReducedSizes, Bound);
          SmallVector<Value> Values(Carried);
          LaneLoads Loads(W, Lanes);
          Loads.begin(Reduced.back());
          for (unsigned L = 0; L < Lanes; ++L) {
            Reduced.back() = Loads.at(L);
            SmallVector<Value> Next;
            if (failed(W.Emitter.body(W.B, R.Op, loopValues(R, At, Reduced),
                                      Values, Next))) {
              Result = failure();
              break;
            }
            Values = Next;
          }
          Loads.end();
          return Values;
        });
    return Result;
  }

private:
  GpuWriter &W;
  const Reduction &R;
  unsigned Lanes;
};

/// Joins the partial results of a block's warps; thread 0 has the results.
void reduceBlock(GpuWriter &W, const Reduction &R, Value Thread,
                 SmallVectorImpl<Value> &Partial) {
  SmallVector<Value> Memory;
  Value Lane = W.B.createOrFold<arith::RemUIOp>(W.Loc, Thread,
                                                W.index(WarpThreads)),
        Warp = W.B.createOrFold<arith::DivUIOp>(W.Loc, Thread,
                                                W.index(WarpThreads));
  for (Value V : Partial)
    Memory.push_back(W.shared({Warps}, V.getType()));
  Value IsFirst = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                        Lane, W.index(0));
  W.when(IsFirst, [&] {
    for (auto [M, V] : llvm::zip_equal(Memory, Partial))
      memref::StoreOp::create(W.B, W.Loc, V, M, Warp);
  });
  W.barrier();
  for (auto [I, M] : llvm::enumerate(Memory)) {
    Value Sum = memref::LoadOp::create(W.B, W.Loc, M, W.index(0));
    for (int64_t Other = 1; Other < Warps; ++Other)
      Sum = combine(W, R.Combiners[I], Sum,
                    memref::LoadOp::create(W.B, W.Loc, M, W.index(Other)));
    Partial[I] = Sum;
  }
}

/// Bools have no place in shared memory, where they would need bytes.
bool hasBools(const Reduction &R) {
  return llvm::any_of(R.Combiners, [](Operation *Combiner) {
    return Combiner->getResult(0).getType().isInteger(1);
  });
}

/// Who reduces a row.
struct RowThreads {
  int32_t Walkers; ///< threads: those of a block, a warp, or a part of one
  unsigned Lanes;  ///< elements that each loads at a time
};

/// Whether elements that follow each other in memory do so in the reduction:
/// after the innermost loop are none but those of one iteration, as a window
/// that had all of an axis leaves them.
bool isAlongMemory(const Reduction &R) {
  const unsigned *Place = llvm::find(R.Reduced, R.Innermost);
  if (Place == R.Reduced.end())
    return false;
  return llvm::all_of(
      ArrayRef(R.ReducedSizes).drop_front(Place + 1 - R.Reduced.begin()),
      [](OpFoldResult Size) { return constantOf(Size) == 1; });
}

/// Several short rows are a warp's where there are enough of them. Vectors are
/// loaded along the last loop alone.
RowThreads chooseThreads(const Reduction &R, int64_t Row,
                         const target::Target &T) {
  unsigned Lanes = R.Innermost == R.Reduced.back()
                       ? R.lanesAlong(R.Innermost, T.Can.WidestAccess)
                       : 1;
  if (Row > WarpRow && !hasBools(R))
    return {BlockThreads, Lanes};
  int64_t Rows = typicalProduct(R.ParallelSizes, 1);
  int32_t Walkers = WarpThreads;
  while (Walkers > FewestWalkers && Row < int64_t(Lanes) * Walkers &&
         Rows * Walkers > T.Cost.SmCount * MostResident)
    Walkers /= 2;
  while (Lanes > 1 && Row < int64_t(Lanes) * Walkers)
    Lanes /= 2;
  return {Walkers, Lanes};
}

} // namespace

/// Writes the kernel: a row is a block's, a warp's or a part of one's.
static LogicalResult emitRowReduction(Reduction &R, const shape::Expr &Rows,
                                      const RowThreads &Of, GpuLaunch &Launch) {
  GpuWriter W(R.Form);
  RowNest Nest(W, R, Of.Lanes);
  Value Thread = W.thread();
  LogicalResult Result = success();
  auto Bound = Reduction::boundOf(R.ParallelSizes);
  auto Finish = [&](ArrayRef<Value> At, SmallVector<Value> Partial, Value Who) {
    Value IsFirst = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                          Who, W.index(0));
    W.when(IsFirst, [&] {
      if (failed(combineInitial(W, R, At, Partial)) ||
          failed(storeOutputs(W, R, At, {Partial})))
        Result = failure();
    });
  };
  Launch.Block = {BlockThreads, 1, 1};
  if (Of.Walkers == BlockThreads) {
    Launch.Grid[0] = Rows.str();
    SmallVector<Value> At = W.split(W.block(), R.ParallelSizes, Bound), Partial;
    if (failed(Nest.walk(At, Thread, BlockThreads, Partial)))
      return failure();
    for (auto [V, Combiner] : llvm::zip_equal(Partial, R.Combiners))
      V = reduceWarp(W, Combiner, V);
    reduceBlock(W, R, Thread, Partial);
    Finish(At, Partial, Thread);
  } else {
    int32_t RowsOfBlock = BlockThreads / Of.Walkers;
    Launch.Grid[0] = Rows.ceilDiv(int64_t(RowsOfBlock)).str();
    Value Walkers = W.index(Of.Walkers);
    Value Walker = W.B.createOrFold<arith::RemUIOp>(W.Loc, Thread, Walkers),
          OfBlock = W.B.createOrFold<arith::DivUIOp>(W.Loc, Thread, Walkers);
    Value First = W.mul(W.block(), W.index(RowsOfBlock)),
          Number = W.add(First, OfBlock), Count = W.size(R.ParallelSizes);
    // Shuffles want whole warps: one is in or out, and of its rows those beyond
    // the last are the last one again, which is not stored.
    Value InWarp = W.mul(
        W.B.createOrFold<arith::DivUIOp>(W.Loc, Thread, W.index(WarpThreads)),
        W.index(WarpThreads / Of.Walkers));
    W.when(W.less(W.add(First, InWarp), Count), [&] {
      Value Row = Number;
      if (Of.Walkers < WarpThreads)
        Row = arith::MinUIOp::create(
            W.B, W.Loc, Number,
            arith::SubIOp::create(W.B, W.Loc, Count, W.index(1)));
      SmallVector<Value> At = W.split(Row, R.ParallelSizes, Bound), Partial;
      if (failed(Nest.walk(At, Walker, Of.Walkers, Partial))) {
        Result = failure();
        return;
      }
      for (auto [V, Combiner] : llvm::zip_equal(Partial, R.Combiners))
        V = reduceWarp(W, Combiner, V, Of.Walkers);
      if (Of.Walkers == WarpThreads)
        return Finish(At, Partial, Walker);
      W.when(W.less(Number, Count), [&] { Finish(At, Partial, Walker); });
    });
  }
  return Result;
}

FamilyAnswer queryGpuRowReduction(FusedKernel &Form, const target::Target &T) {
  std::optional<Reduction> Read = Reduction::read(Form, /*OrOnes=*/true);
  if (!Read || !Read->isCombinable() || !isAlongMemory(*Read))
    return FamilyAnswer::refuse(RefusalKind::Form,
                                "it is no reduction along rows of memory");
  auto R = std::make_shared<Reduction>(std::move(*Read));
  int64_t Row = typicalProduct(R->ReducedSizes, UnknownRow);
  // A row that may have any length is a block's where few blocks have rows: a
  // warp would be slow on a long one, and the block wastes nothing on others.
  if (!Reduction::boundOf(R->ReducedSizes) &&
      typicalProduct(R->ParallelSizes, UnknownRow) < FewResults)
    Row = std::max(Row, WarpRow + 1);
  std::optional<shape::Expr> Rows = productExpr(R->ParallelSizes);
  if (Row < ShortestRow || !Rows)
    return FamilyAnswer::refuse(RefusalKind::Size, "its rows are short");
  RowThreads Of = chooseThreads(*R, Row, T);
  const char *Who = Of.Walkers == BlockThreads ? "block"
                    : Of.Walkers < WarpThreads ? "threads"
                                               : "warp";
  std::string Text = "row-reduction ";
  if (Of.Walkers < WarpThreads)
    Text += std::to_string(Of.Walkers) + " ";
  Text += std::string(Who) + " x" + std::to_string(Of.Lanes);
  return FamilyAnswer::offer(Text, [R, Rows = *Rows, Of](GpuLaunch &Launch) {
    return emitRowReduction(*R, Rows, Of, Launch);
  });
}

} // namespace kpc::kernels
