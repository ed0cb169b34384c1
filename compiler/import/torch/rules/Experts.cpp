//===- Experts.cpp - Import of products by groups of rows -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Mixtures of experts sort their rows by expert and multiply each group of
/// rows by its own matrix. S rows, G groups, matrices of [K, N].
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Rules.h"

using namespace kpc::graph;

namespace kpc::torch {

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

/// Rows of x by the matrix of their group; zeros behind the last group. Rows
/// of a group are cut into blocks of `T` rows, the last of which is filled up
/// by whatever follows; a block is one matrix of a batched product:
///
///   x       ┆ group 0    ┆ 1 ┆ group 2        ┆       T = 4
///   blocks  ┆ 0  ┆ 1     ┆ 2 ┆ 3   ┆ 4        ┆ not used
///   own       0    0       1   2     2
///
/// S rows fill at most S / T whole blocks, and each group that has rows one
/// more.
static Value groupedProduct(NodeImport &N, Value X, Value W, Value Ends) {
  Expr Rows = N.dims(X)[0], Groups = N.dims(W)[0], Columns = N.dims(W)[2];
  int64_t T = rowsOfBlock(Rows, Groups);
  Expr Blocks = Rows.floorDiv(Expr(T)) + Expr::min(Rows, Groups);
  Value LastGroup = N.sizeScalar(Groups - 1, N.i64());
  Ends = N.cast(Ends, N.i64());
  // Of each group: its first row, and its first block.
  Value Before = N.addScalar(N.iota({Groups}, 0, N.i64()), -1);
  Value Zero = N.like(0, Ends);
  Value Starts = N.select(N.compare(Predicate::lt, Before, Zero), Zero,
                          N.gather(Ends, N.max(Before, Zero), 0));
  Value Count = N.div(N.addScalar(N.sub(Ends, Starts), double(T - 1)),
                      N.like(double(T), Ends));
  Value BlockEnds = N.cumsum(Count, 0, /*Exclusive=*/false, /*Reverse=*/false);
  Value BlockStarts = N.sub(BlockEnds, Count);
  // As many groups have ended as ends are not greater than a place.
  auto OwnOf = [&](Value GroupEnds, Value Places) {
    return N.cast(N.searchSorted(GroupEnds, Places, /*Right=*/true), N.i64());
  };
  auto Of = [&](Value Each, Value Own) {
    return N.gather(Each, N.min(Own, LastGroup), 0);
  };
  Value Block = N.iota({Blocks}, 0, N.i64());
  Value OfBlock = N.min(OwnOf(BlockEnds, Block), LastGroup);
  Value First = N.add(Of(Starts, OfBlock),
                      N.mulScalar(N.sub(Block, Of(BlockStarts, OfBlock)),
                                  double(T)));
  Value Row = N.add(N.unsqueeze(First, {1}),
                    N.iota({Expr(1), Expr(T)}, 1, N.i64()));
  Value LastRow = N.sizeScalar(Rows - 1, N.i64());
  Value Filled = N.gather(X, N.min(Row, LastRow), 0);
  Value Y = N.matmul(Filled, N.gather(W, OfBlock, 0));
  if (!Y)
    return {};
  // Back to the rows.
  Value Place = N.iota({Rows}, 0, N.i64());
  Value Own = OwnOf(Ends, Place);
  Value From = N.add(N.mulScalar(Of(BlockStarts, Own), double(T)),
                     N.sub(Place, Of(Starts, Own)));
  Y = N.gather(N.reshape(Y, {Blocks * Expr(T), Columns}), From, 0);
  Value Inside = N.compare(Predicate::le, Own, LastGroup);
  return N.select(N.unsqueeze(Inside, {1}), Y, N.like(0, Y));
}

/// `Left`, `Right` and `Ends` are what the schema calls the operands.
static void grouped(NodeImport &N, std::string_view Left,
                    std::string_view Right, std::string_view Ends) {
  Value X = N.tensor(Left), W = N.tensor(Right), E = N.optionalTensor(Ends);
  if (N.bad())
    return;
  if (N.has("bias"))
    return (void)N.unsupported("a bias of grouped products: add it behind");
  Type T = N.has("out_dtype") ? N.type("out_dtype") : N.element(X);
  if (N.bad())
    return;
  if (!E && N.rank(X) == 3 && N.rank(W) == 3)
    return N.result(N.cast(N.matmul(X, W), T));
  if (!E || N.rank(X) != 2 || N.rank(W) != 3 || N.rank(E) != 1)
    return (void)N.unsupported(
        "grouped products of " + dimsText(N.dims(X)) + " and " +
        dimsText(N.dims(W)) +
        ": kpc takes rows [s, k] by matrices [g, k, n] with the groups' ends, "
        "and [g, s, k] by [g, k, n] without");
  bool Fits =
      (N.dims(X)[1] == N.dims(W)[1] || N.unify(N.dims(X)[1], N.dims(W)[1])) &&
      (N.dims(E)[0] == N.dims(W)[0] || N.unify(N.dims(E)[0], N.dims(W)[0]));
  if (!Fits) {
    N.fail(Code::ImportShape,
           "rows of " + dimsText(N.dims(X)) + ", matrices of " +
               dimsText(N.dims(W)) + " and ends of " + dimsText(N.dims(E)) +
               " do not fit together, expected [s, k], [g, k, n] and [g]");
    return;
  }
  N.result(N.cast(groupedProduct(N, X, W, E), T));
}

static void groupedMm(NodeImport &N) { grouped(N, "self", "mat2", "offs"); }
/// What transformers has where PyTorch's own kernel does not take a device.
static void groupedFallback(NodeImport &N) {
  grouped(N, "input", "weight", "offs");
}

ArrayRef<Rule> expertRules() {
  constexpr std::string_view Forms =
      "rows by [g, k, n] with ends, or batches";
  static const Rule Rows[] = {
      {"_grouped_mm.default", groupedMm, InPlace::No, Forms},
      {"transformers.grouped_mm_fallback.default", groupedFallback, InPlace::No,
       Forms},
  };
  return Rows;
}

} // namespace kpc::torch
