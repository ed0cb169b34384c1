//===- ImplicitGemm.cpp - A convolution as a GEMM -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/convolution/ImplicitGemm.h"

#include "dialects/kernel/Kernel.h"
#include "dialects/shape/LiveTaps.h"

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

/// Bytes of the largest piece, 16 at most, at whose multiples all `Pitches`
/// lead.
static int64_t alignmentOf(const GemmMatch &P, Type Element,
                           ArrayRef<Expr> Pitches) {
  int64_t ElementBytes = Element.getIntOrFloatBitWidth() / 8;
  int64_t Elements = 16 / ElementBytes;
  for (const Expr &Pitch : Pitches)
    while (Elements > 1 && P.Facts.divisor(Pitch) % Elements)
      Elements /= 2;
  return Elements * ElementBytes;
}

int64_t ImplicitGemm::pixelAlignment() const {
  SmallVector<Expr> Pitches = {ImagePitch};
  for (const Axis &One : Axes)
    Pitches.push_back(One.Pitch);
  return alignmentOf(P, P.A.Element, Pitches);
}

int64_t ImplicitGemm::filterAlignment() const {
  SmallVector<Expr> Pitches = {isKMajor() ? P.B.ColumnStride : P.B.RowStride};
  for (const Axis &One : Axes)
    Pitches.push_back(One.TapPitch);
  return alignmentOf(P, P.B.Element, Pitches);
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
  Live.clear();
  return true;
}

bool ImplicitGemm::channelsGoOn() const {
  std::optional<int64_t> Step = Axes.back().Pitch.asConstant(),
                         Count = Channels.asConstant();
  return Axes.back().Taps == 1 && Step && Count && *Step < *Count;
}

namespace {

class Reader {
public:
  Reader(GemmMatch P, kernel::ConvOp Op)
      : Op(Op), Conv{std::move(P), {}, 0, 0, 0} {}
  std::optional<ImplicitGemm> read();

private:
  bool readAxes();
  bool readInput();
  bool readFilter();
  const Contraction &contraction() const { return Conv.P.C; }

  kernel::ConvOp Op;
  ImplicitGemm Conv;
};

/// What the op says of spatial dimensions.
bool Reader::readAxes() {
  unsigned Spatial = Op.getSpatialRank();
  if (Spatial > 3)
    return false;
  for (unsigned I = 0; I < Spatial; ++I) {
    ImplicitGemm::Axis &Axis = Conv.Axes.emplace_back();
    Axis.Stride = Op.getStrides()[I];
    Axis.Dilation = Op.getDilations()[I];
    Axis.Taps = Op.getW().getType().getDimSize(I);
    if (Axis.Taps < 1)
      return false;
  }
  Conv.Groups = Op.getGroups();
  if (auto Live = Op->getAttrOfType<DenseI64ArrayAttr>(KernelLiveTapsName))
    Conv.Live.assign(Live.asArrayRef().begin(), Live.asArrayRef().end());
  return true;
}

bool isZero(Attribute Number) {
  if (auto Float = dyn_cast<FloatAttr>(Number))
    return Float.getValue().isZero();
  auto Integer = dyn_cast<IntegerAttr>(Number);
  return Integer && Integer.getValue().isZero();
}

/// Where x lies in memory, and the zeros around it.
bool Reader::readInput() {
  unsigned Rank = Op.getX().getType().getRank();
  auto Pad = Op.getX().getDefiningOp<kernel::PadOp>();
  if (Pad && (!isZero(Pad.getOutside()) ||
              llvm::any_of(Pad.getLow(), [](int64_t Low) { return Low < 0; })))
    return false;
  Value Source = Pad ? Pad.getX() : Op.getX();
  AffineMap Order = AffineMap::getMultiDimIdentityMap(Rank, Op.getContext());
  if (!placeOperand(Conv.P.A, Source, Order) || !Order.isIdentity())
    return false;
  Value X = Conv.P.A.Memref;
  SmallVector<Expr> Sizes, Pitches;
  for (unsigned D = 0; D < Rank; ++D) {
    auto Size = sizeExpr(tensorSize(Source, D)),
         Pitch = sizeExpr(strideOf(X, D));
    if (!Size || !Pitch)
      return false;
    Sizes.push_back(*Size);
    Pitches.push_back(*Pitch);
    bool Spatial = D > 0 && D + 1 < Rank;
    if (!Spatial && Pad && Pad.isPadded(D))
      return false;
    if (!Spatial)
      continue;
    ImplicitGemm::Axis &Axis = Conv.Axes[D - 1];
    Axis.Low = Pad ? Pad.getLow()[D] : 0;
    Axis.High = Pad ? Pad.getHigh()[D] : 0;
    Axis.Size = *Size;
    Axis.Pitch = *Pitch;
  }
  Conv.Images = Sizes.front();
  Conv.ImagePitch = Pitches.front();
  Conv.Channels = Sizes.back();
  // Those of one group.
  if (Conv.Groups > 1)
    Conv.Channels = Op.getW().getType().getDimSize(Op.getSpatialRank());
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
  if (!readAxes() || !readInput() || !readFilter())
    return std::nullopt;
  // One output has no neighbour.
  if (Conv.P.N == Expr(1))
    Conv.P.D.ColumnStride = Expr(1);
  return std::move(Conv);
}

} // namespace

/// The convolution that `P` was read from.
static std::optional<ImplicitGemm> readConv(std::optional<GemmMatch> P) {
  if (!P)
    return std::nullopt;
  linalg::LinalgOp Root = P->C.R.Op;
  auto Op = dyn_cast<kernel::ConvOp>(Root.getOperation());
  if (!Op)
    return std::nullopt;
  return Reader(std::move(*P), Op).read();
}

std::optional<ImplicitGemm> ImplicitGemm::read(FusedKernel &Form) {
  return readConv(GemmMatch::readResult(Form));
}

std::optional<ImplicitGemm> ImplicitGemm::readAny(FusedKernel &Form) {
  return readConv(GemmMatch::readGroupedResult(Form));
}

} // namespace kpc::kernels
