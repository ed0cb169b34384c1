//===- AttentionDecode.h - Attention of few queries -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The builder's class: AttentionDecode.cpp has a warp's way through its keys,
/// AttentionDecodeCopies.cpp how they come, AttentionDecodeReduce.cpp how warps
/// and blocks put their parts together.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONDECODE_H
#define KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONDECODE_H

#include "passes/kernels/gpu/TileBuilder.h"
#include "passes/kernels/gpu/attention/AttentionKernel.h"
#include "passes/schedule/DecodeSchedule.h"

namespace kpc::kernels {

class AttentionDecode : TileBuilder {
public:
  AttentionDecode(FusedKernel &Form, AttentionKernel &A,
                  const schedule::DecodeShape &Shape,
                  const schedule::DecodeSchedule &S)
      : TileBuilder(Form), A(A), Shape(Shape), S(S) {}

  mlir::LogicalResult emit(GpuLaunch &Launch);

private:
  /// A row of the product: a query of one of the group's heads.
  struct Row {
    Value Head, Query; ///< index
    Value Limit;       ///< index: the keys before it are seen
    Value Inside;      ///< i1: it exists; else this is the last one again
  };
  /// What a thread has of the keys so far: sums (sumsAt), and of its 1 or 2
  /// rows g and g + 8 the greatest score and the total of the thread's keys.
  struct State {
    Values Sums, Most, Total;
    Value Stage; ///< i32: byte in the ring, of the step that comes next
    Values list() const;
  };

  /// How rows of keys, or of values, are copied: `Lanes` lanes a row.
  struct Line {
    int64_t Lanes = 0, Size = 0; ///< Size: elements of a row
    Value From;                  ///< this lane's place in the first rows
    Value Bytes;                 ///< i64: from a row to the next
    /// In shared memory a row's 16 bytes stand at their number xor this.
    std::function<Value(Value Row)> Swizzle;
  };

  /// Bytes of one copy; elements of 16 bits in as many.
  static constexpr int64_t PieceBytes = 16, WideElements = 8;

  // The thread's place.
  void place();
  void setSwizzles();
  Line lineOf(const HeadsInMemory &H, int64_t Lanes, int64_t Size);
  Row rowAt(Value InTile);
  Value globalPointer(const HeadsInMemory &H, ValueRange At);
  Value offsetOf(const HeadsInMemory &H, ValueRange At);
  void loadQueries();

  // A warp's steps.
  State start();
  State stateOf(ValueRange From) const;
  void fill(Value First, Value Stage);
  void fillLines(const Line &L, Value First, Value To);
  Value placeIn(const Line &L, Value Row, Value Piece);
  Value nextStage(Value Stage);
  void copy(Value From, Value To, Value Inside);
  Values words(Value From, int64_t Bytes);
  Value bytesOf(Value Low, Value High, int64_t Which);
  Value numbersOf(Value Codes, int64_t Half);
  State step(Value First, const State &Before);
  llvm::SmallVector<Values> scores(Value Stage);
  void scoreRow(llvm::SmallVector<Values> &Scores, Value First, int64_t Half);
  Value scaled(Value Score, const Row &Of, Value Key);
  void softmax(llvm::SmallVector<Values> &Scores, int64_t Half, State &Now);
  void addValues(llvm::ArrayRef<Values> Scores, Value Stage, State &Now);
  State walkKeys();
  Value ofRow(Value V, int64_t Which);
  /// Four sums: of columns piece · (8 Chunk + g) + 2 Word and the next, those
  /// of rows 8 Half + 2 t and the next.
  int64_t sumsAt(int64_t Half, int64_t Chunk, int64_t Word) const {
    return ((Half * widthChunks() + Chunk) * pairsOfPiece() + Word) * 4;
  }

  // Parts. A part is a row after the other: sums, greatest score, total.
  Value partPointer(Value Row, int64_t Part);
  void storePart(const State &End);
  void reduceWarps();
  void reduceBlocks();
  void eachUnit(Value First, Value Step,
                llvm::function_ref<void(Value Row, Value Column)> Body);
  struct Reduced {
    Value Sums, Most, Total; ///< Sums: four neighbours
  };
  Reduced reduceParts(int64_t Count,
                      llvm::function_ref<Value(int64_t Part)> RowPointer,
                      Value Column);
  void storeResult(const Reduced &J, Value Row, Value Column);
  void syncCluster();

  // Small pieces.
  int64_t halves() const { return S.Rows / 8; }
  /// Elements of keys and values in 16 bytes, and pairs of them: words of 16
  /// bits each.
  int64_t pieceElements() const { return Shape.pieceElements(); }
  int64_t pairsOfPiece() const { return pieceElements() / 2; }
  /// Of keys four lanes have a piece each, of values eight.
  int64_t depthChunk() const { return 4 * pieceElements(); }
  int64_t widthChunk() const { return 8 * pieceElements(); }
  int64_t depthChunks() const {
    return (Shape.Depth + depthChunk() - 1) / depthChunk();
  }
  int64_t widthChunks() const {
    return (Shape.Width + widthChunk() - 1) / widthChunk();
  }
  int64_t partRowBytes() const { return S.partBytes(Shape) / S.Rows; }
  Value choose(Value Condition, Value X, Value Y) {
    return W.B.createOrFold<mlir::arith::SelectOp>(W.Loc, Condition, X, Y);
  }
  Value toI64(Value Index) {
    return W.B.createOrFold<mlir::arith::IndexCastOp>(W.Loc, W.B.getI64Type(),
                                                      Index);
  }
  /// Byte in a part's row of its greatest score and its total.
  int64_t endsAt() const { return widthChunks() * widthChunk() * 4; }
  Value shiftOf(Value Most);
  Value exp2(Value X);
  Value bytesAt(Value Pointer, Value Bytes);
  Value bytesAt(Value Pointer, int64_t Bytes);
  Value load(mlir::Type Ty, Value Pointer);
  void store(Value V, Value Pointer);

  AttentionKernel &A;
  const schedule::DecodeShape &Shape;
  const schedule::DecodeSchedule &S;
  mlir::Type Element;
  Value Keys, Queries, RowCount, HeadsPerGroup;                ///< index
  Value Thread, Warp, Lane, G, T, Rank, Batch, Group, TileRow; ///< index
  Value End;                   ///< index: keys that the tile's rows see
  llvm::SmallVector<Row> Rows; ///< this thread's
  Value Shared;                ///< all of it
  Value Ring;                  ///< the warp's
  Line KeyLine, ValueLine;
  llvm::SmallVector<llvm::SmallVector<Values>> Q; ///< [chunk][half] words
  mlir::LogicalResult Result = mlir::success();
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONDECODE_H
