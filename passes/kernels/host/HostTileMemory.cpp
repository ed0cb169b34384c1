//===- HostTileMemory.cpp - Regions, panels and partial sums --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/host/HostTileNest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

Value TileNest::ceilDiv(Value A, int64_t C) {
  if (C == 1)
    return A;
  if (auto Known = getConstantIntValue(A))
    return index(llvm::divideCeil(*Known, C));
  return arith::DivUIOp::create(B, Loc, add(A, index(C - 1)), index(C));
}

void TileNest::loop(Value Lower, Value Upper, int64_t Step,
                    llvm::function_ref<void(Value)> Body) {
  keepRolled(makeLoop(B, Loc, Lower, Upper, index(Step), {},
                      [&](OpBuilder &, Value At, ValueRange) {
                        Body(At);
                        return SmallVector<Value>();
                      }));
}

/// The conversion that the body would make of an operand.
Value TileNest::lifted(const TileOperand &Operand, Value V) {
  if (!Operand.Lift)
    return V;
  IRMapping Map;
  Map.map(Operand.Lift->getOperand(0), V);
  Operation *New = Operand.Lift->clone(Map);
  if (isa<VectorType>(V.getType()))
    New->getResult(0).setType(Vectors.vectorOf(Operand.Element));
  return B.insert(New)->getResult(0);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void TileNest::fillRegion(unsigned Number) {
  const TileOperand &Operand = Plan.Operands[Number];
  SmallVector<Value> Loops(Plan.LoopSizes.size(), Zero);
  SmallVector<Value> Counts(Plan.LoopSizes.size(), One);
  for (auto [G, Group] : llvm::enumerate(Plan.Parallel)) {
    Loops[Group.last()] = Start[G];
    Counts[Group.last()] = Extent[G];
  }
  SmallVector<unsigned> Reduction;
  linalg::LinalgOp Root = Plan.Root;
  Root.getReductionDims(Reduction);
  for (unsigned Loop : Reduction)
    Counts[Loop] = LoopSizes[Loop];
  SmallVector<Value> Lower, Upper;
  for (AffineExpr Expr : Operand.Map.getResults()) {
    Lower.push_back(Emitter.apply(B, Loc, Expr, Loops));
    Value Last = Lower.back();
    for (unsigned Loop = 0; Loop < Counts.size(); ++Loop)
      if (int64_t Factor = factorOf(Expr, Loop)) {
        Value Steps = add(Counts[Loop], index(-1));
        Last = add(Last, mul(Steps, Factor));
      }
    Upper.push_back(add(Last, One));
  }
  // The tensor of a strided window may end before the box does; an empty
  // reduction reads nothing.
  for (auto [Dim, Bound] : llvm::enumerate(Upper)) {
    AffineExpr Expr = Operand.Map.getResult(Dim);
    // The index of several loops walked as one runs past its own dim on
    // purpose.
    bool Joined = llvm::any_of(Plan.Parallel, [&](const JoinedLoops &Group) {
      return Group.Loops.size() > 1 && factorOf(Expr, Group.last()) != 0;
    });
    if (isa<AffineDimExpr>(Expr) || Joined)
      continue;
    Value Size = Emitter.materialize(B, tensorSize(Operand.tensor(), Dim));
    Bound = arith::MinSIOp::create(B, Loc, Bound, Size);
  }
  fillBox(Number, 0, Lower, Upper, {}, Zero);
}

void TileNest::fillBox(unsigned Number, unsigned Dim, ArrayRef<Value> Lower,
                       ArrayRef<Value> Upper, SmallVector<Value> At,
                       Value Offset) {
  const TileOperand &Operand = Plan.Operands[Number];
  OperandState &State = Operands[Number];
  unsigned Rank = Lower.size();
  auto Store = [&](Value Element) {
    if (!Element) {
      Result = failure();
      return;
    }
    memref::StoreOp::create(B, Loc, lifted(Operand, Element), State.Memory,
                            Offset);
  };
  if (Rank == 0)
    return Store(Emitter.element(B, Operand.tensor(), At));
  auto Next = [&](Value Index) {
    Value Inside = arith::SubIOp::create(B, Loc, Index, Lower[Dim]);
    return add(Offset, mul(Inside, Operand.BoxStrides[Dim]));
  };
  if (Dim + 1 < Rank)
    return loop(Lower[Dim], Upper[Dim], 1, [&](Value Index) {
      SmallVector<Value> Inner(At);
      Inner.push_back(Index);
      fillBox(Number, Dim + 1, Lower, Upper, Inner, Next(Index));
    });
  // The last dim: vectors, then single elements.
  Value From = Lower[Dim];
  if (VectorEmitter::vectorises(Operand.tensor(), Dim, nullptr)) {
    Value Count = arith::SubIOp::create(B, Loc, Upper[Dim], From);
    Value Whole = arith::DivSIOp::create(B, Loc, Count, index(Plan.Lanes));
    Value Middle = add(From, mul(Whole, Plan.Lanes));
    loop(From, Middle, Plan.Lanes, [&](Value Index) {
      SmallVector<Value> Inner(At);
      Inner.push_back(Index);
      Vectors.setMask({});
      Value V = Vectors.element(B, Operand.tensor(), Inner, Dim);
      if (!V) {
        Result = failure();
        return;
      }
      V = lifted(Operand, Vectors.broadcast(B, V));
      vector::StoreOp::create(B, Loc, V, State.Memory, Next(Index));
    });
    From = Middle;
  }
  loop(From, Upper[Dim], 1, [&](Value Index) {
    SmallVector<Value> Inner(At);
    Inner.push_back(Index);
    Offset = Next(Index);
    Store(Emitter.element(B, Operand.tensor(), Inner));
  });
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

void TileNest::fillPanels(const Chunk &C) {
  for (unsigned I = 0; I < Plan.Operands.size(); ++I)
    if (Plan.Operands[I].From == TileOperand::Source::Panel)
      fillPanel(I, C);
}

void TileNest::fillPanel(unsigned Number, const Chunk &C) {
  const TileOperand &Operand = Plan.Operands[Number];
  if (!Operand.Contiguous)
    return panelScalars(Number, C);
  SmallVector<Value> Loops(Plan.LoopSizes.size(), Zero);
  for (auto [G, Group] : llvm::enumerate(Plan.Parallel))
    Loops[Group.last()] = Start[G];
  panelRows(C, 0, Loops, Zero, [&](ArrayRef<Value> At, Value Step) {
    panelVectors(Number, At, Step);
  });
}

/// Calls `Body` with the loop indices of each reduction step of `C` and its
/// number in the panel.
void TileNest::panelRows(
    const Chunk &C, unsigned Group, SmallVector<Value> Loops, Value Step,
    llvm::function_ref<void(ArrayRef<Value>, Value)> Body) {
  if (Group == Plan.Reduction.size())
    return Body(Loops, Step);
  const JoinedLoops &G = Plan.Reduction[Group];
  auto Enter = [&](Value Inside) {
    Value At = add(C.Origin[Group], Inside);
    SmallVector<Value> Sizes;
    for (unsigned Loop : G.Loops)
      Sizes.push_back(LoopSizes[Loop]);
    SmallVector<Value> Next(Loops);
    for (auto [Loop, Index] :
         llvm::zip_equal(G.Loops, delinearize(B, Loc, At, Sizes)))
      Next[Loop] = Index;
    panelRows(C, Group + 1, Next, add(mul(Step, C.Extent[Group]), Inside),
              Body);
  };
  if (Plan.Split && Group < Plan.ChunkGroup)
    return Enter(Zero);
  loop(Zero, C.Extent[Group], 1, Enter);
}

void TileNest::panelVectors(unsigned Number, ArrayRef<Value> Loops,
                            Value Step) {
  const TileOperand &Operand = Plan.Operands[Number];
  unsigned Lane = Plan.Parallel.back().last();
  int LaneDim = -1;
  for (auto [Position, Expr] : llvm::enumerate(Operand.Map.getResults()))
    if (Expr.isFunctionOfDim(Lane))
      LaneDim = Position;
  for (auto [V, Column] : llvm::enumerate(Columns)) {
    SmallVector<Value> At(Loops);
    At[Lane] = Column.From;
    SmallVector<Value> Indices;
    for (AffineExpr Expr : Operand.Map.getResults())
      Indices.push_back(Emitter.apply(B, Loc, Expr, At));
    Vectors.setMask(Column.Mask);
    Value Row = Vectors.element(B, Operand.tensor(), Indices, LaneDim);
    Vectors.setMask({});
    if (!Row) {
      Result = failure();
      return;
    }
    Row = lifted(Operand, Vectors.broadcast(B, Row));
    Value Offset = add(mul(Step, int64_t(Columns.size()) * Plan.Lanes),
                       index(V * Plan.Lanes));
    vector::StoreOp::create(B, Loc, Row, Operands[Number].Memory, Offset);
  }
}

/// Columns apart from one another in memory: one column after the other, so
/// that what is contiguous along the reduction is read so. Columns that do not
/// exist repeat the last one; nothing is made of them.
void TileNest::panelScalars(unsigned Number, const Chunk &C) {
  const TileOperand &Operand = Plan.Operands[Number];
  unsigned Lane = Plan.Parallel.back().last();
  int64_t Width = int64_t(Columns.size()) * Plan.Lanes;
  Value Last = add(ParallelSizes.back(), index(-1));
  loop(Zero, index(Width), 1, [&](Value Column) {
    Value At = add(Columns.front().From, Column);
    if (Columns.back().Mask)
      At = arith::MinSIOp::create(B, Loc, At, Last);
    SmallVector<Value> Loops(Plan.LoopSizes.size(), Zero);
    for (auto [G, Group] : llvm::enumerate(Plan.Parallel))
      Loops[Group.last()] = Start[G];
    Loops[Lane] = At;
    panelRows(C, 0, Loops, Zero, [&](ArrayRef<Value> Step, Value Number2) {
      SmallVector<Value> Indices;
      for (AffineExpr Expr : Operand.Map.getResults())
        Indices.push_back(Emitter.apply(B, Loc, Expr, Step));
      Value Element = Emitter.element(B, Operand.tensor(), Indices);
      if (!Element) {
        Result = failure();
        return;
      }
      memref::StoreOp::create(B, Loc, lifted(Operand, Element),
                              Operands[Number].Memory,
                              add(mul(Number2, Width), Column));
    });
  });
}

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

void TileNest::makeSums() {
  if (!SumMemory.empty())
    return;
  for (unsigned R = 0; R < numResults(); ++R)
    SumMemory.push_back(
        scratch(Plan.unitRows() * Plan.tileColumns(), resultType(R)));
}

Value TileNest::sumOffset(const Tile &T, unsigned Row, unsigned Column) {
  Value At = Zero;
  for (unsigned G = 0; G < Plan.vectorGroup(); ++G) {
    if (Plan.Blocks[G] == 1)
      continue;
    Value Absolute = int(G) == Plan.Row ? T.Rows[Row] : T.At[G];
    Value Inside = arith::SubIOp::create(B, Loc, Absolute, Start[G]);
    At = add(mul(At, Plan.Blocks[G]), Inside);
  }
  return add(mul(At, Plan.tileColumns()), index(Column * Plan.Lanes));
}

void TileNest::storeSums(const Tile &T, ArrayRef<Value> Sums) {
  unsigned I = 0;
  for (unsigned R = 0; R < T.Height; ++R)
    for (unsigned C = 0; C < Columns.size(); ++C) {
      Value Offset = sumOffset(T, R, C);
      for (unsigned N = 0; N < numResults(); ++N)
        vector::StoreOp::create(B, Loc, Sums[I++], SumMemory[N], Offset);
    }
}

SmallVector<Value> TileNest::loadSums(const Tile &T) {
  SmallVector<Value> Sums;
  for (unsigned R = 0; R < T.Height; ++R)
    for (unsigned C = 0; C < Columns.size(); ++C) {
      Value Offset = sumOffset(T, R, C);
      for (unsigned N = 0; N < numResults(); ++N)
        Sums.push_back(vector::LoadOp::create(
            B, Loc, Vectors.vectorOf(resultType(N)), SumMemory[N], Offset));
    }
  return Sums;
}

} // namespace kpc::kernels
