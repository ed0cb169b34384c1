//===- AttentionSoftmax.cpp - Scores on their way to powers ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionSoftmax.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace kpc::kernels {

/// Powers of FP8 are at most 2^8, below 448: codes of those down to 2^-17 are
/// not 0.
static constexpr double CodeBits = 8;

void AttentionSoftmax::declareSoftmax(int64_t Rows, int64_t Keys,
                                      tile::FragmentLayout Layout) {
  MLIRContext *Context = W.B.getContext();
  this->Rows = Rows;
  TileKeys = Keys;
  Element = A.Q.Element;
  Type F32 = W.B.getF32Type();
  ScoresTy = tile::FragmentType::get(Context, {Rows, Keys}, F32, Layout);
  ColumnTy = tile::ColumnType::get(Context, Rows, F32, /*parts=*/false, Layout);
  PartsTy = tile::ColumnType::get(Context, Rows, F32, /*parts=*/true, Layout);
  // With a bias the scores are scaled where it is added.
  Scale = A.Op.getBias() ? 1 : A.scoreFactor();
}

void AttentionSoftmax::declareSizes() {
  QueryCount = W.size(A.QueriesSize);
  KeyCount = W.size(A.KeysSize);
  Queries32 = toI32(QueryCount);
  Keys32 = toI32(KeyCount);
  if (A.Op.getOffset())
    Offset32 = toI32(A.Op.getOffset());
}

tile::SharedType AttentionSoftmax::shared(int64_t Rows, int64_t Columns,
                                          Type Of) {
  Type Stored = Of ? Of : Element;
  int64_t Swizzle = 128, Bytes = Columns * Stored.getIntOrFloatBitWidth() / 8;
  while (Bytes % Swizzle)
    Swizzle /= 2;
  return tile::SharedType::get(W.B.getContext(), {Rows, Columns}, Stored,
                               Swizzle);
}

AttentionSoftmax::BlockQueries
AttentionSoftmax::blockQueries(int64_t TileQueries) {
  Value Heads = toI32(W.size(A.HeadsSize));
  Value PerGroup = compute<arith::DivUIOp>(Heads, toI32(W.size(A.GroupsSize)));
  Value Tiles = ceilDivI32(Queries32, TileQueries);
  Value Block = toI32(W.block());
  Value Tile = compute<arith::RemUIOp>(Block, Tiles),
        OfBatch = compute<arith::DivUIOp>(Block, Tiles);
  if (A.Offset)
    Tile = compute<arith::SubIOp>(compute<arith::SubIOp>(Tiles, i32(1)), Tile);
  Value Head = compute<arith::RemUIOp>(OfBatch, Heads);
  BlockQueries Mine;
  Mine.Batch = toIndex(compute<arith::DivUIOp>(OfBatch, Heads));
  Mine.Head = toIndex(Head);
  Mine.KeyHead = toIndex(compute<arith::DivUIOp>(Head, PerGroup));
  Mine.FirstRow = toIndex(compute<arith::MulIOp>(Tile, i32(TileQueries)));
  return Mine;
}

KeyRange AttentionSoftmax::limits(const QueriesAt &Where, Value LastQuery,
                                  bool OfAll) {
  KeyCondition Mask = A.maskAt(Where.Batch, Where.Head);
  Mask.FirstQuery = Where.Row;
  Mask.LastQuery = LastQuery;
  KeyRange Range = OfAll ? keysOfAll(W, Mask) : keysWhere(W, Mask);
  for (Value *Edge : {&Range.First, &Range.End})
    if (*Edge)
      *Edge = toI32(compute<arith::MinSIOp>(
          compute<arith::MaxSIOp>(*Edge, W.index(0)), KeyCount));
  return Range;
}

AttentionSoftmax::KeyBlocks AttentionSoftmax::keyBlocks(const QueriesAt &First,
                                                        int64_t TileQueries) {
  KeyBlocks Blocks = blocksOfTriangle(First.Row, TileQueries);
  Blocks.Steps = Blocks.Count;
  if (!A.Limits.any())
    return Blocks;
  Value LastQuery = compute<arith::SubIOp>(
      compute<arith::MinSIOp>(W.add(First.Row, W.index(TileQueries)),
                              QueryCount),
      W.index(1));
  KeyRange Some = limits(First, LastQuery, /*OfAll=*/false),
           All = limits(First, LastQuery, /*OfAll=*/true);
  if (Some.End) {
    int64_t Least = std::max<int64_t>(A.Limits.Lead, 1);
    Value Count =
        ceilDivI32(compute<arith::MaxSIOp>(Some.End, i32(Least)), TileKeys);
    Blocks.Count = compute<arith::MinSIOp>(Blocks.Count, Count);
    Blocks.Whole = compute<arith::MinSIOp>(
        Blocks.Whole, compute<arith::DivUIOp>(All.End, i32(TileKeys)));
  }
  Blocks.Steps = Blocks.Count;
  if (Some.First) {
    Value Last = compute<arith::SubIOp>(Blocks.Count, i32(1));
    Blocks.First = compute<arith::MinSIOp>(
        compute<arith::DivUIOp>(Some.First, i32(TileKeys)), Last);
    Blocks.WholeFrom = ceilDivI32(All.First, TileKeys);
    Blocks.Steps = compute<arith::SubIOp>(Blocks.Count, Blocks.First);
    if (A.Limits.Lead)
      Blocks.Steps = compute<arith::AddIOp>(
          Blocks.Steps, compute<arith::MinSIOp>(Blocks.First, i32(1)));
  }
  return Blocks;
}

Value AttentionSoftmax::blockAt(const KeyBlocks &Blocks, Value Step) {
  Value Block = compute<arith::SubIOp>(
      compute<arith::SubIOp>(Blocks.Count, i32(1)), Step);
  if (!A.Limits.Lead || !Blocks.First)
    return Block;
  return arith::SelectOp::create(
      W.B, W.Loc, compare(arith::CmpIPredicate::sge, Block, Blocks.First),
      Block, i32(0));
}

AttentionSoftmax::KeyBlocks
AttentionSoftmax::blocksOfTriangle(Value FirstRow, int64_t TileQueries) {
  if (!Offset32)
    return {ceilDivI32(Keys32, TileKeys),
            compute<arith::DivUIOp>(Keys32, i32(TileKeys))};
  Value Row = toI32(FirstRow);
  // How many keys the first and the last query of the tile see.
  Value End = compute<arith::MinSIOp>(
      compute<arith::AddIOp>(Row, i32(TileQueries)), Queries32);
  Value Most =
      compute<arith::MinSIOp>(compute<arith::AddIOp>(End, Offset32), Keys32);
  Value Least = compute<arith::MinSIOp>(
      compute<arith::AddIOp>(compute<arith::AddIOp>(Row, Offset32), i32(1)),
      Keys32);
  Value Count = ceilDivI32(compute<arith::MaxSIOp>(Most, i32(1)), TileKeys);
  return {Count, compute<arith::DivUIOp>(compute<arith::MaxSIOp>(Least, i32(0)),
                                         i32(TileKeys))};
}

Value AttentionSoftmax::capped(Value Products) {
  if (!A.hasSoftcap())
    return Products;
  return apply(ScoresTy, Products, [&](ValueRange In) {
    return A.bent(
        W, In[0], [&](Value X) { return exp2(X); },
        [&](Value X) { return reciprocal(X); });
  });
}

Value AttentionSoftmax::scored(const QueriesAt &Where, Value Scores,
                               Value Block, bool MayEnd) {
  Value Bias = A.Op.getBias();
  bool IsMasked = A.hasMask();
  if (!Bias && !IsMasked)
    return Scores;
  Value Column = toIndex(compute<arith::MulIOp>(Block, i32(TileKeys)));
  Values Within = {QueryCount};
  if (MayEnd)
    Within.push_back(KeyCount);
  auto Map = tile::MapOp::create(W.B, W.Loc, ScoresTy, Scores,
                                 ValueRange{Where.Row, Column}, Within);
  OpBuilder::InsertionGuard Guard(W.B);
  Type Index = W.B.getIndexType();
  mlir::Block *Body =
      W.B.createBlock(&Map.getBody(), {}, {W.B.getF32Type(), Index, Index},
                      {W.Loc, W.Loc, W.Loc});
  Value At[] = {Where.Batch, Where.Head, Body->getArgument(1),
                Body->getArgument(2)};
  auto Known = [&](Value V) {
    if (!V)
      Result = failure();
    return V;
  };
  Value Score = Body->getArgument(0);
  if (Bias)
    if (Value Added = Known(AttentionKernel::atScore(W, Bias, At))) {
      Value Scaled =
          arith::MulFOp::create(W.B, W.Loc, Score, f32(A.scoreFactor()));
      Score = AttentionKernel::biased(W, Scaled, Added);
    }
  if (IsMasked)
    if (Value Seen = Known(A.seenAt(W, At)))
      Score = arith::SelectOp::create(W.B, W.Loc, Seen, Score, f32(-INFINITY));
  tile::YieldOp::create(W.B, W.Loc, Score);
  return Map.getResult();
}

Value AttentionSoftmax::keyOfColumn(Value Column) {
  auto Bits = [&](int32_t Mask, int32_t Left) -> Value {
    Value Some = compute<arith::AndIOp>(Column, i32(Mask));
    return Left > 0 ? compute<arith::ShLIOp>(Some, i32(Left))
                    : compute<arith::ShRUIOp>(Some, i32(-Left));
  };
  Value Kept = compute<arith::AndIOp>(Column, i32(~14));
  return compute<arith::OrIOp>(Kept,
                               compute<arith::OrIOp>(Bits(6, 1), Bits(8, -2)));
}

/// A row sees the columns before its limit, and from another on.
Value AttentionSoftmax::masked(const QueriesAt &Where, Value Scores,
                               Value Block) {
  auto IndexTy = tile::ColumnType::get(W.B.getContext(), Rows, W.B.getI32Type(),
                                       /*parts=*/false, ScoresTy.getLayout());
  Value Before = compute<arith::MulIOp>(Block, i32(TileKeys));
  Value Limit;
  // Of the query of a row.
  auto LimitsOf = [&](Value Number) {
    QueriesAt Query = Where;
    Query.Row = W.add(Where.Row, toIndex(Number));
    return limits(Query, Query.Row, /*OfAll=*/false);
  };
  if (Offset32 || A.Limits.HasEnd) {
    Value Row;
    if (Offset32)
      Row = compute<arith::AddIOp>(toI32(Where.Row),
                                   compute<arith::AddIOp>(Offset32, i32(1)));
    Value Numbers = tile::RowNumbersOp::create(W.B, W.Loc, IndexTy);
    Limit = apply(IndexTy, Numbers, [&](ValueRange In) {
      Value Seen = Keys32;
      if (Row)
        Seen =
            compute<arith::MinSIOp>(compute<arith::AddIOp>(In[0], Row), Seen);
      if (A.Limits.HasEnd)
        Seen = compute<arith::MinSIOp>(LimitsOf(In[0]).End, Seen);
      return compute<arith::SubIOp>(Seen, Before);
    });
  } else {
    Limit = splat(IndexTy, compute<arith::SubIOp>(Keys32, Before));
  }
  Values Operands = {Scores, Limit};
  if (A.Limits.HasFirst) {
    Value Numbers = tile::RowNumbersOp::create(W.B, W.Loc, IndexTy);
    Operands.push_back(apply(IndexTy, Numbers, [&](ValueRange In) {
      return compute<arith::SubIOp>(LimitsOf(In[0]).First, Before);
    }));
  }
  Value Lead = compute<arith::SubIOp>(i32(A.Limits.Lead), Before);
  Value Lowest = f32(-INFINITY);
  return apply(ScoresTy, Operands, [&](ValueRange In) -> Value {
    Value Key = A.isFp8() ? keyOfColumn(In.back()) : In.back();
    Value Seen = compare(arith::CmpIPredicate::slt, Key, In[1]);
    if (A.Limits.HasFirst)
      Seen = W.both(Seen, compare(arith::CmpIPredicate::sge, Key, In[2]));
    if (A.Limits.Lead)
      Seen = compute<arith::OrIOp>(
          Seen, compare(arith::CmpIPredicate::slt, Key, Lead));
    return arith::SelectOp::create(W.B, W.Loc, Seen, In[0], Lowest);
  });
}

/// In most blocks nothing is hidden.
Value AttentionSoftmax::visible(const QueriesAt &Where, Value Scores,
                                Value Block, const KeyBlocks &Blocks) {
  if (!needsMask())
    return scored(Where, Scores, Block, /*MayEnd=*/false);
  Value IsPart = compare(arith::CmpIPredicate::sge, Block, Blocks.Whole);
  if (Blocks.WholeFrom)
    IsPart = compute<arith::OrIOp>(
        IsPart, compare(arith::CmpIPredicate::slt, Block, Blocks.WholeFrom));
  auto If = scf::IfOp::create(W.B, W.Loc, TypeRange{ScoresTy}, IsPart,
                              /*withElseRegion=*/true);
  OpBuilder::InsertionGuard Guard(W.B);
  W.B.setInsertionPointToStart(If.thenBlock());
  Value Bounded = scored(Where, Scores, Block, /*MayEnd=*/true);
  scf::YieldOp::create(W.B, W.Loc, masked(Where, Bounded, Block));
  W.B.setInsertionPointToStart(If.elseBlock());
  scf::YieldOp::create(W.B, W.Loc,
                       scored(Where, Scores, Block, /*MayEnd=*/false));
  return If.getResult(0);
}

/// The greatest score, scaled; 0 where a query has seen nothing, as infinities
/// would cancel to NaN.
AttentionSoftmax::Growth AttentionSoftmax::growth(Value Before, Value Most) {
  /// The power of two that powers of scores may reach before sums are shrunk.
  constexpr double MostGrowth = 8;
  Growth After;
  After.Greater = apply(ColumnTy, {Before, Most}, [&](ValueRange In) {
    return compute<arith::MaxNumFOp>(In[0], In[1]);
  });
  Value By = apply(ColumnTy, {After.Greater, Before}, [&](ValueRange In) {
    return compute<arith::SubFOp>(In[0], In[1]);
  });
  After.Grows = tile::WarpAboveOp::create(W.B, W.Loc, W.B.getI1Type(), By,
                                          f32(MostGrowth / Scale));
  After.Most = apply(ColumnTy, {After.Greater, Before}, [&](ValueRange In) {
    return arith::SelectOp::create(W.B, W.Loc, After.Grows, In[0], In[1])
        .getResult();
  });
  return After;
}

Value AttentionSoftmax::rowScales(const QueriesAt &Where) {
  Value Factor = A.RowFactor;
  if (!Factor)
    return {};
  auto IndexTy = tile::ColumnType::get(W.B.getContext(), Rows, W.B.getI32Type(),
                                       /*parts=*/false, ScoresTy.getLayout());
  Value Numbers = tile::RowNumbersOp::create(W.B, W.Loc, IndexTy);
  Value First = toI32(Where.Row),
        Last = compute<arith::SubIOp>(Queries32, i32(1));
  return apply(ColumnTy, Numbers, [&](ValueRange In) -> Value {
    Value Row =
        compute<arith::MinSIOp>(compute<arith::AddIOp>(In[0], First), Last);
    Value Number = AttentionKernel::atScore(
        W, Factor, {Where.Batch, Where.Head, toIndex(Row), W.index(0)});
    if (!Number) {
      Result = failure();
      return f32(Scale);
    }
    // Minus infinity times 0 is no number.
    return compute<arith::MaximumFOp>(
        compute<arith::MulFOp>(Number, f32(Scale)),
        f32(std::numeric_limits<float>::min()));
  });
}

Value AttentionSoftmax::power(ValueRange ScoreAndScale, Value Less) {
  Value By = ScoreAndScale.size() > 1 ? ScoreAndScale.back() : f32(Scale);
  return exp2(math::FmaOp::create(W.B, W.Loc, ScoreAndScale[0], By, Less));
}

Value AttentionSoftmax::shiftOf(Value Most, bool MayBeNone, Value RowScales) {
  Values Operands = {Most};
  if (RowScales)
    Operands.push_back(RowScales);
  return apply(ColumnTy, Operands, [&](ValueRange In) -> Value {
    Value Shift = compute<arith::MulFOp>(In[0], RowScales ? In[1] : f32(Scale));
    if (!MayBeNone)
      return Shift;
    return arith::SelectOp::create(
        W.B, W.Loc,
        arith::CmpFOp::create(W.B, W.Loc, arith::CmpFPredicate::OEQ, In[0],
                              f32(-INFINITY)),
        f32(0), Shift);
  });
}

Value AttentionSoftmax::shrinkOf(Value Before, Value Shift, Value RowScales) {
  Values Operands = {Before, Shift};
  if (RowScales)
    Operands.push_back(RowScales);
  return apply(ColumnTy, Operands, [&](ValueRange In) {
    Value Minus = arith::NegFOp::create(W.B, W.Loc, In[1]);
    return power(RowScales ? Values{In[0], In[2]} : Values{In[0]}, Minus);
  });
}

Value AttentionSoftmax::scaledBy(Value X, Value Factor) {
  return apply(X.getType(), {X, Factor}, [&](ValueRange In) {
    return compute<arith::MulFOp>(In[0], In[1]);
  });
}

Value AttentionSoftmax::powers(Value Scores, Value Shift, Value RowScales) {
  Values Operands = {Scores, Shift};
  if (RowScales)
    Operands.push_back(RowScales);
  return apply(Scores.getType(), Operands, [&](ValueRange In) {
    Value Less = A.isFp8() ? compute<arith::SubFOp>(f32(CodeBits), In[1])
                           : arith::NegFOp::create(W.B, W.Loc, In[1]);
    return power(RowScales ? Values{In[0], In[2]} : Values{In[0]}, Less);
  });
}

Value AttentionSoftmax::greatest(Value Scores, int64_t Chains) {
  Value Parts = tile::ThreadReduceOp::create(
      W.B, W.Loc, PartsTy, tile::ReduceKind::Max, Scores, Value(), Chains);
  return tile::LaneReduceOp::create(W.B, W.Loc, ColumnTy, tile::ReduceKind::Max,
                                    Parts);
}

Value AttentionSoftmax::inverseOf(Value Parts) {
  Value Total = tile::LaneReduceOp::create(W.B, W.Loc, ColumnTy,
                                           tile::ReduceKind::Add, Parts);
  return apply(ColumnTy, Total, [&](ValueRange In) -> Value {
    Value Zero = f32(0);
    Value None = arith::CmpFOp::create(W.B, W.Loc, arith::CmpFPredicate::OEQ,
                                       In[0], Zero);
    return arith::SelectOp::create(W.B, W.Loc, None, Zero, reciprocal(In[0]));
  });
}

/// The byte of a code, as epilogues of GEMMs make it: one instruction converts
/// two and saturates.
Value AttentionSoftmax::codeOf(Value Y, Value Scale) {
  double Greatest = llvm::APFloat::getLargest(
                        cast<FloatType>(A.ResultCodes).getFloatSemantics())
                        .convertToDouble();
  Y = compute<arith::MulFOp>(Y, Scale);
  Y = compute<arith::MinimumFOp>(Y, f32(Greatest));
  Y = compute<arith::MaximumFOp>(Y, f32(-Greatest));
  Value Code = arith::TruncFOp::create(W.B, W.Loc, A.ResultCodes, Y);
  return arith::BitcastOp::create(W.B, W.Loc, A.Y.Element, Code);
}

Value AttentionSoftmax::resultScale() {
  Value By = A.ValueScale == 1 && A.ResultScale ? Value() : f32(A.ValueScale);
  if (!A.ResultScale)
    return By;
  Value Memory =
      flatView(W, Form.Func.getArgument(*A.ResultScale), W.B.getF32Type());
  Value Number =
      memref::LoadOp::create(W.B, W.Loc, Memory, ValueRange{W.index(0)});
  return By ? compute<arith::MulFOp>(Number, By) : Number;
}

Value AttentionSoftmax::narrowed(Value Sums, Value Factor) {
  auto From = cast<tile::FragmentType>(Sums.getType());
  auto To = tile::FragmentType::get(W.B.getContext(), From.getShape(),
                                    A.Y.Element, From.getLayout());
  Value By = A.ResultCodes || A.isFp8() ? resultScale() : Value();
  if (!A.ResultCodes && By)
    Factor = apply(ColumnTy, Factor, [&](ValueRange In) {
      return compute<arith::MulFOp>(In[0], By);
    });
  return apply(To, {Sums, Factor}, [&](ValueRange In) -> Value {
    Value Y = compute<arith::MulFOp>(In[0], In[1]);
    if (A.ResultCodes)
      return codeOf(Y, By);
    return A.Y.Element.isF32()
               ? Y
               : arith::TruncFOp::create(W.B, W.Loc, A.Y.Element, Y);
  });
}

} // namespace kpc::kernels
