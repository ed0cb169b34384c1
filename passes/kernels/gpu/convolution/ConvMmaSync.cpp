//===- ConvMmaSync.cpp - Convolutions on mma.sync -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A convolution, channels last, with or without groups, on every chip from
/// sm_80 on: the GEMM of MmaSyncGemm.h, whose A is nowhere in memory. Its rows
/// are the places of the filter in all images; K runs over the taps and, for
/// each, over the channels of a tile's groups. A piece of a row is some
/// channels of the pixel under a tap: cp.async copies it, or zeros beside the
/// image.
///
///      x ──cp.async──▶ stage: places × (tap, channels) ─┐
///      w ──cp.async──▶        (tap, channels) × outputs ─┴─mma.sync──▶ y
///
/// Groups of one tile are one GEMM with a block-diagonal filter. What stands
/// beside the diagonal is in no memory: those pieces are zeros, too.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/convolution/ImplicitGemm.h"
#include "passes/kernels/gpu/gemm/GemmTileWalk.h"
#include "passes/kernels/gpu/gemm/MmaSyncGemm.h"
#include "passes/schedule/ConvSyncSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

namespace {

schedule::ConvSyncShape shapeOf(const ImplicitGemm &Conv) {
  const GemmMatch &P = Conv.P;
  schedule::ConvSyncShape Shape;
  Shape.Places = typicalProduct(P.C.M.Sizes, UnknownExtent);
  Shape.Taps = Conv.taps();
  Shape.Channels = *Conv.Channels.asConstant();
  Shape.Groups = Conv.Groups;
  Shape.Outputs = typicalProduct(P.C.N.Sizes, UnknownExtent) / Conv.Groups;
  Shape.ElementBytes = P.A.Element.getIntOrFloatBitWidth() / 8;
  Shape.ResultBytes = P.D.Element.getIntOrFloatBitWidth() / 8;
  Shape.PixelAlignment = Conv.pixelAlignment();
  Shape.FilterAlignment = Conv.filterAlignment();
  Shape.KMajorFilter = Conv.isKMajor();
  Shape.HasResidual = P.ReadsAtResult;
  Shape.Split = P.isExactF32();
  Shape.IsFp8 = P.isFp8();
  return Shape;
}

/// The convolution as the GEMM of one tile's groups, and a batch of those.
GemmMatch gemmOf(const ImplicitGemm &Conv, int64_t Groups) {
  GemmMatch P = Conv.P;
  if (Conv.Groups == 1)
    return P;
  P.N = Expr(*Conv.P.N.asConstant() / Conv.Groups * Groups);
  P.Batch = Expr(Conv.Groups / Groups);
  P.D.Batches = {{P.N, P.Batch, {}}};
  return P;
}

class ConvMmaSync : public MmaSyncGemm {
public:
  ConvMmaSync(FusedKernel &Form, const ImplicitGemm &Conv, GemmMatch &P,
              const schedule::ConvSyncSchedule &S, const target::Target &T)
      : MmaSyncGemm(Form, P, S, T), Conv(Conv), Groups(S.Groups),
        Shape(shapeOf(Conv)), Channels(S.Groups * Shape.Channels),
        OfTap(S.channelsOfTap(Shape)), CountK(Shape.Taps * OfTap),
        PixelPiece(S.pixelPiece(Shape)), FilterPiece(S.filterPiece(Shape)) {}

private:
  /// An element of K. i32.
  struct InSum {
    Values Taps; ///< for each axis
    Value Channel;
    Value IsInside; ///< i1; null: all are
  };

  void prepare() override;
  Value countK() override { return W.index(CountK); }
  Value countColumns() override { return valueOf(W, Form, P.N); }
  Piece pieceOfA(Value Row, Value K) override;
  Piece pieceOfB(Value Column, Value K) override;
  /// The places of pixels take the registers, and copies are branches.
  bool loadsAhead() const override { return false; }

  InSum inSum(Value K);
  Value below(Value V, Value Bound) {
    return arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::ult, V,
                                 Bound);
  }
  Value both(Value First, Value Second) {
    return First ? W.both(First, Second) : Second;
  }
  /// `Count`, or none where a piece is not inside.
  Value where(Value Inside, Value Count) {
    return Inside
               ? arith::SelectOp::create(W.B, W.Loc, Inside, Count, W.index(0))
                     .getResult()
               : Count;
  }

  const ImplicitGemm &Conv;
  int64_t Groups;
  schedule::ConvSyncShape Shape;
  int64_t Channels; ///< of the tile's groups
  int64_t OfTap;    ///< elements of K
  int64_t CountK, PixelPiece, FilterPiece;
  Value FirstChannel, FirstOutput; ///< of the tile's groups: index
};

/// Which groups the tile has. From here on columns are those of all groups.
void ConvMmaSync::prepare() {
  A.Element = P.A.Element;
  A.Memory =
      flatView(W, Form.Func.getArgument(P.A.Argument), P.A.storedElement());
  A.PieceBytes = PixelPiece;
  B.Element = P.B.Element;
  B.Memory =
      flatView(W, Form.Func.getArgument(P.B.Argument), P.B.storedElement());
  B.PieceBytes = FilterPiece;
  B.AlongK = Conv.isKMajor();
  // Each tap reads its pixels again. From the second cache that takes twice as
  // long where they are shorter than its two sectors, and less if they are
  // longer (docs/performance.md, "Convolutions of few channels").
  constexpr int64_t ShortPixel = 64;
  A.Cached = B.Cached = Shape.Taps > 1 && Shape.Groups == 1 &&
                        Shape.Channels * Shape.ElementBytes < ShortPixel;
  FirstChannel = FirstOutput = W.index(0);
  if (!Batch)
    return;
  FirstChannel = W.mul(Batch, W.index(Channels));
  FirstOutput = W.mul(Batch, ColumnCount);
  FirstColumn = W.add(FirstOutput, FirstColumn);
  ColumnCount = W.add(FirstOutput, ColumnCount);
  Batch = {};
}

ConvMmaSync::InSum ConvMmaSync::inSum(Value K) {
  Value Number = toI32(K);
  InSum At{Values(Conv.Axes.size()),
           compute<arith::RemUIOp>(Number, i32(OfTap)),
           {}};
  Value Rest = compute<arith::DivUIOp>(Number, i32(OfTap));
  for (size_t I = Conv.Axes.size(); I-- > 0;) {
    Value Taps = i32(Conv.Axes[I].Taps);
    At.Taps[I] = I ? compute<arith::RemUIOp>(Rest, Taps) : Rest;
    Rest = I ? compute<arith::DivUIOp>(Rest, Taps) : Rest;
  }
  if (CountK % S.TileK)
    At.IsInside = below(Number, i32(CountK));
  return At;
}

/// Rows beyond the end are the last one again, computed and not stored.
MmaSyncGemm::Piece ConvMmaSync::pieceOfA(Value Row, Value K) {
  Value Place = least(Row, sub(RowCount, W.index(1)));
  Values Of = W.split(Place, P.C.M.Sizes, Reduction::boundOf(P.C.M.Sizes));
  InSum At = inSum(K);
  // What changes with the place, and what with the tap: the former is the same
  // in all steps.
  Value OfPlace =
      W.add(W.mul(Of[0], valueOf(W, Form, Conv.ImagePitch)), FirstChannel);
  Value OfStep = toIndex(At.Channel);
  for (auto [I, Axis] : llvm::enumerate(Conv.Axes)) {
    Value First = compute<arith::SubIOp>(
        compute<arith::MulIOp>(toI32(Of[I + 1]), i32(Axis.Stride)),
        i32(Axis.Low));
    Value Reach = compute<arith::MulIOp>(At.Taps[I], i32(Axis.Dilation));
    Value Pitch = valueOf(W, Form, Axis.Pitch);
    OfPlace = W.add(OfPlace, W.mul(toIndex(First), Pitch));
    OfStep = W.add(OfStep, W.mul(toIndex(Reach), Pitch));
    if (Axis.Low > 0 || Axis.High > 0)
      At.IsInside =
          both(At.IsInside, below(compute<arith::AddIOp>(First, Reach),
                                  toI32(valueOf(W, Form, Axis.Size))));
  }
  Value Count;
  if (At.IsInside || OfTap != Channels)
    Count = where(At.IsInside, sub(W.index(Channels), toIndex(At.Channel)));
  return {W.add(OfPlace, OfStep), Count};
}

/// Beside the diagonal, and beyond the last channel and column, are zeros.
MmaSyncGemm::Piece ConvMmaSync::pieceOfB(Value Column, Value K) {
  InSum At = inSum(K);
  if (OfTap != Channels)
    At.IsInside = both(At.IsInside, below(At.Channel, i32(Channels)));
  Value Channel = At.Channel;
  if (Groups > 1) {
    Value Output = toI32(sub(Column, FirstOutput));
    Value OfOutput = compute<arith::DivUIOp>(Output, i32(Shape.Outputs)),
          OfChannel = compute<arith::DivUIOp>(Channel, i32(Shape.Channels));
    Channel = compute<arith::RemUIOp>(Channel, i32(Shape.Channels));
    At.IsInside = both(
        At.IsInside, arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                           OfOutput, OfChannel));
  }
  Value Count = sub(ColumnCount, Column);
  if (B.AlongK) {
    Count = sub(W.index(Channels), toIndex(Channel));
    Column = least(Column, sub(ColumnCount, W.index(1)));
  }
  Value Line = W.add(W.mul(toIndex(Channel), valueOf(W, Form, P.B.RowStride)),
                     W.mul(Column, valueOf(W, Form, P.B.ColumnStride)));
  for (auto [Tap, Axis] : llvm::zip(At.Taps, Conv.Axes))
    Line = W.add(Line, W.mul(toIndex(Tap), valueOf(W, Form, Axis.TapPitch)));
  return {Line, where(At.IsInside, Count)};
}

} // namespace

std::optional<schedule::Refusal> refusalByMmaSync(const ImplicitGemm &Conv,
                                                  const target::Target &T) {
  const GemmMatch &P = Conv.P;
  if (std::optional<schedule::Refusal> No = refusalOfMmaSyncTypes(P, T))
    return No;
  std::optional<int64_t> Channels = Conv.Channels.asConstant();
  if (!Channels || *Channels < 1 ||
      *Channels * Conv.Groups * Conv.taps() > INT32_MAX)
    return schedule::Refusal{"", RefusalKind::Size,
                             "the number of channels is not constant"};
  if (P.D.ColumnStride != Expr(1))
    return schedule::Refusal{"", RefusalKind::Layout,
                             "outputs are not contiguous in the result"};
  if (P.B.ColumnStride != Expr(1) && !Conv.isKMajor())
    return schedule::Refusal{
        "", RefusalKind::Layout,
        "neither outputs nor channels are contiguous in the filter"};
  if ((P.isInt8() || P.isFp8()) && !Conv.isKMajor())
    return schedule::Refusal{
        "", RefusalKind::Layout,
        "of 8 bits, mma.sync needs channels contiguous in the filter"};
  return std::nullopt;
}

FamilyAnswer queryConvMmaSync(FusedKernel &Form, const target::Target &T) {
  std::optional<ImplicitGemm> Read = ImplicitGemm::readAny(Form);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, "it is no convolution");
  // What memory bounds is the sliding window's.
  if (Read->Groups > 1 && Read->Channels == Expr(1))
    return FamilyAnswer::refuse(RefusalKind::Form,
                                "each of its groups has one channel");
  // One tap at each pixel is a GEMM, whose copies need no walk over images.
  if (GemmMatch::read(Form))
    return FamilyAnswer::refuse(RefusalKind::Form, "it is a GEMM of pixels");
  if (std::optional<schedule::Refusal> No = refusalByMmaSync(*Read, T))
    return FamilyAnswer::refuse(*No);
  auto Conv = std::make_shared<ImplicitGemm>(std::move(*Read));
  schedule::ConvSyncShape Shape = shapeOf(*Conv);
  // Few outputs of a long sum (a picture's three colours) are worth 16 columns.
  bool HasFewOutputs = Shape.Outputs * Shape.Groups < FewestForMma &&
                       Shape.Taps * Shape.Channels < LeastSumOfFew;
  if (Shape.Places < FewestForMma || HasFewOutputs)
    return FamilyAnswer::refuse(RefusalKind::Size, TooFewForMma);
  return FamilyAnswer::offer(
      schedule::rankConvSyncSchedules(Shape, T),
      [&Form, Conv, &T](const schedule::ConvSyncSchedule &S,
                        GpuLaunch &Launch) {
        GemmMatch P = gemmOf(*Conv, S.Groups);
        return ConvMmaSync(Form, *Conv, P, S, T).emit(Launch);
      },
      [Shape, &T](StringRef Text) {
        return schedule::readConvSyncSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels
