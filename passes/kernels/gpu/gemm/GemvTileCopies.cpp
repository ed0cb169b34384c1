//===- GemvTileCopies.cpp - What a product of few rows loads --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A warp's ring and its copies: which columns a tile has, and which lanes copy
/// which pieces of weights and rows.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/GemvTile.h"

#include "dialects/kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kpc::kernels {

/// Of weights whose K is contiguous a row is a column, and of others an element
/// of K. Swizzles are bits of a byte's place in the tile: the lanes that load
/// together meet no bank twice. Those that ldmatrix names have 8 elements of K,
/// {0, 1, 8, 9, 16, 17, 24, 25} and a distance: bits 0, 3 and 4 tell them.
tile::SharedType GemvTile::weightsType() const {
  MLIRContext *Context = W.B.getContext();
  if (P.Codes) {
    Type Code = cast<MemRefType>(MemoryB.getType()).getElementType();
    return tile::SharedType::get(Context, {S.Slices, TileBytes}, Code,
                                 /*swizzle=*/0);
  }
  int64_t Units = llvm::Log2_64(uint64_t(KContiguous ? pieces() : S.Slices));
  SmallVector<int64_t> Swizzle = {Units, 4, Units};
  if (!KContiguous && S.Slices >= 8)
    Swizzle = {1, 4, Units, 2, 5, Units + 2};
  else if (!KContiguous)
    Swizzle = {Units, 4, Units + 3};
  int64_t Rows = KContiguous ? S.columns() : S.Depth,
          Columns = KContiguous ? S.Depth : S.columns();
  return tile::SharedType::get(Context, {Rows, Columns}, P.A.Element,
                               /*swizzle=*/0, Rows, Swizzle);
}

/// Beside codes, lanes of two neighbouring rows load at once.
tile::SharedType GemvTile::rowsType() const {
  int64_t Units = llvm::Log2_64(uint64_t(pieces()));
  SmallVector<int64_t> Swizzle = {Units, 4, Units};
  if (P.Codes)
    Swizzle = {1, 6, Units - 2};
  return tile::SharedType::get(W.B.getContext(), {S.RingRows, S.Depth},
                               P.A.Element, /*swizzle=*/0, S.RingRows, Swizzle);
}

void GemvTile::declareRing() {
  MLIRContext *Context = W.B.getContext();
  StageTiles = {weightsType(), rowsType()};
  auto OfBlocks = [&](const Matrix &M) {
    StageTiles.push_back(tile::SharedType::get(
        Context, {blocksOfStage(), S.columns()}, M.Element, /*swizzle=*/0));
  };
  if (P.Codes)
    OfBlocks(P.Codes->Scales);
  if (P.Codes && P.Codes->Zeros)
    OfBlocks(*P.Codes->Zeros);
  Ring = tile::PipeOp::create(
      W.B, W.Loc, tile::PipeType::get(Context, S.Stages, StageTiles),
      tile::Completion::CpAsync, /*producers=*/1, /*consumers=*/0,
      /*pair=*/false, S.Warps);
  Partial = tile::AllocOp::create(
      W.B, W.Loc,
      tile::SharedType::get(Context, {S.Warps * stageRows(), S.sumColumns()},
                            W.B.getF32Type(), /*swizzle=*/0));
  if (S.HasSquares)
    Squares = tile::AllocOp::create(
        W.B, W.Loc,
        tile::SharedType::get(Context, {S.Warps * stageRows(), 1},
                              W.B.getF32Type(), /*swizzle=*/0));
  // Weights that are read once should not drive out what is used again.
  Policy = tile::CachePolicyOp::create(W.B, W.Loc, W.B.getI64Type(),
                                       On.KeepsWeights ? tile::Eviction::Normal
                                                       : tile::Eviction::First);
}

GemvTile::Stage GemvTile::tilesOf(Value Token) {
  auto Tiles = tile::TilesOp::create(W.B, W.Loc, StageTiles, Ring, Token);
  Stage Of = {Token, Tiles.getResult(0), Tiles.getResult(1), {}, {}};
  if (StageTiles.size() > 2)
    Of.Scales = Tiles.getResult(2);
  if (StageTiles.size() > 3)
    Of.Zeros = Tiles.getResult(3);
  return Of;
}

void GemvTile::copy(const Stage &To, const Piece &One) {
  tile::CpAsyncVectorOp::create(
      W.B, W.Loc, One.Memory, One.At, One.Inside, One.Tile, One.Row, One.Column,
      int32_t(One.Bytes), One.Condition, Policy, Ring, To.Token);
}

/// The number among all of K of the stage at `At`.
Value GemvTile::numberOfStage(const Place &At) {
  return W.add(mul(At.Slice, S.Warps), Warp);
}

/// Of memory whose elements of K are `Stride` apart, the distance to `InStage`
/// of the stage at `At`. What differs from lane to lane comes first: loops
/// leave it as it is.
Value GemvTile::elementsAlong(const Place &At, Value InStage, Value Stride) {
  Value OfWarp = W.mul(W.add(InStage, mul(Warp, S.Depth)), Stride);
  return W.add(OfWarp, W.mul(At.Slice, mul(Stride, S.Warps * S.Depth)));
}

/// Whether element `InStage` of K of the stage at `At` is there; none: all
/// stages are whole.
Value GemvTile::insideOfSum(const Place &At, Value InStage) {
  if (P.Facts.divisor(P.K) % (S.Depth * S.Warps) == 0)
    return {};
  return W.less(elementsAlong(At, InStage, W.index(1)), Sum);
}

/// Whether no tile is cut at the last column.
bool GemvTile::hasWholeTiles() const {
  return P.Facts.divisor(P.N) % resultColumns() == 0;
}

/// Rows are elements of K, their pieces 8 columns, or fewer at a time.
void GemvTile::copyWeightsAlongColumns(const Stage &To, const Place &From) {
  int64_t RowLanes = std::min<int64_t>(S.Slices, PieceElements),
          Rows = 32 / RowLanes, Width = columnsOfAccess(P);
  Value Unit = mul(rem(Lane, RowLanes), PieceElements),
        Line = div(Lane, RowLanes), Last = sub(Columns, W.index(Width));
  bool WholeStages = P.Facts.divisor(P.K) % S.Depth == 0;
  for (int64_t Part = 0; Part < PieceElements; Part += Width) {
    Value InTile = add(Unit, Part);
    Value Mine = columnOf(firstColumn(From.Tile), InTile);
    if (!hasWholeTiles())
      Mine = least(Mine, Last);
    Value Memory = memoryOf(InTile, MemoryB, MemorySecondB);
    Value At = W.add(elementsAlong(From, Line, StrideB), Mine);
    for (int64_t N = 0; N < S.Depth; N += Rows) {
      Value K = add(Line, N);
      copy(To, {Memory, W.add(At, mul(StrideB, N)),
                insideOfSum(From, WholeStages ? W.index(0) : K), To.Weights, K,
                InTile, Width * ElementBytes});
    }
  }
}

/// Rows are columns, their pieces 8 elements of K.
void GemvTile::copyWeightsAlongK(const Stage &To, const Place &From) {
  Value Unit = mul(rem(Lane, pieces()), PieceElements),
        Line = div(Lane, pieces());
  Value At = elementsAlong(From, Unit, W.index(1)),
        Inside = insideOfSum(From, Unit), Column = firstColumn(From.Tile);
  Value Last = sub(Columns, W.index(1)),
        Whole = W.add(W.add(W.mul(Line, StrideB), At), W.mul(Column, StrideB));
  for (int64_t N = 0; N < S.columns(); N += 32 / pieces()) {
    Value InTile = add(Line, N), Place = W.add(Whole, mul(StrideB, N));
    if (!hasWholeTiles())
      Place = W.add(W.mul(least(W.add(Column, InTile), Last), StrideB), At);
    copy(To, {MemoryB, Place, Inside, To.Weights, InTile, Unit});
  }
}

void GemvTile::copyRows(const Stage &To, const Place &From) {
  int64_t Most = std::min(P.Facts.range(P.M).Max, stageRows());
  Value Unit = mul(rem(Lane, pieces()), PieceElements),
        Line = div(Lane, pieces());
  Value At = W.add(W.mul(W.add(FirstRow, Line), RowStrideA),
                   elementsAlong(From, Unit, W.index(1)));
  Value Inside = insideOfSum(From, Unit);
  for (int64_t N = 0; N < Most; N += 32 / pieces()) {
    Value Row = add(Line, N);
    copy(To, {MemoryA, W.add(At, mul(RowStrideA, N)), Inside, To.Rows, Row,
              Unit, PieceBytes, W.less(Row, RowsHere)});
  }
}

Value GemvTile::next(Value At) {
  return tile::NextOp::create(W.B, W.Loc, At.getType(), Ring, At);
}

Value GemvTile::firstColumn(Value Tile) {
  Value Number = W.block();
  if (S.Tiles > 1) {
    Value Grid = gpu::GridDimOp::create(W.B, W.Loc, gpu::Dimension::x);
    Number = W.add(W.mul(Tile, Grid), Number);
  }
  if (P.RotateHalf <= 1)
    return W.mul(Number, W.index(resultColumns()));
  int64_t OfHead = P.RotateHalf / half(); // tiles
  Value Head = W.B.createOrFold<arith::DivUIOp>(W.Loc, Number, W.index(OfHead));
  Value InHead =
      W.B.createOrFold<arith::RemUIOp>(W.Loc, Number, W.index(OfHead));
  return W.add(W.mul(Head, W.index(2 * P.RotateHalf)),
               W.mul(InHead, W.index(half())));
}

Value GemvTile::isInSecondHalf(Value InTile) {
  Value Half = W.index(half());
  return arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::uge, InTile,
                               Half);
}

Value GemvTile::memoryOf(Value InTile, Value First, Value Second) {
  if (!P.Second)
    return First;
  return arith::SelectOp::create(W.B, W.Loc, isInSecondHalf(InTile), Second,
                                 First);
}

/// Its number there: columns of the second half are as many of the second
/// matrix, or those that change places with the first half's.
Value GemvTile::columnOf(Value First, Value InTile) {
  if (hasHalves()) {
    Value Step = W.index((P.Second ? 0 : P.RotateHalf) - half()),
          None = W.index(0);
    InTile = W.add(InTile, arith::SelectOp::create(
                               W.B, W.Loc, isInSecondHalf(InTile), Step, None));
  }
  return W.add(First, InTile);
}

/// Whether all that stages hold but rows of x was there before the run.
bool GemvTile::readsConstantWeights() const {
  kernel::BuffersAttr Buffers = kernel::buffersOf(P.C.R.Form.Func);
  auto IsWeight = [&](const Matrix &M) {
    return Buffers && Buffers.getWeightBytesOf(M.Argument) > 0;
  };
  auto AreWeights = [&](const Matrix &Plain,
                        const std::optional<GemmMatch::TiledCodes> &Codes) {
    if (!Codes)
      return IsWeight(Plain);
    return IsWeight(Codes->Tiles) && IsWeight(Codes->Scales) &&
           (!Codes->Zeros || IsWeight(*Codes->Zeros));
  };
  return AreWeights(P.B, P.Codes) &&
         (!P.Second || AreWeights(P.Second->B, P.Second->Codes));
}

GemvTile::Stage GemvTile::acquire(const Place &At) {
  auto Free = tile::StageType::get(W.B.getContext(), tile::StageState::Free);
  return tilesOf(tile::AcquireOp::create(W.B, W.Loc, Free, Ring, At.At));
}

void GemvTile::copyWeights(const Stage &To, const Place &From) {
  if (P.Codes)
    copyCodes(To, From);
  else if (KContiguous)
    copyWeightsAlongK(To, From);
  else
    copyWeightsAlongColumns(To, From);
}

/// The place of the next slice, or of the next tile's first.
GemvTile::Place GemvTile::after(const Place &At) {
  Value Next = W.add(At.Slice, W.index(1));
  Value IsLast =
      arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq, Next, Slices);
  Value Behind = W.add(At.Tile, W.index(1)), Start = W.index(0);
  Place Then;
  Then.At = next(At.At);
  Then.Tile = arith::SelectOp::create(W.B, W.Loc, IsLast, Behind, At.Tile);
  Then.Slice = arith::SelectOp::create(W.B, W.Loc, IsLast, Start, Next);
  return Then;
}

/// Starts the copies of a slice, if one is left, as one group; the next place.
GemvTile::Place GemvTile::fill(Place At) {
  Stage To = acquire(At);
  W.when(W.less(At.Tile, Tiles), [&] {
    copyWeights(To, At);
    copyRows(To, At);
  });
  tile::CommitOp::create(W.B, W.Loc, Ring, To.Token);
  return after(At);
}

/// Starts the copies of all stages but one. Where the kernel begins early, the
/// weights of these are under way when it waits for the rows of x.
GemvTile::Place GemvTile::fillRing(Value Begin) {
  Value Start = W.index(0);
  Place At = {Begin, Start, Start};
  if (!CopiesBeforeWait) {
    for (int64_t Number = 0; Number + 1 < S.Stages; ++Number)
      At = fill(At);
    return At;
  }
  SmallVector<std::pair<Stage, Place>> Begun;
  for (int64_t Number = 0; Number + 1 < S.Stages; ++Number) {
    Stage To = acquire(At);
    W.when(W.less(At.Tile, Tiles), [&] { copyWeights(To, At); });
    Begun.emplace_back(To, At);
    At = after(At);
  }
  tile::GridDependencyWaitOp::create(W.B, W.Loc);
  for (auto &[To, From] : Begun) {
    W.when(W.less(From.Tile, Tiles), [&] { copyRows(To, From); });
    tile::CommitOp::create(W.B, W.Loc, Ring, To.Token);
  }
  return At;
}

} // namespace kpc::kernels
