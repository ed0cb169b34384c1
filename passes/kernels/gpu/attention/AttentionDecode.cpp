//===- AttentionDecode.cpp - Attention of few queries, fast as memory -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// softmax(q·kᵀ)·v of at most 16 rows at a time, which are the queries of all
/// heads that share keys and values. Those are read once, by cp.async into the
/// warp's ring in shared memory (tile.pipe cp_async), and multiplied by
/// mma.sync (m16n8k16).
///
///   cluster       all keys of a group and 8 or 16 rows
///    └ block      every so many steps of them
///       └ warp    a step of 16 or 32 keys: its own ring, no barriers
///
/// Copies are of whole lines: with half a line at a time, as lanes multiply
/// them, an H200 reads 3.1 TB/s, with whole ones 4.4.
///
/// A sum may be taken in any order as long as both factors agree: of 32
/// elements of a key, lane (g, t) has those from 8 t on, and the same of q. Of
/// 64 columns of values it has those from 8 g on, of the keys whose scores it
/// has; two keys' columns are then put side by side (prmt). So nothing moves
/// between lanes but the rows' greatest scores, and by how much sums shrink.
///
/// Keys and values may be codes of FP8 (E4M3): 16 bytes are then 16 elements,
/// and are widened to q's type where a lane has loaded them. Scales of keys are
/// part of q's or of the scores', those of values are multiplied at the end.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionDecode.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/MmaSync.h"
#include "passes/schedule/AttentionSyncSchedule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::DecodeShape;
using shape::Expr;

namespace {
/// Keys of a lane in 16, behind its first: its scores' columns.
constexpr int64_t LaneKeys[] = {0, 1, 8, 9};
/// prmt: the lower, and the upper halves of two words; the lower, and the upper
/// two bytes of both in turn.
constexpr int64_t LowHalves = 0x5410, HighHalves = 0x7632;
constexpr int64_t LowBytes = 0x5140, HighBytes = 0x7362;
} // namespace

//===----------------------------------------------------------------------===//
// The thread's place
//===----------------------------------------------------------------------===//

/// The element [batch, head, row, column] in its buffer.
Value AttentionDecode::offsetOf(const HeadsInMemory &H, ValueRange At) {
  Value Sum = W.mul(W.index(H.FirstHead), W.size(H.StrideSizes[1]));
  for (auto [Index, Stride] : llvm::zip_equal(At, H.StrideSizes))
    Sum = W.add(Sum, W.mul(Index, W.size(Stride)));
  return Sum;
}

AttentionDecode::Row AttentionDecode::rowAt(Value InTile) {
  Value Number = W.add(TileRow, InTile), One = W.index(1);
  Row R;
  R.Inside = W.less(Number, RowCount);
  Value Last = compute<arith::SubIOp>(RowCount, One);
  Number = compute<arith::MinSIOp>(Number, Last);
  R.Query = compute<arith::RemUIOp>(Number, Queries);
  R.Head = W.add(W.mul(Group, HeadsPerGroup),
                 compute<arith::DivUIOp>(Number, Queries));
  R.Limit = Keys;
  if (Value Offset = A.Op.getOffset()) {
    Value Seen = W.add(W.add(R.Query, Offset), W.index(1 - lead()));
    R.Limit = compute<arith::MinSIOp>(Seen, Keys);
  }
  return R;
}

void AttentionDecode::place() {
  Keys = W.size(A.KeysSize);
  Queries = W.size(A.QueriesSize);
  HeadsPerGroup =
      compute<arith::DivUIOp>(W.size(A.HeadsSize), W.size(A.GroupsSize));
  RowCount = W.mul(HeadsPerGroup, Queries);
  auto Rem = [&](Value V, Value By) { return compute<arith::RemUIOp>(V, By); };
  auto Div = [&](Value V, Value By) { return compute<arith::DivUIOp>(V, By); };
  Thread = W.thread();
  // All lanes of a warp agree on its number, and ptxas is told so: its loops
  // are uniform.
  Warp = tile::WarpOp::create(W.B, W.Loc, W.B.getIndexType());
  Lane = Rem(Thread, W.index(32));
  G = Div(Lane, W.index(4));
  T = Rem(Lane, W.index(4));
  Value Block = W.block(), Count = W.index(S.Blocks * S.Splits);
  Rank = Rem(Block, Count);
  Task = Div(Block, Count);
  Value Tiles = W.ceilDiv(RowCount, S.Rows), Groups = W.size(A.GroupsSize);
  TileRow = W.mul(Rem(Task, Tiles), W.index(S.Rows));
  Value Stream = Div(Task, Tiles);
  Group = Rem(Stream, Groups);
  Batch = Div(Stream, Groups);
  End = Keys;
  // All rows are stored, the rows that no query sees, too.
  if (Value Offset = A.Op.getOffset(); Offset && !A.appends())
    End = compute<arith::MinSIOp>(W.add(Queries, Offset), Keys);
  for (int64_t Half = 0; Half < halves(); ++Half)
    Rows.push_back(rowAt(W.add(G, W.index(8 * Half))));

  KeyRows = {rowsOf(A.K), {}, {}, Shape.Depth};
  ValueRows = {rowsOf(A.V), {}, {}, Shape.Width};
  if (A.appends())
    placeAppended();
  limitKeys();
  declareRing();
}

/// Of each four pieces of a key this lane's elements of q, as words; zeros
/// behind the end.
void AttentionDecode::loadQueries() {
  Value Memory = flatView(W, Form.Func.getArgument(A.Q.Argument), Element);
  auto Eight = VectorType::get({WideElements}, Element);
  auto Words = VectorType::get({4}, W.B.getI32Type());
  Value Depth = W.index(Shape.Depth);
  for (int64_t Chunk = 0; Chunk < depthChunks(); ++Chunk) {
    Q.emplace_back();
    Value Column = W.add(W.mul(T, W.index(pieceElements())),
                         W.index(depthChunk() * Chunk));
    Value There = W.less(Column, Depth);
    Column = choose(There, Column, W.index(0));
    for (const Row &R : Rows) {
      Values All;
      for (int64_t First = 0; First < pieceElements(); First += WideElements) {
        auto Load = vector::LoadOp::create(
            W.B, W.Loc, Eight, Memory,
            offsetOf(A.Q,
                     {Batch, R.Head, R.Query, W.add(Column, W.index(First))}));
        Load.setAlignment(PieceBytes);
        Value Cast = vector::BitCastOp::create(W.B, W.Loc, Words, Load);
        for (int64_t I = 0; I < 4; ++I) {
          Value Word = vector::ExtractOp::create(W.B, W.Loc, Cast, I);
          All.push_back(depthChunk() * (Chunk + 1) <= Shape.Depth
                            ? Word
                            : choose(There, Word, i32(0)));
        }
      }
      Q.back().push_back(All);
    }
  }
}

//===----------------------------------------------------------------------===//
// A warp's steps
//===----------------------------------------------------------------------===//

AttentionDecode::Values AttentionDecode::State::list() const {
  Values All(Sums);
  llvm::append_range(All, Most);
  llvm::append_range(All, Total);
  All.push_back(At);
  return All;
}

AttentionDecode::State AttentionDecode::stateOf(ValueRange From) const {
  State S;
  auto Rows = size_t(halves());
  S.At = From.back();
  From = From.drop_back();
  llvm::append_range(S.Total, From.take_back(Rows));
  From = From.drop_back(Rows);
  llvm::append_range(S.Most, From.take_back(Rows));
  llvm::append_range(S.Sums, From.drop_back(Rows));
  return S;
}

AttentionDecode::State AttentionDecode::start() {
  State Now;
  Now.Sums.assign(widthChunks() * pairsOfPiece() * 4 * halves(), f32(0));
  Now.Most.assign(halves(), f32(-INFINITY));
  Now.Total.assign(halves(), f32(0));
  Now.At = cursor(Ring);
  if (lead())
    startWithSink(Now);
  return Now;
}

/// One warp of all begins with the score of a key of zeros, whose value is
/// zeros as well: of a row's four lanes the first has it in its total.
void AttentionDecode::startWithSink(State &Now) {
  auto Is = [&](Value V, int64_t Number) -> Value {
    return arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq, V,
                                 W.index(Number));
  };
  Value IsFirst = W.both(Is(Rank, 0), Is(Warp, 0)), Mine = Is(T, 0);
  for (int64_t Half = 0; Half < halves(); ++Half) {
    Value Score = scaled(f32(0), Rows[Half], W.index(-lead()));
    Score = choose(IsFirst, Score, f32(-INFINITY));
    Value IsSeen = arith::CmpFOp::create(W.B, W.Loc, arith::CmpFPredicate::OGT,
                                         Score, f32(-INFINITY));
    Now.Most[Half] = Score;
    Now.Total[Half] = choose(W.both(IsSeen, Mine), f32(1), f32(0));
  }
}

/// 16 bytes of a tile's row as four words.
AttentionDecode::Values AttentionDecode::words(Value Tile, Value Row,
                                               int64_t RowOffset, Value Column,
                                               int64_t ColumnOffset) {
  Value Words = tile::LoadVectorOp::create(
      W.B, W.Loc, vectorOf(4, W.B.getI32Type()), Tile, Row, RowOffset, Column,
      ColumnOffset, IntegerAttr());
  Values All;
  for (int64_t I = 0; I < 4; ++I)
    All.push_back(vector::ExtractOp::create(W.B, W.Loc, Words, I));
  return All;
}

/// Products of the rows with the step's keys: for each 8 keys a fragment.
SmallVector<AttentionDecode::Values> AttentionDecode::scores(Value KeyTile) {
  Value None = i32(0), Column = W.mul(T, W.index(pieceElements()));
  SmallVector<Values> Scores(S.Keys / 8, Values(4, f32(0)));
  for (int64_t Chunk = 0; Chunk < depthChunks(); ++Chunk) {
    for (auto [Eight, Sums] : llvm::enumerate(Scores)) {
      Values Key =
          words(KeyTile, G, int64_t(Eight) * 8, Column, Chunk * depthChunk());
      if (A.hasCodes()) {
        Values Numbers;
        for (Value Codes : Key)
          for (int64_t Half : {0, 1})
            Numbers.push_back(numbersOf(Codes, Half));
        Key = Numbers;
      }
      for (int64_t K = 0; K < pairsOfPiece(); K += 2) {
        ArrayRef<Values> Of = Q[Chunk];
        Values Lower = halves() == 2 ? Of[1] : Values(pairsOfPiece(), None);
        Sums = multiplyFragments(
            W, Element, {Of[0][K], Lower[K], Of[0][K + 1], Lower[K + 1]},
            {Key[K], Key[K + 1]}, Sums);
      }
    }
  }
  return Scores;
}

/// A score for a power of two; minus infinity where the key is not seen.
Value AttentionDecode::scaled(Value Score, const Row &Of, Value Key) {
  if (A.hasSoftcap())
    Score = A.bent(
        W, Score, [&](Value X) { return exp2(X); },
        [&](Value X) -> Value {
          return NVVM::RcpApproxFtzF32Op::create(W.B, W.Loc, X.getType(), X);
        });
  Score = arith::MulFOp::create(W.B, W.Loc, Score, f32(A.scoreFactor()));
  Value Last = compute<arith::SubIOp>(Keys, W.index(1));
  Value Column = compute<arith::MinSIOp>(Key, Last);
  if (lead())
    Column = W.add(Column, W.index(lead()));
  Value At[] = {Batch, Of.Head, Of.Query, Column};
  Value Seen = W.less(Key, Of.Limit);
  if (Value Bias = A.Op.getBias()) {
    Value Added = AttentionKernel::atScore(W, Bias, At);
    if (!Added) {
      Result = failure();
      return Score;
    }
    Score = AttentionKernel::biased(W, Score, Added);
  }
  if (Value Mask = A.Op.getMask()) {
    Value Shown = AttentionKernel::atScore(W, Mask, At);
    if (!Shown) {
      Result = failure();
      return Score;
    }
    Seen = W.both(Seen, Shown);
  }
  return choose(Seen, Score, f32(-INFINITY));
}

void AttentionDecode::scoreRow(SmallVector<Values> &Scores, Value First,
                               int64_t Half) {
  Value Mine = W.add(First, W.mul(T, W.index(2)));
  for (auto [Eight, Sums] : llvm::enumerate(Scores))
    for (int64_t I = 0; I < 2; ++I) {
      Value &Score = Sums[2 * Half + I];
      Score = scaled(Score, Rows[Half],
                     W.add(Mine, W.index(int64_t(Eight) * 8 + I)));
    }
}

Value AttentionDecode::exp2(Value X) {
  return LLVM::CallIntrinsicOp::create(
             W.B, W.Loc, W.B.getF32Type(),
             W.B.getStringAttr("llvm.nvvm.ex2.approx.ftz.f"), ValueRange{X})
      .getResult(0);
}

/// What is subtracted in the exponent: 0 where a row has seen nothing, as
/// infinities would cancel to NaN.
Value AttentionDecode::shiftOf(Value Most) {
  Value None = arith::CmpFOp::create(W.B, W.Loc, arith::CmpFPredicate::OEQ,
                                     Most, f32(-INFINITY));
  return choose(None, f32(0), Most);
}

/// Scores become powers; sums and total shrink where the greatest score grows.
void AttentionDecode::softmax(SmallVector<Values> &Scores, int64_t Half,
                              State &Now) {
  Value Most;
  for (Values &Eight : Scores)
    for (int64_t I = 2 * Half; I < 2 * Half + 2; ++I)
      Most = Most ? compute<arith::MaxNumFOp>(Most, Eight[I]) : Eight[I];
  for (int32_t Mask : {1, 2})
    Most = compute<arith::MaxNumFOp>(Most, W.shuffleXor(Most, Mask));
  Most = compute<arith::MaxNumFOp>(Most, Now.Most[Half]);
  Value Shift = shiftOf(Most);
  Value Factor = exp2(compute<arith::SubFOp>(Now.Most[Half], Shift));
  Value Total = compute<arith::MulFOp>(Now.Total[Half], Factor);
  for (Values &Eight : Scores)
    for (int64_t I = 2 * Half; I < 2 * Half + 2; ++I) {
      Eight[I] = exp2(compute<arith::SubFOp>(Eight[I], Shift));
      Total = compute<arith::AddFOp>(Total, Eight[I]);
    }
  Now.Most[Half] = Most;
  Now.Total[Half] = Total;
  // Of the sums a lane has other rows: 2 t and 2 t + 1.
  Value Mine[] = {ofRow(Factor, 0), ofRow(Factor, 1)};
  for (int64_t Chunk = 0; Chunk < widthChunks(); ++Chunk)
    for (int64_t Word = 0; Word < pairsOfPiece(); ++Word)
      for (int64_t I = 0; I < 4; ++I) {
        Value &Sum = Now.Sums[sumsAt(Half, Chunk, Word) + I];
        Sum = compute<arith::MulFOp>(Sum, Mine[I % 2]);
      }
}

/// What the lanes of row 2 t + `Which` have.
Value AttentionDecode::ofRow(Value V, int64_t Which) {
  Value Lane = W.add(W.mul(T, W.index(8)), W.index(4 * Which));
  Lane = W.B.createOrFold<arith::IndexCastOp>(W.Loc, W.B.getI32Type(), Lane);
  return gpu::ShuffleOp::create(W.B, W.Loc, V, Lane, i32(32),
                                gpu::ShuffleMode::IDX)
      .getShuffleResult();
}

/// Adds powers · values, as valuesᵀ · powersᵀ: a row's scores of two keys are
/// what the second operand has of them, and the sums fill their fragments with
/// 8 rows.
void AttentionDecode::addValues(ArrayRef<Values> Scores, Value ValueTile,
                                State &Now) {
  auto Two = VectorType::get({2}, W.B.getF32Type());
  auto Packed = [&](int64_t Eight, int64_t Half) -> Value {
    ArrayRef<Value> Pair = ArrayRef<Value>(Scores[Eight]).slice(2 * Half, 2);
    Value Both = vector::FromElementsOp::create(W.B, W.Loc, Two, Pair);
    Both = arith::TruncFOp::create(W.B, W.Loc, VectorType::get({2}, Element),
                                   Both);
    return LLVM::BitcastOp::create(W.B, W.Loc, W.B.getI32Type(), Both);
  };
  // Two columns of two keys: a word for each column, with both keys' numbers.
  auto Columns = [&](Value First, Value Second, int64_t Pair) -> Values {
    if (!A.hasCodes())
      return {bytesOf(First, Second, LowHalves),
              bytesOf(First, Second, HighHalves)};
    Value Codes = bytesOf(First, Second, Pair % 2 ? HighBytes : LowBytes);
    return {numbersOf(Codes, 0), numbersOf(Codes, 1)};
  };
  int64_t PairsOfWord = pairsOfPiece() / 4;
  Value FirstKey = W.mul(T, W.index(2)),
        Column = W.mul(G, W.index(pieceElements()));
  for (int64_t Sixteen = 0; Sixteen < S.Keys / 16; ++Sixteen) {
    SmallVector<Values> Powers;
    for (int64_t Half = 0; Half < halves(); ++Half)
      Powers.push_back(
          {Packed(2 * Sixteen, Half), Packed(2 * Sixteen + 1, Half)});
    for (int64_t Chunk = 0; Chunk < widthChunks(); ++Chunk) {
      // ptxas would load all values before the first product: too many for the
      // registers there are.
      NVVM::SyncWarpOp::create(W.B, W.Loc, i32(-1));
      SmallVector<Values> Lines;
      for (int64_t Key : LaneKeys)
        Lines.push_back(words(ValueTile, FirstKey, 16 * Sixteen + Key, Column,
                              Chunk * widthChunk()));
      for (int64_t Pair = 0; Pair < pairsOfPiece(); ++Pair) {
        Values Both;
        for (int64_t Key : {0, 2})
          llvm::append_range(Both,
                             Columns(Lines[Key][Pair / PairsOfWord],
                                     Lines[Key + 1][Pair / PairsOfWord], Pair));
        for (int64_t Half = 0; Half < halves(); ++Half) {
          auto *Sums = &Now.Sums[sumsAt(Half, Chunk, Pair)];
          Values Out = multiplyFragments(W, Element, Both, Powers[Half],
                                         Values(Sums, Sums + 4));
          llvm::copy(Out, Sums);
        }
      }
    }
  }
}

AttentionDecode::State AttentionDecode::step(Value First, const State &Before) {
  State Now = Before;
  auto Full = tile::StageType::get(W.B.getContext(), tile::StageState::Full);
  Value Stage = tile::WaitOp::create(W.B, W.Loc, Full, Ring, Before.At,
                                     /*in_flight=*/S.Stages - 2);
  // What was read in the step before is free now, and the next to be filled.
  Value Ahead = Before.At;
  for (int64_t I = 1; I < S.Stages; ++I)
    Ahead = next(Ring, Ahead);
  fill(W.add(First, W.index(S.stride() * (S.Stages - 1))), Ahead);
  auto Tiles = tile::TilesOp::create(W.B, W.Loc, StageTiles, Ring, Stage);
  if (A.appends())
    storeRows(First, Tiles.getResults());
  SmallVector<Values> Scores = scores(Tiles.getResult(0));
  for (int64_t Half = 0; Half < halves(); ++Half) {
    scoreRow(Scores, First, Half);
    softmax(Scores, Half, Now);
  }
  addValues(Scores, Tiles.getResult(1), Now);
  tile::ReleaseOp::create(W.B, W.Loc, Ring, Stage);
  Now.At = next(Ring, Before.At);
  return Now;
}

AttentionDecode::State AttentionDecode::walkKeys() {
  Value First =
      W.mul(W.add(W.mul(Rank, W.index(S.Warps)), Warp), W.index(S.Keys));
  First = W.add(Begin, First);
  State Start = start();
  Value Ahead = Start.At;
  for (int64_t I = 0; I < S.Stages - 1; ++I) {
    fill(W.add(First, W.index(I * S.stride())), Ahead);
    Ahead = next(Ring, Ahead);
  }
  return stateOf(W.loop(
      First, End, W.index(S.stride()), Start.list(),
      [&](Value At, ValueRange In) { return step(At, stateOf(In)).list(); }));
}

LogicalResult AttentionDecode::emit(GpuLaunch &Launch) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  Element = A.Q.Element;
  place();
  loadQueries();
  storePart(walkKeys());
  reduceWarps();
  if (S.Blocks > 1)
    reduceBlocks();
  if (S.Splits > 1)
    reduceSplits();
  Expr Tiles = (A.Heads.floorDiv(A.Groups) * A.Queries).ceilDiv(Expr(S.Rows));
  Launch.Grid[0] =
      (Tiles * A.Groups * A.Batch * Expr(S.Blocks * S.Splits)).str();
  Launch.Block = {int32_t(S.threads()), 1, 1};
  Launch.Cluster = int32_t(S.Blocks);
  // Blocks that begin while a GEMM runs lie where it leaves room, several on
  // one multiprocessor (docs/kernels/decode.md).
  Launch.NoEarlyStart = true;
  // Left to its own judgement ptxas 13.0 keeps to 80 registers, and spills.
  Launch.ResidentBlocks = 1;
  return Result;
}

DecodeShape decodeShapeOf(const AttentionKernel &A) {
  int64_t Groups = typicalOf(A.GroupsSize, 1);
  DecodeShape Shape;
  Shape.Streams = typicalOf(A.BatchSize, 1) * Groups;
  Shape.Rows = typicalOf(A.QueriesSize, UnknownExtent) *
               (typicalOf(A.HeadsSize, 1) / std::max<int64_t>(Groups, 1));
  Shape.Keys = typicalOf(A.KeysSize, UnknownExtent);
  Shape.Depth = A.Depth;
  Shape.Width = A.Width;
  Shape.Appends = A.appends();
  // Of a window no more is read; what is appended is written as well.
  schedule::AttentionShape Seen = attentionShapeOf(A);
  if (Seen.FirstKey && Seen.EndKey && !Shape.Appends)
    Shape.Keys =
        std::clamp<int64_t>(*Seen.EndKey - *Seen.FirstKey + Seen.Queries - 1, 1,
                            std::max<int64_t>(Shape.Keys, 1));
  if (A.hasCodes())
    Shape.ElementBytes = 1;
  // Memory for parts is as wide as heads of 16 bits want it.
  Shape.MaySplit = A.Split && !A.hasCodes();
  Shape.MostStreams = A.Facts.range(A.Batch * A.Groups).Max;
  Shape.MostRows = A.Facts.range(A.Heads.floorDiv(A.Groups) * A.Queries).Max;
  return Shape;
}

FamilyAnswer queryAttentionDecode(FusedKernel &Form, const target::Target &T) {
  std::optional<AttentionKernel> Read = AttentionKernel::read(Form);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, NoAttention);
  if (!Read->hasWideRows(AttentionKernel::Heads16Or::Codes))
    return FamilyAnswer::refuse(RefusalKind::Layout, NarrowHeadsOfCodes);
  int64_t Queries = typicalOf(Read->QueriesSize, UnknownExtent);
  // Where it is no longer bound by memory, others are faster.
  schedule::AttentionShape Many = attentionShapeOf(*Read);
  if (!Read->hasCodes() && !Read->appends() &&
      Queries > schedule::MostDecodeQueries &&
      (schedule::fitsAttention(Many, T) ||
       schedule::fitsAttentionSync(Many, T)))
    return FamilyAnswer::refuse(RefusalKind::Size, "it has many queries");
  auto A = std::make_shared<AttentionKernel>(std::move(*Read));
  DecodeShape Shape = decodeShapeOf(*A);
  return FamilyAnswer::offer(
      schedule::rankDecodeSchedules(Shape, T),
      [&Form, A, Shape](const schedule::DecodeSchedule &S, GpuLaunch &Launch) {
        return AttentionDecode(Form, *A, Shape, S).emit(Launch);
      });
}

} // namespace kpc::kernels
