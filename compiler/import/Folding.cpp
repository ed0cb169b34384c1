//===- Folding.cpp - Blocks of an image and back --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Folding.h"

#include "llvm/ADT/Sequence.h"

namespace kpc::frontend {

/// The blocks' elements along one dimension, summed where they meet: `X` has
/// the block's at `BlockAxis` and its places at `PlaceAxis`, which becomes the
/// image's.
static Value foldAxis(Emitter &E, Value X, int64_t BlockAxis, int64_t PlaceAxis,
                      const Fold &F) {
  if (!X)
    return {};
  auto Rank = static_cast<size_t>(Emitter::rank(X));
  auto At = static_cast<size_t>(PlaceAxis);
  std::optional<int64_t> Image = F.Image.asConstant(),
                         Places = F.places().asConstant();
  Value Sum;
  for (int64_t B = 0; B < F.Block && X; ++B) {
    Value Part = E.sliceAxis(X, BlockAxis, B, 1);
    Ints Low(Rank, 0), High(Rank, 0), Between(Rank, 0);
    Between[At] = F.Stride - 1;
    if (Image && Places) {
      // A negative pad cuts off what lies in the image's margin.
      Low[At] = B * F.Dilation - F.Low;
      int64_t Spread = (*Places - 1) * F.Stride + 1;
      High[At] = *Image - Low[At] - Spread;
    } else {
      // Room for all of the block's elements; the image is cut out at the end.
      Low[At] = B * F.Dilation;
      High[At] = (F.Block - 1 - B) * F.Dilation + F.Stride - 1;
    }
    Part = E.pad(Part, E.like(0, X), Low, High, Between);
    Sum = Sum ? E.add(Sum, Part) : Part;
  }
  return Image && Places ? Sum
                         : E.sliceAxis(Sum, PlaceAxis, F.Low, Expr(F.Image));
}

Value foldBlocks(Emitter &E, Value X, const Expr &Channels,
                 ArrayRef<Fold> Folds) {
  if (!X)
    return {};
  auto Count = static_cast<int64_t>(Folds.size());
  // [N, C, block…, places…]
  Dims Sizes = {Emitter::dims(X)[0], Channels}, Result = Sizes;
  for (const Fold &F : Folds)
    Sizes.emplace_back(F.Block);
  for (const Fold &F : Folds) {
    Sizes.push_back(F.places());
    Result.push_back(F.Image);
  }
  Value Y = E.reshape(X, Sizes);
  for (int64_t I = 0; I < Count; ++I)
    Y = foldAxis(E, Y, 2 + I, 2 + Count + I, Folds[static_cast<size_t>(I)]);
  return E.reshape(Y, Result);
}

/// The elements of an axis that a block has at each of its places: the axis
/// becomes two, [block, places].
static Value unfoldAxis(Emitter &E, Value X, int64_t Axis, const Fold &F) {
  if (!X)
    return {};
  auto At = static_cast<size_t>(Axis);
  Expr Places = F.places();
  if (F.Block == F.Stride && F.Dilation == 1 &&
      Emitter::dims(X)[At] == Places * F.Block) {
    // Blocks side by side are a view.
    Dims Split(Emitter::dims(X));
    Split[At] = Places;
    Split.insert(Split.begin() + Axis + 1, Expr(F.Block));
    Ints Perm = llvm::to_vector<6>(
        llvm::seq<int64_t>(0, static_cast<int64_t>(Split.size())));
    std::swap(Perm[At], Perm[At + 1]);
    return E.transpose(E.reshape(X, Split), Perm);
  }
  SmallVector<Value> Parts;
  for (int64_t B = 0; B < F.Block; ++B)
    Parts.push_back(E.unsqueeze(
        E.sliceAxis(X, Axis, B * F.Dilation, Places, F.Stride), {Axis}));
  return llvm::is_contained(Parts, Value()) ? Value() : E.concat(Parts, Axis);
}

Value unfoldBlocks(Emitter &E, Value X, ArrayRef<Fold> Folds) {
  if (!X)
    return {};
  size_t Count = Folds.size(), Rank = Emitter::dims(X).size();
  Ints Low(Rank, 0), High(Rank, 0), None(Rank, 0);
  Expr Rows = Emitter::dims(X)[1], All(1);
  for (size_t I = 0; I < Count; ++I) {
    Low[2 + I] = Folds[I].Low;
    High[2 + I] = Folds[I].High;
    Rows = Rows * Folds[I].Block;
    All = All * Folds[I].places();
  }
  Value Y = E.pad(X, E.like(0, X), Low, High, None);
  // Each axis becomes [block, places]; then all blocks stand first.
  Ints Perm = {0, 1};
  for (size_t I = 0; I < Count; ++I) {
    Y = unfoldAxis(E, Y, static_cast<int64_t>(2 + 2 * I), Folds[I]);
    Perm.push_back(static_cast<int64_t>(2 + 2 * I));
  }
  for (size_t I = 0; I < Count; ++I)
    Perm.push_back(static_cast<int64_t>(3 + 2 * I));
  return E.reshape(E.transpose(Y, Perm), {Emitter::dims(X)[0], Rows, All});
}

} // namespace kpc::frontend
