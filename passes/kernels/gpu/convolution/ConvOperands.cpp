//===- ConvOperands.cpp - What im2col copies can bring --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/convolution/ConvOperands.h"
#include "passes/kernels/form/SizeFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

//===----------------------------------------------------------------------===//
// What fits
//===----------------------------------------------------------------------===//

namespace {

/// The longest step of a copy from pixel to pixel.
constexpr int64_t LongestStride = 8;

/// Bits that a tensor map has for each corner of the walk, by the number of
/// spatial dimensions (cuTensorMapEncodeIm2col); offsets have as many.
constexpr int64_t CornerBits[] = {16, 8, 5};

int64_t bytesOf(Type Element) { return Element.getIntOrFloatBitWidth() / 8; }

bool isReachable(const ImplicitGemm &Conv) {
  int64_t Half = int64_t(1) << (CornerBits[Conv.Axes.size() - 1] - 1);
  return llvm::all_of(Conv.Axes, [&](const ImplicitGemm::Axis &Axis) {
    int64_t Upper = Axis.High - Axis.reach();
    return Axis.Stride <= LongestStride && Axis.Low <= Half && Upper >= -Half &&
           Upper < Half && Axis.reach() < 2 * Half;
  });
}

} // namespace

std::optional<schedule::Refusal> refusalByIm2col(ImplicitGemm &Conv,
                                                 StringRef Mma) {
  GemmMatch &P = Conv.P;
  Type Of = P.A.Element;
  if (!P.hasTensorTypes())
    return schedule::Refusal{"", RefusalKind::ElementType, P.multipliedTypes()};
  if (!P.hasStoredType())
    return schedule::Refusal{
        "", RefusalKind::ElementType,
        "the result is neither of f16, bf16, f32, i32 nor 8 bits"};
  auto WholeOf = [&](const Expr &Stride, Type Element) {
    int64_t Elements = TmaStrideBytes / bytesOf(Element);
    return P.Facts.divisor(Stride) % Elements == 0; // 0 divides as all do
  };
  auto Whole = [&](const Expr &Stride) { return WholeOf(Stride, Of); };
  if (P.Facts.range(Conv.Channels).Min < 1)
    return schedule::Refusal{"", RefusalKind::Size,
                             "the number of channels may be 0"};
  if (!isReachable(Conv))
    return schedule::Refusal{
        "", RefusalKind::Size,
        "its pads, strides or dilations are larger than im2col "
        "copies reach"};
  if (!llvm::all_of(Conv.Axes,
                    [&](const auto &Axis) { return Whole(Axis.Pitch); }) ||
      !Whole(Conv.ImagePitch))
    return schedule::Refusal{"", RefusalKind::Layout,
                             "pixels do not begin at multiples of 16 bytes"};
  bool KMajor = Conv.isKMajor();
  if ((P.isTf32() || P.isFp8() || P.isInt8()) && !KMajor)
    return schedule::Refusal{"", RefusalKind::Layout,
                             std::string("in ") +
                                 (P.isTf32()  ? "tf32"
                                  : P.isFp8() ? "FP8"
                                              : "8 bits") +
                                 ", " + Mma.str() +
                                 " needs channels contiguous in the filter"};
  std::optional<Expr> TapPitch = Conv.tapPitch();
  if (!TapPitch || !Whole(*TapPitch) ||
      !(KMajor ? Whole(P.B.ColumnStride)
               : P.B.ColumnStride == Expr(1) && Whole(P.B.RowStride)))
    return schedule::Refusal{
        "", RefusalKind::Layout,
        "rows of the filter do not begin at multiples of 16 "
        "bytes"};
  if (P.D.ColumnStride != Expr(1) || !WholeOf(P.D.RowStride, P.D.Element))
    return schedule::Refusal{
        "", RefusalKind::Layout,
        "rows of the result do not begin at multiples of 16 "
        "bytes"};
  return std::nullopt;
}

/// Elements that all slices of the sum hold, those that are zeros included.
static int64_t slicedK(int64_t Taps, int64_t Channels, int64_t ElementBytes) {
  schedule::ConvShape Shape;
  Shape.Channels = Channels;
  Shape.ElementBytes = ElementBytes;
  return Taps * int64_t(llvm::alignTo(Channels, schedule::sliceOf(Shape)));
}

/// Taps of few channels share a slice.
static void foldTapsIntoFewChannels(ImplicitGemm &Conv) {
  std::optional<int64_t> Channels = Conv.Channels.asConstant();
  ImplicitGemm Reduced = Conv;
  if (!Channels || !Reduced.foldTapsIntoChannels())
    return;
  int64_t Bytes = bytesOf(Conv.P.A.Element);
  // Taps that are no one dimension do not stay apart.
  if (!Conv.tapPitch() ||
      slicedK(Reduced.taps(), *Reduced.Channels.asConstant(), Bytes) <
          slicedK(Conv.taps(), *Channels, Bytes))
    Conv.foldTapsIntoChannels();
}

std::optional<schedule::ConvShape> convShapeOf(ImplicitGemm &Conv) {
  const Contraction &C = Conv.P.C;
  schedule::ConvShape Shape;
  Shape.Places = typicalProduct(C.M.Sizes, UnknownExtent);
  Shape.Outputs = typicalProduct(C.N.Sizes, UnknownExtent);
  Shape.Channels = Conv.Channels.asConstant().value_or(
      typicalProduct(C.K.Sizes.back(), UnknownExtent));
  Shape.LeastChannels = Conv.P.Facts.range(Conv.Channels).Min;
  Shape.Taps = Conv.taps();
  Shape.ElementBytes = bytesOf(Conv.P.A.Element);
  Shape.Promotes = Conv.P.promotes();
  Shape.ResultBytes = bytesOf(Conv.P.D.Element);
  Shape.KMajor = Conv.isKMajor();
  Shape.ReadsAtResult = Conv.P.ReadsAtResult;
  Shape.EpilogueOperations = epilogueOperations(Conv.P);
  Shape.Live.assign(Conv.Live.begin(), Conv.Live.end());
  if (Shape.Places < FewestForMma || Shape.Outputs < FewestForMma)
    return std::nullopt;
  return Shape;
}

std::shared_ptr<ImplicitGemm> readForIm2col(FusedKernel &Form,
                                            schedule::Refusal &Why) {
  std::optional<ImplicitGemm> Read = ImplicitGemm::read(Form);
  if (!Read) {
    Why = {"", RefusalKind::Form, "it is no convolution of one group"};
    return nullptr;
  }
  // One tap at each pixel is a GEMM, whose copies need no im2col.
  std::optional<GemmMatch> Plain = GemmMatch::read(Form);
  if (Plain && !refusalByTma(*Plain)) {
    Why = {"", RefusalKind::Form, "it is a GEMM of pixels"};
    return nullptr;
  }
  auto Conv = std::make_shared<ImplicitGemm>(std::move(*Read));
  foldTapsIntoFewChannels(*Conv);
  return Conv;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static Value i32(GpuWriter &W, int64_t V) {
  return arith::ConstantIntOp::create(W.B, W.Loc, V, 32);
}

static Value toI32(GpuWriter &W, Value V) {
  return W.B.createOrFold<arith::IndexCastOp>(W.Loc, W.B.getI32Type(), V);
}

static Value toIndex(GpuWriter &W, Value V) {
  return W.B.createOrFold<arith::IndexCastOp>(W.Loc, W.B.getIndexType(), V);
}

template <typename Op> static Value compute(GpuWriter &W, Value X, Value Y) {
  return W.B.createOrFold<Op>(W.Loc, X, Y);
}

Value ConvSteps::countK(GpuWriter &W) {
  // Joined with taps, channels are a constant.
  std::optional<int64_t> Constant = Conv.Channels.asConstant();
  Value Channels =
      Constant ? W.index(*Constant) : W.size(Conv.P.C.K.Sizes.back());
  SliceCount = toI32(W, W.ceilDiv(Channels, Slice));
  return W.mul(toIndex(W, SliceCount), W.index(Conv.taps() * Slice));
}

bool ConvSteps::leavesOutTaps(int64_t Columns) const {
  return !tilesWith(Columns).empty();
}

std::vector<uint32_t> ConvSteps::tilesWith(int64_t Columns) const {
  int64_t Least = schedule::leastLiveTaps(
      Conv.Channels.asConstant().value_or(Slice), Slice);
  return schedule::liveTapsOfTiles(
      {Conv.Live.begin(), Conv.Live.end()}, Conv.taps(),
      Conv.P.N.asConstant().value_or(0), Columns, std::min(Least, Conv.taps()));
}

/// Tiles with the same taps follow one another: one comparison for each such
/// run.
Value ConvSteps::liveTaps(GpuWriter &W, Value Column, int64_t Columns) const {
  std::vector<uint32_t> Tiles = tilesWith(Columns);
  Value Mask = i32(W, int32_t(Tiles.front())), At = toI32(W, Column);
  for (size_t I = 1; I < Tiles.size(); ++I) {
    if (Tiles[I] == Tiles[I - 1])
      continue;
    Value Reaches = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::uge,
                                          At, i32(W, int64_t(I) * Columns));
    Mask = arith::SelectOp::create(W.B, W.Loc, Reaches,
                                   i32(W, int32_t(Tiles[I])), Mask);
  }
  return Mask;
}

Value ConvSteps::countLive(GpuWriter &W, Value Live) const {
  Value Taps = math::CtPopOp::create(W.B, W.Loc, Live);
  Value Steps = compute<arith::MulIOp>(W, Taps, SliceCount);
  // Each tile has two, which LLVM does not see.
  Steps = compute<arith::MaxUIOp>(W, Steps, i32(W, 2));
  return W.mul(toIndex(W, Steps), W.index(Slice));
}

Value ConvSteps::isLive(GpuWriter &W, Value Live, Value Number) const {
  Value Tap = compute<arith::DivUIOp>(W, Number, SliceCount);
  Value Shifted = compute<arith::ShRUIOp>(W, Live, Tap);
  return arith::TruncIOp::create(W.B, W.Loc, W.B.getI1Type(), Shifted);
}

Value ConvSteps::stepsOf(GpuWriter &W, Value K) {
  return compute<arith::DivUIOp>(W, toI32(W, K), i32(W, Slice));
}

SmallVector<Value> ConvSteps::firstPixel(GpuWriter &W, Value Row) {
  ArrayRef<OpFoldResult> Sizes = Conv.P.C.M.Sizes;
  SmallVector<Value> First = W.split(Row, Sizes, Reduction::boundOf(Sizes));
  for (Value &At : First)
    At = toI32(W, At);
  for (auto [Number, Axis] : llvm::enumerate(Conv.Axes)) {
    Value &At = First[Number + 1];
    At = compute<arith::SubIOp>(
        W, compute<arith::MulIOp>(W, At, i32(W, Axis.Stride)),
        i32(W, Axis.Low));
  }
  return First;
}

ConvSteps::Step ConvSteps::at(GpuWriter &W, Value Number) {
  Step At;
  At.Tap = compute<arith::DivUIOp>(W, Number, SliceCount);
  At.Channel = toIndex(
      W, compute<arith::MulIOp>(
             W, compute<arith::RemUIOp>(W, Number, SliceCount), i32(W, Slice)));
  At.Offsets.resize(Conv.Axes.size());
  Value Rest = At.Tap;
  for (size_t I = Conv.Axes.size(); I-- > 0;) {
    const ImplicitGemm::Axis &Axis = Conv.Axes[I];
    Value Mine = I ? compute<arith::RemUIOp>(W, Rest, i32(W, Axis.Taps)) : Rest;
    At.Offsets[I] =
        toIndex(W, compute<arith::MulIOp>(W, Mine, i32(W, Axis.Dilation)));
    Rest = compute<arith::DivUIOp>(W, Rest, i32(W, Axis.Taps));
  }
  return At;
}

} // namespace kpc::kernels
