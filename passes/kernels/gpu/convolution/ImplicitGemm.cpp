//===- ImplicitGemm.cpp - A convolution as a GEMM -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/convolution/ImplicitGemm.h"
#include "passes/kernels/gpu/convolution/PaddedInput.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

int64_t ImplicitGemm::taps() const {
  int64_t Taps = 1;
  for (const Axis &One : Axes)
    Taps *= One.Taps;
  return Taps;
}

std::optional<Expr> ImplicitGemm::tapPitch() const {
  std::optional<Expr> Pitch;
  Expr Taps = 1;
  for (const Axis &One : llvm::reverse(Axes)) {
    if (One.Taps == 1)
      continue;
    if (!Pitch)
      Pitch = One.TapPitch;
    else if (One.TapPitch != *Pitch * Taps)
      return std::nullopt;
    Taps = Taps * Expr(One.Taps);
  }
  if (Pitch)
    return Pitch;
  // Nothing is behind a single tap: where its own memory ends.
  return isKMajor() ? P.N * P.B.ColumnStride : Channels * P.B.RowStride;
}

bool ImplicitGemm::foldTapsIntoChannels() {
  Axis &Inner = Axes.back();
  std::optional<Expr> Steps = sizeExpr(P.C.M.Sizes.back());
  if (Inner.Low || Inner.High || Inner.Dilation != 1 || !Steps ||
      Inner.Pitch != Channels || Inner.TapPitch != Channels * P.B.RowStride)
    return false;
  Channels = Channels * Expr(Inner.Taps);
  Inner.Pitch = Inner.Pitch * Expr(Inner.Stride);
  Inner.Size = *Steps;
  Inner.Stride = Inner.Taps = 1;
  return true;
}

namespace {

class Reader {
public:
  explicit Reader(GemmMatch P) : Conv{std::move(P), {}, 0, 0, 0} {}
  std::optional<ImplicitGemm> read();

private:
  bool readInput();
  bool readAxis(AffineExpr At, unsigned Number);
  bool readChannel(AffineExpr At);
  bool readFilter();
  const Contraction &contraction() const { return Conv.P.C; }
  std::optional<int64_t> tapsOf(unsigned Loop) {
    return constantOf(loopSize(contraction().R.Op, Loop));
  }

  ImplicitGemm Conv;
};

/// Spatial dimension `Number` of the input, at `At` in terms of the loops.
bool Reader::readAxis(AffineExpr At, unsigned Number) {
  const Contraction &C = contraction();
  ImplicitGemm::Axis &Axis = Conv.Axes.emplace_back();
  llvm::SmallDenseMap<unsigned, int64_t> Factors;
  if (!addFactors(At, 1, Factors))
    return false;
  // One loop of the rows; one of the sum, unless the filter has one tap.
  unsigned Row = C.M.Loops[Number + 1], Tap = C.K.Loops[Number];
  Axis.Stride = Factors.lookup(Row);
  Axis.Dilation = Factors.lookup(Tap);
  for (auto [Loop, Factor] : Factors)
    if ((Loop != Row && Loop != Tap) || Factor < 1)
      return false;
  std::optional<int64_t> Taps = tapsOf(Tap);
  if (!Taps || *Taps < 1)
    return false;
  Axis.Taps = *Taps;
  // A loop that does not move takes one step at most.
  if (!Axis.Stride && constantOf(loopSize(C.R.Op, Row)) != 1)
    return false;
  if (!Axis.Dilation && Axis.Taps != 1)
    return false;
  Axis.Stride = std::max<int64_t>(Axis.Stride, 1);
  Axis.Dilation = std::max<int64_t>(Axis.Dilation, 1);
  return true;
}

/// The channel, at `At` in terms of the loops: that of the sum, or in groups
/// `(o floordiv outputs) * channels + c` of both.
bool Reader::readChannel(AffineExpr At) {
  const Contraction &C = contraction();
  unsigned Output = C.N.Loops.front(), Channel = C.K.Loops.back();
  AffineExpr O = getAffineDimExpr(Output, At.getContext()),
             Sum = getAffineDimExpr(Channel, At.getContext());
  if (At == Sum)
    return true;
  std::optional<int64_t> Outputs = constantOf(loopSize(C.R.Op, Output)),
                         Channels = constantOf(loopSize(C.R.Op, Channel));
  auto Both = dyn_cast<AffineBinaryOpExpr>(At);
  if (!Both || Both.getKind() != AffineExprKind::Add || !Outputs || !Channels)
    return false;
  AffineExpr Group = Both.getLHS() == Sum   ? Both.getRHS()
                     : Both.getRHS() == Sum ? Both.getLHS()
                                            : AffineExpr();
  for (int64_t Groups = 2; Group && Groups <= *Outputs; ++Groups)
    if (*Outputs % Groups == 0 &&
        Group == O.floorDiv(*Outputs / Groups) * *Channels)
      Conv.Groups = Groups;
  return Conv.Groups > 1;
}

bool Reader::readInput() {
  const Contraction &C = contraction();
  AffineMap Map = C.A.Map;
  unsigned Rank = Map.getNumResults();
  // n, oh, … and kh, …, c.
  if (Rank < 3 || Rank > 5 || C.M.Loops.size() != Rank - 1 ||
      C.K.Loops.size() != Rank - 1 || !C.Batch.Loops.empty() ||
      C.N.Loops.size() != 1)
    return false;
  auto IsLoop = [](AffineExpr E, unsigned Loop) {
    auto Dim = dyn_cast<AffineDimExpr>(E);
    return Dim && Dim.getPosition() == Loop;
  };
  if (!IsLoop(Map.getResult(0), C.M.Loops.front()) ||
      !readChannel(Map.getResult(Rank - 1)))
    return false;
  for (unsigned D = 1; D + 1 < Rank; ++D)
    if (!readAxis(Map.getResult(D), D - 1))
      return false;

  Value Source = C.A.Tensor;
  std::optional<Padding> Pad = readPadding(Source);
  if (Pad && !Pad->Outside.isZero())
    return false;
  if (Pad)
    Source = Pad->Source;
  AffineMap Order = AffineMap::getMultiDimIdentityMap(Rank, Map.getContext());
  if (!placeOperand(Conv.P.A, Source, Order) || !Order.isIdentity())
    return false;
  Value X = Conv.P.A.Memref;
  SmallVector<Expr> Sizes, Pitches;
  for (unsigned D = 0; D < Rank; ++D) {
    auto Size = sizeExpr(tensorSize(Source, D)),
         Pitch = sizeExpr(strideOf(X, D)),
         Padded = sizeExpr(tensorSize(C.A.Tensor, D));
    if (!Size || !Pitch || !Padded)
      return false;
    Sizes.push_back(*Size);
    Pitches.push_back(*Pitch);
    int64_t Low = Pad ? Pad->Low[D] : 0;
    std::optional<int64_t> High = (*Padded - *Size - Low).asConstant();
    bool Spatial = D > 0 && D + 1 < Rank;
    if (!High || (!Spatial && (Low || *High)))
      return false;
    if (!Spatial)
      continue;
    ImplicitGemm::Axis &Axis = Conv.Axes[D - 1];
    Axis.Low = Low;
    Axis.High = *High;
    Axis.Size = *Size;
    Axis.Pitch = *Pitch;
  }
  Conv.Images = Sizes.front();
  Conv.ImagePitch = Pitches.front();
  Conv.Channels = Sizes.back();
  if (Conv.Groups > 1) {
    // As many as all groups have.
    Expr OfGroup = *sizeExpr(loopSize(C.R.Op, C.K.Loops.back()));
    if (Conv.Channels != OfGroup * Expr(Conv.Groups))
      return false;
    Conv.Channels = OfGroup;
  }
  return Pitches.back() == Expr(1);
}

bool Reader::readFilter() {
  const Contraction &C = contraction();
  AffineMap Map = C.B.Map;
  if (Map.getNumResults() != Conv.Axes.size() + 2 ||
      !placeOperand(Conv.P.B, C.B.Tensor, Map))
    return false;
  auto PitchOf = [&](unsigned Loop) -> std::optional<Expr> {
    std::optional<unsigned> Position =
        Map.getResultPosition(getAffineDimExpr(Loop, Map.getContext()));
    return Position ? sizeExpr(strideOf(Conv.P.B.Memref, *Position))
                    : std::nullopt;
  };
  for (auto [Axis, Loop] : llvm::zip(Conv.Axes, C.K.Loops)) {
    std::optional<Expr> Pitch = PitchOf(Loop);
    if (!Pitch)
      return false;
    Axis.TapPitch = *Pitch;
  }
  std::optional<Expr> OfChannels = PitchOf(C.K.Loops.back()),
                      OfOutputs = PitchOf(C.N.Loops.front());
  if (!OfChannels || !OfOutputs)
    return false;
  Conv.P.B.RowStride = *OfChannels;
  Conv.P.B.ColumnStride = *OfOutputs;
  return true;
}

std::optional<ImplicitGemm> Reader::read() {
  if (!readInput() || !readFilter())
    return std::nullopt;
  return std::move(Conv);
}

} // namespace

std::optional<ImplicitGemm> ImplicitGemm::read(FusedKernel &Form) {
  std::optional<GemmMatch> P = GemmMatch::readResult(Form);
  if (!P)
    return std::nullopt;
  return Reader(std::move(*P)).read();
}

std::optional<ImplicitGemm> ImplicitGemm::readAny(FusedKernel &Form) {
  std::optional<GemmMatch> P = GemmMatch::readGroupedResult(Form);
  if (!P)
    return std::nullopt;
  return Reader(std::move(*P)).read();
}

} // namespace kpc::kernels
