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
/// lines together. A thread has as many columns as one access loads. The rows
/// are divided among the groups of a block, whose partial results are joined in
/// shared memory in the groups' order. Columns may be several loops that are
/// contiguous in memory, such as channels in groups.
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
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

/// Threads along a line, at most; where a line has fewer columns, as many.
constexpr int32_t MostThreads = 32;
/// Threads along a line, at least: their accesses of 8 bytes are two sectors of
/// memory, and of 16 bytes a whole line.
constexpr int32_t FewestThreads = 8;
/// Groups that are joined one after another; more are joined in halves.
constexpr int32_t MostInTurn = 32;
/// Rows of a group, at least, where groups are joined in halves.
constexpr int64_t LeastRows = 8;
/// Fewer rows: one thread does them all (GpuWindow).
constexpr int64_t FewestRows = 32;
constexpr int64_t UnknownSize = 1024;

/// Groups of threads among which the rows are split: more where there are too
/// few columns to fill the chip.
int32_t chooseGroups(int64_t Blocks, int64_t Rows, const target::Target &T) {
  int32_t Groups = 8;
  while (Groups < 32 && Blocks * Groups < int64_t(T.Cost.SmCount) * 32 &&
         Rows >= int64_t(Groups) * LeastRows)
    Groups *= 2;
  return Groups;
}

/// How the threads of a block share rows and columns.
struct ColumnBlock {
  int32_t Threads; ///< along a line
  int32_t Groups;
  unsigned Lanes; ///< columns of a thread
  int64_t Unroll; ///< rows of a thread whose loads are in flight together

  int32_t columns() const { return Threads * int32_t(Lanes); }
};

/// Of narrow lines, a warp has several: there are as many threads as for 32
/// columns, and neighbours in memory are read by neighbours all the same.
ColumnBlock chooseBlock(const Reduction &R, int64_t Outer, int64_t Width,
                        int64_t Rows, const target::Target &T) {
  ColumnBlock Block;
  Block.Lanes = R.lanesAlong(R.Innermost, T.Can.WidestAccess);
  int32_t Most = MostThreads;
  auto Blocks = [&] {
    Block.Threads = int32_t(std::clamp<int64_t>(Width / Block.Lanes, 1, Most));
    return Outer * ((Width + Block.columns() - 1) / Block.columns());
  };
  // A chip that is full is worth more than whole lines, and these are worth
  // more than wide accesses: of fewer columns a block's warps have more rows.
  while (Most > FewestThreads && Block.Lanes > 1 && Blocks() < T.Cost.SmCount)
    Most /= 2;
  // Of 16 columns a row is one sector of memory in 16 bits, and two in f32.
  while (Block.Lanes > 2 && Blocks() < T.Cost.SmCount)
    Block.Lanes /= 2;
  Block.Groups = chooseGroups(Blocks(), Rows, T) * MostThreads / Block.Threads;
  // Each halving takes a barrier, which few rows are not worth.
  while (Most < MostThreads && Block.Groups > MostInTurn &&
         Block.Groups * LeastRows > Rows)
    Block.Groups /= 2;
  // What is computed of each element keeps a thread busy between two loads, and
  // is written once for each of them.
  constexpr int64_t MostOperations = 256;
  int64_t Operations = 0;
  R.Form.Func.walk([&](Operation *Op) {
    Operations += isa<arith::ArithDialect, math::MathDialect>(Op->getDialect());
  });
  Operations *= Block.Lanes;
  Block.Unroll = 4;
  while (Block.Unroll > 1 && (Block.Unroll * Operations > MostOperations ||
                              Block.Unroll * Block.Groups > Rows))
    Block.Unroll /= 2;
  return Block;
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
                  ArrayRef<Value> Memory, ArrayRef<Value> Columns,
                  Value Group) {
  for (int32_t Left = Block.Groups; Left > 1;) {
    int32_t Half = (Left + 1) / 2;
    W.when(W.less(Group, W.index(Left - Half)), [&] {
      Value Other = W.add(Group, W.index(Half));
      for (auto [Combiner, M] : llvm::zip_equal(R.Combiners, Memory))
        for (Value Column : Columns) {
          auto Load = [&](Value From) -> Value {
            return memref::LoadOp::create(W.B, W.Loc, M,
                                          ValueRange{From, Column});
          };
          memref::StoreOp::create(
              W.B, W.Loc, combine(W, Combiner, Load(Group), Load(Other)), M,
              ValueRange{Group, Column});
        }
    });
    W.barrier();
    Left = Half;
  }
}

/// Leaves the results of each column of the block to one thread. Gives that
/// column; threads whose number is beyond the columns have none.
Value joinGroups(GpuWriter &W, const Reduction &R, const ColumnBlock &Block,
                 Value Thread, Value Group,
                 ArrayRef<SmallVector<Value>> OfLanes,
                 SmallVectorImpl<Value> &Results) {
  assert(Block.Groups >= int32_t(Block.Lanes) && "a thread for each column");
  SmallVector<Value> Memory, Columns;
  for (unsigned L = 0; L < Block.Lanes; ++L)
    Columns.push_back(W.add(W.mul(Thread, W.index(Block.Lanes)), W.index(L)));
  for (auto [I, V] : llvm::enumerate(OfLanes.front())) {
    Memory.push_back(W.shared({Block.Groups, Block.columns()}, V.getType()));
    for (auto [Column, Partial] : llvm::zip_equal(Columns, OfLanes))
      memref::StoreOp::create(W.B, W.Loc, Partial[I], Memory.back(),
                              ValueRange{Group, Column});
  }
  W.barrier();
  bool InTurn = Block.Groups <= MostInTurn;
  if (!InTurn)
    joinInHalves(W, R, Block, Memory, Columns, Group);
  Value Own = W.add(W.mul(Group, W.index(Block.Threads)), Thread);
  // Threads without a column load another's.
  Value Column =
      arith::MinUIOp::create(W.B, W.Loc, Own, W.index(Block.columns() - 1));
  Results.assign(Memory.size(), Value());
  if (InTurn)
    joinInTurn(W, R, Block, Memory, Column, Results);
  else
    for (auto [Result, M] : llvm::zip_equal(Results, Memory))
      Result =
          memref::LoadOp::create(W.B, W.Loc, M, ValueRange{W.index(0), Column});
  return Own;
}

/// A thread's rows: every one of its group.
class RowWalk {
public:
  RowWalk(GpuWriter &W, Reduction &R, const ColumnBlock &Block,
          ArrayRef<Value> At)
      : W(W), R(R), Block(Block), At(At) {}

  /// Partial results of each lane, of the rows below `End` where `Inside`.
  LogicalResult walk(Value Group, Value Inside,
                     SmallVectorImpl<SmallVector<Value>> &OfLanes);

private:
  SmallVector<Value> addRow(Value Row, ValueRange Carried);
  SmallVector<Value> addRows(Value From, Value End, int64_t Count,
                             ValueRange Carried);

  GpuWriter &W;
  Reduction &R;
  const ColumnBlock &Block;
  SmallVector<Value> At;
  LogicalResult Result = success();
};

SmallVector<Value> RowWalk::addRow(Value Row, ValueRange Carried) {
  SmallVector<Value> Reduced =
      W.split(Row, R.ReducedSizes, Reduction::boundOf(R.ReducedSizes));
  SmallVector<Value> Sums, Place(At);
  LaneLoads Loads(W, Block.Lanes);
  Loads.begin(At.back());
  for (unsigned L = 0; L < Block.Lanes; ++L) {
    Place.back() = Loads.at(L);
    SmallVector<Value> Next;
    if (failed(W.Emitter.body(
            W.B, R.Op, loopValues(R, Place, Reduced),
            Carried.slice(L * R.Combiners.size(), R.Combiners.size()), Next))) {
      Result = failure();
      break;
    }
    Sums.append(Next);
  }
  Loads.end();
  return failed(Result) ? SmallVector<Value>(Carried) : Sums;
}

/// `Count` rows at a time, which are `Groups` apart.
SmallVector<Value> RowWalk::addRows(Value From, Value End, int64_t Count,
                                    ValueRange Carried) {
  return W.loop(From, End, W.index(Block.Groups * Count), Carried,
                [&](Value First, ValueRange Sums) {
                  SmallVector<Value> Next(Sums);
                  for (int64_t I = 0; I < Count; ++I)
                    Next =
                        addRow(W.add(First, W.index(I * Block.Groups)), Next);
                  return Next;
                });
}

LogicalResult RowWalk::walk(Value Group, Value Inside,
                            SmallVectorImpl<SmallVector<Value>> &OfLanes) {
  SmallVector<Value> Sums;
  for (unsigned L = 0; L < Block.Lanes; ++L)
    for (Operation *Combiner : R.Combiners)
      Sums.push_back(neutral(W, Combiner));
  // Threads past the last column have no rows, but meet at the barrier.
  auto OrNone = [&](Value Rows) {
    return arith::SelectOp::create(W.B, W.Loc, Inside, Rows, W.index(0));
  };
  Value Rows = W.size(R.ReducedSizes);
  int64_t Step = Block.Groups * Block.Unroll;
  std::optional<int64_t> Count = getConstantIntValue(Rows);
  if (Block.Unroll == 1) {
    Sums = addRows(Group, OrNone(Rows), 1, Sums);
  } else {
    Value Whole =
        Count ? W.index(*Count / Step * Step)
              : W.mul(arith::DivUIOp::create(W.B, W.Loc, Rows, W.index(Step)),
                      W.index(Step));
    Sums = addRows(Group, OrNone(Whole), Block.Unroll, Sums);
    if (!Count || *Count % Step)
      Sums = addRows(W.add(Whole, Group), OrNone(Rows), 1, Sums);
  }
  for (unsigned L = 0; L < Block.Lanes; ++L)
    OfLanes.emplace_back(
        ArrayRef(Sums).slice(L * R.Combiners.size(), R.Combiners.size()));
  return Result;
}

} // namespace

/// Writes the kernel: groups of threads walk rows, and add up what they have.
static LogicalResult emitColumnReduction(Reduction &R,
                                         const ColumnBlock &Block) {
  ArrayRef<OpFoldResult> Outer = R.ParallelSizes,
                         Width = Outer.take_back(R.ColumnLoops);
  Outer = Outer.drop_back(R.ColumnLoops);
  GpuWriter W(R.Form);
  Value Thread = W.thread(gpu::Dimension::x),
        Group = W.thread(gpu::Dimension::y);
  SmallVector<OpFoldResult> BlockSizes(Outer);
  BlockSizes.push_back(W.ceilDiv(W.size(Width), Block.columns()));
  SmallVector<Value> OfBlock = W.split(W.block(), BlockSizes);
  Value First = W.mul(OfBlock.pop_back_val(), W.index(Block.columns()));
  auto PlaceOf = [&](Value Column) {
    SmallVector<Value> At(OfBlock);
    llvm::append_range(At, W.split(Column, Width));
    return At;
  };
  Value Column = W.add(First, W.mul(Thread, W.index(Block.Lanes)));
  SmallVector<SmallVector<Value>> OfLanes;
  if (failed(RowWalk(W, R, Block, PlaceOf(Column))
                 .walk(Group, W.less(Column, W.size(Width)), OfLanes)))
    return failure();
  SmallVector<Value> Results;
  Value Own = joinGroups(W, R, Block, Thread, Group, OfLanes, Results);
  Column = W.add(First, Own);
  LogicalResult Result = success();
  W.when(W.both(W.less(Own, W.index(Block.columns())),
                W.less(Column, W.size(Width))),
         [&] {
           SmallVector<Value> At = PlaceOf(Column);
           if (failed(combineInitial(W, R, At, Results)) ||
               failed(storeOutputs(W, R, At, {Results})))
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
  ColumnBlock Block = chooseBlock(*R, typicalProduct(Outer, UnknownSize),
                                  typicalProduct(Width, UnknownSize), Rows, T);
  std::string Grid =
      (WidthCount->ceilDiv(int64_t(Block.columns())) * *OuterCount).str();
  std::string Text =
      "column-reduction " + std::to_string(Block.Groups) + " groups";
  if (Block.Threads < MostThreads)
    Text += " of " + std::to_string(Block.Threads);
  if (Block.Lanes > 1)
    Text += " x" + std::to_string(Block.Lanes);
  return FamilyAnswer::offer(Text, [R, Block, Grid](GpuLaunch &Launch) {
    Launch.Block = {Block.Threads, Block.Groups, 1};
    Launch.Grid[0] = Grid;
    return emitColumnReduction(*R, Block);
  });
}

} // namespace kpc::kernels
