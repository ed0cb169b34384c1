//===- ConvHopper.cpp - Convolutions on wgmma -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A convolution of 16-bit values, or of f32 as tf32, channels last, on sm_90a:
/// a GEMM (HopperGemm.h) whose A is nowhere in memory. Its rows are the places
/// of the filter in all images, its K runs over the taps and, in slices, over
/// the channels; for each tap and slice a TMA copy in its
/// im2col mode walks over as many places as a tile has rows, and loads of each
/// the pixel under the tap, or zeros beside the image.
///
///      x ──im2col──▶ stage: places × channels ─┐
///      w ───TMA────▶       channels × outputs ─┴─wgmma─▶ registers ──▶ y
///
/// Filters of 16 bits are contiguous along outputs or along channels, those of
/// tf32 and of 8 bits (FP8, integers) along channels alone, as wgmma wants it.
///
/// Not for: groups, channels or outputs that do not lie at multiples of 16
/// bytes, filters that reach further than the copies' offsets do.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/convolution/ImplicitGemm.h"
#include "passes/kernels/gpu/gemm/GemmOperands.h"
#include "passes/kernels/gpu/gemm/HopperGemm.h"
#include "passes/schedule/ConvSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

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

/// Why im2col copies and wgmma do not do this convolution; none: they do.
std::optional<schedule::Refusal> refusalByIm2col(ImplicitGemm &Conv) {
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
    return schedule::Refusal{
        "", RefusalKind::Layout,
        std::string("in ") +
            (P.isTf32()  ? "tf32"
             : P.isFp8() ? "FP8"
                         : "8 bits") +
            ", wgmma needs channels contiguous in the filter"};
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
int64_t slicedK(int64_t Taps, int64_t Channels, int64_t ElementBytes) {
  schedule::ConvShape Shape;
  Shape.Channels = Channels;
  Shape.ElementBytes = ElementBytes;
  return Taps * int64_t(llvm::alignTo(Channels, schedule::sliceOf(Shape)));
}

/// Taps of few channels share a slice.
void foldTapsIntoFewChannels(ImplicitGemm &Conv) {
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

class ConvHopper : public HopperGemm {
public:
  ConvHopper(FusedKernel &Form, ImplicitGemm &Conv,
             const schedule::GemmSchedule &S)
      : HopperGemm(Form, Conv.P, S), Conv(Conv) {}

private:
  void declareTiles() override;
  void addOperandViews() override;
  void addPixelView();
  void addFilterView();
  Value countK() override;
  Value produceTile(const TileCoord &Where, Value Cursor) override;
  Values firstPixel(Value Row);
  Value produceStep(ValueRange First, Value Column, Value Step, Value Cursor);
  void loadFilter(Value Tap, Value Channel, Value Column, Value Tile,
                  Value Stage);

  ImplicitGemm &Conv;
  BlockArgument Pixels, Filter;
  Value SliceCount; ///< of each tap, i32
};

void ConvHopper::declareTiles() {
  BTransposed = Conv.isKMajor();
  TileA = sharedTile(S.TileM, S.TileK, P.A.Element);
  TileB = BTransposed ? sharedTile(S.TileN, S.TileK, P.B.Element)
                      : sharedTile(S.TileK, S.TileN, P.B.Element);
}

void ConvHopper::addOperandViews() {
  addPixelView();
  addFilterView();
}

/// x as images of pixels. The walk begins where the filter's first tap first
/// is, and ends where its last tap would leave the zeros around the image.
void ConvHopper::addPixelView() {
  Builder B(W.B.getContext());
  int64_t Bytes = bytesOf(P.A.Element);
  SmallVector<Expr> Dims = {Conv.Channels}, Strides;
  SmallVector<int32_t> Lower, Upper;
  SmallVector<int64_t> Steps = {1};
  for (const ImplicitGemm::Axis &Axis : llvm::reverse(Conv.Axes)) {
    Dims.push_back(Axis.Size);
    Strides.push_back(Axis.Pitch * Bytes);
    Lower.push_back(-Axis.Low);
    Upper.push_back(Axis.High - Axis.reach());
    Steps.push_back(Axis.Stride);
  }
  Dims.push_back(Conv.Images);
  Strides.push_back(Conv.ImagePitch * Bytes);
  Steps.push_back(1);
  auto View = tile::ViewType::get(W.B.getContext(), P.A.Element,
                                  {S.TileM, TileA.getLineElements()},
                                  TileA.getSwizzle());
  auto Walk = kernel::Im2colAttr::get(
      B.getContext(), B.getDenseI32ArrayAttr(Lower),
      B.getDenseI32ArrayAttr(Upper), TileA.getLineElements(), S.TileM);
  Pixels = addView(View, P.A.Argument, Dims, Strides, /*Box=*/{}, Steps, Walk);
}

/// w as one matrix for each tap: of channels × outputs, or of outputs ×
/// channels.
void ConvHopper::addFilterView() {
  int64_t Bytes = bytesOf(P.B.Element), Line = TileB.getLineElements();
  int64_t Own = TileB.getRows() / S.ClusterM; // rows that this block copies
  auto View = tile::ViewType::get(W.B.getContext(), P.B.Element, {1, Own, Line},
                                  TileB.getSwizzle());
  SmallVector<Expr> Dims = {P.N, Conv.Channels, Expr(Conv.taps())};
  if (BTransposed)
    std::swap(Dims[0], Dims[1]);
  Expr Row = BTransposed ? P.B.ColumnStride : P.B.RowStride;
  Filter = addView(View, P.B.Argument, Dims,
                   {Row * Bytes, *Conv.tapPitch() * Bytes}, {Line, Own, 1});
}

Value ConvHopper::countK() {
  // Joined with taps, channels are a constant.
  std::optional<int64_t> Constant = Conv.Channels.asConstant();
  Value Channels = Constant ? W.index(*Constant) : W.size(P.C.K.Sizes.back());
  SliceCount = toI32(W.ceilDiv(Channels, S.TileK));
  return W.mul(toIndex(SliceCount), W.index(Conv.taps() * S.TileK));
}

/// The place of the filter that row `Row` is: the pixel under its first tap.
/// In 32 bits, as all that the producer keeps: it has few registers.
ConvHopper::Values ConvHopper::firstPixel(Value Row) {
  Values First = W.split(Row, P.C.M.Sizes, Reduction::boundOf(P.C.M.Sizes));
  for (Value &At : First)
    At = toI32(At);
  for (auto [Number, Axis] : llvm::enumerate(Conv.Axes)) {
    Value &At = First[Number + 1];
    At = compute<arith::SubIOp>(compute<arith::MulIOp>(At, i32(Axis.Stride)),
                                i32(Axis.Low));
  }
  return First;
}

/// Slices of the first tap's channels, then of the next one's.
Value ConvHopper::produceTile(const TileCoord &Where, Value Cursor) {
  Values First = firstPixel(Where.Row);
  Value Column = toI32(Where.Column);
  auto StepsOf = [&](Value K) {
    return compute<arith::DivUIOp>(toI32(K), i32(S.TileK));
  };
  Value Begin = StepsOf(FirstK);
  return W.loop(i32(0), StepsOf(KCount), i32(1), Cursor,
                [&](Value Number, ValueRange In) -> Values {
                  Value Step = compute<arith::AddIOp>(Begin, Number);
                  return {produceStep(First, Column, Step, In[0])};
                })[0];
}

/// Blocks that need the same outputs copy some rows of them to all.
void ConvHopper::loadFilter(Value Tap, Value Channel, Value Column, Value Tile,
                            Value Stage) {
  Value Row = BTransposed ? Column : Channel,
        InRow = BTransposed ? Channel : Column;
  if (S.ClusterM == 1) {
    tile::TmaLoadOp::create(W.B, W.Loc, Filter, ValueRange{Tap, Row, InRow},
                            Tile, Pipe, Stage);
    return;
  }
  int64_t Own = TileB.getRows() / S.ClusterM;
  Value First = W.mul(Rank, W.index(Own));
  Value Part = rowsOf(Tile, First, Own);
  tile::TmaMulticastOp::create(W.B, W.Loc, Filter,
                               ValueRange{Tap, W.add(Row, First), InRow}, Part,
                               Pipe, Stage, S.ClusterM);
}

Value ConvHopper::produceStep(ValueRange First, Value Column, Value Step,
                              Value Cursor) {
  auto Free = tile::StageType::get(W.B.getContext(), tile::StageState::Free);
  Value Tap = compute<arith::DivUIOp>(Step, SliceCount);
  Value Channel = toIndex(compute<arith::MulIOp>(
      compute<arith::RemUIOp>(Step, SliceCount), i32(S.TileK)));
  Values Offsets(Conv.Axes.size()), At;
  Value Rest = Tap;
  for (size_t I = Conv.Axes.size(); I-- > 0;) {
    const ImplicitGemm::Axis &Axis = Conv.Axes[I];
    Value Mine = I ? compute<arith::RemUIOp>(Rest, i32(Axis.Taps)) : Rest;
    Offsets[I] = toIndex(compute<arith::MulIOp>(Mine, i32(Axis.Dilation)));
    Rest = compute<arith::DivUIOp>(Rest, i32(Axis.Taps));
  }
  for (Value One : First)
    At.push_back(toIndex(One));
  At.push_back(Channel);
  Value Stage = tile::AcquireOp::create(W.B, W.Loc, Free, Pipe, Cursor);
  auto Parts =
      tile::TilesOp::create(W.B, W.Loc, TypeRange{TileA, TileB}, Pipe, Stage);
  tile::TmaLoadIm2colOp::create(W.B, W.Loc, Pixels, At, Offsets,
                                Parts.getResult(0), Pipe, Stage);
  Value TapIndex = toIndex(Tap), ColumnIndex = toIndex(Column);
  loadFilter(TapIndex, Channel, ColumnIndex, Parts.getResult(1), Stage);
  tile::CommitOp::create(W.B, W.Loc, Pipe, Stage);
  return next(Pipe, Cursor);
}

} // namespace

FamilyAnswer queryConvHopper(FusedKernel &Form, const target::Target &T) {
  if (!T.Can.Wgmma)
    return FamilyAnswer::refuse(RefusalKind::Target, "the target has no wgmma");
  std::optional<ImplicitGemm> Read = ImplicitGemm::read(Form);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form,
                                "it is no convolution of one group");
  // One tap at each pixel is a GEMM, whose copies need no im2col.
  std::optional<GemmMatch> Plain = GemmMatch::read(Form);
  if (Plain && !refusalByTma(*Plain))
    return FamilyAnswer::refuse(RefusalKind::Form, "it is a GEMM of pixels");
  auto Conv = std::make_shared<ImplicitGemm>(std::move(*Read));
  foldTapsIntoFewChannels(*Conv);
  if (std::optional<schedule::Refusal> No = refusalByIm2col(*Conv))
    return FamilyAnswer::refuse(*No);
  const Contraction &C = Conv->P.C;
  schedule::ConvShape Shape;
  Shape.Places = typicalProduct(C.M.Sizes, UnknownExtent);
  Shape.Outputs = typicalProduct(C.N.Sizes, UnknownExtent);
  Shape.Channels = Conv->Channels.asConstant().value_or(
      typicalProduct(C.K.Sizes.back(), UnknownExtent));
  Shape.LeastChannels = Conv->P.Facts.range(Conv->Channels).Min;
  Shape.Taps = Conv->taps();
  Shape.ElementBytes = bytesOf(Conv->P.A.Element);
  Shape.Promotes = Conv->P.isFp8();
  Shape.ResultBytes = bytesOf(Conv->P.D.Element);
  Shape.KMajor = Conv->isKMajor();
  Shape.ReadsAtResult = Conv->P.ReadsAtResult;
  Shape.EpilogueOperations = epilogueOperations(Conv->P);
  if (Shape.Places < FewestForMma || Shape.Outputs < FewestForMma)
    return FamilyAnswer::refuse(RefusalKind::Size, TooFewForMma);
  return FamilyAnswer::offer(
      schedule::rankConvSchedules(Shape, T),
      [&Form, Conv](const schedule::GemmSchedule &S, GpuLaunch &Launch) {
        return ConvHopper(Form, *Conv, S).emit(Launch);
      },
      [Shape, &T](StringRef Text) {
        return schedule::readConvSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels
