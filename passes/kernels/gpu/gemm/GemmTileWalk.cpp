//===- GemmTileWalk.cpp - Tiles and their elements ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"

#include "dialects/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

TileIndex tileInOrder(GpuWriter &W, Value Tile, Value RowTiles,
                      Value ColumnTiles, int64_t GroupM) {
  Value Most = arith::ConstantIntOp::create(W.B, W.Loc, GroupM, 32);
  auto Compute = [&]<typename Op>(Value A, Value C) {
    return W.B.createOrFold<Op>(W.Loc, A, C);
  };
  auto Mul = [&](Value A, Value C) {
    return Compute.template operator()<arith::MulIOp>(A, C);
  };
  auto Div = [&](Value A, Value C) {
    return Compute.template operator()<arith::DivUIOp>(A, C);
  };
  auto Rem = [&](Value A, Value C) {
    return Compute.template operator()<arith::RemUIOp>(A, C);
  };
  Value GroupSize = Mul(ColumnTiles, Most);
  Value Group = Div(Tile, GroupSize);
  Value InGroup = Rem(Tile, GroupSize);
  Value First = Mul(Group, Most);
  Value Left = W.B.createOrFold<arith::SubIOp>(W.Loc, RowTiles, First);
  Value Rows = W.B.createOrFold<arith::MinUIOp>(W.Loc, Left, Most);
  Value InRows = Rem(InGroup, Rows);
  Value Row = W.B.createOrFold<arith::AddIOp>(W.Loc, First, InRows);
  return {Row, Div(InGroup, Rows)};
}

SmallVector<Value> batchIndices(GpuWriter &W, const GemmMatch &P,
                                const Matrix &M, Value Batch) {
  SmallVector<Value> Each, Indices;
  const LoopGroup &Loops = P.C.Batch;
  for (const BatchDim &Dim : M.Batches) {
    if (Dim.Places.empty()) {
      Indices.push_back(Batch);
      continue;
    }
    if (Each.empty())
      Each = W.split(Batch, Loops.Sizes, Reduction::boundOf(Loops.Sizes));
    Value Index = Each[Dim.Places.front()];
    for (unsigned Place : ArrayRef(Dim.Places).drop_front())
      Index = W.add(W.mul(Index, W.size(Loops.Sizes[Place])), Each[Place]);
    if (Dim.Pick)
      Index = Dim.Pick->at(W, Index);
    Indices.push_back(Index);
  }
  return Indices;
}

Value batchOffset(GpuWriter &W, FusedKernel &Form, const GemmMatch &P,
                  const Matrix &M, Value Batch) {
  Value Offset = W.index(0);
  if (!Batch)
    return Offset;
  for (auto [Dim, Index] :
       llvm::zip_equal(M.Batches, batchIndices(W, P, M, Batch)))
    Offset = W.add(Offset, W.mul(Index, valueOf(W, Form, Dim.Stride)));
  return Offset;
}

SmallVector<Value> indicesOf(GpuWriter &W, const GemmMatch &P, Value Batch,
                             Value Row, Value Column, ValueRange Places) {
  const Contraction &C = P.C;
  SmallVector<Value> All(C.R.Parallel.size() + C.R.Reduced.size()), At;
  auto Put = [&](const LoopGroup &Group, Value Linear) {
    SmallVector<Value> Indices =
        W.split(Linear, Group.Sizes, Reduction::boundOf(Group.Sizes));
    for (auto [Loop, One] : llvm::zip_equal(Group.Loops, Indices))
      All[Loop] = One;
  };
  if (Batch)
    Put(C.Batch, Batch);
  else
    for (unsigned Loop : C.Batch.Loops)
      All[Loop] = W.index(0);
  if (Places.empty())
    Put(C.M, Row);
  for (auto [Loop, Place] : llvm::zip(C.M.Loops, Places))
    All[Loop] = Place;
  Put(C.N, Column);
  for (unsigned Loop : C.R.Parallel)
    At.push_back(All[Loop]);
  return At;
}

Value elementOfAccumulator(GpuWriter &W, const GemmMatch &P, ValueRange At,
                           Value Sum, Value Paired, KnownElements Known) {
  // A product's result at some indices: there are no others than these and
  // those that change places with them.
  auto Combiner = [&](const Contraction &Of, Value Partial,
                      ValueRange Indices) -> Value {
    SmallVector<Value> Reduced = {Partial};
    return succeeded(combineInitial(W, Of.R, Indices, Reduced)) ? Reduced[0]
                                                                : Value();
  };
  W.Emitter.setElementHook([&](OpBuilder &, Location, Value Tensor,
                               ValueRange Indices) -> Value {
    Operation *Of = Tensor.getDefiningOp();
    if (Of && Of == P.C.R.Op)
      return Combiner(P.C,
                      P.RotateHalf && !llvm::equal(Indices, At) ? Paired : Sum,
                      Indices);
    if (Of && P.Second && Of == P.Second->C.R.Op)
      return Combiner(P.Second->C, Paired, Indices);
    for (auto [Read, Element] : Known)
      if (Read == Tensor)
        return Element;
    return {};
  });
  Value Element = W.Emitter.element(W.B, P.C.R.Form.Outputs[0].Tensor, At);
  W.Emitter.setElementHook({});
  return Element;
}

void keepColumnsInside(GpuWriter &W, const GemmMatch &P, AccumulatorCoord &At,
                       int64_t Columns, int64_t TileColumns) {
  int64_t All = P.N.asConstant().value_or(0);
  if (!All || All % Columns)
    return;
  if (All % TileColumns)
    At.Column = W.B.createOrFold<arith::MinUIOp>(W.Loc, At.Column,
                                                 W.index(All - Columns));
  At.Columns = {};
}

Value mapAccumulators(GpuWriter &W, const GemmMatch &P,
                      const AccumulatorCoord &Where, Value Part,
                      LogicalResult &Result, Value Paired,
                      KnownElements Known) {
  using Values = SmallVector<Value>;
  auto From = cast<tile::FragmentType>(Part.getType());
  auto To = tile::FragmentType::get(W.B.getContext(), From.getShape(),
                                    P.D.Element, From.getLayout());
  Values Others, Within = {Where.Rows};
  SmallVector<Type> Arguments = {From.getElement(), W.B.getIndexType(),
                                 W.B.getIndexType()};
  if (Where.Columns)
    Within.push_back(Where.Columns);
  if (Paired) {
    Others.push_back(Paired);
    Arguments.push_back(From.getElement());
  }
  size_t FirstKnown = Arguments.size();
  for (Value Fragment : llvm::make_second_range(Known)) {
    Others.push_back(Fragment);
    Arguments.push_back(
        cast<tile::FragmentType>(Fragment.getType()).getElement());
  }
  Values First = {Where.Row, Where.Column};
  if (Where.Transposed) {
    std::swap(First[0], First[1]);
    std::swap(Within[0], Within[1]);
  }
  if (Where.ColumnOf) {
    First[0] = W.index(0);
    Within[0] = W.index(From.getRows());
  }
  auto Map = tile::MapOp::create(W.B, W.Loc, To, Part, First, Within, Others);
  OpBuilder::InsertionGuard Guard(W.B);
  Block *Body = W.B.createBlock(&Map.getBody(), {}, Arguments,
                                SmallVector<Location>(Arguments.size(), W.Loc));
  Value Row = Body->getArgument(Where.Transposed ? 2 : 1),
        Column = Body->getArgument(Where.Transposed ? 1 : 2);
  if (Where.ColumnOf)
    Column = Where.ColumnOf(Column);
  Values At = indicesOf(W, P, Where.Batch, Row, Column,
                        Where.Places ? Where.Places(Row) : Values());
  SmallVector<std::pair<Value, Value>> InBody;
  for (auto [Tensor, Element] :
       llvm::zip_equal(llvm::make_first_range(Known),
                       Body->getArguments().drop_front(FirstKnown)))
    InBody.emplace_back(Tensor, Element);
  Value Element = elementOfAccumulator(
      W, P, At, Body->getArgument(0),
      Paired ? Value(Body->getArgument(3)) : Value(), InBody);
  if (!Element)
    Result = failure();
  tile::YieldOp::create(W.B, W.Loc, Element);
  return Map.getResult();
}

Value valueOf(GpuWriter &W, FusedKernel &Form, const Expr &Size) {
  std::vector<std::string> Names;
  std::vector<int64_t> Program = Size.postfix([&](std::string_view Name) {
    Names.emplace_back(Name);
    return int64_t(Names.size()) - 1;
  });
  SmallVector<Value> Stack;
  auto Two = [&]<typename Op>() {
    Value Right = Stack.pop_back_val(), Left = Stack.pop_back_val();
    Stack.push_back(W.B.createOrFold<Op>(W.Loc, Left, Right));
  };
  for (size_t I = 0; I < Program.size(); ++I) {
    switch (Expr::PostfixOp(Program[I])) {
    case Expr::PostfixOp::Constant:
      Stack.push_back(W.index(Program[++I]));
      break;
    case Expr::PostfixOp::Symbol: {
      unsigned Number = 0;
      StringRef(Names[size_t(Program[++I])])
          .drop_front(3)
          .getAsInteger(10, Number);
      Stack.push_back(Form.Func.getArgument(Number));
      break;
    }
    case Expr::PostfixOp::Add:
      Two.template operator()<arith::AddIOp>();
      break;
    case Expr::PostfixOp::Mul:
      Two.template operator()<arith::MulIOp>();
      break;
    // Of sizes, none of which is negative.
    case Expr::PostfixOp::FloorDiv:
      Two.template operator()<arith::DivSIOp>();
      break;
    case Expr::PostfixOp::Mod:
      Two.template operator()<arith::RemSIOp>();
      break;
    case Expr::PostfixOp::Min:
      Two.template operator()<arith::MinSIOp>();
      break;
    case Expr::PostfixOp::Max:
      Two.template operator()<arith::MaxSIOp>();
      break;
    }
  }
  return Stack.back();
}

} // namespace kpc::kernels
