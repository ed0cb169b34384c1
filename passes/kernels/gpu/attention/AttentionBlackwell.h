//===- AttentionBlackwell.h - The parts of attention on tcgen05 -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The builder's class: AttentionBlackwell.cpp has the declarations, the copies
/// and the products, AttentionBlackwellSoftmax.cpp what warpgroups do with
/// scores and sums.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONBLACKWELL_H
#define KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONBLACKWELL_H

#include "passes/kernels/gpu/attention/AttentionTma.h"
#include "passes/schedule/AttentionBlackwellSchedule.h"

namespace kpc::kernels {

class AttentionBlackwell : AttentionTma {
public:
  AttentionBlackwell(FusedKernel &Form, AttentionKernel &A,
                     const schedule::AttentionBlackwellSchedule &S)
      : AttentionTma(Form, A), S(S) {}

  mlir::LogicalResult emit(GpuLaunch &Launch);

private:
  static constexpr int64_t TileRows =
      schedule::AttentionBlackwellSchedule::TileRows;
  static constexpr int64_t Parts = schedule::AttentionBlackwellSchedule::Parts;
  static constexpr int64_t StagedColumns =
      schedule::AttentionBlackwellSchedule::StagedColumns;

  /// What a warpgroup knows of its queries, and its places in the pipes of
  /// scores and of powers.
  struct State {
    Value Most, Total, Scores, Powers;
    Values list() const { return {Most, Total, Scores, Powers}; }
    static State of(ValueRange V) { return {V[0], V[1], V[2], V[3]}; }
  };

  /// Of the sums those after `A.Width` are zeros, which nobody reads.
  int64_t widthInTiles() const { return S.headInTiles(A.Width); }

  // Declarations.
  void place();
  void declareTypes();
  void declare();
  tile::TensorMemoryType memoryOf(int64_t Columns, mlir::Type Of);
  Value part(Value Memory, Value First, int64_t Columns, mlir::Type Of);
  Value skip(Value Pipe, Value Cursor, Value Count);
  Value tileOf(Value Pipe, Value Stage);
  Value sumsOf(Value Tile);

  // Copies and products.
  void produce();
  void multiply();
  Value beginScores(Value Queries, Value Keys, Value Cursor);
  Value beginSums(int64_t Tile, Value HeadValues, Value Add, Value Cursor);
  void release(Value Pipe, Value Stage);

  // Softmax.
  void soften(Value Group);
  State step(const QueriesAt &Mine, Value Sums, Value Number,
             const State &Before);
  State grown(const State &Before, Value Most, Value Sums, Value Number);
  Value loaded(Value Memory, int64_t First, int64_t Columns);
  void rescale(Value Sums, Value Shrink);
  Value powersOf(Value Scores, Value Shift);
  Value powerByFma(Value X);
  void store(const QueriesAt &Mine, Value Sums, Value Group, const State &Last);

  const schedule::AttentionBlackwellSchedule &S;
  tile::SharedType TileQ, TileK, TileV, StagedTile;
  tile::TensorMemoryType ScoresMemory, PowersMemory;
  mlir::BlockArgument ViewQ, ViewK, ViewV, ViewY;
  Value PipeQ, PipeK, PipeV, PipeScores, PipePowers, StagingTile, Memory;
  Value Batch, Head, KeyHead, FirstRow; ///< index, of this block's queries
  KeyBlocks Blocks;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONBLACKWELL_H
