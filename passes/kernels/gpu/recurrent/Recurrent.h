//===- Recurrent.h - All steps of a recurrent layer -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One kernel of an LSTM, a GRU or an RNN. A block keeps the weights of some
/// hidden units, all of their gates, in shared memory. In each step it
/// multiplies them with the state of all units, which other blocks have
/// written, and writes the next state of its own. A counter for each direction
/// separates the steps (docs/kernels/recurrent.md).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_RECURRENT_RECURRENT_H
#define KPC_PASSES_KERNELS_GPU_RECURRENT_RECURRENT_H

#include "dialects/kernel/KernelRecurrent.h"
#include "passes/kernels/gpu/TileBuilder.h"
#include "passes/schedule/RecurrentSchedule.h"

namespace kpc::kernels {

/// Of what `kernel.recurrent` writes, behind what the layer gives.
enum class Scratch { Cells, Exchange, Counters };

class RecurrentKernel : TileBuilder {
public:
  RecurrentKernel(FusedKernel &Form, kernel::RecurrentOp Op,
                  const schedule::RecurrentShape &Shape,
                  const schedule::RecurrentSchedule &S);

  mlir::LogicalResult emit(GpuLaunch &Launch);

private:
  /// A hidden unit of a row of the batch, which one thread updates in all
  /// steps.
  struct Cell {
    Value Unit, Row;   ///< index; the last ones again where there are none
    Value LocalUnit;   ///< index, in the block
    Value LocalColumn; ///< index, in the sums
    Value IsThere;     ///< i1
    // What is read of it ahead.
    Values Inputs;
    Value State, Memory, Length, Bias;
  };

  // Recurrent.cpp: the steps.
  void place();
  void begin();
  void step(Value Number);
  void finish();
  void arrive();
  void waitForAll(Value Times);
  Cell cell(Value FirstRow, int64_t Part);
  void readAhead(Cell &C, Value Time);
  void update(const Cell &C, Value Time, Value Next);
  Value nextState(const Cell &C, llvm::ArrayRef<Value> Sums, Value &Memory);
  void eachPass(llvm::function_ref<void(Value FirstRow)> Body);
  /// Body for each cell that the thread has, in all passes.
  void eachCell(llvm::function_ref<void(const Cell &)> Body);
  int64_t cellsOfThread() const;

  // RecurrentProduct.cpp: the weights and what they are multiplied with.
  void keepWeights();
  Values weightWords(Value Row, Value Part, Value Quad);
  Values stateRows(Value FirstRow, Value Current);
  llvm::SmallVector<Values> stateWords(llvm::ArrayRef<Value> Rows, Value Part,
                                       Value IsThere);
  std::array<Values, 2> weightFragments(int64_t Tile, Value Part, bool IsKept);
  void storeSums(llvm::ArrayRef<Values> All);
  void multiply(Value FirstRow, Value Current);
  void multiplyPart(llvm::ArrayRef<Values> Left, llvm::ArrayRef<Values> Right,
                    llvm::MutableArrayRef<Values> Sums);
  Values product(llvm::ArrayRef<Value> A, llvm::ArrayRef<Value> B,
                 llvm::ArrayRef<Value> C);
  Value rounded(Value Word);
  Value sum(Value Row, Value Column);

  // Memory.
  Value pointerTo(Value Memref, int64_t Space);
  Value bytesAt(Value Pointer, Value Bytes);
  Value elementAt(Value Base, mlir::Type Element, Value Index);
  Value load(mlir::Type Ty, Value Pointer, unsigned Alignment = 0);
  void store(Value V, Value Pointer, unsigned Alignment = 0);
  /// An element as f32, and back.
  Value loadFloat(Value Base, mlir::Type Element, Value Index);
  void storeFloat(Value V, Value Base, mlir::Type Element, Value Index);
  Values wordsOf(Value Vector);
  Value written(Scratch Which);
  mlir::Type elementOf(Value Memref) {
    return mlir::cast<mlir::MemRefType>(Memref.getType()).getElementType();
  }
  Value choose(Value Condition, Value A, Value B);
  Value sub(Value A, Value B) { return compute<mlir::arith::SubIOp>(A, B); }
  Value quotient(Value A, int64_t B) {
    return compute<mlir::arith::DivUIOp>(A, W.index(B));
  }
  Value rest(Value A, int64_t B) {
    return compute<mlir::arith::RemUIOp>(A, W.index(B));
  }
  /// (A * Size + B), of as many sizes as there are.
  Value linear(llvm::ArrayRef<std::pair<Value, Value>> SizesAndIndices);

  int64_t tiles() const { return S.rows(Shape) / 16; }
  int64_t columnTiles() const { return S.Columns / 8; }
  int64_t paddedHidden() const { return (Shape.Hidden + 31) / 32 * 32; }
  /// Elements of 16 bytes of the weights' type.
  int64_t wordElements() const { return 16 / Shape.ElementBytes; }
  bool isLstm() { return Op.getKind() == "lstm"; }
  bool isGru() { return Op.getKind() == "gru"; }

  kernel::RecurrentOp Op;
  const schedule::RecurrentShape &Shape;
  const schedule::RecurrentSchedule &S;
  mlir::Type Factor; ///< the weights' element
  Value Thread, Warp, Lane, Group, Quad, Direction, FirstUnit; ///< index
  Value Steps, Batch, Hidden;                                  ///< index
  Value Weights, Sums; ///< pointers to shared memory
  Value Inputs, R, Exchange, Cells, Counter;
};

FamilyQuery queryRecurrent;

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_RECURRENT_RECURRENT_H
