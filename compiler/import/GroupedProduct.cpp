//===- GroupedProduct.cpp - Groups of rows by matrices of their own -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/GroupedProduct.h"

#include "llvm/ADT/bit.h"

using namespace kpc;
using namespace kpc::frontend;

/// Rows of a block, about as many as a group has: one matrix multiplies them.
/// Where that is not known, so many as tensor cores multiply at a time.
static int64_t rowsOfBlock(const Expr &Rows, const Expr &Groups) {
  constexpr int64_t Fewest = 8, Usual = 64, Most = 128;
  std::optional<int64_t> S = Rows.asConstant(), G = Groups.asConstant();
  if (!S || !G || *G < 1)
    return Usual;
  int64_t Mean = std::max<int64_t>(*S / *G, 1);
  return std::clamp<int64_t>(llvm::bit_floor(uint64_t(Mean)), Fewest, Most);
}

Value frontend::groupedProduct(Emitter &N, Value X, Value W, Value Ends) {
  if (!X || !W || !Ends)
    return {};
  Expr Rows = N.dims(X)[0], Groups = N.dims(W)[0], Columns = N.dims(W)[2];
  int64_t T = rowsOfBlock(Rows, Groups);
  Expr Blocks = Rows.floorDiv(Expr(T)) + Expr::min(Rows, Groups);
  Type Index = N.element(Ends);
  Value Zero = N.like(0, Ends), OfT = N.like(double(T), Ends);
  // Of each group: its first row, and its first block.
  auto StartOf = [&](Value Group) {
    Value Before = N.addScalar(Group, -1);
    return N.select(N.compare(Predicate::lt, Before, Zero), Zero,
                    N.gather(Ends, N.max(Before, Zero), 0));
  };
  Value Count = N.sub(Ends, StartOf(N.iota({Groups}, 0, Index)));
  Count = N.div(N.addScalar(Count, double(T - 1)), OfT);
  Value BlockStarts = N.cumsum(Count, 0, /*Exclusive=*/true, /*Reverse=*/false);
  // The last group that begins at a block or in front of it: those without
  // rows begin where the next one does.
  Value Block = N.iota({Blocks}, 0, Index);
  Value OfBlock =
      N.cast(N.searchSorted(BlockStarts, Block, /*Right=*/true), Index);
  OfBlock = N.addScalar(OfBlock, -1);
  Value InGroup = N.sub(Block, N.gather(BlockStarts, OfBlock, 0));
  Value First = N.add(StartOf(OfBlock), N.mul(InGroup, OfT));
  Value Row =
      N.add(N.unsqueeze(First, {1}), N.iota({Expr(1), Expr(T)}, 1, Index));
  // Behind the last block, and in blocks that are not full, any row will do.
  Row = N.min(Row, N.sizeScalar(Rows - 1, Index));
  Value Y = N.matmul(N.gather(X, Row, 0), N.gather(W, OfBlock, 0));
  if (!Y)
    return {};
  // Back to the rows: as many groups have ended as ends are not greater.
  Value Place = N.iota({Rows}, 0, Index);
  Value Own = N.cast(N.searchSorted(Ends, Place, /*Right=*/true), Index);
  Value LastGroup = N.sizeScalar(Groups - 1, Index);
  Value OfRow = N.min(Own, LastGroup);
  Value From = N.add(N.mul(N.gather(BlockStarts, OfRow, 0), OfT),
                     N.sub(Place, StartOf(OfRow)));
  Y = N.gather(N.reshape(Y, {Blocks * Expr(T), Columns}), From, 0);
  Value Inside = N.compare(Predicate::le, N.unsqueeze(Own, {1}), LastGroup);
  return N.select(Inside, Y, N.like(0, Y));
}
