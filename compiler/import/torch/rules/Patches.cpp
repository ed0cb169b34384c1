//===- Patches.cpp - Import of im2col and col2im --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Folding.h"
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"

using namespace kpc::graph;

namespace kpc::torch {

using frontend::Fold;

/// The windows over the two dimensions of an image; none after a report.
static std::optional<SmallVector<Fold>> readFolds(NodeImport &N,
                                                  ArrayRef<Expr> Image) {
  Ints One = {1, 1}, None = {0, 0};
  Ints Block = N.integers("kernel_size", One),
       Dilation = N.integers("dilation", One),
       Pad = N.integers("padding", None), Stride = N.integers("stride", One);
  if (N.bad())
    return std::nullopt;
  SmallVector<Fold> Folds;
  bool Fits = Image.size() == 2 && Block.size() == 2 && Dilation.size() == 2 &&
              Pad.size() == 2 && Stride.size() == 2;
  constexpr int64_t Most = int64_t(1) << 20;
  for (size_t I = 0; Fits && I < 2; ++I) {
    for (int64_t V : {Block[I], Dilation[I], Stride[I], Pad[I] + 1})
      Fits = Fits && V >= 1 && V < Most;
    Folds.push_back(
        {Image[I], Block[I], Stride[I], Dilation[I], Pad[I], Pad[I]});
    if (std::optional<int64_t> Size = Image[I].asConstant())
      Fits = Fits && *Size + 2 * Pad[I] > Dilation[I] * (Block[I] - 1);
  }
  if (!Fits) {
    N.fail(Code::ImportShape, "kernel_size, dilation, padding and stride do "
                              "not fit an image of " +
                                  dimsText(Image));
    return std::nullopt;
  }
  for (const Fold &F : Folds)
    if (F.Block > frontend::LargestBlock) {
      N.unsupported("blocks of " + std::to_string(F.Block) +
                    " elements along an axis; kpc takes " +
                    std::to_string(frontend::LargestBlock));
      return std::nullopt;
    }
  return Folds;
}

/// x with a batch in front, which images and columns may lack.
static Value withBatch(NodeImport &N, Value X, int64_t Rank) {
  return X && N.rank(X) == Rank - 1 ? N.unsqueeze(X, {0}) : X;
}

static Value withoutBatch(NodeImport &N, Value Y, bool Drop) {
  return Y && Drop ? N.reshape(Y, N.dims(Y).drop_front()) : Y;
}

static void im2col(NodeImport &N) {
  Value Given = N.tensor("self");
  Value X = withBatch(N, Given, 4);
  if (!X)
    return N.give();
  if (N.rank(X) != 4) {
    N.fail(Code::ImportRank, "an image is " + dimsText(N.dims(X)) +
                                 ", expected [n, c, h, w] or [c, h, w]");
    return;
  }
  std::optional<SmallVector<Fold>> Folds = readFolds(N, N.dims(X).take_back(2));
  if (Folds)
    N.result(withoutBatch(N, frontend::unfoldBlocks(N, X, *Folds),
                          N.rank(Given) == 3));
}

static void col2im(NodeImport &N) {
  Value Given = N.tensor("self");
  Value X = withBatch(N, Given, 3);
  std::optional<Dims> Image = N.sizes("output_size");
  if (!X || !Image || N.bad())
    return N.give();
  if (Image->size() == 1)
    Image->push_back(Image->front());
  std::optional<SmallVector<Fold>> Folds = readFolds(N, *Image);
  if (!Folds)
    return;
  int64_t Elements = 1;
  Expr Places(1);
  for (const Fold &F : *Folds) {
    Elements *= F.Block;
    Places = Places * F.places();
  }
  bool Right = N.rank(X) == 3;
  Expr Channels = Right ? N.dims(X)[1].floorDiv(Elements) : Expr(0);
  if (!Right || Channels * Elements != N.dims(X)[1] ||
      (N.dims(X)[2] != Places && !N.unify(N.dims(X)[2], Places))) {
    N.fail(Code::ImportShape, "columns are " + dimsText(N.dims(Given)) +
                                  ", expected a multiple of " +
                                  std::to_string(Elements) + " channels at " +
                                  Places.str() + " places");
    return;
  }
  N.result(withoutBatch(N, frontend::foldBlocks(N, X, Channels, *Folds),
                        N.rank(Given) == 2));
}

ArrayRef<Rule> patchRules() {
  constexpr std::string_view Few =
      "blocks of up to 1024 elements along an axis";
  static const Rule Rows[] = {
      {"col2im.default", col2im, InPlace::No, Few},
      {"im2col.default", im2col, InPlace::No, Few},
  };
  return Rows;
}

} // namespace kpc::torch
