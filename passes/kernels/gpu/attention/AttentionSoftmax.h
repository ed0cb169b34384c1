//===- AttentionSoftmax.h - Scores on their way to powers -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What builders of attention of many queries do with the scores of a
/// warpgroup's queries and one block of keys, in fragments of the tile dialect:
/// masks, the greatest of each query, powers, and what a total is divided by.
/// Blocks of keys are walked from the last to the first; those that need a mask
/// come first.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONSOFTMAX_H
#define KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONSOFTMAX_H

#include "passes/kernels/gpu/TileBuilder.h"
#include "passes/kernels/gpu/attention/AttentionKernel.h"

namespace kpc::kernels {

class AttentionSoftmax : protected TileBuilder {
protected:
  /// Where a warpgroup's queries are: index; `Row` is the first of them.
  struct QueriesAt {
    Value Batch, Head, Row;
  };
  /// The blocks of keys that a tile of queries sees: i32.
  struct KeyBlocks {
    Value Count; ///< at least 1
    Value Whole; ///< those in front that need no mask
    /// The first that is seen, and the first that needs no mask for what comes
    /// before a query's keys; null where these begin with the first of all.
    Value First = {}, WholeFrom = {};
    /// How many are walked; one more than those from `First` on where it is not
    /// the first of all, and the first keys are seen in any case.
    Value Steps = {};
  };
  /// The tile of queries of one head that a block has: index.
  struct BlockQueries {
    Value Batch, Head, KeyHead, FirstRow;
  };
  /// The greatest score so far, with that of one more block of keys.
  struct Growth {
    Value Grows; ///< i1: sums and totals shrink
    Value Most;  ///< what powers are relative to: `Greater` where it grows
    Value Greater;
  };

  AttentionSoftmax(FusedKernel &Form, AttentionKernel &A)
      : TileBuilder(Form), A(A) {}

  /// Types for `Rows` queries of a warpgroup.
  void
  declareSoftmax(int64_t Rows, int64_t Keys,
                 tile::FragmentLayout Layout = tile::FragmentLayout::Wgmma);
  /// Sizes as values.
  void declareSizes();
  tile::FragmentType fragment(int64_t Columns, mlir::Type Of) {
    return tile::FragmentType::get(W.B.getContext(), {Rows, Columns}, Of,
                                   ScoresTy.getLayout());
  }
  /// A tile of heads' elements, or of elements `Of` a type, with the widest
  /// swizzle that a row is a multiple of.
  tile::SharedType shared(int64_t Rows, int64_t Columns, mlir::Type Of = {});
  /// Blocks of a head follow one another, so that those that run together read
  /// the same keys. Under a causal mask the one with most keys comes first:
  /// what is left at the end is short. After declareSizes().
  BlockQueries blockQueries(int64_t TileQueries);
  KeyBlocks keyBlocks(const QueriesAt &First, int64_t TileQueries);
  /// The number of the block that is the `Step`-th from the last. The keys that
  /// all queries see, a softmax's sink, come behind those of the window.
  Value blockAt(const KeyBlocks &Blocks, Value Step);
  /// Products bent by the softcap, if there is one.
  Value capped(Value Products);
  /// Bias and mask, at the coordinates of each score. With `MayEnd` some
  /// columns may be behind the last key.
  Value scored(const QueriesAt &Where, Value Scores, Value Block, bool MayEnd);
  /// Keys after the last one, and those that a query does not see yet or no
  /// longer, are left out.
  Value masked(const QueriesAt &Where, Value Scores, Value Block);
  /// The key that a column of scores of FP8 has: column 16j + 8b + 2a + c is
  /// key 16j + 4a + 2b + c, as its copy has put it (AttentionHopper.cpp).
  Value keyOfColumn(Value Column);
  /// Bias and mask everywhere, and the causal limit and the end only in blocks
  /// that need them, by a branch.
  Value visible(const QueriesAt &Where, Value Scores, Value Block,
                const KeyBlocks &Blocks);
  /// Whether there are blocks of keys that need a mask.
  bool needsMask() const {
    return A.Offset || A.Limits.any() ||
           A.Facts.divisor(A.Keys) % TileKeys != 0;
  }
  Value greatest(Value Scores, int64_t Chains);
  /// Sums and totals shrink only where powers could be above 2^8, so that most
  /// steps shrink nothing. The first block has minus infinity before it.
  Growth growth(Value Before, Value Most);
  /// What scores of each query are multiplied by, where an operand has it:
  /// `RowScales` below. Null: it is one constant.
  Value rowScales(const QueriesAt &Where);
  /// What is subtracted in the exponent. `MayBeNone`: a query may have seen
  /// nothing.
  Value shiftOf(Value Most, bool MayBeNone, Value RowScales = {});
  /// What sums and totals shrink by where the greatest score was `Before`.
  Value shrinkOf(Value Before, Value Shift, Value RowScales = {});
  /// A fragment or parts, times a factor of their row.
  Value scaledBy(Value X, Value Factor);
  /// 2^(score · scale − shift); of FP8 times a power of two that uses the range
  /// of codes, and that totals have as well.
  Value powers(Value Scores, Value Shift, Value RowScales = {});
  /// The total of each query's parts as a factor; 0 where it sees nothing.
  Value inverseOf(Value Parts);
  /// Sums times a factor of their row, in the element type of memory, which may
  /// be that of codes.
  Value narrowed(Value Sums, Value Factor);
  Value codeOf(Value Y, Value Scale);
  /// The factor of results that memory or the kernel's form has; null: it is 1.
  Value resultScale();

  /// What the mask's limits leave of the keys to queries from the first to the
  /// last, to some of them or to all: i32, null where there is no limit.
  KeyRange limits(const QueriesAt &Where, Value LastQuery, bool OfAll);
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
  Value approximate(tile::Function Function, Value X) {
    return tile::ApproximateOp::create(W.B, W.Loc, W.B.getF32Type(), Function,
                                       X);
  }
  /// 2^(score · scale + Less), by what rows are multiplied or one constant.
  Value power(ValueRange ScoreAndScale, Value Less);
  Value exp2(Value X) { return approximate(tile::Function::Exp2, X); }
  Value reciprocal(Value X) {
    return approximate(tile::Function::Reciprocal, X);
  }

  int64_t elementBytes() const { return Element.getIntOrFloatBitWidth() / 8; }

  KeyBlocks blocksOfTriangle(Value FirstRow, int64_t TileQueries);

  AttentionKernel &A;
  mlir::Type Element;
  int64_t Rows = 0, TileKeys = 0;
  tile::FragmentType ScoresTy;
  tile::ColumnType ColumnTy, PartsTy;
  Value QueryCount, KeyCount;        ///< index
  Value Queries32, Keys32, Offset32; ///< i32; Offset32 null: no triangle
  double Scale = 1; ///< of scores, for powers of two; 1 where they have it
  mlir::LogicalResult Result = mlir::success();
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ATTENTION_ATTENTIONSOFTMAX_H
