//===- Im2colPatchEmbed.cpp - Patch embeddings as GEMMs -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.conv %x, %w stride [16, 16] …
///        : <[n, 224, 224, 3], f32>, <[16, 16, 3, 768], f32>
///     →  %p = a patch a row, [n*14*14, 768]
///        %y = graph.matmul %p, %w' : <["n*196", 768], f32>, <[768, 768], f32>
///
/// Where the filter's step is its size, each pixel is in one patch: patches are
/// the pixels in another order, and the convolution is a product. It pays where
/// pixels have too few channels for tensor cores' copies of 16 bytes; others
/// are read where they are.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/StoredValues.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_IM2COLPATCHEMBED
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Channels of 16 bits that fill 16 bytes.
constexpr int64_t EnoughChannels = 8;

struct Patches {
  ConvOp Conv;
  /// Of the image, in patches; of a patch, in pixels.
  SmallVector<Expr> Counts;
  SmallVector<int64_t> Sizes;
  int64_t Channels = 0, Outputs = 0;

  static std::optional<Patches> read(ConvOp Conv);
  int64_t elements() const {
    int64_t All = Channels;
    for (int64_t Size : Sizes)
      All *= Size;
    return All;
  }
};

std::optional<Patches> Patches::read(ConvOp Conv) {
  auto AllAre = [](ArrayRef<int64_t> List, int64_t Value) {
    return llvm::all_of(List, [&](int64_t V) { return V == Value; });
  };
  if (Conv.getGroups() != 1 || !AllAre(Conv.getDilation(), 1) ||
      !AllAre(Conv.getLow(), 0) || !AllAre(Conv.getHigh(), 0))
    return std::nullopt;
  SymbolicTensorType X = typeOf(Conv.getX()), W = typeOf(Conv.getW());
  Patches Found{Conv, {}, {}, 0, 0};
  for (auto [I, Step] : llvm::enumerate(Conv.getStride())) {
    std::optional<int64_t> Size = X.getStaticDim(int64_t(I) + 1);
    if (W.getDims()[I] != Expr(Step) || !Size || *Size % Step)
      return std::nullopt;
    Found.Counts.push_back(Expr(*Size / Step));
    Found.Sizes.push_back(Step);
  }
  std::optional<int64_t> Channels = W.getStaticDim(W.getRank() - 2),
                         Outputs = W.getStaticDim(W.getRank() - 1);
  if (!Channels || !Outputs || *Channels >= EnoughChannels ||
      AllAre(Found.Sizes, 1))
    return std::nullopt;
  Found.Channels = *Channels;
  Found.Outputs = *Outputs;
  return Found;
}

/// A permutation that brings the channels, which are last, behind dimension
/// `Front`.
SmallVector<int64_t> channelsLast(int64_t Spatial) {
  SmallVector<int64_t> Perm{0};
  for (int64_t I = 0; I < Spatial; ++I)
    Perm.push_back(I + 2);
  Perm.push_back(1);
  return Perm;
}

/// Rewrites with the channels in front of a patch's pixels where the image has
/// them so: then the pixels of a patch's line stay side by side.
class Writer {
public:
  Writer(Patches P) : P(P), B(P.Conv), Loc(P.Conv.getLoc()) {
    auto Transpose = P.Conv.getX().getDefiningOp<TransposeOp>();
    ChannelsFirst = Transpose && Transpose.getPerm() ==
                                     ArrayRef<int64_t>(
                                         channelsLast(int64_t(P.Sizes.size())));
    Image = ChannelsFirst ? Transpose.getX() : P.Conv.getX();
  }

  void write() {
    Value Y = MatmulOp::create(B, Loc, rows(), filter());
    Y = ReshapeOp::create(B, Loc, P.Conv.getType(), Y);
    P.Conv.getY().replaceAllUsesWith(Y);
    P.Conv.erase();
  }

private:
  Value reshape(Value V, ArrayRef<Expr> Dims) {
    return B.createOrFold<ReshapeOp>(Loc, typeOf(V).withDims(Dims), V);
  }
  /// A patch a row.
  Value rows() {
    Expr Batch = typeOf(Image).getDims()[0], Rows = Batch;
    SmallVector<Expr> Split{Batch};
    // Where each dimension is once the image is in patches.
    SmallVector<int64_t> Count, Pixel, Perm{0};
    if (ChannelsFirst)
      Split.push_back(Expr(P.Channels));
    for (auto [Patches, Size] : llvm::zip_equal(P.Counts, P.Sizes)) {
      Count.push_back(int64_t(Split.size()));
      Split.push_back(Patches);
      Pixel.push_back(int64_t(Split.size()));
      Split.push_back(Expr(Size));
      Rows = Rows * Patches;
    }
    if (!ChannelsFirst)
      Split.push_back(Expr(P.Channels));
    llvm::append_range(Perm, Count);
    if (ChannelsFirst)
      Perm.push_back(1);
    llvm::append_range(Perm, Pixel);
    if (!ChannelsFirst)
      Perm.push_back(int64_t(Split.size()) - 1);
    Value Transposed =
        B.createOrFold<TransposeOp>(Loc, reshape(Image, Split), Perm);
    return reshape(Transposed, {Rows, Expr(P.elements())});
  }
  Value filter() {
    Value W = P.Conv.getW();
    Expr Sum(P.elements()), Outputs(P.Outputs);
    if (!ChannelsFirst)
      return reshape(W, {Sum, Outputs});
    // As models have it, [outputs, channels, pixels…], it is a matrix.
    int64_t Rank = typeOf(W).getRank();
    SmallVector<int64_t> Perm{Rank - 1, Rank - 2};
    llvm::append_range(Perm, llvm::seq<int64_t>(0, Rank - 2));
    Value Stored = B.createOrFold<TransposeOp>(Loc, W, Perm);
    return TransposeOp::create(B, Loc, reshape(Stored, {Outputs, Sum}),
                               ArrayRef<int64_t>{1, 0});
  }

  Patches P;
  OpBuilder B;
  Location Loc;
  bool ChannelsFirst = false;
  Value Image;
};

struct Im2colPatchEmbedPass
    : graph::impl::Im2colPatchEmbedBase<Im2colPatchEmbedPass> {
  using Im2colPatchEmbedBase::Im2colPatchEmbedBase;
  void runOnOperation() override {
    if (!isGraphFunction(getOperation()))
      return;
    FailureOr<NodePatterns> Kept = NodePatterns::read(Keep, getOperation());
    if (failed(Kept))
      return signalPassFailure();
    SmallVector<Patches> All;
    getOperation().walk([&](ConvOp Conv) {
      Type Element = typeOf(Conv.getX()).getElementType();
      if (Element.isF16() || Element.isBF16() ||
          (Narrow && Element.isF32() && !Kept->match(Conv)))
        if (std::optional<Patches> Found = Patches::read(Conv))
          All.push_back(*Found);
    });
    for (const Patches &Found : All)
      Writer(Found).write();
  }
};

} // namespace
