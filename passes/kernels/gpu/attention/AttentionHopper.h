//===- AttentionHopper.h - The parts of fused attention ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The builder's class: AttentionHopper.cpp has the declarations, the tiles and
/// the producer, AttentionHopperConsumer.cpp products and softmax.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONHOPPER_H
#define KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONHOPPER_H

#include "passes/kernels/gpu/TileBuilder.h"
#include "passes/kernels/gpu/attention/AttentionKernel.h"
#include "passes/schedule/AttentionSchedule.h"

namespace kpc::kernels {

class AttentionHopper : TileBuilder {
public:
  AttentionHopper(FusedKernel &Form, AttentionKernel &A,
                  const schedule::AttentionSchedule &S)
      : TileBuilder(Form), A(A), S(S) {}

  mlir::LogicalResult emit(GpuLaunch &Launch);

private:
  /// A tile of this block's list; Half is 1 for the second of a pair.
  struct Turn {
    Value Pair, Half; ///< i32
  };
  /// Where a tile of queries is, and the blocks of keys it sees.
  struct Place {
    Value Batch, Head, Group, Row; ///< index
    Value Blocks;                  ///< i32, at least 1
    Value Whole;                   ///< i32, those in front that need no mask
  };
  /// What a warpgroup has of its queries: the product that is still to be added
  /// is powers · values.
  struct State {
    Value Powers, Sums, Most, Total, Stage, KeyCursor, ValueCursor;
    Values list() const {
      return {Powers, Sums, Most, Total, Stage, KeyCursor, ValueCursor};
    }
    static State of(ValueRange V) {
      return {V[0], V[1], V[2], V[3], V[4], V[5], V[6]};
    }
  };

  // Declarations.
  void declareTypes();
  tile::SharedType shared(int64_t Rows, int64_t Columns);
  mlir::BlockArgument addView(const HeadsInMemory &H, tile::SharedType Tile,
                              const shape::Expr &Heads, const shape::Expr &Rows,
                              int64_t Columns);
  void declare();

  // Tiles.
  Turn firstTurn();
  Turn after(const Turn &Now);
  Value isThere(const Turn &Now);
  Place placeOf(const Turn &Now);
  void countBlocks(Place &Where);
  Values eachTurn(ValueRange Carried,
                  llvm::function_ref<Values(const Turn &, ValueRange)> Body);

  // Roles.
  void produce();
  Values startOfPipes();
  Values fillTile(const Place &Where, ValueRange Cursors);
  Value fill(Value Pipe, Value Cursor, Value View, ValueRange At);
  void consume(Value Group);
  Value scoresOf(Value Queries, Value KeyCursor,
                 llvm::function_ref<void()> Meanwhile);
  Value addValues(const State &Before);
  State firstBlock(const Place &Where, Value Group, Value Queries,
                   ValueRange Cursors, const State *Before, Value *Sums);
  State nextBlock(const Place &Where, Value Group, Value Queries, Value Block,
                  const State &Before, bool Masked);
  State walkBlocks(const Place &Where, Value Group, Value Queries, State Now);
  void storeTile(const Place &Where, Value Group, Value Sums, Value Parts);

  // Softmax.
  Value scored(const Place &Where, Value Group, Value Scores, Value Block,
               bool IsLast);
  Value masked(const Place &Where, Value Group, Value Scores, Value Block);
  Value powers(Value Scores, Value Shift);
  void makePowers(Value Scores, Value Shift, Value Total, Value ValueCursor,
                  State &After, llvm::function_ref<void()> AwaitSums);
  Value greatest(Value Scores);
  Value shiftOf(Value Most);
  bool masksLastBlockOnly() const;
  bool mayHideAll() const;

  // Small pieces.
  std::pair<Value, Value> waitFor(Value Pipe, Value Cursor);
  std::pair<Value, Value> waitForQueries(Value Cursor, Value Group);
  Value renewed(Value V);
  Value rowsOf(Value Tile, Value First);
  using Scalar = llvm::function_ref<Value(ValueRange)>;
  Value apply(mlir::Type To, ValueRange Operands, Scalar Body);
  Value splat(mlir::Type To, Value V) {
    return tile::SplatOp::create(W.B, W.Loc, To, V);
  }
  Value compare(mlir::arith::CmpIPredicate P, Value X, Value Y) {
    return mlir::arith::CmpIOp::create(W.B, W.Loc, P, X, Y);
  }
  Value ceilDivI32(Value V, int64_t By) {
    return compute<mlir::arith::DivUIOp>(
        compute<mlir::arith::AddIOp>(V, i32(By - 1)), i32(By));
  }
  Value exp2(Value X) {
    return tile::ApproximateOp::create(W.B, W.Loc, W.B.getF32Type(),
                                       tile::Function::Exp2, X);
  }

  AttentionKernel &A;
  const schedule::AttentionSchedule &S;
  mlir::Type Element;
  tile::SharedType TileQ, TileK, TileV, Staging;
  tile::PipeType PipeQTy, PipeKTy, PipeVTy;
  tile::FragmentType ScoresTy, SumsTy;
  tile::PackedType PowersTy;
  tile::ColumnType ColumnTy, PartsTy;
  mlir::BlockArgument ViewQ, ViewK, ViewV, ViewY;
  Value PipeQ, PipeK, PipeV, StagingTile;
  Value QueryCount, KeyCount;                   ///< index
  Value Queries32, Keys32, Offset32;            ///< i32
  Value Heads32, HeadsPerGroup, Tiles, PerHead; ///< i32
  Value RowTiles;                               ///< i32
  double Scale = 1; ///< of scores, for powers of two
  llvm::SmallVector<mlir::Attribute> TensorMaps;
  mlir::LogicalResult Result = mlir::success();
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONHOPPER_H
