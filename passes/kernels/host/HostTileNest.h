//===- HostTileNest.h - The loops of a tile plan ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Emits a TilePlan. HostTile.cpp makes the loops over units, columns and rows;
/// HostTileKernel.cpp what happens in a register tile; HostTileMemory.cpp fills
/// regions and panels.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_HOST_HOSTTILENEST_H
#define KPC_PASSES_KERNELS_HOST_HOSTTILENEST_H

#include "passes/kernels/form/VectorEmitter.h"
#include "passes/kernels/host/HostPartialSums.h"
#include "passes/kernels/host/HostTilePlan.h"

namespace kpc::kernels {

class TileNest {
public:
  TileNest(mlir::OpBuilder &B, FusedKernel &Form, const TilePlan &Plan,
           const HostMachine &Machine, ElementEmitter &Emitter,
           const shape::Facts &Facts)
      : B(B), Loc(Form.Func.getLoc()), Func(Form.Func), Form(Form), Plan(Plan),
        Emitter(Emitter), Facts(Facts),
        Vectors(Emitter, Plan.Lanes, Machine.HasFma) {}

  mlir::LogicalResult emit(mlir::Value Begin, mlir::Value End);

private:
  using Value = mlir::Value;
  template <typename T> using Vector = llvm::SmallVector<T>;

  /// One vector of columns; a null mask: all lanes exist.
  struct Column {
    Value From;
    Value Mask;
  };
  /// A part of the reduction, per reduction group.
  struct Chunk {
    Vector<Value> Origin;
    Vector<Value> Extent;
  };
  /// A register tile: absolute indices per parallel group (the vector group's
  /// is not used), and of each row.
  struct Tile {
    Vector<Value> At;
    Vector<Value> Rows;
    unsigned Height;
  };
  /// Where the inner loop finds an operand.
  struct OperandState {
    Value Memory; ///< one row of elements
    Value Offset;
  };

  // HostTile.cpp
  Value groupSize(const JoinedLoops &Group);
  Value blockExtent(unsigned Group, Value From);
  void prepareOperand(const TileOperand &Operand);
  Value scratch(int64_t Elements, mlir::Type Element);
  Value flatView(Value View, Value &Offset);
  /// Elements from one index of `Loop` to the next.
  Value strideAlong(unsigned Operand, unsigned Loop);
  void unit();
  void columns(Value At);
  void run(Value At, unsigned Vectors, bool Whole);
  Value maskFrom(Value From, unsigned V);
  void chunks(unsigned Group, Vector<Value> Origin,
              llvm::function_ref<void(const Chunk &)> Body);
  void rowTiles(llvm::function_ref<void(const Tile &)> Body);
  void otherRows(unsigned Group, Vector<Value> At,
                 llvm::function_ref<void(const Tile &)> Body);
  void rowRuns(llvm::ArrayRef<Value> At,
               llvm::function_ref<void(const Tile &)> Body);

  // HostTileMemory.cpp
  void fillRegion(unsigned Operand);
  void fillBox(unsigned Operand, unsigned Dim, llvm::ArrayRef<Value> Lower,
               llvm::ArrayRef<Value> Upper, Vector<Value> At, Value Offset);
  void fillPanels(const Chunk &C);
  void fillPanel(unsigned Operand, const Chunk &C);
  void panelRows(const Chunk &C, unsigned Group, Vector<Value> Loops,
                 Value Step,
                 llvm::function_ref<void(llvm::ArrayRef<Value>, Value)> Body);
  void panelVectors(unsigned Operand, llvm::ArrayRef<Value> Loops, Value Step);
  void panelScalars(unsigned Operand, const Chunk &C);
  Value lifted(const TileOperand &Operand, Value V);
  void makeSums();
  void storeSums(const Tile &T, llvm::ArrayRef<Value> Sums);
  Vector<Value> loadSums(const Tile &T);
  Value sumOffset(const Tile &T, unsigned Row, unsigned Column);

  // HostTileKernel.cpp
  /// Accumulators are ordered by row, then column, then result.
  Vector<Value> initial(const Tile &T);
  Vector<Value> accumulate(const Tile &T, const Chunk &C,
                           llvm::ArrayRef<Value> Sums);
  Vector<Value> steps(const Tile &T, const Chunk &C, unsigned Group,
                      Vector<Value> Loops, Vector<Value> Offsets,
                      llvm::ArrayRef<Value> Sums);
  /// Cuts of the reduction groups, where sums are made in blocks.
  void cutReduction();
  Vector<Value> step(const Tile &T, llvm::ArrayRef<Value> Loops,
                     llvm::ArrayRef<Value> Offsets, llvm::ArrayRef<Value> Sums);
  Value operandValue(unsigned Operand, unsigned Row, unsigned Column,
                     llvm::ArrayRef<Value> Offsets,
                     llvm::DenseMap<int64_t, Value> &Known);
  void finish(const Tile &T, llvm::ArrayRef<Value> Sums);
  void finishScalar(const Tile &T, llvm::ArrayRef<Value> Sums);
  /// Indices of an output element.
  Vector<Value> outputIndices(const Tile &T, unsigned Row, Value Column);
  Vector<Value> parallelLoops(const Tile &T, unsigned Row, Value Column);
  unsigned numResults() const {
    mlir::linalg::LinalgOp Root = Plan.Root;
    return Root->getNumResults();
  }
  mlir::Type resultType(unsigned Number) const {
    mlir::linalg::LinalgOp Root = Plan.Root;
    return mlir::cast<mlir::RankedTensorType>(Root->getResult(Number).getType())
        .getElementType();
  }

  Value index(int64_t V) { return Emitter.constantIndex(B, V); }
  Value add(Value A, Value C) { return Emitter.add(B, Loc, A, C); }
  Value mul(Value A, Value C) { return Emitter.mul(B, Loc, A, C); }
  Value mul(Value A, int64_t C) { return mul(A, index(C)); }
  Value ceilDiv(Value A, int64_t C);
  void loop(Value Lower, Value Upper, int64_t Step,
            llvm::function_ref<void(Value)> Body);

  mlir::OpBuilder &B;
  mlir::Location Loc;
  mlir::func::FuncOp Func;
  FusedKernel &Form;
  const TilePlan &Plan;
  ElementEmitter &Emitter;
  const shape::Facts &Facts;
  VectorEmitter Vectors;
  mlir::LogicalResult Result = mlir::success();

  Value Zero, One;
  Vector<Value> LoopSizes, ParallelSizes, ReductionSizes;
  Vector<OperandState> Operands;
  Vector<Value> Start, Extent; ///< of the unit, per parallel group
  Vector<Column> Columns;
  Vector<Value> SumMemory; ///< per result
  Combination Combine;
  Vector<SumBlocks> Blocks; ///< per reduction group
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_HOST_HOSTTILENEST_H
