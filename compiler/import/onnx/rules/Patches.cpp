//===- Patches.cpp - Import of Col2Im, CenterCropPad and AffineGrid -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Folding.h"
#include "compiler/import/onnx/Rules.h"

using namespace kpc::graph;

namespace kpc::onnx {

using frontend::Fold;
using frontend::LargestBlock;

//===----------------------------------------------------------------------===//
// Col2Im
//===----------------------------------------------------------------------===//

static std::optional<std::vector<Fold>> readFolds(NodeImport &N) {
  std::optional<std::vector<int64_t>> Image = N.knownInts(1, "image_shape");
  std::optional<std::vector<int64_t>> Block = N.knownInts(2, "block_shape");
  if (!Image || !Block)
    return std::nullopt;
  size_t Count = Image->size();
  Ints Ones(Count, 1), Zeros(2 * Count, 0);
  Ints Stride = N.intsAttribute("strides").value_or(Ones);
  Ints Dilation = N.intsAttribute("dilations").value_or(Ones);
  Ints Pads = N.intsAttribute("pads").value_or(Zeros);
  bool Fits = Count > 0 && Block->size() == Count && Stride.size() == Count &&
              Dilation.size() == Count && Pads.size() == 2 * Count;
  std::vector<Fold> Folds;
  for (size_t I = 0; Fits && I < Count; ++I) {
    int64_t Size = (*Image)[I];
    Fold F{Expr(Size),  (*Block)[I], Stride[I],
           Dilation[I], Pads[I],     Pads[I + Count]};
    constexpr int64_t Most = int64_t(1) << 30;
    for (int64_t V : {Size, F.Block, F.Stride, F.Dilation})
      Fits &= V >= 1 && V < Most;
    for (int64_t V : {F.Low, F.High})
      Fits &= V >= 0 && V < Most;
    Fits = Fits && Size + F.Low + F.High >= F.Dilation * (F.Block - 1) + 1;
    Folds.push_back(F);
  }
  if (Fits)
    return Folds;
  N.fail(Code::ImportShape, "image_shape, block_shape, strides, dilations and "
                            "pads do not fit each other");
  return std::nullopt;
}

static void importCol2Im(NodeImport &N) {
  N.expectInputs(3, 3);
  Value X = N.input(0);
  if (N.bad())
    return;
  std::optional<std::vector<Fold>> Folds = readFolds(N);
  if (!Folds)
    return;
  int64_t Elements = 1, Places = 1;
  for (const Fold &F : *Folds) {
    if (F.Block > LargestBlock) {
      N.unsupported("blocks of " + std::to_string(F.Block) +
                    " elements along an axis; kpc takes " +
                    std::to_string(LargestBlock));
      return;
    }
    Elements *= F.Block;
    Places *= *F.places().asConstant();
  }
  Expr Channels = N.rank(X) == 3 ? N.dims(X)[1].floorDiv(Elements) : Expr(0);
  if (N.rank(X) != 3 || N.dims(X)[2] != Expr(Places) ||
      Channels * Elements != N.dims(X)[1]) {
    N.fail(Code::ImportShape, "input 0 is " + dimsText(N.dims(X)) +
                                  ", but should be batch, channels times " +
                                  std::to_string(Elements) + ", " +
                                  std::to_string(Places) + " blocks");
    return;
  }
  N.result(0, frontend::foldBlocks(N, X, Channels, *Folds));
}

//===----------------------------------------------------------------------===//
// CenterCropPad
//===----------------------------------------------------------------------===//

static void importCenterCropPad(NodeImport &N) {
  std::optional<Ints> Given = N.intsAttribute("axes");
  N.expectInputs(2, 2);
  Value X = N.input(0);
  if (N.bad())
    return;
  Ints Axes = llvm::to_vector(llvm::seq<int64_t>(0, N.rank(X)));
  if (Given) {
    Axes.clear();
    for (int64_t A : *Given)
      Axes.push_back(N.frontAxis(A, N.rank(X)));
  }
  if (N.bad())
    return;
  std::optional<std::vector<Expr>> Wanted;
  std::optional<Dims> Declared = N.declaredSizes(0);
  if (!N.contents(1) && Declared && N.rank(X) == int64_t(Declared->size())) {
    Wanted.emplace();
    for (int64_t A : Axes)
      Wanted->push_back((*Declared)[static_cast<size_t>(A)]);
  } else {
    Wanted = N.knownSizes(1, "shape");
  }
  if (!Wanted)
    return;
  if (Wanted->size() != Axes.size()) {
    N.fail(Code::ImportShape, std::to_string(Wanted->size()) + " sizes for " +
                                  std::to_string(Axes.size()) + " axes");
    return;
  }
  for (size_t I = 0; I < Axes.size() && X; ++I) {
    Expr Have = N.dims(X)[static_cast<size_t>(Axes[I])], Want = (*Wanted)[I];
    std::optional<int64_t> More = (Want - Have).asConstant();
    if (!More) {
      N.unsupportedOn("a crop or pad to " + Want.str(), Have);
      return;
    }
    if (*More < 0) {
      X = N.sliceAxis(X, Axes[I], -*More / 2, Want);
      continue;
    }
    auto Rank = static_cast<size_t>(N.rank(X));
    Ints Low(Rank, 0), High(Rank, 0), None(Rank, 0);
    Low[static_cast<size_t>(Axes[I])] = *More / 2;
    High[static_cast<size_t>(Axes[I])] = *More - *More / 2;
    X = N.pad(X, N.like(0, X), Low, High, None);
  }
  N.result(0, X);
}

//===----------------------------------------------------------------------===//
// AffineGrid
//===----------------------------------------------------------------------===//

/// Places of `Size` elements in [-1, 1].
static Value normalised(NodeImport &N, const Expr &Size, bool AlignCorners) {
  Value At = N.iota({Size}, 0, N.f32());
  Value Count = N.sizeScalar(Size, N.f32());
  if (AlignCorners) {
    // A single element sits at -1.
    Value Steps = N.max(N.addScalar(Count, -1), N.scalar(1, N.f32()));
    return N.addScalar(N.mulScalar(N.div(At, Steps), 2), -1);
  }
  Value Doubled = N.addScalar(N.mulScalar(At, 2), 1);
  return N.addScalar(N.div(Doubled, Count), -1);
}

static void importAffineGrid(NodeImport &N) {
  bool Align = N.flagAttribute("align_corners");
  N.expectInputs(2, 2);
  Value Theta = N.input(0);
  if (N.bad())
    return;
  int64_t Space =
      N.rank(Theta) == 3 ? N.dims(Theta)[1].asConstant().value_or(0) : 0;
  if ((Space != 2 && Space != 3) || N.dims(Theta)[2] != Expr(Space + 1)) {
    N.fail(Code::ImportShape, "theta is " + dimsText(N.dims(Theta)) +
                                  ", but should be batch, 2, 3 or batch, 3, 4");
    return;
  }
  Dims Sizes;
  std::optional<Dims> Declared = N.declaredSizes(0);
  if (!N.contents(1) && Declared && int64_t(Declared->size()) == Space + 2) {
    Sizes.append(Declared->begin() + 1, Declared->end() - 1);
  } else {
    std::optional<std::vector<Expr>> Given = N.knownSizes(1, "size");
    if (!Given)
      return;
    if (int64_t(Given->size()) != Space + 2) {
      N.fail(Code::ImportShape, "size has " + std::to_string(Given->size()) +
                                    " numbers, but should have " +
                                    std::to_string(Space + 2));
      return;
    }
    Sizes.append(Given->begin() + 2, Given->end());
  }
  // Each place is a sum over the axes, x first: the last axis.
  Type Stored = N.element(Theta);
  Value T = N.cast(Theta, N.f32());
  Dims Column(static_cast<size_t>(Space) + 2, Expr(1));
  Column[0] = N.dims(Theta)[0];
  Column.back() = Expr(Space);
  Value Sum = N.reshape(N.sliceAxis(T, 2, Space, 1), Column);
  for (int64_t I = 0; I < Space; ++I) {
    auto Axis = static_cast<size_t>(Space - 1 - I);
    Dims Along(static_cast<size_t>(Space) + 1, Expr(1));
    Along[Axis] = Sizes[Axis];
    Value Place = N.reshape(normalised(N, Sizes[Axis], Align), Along);
    Sum = N.add(Sum, N.mul(N.reshape(N.sliceAxis(T, 2, I, 1), Column), Place));
  }
  N.result(0, N.cast(Sum, Stored));
}

ArrayRef<Rule> patchRules() {
  static const Rule Rows[] = {
      {"", "Col2Im", 18, Newest, importCol2Im,
       "image_shape and block_shape must be known when compiling"},
      {"", "CenterCropPad", 18, Newest, importCenterCropPad,
       "the difference of the sizes must be known when compiling"},
      {"", "AffineGrid", 20, Newest, importAffineGrid,
       "the size must follow from constants and sizes"},
  };
  return Rows;
}

} // namespace kpc::onnx
