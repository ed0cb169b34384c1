//===- HostTileKernel.cpp - A tile of accumulators in registers -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/host/HostTileNest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

SmallVector<Value> TileNest::parallelLoops(const Tile &T, unsigned Row,
                                           Value Column) {
  SmallVector<Value> Loops(Plan.LoopSizes.size(), Zero);
  for (auto [G, Group] : llvm::enumerate(Plan.Parallel))
    Loops[Group.last()] = int(G) == Plan.Row        ? T.Rows[Row]
                          : G == Plan.vectorGroup() ? Column
                                                    : T.At[G];
  return Loops;
}

SmallVector<Value> TileNest::outputIndices(const Tile &T, unsigned Row,
                                           Value Column) {
  SmallVector<Value> Loops = parallelLoops(T, Row, Column);
  linalg::LinalgOp Root = Plan.Root;
  SmallVector<unsigned> Parallel;
  Root.getParallelDims(Parallel);
  return llvm::map_to_vector(Parallel,
                             [&](unsigned Loop) { return Loops[Loop]; });
}

SmallVector<Value> TileNest::initial(const Tile &T) {
  SmallVector<Value> Sums;
  linalg::LinalgOp Root = Plan.Root;
  for (unsigned R = 0; R < T.Height; ++R)
    for (const Column &C : Columns) {
      SmallVector<Value> At = outputIndices(T, R, C.From);
      Vectors.setMask(C.Mask);
      for (Value Init : Root.getDpsInits()) {
        Value V = Vectors.element(B, Init, At, int(At.size()) - 1);
        if (!V) {
          Result = failure();
          V = arith::ConstantOp::create(
              B, Loc,
              B.getZeroAttr(
                  cast<RankedTensorType>(Init.getType()).getElementType()));
        }
        Sums.push_back(Vectors.broadcast(B, V));
      }
      Vectors.setMask({});
    }
  return Sums;
}

SmallVector<Value> TileNest::accumulate(const Tile &T, const Chunk &C,
                                        ArrayRef<Value> Sums) {
  // Each operand's offset at the tile's first row and column.
  SmallVector<Value> Offsets;
  for (auto [I, Operand] : llvm::enumerate(Plan.Operands)) {
    Value Offset = Operands[I].Offset;
    if (Operand.From == TileOperand::Source::Direct ||
        Operand.From == TileOperand::Source::Region) {
      // A map's constant part is in a region's lower corner.
      if (Operand.From == TileOperand::Source::Direct) {
        SmallVector<Value> None(Plan.LoopSizes.size(), Zero);
        for (auto [Position, Expr] :
             llvm::enumerate(Operand.Map.getResults())) {
          Value Constant = Emitter.apply(B, Loc, Expr, None);
          if (getConstantIntValue(Constant) == 0)
            continue;
          Value Step = Emitter.materialize(
              B, strideOf(viewOf(Operand.tensor()), Position));
          Offset = add(Offset, mul(Constant, Step));
        }
      }
      bool Relative = Operand.From == TileOperand::Source::Region;
      for (auto [G, Group] : llvm::enumerate(Plan.Parallel)) {
        if (!Operand.dependsOn(Group))
          continue;
        Value At = G == Plan.vectorGroup() ? Columns.front().From : T.At[G];
        if (Relative)
          At = arith::SubIOp::create(B, Loc, At, Start[G]);
        Offset = add(Offset, mul(At, strideAlong(I, Group.last())));
      }
      for (auto [G, Group] : llvm::enumerate(Plan.Reduction))
        if (Operand.dependsOn(Group))
          Offset = add(Offset, mul(C.Origin[G], strideAlong(I, Group.last())));
    }
    Offsets.push_back(Offset);
  }
  SmallVector<Value> Loops(Plan.LoopSizes.size(), Zero);
  return steps(T, C, 0, Loops, Offsets, Sums);
}

SmallVector<Value> TileNest::steps(const Tile &T, const Chunk &C,
                                   unsigned Group, SmallVector<Value> Loops,
                                   SmallVector<Value> Offsets,
                                   ArrayRef<Value> Sums) {
  if (Group == Plan.Reduction.size())
    return step(T, Loops, Offsets, Sums);
  const JoinedLoops &G = Plan.Reduction[Group];
  auto Enter = [&](Value Inside, ArrayRef<Value> Carried) {
    SmallVector<Value> NextLoops(Loops), Next(Offsets);
    NextLoops[G.last()] = add(C.Origin[Group], Inside);
    // Panel rows follow one another over all groups.
    Value PanelStep = index(int64_t(Columns.size()) * Plan.Lanes);
    for (unsigned Inner = Group + 1; Inner < Plan.Reduction.size(); ++Inner)
      PanelStep = mul(PanelStep, C.Extent[Inner]);
    for (auto [I, Operand] : llvm::enumerate(Plan.Operands)) {
      if (Operand.From == TileOperand::Source::Panel)
        Next[I] = add(Next[I], mul(Inside, PanelStep));
      else if (Operand.From != TileOperand::Source::Pull &&
               Operand.dependsOn(G))
        Next[I] = add(Next[I], mul(Inside, strideAlong(I, G.last())));
    }
    return steps(T, C, Group + 1, NextLoops, Next, Carried);
  };
  if (Plan.Split && Group < Plan.ChunkGroup)
    return Enter(Zero, Sums);
  return makeSumLoop(
      B, Loc, Emitter, Combine, Blocks[Group], Zero, C.Extent[Group], 1, Sums,
      [&](OpBuilder &, Value Inside, ValueRange Carried) {
        return Enter(Inside, llvm::to_vector(Carried));
      },
      keepRolled);
}

/// Products whose operands are shared by a tile keep all registers for their
/// accumulators: putting them aside costs more, so it is done less often.
void TileNest::cutReduction() {
  Blocks.resize(Plan.Reduction.size());
  std::optional<Combination> Read = Combination::read(Plan.Root);
  if (!Read || !Read->addsReals())
    return;
  Combine = std::move(*Read);
  SmallVector<std::optional<int64_t>> Most;
  for (auto [G, Group] : llvm::enumerate(Plan.Reduction)) {
    std::optional<int64_t> Count = 1;
    for (unsigned Loop : Group.Loops) {
      std::optional<int64_t> Size = maxOf(Plan.LoopSizes[Loop]);
      Count = Count && Size ? std::optional(saturatingMul(*Count, *Size))
                            : std::nullopt;
    }
    if (Plan.Split && G < Plan.ChunkGroup)
      Count = 1;
    else if (Plan.Split && G == Plan.ChunkGroup)
      Count = std::min(Count.value_or(Plan.Chunk), Plan.Chunk);
    Most.push_back(Count);
  }
  bool Shares =
      Plan.Row >= 0 && llvm::any_of(Plan.Operands, [](const TileOperand &One) {
        return One.OnVector && !One.OnRow;
      });
  Blocks = cutSums(Most, Shares ? SharedSumBlock : SumBlock);
}

SmallVector<Value> TileNest::step(const Tile &T, ArrayRef<Value> Loops,
                                  ArrayRef<Value> Offsets,
                                  ArrayRef<Value> Sums) {
  linalg::LinalgOp Root = Plan.Root;
  llvm::DenseMap<int64_t, Value> Known;
  SmallVector<Value> Next;
  unsigned At = 0;
  for (unsigned R = 0; R < T.Height; ++R)
    for (unsigned C = 0; C < Columns.size(); ++C) {
      IRMapping Map;
      for (unsigned I = 0; I < Plan.Operands.size(); ++I) {
        const TileOperand &Operand = Plan.Operands[I];
        if (Operand.From == TileOperand::Source::Pull)
          continue; // by the body
        Value V = operandValue(I, R, C, Offsets, Known);
        if (Operand.Lift)
          Map.map(Operand.Lift->getResult(0), V);
        else
          Map.map(Root.getMatchingBlockArgument(Operand.Operand), V);
      }
      for (BlockArgument Arg : Root.getRegionOutputArgs())
        Map.map(Arg, Sums[At++]);
      SmallVector<Value> Indices = parallelLoops(T, R, Columns[C].From);
      for (const JoinedLoops &Group : Plan.Reduction)
        Indices[Group.last()] = Loops[Group.last()];
      SmallVector<Value> Yielded;
      Vectors.setMask(Columns[C].Mask);
      LogicalResult Done = Vectors.body(
          B, Root, Indices, Plan.Parallel.back().last(), Map, Yielded);
      Vectors.setMask({});
      if (failed(Done)) {
        Result = failure();
        return llvm::to_vector(Sums);
      }
      for (Value V : Yielded)
        Next.push_back(Vectors.broadcast(B, V));
    }
  return Next;
}

Value TileNest::operandValue(unsigned Number, unsigned Row, unsigned Column,
                             ArrayRef<Value> Offsets,
                             llvm::DenseMap<int64_t, Value> &Known) {
  const TileOperand &Operand = Plan.Operands[Number];
  unsigned KeyRow = Operand.OnRow ? Row : 0;
  unsigned KeyColumn = Operand.OnVector ? Column : 0;
  Value &V = Known[(int64_t(Number) << 32) | (KeyRow << 8) | KeyColumn];
  if (V)
    return V;
  Value Offset = Offsets[Number];
  if (Operand.OnRow)
    Offset =
        add(Offset,
            mul(strideAlong(Number, Plan.Parallel[Plan.Row].last()), KeyRow));
  Value Memory = Operands[Number].Memory;
  if (!Operand.OnVector) {
    V = memref::LoadOp::create(B, Loc, Memory, Offset);
    return V = Vectors.broadcast(B, V);
  }
  Offset = add(Offset, index(int64_t(KeyColumn) * Plan.Lanes));
  // Panels and regions have room for whole vectors.
  Vectors.setMask(Operand.From == TileOperand::Source::Direct
                      ? Columns[KeyColumn].Mask
                      : Value());
  V = Vectors.load(B, Loc, Memory, Offset);
  Vectors.setMask({});
  return V;
}

//===----------------------------------------------------------------------===//
// Consumers
//===----------------------------------------------------------------------===//

void TileNest::finish(const Tile &T, ArrayRef<Value> Sums) {
  if (!Plan.VectorEpilogue)
    return finishScalar(T, Sums);
  linalg::LinalgOp Root = Plan.Root;
  unsigned NumResults = numResults();
  for (unsigned R = 0; R < T.Height; ++R)
    for (auto [C, Column] : llvm::enumerate(Columns)) {
      ArrayRef<Value> Mine =
          Sums.slice((R * Columns.size() + C) * NumResults, NumResults);
      SmallVector<Value> At = outputIndices(T, R, Column.From);
      Vectors.setMask(Column.Mask);
      Vectors.setElementHook(
          [&](OpBuilder &, Value Tensor, ValueRange) -> Value {
            if (Tensor.getDefiningOp() != Root)
              return {};
            return Mine[cast<OpResult>(Tensor).getResultNumber()];
          });
      for (const KernelOutput &Out : Form.Outputs) {
        Value V = Vectors.element(B, Out.Tensor, At, int(At.size()) - 1);
        if (!V) {
          Result = failure();
          continue;
        }
        Vectors.store(B, Loc, V, Out.Memref, At);
      }
      Vectors.setElementHook(nullptr);
      Vectors.setMask({});
    }
}

/// Consumers that have no vector form: the accumulators go through memory, and
/// each element is pulled by itself.
void TileNest::finishScalar(const Tile &T, ArrayRef<Value> Sums) {
  linalg::LinalgOp Root = Plan.Root;
  unsigned NumResults = numResults();
  int64_t Width = int64_t(Columns.size()) * Plan.Lanes;
  SmallVector<Value> Memory;
  for (unsigned N = 0; N < NumResults; ++N)
    Memory.push_back(scratch(T.Height * Width, resultType(N)));
  unsigned I = 0;
  for (unsigned R = 0; R < T.Height; ++R)
    for (unsigned C = 0; C < Columns.size(); ++C)
      for (unsigned N = 0; N < NumResults; ++N)
        vector::StoreOp::create(B, Loc, Sums[I++], Memory[N],
                                index(R * Width + int64_t(C) * Plan.Lanes));
  Value Stop = arith::MinSIOp::create(
      B, Loc, add(Columns.front().From, index(Width)), ParallelSizes.back());
  loop(Zero, index(T.Height), 1, [&](Value Row) {
    Tile Single{T.At, {}, 1};
    if (Plan.Row >= 0)
      Single.Rows.push_back(add(T.At[Plan.Row], Row));
    loop(Columns.front().From, Stop, 1, [&](Value Column) {
      SmallVector<Value> At = outputIndices(Single, 0, Column);
      Value Inside =
          arith::SubIOp::create(B, Loc, Column, Columns.front().From);
      Value Offset = add(mul(Row, Width), Inside);
      Emitter.setElementHook(
          [&](OpBuilder &, Location, Value Tensor, ValueRange) -> Value {
            if (Tensor.getDefiningOp() != Root)
              return {};
            unsigned N = cast<OpResult>(Tensor).getResultNumber();
            return memref::LoadOp::create(B, Loc, Memory[N], Offset);
          });
      for (const KernelOutput &Out : Form.Outputs) {
        Value V = Emitter.element(B, Out.Tensor, At);
        if (!V)
          Result = failure();
        else
          memref::StoreOp::create(B, Loc, V, Out.Memref, At);
      }
      Emitter.setElementHook(nullptr);
    });
  });
}

} // namespace kpc::kernels
