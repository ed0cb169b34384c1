//===- GemvTile.cpp - The code of a product of few rows -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/GemvTile.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/MmaSync.h"
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

/// The argument that a size or stride is, if it is one.
static BlockArgument argumentOf(const GemmMatch &P, const Expr &E) {
  for (BlockArgument Argument : P.C.R.Form.Func.getArguments())
    if (Argument.getType().isIndex() &&
        E == Expr::symbol("arg" + std::to_string(Argument.getArgNumber())))
      return Argument;
  return {};
}

/// The loops whose number of iterations a size or stride is, if there are any.
static const LoopGroup *groupOf(const GemmMatch &P, const Expr &E) {
  for (const LoopGroup *Group : {&P.C.K, &P.C.N, &P.C.M})
    if (productExpr(Group->Sizes) == E)
      return Group;
  return nullptr;
}

bool hasValue(const GemmMatch &P, const Expr &E) {
  return E.asConstant() || argumentOf(P, E) || groupOf(P, E);
}

Value valueOf(GpuWriter &W, const GemmMatch &P, const Expr &E) {
  if (std::optional<int64_t> Constant = E.asConstant())
    return W.index(*Constant);
  if (BlockArgument Argument = argumentOf(P, E))
    return Argument;
  return W.size(groupOf(P, E)->Sizes);
}

int64_t columnsOfAccess(const GemmMatch &P) {
  for (int64_t Count : {8, 4, 2})
    if (P.Facts.divisor(P.B.RowStride) % Count == 0 &&
        P.Facts.divisor(P.N) % Count == 0 && P.Facts.range(P.N).Min >= Count)
      return Count;
  return 1;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value GemvTile::sub(Value A, Value B) {
  return W.B.createOrFold<arith::SubIOp>(W.Loc, A, B);
}
Value GemvTile::div(Value A, int64_t B) {
  return W.B.createOrFold<arith::DivUIOp>(W.Loc, A, W.index(B));
}
Value GemvTile::rem(Value A, int64_t B) {
  return W.B.createOrFold<arith::RemUIOp>(W.Loc, A, W.index(B));
}
Value GemvTile::least(Value A, Value B) {
  return W.B.createOrFold<arith::MinSIOp>(W.Loc, A, B);
}
Value GemvTile::i32(int64_t V) {
  return arith::ConstantIntOp::create(W.B, W.Loc, V, 32);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value GemvTile::load(Type Ty, Value Tile, Value Row, int64_t RowOffset,
                     Value Column, int64_t ColumnOffset) {
  return tile::LoadVectorOp::create(W.B, W.Loc, Ty, Tile, Row, RowOffset,
                                    Column, ColumnOffset, IntegerAttr());
}

/// The elements of a vector, one by one.
GemvTile::Values GemvTile::elementsOf(Value Vector) {
  Values All;
  int64_t Count = cast<VectorType>(Vector.getType()).getNumElements();
  for (int64_t I = 0; I < Count; ++I)
    All.push_back(vector::ExtractOp::create(W.B, W.Loc, Vector, I));
  return All;
}

/// 16 bytes of a tile's row as four words.
GemvTile::Values GemvTile::load16(Value Tile, Value Row, int64_t RowOffset,
                                  Value Column, int64_t ColumnOffset) {
  return elementsOf(load(VectorType::get({4}, W.B.getI32Type()), Tile, Row,
                         RowOffset, Column, ColumnOffset));
}

/// What a thread holds of 32 elements of K of 8 columns.
GemvTile::Values GemvTile::weightsOf(Value Tile, int64_t Part, int64_t Slice) {
  if (KContiguous)
    return load16(Tile, G, Slice * 8, mul(T, PieceElements), Part * StepK);
  // Lane (r, m) gives line r of matrix m: the elements 2 m and 2 m + 1 of each
  // 8, which is where the fragment wants those that a row's load brought.
  Value R = rem(Lane, 8), M = div(Lane, 8);
  Value K = W.add(W.add(mul(div(R, 2), 8), mul(M, 2)), rem(R, 2));
  return elementsOf(tile::LoadMatrixOp::create(
      W.B, W.Loc, VectorType::get({4}, W.B.getI32Type()), Tile, K,
      int32_t(Part * StepK), W.index(0), int32_t(Slice * 8)));
}

/// 16 rows × 8 columns more of a product over 16 elements of K.
Value GemvTile::multiply(ArrayRef<Value> Upper, ArrayRef<Value> Lower,
                         ArrayRef<Value> Weights, int64_t Half, Value Sums) {
  int64_t K = Half * 2;
  Values Parts = multiplyFragments(
      W, P.A.Element, {Upper[K], Lower[K], Upper[K + 1], Lower[K + 1]},
      {Weights[K], Weights[K + 1]}, elementsOf(Sums));
  return vector::FromElementsOp::create(W.B, W.Loc, Sums.getType(), Parts);
}

/// A thread's elements of one of its rows. Rows that are not there are computed
/// from the last one, and not stored.
GemvTile::Values GemvTile::rowsOf(Value Tile, int64_t Offset, int64_t Part) {
  Value Last = sub(RowsHere, W.index(1));
  Value Row = W.B.createOrFold<arith::MinUIOp>(W.Loc, add(G, Offset), Last);
  return load16(Tile, Row, 0, mul(T, PieceElements), Part * StepK);
}

/// Rows times themselves transposed: the squares are on the diagonal. A thread
/// holds the same words of both operands. `Sums`: of 8 rows and of the others.
void GemvTile::multiplyRows(ArrayRef<Value> Upper, ArrayRef<Value> Lower,
                            MutableArrayRef<Values> Sums) {
  for (int64_t K = 0; K < 4; K += 2)
    for (auto [Half, Own] : llvm::enumerate(Sums)) {
      ArrayRef<Value> Right = Half ? Lower : Upper;
      Own = multiplyFragments(W, P.A.Element,
                              {Upper[K], Lower[K], Upper[K + 1], Lower[K + 1]},
                              {Right[K], Right[K + 1]}, Own);
    }
}

GemvTile::Values GemvTile::multiplyStage(const Stage &From, ValueRange Before) {
  if (P.Codes)
    return multiplyCodes(From, Before);
  Values Sums(Before);
  for (int64_t Part = 0; Part < S.Depth / StepK; ++Part) {
    Values Upper = rowsOf(From.Rows, 0, Part);
    Values Lower(4, i32(0));
    if (HasLower)
      Lower = rowsOf(From.Rows, 8, Part);
    for (int64_t Slice = 0; Slice < S.Slices; ++Slice) {
      Values Weights = weightsOf(From.Weights, Part, Slice);
      for (int64_t Half = 0; Half < 2; ++Half)
        Sums[Slice] = multiply(Upper, Lower, Weights, Half, Sums[Slice]);
    }
    if (!S.HasSquares)
      continue;
    SmallVector<Values> OfRows;
    for (Value Own : ArrayRef(Sums).drop_front(size_t(S.Slices)))
      OfRows.push_back(elementsOf(Own));
    multiplyRows(Upper, Lower, OfRows);
    for (auto [Half, Own] : llvm::enumerate(OfRows))
      Sums[size_t(S.Slices) + Half] =
          vector::FromElementsOp::create(W.B, W.Loc, Sums[0].getType(), Own);
  }
  return Sums;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// A thread's accumulators of all instructions. Those of codes are scalars: of
/// vectors, LLVM leaves undefined what is never read.
GemvTile::Values GemvTile::initialSums() {
  Type F32 = W.B.getF32Type();
  if (!P.Codes)
    F32 = VectorType::get({4}, F32);
  Value Zero = arith::ConstantOp::create(W.B, W.Loc, W.B.getZeroAttr(F32));
  int64_t Squares = S.HasSquares ? halvesOfRows() : 0;
  return Values(size_t(P.Codes ? productsOfCodes() * 4 + Squares * 2
                               : S.Slices + Squares),
                Zero);
}

/// The four of one instruction.
GemvTile::Values GemvTile::sumsOf(ValueRange Sums, int64_t Number) {
  return P.Codes ? Values(Sums.slice(size_t(Number * 4), 4))
                 : elementsOf(Sums[size_t(Number)]);
}

/// Fragment: rows g and g + 8; columns 2 t and 2 t + 1 of each 8.
void GemvTile::storePartial(ValueRange Sums) {
  if (P.Codes)
    storeColumns(Sums);
  else
    storeRows(Sums);
  if (S.HasSquares)
    storeSquares(Sums);
}

void GemvTile::storeRows(ValueRange Sums) {
  auto Two = VectorType::get({2}, W.B.getF32Type());
  Value First = W.add(mul(Warp, stageRows()), G), Column = mul(T, 2);
  for (int64_t Row = 0; Row < (HasLower ? 2 : 1); ++Row)
    for (int64_t Slice = 0; Slice < S.Slices; ++Slice) {
      Values All = sumsOf(Sums, Slice);
      Value Pair = vector::FromElementsOp::create(
          W.B, W.Loc, Two, ValueRange(All).slice(Row * 2, 2));
      tile::StoreVectorOp::create(W.B, W.Loc, Pair, Partial, First, Row * 8,
                                  Column, Slice * 8);
    }
}

/// Row g's square is in column g, which the thread (g, g / 2) has.
void GemvTile::storeSquares(ValueRange Sums) {
  auto One = VectorType::get({1}, W.B.getF32Type());
  auto IsEqual = [&](Value A, Value B) -> Value {
    return arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq, A, B);
  };
  Value Row = W.add(mul(Warp, stageRows()), G),
        IsEven = IsEqual(rem(G, 2), W.index(0));
  W.when(IsEqual(T, div(G, 2)), [&] {
    for (int64_t Half = 0; Half < halvesOfRows(); ++Half) {
      // Of codes, those of 8 rows alone.
      Values Two =
          P.Codes
              ? Values(Sums.slice(size_t(productsOfCodes() * 4 + Half * 2), 2))
              : Values(ArrayRef<Value>(sumsOf(Sums, S.Slices + Half))
                           .slice(size_t(Half) * 2, 2));
      Value Square =
          arith::SelectOp::create(W.B, W.Loc, IsEven, Two[0], Two[1]);
      tile::StoreVectorOp::create(
          W.B, W.Loc, vector::FromElementsOp::create(W.B, W.Loc, One, Square),
          Squares, Row, Half * 8, W.index(0), 0);
    }
  });
}

Value GemvTile::totalOf(Value Row, Value InTile) {
  return totalIn(Partial, Row, InTile);
}

/// The warps' partial sums, in order.
Value GemvTile::totalIn(Value Of, Value Row, Value Column) {
  auto One = VectorType::get({1}, W.B.getF32Type());
  Value Total;
  for (int64_t Other = 0; Other < S.Warps; ++Other) {
    Value Part =
        elementsOf(load(One, Of, Row, Other * stageRows(), Column, 0)).front();
    Total =
        Total ? Value(arith::AddFOp::create(W.B, W.Loc, Total, Part)) : Part;
  }
  return Total;
}

void GemvTile::epilogueElement(Value Row, Value InTile, Value First) {
  Value Column = columnOf(First, InTile), AtRow = W.add(FirstRow, Row);
  Value IsRow = W.less(AtRow, Rows), IsColumn = W.less(Column, Columns);
  W.when(W.both(IsRow, IsColumn), [&] {
    Value Sum = totalOf(Row, InTile), Paired;
    if (hasHalves()) {
      Value After = W.index(half()), Before = W.index(-half());
      Value Step = arith::SelectOp::create(W.B, W.Loc, isInSecondHalf(InTile),
                                           Before, After);
      Paired = totalOf(Row, W.add(InTile, Step));
    } else if (P.RotateHalf) { // tiles begin at even columns
      Value Other = arith::XOrIOp::create(W.B, W.Loc, InTile, W.index(1));
      Paired = totalOf(Row, Other);
    }
    Values At = indicesOf(W, P, Value(), AtRow, Column);
    SmallVector<std::pair<Value, Value>> Known;
    if (S.HasSquares) {
      Value Square = totalIn(Squares, Row, W.index(0));
      for (Value View : P.squares()->Tensors)
        Known.emplace_back(View, Square);
    }
    if (Value Element = elementOfAccumulator(W, P, At, Sum, Paired, Known))
      storeLanes(W, Element, P.C.R.Form.Outputs[0].Memref, At);
    else
      Result = failure();
  });
}

void GemvTile::epilogue(Value FirstOfTile) {
  int64_t Most = std::min(P.Facts.range(P.M).Max, stageRows());
  int64_t Elements = Most * resultColumns();
  for (int64_t First = 0; First < Elements; First += S.threads()) {
    Value Element = add(Thread, First);
    auto Emit = [&] {
      epilogueElement(div(Element, resultColumns()),
                      rem(Element, resultColumns()), FirstOfTile);
    };
    if (First + S.threads() <= Elements)
      Emit();
    else
      W.when(W.less(Element, W.index(Elements)), Emit);
  }
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

void GemvTile::placeThread() {
  Thread = W.thread();
  Warp = div(Thread, 32);
  Lane = rem(Thread, 32);
  G = div(Lane, 4);
  T = rem(Lane, 4);
}

/// Of all tiles, those that are this block's: each grid'th. The grid has as
/// many blocks as make them at most S.Tiles. A division would delay the first
/// copies.
Value GemvTile::tilesOfBlock() {
  if (S.Tiles == 1)
    return W.index(1);
  Value All = W.ceilDiv(Columns, resultColumns()),
        Grid = gpu::GridDimOp::create(W.B, W.Loc, gpu::Dimension::x);
  constexpr int64_t MostCompared = 8;
  if (S.Tiles > MostCompared) {
    Value Above = W.add(sub(All, W.block()), sub(Grid, W.index(1)));
    return arith::DivUIOp::create(W.B, W.Loc, Above, Grid);
  }
  Value Count = W.index(1), Number = W.block();
  for (int64_t Tile = 1; Tile < S.Tiles; ++Tile) {
    Number = W.add(Number, Grid);
    Count = arith::SelectOp::create(W.B, W.Loc, W.less(Number, All),
                                    W.index(Tile + 1), Count);
  }
  return Count;
}

void GemvTile::prepare() {
  KContiguous = P.B.RowStride == Expr(1) && P.B.ColumnStride != Expr(1);
  HasLower = stageRows() > 8;
  Rows = W.size(P.C.M.Sizes);
  Columns = W.size(P.C.N.Sizes);
  Sum = W.size(P.C.K.Sizes);
  RowStrideA = valueOf(W, P, P.A.RowStride);
  if (!P.Codes)
    StrideB = valueOf(W, P, KContiguous ? P.B.ColumnStride : P.B.RowStride);
  auto Memory = [&](const Matrix &M) {
    Value Base = P.C.R.Form.Func.getArgument(M.Argument);
    return flatView(W, Base, cast<MemRefType>(Base.getType()).getElementType());
  };
  MemoryA = Memory(P.A);
  MemoryB = Memory(P.Codes ? P.Codes->Tiles : P.B);
  if (P.Codes)
    MemoryScales = Memory(P.Codes->Scales);
  if (P.Codes && P.Codes->Zeros)
    MemoryZeros = Memory(*P.Codes->Zeros);
  if (P.Second)
    MemorySecondB = Memory(P.Codes ? P.Second->Codes->Tiles : P.Second->B);
  if (P.Second && P.Codes)
    MemorySecondScales = Memory(P.Second->Codes->Scales);
  if (P.Second && P.Codes && P.Codes->Zeros)
    MemorySecondZeros = Memory(*P.Second->Codes->Zeros);
  Slices = W.ceilDiv(Sum, S.Depth * S.Warps);
  Tiles = tilesOfBlock();
  placeThread();
  declareRing();
}

/// The product of up to 16 rows; the ring is empty before and after it.
Value GemvTile::rowsFrom(Value First, Value Begin) {
  FirstRow = First;
  RowsHere = least(sub(Rows, First), W.index(stageRows()));
  Value Start = W.index(0), Step = W.index(1);
  Place Ahead = fillRing(Begin);
  auto EachSlice = [&](Value, ValueRange In) {
    auto Full = tile::StageType::get(W.B.getContext(), tile::StageState::Full);
    Value Token = tile::WaitOp::create(W.B, W.Loc, Full, Ring, In[0],
                                       /*in_flight=*/int32_t(S.Stages - 2));
    // The stage that was read last is free.
    Place Then = fill({In[1], In[2], In[3]});
    Values Next = {next(In[0]), Then.At, Then.Tile, Then.Slice};
    llvm::append_range(Next, multiplyStage(tilesOf(Token), In.drop_front(4)));
    tile::ReleaseOp::create(W.B, W.Loc, Ring, Token);
    return Next;
  };
  auto EachTile = [&](Value Tile, ValueRange OfTile) {
    Values Carried(OfTile);
    Carried.append(initialSums());
    Values Done = W.loop(Start, Slices, Step, Carried, EachSlice);
    storePartial(ArrayRef<Value>(Done).drop_front(4));
    tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
    epilogue(firstColumn(Tile));
    // The sums are read before the next ones.
    tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
    return Values(ArrayRef<Value>(Done).take_front(4));
  };
  Values End =
      W.loop(Start, Tiles, Step,
             ValueRange{Begin, Ahead.At, Ahead.Tile, Ahead.Slice}, EachTile);
  // Groups without copies are left.
  tile::DrainOp::create(W.B, W.Loc, Ring, End[1]);
  return End[1];
}

LogicalResult GemvTile::emit(bool SeveralTiles) {
  W.B.getContext()->loadDialect<tile::TileDialect>();
  prepare();
  CopiesBeforeWait = On.StartsEarly && readsConstantWeights();
  Value Start = W.index(0);
  Value Begin = tile::CursorOp::create(
      W.B, W.Loc, tile::CursorType::get(W.B.getContext()), Ring);
  if (!SeveralTiles) {
    rowsFrom(Start, Begin);
    return Result;
  }
  W.loop(Start, Rows, W.index(TileM), Begin, [&](Value First, ValueRange In) {
    Value At = rowsFrom(First, In[0]);
    // All stages are free again.
    tile::SyncOp::create(W.B, W.Loc, tile::Scope::Block);
    return Values{At};
  });
  return Result;
}

} // namespace kpc::kernels
