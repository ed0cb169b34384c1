//===- AttentionMmaSync.cpp - Fused attention on mma.sync -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// softmax(q·kᵀ)·v of many queries, heads of 16 bits or of f32, on every chip
/// from sm_80 on. A block has a tile of queries of one head; all of its threads
/// copy block after block of keys and values into stages of shared memory
/// (cp.async), and each warp multiplies its own queries with them (ldmatrix,
/// mma.sync).
///
///   global q ──cp.async──▶ queries ──┐ mma.sync
///   global k ──cp.async──▶ stages  ──┴─▶ scores ─▶ powers ──┐ mma.sync
///   global v ──cp.async──▶ stages  ─────────────────────────┴─▶ sums ──▶ y
///
/// Scores never leave the registers: their fragments, rounded to 16 bits where
/// heads have these, are the left operand of the second product. Factors of f32
/// are made tf32, or split into two of them, where they are multiplied. Blocks
/// of keys are walked from the last to the first, as those that need a mask are
/// at the end.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/attention/AttentionSoftmax.h"
#include "passes/schedule/AttentionSyncSchedule.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;

namespace kpc::kernels {

using schedule::AttentionSyncSchedule;
using shape::Expr;

namespace {

/// Bytes of a copy.
constexpr int64_t PieceBytes = 16;
/// From this compute capability on there is stmatrix.
constexpr int32_t StoresMatrices = 90;

class AttentionMmaSync : AttentionSoftmax {
public:
  AttentionMmaSync(FusedKernel &Form, AttentionKernel &A,
                   const AttentionSyncSchedule &S, const target::Target &T)
      : AttentionSoftmax(Form, A), S(S), T(T) {}

  LogicalResult emit(GpuLaunch &Launch);

private:
  /// Rows of one head in memory.
  struct HeadRows {
    Value Memory, First, Stride; ///< a flat memref; index, in elements
    Value Count;                 ///< index, of rows
    int64_t Columns = 0;
  };
  /// What a warpgroup has of its queries, and the stages of this block of keys
  /// and of the one before.
  struct State {
    Value Sums, Most, Total;
    Value Stage, Before; ///< i32
    Values list() const { return {Sums, Most, Total, Stage, Before}; }
    static State of(ValueRange V) { return {V[0], V[1], V[2], V[3], V[4]}; }
  };

  void place();
  void allocate();
  HeadRows rowsOf(const HeadsInMemory &H, Value Head, Value Count,
                  int64_t Columns);
  Value part(Value Tile, Value First, int64_t Rows);
  Value stageOf(Value Ring, Value Stage);
  Value nextStage(Value Stage);

  void copyRows(const HeadRows &From, Value FirstRow, Value Tile);
  void copyBlock(const HeadRows &From, Value Ring, Value Stage, Value Number);
  void copyKeysAndValues(Value Stage, Value Number);
  void waitForCopies();
  Value myQueries(Value Nothing);
  void begin();
  State grown(const State &Before, Value Most);
  State step(Value Number, const State &Before);
  void store(const State &Last);

  Value multiply(Value Left, Value Right, Value Sums, bool Transposed) {
    tile::Tf32 As = !A.isF32()       ? tile::Tf32::Rounded
                    : A.Op.getTf32() ? tile::Tf32::Cut
                                     : tile::Tf32::Split;
    return tile::MmaSyncOp::create(W.B, W.Loc, Sums.getType(), Left, Right,
                                   Sums, false, Transposed, As);
  }

  const AttentionSyncSchedule &S;
  const target::Target &T;
  int64_t Depth = 0, Width = 0; ///< padded
  Value Batch, Head, FirstRow;  ///< index, of this block's tile
  Value Group;                  ///< index, the warpgroup's number
  QueriesAt Mine;               ///< the warpgroup's
  KeyBlocks Blocks;
  HeadRows Queries, Keys, HeadValues, Results;
  Value QueryTile, StagingTile, KeyRing, ValueRing;
  Value HeldQueries; ///< in registers; null: they are loaded in each step
};

//===----------------------------------------------------------------------===//
// Where things are
//===----------------------------------------------------------------------===//

void AttentionMmaSync::place() {
  declareSizes();
  BlockQueries Tile = blockQueries(S.TileQueries);
  Batch = Tile.Batch;
  Head = Tile.Head;
  FirstRow = Tile.FirstRow;
  Group = S.groups() == 1 ? W.index(0)
                          : compute<arith::DivUIOp>(
                                W.thread(), W.index(tile::WarpgroupThreads));
  Mine = {Batch, Head,
          W.add(FirstRow, W.mul(Group, W.index(S.WarpgroupQueries)))};
  Blocks = keyBlocks({Batch, Head, FirstRow}, S.TileQueries);
  Queries = rowsOf(A.Q, Head, QueryCount, A.Depth);
  Keys = rowsOf(A.K, Tile.KeyHead, KeyCount, A.Depth);
  HeadValues = rowsOf(A.V, Tile.KeyHead, KeyCount, A.Width);
  Results = rowsOf(A.Y, Head, QueryCount, A.Width);
}

AttentionMmaSync::HeadRows AttentionMmaSync::rowsOf(const HeadsInMemory &H,
                                                    Value Head, Value Count,
                                                    int64_t Columns) {
  HeadRows Rows;
  Rows.Memory = flatView(W, Form.Func.getArgument(H.Argument), Element);
  Rows.First =
      W.add(W.mul(Batch, W.size(H.StrideSizes[0])),
            W.mul(W.add(Head, W.index(H.FirstHead)), W.size(H.StrideSizes[1])));
  Rows.Stride = W.size(H.StrideSizes[2]);
  Rows.Count = Count;
  Rows.Columns = Columns;
  return Rows;
}

/// Queries and results are in the same place: results come when all products
/// are made.
void AttentionMmaSync::allocate() {
  tile::SharedType OfQueries = shared(S.TileQueries, Depth),
                   OfResults = shared(S.TileQueries, Width);
  auto Alloc = [&](tile::SharedType Ty) -> Value {
    return tile::AllocOp::create(W.B, W.Loc, Ty);
  };
  auto Reuse = [&](tile::SharedType Ty, Value Tile) -> Value {
    if (Ty == Tile.getType())
      return Tile;
    return tile::ReuseOp::create(W.B, W.Loc, Ty, Tile);
  };
  // The larger one, with the stricter alignment of both.
  int64_t Swizzle = std::max(OfQueries.getSwizzle(), OfResults.getSwizzle());
  int64_t Columns = std::max(Depth, Width);
  while (Columns * elementBytes() % Swizzle)
    Columns += 16;
  Value Both = Alloc(shared(S.TileQueries, Columns));
  QueryTile = Reuse(OfQueries, Both);
  StagingTile = Reuse(OfResults, Both);
  KeyRing = Alloc(shared(S.Stages * S.TileKeys, Depth));
  ValueRing = Alloc(shared(S.Stages * S.TileKeys, Width));
  tile::BarrierInitOp::create(W.B, W.Loc);
}

/// Some rows of a tile.
Value AttentionMmaSync::part(Value Tile, Value First, int64_t Rows) {
  auto Whole = cast<tile::SharedType>(Tile.getType());
  auto Part = tile::SharedType::get(
      W.B.getContext(), {Rows, Whole.getColumns()}, Whole.getElement(),
      Whole.getSwizzle(), Whole.getPitch());
  return tile::SubviewRowsOp::create(W.B, W.Loc, Part, Tile, First);
}

Value AttentionMmaSync::stageOf(Value Ring, Value Stage) {
  Value Row = toIndex(compute<arith::MulIOp>(Stage, i32(S.TileKeys)));
  return part(Ring, Row, S.TileKeys);
}

Value AttentionMmaSync::nextStage(Value Stage) {
  if (S.Stages == 1)
    return Stage;
  Value Next = compute<arith::AddIOp>(Stage, i32(1));
  return arith::SelectOp::create(
      W.B, W.Loc, compare(arith::CmpIPredicate::eq, Next, i32(S.Stages)),
      i32(0), Next);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Begins the copies of the rows from `FirstRow` on; behind the last row and
/// the last column there are zeros. Lines of shared memory are copied one after
/// another: each has a power of two of pieces, so that the addresses of a
/// thread's pieces are one and a number.
void AttentionMmaSync::copyRows(const HeadRows &From, Value FirstRow,
                                Value Tile) {
  auto Whole = cast<tile::SharedType>(Tile.getType());
  int64_t Line = Whole.getLineElements();
  auto OneLine =
      tile::SharedType::get(W.B.getContext(), {Whole.getRows(), Line}, Element,
                            Whole.getSwizzle(), Whole.getPitch());
  for (int64_t First = 0; First < Whole.getColumns(); First += Line) {
    Value To = Tile;
    if (Line != Whole.getColumns())
      To = tile::SubviewColumnsOp::create(W.B, W.Loc, OneLine, Tile,
                                          W.index(First));
    auto Copy =
        tile::CpAsyncOp::create(W.B, W.Loc, From.Memory, To,
                                uint32_t(PieceBytes), /*row_stride=*/Value(),
                                /*cached=*/false);
    OpBuilder::InsertionGuard Guard(W.B);
    Type Index = W.B.getIndexType();
    Block *Body =
        W.B.createBlock(&Copy.getBody(), {}, {Index, Index}, {W.Loc, W.Loc});
    Value Row = W.add(FirstRow, Body->getArgument(0)),
          Column = W.add(Body->getArgument(1), W.index(First));
    Value At = W.add(W.add(From.First, W.mul(Row, From.Stride)), Column);
    Value There = W.index(PieceBytes / elementBytes());
    if (First + Line > From.Columns)
      There = compute<arith::SubIOp>(W.index(From.Columns), Column);
    There = arith::SelectOp::create(W.B, W.Loc, W.less(Row, From.Count), There,
                                    W.index(0));
    tile::YieldAddressOp::create(W.B, W.Loc, At, There);
  }
}

/// Begins the copies of the block that is the `Number`-th from the last, if
/// there is one.
void AttentionMmaSync::copyBlock(const HeadRows &From, Value Ring, Value Stage,
                                 Value Number) {
  W.when(compare(arith::CmpIPredicate::slt, Number, Blocks.Steps), [&] {
    Value Block = blockAt(Blocks, Number);
    Value Row = toIndex(compute<arith::MulIOp>(Block, i32(S.TileKeys)));
    copyRows(From, Row, stageOf(Ring, Stage));
  });
}

/// Queries, and keys and values of the first blocks. With one stage a step
/// copies its own values.
void AttentionMmaSync::begin() {
  copyRows(Queries, FirstRow, QueryTile);
  if (S.Stages == 1) {
    copyBlock(Keys, KeyRing, i32(0), i32(0));
    tile::CpAsyncCommitOp::create(W.B, W.Loc);
  }
  for (int64_t I = 0; I < S.Stages - 1; ++I)
    copyKeysAndValues(i32(I), i32(I));
  if (!S.HoldsQueries)
    return;
  waitForCopies();
  auto Packed = tile::PackedType::get(W.B.getContext(),
                                      {S.WarpgroupQueries, Depth}, Element);
  HeldQueries =
      tile::LoadPackedOp::create(W.B, W.Loc, Packed, myQueries(i32(0)));
}

/// The warpgroup's queries; `Nothing` is 0.
Value AttentionMmaSync::myQueries(Value Nothing) {
  Value First = W.mul(Group, W.index(S.WarpgroupQueries));
  return part(QueryTile, W.add(First, toIndex(Nothing)), S.WarpgroupQueries);
}

void AttentionMmaSync::copyKeysAndValues(Value Stage, Value Number) {
  copyBlock(Keys, KeyRing, Stage, Number);
  copyBlock(HeadValues, ValueRing, Stage, Number);
  tile::CpAsyncCommitOp::create(W.B, W.Loc);
}

/// The oldest copies are over, and all have read what was in their way.
void AttentionMmaSync::waitForCopies() {
  tile::CpAsyncWaitOp::create(W.B, W.Loc, std::max<int64_t>(S.Stages - 2, 0));
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
}

//===----------------------------------------------------------------------===//
// A block of keys
//===----------------------------------------------------------------------===//

/// Sums and totals shrink where the greatest score grows. The first block
/// shrinks zeros.
AttentionMmaSync::State AttentionMmaSync::grown(const State &Before,
                                                Value Most) {
  auto [Grows, Kept, Greater] = growth(Before.Most, Most);
  State After = Before;
  After.Most = Kept;
  auto If = scf::IfOp::create(
      W.B, W.Loc, TypeRange{Before.Sums.getType(), Before.Total.getType()},
      Grows, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard Guard(W.B);
  W.B.setInsertionPointToStart(If.thenBlock());
  Value Shrink = shrinkOf(Before.Most, shiftOf(Greater, /*MayBeNone=*/true));
  Value Sums = scaledBy(Before.Sums, Shrink),
        Total = scaledBy(Before.Total, Shrink);
  scf::YieldOp::create(W.B, W.Loc, ValueRange{Sums, Total});
  W.B.setInsertionPointToStart(If.elseBlock());
  scf::YieldOp::create(W.B, W.Loc, ValueRange{Before.Sums, Before.Total});
  After.Sums = If.getResult(0);
  After.Total = If.getResult(1);
  return After;
}

/// The `Number`-th block from the last: its scores, their powers, and these
/// times its values.
AttentionMmaSync::State AttentionMmaSync::step(Value Number,
                                               const State &Before) {
  Value Block = blockAt(Blocks, Number);
  auto Ahead = [&](int64_t Steps) {
    return compute<arith::AddIOp>(Number, i32(Steps));
  };
  // LLVM would compute all addresses of shared memory that steps do not change
  // in front of the loop, and ptxas then keeps them in registers.
  Value Nothing = W.renewed(i32(0));
  Value Stage = S.Stages == 1 ? Nothing : Before.Stage;
  auto Scored = [&]() -> Value {
    return multiply(HeldQueries ? HeldQueries : myQueries(Nothing),
                    stageOf(KeyRing, Stage), splat(ScoresTy, f32(0)),
                    /*Transposed=*/true);
  };

  // The keys are there, and all have multiplied the values of the step before:
  // their stage is filled again. With one stage values are copied beside the
  // product with the keys, and the next keys beside that with the values.
  waitForCopies();
  Value Scores;
  if (S.Stages > 1) {
    copyKeysAndValues(Before.Before, Ahead(S.Stages - 1));
    Scores = Scored();
  } else {
    copyBlock(HeadValues, ValueRing, Stage, Number);
    tile::CpAsyncCommitOp::create(W.B, W.Loc);
    Scores = Scored();
    waitForCopies();
    copyBlock(Keys, KeyRing, Stage, Ahead(1));
    tile::CpAsyncCommitOp::create(W.B, W.Loc);
  }

  Scores = capped(Scores);
  Scores = visible(Mine, Scores, Block, Blocks);

  State After = grown(Before, greatest(Scores, /*Chains=*/1));
  Value Powers = powers(Scores, shiftOf(After.Most, /*MayBeNone=*/true));
  After.Total =
      tile::ThreadReduceOp::create(W.B, W.Loc, PartsTy, tile::ReduceKind::Add,
                                   Powers, After.Total, /*Chains=*/1);
  auto Packed = tile::PackedType::get(
      W.B.getContext(), {S.WarpgroupQueries, S.TileKeys}, Element);
  Value Left = tile::PackOp::create(W.B, W.Loc, Packed, ValueRange{Powers});
  After.Sums = multiply(Left, stageOf(ValueRing, Stage), After.Sums,
                        /*Transposed=*/false);
  After.Before = Before.Stage;
  After.Stage = nextStage(Before.Stage);
  return After;
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// Sums over their total, through the queries' place in shared memory.
void AttentionMmaSync::store(const State &Last) {
  Value Out = narrowed(Last.Sums, inverseOf(Last.Total));
  tile::CpAsyncWaitOp::create(W.B, W.Loc, 0);
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
  Value First = W.mul(Group, W.index(S.WarpgroupQueries));
  tile::StoreSharedOp::create(W.B, W.Loc, Out,
                              part(StagingTile, First, S.WarpgroupQueries),
                              T.Compute < StoresMatrices);
  tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
  auto Scatter = tile::StoreGlobalOp::create(
      W.B, W.Loc, StagingTile, Results.Memory, uint32_t(PieceBytes),
      Results.Columns % (PieceBytes / elementBytes()) == 0);
  OpBuilder::InsertionGuard Guard(W.B);
  Type Index = W.B.getIndexType();
  Block *Body =
      W.B.createBlock(&Scatter.getBody(), {}, {Index, Index}, {W.Loc, W.Loc});
  Value Row = W.add(FirstRow, Body->getArgument(0)),
        Column = Body->getArgument(1);
  Value At = W.add(W.add(Results.First, W.mul(Row, Results.Stride)), Column);
  Value There = arith::SelectOp::create(
      W.B, W.Loc, W.less(Row, Results.Count),
      compute<arith::SubIOp>(W.index(Results.Columns), Column), W.index(0));
  tile::YieldAddressOp::create(W.B, W.Loc, At, There);
}

LogicalResult AttentionMmaSync::emit(GpuLaunch &Launch) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  declareSoftmax(S.WarpgroupQueries, S.TileKeys);
  Depth = schedule::paddedColumns(A.Depth);
  Width = schedule::paddedColumns(A.Width);
  place();
  allocate();
  begin();
  auto SumsTy = tile::FragmentType::get(
      W.B.getContext(), {S.WarpgroupQueries, Width}, W.B.getF32Type());
  State Start = {splat(SumsTy, f32(0)), splat(ColumnTy, f32(-INFINITY)),
                 splat(PartsTy, f32(0)), i32(0), i32(S.Stages - 1)};
  store(State::of(W.loop(i32(0), Blocks.Steps, i32(1), Start.list(),
                         [&](Value Number, ValueRange In) {
                           return step(Number, State::of(In)).list();
                         })));
  Launch.Grid[0] =
      (A.Queries.ceilDiv(Expr(S.TileQueries)) * A.Heads * A.Batch).str();
  Launch.Block = {int32_t(S.threads()), 1, 1};
  // Left to its own judgement ptxas keeps to fewer registers, and spills.
  Launch.ResidentBlocks = 1;
  return Result;
}

} // namespace

FamilyAnswer queryAttentionMmaSync(FusedKernel &Form, const target::Target &T) {
  std::optional<AttentionKernel> Read = AttentionKernel::read(Form);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, NoAttention);
  if (Read->appends())
    return FamilyAnswer::refuse(RefusalKind::Form, AppendsRows);
  if (!Read->hasWideRows(AttentionKernel::Heads16Or::F32))
    return FamilyAnswer::refuse(RefusalKind::Layout, NarrowHeadsOfF32);
  schedule::AttentionShape Shape = attentionShapeOf(*Read);
  if (schedule::fitsAttention(Shape, T))
    return FamilyAnswer::refuse(RefusalKind::Target,
                                "attention by wgmma is faster");
  // The cost of a tile of 64 queries is not known where few of them are there.
  if (!Read->isF32() && Shape.Queries <= schedule::MostDecodeQueries &&
      !schedule::rankDecodeSchedules(decodeShapeOf(*Read), T).empty())
    return FamilyAnswer::refuse(RefusalKind::Size, "it has few queries");
  auto A = std::make_shared<AttentionKernel>(std::move(*Read));
  return FamilyAnswer::offer(
      schedule::rankAttentionSyncSchedules(Shape, T),
      [&Form, A, &T](const AttentionSyncSchedule &S, GpuLaunch &Launch) {
        return AttentionMmaSync(Form, *A, S, T).emit(Launch);
      },
      [Shape, &T](StringRef Text) {
        return schedule::readAttentionSyncSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels
