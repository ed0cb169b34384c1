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
/// lines together; the rows are split among the groups of a block, whose
/// partial results are joined in shared memory in the groups' order. Columns
/// may be several loops that are one piece of memory, as channels in groups.
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

constexpr int32_t Columns = 32; ///< threads along a line
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

/// Joins the groups' partial results of each column; group 0 has them.
void reduceGroups(GpuWriter &W, const Reduction &R, int32_t Groups,
                  Value Column, Value Group, SmallVectorImpl<Value> &Partial) {
  SmallVector<Value> Memory;
  for (Value V : Partial) {
    Memory.push_back(W.shared({Groups, Columns}, V.getType()));
    memref::StoreOp::create(W.B, W.Loc, V, Memory.back(),
                            ValueRange{Group, Column});
  }
  W.barrier();
  for (auto [I, M] : llvm::enumerate(Memory)) {
    Value Sum =
        memref::LoadOp::create(W.B, W.Loc, M, ValueRange{W.index(0), Column});
    for (int64_t Other = 1; Other < Groups; ++Other)
      Sum = combine(W, R.Combiners[I], Sum,
                    memref::LoadOp::create(W.B, W.Loc, M,
                                           ValueRange{W.index(Other), Column}));
    Partial[I] = Sum;
  }
}

} // namespace

/// Writes the kernel: groups of threads walk rows, and add up what they have.
static LogicalResult emitColumnReduction(Reduction &R, int32_t Groups) {
  ArrayRef<OpFoldResult> Outer = R.ParallelSizes,
                         Width = Outer.take_back(R.ColumnLoops);
  Outer = Outer.drop_back(R.ColumnLoops);
  GpuWriter W(R.Form);
  Value Column = W.thread(gpu::Dimension::x),
        Group = W.thread(gpu::Dimension::y);
  SmallVector<OpFoldResult> BlockSizes(Outer);
  BlockSizes.push_back(W.ceilDiv(W.size(Width), Columns));
  SmallVector<Value> At = W.split(W.block(), BlockSizes);
  Value Place = W.add(W.mul(At.pop_back_val(), W.index(Columns)), Column);
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
  SmallVector<Value> Partial = W.loop(
      Group, End, W.index(Groups), Start, [&](Value Row, ValueRange Carried) {
        SmallVector<Value> Next;
        SmallVector<Value> Reduced = W.split(Row, R.ReducedSizes, Bound);
        if (failed(W.Emitter.body(W.B, R.Op, loopValues(R, At, Reduced),
                                  Carried, Next))) {
          Result = failure();
          return SmallVector<Value>(Carried);
        }
        return Next;
      });
  reduceGroups(W, R, Groups, Column, Group, Partial);
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
  std::optional<Reduction> Read = Reduction::read(Form);
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
  int64_t Blocks =
      typicalProduct(Outer, UnknownSize) *
      ((typicalProduct(Width, UnknownSize) + Columns - 1) / Columns);
  int32_t Groups = chooseGroups(Blocks, Rows, T);
  std::string Grid =
      (WidthCount->ceilDiv(int64_t(Columns)) * *OuterCount).str();
  return FamilyAnswer::offer("column-reduction " + std::to_string(Groups) +
                                 " groups",
                             [R, Groups, Grid](GpuLaunch &Launch) {
                               Launch.Block = {Columns, Groups, 1};
                               Launch.Grid[0] = Grid;
                               return emitColumnReduction(*R, Groups);
                             });
}

} // namespace kpc::kernels
