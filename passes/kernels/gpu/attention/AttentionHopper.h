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
/// the producer, AttentionHopperConsumer.cpp products and softmax, and
/// AttentionHopperColumns.cpp masks that are the same for all queries.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONHOPPER_H
#define KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONHOPPER_H

#include "passes/kernels/gpu/attention/AttentionTma.h"
#include "passes/schedule/AttentionSchedule.h"

namespace kpc::kernels {

class AttentionHopper : AttentionTma {
public:
  AttentionHopper(FusedKernel &Form, AttentionKernel &A,
                  const schedule::AttentionSchedule &S)
      : AttentionTma(Form, A), S(S) {}

  mlir::LogicalResult emit(GpuLaunch &Launch);

private:
  /// A tile of this block's list; Half is 1 for the second of a pair.
  struct Turn {
    Value Pair, Half; ///< i32
  };
  /// Where a tile of queries is, and the blocks of keys it sees.
  struct Place {
    Value Batch, Head, Group, Row; ///< index
    KeyBlocks Keys;
  };
  /// What a warpgroup has of its queries: the product that is still to be added
  /// is powers · values.
  struct State {
    Value Powers, Sums, Most, Total, Stage, KeyCursor, ValueCursor;
    Value RowScales; ///< null: there are none
    Values list() const {
      Values All = {Powers, Sums, Most, Total, Stage, KeyCursor, ValueCursor};
      if (RowScales)
        All.push_back(RowScales);
      return All;
    }
  };
  static constexpr unsigned FixedStateSize = 7;
  unsigned stateSize() { return FixedStateSize + bool(A.RowFactor); }
  State stateIn(ValueRange V) {
    return {V[0], V[1],
            V[2], V[3],
            V[4], V[5],
            V[6], stateSize() > FixedStateSize ? V[FixedStateSize] : Value()};
  }

  // Declarations.
  void declareTypes();
  void declare();

  // Tiles.
  Turn firstTurn();
  Turn after(const Turn &Now);
  Value isThere(const Turn &Now);
  Place placeOf(const Turn &Now);
  Values eachTurn(ValueRange Carried,
                  llvm::function_ref<Values(const Turn &, ValueRange)> Body);

  // Masks that are the same for all queries.
  void declareColumns();
  Value columnNumber(const Place &Where, Value Key);
  Value fillColumns(const Place &Where, Value Block, Value Cursor);
  void produceColumns();
  bool beginsWithColumns();
  Value columnsIn(Value Stage);
  Value withColumns(Value Scores, Value Numbers);

  // Roles.
  void produce();
  Values startOfPipes();
  Values keysAt(const Place &Where, Value Block);
  Values valuesAt(const Place &Where, Value Block);
  Values fillTile(const Place &Where, ValueRange Cursors);
  void consume(Value Group);
  Value scoresOf(Value Queries, Value KeyCursor,
                 llvm::function_ref<void()> Meanwhile);
  Value seen(const QueriesAt &Mine, Value Scores, Value Block, bool IsLast,
             bool Masked);
  Value addValues(const State &Before);
  State firstBlock(const Place &Where, Value Group, Value Queries,
                   ValueRange Cursors, const State *Before, Value *Sums);
  State nextBlock(const Place &Where, Value Group, Value Queries, Value Block,
                  const State &Before, bool Masked);
  State walkBlocks(const Place &Where, Value Group, Value Queries, State Now);
  void storeTile(const Place &Where, Value Group, Value Sums, Value Parts);

  // Softmax.
  QueriesAt queriesOf(const Place &Where, Value Group);
  void makePowers(Value Scores, Value Shift, Value Total, Value ValueCursor,
                  State &After, llvm::function_ref<void()> AwaitSums);
  bool masksLastBlockOnly() const;
  bool endsInside() const;
  bool takesTurns() const { return S.consumers() > 1; }
  bool mayHideAll() const;
  /// The first block of keys that a tile's queries see, and that which its walk
  /// ends with.
  Value firstOf(const Place &Where) {
    return Where.Keys.First ? Where.Keys.First : i32(0);
  }
  Value lastOf(const Place &Where) {
    return A.Limits.Lead ? i32(0) : firstOf(Where);
  }

  // Small pieces.
  std::pair<Value, Value> waitForQueries(Value Cursor, Value Group);

  const schedule::AttentionSchedule &S;
  tile::SharedType TileQ, TileK, TileV, TileM, Staging;
  tile::PipeType PipeQTy, PipeKTy, PipeVTy;
  tile::FragmentType SumsTy;
  tile::PackedType PowersTy;
  mlir::BlockArgument ViewQ, ViewK, ViewV, ViewY;
  Value PipeQ, PipeK, PipeV, StagingTile;
  Value PipeM; ///< numbers of keys for their scores; null: there are none
  Value Heads32, HeadsPerGroup, Tiles, PerHead; ///< i32
  Value RowTiles;                               ///< i32
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONHOPPER_H
