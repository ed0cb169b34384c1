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
/// AttentionDecodeCopies.cpp its ring of stages and how keys come there,
/// AttentionDecodeReduce.cpp how warps and blocks put their parts together.
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
    Value At; ///< the ring's stage of the step that comes next
    Values list() const;
  };

  /// Rows of a group's heads in memory.
  struct RowsInMemory {
    Value Memory;        ///< a flat memref
    Value First, Stride; ///< index, in elements: row 0, and from row to row
  };
  /// The keys, or the values, that a group of heads shares. Where rows are
  /// appended, those after the cache's, and where all of them are stored.
  struct SharedRows {
    RowsInMemory Past, New, Present;
    int64_t Columns = 0;
    const CacheRows *Choice = nullptr; ///< where rows are not just appended
    Value InPlace = {}; ///< i1: the cache's rows are stored already; null: no
  };
  /// Where the row of a key is from.
  struct RowOrigin {
    Value IsNew;           ///< i1
    Value NewRow, PastRow; ///< index: the one that it then is
  };

  /// Bytes of one copy; elements of 16 bits in as many.
  static constexpr int64_t PieceBytes = 16, WideElements = 8;

  // The thread's place.
  void place();
  void limitKeys();
  void declareRing();
  RowsInMemory rowsOf(const HeadsInMemory &H);
  void placeAppended();
  Row rowAt(Value InTile);
  Value offsetOf(const HeadsInMemory &H, ValueRange At);
  void loadQueries();

  // A warp's steps.
  State start();
  void startWithSink(State &Now);
  /// Columns of scores before those of the keys in memory.
  int64_t lead() const { return A.New ? A.New->Lead : 0; }
  State stateOf(ValueRange From) const;
  /// What a lane copies and stores of a tile: 16 bytes of each so manyth row.
  struct LanePieces {
    Value Row, Column; ///< index: of the first
    Value InRow;       ///< i1: the columns are there; null: in all lanes
    int64_t RowsAtOnce = 0;
  };
  LanePieces piecesOf(const SharedRows &Rows, Value Tile);
  Value placeOf(const RowsInMemory &Rows, Value Key, const LanePieces &Of);
  void fill(Value First, Value At);
  void fillFromBoth(const SharedRows &Rows, Value First, Value Left, Value Tile,
                    Value Stage);
  RowOrigin originOf(const CacheRows &Of, Value Key);
  void fillChosen(const SharedRows &Rows, Value First, Value Left, Value Tile,
                  Value Stage);
  void storeRows(Value First, ValueRange Tiles);
  Values words(Value Tile, Value Row, int64_t RowOffset, Value Column,
               int64_t ColumnOffset);
  Value bytesOf(Value Low, Value High, int64_t Which);
  Value numbersOf(Value Codes, int64_t Half);
  State step(Value First, const State &Before);
  llvm::SmallVector<Values> scores(Value KeyTile);
  void scoreRow(llvm::SmallVector<Values> &Scores, Value First, int64_t Half);
  Value scaled(Value Score, const Row &Of, Value Key);
  void softmax(llvm::SmallVector<Values> &Scores, int64_t Half, State &Now);
  void addValues(llvm::ArrayRef<Values> Scores, Value ValueTile, State &Now);
  State walkKeys();
  Value ofRow(Value V, int64_t Which);
  /// Four sums: of columns piece · (8 Chunk + g) + 2 Word and the next, those
  /// of rows 8 Half + 2 t and the next.
  int64_t sumsAt(int64_t Half, int64_t Chunk, int64_t Word) const {
    return ((Half * widthChunks() + Chunk) * pairsOfPiece() + Word) * 4;
  }

  struct Reduced {
    Value Sums, Most, Total; ///< Sums: four adjacent columns
  };

  // Parts. A part is a row after the other: sums, greatest score, total. Behind
  // the warps' parts is the block's.
  void storePart(const State &End);
  void reduceWarps();
  void reduceBlocks();
  Value partOf(Value Part, Value Row, Value Column);
  void storeOwnPart(const Reduced &J, Value Row, Value Column);
  Value isLastBlock();
  void reduceSplits();
  void eachUnit(Value First, Value Step,
                llvm::function_ref<void(Value Row, Value Column)> Body);
  /// A vector of part `Part`, from an element of a row on.
  using LoadPart = llvm::function_ref<Value(mlir::Type Ty, int64_t Part,
                                            Value Column, int64_t Offset)>;
  Reduced reduceParts(int64_t Count, LoadPart Load, Value Column);
  void storeResult(const Reduced &J, Value Row, Value Column);

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
  Value choose(Value Condition, Value X, Value Y) {
    return W.B.createOrFold<mlir::arith::SelectOp>(W.Loc, Condition, X, Y);
  }
  Value opposite(Value Condition) {
    return compute<mlir::arith::XOrIOp>(
        Condition, mlir::arith::ConstantIntOp::create(W.B, W.Loc, 1, 1));
  }
  /// Where in a part's row its greatest score and its total are.
  int64_t endsAt() const { return widthChunks() * widthChunk(); }
  Value shiftOf(Value Most);
  Value exp2(Value X);
  mlir::VectorType vectorOf(int64_t Count, mlir::Type Element) {
    return mlir::VectorType::get({Count}, Element);
  }

  AttentionKernel &A;
  const schedule::DecodeShape &Shape;
  const schedule::DecodeSchedule &S;
  mlir::Type Element;
  Value Keys, Queries, RowCount, HeadsPerGroup;                ///< index
  Value Thread, Warp, Lane, G, T, Rank, Batch, Group, TileRow; ///< index
  Value Begin,
      End; ///< index: keys that the tile's rows see, or that are stored
  llvm::SmallVector<Row> Rows; ///< this thread's
  Value Ring;                  ///< the warp's stages: a tile of keys, of values
  mlir::SmallVector<mlir::Type> StageTiles;
  SharedRows KeyRows, ValueRows;
  Value PastCount; ///< index: rows of the cache, where others are appended
  Value Parts;     ///< a tile of f32, where the rings were
  Value Task;      ///< index: of rows of a stream
  llvm::SmallVector<llvm::SmallVector<Values>> Q; ///< [chunk][half] words
  mlir::LogicalResult Result = mlir::success();
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONDECODE_H
