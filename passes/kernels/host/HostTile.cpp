//===- HostTile.cpp - Reductions in register tiles ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Builds the loops of a TilePlan. A unit is a block of rows times a block of
/// columns:
///
///   fill the regions of the unit
///   for each run of columns as wide as a tile:
///     for each chunk of the reduction:
///       fill the panels
///       for each tile of rows: accumulate in registers
///     consumers of the root generic on the accumulators, store
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/host/HostTileNest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

LogicalResult TileNest::emit(Value Begin, Value End) {
  Zero = Emitter.constantIndex(B, 0);
  One = Emitter.constantIndex(B, 1);
  for (OpFoldResult Size : Plan.LoopSizes)
    LoopSizes.push_back(Emitter.materialize(B, Size));
  for (const JoinedLoops &Group : Plan.Parallel)
    ParallelSizes.push_back(groupSize(Group));
  for (const JoinedLoops &Group : Plan.Reduction)
    ReductionSizes.push_back(groupSize(Group));
  for (const TileOperand &Operand : Plan.Operands)
    prepareOperand(Operand);
  cutReduction();
  // Units: column blocks vary slowest, so that a thread reads few weights.
  SmallVector<Value> Counts;
  for (auto [Size, Block] : llvm::zip_equal(ParallelSizes, Plan.Blocks))
    Counts.push_back(ceilDiv(Size, Block));
  std::rotate(Counts.begin(), Counts.end() - 1, Counts.end());
  loop(Begin, End, 1, [&](Value Unit) {
    SmallVector<Value> At = delinearize(B, Loc, Unit, Counts);
    std::rotate(At.begin(), At.begin() + 1, At.end());
    Start.clear();
    Extent.clear();
    for (auto [G, Block] : llvm::enumerate(Plan.Blocks)) {
      Start.push_back(mul(At[G], Block));
      Extent.push_back(blockExtent(G, Start.back()));
    }
    unit();
  });
  return Result;
}

Value TileNest::groupSize(const JoinedLoops &Group) {
  SmallVector<Value> Sizes;
  for (unsigned Loop : Group.Loops)
    Sizes.push_back(LoopSizes[Loop]);
  return product(B, Loc, Emitter, Sizes);
}

Value TileNest::blockExtent(unsigned Group, Value From) {
  int64_t Block = Plan.Blocks[Group];
  auto Size = Plan.Parallel[Group].constant();
  if (Block == 1 || (Size && *Size % Block == 0))
    return index(Block);
  if (Size && *Size < Block)
    return index(*Size);
  Value Rest = arith::SubIOp::create(B, Loc, ParallelSizes[Group], From);
  return arith::MinSIOp::create(B, Loc, Rest, index(Block));
}

void TileNest::prepareOperand(const TileOperand &Operand) {
  OperandState State;
  if (Operand.From == TileOperand::Source::Direct) {
    State.Memory = flatView(viewOf(Operand.tensor()), State.Offset);
  } else if (Operand.From == TileOperand::Source::Region) {
    // A vector may be read past the last element that counts.
    State.Memory =
        scratch(Operand.boxElements() + Plan.tileColumns(), Operand.Element);
    State.Offset = Zero;
  } else if (Operand.From == TileOperand::Source::Panel) {
    int64_t Steps = 1;
    for (auto [G, Group] : llvm::enumerate(Plan.Reduction)) {
      if (Plan.Split && G < Plan.ChunkGroup)
        continue;
      Steps *=
          Plan.Split && G == Plan.ChunkGroup ? Plan.Chunk : *Group.constant();
    }
    State.Memory = scratch(Steps * Plan.tileColumns(), Operand.Element);
    State.Offset = Zero;
  }
  Operands.push_back(State);
}

Value TileNest::scratch(int64_t Elements, Type Element) {
  OpBuilder::InsertionGuard Guard(B);
  B.setInsertionPointToStart(&Func.getBody().front());
  auto Type = MemRefType::get({std::max<int64_t>(Elements, 1)}, Element);
  return memref::AllocaOp::create(B, Loc, Type, B.getI64IntegerAttr(64));
}

/// The buffer behind `View` as one row of elements.
Value TileNest::flatView(Value View, Value &Offset) {
  auto Cast = View.getDefiningOp<memref::ReinterpretCastOp>();
  Offset = Emitter.materialize(B, Cast.getMixedOffsets().front());
  Type Element = cast<MemRefType>(View.getType()).getElementType();
  auto Layout = StridedLayoutAttr::get(B.getContext(), 0, {1});
  auto Type = MemRefType::get({ShapedType::kDynamic}, Element, Layout);
  // The size is not read by anything; one that is true is at hand.
  Value Size = Emitter.constantIndex(B, 1);
  for (OpFoldResult One : Cast.getMixedSizes())
    Size = Emitter.mul(B, Loc, Size, Emitter.materialize(B, One));
  return memref::ReinterpretCastOp::create(
      B, Loc, Type, Cast.getSource(), OpFoldResult(B.getIndexAttr(0)),
      ArrayRef<OpFoldResult>{Size}, ArrayRef<OpFoldResult>{B.getIndexAttr(1)});
}

Value TileNest::strideAlong(unsigned Number, unsigned Loop) {
  const TileOperand &Operand = Plan.Operands[Number];
  Value Total = Zero;
  for (auto [Position, Expr] : llvm::enumerate(Operand.Map.getResults())) {
    int64_t Factor = factorOf(Expr, Loop);
    if (Factor == 0)
      continue;
    Value Step = Operand.From == TileOperand::Source::Region
                     ? index(Operand.BoxStrides[Position])
                     : Emitter.materialize(
                           B, strideOf(viewOf(Operand.tensor()), Position));
    Total = add(Total, mul(Step, Factor));
  }
  return Total;
}

void TileNest::unit() {
  for (unsigned I = 0; I < Plan.Operands.size(); ++I)
    if (Plan.Operands[I].From == TileOperand::Source::Region)
      fillRegion(I);
  unsigned V = Plan.vectorGroup();
  Value Stop = add(Start[V], Extent[V]);
  if (Plan.Blocks[V] == Plan.tileColumns())
    return columns(Start[V]);
  loop(Start[V], Stop, Plan.tileColumns(), [&](Value At) { columns(At); });
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

void TileNest::columns(Value At) {
  int64_t Width = Plan.tileColumns();
  auto Size = Plan.Parallel.back().constant();
  if (Size && *Size % Width == 0)
    return run(At, Plan.Vectors, /*Whole=*/true);
  if (Size && *Size < Width)
    return run(At, llvm::divideCeil(*Size, Plan.Lanes), /*Whole=*/false);
  Value Whole =
      arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::sle,
                            add(At, index(Width)), ParallelSizes.back());
  auto If = scf::IfOp::create(B, Loc, Whole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard Guard(B);
  B.setInsertionPointToStart(If.thenBlock());
  run(At, Plan.Vectors, true);
  B.setInsertionPointToStart(If.elseBlock());
  int64_t Rest = Size ? int64_t(llvm::divideCeil(*Size % Width, Plan.Lanes))
                      : Plan.Vectors;
  run(At, Rest, false);
}

void TileNest::run(Value At, unsigned Vectors, bool Whole) {
  Columns.clear();
  for (unsigned V = 0; V < Vectors; ++V) {
    Value From = add(At, index(int64_t(V) * Plan.Lanes));
    Columns.push_back({From, Whole ? Value() : maskFrom(From, V)});
  }
  if (!Plan.Split) {
    SmallVector<Value> Origin(Plan.Reduction.size(), Zero);
    Chunk Whole{Origin, ReductionSizes};
    fillPanels(Whole);
    return rowTiles([&](const Tile &T) {
      SmallVector<Value> Sums = accumulate(T, Whole, initial(T));
      finish(T, Sums);
    });
  }
  makeSums();
  rowTiles([&](const Tile &T) { storeSums(T, initial(T)); });
  chunks(0, SmallVector<Value>(), [&](const Chunk &C) {
    fillPanels(C);
    rowTiles(
        [&](const Tile &T) { storeSums(T, accumulate(T, C, loadSums(T))); });
  });
  rowTiles([&](const Tile &T) { finish(T, loadSums(T)); });
}

Value TileNest::maskFrom(Value From, unsigned V) {
  auto Type = VectorType::get({int64_t(Plan.Lanes)}, B.getI1Type());
  if (auto Size = Plan.Parallel.back().constant()) {
    int64_t Width = Plan.tileColumns();
    int64_t Rest = *Size % Width - int64_t(V) * Plan.Lanes;
    if (Rest >= int64_t(Plan.Lanes))
      return {};
    SmallVector<bool> Lanes(Plan.Lanes, false);
    std::fill_n(Lanes.begin(), std::max<int64_t>(Rest, 0), true);
    return arith::ConstantOp::create(
        B, Loc, DenseElementsAttr::get(Type, ArrayRef<bool>(Lanes)));
  }
  Value Rest = arith::SubIOp::create(B, Loc, ParallelSizes.back(), From);
  Value Lanes = Vectors.laneNumbers(B, Loc);
  return arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::slt, Lanes,
                               Vectors.broadcast(B, Rest));
}

void TileNest::chunks(unsigned Group, SmallVector<Value> Origin,
                      llvm::function_ref<void(const Chunk &)> Body) {
  if (Group < Plan.ChunkGroup) {
    loop(Zero, ReductionSizes[Group], 1, [&](Value At) {
      SmallVector<Value> Next(Origin);
      Next.push_back(At);
      chunks(Group + 1, Next, Body);
    });
    return;
  }
  loop(Zero, ReductionSizes[Group], Plan.Chunk, [&](Value At) {
    Chunk C;
    C.Origin = Origin;
    C.Origin.push_back(At);
    C.Extent.assign(Group, One);
    auto Size = Plan.Reduction[Group].constant();
    if (Size && *Size % Plan.Chunk == 0) {
      C.Extent.push_back(index(Plan.Chunk));
    } else {
      Value Rest = arith::SubIOp::create(B, Loc, ReductionSizes[Group], At);
      C.Extent.push_back(
          arith::MinSIOp::create(B, Loc, Rest, index(Plan.Chunk)));
    }
    for (unsigned G = Group + 1; G < Plan.Reduction.size(); ++G) {
      C.Origin.push_back(Zero);
      C.Extent.push_back(ReductionSizes[G]);
    }
    Body(C);
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void TileNest::rowTiles(llvm::function_ref<void(const Tile &)> Body) {
  SmallVector<Value> At(Start);
  otherRows(0, At, Body);
}

void TileNest::otherRows(unsigned Group, SmallVector<Value> At,
                         llvm::function_ref<void(const Tile &)> Body) {
  if (Group == Plan.vectorGroup())
    return rowRuns(At, Body);
  if (int(Group) == Plan.Row || Plan.Blocks[Group] == 1)
    return otherRows(Group + 1, At, Body);
  Value Stop = add(Start[Group], Extent[Group]);
  loop(Start[Group], Stop, 1, [&](Value Index) {
    SmallVector<Value> Next(At);
    Next[Group] = Index;
    otherRows(Group + 1, Next, Body);
  });
}

/// Tiles of Plan.Rows rows, then smaller ones for what is left.
void TileNest::rowRuns(ArrayRef<Value> At,
                       llvm::function_ref<void(const Tile &)> Body) {
  if (Plan.Row < 0)
    return Body(Tile{SmallVector<Value>(At), {}, 1});
  unsigned Row = Plan.Row;
  int64_t Known = 1; // divides the number of rows of every block
  int64_t Most = Plan.Blocks[Row];
  if (auto Size = Plan.Parallel[Row].constant()) {
    Known = std::gcd(Plan.Blocks[Row], *Size);
    Most = std::min(Most, *Size);
  } else {
    Known = std::gcd(Plan.Blocks[Row], Facts.divisor(Plan.Parallel[Row].Size));
  }
  Known = std::max<int64_t>(Known, 1);
  Value From = Start[Row], Stop = add(Start[Row], Extent[Row]);
  SmallVector<int64_t> Heights{Plan.Rows};
  // Divides what tiles of all these heights leave.
  auto Leftover = [&] {
    int64_t Common = Known;
    for (int64_t Height : Heights)
      Common = std::gcd(Common, Height);
    return Common;
  };
  if (Known == Most && Most % Plan.Rows != 0)
    Heights.push_back(Most % Plan.Rows); // all blocks are alike
  else
    while (Leftover() != Heights.back()) {
      int64_t Half = Heights.back() / 2;
      if (Known % Half != 0 && Half > 4)
        Half = 4;
      Heights.push_back(std::max<int64_t>(Half, 1));
      if (Heights.back() == 4)
        Heights.push_back(1);
    }
  for (int64_t Height : Heights) {
    Value Rest = arith::SubIOp::create(B, Loc, Stop, From);
    Value Count = arith::DivUIOp::create(B, Loc, Rest, index(Height));
    Value Next = add(From, mul(Count, Height));
    loop(From, Next, Height, [&](Value Index) {
      Tile T{SmallVector<Value>(At), {}, unsigned(Height)};
      T.At[Row] = Index;
      for (int64_t R = 0; R < Height; ++R)
        T.Rows.push_back(add(Index, index(R)));
      Body(T);
    });
    From = Next;
  }
}

//===----------------------------------------------------------------------===//
// Builder
//===----------------------------------------------------------------------===//

FailureOr<bool> buildHostTile(FusedKernel &Form, const HostMachine &Machine) {
  std::optional<TilePlan> Plan = planTiles(Form, Machine);
  if (!Plan)
    return false;
  shape::Facts Facts = factsOf(Form.Func);
  double UnitCost = double(Plan->unitRows()) * Plan->Blocks.back();
  for (const JoinedLoops &Group : Plan->Reduction)
    UnitCost *= std::max<int64_t>(Group.Typical, 1);
  shape::Expr Work = Plan->work();
  UnitRange Range = addUnitRange(Form.Func);
  // A task of some microseconds at a vector multiply-add per cycle.
  setLaunch(Form.Func, Work, int64_t(2e5 / std::max(UnitCost, 1.0)),
            Plan->text());
  OpBuilder B(Form.Func.getBody().front().getTerminator());
  ElementEmitter Emitter;
  TileNest Nest(B, Form, *Plan, Machine, Emitter, Facts);
  if (failed(Nest.emit(Range.Begin, Range.End)))
    return failure();
  eraseTensorOps(Form.Func);
  return true;
}

} // namespace kpc::kernels
