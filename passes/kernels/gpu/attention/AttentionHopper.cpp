//===- AttentionHopper.cpp - Fused attention on wgmma ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// softmax(q·kᵀ)·v of 16-bit heads on sm_90a. One thread of a block copies a
/// tile of queries, and block after block of keys and values, into shared
/// memory (TMA). Two or three other warpgroups have 64 queries each: scores by
/// wgmma, a softmax in registers whose greatest score and sum grow with the
/// blocks, and its powers, rounded to 16 bits, from registers into the product
/// with the values. The scores of a block are computed while the powers of the
/// one before are multiplied.
///
///   global q ──TMA──▶ queries ──┐ wgmma        ┌─────────────▶ sums ──▶ y
///   global k ──TMA──▶ 2 stages ─┴─▶ scores ─▶ powers ──┐ wgmma │
///   global v ──TMA──▶ 2 stages ────────────────────────┴───────┘
///
/// Of FP8 all three are codes, and powers become codes. wgmma wants them
/// contiguous along K, so values lie transposed in memory. A thread has scores
/// of columns 2a, 2a + 1, 8 + 2a and 9 + 2a of each 16, and multiplies them by
/// values 4a to 4a + 3: the copy of keys brings their rows in that order.
///
/// Blocks of keys are walked from the last to the first: those that need a mask
/// (the last, and those on the diagonal) come first, in code of their own.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionHopper.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/KernelFamily.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::AttentionSchedule;
using shape::Expr;

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void AttentionHopper::declareTypes() {
  MLIRContext *Context = W.B.getContext();
  declareSoftmax(/*Rows=*/64, S.TileKeys);
  int64_t Depth = schedule::paddedColumns(A.Depth),
          Width = schedule::paddedColumns(A.Width);
  TileQ = shared(S.TileQueries, Depth);
  TileK = shared(S.TileKeys, Depth);
  TileV = A.isFp8() ? shared(Width, S.TileKeys) : shared(S.TileKeys, Width);
  Staging =
      shared(S.TileQueries, schedule::stagedColumns(A.Width), A.Y.Element);
  PipeQTy = tile::PipeType::get(Context, S.QueryStages, {TileQ});
  PipeKTy = tile::PipeType::get(Context, S.Stages, {TileK});
  PipeVTy = tile::PipeType::get(Context, S.Stages, {TileV});
  SumsTy = tile::FragmentType::get(Context, {64, Width}, W.B.getF32Type());
  PowersTy = tile::PackedType::get(Context, {64, S.TileKeys}, Element);
}

void AttentionHopper::declare() {
  tile::SharedType StagedRows = shared(64, schedule::stagedColumns(A.Width),
                                       A.Y.Element); // one store of a warpgroup
  ViewQ = addView(A.Q, TileQ, A.Heads, A.Queries, A.Depth);
  if (A.isFp8()) {
    ViewK = addKeysInOrder(A.K, TileK, A.Groups, A.Keys, A.Depth);
    HeadsInMemory Turned = A.V;
    std::swap(Turned.Strides[2], Turned.Strides[3]);
    ViewV = addView(Turned, TileV, A.Groups, A.Width, A.Keys);
  } else {
    ViewK = addView(A.K, TileK, A.Groups, A.Keys, A.Depth);
    ViewV = addView(A.V, TileV, A.Groups, A.Keys, A.Width);
  }
  ViewY = addView(A.Y, StagedRows, A.Heads, A.Queries, A.Width);
  describeViews();
  auto Pipe = [&](tile::PipeType Ty) -> Value {
    return tile::PipeOp::create(W.B, W.Loc, Ty, tile::Completion::Tma,
                                /*producers=*/1, S.consumers() * 4);
  };
  PipeQ = Pipe(PipeQTy);
  PipeK = Pipe(PipeKTy);
  PipeV = Pipe(PipeVTy);
  if (A.isScoredByKey())
    declareColumns();
  StagingTile = tile::AllocOp::create(W.B, W.Loc, Staging);
  declareSizes();
  Heads32 = toI32(W.size(A.HeadsSize));
  HeadsPerGroup = compute<arith::DivUIOp>(Heads32, toI32(W.size(A.GroupsSize)));
  RowTiles = ceilDivI32(Queries32, S.TileQueries);
  PerHead = S.Pairs ? ceilDivI32(RowTiles, 2) : RowTiles;
  Tiles = compute<arith::MulIOp>(
      PerHead, compute<arith::MulIOp>(Heads32, toI32(W.size(A.BatchSize))));
  tile::BarrierInitOp::create(W.B, W.Loc);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Rows of a head follow one another, then heads: blocks that run together read
/// the same keys. With pairs, a tile from the end of a head comes with one from
/// its front, so that blocks have equal work under a causal mask.
AttentionHopper::Turn AttentionHopper::firstTurn() {
  return {toI32(W.block()), i32(0)};
}

AttentionHopper::Turn AttentionHopper::after(const Turn &Now) {
  Value Step =
      toI32(gpu::GridDimOp::create(W.B, W.Loc, gpu::Dimension::x).getResult());
  Value NextPair = compute<arith::AddIOp>(Now.Pair, Step);
  if (!S.Pairs)
    return {NextPair, Now.Half};
  // The one in the middle is its own partner.
  Value InHead = compute<arith::RemUIOp>(Now.Pair, PerHead);
  Value Other =
      compute<arith::SubIOp>(compute<arith::SubIOp>(RowTiles, i32(1)), InHead);
  Value Stays = compute<arith::AndIOp>(
      compare(arith::CmpIPredicate::eq, Now.Half, i32(0)),
      compare(arith::CmpIPredicate::ne, InHead, Other));
  return {arith::SelectOp::create(W.B, W.Loc, Stays, Now.Pair, NextPair),
          arith::ExtUIOp::create(W.B, W.Loc, W.B.getI32Type(), Stays)};
}

Value AttentionHopper::isThere(const Turn &Now) {
  return compare(arith::CmpIPredicate::slt, Now.Pair, Tiles);
}

AttentionHopper::Place AttentionHopper::placeOf(const Turn &Now) {
  Value Row = compute<arith::RemUIOp>(Now.Pair, PerHead);
  Value Head = compute<arith::DivUIOp>(Now.Pair, PerHead);
  if (S.Pairs) {
    Value Other =
        compute<arith::SubIOp>(compute<arith::SubIOp>(RowTiles, i32(1)), Row);
    Value IsFirst = compare(arith::CmpIPredicate::eq, Now.Half, i32(0));
    Row = arith::SelectOp::create(W.B, W.Loc, IsFirst, Other, Row);
  }
  Place Where;
  Value OfBatch = compute<arith::RemUIOp>(Head, Heads32);
  Where.Batch = toIndex(compute<arith::DivUIOp>(Head, Heads32));
  Where.Head = toIndex(OfBatch);
  Where.Group = toIndex(compute<arith::DivUIOp>(OfBatch, HeadsPerGroup));
  Where.Row = toIndex(compute<arith::MulIOp>(Row, i32(S.TileQueries)));
  Where.Keys = keyBlocks({Where.Batch, Where.Head, Where.Row}, S.TileQueries);
  return Where;
}

/// A loop over turns, from the first on, as long as there is another behind
/// `Now`; gives the last turn, then what is carried. The body is given `Now`.
AttentionHopper::Values
AttentionHopper::eachTurn(ValueRange Carried,
                          function_ref<Values(const Turn &, ValueRange)> Body) {
  Turn First = firstTurn();
  Values Init = {First.Pair, First.Half};
  llvm::append_range(Init, Carried);
  auto Loop = scf::WhileOp::create(
      W.B, W.Loc, ValueRange(Init).getTypes(), Init,
      [&](OpBuilder &B, Location, ValueRange In) {
        OpBuilder::InsertionGuard Guard(W.B);
        W.B.setInsertionPointToEnd(B.getInsertionBlock());
        Value More = isThere(after({In[0], In[1]}));
        scf::ConditionOp::create(W.B, W.Loc, More, In);
      },
      [&](OpBuilder &B, Location, ValueRange In) {
        OpBuilder::InsertionGuard Guard(W.B);
        W.B.setInsertionPointToEnd(B.getInsertionBlock());
        Turn Now = {In[0], In[1]};
        Values Out = {Value(), Value()};
        llvm::append_range(Out, Body(Now, In.drop_front(2)));
        Turn Next = after(Now);
        Out[0] = Next.Pair;
        Out[1] = Next.Half;
        scf::YieldOp::create(W.B, W.Loc, Out);
      });
  return Values(Loop.getResults());
}

//===----------------------------------------------------------------------===//
// The producer
//===----------------------------------------------------------------------===//

AttentionHopper::Values AttentionHopper::startOfPipes() {
  return {cursor(), cursor(), cursor()};
}

/// Where a block of keys begins.
AttentionHopper::Values AttentionHopper::keysAt(const Place &Where,
                                                Value Block) {
  Value Zero = W.index(0);
  Value Row = toIndex(compute<arith::MulIOp>(Block, i32(S.TileKeys)));
  if (!A.isFp8())
    return {Where.Batch, headInMemory(Where.Group, A.K), Row, Zero};
  // The number of the block of rows among those of all heads.
  auto Divided = [&](Value V, int64_t By) {
    return arith::DivUIOp::create(W.B, W.Loc, V, W.index(By)).getResult();
  };
  Value Head = headInMemory(Where.Group, A.K);
  Value Start = W.add(W.mul(Where.Batch, W.size(A.K.StrideSizes[0])),
                      W.mul(Head, W.size(A.K.StrideSizes[1])));
  int64_t RowElements = *A.K.Strides[2].asConstant();
  return {W.add(Divided(Start, RowElements * KeysInOrder),
                Divided(Row, KeysInOrder)),
          Zero, Zero, Zero, Zero};
}

AttentionHopper::Values AttentionHopper::valuesAt(const Place &Where,
                                                  Value Block) {
  Value Zero = W.index(0), Head = headInMemory(Where.Group, A.V);
  Value Row = toIndex(compute<arith::MulIOp>(Block, i32(S.TileKeys)));
  if (A.isFp8())
    return {Where.Batch, Head, Zero, Row};
  return {Where.Batch, Head, Row, Zero};
}

/// A tile's queries and keys, and its values, each behind the keys that are
/// needed before them.
AttentionHopper::Values AttentionHopper::fillTile(const Place &Where,
                                                  ValueRange Cursors) {
  Value Zero = W.index(0);
  Value Last = compute<arith::SubIOp>(Where.Keys.Count, i32(1));
  Value Keys = fill(PipeK, Cursors[1], ViewK, keysAt(Where, Last));
  Value Queries =
      fill(PipeQ, Cursors[0], ViewQ,
           {Where.Batch, headInMemory(Where.Head, A.Q), Where.Row, Zero});
  Value More = compute<arith::SubIOp>(Where.Keys.Steps, i32(1));
  Values Ends =
      W.loop(i32(0), More, i32(1), {Keys, Cursors[2]},
             [&](Value I, ValueRange At) -> Values {
               Value Block = blockAt(Where.Keys, I);
               Value Next =
                   A.Limits.Lead
                       ? blockAt(Where.Keys, compute<arith::AddIOp>(I, i32(1)))
                       : compute<arith::SubIOp>(Block, i32(1));
               Value Key = fill(PipeK, At[0], ViewK, keysAt(Where, Next));
               return {Key, fill(PipeV, At[1], ViewV, valuesAt(Where, Block))};
             });
  return {Queries, Ends[0],
          fill(PipeV, Ends[1], ViewV, valuesAt(Where, lastOf(Where)))};
}

/// One thread fills the pipes, for all tiles of its block.
void AttentionHopper::produce() {
  elect(tile::Scope::Role, [&] {
    Values Last = eachTurn(startOfPipes(), [&](const Turn &Now, ValueRange In) {
      return fillTile(placeOf(Now), In);
    });
    fillTile(placeOf({Last[0], Last[1]}), ValueRange(Last).drop_front(2));
  });
}

LogicalResult AttentionHopper::emit(GpuLaunch &Launch) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  declareTypes();
  declare();
  role("producer", 0, 4, S.producerRegisters(), [&](Value) {
    produce();
    if (PipeM)
      produceColumns();
  });
  role("consumer", 4, 4 * (1 + S.consumers()), S.consumerRegisters(),
       [&](Value Group) { consume(Group); });
  Expr Rows = A.Queries.ceilDiv(Expr(S.TileQueries));
  if (S.Pairs)
    Rows = Rows.ceilDiv(Expr(2));
  Launch.Grid[0] =
      Expr::min(Rows * A.Heads * A.Batch, Expr::symbol("sm_count")).str();
  Launch.Block = {int32_t(S.threads()), 1, 1};
  return Result;
}

FamilyAnswer queryAttentionHopper(FusedKernel &Form, const target::Target &T) {
  if (!T.Can.Wgmma)
    return FamilyAnswer::refuse(RefusalKind::Target, "the target has no wgmma");
  std::optional<AttentionKernel> Read = AttentionKernel::read(Form);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, NoAttention);
  if (Read->appends())
    return FamilyAnswer::refuse(RefusalKind::Form, AppendsRows);
  if (!Read->hasWideRows(AttentionKernel::Heads16Or::ResultCodes) &&
      !Read->hasWideRows(AttentionKernel::Heads16Or::AllCodes))
    return FamilyAnswer::refuse(RefusalKind::Layout, NarrowHeads);
  // The cost of a tile of 64 queries is not known where few of them are there.
  int64_t Queries = typicalOf(Read->QueriesSize, UnknownExtent);
  if (Queries <= schedule::MostDecodeQueries && !Read->ResultCodes &&
      !Read->isFp8() &&
      !schedule::rankDecodeSchedules(decodeShapeOf(*Read), T).empty())
    return FamilyAnswer::refuse(RefusalKind::Size, "it has few queries");
  auto A = std::make_shared<AttentionKernel>(std::move(*Read));
  return FamilyAnswer::offer(
      schedule::rankAttentionSchedules(attentionShapeOf(*A), T),
      [&Form, A](const schedule::AttentionSchedule &S, GpuLaunch &Launch) {
        return AttentionHopper(Form, *A, S).emit(Launch);
      });
}

} // namespace kpc::kernels
