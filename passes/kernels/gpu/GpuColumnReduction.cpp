//===- GpuColumnReduction.cpp - Reductions across contiguous memory -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Neighbouring threads reduce neighbouring columns, so that they read whole
/// lines together. The rows are divided among the groups of a block, whose
/// partial results are joined in shared memory in the groups' order. Columns
/// may be several loops that are contiguous in memory, such as channels in
/// groups.
///
///   32 columns or more              3 columns: a warp reads 10 rows and more
///
///   group 0   row 0   c0 … c31      groups 0, 1, 2 …   c0 c1 c2 c0 c1 c2 c0 …
///   group 1   row 1   c0 … c31
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/GpuReduction.h"
#include "passes/kernels/gpu/convolution/SlidingWindow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

/// Threads along a line, at most; where a line has fewer columns, as many.
constexpr int32_t MostColumns = 32;
/// Groups that are joined one after another; more are joined in halves.
constexpr int32_t MostInTurn = 32;
/// Fewer rows: one thread does them all (GpuWindow).
constexpr int64_t FewestRows = 32;
constexpr int64_t UnknownSize = 1024;

/// Groups of threads among which the rows are split: more where there are too
/// few columns to fill the chip.
int32_t chooseGroups(int64_t Blocks, int64_t Rows, const target::Target &T) {
  int32_t Groups = 8;
  while (Groups < 32 && Blocks * Groups < T.Cost.SmCount * 32 &&
         Rows >= Groups * 8)
    Groups *= 2;
  return Groups;
}

/// How the threads of a block share rows and columns.
struct ColumnBlock {
  int32_t Columns, Groups;
};

/// Of narrow lines, a warp has several: there are as many threads as for 32
/// columns, and neighbours in memory are read by neighbours all the same.
ColumnBlock chooseBlock(int64_t Outer, int64_t Width, int64_t Rows,
                        const target::Target &T) {
  auto Columns = int32_t(std::clamp<int64_t>(Width, 1, MostColumns));
  int64_t Blocks = Outer * ((Width + Columns - 1) / Columns);
  int32_t Groups = chooseGroups(Blocks, Rows, T);
  return {Columns, Groups * MostColumns / Columns};
}

/// Joins the groups' partial results of each column; group 0 has them.
void joinInTurn(GpuWriter &W, const Reduction &R, const ColumnBlock &Block,
                ArrayRef<Value> Memory, Value Column,
                SmallVectorImpl<Value> &Partial) {
  auto Load = [&](Value M, int64_t Group) -> Value {
    return memref::LoadOp::create(W.B, W.Loc, M,
                                  ValueRange{W.index(Group), Column});
  };
  for (auto [I, M] : llvm::enumerate(Memory)) {
    Value Sum = Load(M, 0);
    for (int64_t Other = 1; Other < Block.Groups; ++Other)
      Sum = combine(W, R.Combiners[I], Sum, Load(M, Other));
    Partial[I] = Sum;
  }
}

/// The same of many groups: the first half takes what the second has.
void joinInHalves(GpuWriter &W, const Reduction &R, const ColumnBlock &Block,
                  ArrayRef<Value> Memory, Value Column, Value Group,
                  SmallVectorImpl<Value> &Partial) {
  for (int32_t Left = Block.Groups; Left > 1;) {
    int32_t Half = (Left + 1) / 2;
    W.when(W.less(Group, W.index(Left - Half)), [&] {
      Value Other = W.add(Group, W.index(Half));
      for (auto [I, M] : llvm::enumerate(Memory)) {
        Partial[I] = combine(
            W, R.Combiners[I],
            memref::LoadOp::create(W.B, W.Loc, M, ValueRange{Group, Column}),
            memref::LoadOp::create(W.B, W.Loc, M, ValueRange{Other, Column}));
        memref::StoreOp::create(W.B, W.Loc, Partial[I], M,
                                ValueRange{Group, Column});
      }
    });
    W.barrier();
    Left = Half;
  }
  for (auto [I, M] : llvm::enumerate(Memory))
    Partial[I] =
        memref::LoadOp::create(W.B, W.Loc, M, ValueRange{W.index(0), Column});
}

void joinGroups(GpuWriter &W, const Reduction &R, const ColumnBlock &Block,
                Value Column, Value Group, SmallVectorImpl<Value> &Partial) {
  SmallVector<Value> Memory;
  for (Value V : Partial) {
    Memory.push_back(W.shared({Block.Groups, Block.Columns}, V.getType()));
    memref::StoreOp::create(W.B, W.Loc, V, Memory.back(),
                            ValueRange{Group, Column});
  }
  W.barrier();
  if (Block.Groups <= MostInTurn)
    joinInTurn(W, R, Block, Memory, Column, Partial);
  else
    joinInHalves(W, R, Block, Memory, Column, Group, Partial);
}

} // namespace

/// Writes the kernel: groups of threads walk rows, and add up what they have.
static LogicalResult emitColumnReduction(Reduction &R,
                                         const ColumnBlock &Block) {
  ArrayRef<OpFoldResult> Outer = R.ParallelSizes,
                         Width = Outer.take_back(R.ColumnLoops);
  Outer = Outer.drop_back(R.ColumnLoops);
  GpuWriter W(R.Form);
  Value Column = W.thread(gpu::Dimension::x),
        Group = W.thread(gpu::Dimension::y);
  SmallVector<OpFoldResult> BlockSizes(Outer);
  BlockSizes.push_back(W.ceilDiv(W.size(Width), Block.Columns));
  SmallVector<Value> At = W.split(W.block(), BlockSizes);
  Value Place = W.add(W.mul(At.pop_back_val(), W.index(Block.Columns)), Column);
  Value Inside = W.less(Place, W.size(Width));
  llvm::append_range(At, W.split(Place, Width));
  // Threads past the last column have no rows, but meet at the barrier.
  Value End = arith::SelectOp::create(W.B, W.Loc, Inside,
                                      W.size(R.ReducedSizes), W.index(0));
  SmallVector<Value> Start;
  for (Operation *Combiner : R.Combiners)
    Start.push_back(neutral(W, Combiner));
  LogicalResult Result = success();
  auto Bound = Reduction::boundOf(R.ReducedSizes);
  SmallVector<Value> Partial =
      W.loop(Group, End, W.index(Block.Groups), Start,
             [&](Value Row, ValueRange Carried) {
               SmallVector<Value> Next;
               SmallVector<Value> Reduced = W.split(Row, R.ReducedSizes, Bound);
               if (failed(W.Emitter.body(W.B, R.Op, loopValues(R, At, Reduced),
                                         Carried, Next))) {
                 Result = failure();
                 return SmallVector<Value>(Carried);
               }
               return Next;
             });
  joinGroups(W, R, Block, Column, Group, Partial);
  Value IsFirst = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                        Group, W.index(0));
  W.when(W.both(IsFirst, Inside), [&] {
    if (failed(combineInitial(W, R, At, Partial)) ||
        failed(storeOutputs(W, R, At, {Partial})))
      Result = failure();
  });
  return Result;
}

FamilyAnswer queryGpuColumnReduction(FusedKernel &Form,
                                     const target::Target &T) {
  std::optional<Reduction> Read = Reduction::read(Form, /*OrOnes=*/true);
  if (!Read || !Read->isCombinable() || Read->Parallel.empty() ||
      Read->Innermost != Read->Parallel.back())
    return FamilyAnswer::refuse(RefusalKind::Form,
                                "it is no reduction along columns of memory");
  for (Operation *Combiner : Read->Combiners)
    if (Combiner->getResult(0).getType().isInteger(1))
      return FamilyAnswer::refuse(RefusalKind::ElementType,
                                  "bools have no place in shared memory");
  // Of windows that overlap, each thread would read every pixel again for each
  // of its taps: 7 × 7 taps of 32 images took 13 times as long as cuDNN's.
  std::optional<SlidingWindow> Win = SlidingWindow::read(Form);
  if (Win && Win->overlaps())
    return FamilyAnswer::refuse(RefusalKind::Form,
                                "it is a window that slides over an image");
  auto R = std::make_shared<Reduction>(std::move(*Read));
  int64_t Rows = typicalProduct(R->ReducedSizes, UnknownSize);
  ArrayRef<OpFoldResult> Outer = R->ParallelSizes,
                         Width = Outer.take_back(R->ColumnLoops);
  Outer = Outer.drop_back(R->ColumnLoops);
  std::optional<shape::Expr> OuterCount = productExpr(Outer),
                             WidthCount = productExpr(Width);
  if (Rows < FewestRows || !OuterCount || !WidthCount)
    return FamilyAnswer::refuse(RefusalKind::Size, "its columns are short");
  ColumnBlock Block = chooseBlock(typicalProduct(Outer, UnknownSize),
                                  typicalProduct(Width, UnknownSize), Rows, T);
  std::string Grid =
      (WidthCount->ceilDiv(int64_t(Block.Columns)) * *OuterCount).str();
  std::string Text =
      "column-reduction " + std::to_string(Block.Groups) + " groups";
  if (Block.Columns < MostColumns)
    Text += " of " + std::to_string(Block.Columns);
  return FamilyAnswer::offer(Text, [R, Block, Grid](GpuLaunch &Launch) {
    Launch.Block = {Block.Columns, Block.Groups, 1};
    Launch.Grid[0] = Grid;
    return emitColumnReduction(*R, Block);
  });
}

} // namespace kpc::kernels
