//===- SlidingWindow.cpp - A reduction over a window ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/convolution/SlidingWindow.h"

#include "dialects/kernel/Kernel.h"
#include "passes/kernels/form/SizeFacts.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace kpc::kernels {

/// Larger windows are loops.
static constexpr int64_t MostTaps = 4096;

/// The factor of each dim in a sum of dims times constants; false where it is
/// anything else.
static bool addFactors(AffineExpr E, int64_t Times,
                       llvm::SmallDenseMap<unsigned, int64_t> &Factors) {
  if (auto Dim = dyn_cast<AffineDimExpr>(E)) {
    Factors[Dim.getPosition()] += Times;
    return true;
  }
  if (auto Constant = dyn_cast<AffineConstantExpr>(E))
    return Constant.getValue() == 0;
  auto Binary = dyn_cast<AffineBinaryOpExpr>(E);
  if (!Binary)
    return false;
  if (E.getKind() == AffineExprKind::Add)
    return addFactors(Binary.getLHS(), Times, Factors) &&
           addFactors(Binary.getRHS(), Times, Factors);
  auto Constant = dyn_cast<AffineConstantExpr>(Binary.getRHS());
  return E.getKind() == AffineExprKind::Mul && Constant &&
         addFactors(Binary.getLHS(), Times * Constant.getValue(), Factors);
}

/// Dimension `Number` of the image, at `At` in terms of the loops: the parallel
/// loop of its number, and at most one that is reduced.
bool SlidingWindow::readAxis(AffineExpr At, unsigned Number) {
  WindowAxis &A = Axes[axisOf(Number)];
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
  unsigned &TapLoop = TapLoops[axisOf(Number)];
  TapLoop = unsigned(Place - R.Reduced.begin());
  A.Taps = constantOf(R.ReducedSizes[TapLoop]).value_or(0);
  return A.Taps > 0;
}

/// `V` in the type of memory, if that holds it.
static std::optional<llvm::APFloat> asStored(llvm::APFloat V, Type Element) {
  bool Loses = false;
  V.convert(cast<FloatType>(Element).getFloatSemantics(),
            llvm::APFloat::rmNearestTiesToEven, &Loses);
  return Loses ? std::nullopt : std::optional(V);
}

/// Where the image lies, and what stands around it.
bool SlidingWindow::readMemory(Value Tensor) {
  auto Pad = Tensor.getDefiningOp<kernel::PadOp>();
  Value Source = Pad ? Pad.getX() : Tensor;
  if (!placeMatrix(X, memoryOf(Source)) || !isa<FloatType>(X.Element) ||
      X.Element.getIntOrFloatBitWidth() > 32 ||
      X.Element.getIntOrFloatBitWidth() < 16)
    return false;
  llvm::APFloat Beside(0.0f);
  // Around images and channels there is nothing.
  if (Pad && (!matchPattern(Pad.getOutside(), m_ConstantFloat(&Beside)) ||
              Pad.isPadded(0) || Pad.isPadded(Rank + 1) ||
              llvm::any_of(Pad.getLow(), [](int64_t Low) { return Low < 0; })))
    return false;
  auto Outside = asStored(Beside, X.Element);
  if (!Outside || constantOf(strideOf(X.Memref, Rank + 1)) != 1)
    return false;
  this->Outside = *Outside;
  ImagePitch = strideOf(X.Memref, 0);
  for (unsigned D = 0; D < Rank; ++D) {
    WindowAxis &A = Axes[axisOf(D)];
    A.Low = Pad ? Pad.getLow()[D + 1] : 0;
    A.Size = tensorSize(Source, D + 1);
    A.Pitch = strideOf(X.Memref, D + 1);
    if (!A.Size || !A.Pitch)
      return false;
  }
  return bool(ImagePitch);
}

bool SlidingWindow::readConv() {
  auto Conv = cast<kernel::ConvOp>(R.Op.getOperation());
  ArrayRef<int64_t> Filter = Conv.getW().getType().getShape();
  // Each output has a channel of its own.
  if (Conv.getSpatialRank() != Rank || Conv.getGroups() == 1 ||
      int64_t(Conv.getGroups()) != Filter[Rank + 1] || Filter[Rank] != 1)
    return false;
  Input = Conv.getXMutable().getOperandNumber();
  for (unsigned I = 0; I < Rank; ++I) {
    WindowAxis &A = Axes[axisOf(I)];
    A.Stride = Conv.getStrides()[I];
    A.Out = R.ParallelSizes[I + 1];
    A.Taps = Filter[I];
    TapLoops[axisOf(I)] = A.Taps > 1 ? I : 0;
    if (A.Taps > 1)
      A.Dilation = Conv.getDilations()[I];
  }
  return readMemory(Conv.getX());
}

bool SlidingWindow::readPool() {
  std::optional<unsigned> Found;
  for (OpOperand *Operand : R.Op.getDpsInputOperands()) {
    AffineMap Map = R.Op.getMatchingIndexingMap(Operand);
    bool Slides = llvm::any_of(Map.getResults(), [](AffineExpr E) {
      return isa<AffineBinaryOpExpr>(E);
    });
    if (!Slides || !R.Op.payloadUsesValueFromOperand(Operand))
      continue;
    if (Found)
      return false;
    Found = Operand->getOperandNumber();
  }
  if (!Found)
    return false;
  Input = *Found;
  OpOperand &Image = R.Op->getOpOperand(*Found);
  AffineMap Map = R.Op.getMatchingIndexingMap(&Image);
  auto IsLoop = [&](AffineExpr E, unsigned Loop) {
    llvm::SmallDenseMap<unsigned, int64_t> Factors;
    if (!addFactors(E, 1, Factors) || Factors.lookup(Loop) != 1)
      return false;
    return llvm::all_of(Factors, [&](auto &One) {
      return One.first == Loop || constantOf(loopSize(R.Op, One.first)) == 1;
    });
  };
  if (Map.getNumResults() != Rank + 2 ||
      !IsLoop(Map.getResult(0), R.Parallel[0]) ||
      !IsLoop(Map.getResult(Rank + 1), R.Parallel[Rank + 1]))
    return false;
  for (unsigned D = 0; D < Rank; ++D)
    if (!readAxis(Map.getResult(D + 1), D))
      return false;
  return readMemory(Image.get());
}

std::optional<SlidingWindow> SlidingWindow::read(FusedKernel &Form) {
  std::optional<Reduction> R = Reduction::read(Form);
  if (!R || R->Parallel.size() < 3 || R->Parallel.size() > 5 ||
      Form.Outputs.empty())
    return std::nullopt;
  SlidingWindow Win{*R};
  Win.Rank = R->Parallel.size() - 2;
  Builder B(R->Op.getContext());
  for (WindowAxis &A : Win.Axes) {
    A.Size = A.Out = B.getIndexAttr(1);
    A.Pitch = B.getIndexAttr(0);
  }
  int64_t Taps = 1;
  for (OpFoldResult Size : R->ReducedSizes) {
    std::optional<int64_t> Constant = constantOf(Size);
    if (!Constant || *Constant < 1 || *Constant > MostTaps)
      return std::nullopt;
    Taps *= *Constant;
  }
  if (Taps < 2 || Taps > MostTaps)
    return std::nullopt;
  bool IsConv = isa<kernel::ConvOp>(Win.R.Op.getOperation());
  if (!(IsConv ? Win.readConv() : Win.readPool()))
    return std::nullopt;
  // What is reduced is the taps.
  if (Win.taps() != Taps)
    return std::nullopt;
  return Win;
}

} // namespace kpc::kernels
