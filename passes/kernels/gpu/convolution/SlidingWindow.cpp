//===- SlidingWindow.cpp - A reduction over a window ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/convolution/SlidingWindow.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/convolution/PaddedInput.h"

using namespace mlir;

namespace kpc::kernels {

/// Indices of pixels are computed in 32 bits.
static constexpr int64_t MostPixels = int64_t(1) << 24;
/// Larger windows are loops.
static constexpr int64_t MostTaps = 64;

/// Dimension `Number` of the image, at `At` in terms of the loops: the parallel
/// loop of its number, and at most one that is reduced.
bool SlidingWindow::readAxis(AffineExpr At, unsigned Number) {
  WindowAxis &A = Axes[Number];
  llvm::SmallDenseMap<unsigned, int64_t> Factors;
  if (!addFactors(At, 1, Factors))
    return false;
  std::optional<unsigned> Tap;
  for (auto [Loop, Factor] : Factors) {
    if (Factor < 1)
      return false;
    if (Loop == R.Parallel[Number + 1])
      A.Stride = Factor;
    else if (constantOf(loopSize(R.Op, Loop)) == 1)
      continue;
    else if (llvm::is_contained(R.Reduced, Loop) && !Tap)
      Tap = Loop, A.Dilation = Factor;
    else
      return false;
  }
  if (!Factors.count(R.Parallel[Number + 1]))
    return false;
  A.Out = R.ParallelSizes[Number + 1];
  if (!Tap)
    return true;
  const unsigned *Place = llvm::find(R.Reduced, *Tap);
  TapLoops[Number] = unsigned(Place - R.Reduced.begin());
  A.Taps = constantOf(R.ReducedSizes[TapLoops[Number]]).value_or(0);
  return A.Taps > 0;
}

/// `V` in the type of memory, if that holds it.
static std::optional<llvm::APFloat> asStored(llvm::APFloat V, Type Element) {
  bool Loses = false;
  V.convert(cast<FloatType>(Element).getFloatSemantics(),
            llvm::APFloat::rmNearestTiesToEven, &Loses);
  return Loses ? std::nullopt : std::optional(V);
}

bool SlidingWindow::readMemory(Value Tensor) {
  std::optional<Padding> Pad = readPadding(Tensor);
  Value Source = Pad ? Pad->Source : Tensor;
  if (!placeMatrix(X, memoryOf(Source)) || !isa<FloatType>(X.Element) ||
      X.Element.getIntOrFloatBitWidth() > 32 ||
      X.Element.getIntOrFloatBitWidth() < 16)
    return false;
  auto Outside = asStored(Pad ? Pad->Outside : llvm::APFloat(0.0f), X.Element);
  if (!Outside || constantOf(strideOf(X.Memref, 3)) != 1 ||
      (Pad && (Pad->Low[0] || Pad->Low[3])))
    return false;
  this->Outside = *Outside;
  ImagePitch = strideOf(X.Memref, 0);
  for (unsigned D = 0; D < 2; ++D) {
    WindowAxis &A = Axes[D];
    A.Low = Pad ? Pad->Low[D + 1] : 0;
    A.Size = tensorSize(Source, D + 1);
    A.Pitch = strideOf(X.Memref, D + 1);
    if (!A.Size || !A.Pitch || maxOf(A.Size).value_or(MostPixels) >= MostPixels)
      return false;
  }
  // Around images and channels there is nothing.
  for (unsigned D : {0u, 3u})
    if (sizeExpr(tensorSize(Source, D)) != sizeExpr(tensorSize(Tensor, D)))
      return false;
  return bool(ImagePitch);
}

std::optional<SlidingWindow> SlidingWindow::read(FusedKernel &Form) {
  std::optional<Reduction> R = Reduction::read(Form);
  if (!R || R->Parallel.size() != 4 || Form.Outputs.empty())
    return std::nullopt;
  SlidingWindow Win{*R, 0, {}, {0, 0}, {}, {}, llvm::APFloat(0.0f)};
  std::optional<unsigned> Found;
  int64_t Taps = 1;
  for (OpFoldResult Size : R->ReducedSizes) {
    std::optional<int64_t> Constant = constantOf(Size);
    if (!Constant || *Constant < 1 || *Constant > MostTaps)
      return std::nullopt;
    Taps *= *Constant;
  }
  for (OpOperand *Input : Win.R.Op.getDpsInputOperands()) {
    AffineMap Map = Win.R.Op.getMatchingIndexingMap(Input);
    bool Slides = llvm::any_of(Map.getResults(), [](AffineExpr E) {
      return isa<AffineBinaryOpExpr>(E);
    });
    if (!Slides || !Win.R.Op.payloadUsesValueFromOperand(Input))
      continue;
    if (Found)
      return std::nullopt;
    Found = Input->getOperandNumber();
  }
  if (!Found || Taps < 2 || Taps > MostTaps)
    return std::nullopt;
  Win.Input = *Found;
  OpOperand &Input = Win.R.Op->getOpOperand(*Found);
  AffineMap Map = Win.R.Op.getMatchingIndexingMap(&Input);
  if (Map.getNumResults() != 4)
    return std::nullopt;
  llvm::SmallDenseMap<unsigned, int64_t> First, Last;
  auto IsLoop = [&](AffineExpr E, unsigned Loop) {
    llvm::SmallDenseMap<unsigned, int64_t> Factors;
    if (!addFactors(E, 1, Factors) || Factors.lookup(Loop) != 1)
      return false;
    return llvm::all_of(Factors, [&](auto &One) {
      return One.first == Loop ||
             constantOf(loopSize(Win.R.Op, One.first)) == 1;
    });
  };
  if (!IsLoop(Map.getResult(0), Win.R.Parallel[0]) ||
      !IsLoop(Map.getResult(3), Win.R.Parallel[3]) ||
      !Win.readAxis(Map.getResult(1), 0) ||
      !Win.readAxis(Map.getResult(2), 1) || !Win.readMemory(Input.get()))
    return std::nullopt;
  // What is reduced is the taps.
  if (Win.Axes[0].Taps * Win.Axes[1].Taps != Taps)
    return std::nullopt;
  return Win;
}

} // namespace kpc::kernels
