//===- AttentionBlackwell.cpp - Fused attention on tcgen05 ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// softmax(q·kᵀ)·v of 16-bit heads on chips with tensor memory, on the plan of
/// FlashAttention-4. A block has one or two tiles of 128 queries of one head.
/// One thread copies, one begins all products, and a warpgroup for each tile
/// makes powers of scores: a thread has a row, so that nothing is exchanged.
///
///   shared memory                  tensor memory               registers
///   q ──TMA──▶ tiles ─┐            ┌──────────────────────┐
///   k ──TMA──▶ stages ┴─ tcgen05 ─▶│ scores  ─────────────┼─ ld ─▶ greatest
///                                  │ powers in their place◀┼─ st ── powers
///   v ──TMA──▶ stages ── tcgen05 ─▶│ sums += powers·v ────┼─ ld ─▶ y
///                                  └──────────────────────┘
///
/// While a warpgroup makes powers of one tile, the tensor cores multiply for
/// the other. Blocks of keys are walked from the last to the first, as those
/// that need a mask are at the end.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionBlackwell.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/KernelFamily.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::AttentionBlackwellSchedule;
using shape::Expr;

namespace {

/// Warps of a block: one that copies, one that multiplies, two that idle, so
/// that those of the softmax are warpgroups.
constexpr int64_t TmaWarp = 0, MmaWarp = 1, FirstSoftmaxWarp = 4;
constexpr int64_t WarpsOfGroup = 4;

} // namespace

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

/// Sizes, and this block's queries and keys.
void AttentionBlackwell::place() {
  declareSizes();
  BlockQueries Mine = blockQueries(S.tileQueries());
  Batch = Mine.Batch;
  Head = Mine.Head;
  KeyHead = Mine.KeyHead;
  FirstRow = Mine.FirstRow;
  Blocks = keyBlocks({Batch, Head, FirstRow}, S.tileQueries());
}

tile::TensorMemoryType AttentionBlackwell::memoryOf(int64_t Columns, Type Of) {
  return tile::TensorMemoryType::get(W.B.getContext(), {TileRows, Columns}, Of);
}

void AttentionBlackwell::declareTypes() {
  declareSoftmax(TileRows, S.TileKeys, tile::FragmentLayout::Tmem32x32b);
  int64_t Depth = S.headInTiles(A.Depth);
  TileQ = shared(TileRows, Depth);
  TileK = shared(S.TileKeys, Depth);
  TileV = shared(S.TileKeys, widthInTiles());
  StagedTile = shared(TileRows, StagedColumns);
  Type F32 = W.B.getF32Type();
  ScoresMemory = memoryOf(S.TileKeys, F32);
  // Half as wide as the scores that they replace: the other half is unused.
  PowersMemory = memoryOf(S.partKeys(), F32);
}

void AttentionBlackwell::declare() {
  ViewQ = addView(A.Q, TileQ, A.Heads, A.Queries, A.Depth);
  ViewK = addView(A.K, TileK, A.Groups, A.Keys, A.Depth);
  ViewV = addView(A.V, TileV, A.Groups, A.Keys, A.Width);
  ViewY = addView(A.Y, StagedTile, A.Heads, A.Queries, A.Width);
  describeViews();
  auto Pipe = [&](int64_t Stages, Type Tile, tile::Completion By,
                  int64_t Producers, int64_t Consumers) -> Value {
    auto Ty = tile::PipeType::get(W.B.getContext(), Stages, {Tile});
    return tile::PipeOp::create(W.B, W.Loc, Ty, By, Producers, Consumers);
  };
  // What products read they give back themselves.
  PipeQ = Pipe(S.Tiles, TileQ, tile::Completion::Tma, 1, 1);
  PipeK = Pipe(S.Stages, TileK, tile::Completion::Tma, 1, 1);
  PipeV = Pipe(S.Stages, TileV, tile::Completion::Tma, 1, 1);
  // A stage for each tile: a warpgroup uses every second one.
  PipeScores =
      Pipe(S.Tiles, ScoresMemory, tile::Completion::Mma, 1, WarpsOfGroup);
  PipePowers = Pipe(S.Tiles * Parts, PowersMemory, tile::Completion::Threads,
                    WarpsOfGroup, 1);
  StagingTile = tile::AllocOp::create(
      W.B, W.Loc, shared(S.Tiles * TileRows, StagedColumns));
  tile::BarrierInitOp::create(W.B, W.Loc);
  int64_t Columns = S.tensorMemoryColumns(attentionShapeOf(A));
  Memory = tile::TmemAllocOp::create(
      W.B, W.Loc, memoryOf(Columns, W.B.getF32Type()), /*pair=*/false);
}

/// Columns of tensor memory, as a matrix of their own.
Value AttentionBlackwell::part(Value Of, Value First, int64_t Columns,
                               Type Element) {
  return tile::TmemPartOp::create(W.B, W.Loc, memoryOf(Columns, Element), Of,
                                  First);
}

Value AttentionBlackwell::skip(Value Pipe, Value Cursor, Value Count) {
  return tile::SkipOp::create(W.B, W.Loc, Cursor.getType(), Pipe, Cursor,
                              Count);
}

/// Where a stage of scores or powers is: both in front of the sums, powers in
/// the place of the scores that they are made of.
Value AttentionBlackwell::tileOf(Value Pipe, Value Stage) {
  Type Ty = cast<tile::PipeType>(Pipe.getType()).getTiles()[0];
  return tile::TilesOp::create(W.B, W.Loc, TypeRange{Ty}, Pipe, Stage, Memory)
      .getResult(0);
}

/// The sums of a tile (index).
Value AttentionBlackwell::sumsOf(Value Tile) {
  Value First =
      W.add(W.index(S.scoreColumns()), W.mul(Tile, W.index(widthInTiles())));
  return part(Memory, First, widthInTiles(), W.B.getF32Type());
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// One thread fills the pipes: keys come before the values that are needed
/// after them.
void AttentionBlackwell::produce() {
  elect(tile::Scope::Role, [&] {
    Value GroupK = headInMemory(KeyHead, A.K),
          GroupV = headInMemory(KeyHead, A.V), Zero = W.index(0);
    auto RowsAt = [&](Value Group, Value Block) -> Values {
      Value Row = toIndex(compute<arith::MulIOp>(Block, i32(S.TileKeys)));
      return {Batch, Group, Row, Zero};
    };
    Value Last = compute<arith::SubIOp>(Blocks.Count, i32(1));
    Value Queries = cursor(), Keys = cursor();
    for (int64_t Tile = 0; Tile < S.Tiles; ++Tile) {
      Value Row = W.add(FirstRow, W.index(Tile * TileRows));
      Queries = fill(PipeQ, Queries, ViewQ,
                     {Batch, headInMemory(Head, A.Q), Row, Zero});
      if (!Tile)
        Keys = fill(PipeK, Keys, ViewK, RowsAt(GroupK, Last));
    }
    Value More = compute<arith::SubIOp>(Blocks.Steps, i32(1));
    Values Ends =
        W.loop(i32(0), More, i32(1), {Keys, cursor()},
               [&](Value I, ValueRange At) -> Values {
                 Value Block = blockAt(Blocks, I);
                 Value Next =
                     A.Limits.Lead
                         ? blockAt(Blocks, compute<arith::AddIOp>(I, i32(1)))
                         : compute<arith::SubIOp>(Block, i32(1));
                 Value Key = fill(PipeK, At[0], ViewK, RowsAt(GroupK, Next));
                 return {Key, fill(PipeV, At[1], ViewV, RowsAt(GroupV, Block))};
               });
    Value HeadValues = fill(
        PipeV, Ends[1], ViewV,
        RowsAt(GroupV, Blocks.First && !A.Limits.Lead ? Blocks.First : i32(0)));
    // Products still tell their barriers.
    tile::DrainOp::create(W.B, W.Loc, PipeQ, Queries);
    tile::DrainOp::create(W.B, W.Loc, PipeK, Ends[0]);
    tile::DrainOp::create(W.B, W.Loc, PipeV, HeadValues);
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Gives a stage back when the products that were begun are over.
void AttentionBlackwell::release(Value Pipe, Value Stage) {
  tile::ReleaseOp::create(W.B, W.Loc, Pipe, Stage, /*blocks=*/1,
                          /*after_mma=*/true);
}

/// Begins a tile's scores of one block of keys.
Value AttentionBlackwell::beginScores(Value Queries, Value Keys, Value Cursor) {
  auto Free = tile::StageType::get(W.B.getContext(), tile::StageState::Free);
  Value Stage = tile::AcquireOp::create(W.B, W.Loc, Free, PipeScores, Cursor);
  Value No = arith::ConstantIntOp::create(W.B, W.Loc, 0, /*width=*/1);
  tile::TmemMmaOp::create(W.B, W.Loc, Queries, Keys, tileOf(PipeScores, Stage),
                          No, /*a_transposed=*/false, /*b_transposed=*/true,
                          /*pair=*/false);
  tile::CommitOp::create(W.B, W.Loc, PipeScores, Stage);
  return next(PipeScores, Cursor);
}

/// Begins to add a tile's powers times their values, part by part as powers
/// come; the first block's overwrite what was there (`Add`).
Value AttentionBlackwell::beginSums(int64_t Tile, Value HeadValues, Value Add,
                                    Value Cursor) {
  auto Full = tile::StageType::get(W.B.getContext(), tile::StageState::Full);
  Value Sums = sumsOf(W.index(Tile));
  for (int64_t Part = 0; Part < Parts; ++Part) {
    Value Stage = tile::WaitOp::create(W.B, W.Loc, Full, PipePowers, Cursor);
    Value Powers =
        part(tileOf(PipePowers, Stage), W.index(0), S.partKeys(), Element);
    Value Rows = rowsOf(HeadValues, W.index(Part * S.partKeys()), S.partKeys());
    tile::TmemMmaOp::create(W.B, W.Loc, Powers, Rows, Sums, Add, false, false,
                            false);
    release(PipePowers, Stage);
    Add = arith::ConstantIntOp::create(W.B, W.Loc, 1, /*width=*/1);
    Cursor = next(PipePowers, Cursor);
  }
  return Cursor;
}

/// One thread begins all products. Behind a tile's powers times values come its
/// next scores, in the powers' place: the product that reads these must be
/// over, as the order of products on different accumulators is not told (PTX
/// ISA, tcgen05, pipelined instructions).
void AttentionBlackwell::multiply() {
  elect(tile::Scope::Role, [&] {
    Values QueryStages, QueryTiles;
    Value Queries = cursor(), Keys = cursor(), Scores = cursor();
    auto [KeyStage, KeyTile] = waitFor(PipeK, Keys);
    for (int64_t Tile = 0; Tile < S.Tiles; ++Tile) {
      auto [Stage, InMemory] = waitFor(PipeQ, Queries);
      QueryStages.push_back(Stage);
      QueryTiles.push_back(InMemory);
      Queries = next(PipeQ, Queries);
      Scores = beginScores(InMemory, KeyTile, Scores);
    }
    release(PipeK, KeyStage);
    Value Round = W.index(S.Tiles * Parts);
    Values End = W.loop(
        i32(1), Blocks.Steps, i32(1),
        {next(PipeK, Keys), cursor(), Scores, cursor()},
        [&](Value Number, ValueRange In) -> Values {
          auto [ValueStage, ValueTile] = waitFor(PipeV, In[1]);
          Value Add = compare(arith::CmpIPredicate::ne, Number, i32(1));
          Value KeyStage, KeyTile, Scores = In[2], Powers = In[3];
          for (int64_t Tile = 0; Tile < S.Tiles; ++Tile) {
            Value Again = skip(PipePowers, Powers, Round);
            Powers = beginSums(Tile, ValueTile, Add, Powers);
            if (Tile + 1 == S.Tiles)
              release(PipeV, ValueStage);
            if (!Tile)
              std::tie(KeyStage, KeyTile) = waitFor(PipeK, In[0]);
            tile::DrainOp::create(W.B, W.Loc, PipePowers, Again, Parts);
            Scores = beginScores(QueryTiles[Tile], KeyTile, Scores);
          }
          release(PipeK, KeyStage);
          return {next(PipeK, In[0]), next(PipeV, In[1]), Scores, Powers};
        });
    auto [ValueStage, ValueTile] = waitFor(PipeV, End[1]);
    Value Add = compare(arith::CmpIPredicate::sgt, Blocks.Steps, i32(1));
    Value Powers = End[3];
    for (int64_t Tile = 0; Tile < S.Tiles; ++Tile)
      Powers = beginSums(Tile, ValueTile, Add, Powers);
    release(PipeV, ValueStage);
    for (Value Stage : QueryStages)
      release(PipeQ, Stage);
  });
}

LogicalResult AttentionBlackwell::emit(GpuLaunch &Launch) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  declareTypes();
  declare();
  // Each role computes where it is: what only the last one asked for would live
  // through the code of the others, where ptxas 13.0 spills it.
  role("products", 0, FirstSoftmaxWarp, S.otherRegisters(), [&](Value) {
    role("producer", TmaWarp, TmaWarp + 1, 0, [&](Value) {
      place();
      produce();
    });
    role("mma", MmaWarp, MmaWarp + 1, 0, [&](Value) {
      place();
      multiply();
    });
  });
  role("softmax", FirstSoftmaxWarp, FirstSoftmaxWarp + WarpsOfGroup * S.Tiles,
       S.softmaxRegisters(), [&](Value Group) {
         place();
         soften(Group);
       });
  tile::TmemFreeOp::create(W.B, W.Loc, Memory);
  Launch.Grid[0] =
      (A.Queries.ceilDiv(Expr(S.tileQueries())) * A.Heads * A.Batch).str();
  Launch.Block = {int32_t(S.threads()), 1, 1};
  return Result;
}

FamilyAnswer queryAttentionBlackwell(FusedKernel &Form,
                                     const target::Target &T) {
  if (!T.Can.Tcgen05)
    return FamilyAnswer::refuse(RefusalKind::Target,
                                "the target has no tcgen05");
  std::optional<AttentionKernel> Read = AttentionKernel::read(Form);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, NoAttention);
  if (Read->appends())
    return FamilyAnswer::refuse(RefusalKind::Form, AppendsRows);
  if (!Read->hasWideRows())
    return FamilyAnswer::refuse(RefusalKind::Layout, NarrowHeads);
  schedule::AttentionShape Shape = attentionShapeOf(*Read);
  if (std::string Why = schedule::whyNoAttentionBlackwell(Shape, T);
      !Why.empty())
    return FamilyAnswer::refuse(RefusalKind::Size, Why);
  // The cost of a tile of 128 queries is not known where few of them are there.
  if (Shape.Queries <= schedule::MostDecodeQueries &&
      !schedule::rankDecodeSchedules(decodeShapeOf(*Read), T).empty())
    return FamilyAnswer::refuse(RefusalKind::Size, "it has few queries");
  auto A = std::make_shared<AttentionKernel>(std::move(*Read));
  return FamilyAnswer::offer(
      schedule::rankAttentionBlackwellSchedules(Shape, T),
      [&Form, A](const AttentionBlackwellSchedule &S, GpuLaunch &Launch) {
        return AttentionBlackwell(Form, *A, S).emit(Launch);
      },
      [Shape, &T](StringRef Text) {
        return schedule::readAttentionBlackwellSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels
