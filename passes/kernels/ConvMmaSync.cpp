//===- ConvMmaSync.cpp - Convolutions on mma.sync -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A convolution of 16-bit images, channels last, on every chip from sm_80 on:
/// the product of places × (taps, channels) and (taps, channels) × outputs,
/// whose left matrix is nowhere. Each piece of it is some channels of a pixel;
/// the thread that copies it knows where that is, and that there are zeros
/// around the image. A step of the sum is a part of one tap's channels. All
/// else is that of products (MmaSyncProduct.cpp).
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/ConvProduct.h"
#include "passes/kernels/MmaSyncProduct.h"
#include "passes/kernels/ProductTiles.h"
#include "passes/kernels/ScheduleChoice.h"
#include "passes/kernels/SizeFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

namespace {

/// Sums of one thread that leave registers for where its pixels are.
constexpr int64_t MostSums = 64;
/// Elements of the shortest step.
constexpr int64_t ShortStep = 32;

/// Bytes of the largest piece that all strides are multiples of.
int64_t pieceOf(const MatrixProduct &P, const Matrix &M,
                ArrayRef<Expr> Strides) {
  int64_t ElementBytes = M.Element.getIntOrFloatBitWidth() / 8;
  int64_t Elements = 16 / ElementBytes;
  while (llvm::any_of(Strides, [&](const Expr &Stride) {
    return P.Facts.divisor(Stride) % Elements;
  }))
    Elements /= 2;
  return Elements * ElementBytes;
}

int64_t pieceOfPixels(const ConvProduct &Conv) {
  SmallVector<Expr> Strides = {Conv.ImagePitch};
  for (const ConvProduct::Axis &Axis : Conv.Axes)
    Strides.push_back(Axis.Pitch);
  return pieceOf(Conv.P, Conv.P.A, Strides);
}

int64_t pieceOfFilter(const ConvProduct &Conv) {
  return pieceOf(Conv.P, Conv.P.B, {Conv.P.B.RowStride, Conv.TapPitch});
}

class ConvMmaSync : public MmaSyncProduct {
public:
  ConvMmaSync(KernelForm &Form, ConvProduct &Conv,
              const schedule::MmaSyncSchedule &S, const target::Target &T)
      : MmaSyncProduct(Form, Conv.P, S, T), Conv(Conv) {}

private:
  using Values = SmallVector<Value>;

  void prepare() override;
  Value countSum() override;
  void beginStep(Value Step) override;
  Piece pieceOfA(Value Row, Value InStep) override;
  Piece pieceOfB(Value Column, Value InStep) override;

  ConvProduct &Conv;
  Value Channels, PerTap; ///< PerTap: elements of a tap's steps
  Value ImagePitch, TapPitch, FilterPitch;
  Values Sizes, Pitches; ///< of the axes
  Value Tap, Channel;    ///< of the step
  Values Offsets;        ///< of the step's tap, along the axes
  bool WholeSteps = false;
};

/// As many steps for each tap as hold its channels.
Value ConvMmaSync::countSum() {
  Channels = valueOf(W, Form, Conv.Channels);
  PerTap = W.mul(W.ceilDiv(Channels, S.TileSum), W.index(S.TileSum));
  return W.mul(PerTap, W.index(Conv.taps()));
}

void ConvMmaSync::prepare() {
  A = {flat(P.A.Argument, P.A.Element), pieceOfPixels(Conv), true, P.A.Element};
  B = {flat(P.B.Argument, P.B.Element), pieceOfFilter(Conv), false,
       P.B.Element};
  ImagePitch = valueOf(W, Form, Conv.ImagePitch);
  TapPitch = valueOf(W, Form, Conv.TapPitch);
  FilterPitch = valueOf(W, Form, P.B.RowStride);
  for (const ConvProduct::Axis &Axis : Conv.Axes) {
    Sizes.push_back(valueOf(W, Form, Axis.Size));
    Pitches.push_back(valueOf(W, Form, Axis.Pitch));
  }
  WholeSteps = P.Facts.divisor(Conv.Channels) % S.TileSum == 0;
}

void ConvMmaSync::beginStep(Value Step) {
  Tap = W.B.createOrFold<arith::DivUIOp>(W.Loc, Step, PerTap);
  Channel = W.B.createOrFold<arith::RemUIOp>(W.Loc, Step, PerTap);
  Offsets.assign(Conv.Axes.size(), Value());
  Value Rest = Tap;
  for (size_t I = Conv.Axes.size(); I-- > 0;) {
    const ConvProduct::Axis &Axis = Conv.Axes[I];
    Value Taps = W.index(Axis.Taps);
    Value Mine = I ? W.B.createOrFold<arith::RemUIOp>(W.Loc, Rest, Taps) : Rest;
    Offsets[I] = W.mul(Mine, W.index(Axis.Dilation));
    Rest = W.B.createOrFold<arith::DivUIOp>(W.Loc, Rest, Taps);
  }
}

/// Places beyond the last one are that again; around the image there are
/// zeros, and so behind the channels.
MmaSyncProduct::Piece ConvMmaSync::pieceOfA(Value Row, Value InStep) {
  Value Last = least(Row, sub(RowCount, W.index(1)));
  Values Place =
      W.split(Last, P.C.Rows.Sizes, Reduction::boundOf(P.C.Rows.Sizes));
  Value First = W.add(Channel, InStep);
  Value At = W.add(W.mul(Place[0], ImagePitch), First), Inside;
  for (auto [I, Axis] : llvm::enumerate(Conv.Axes)) {
    Value Corner =
        sub(W.mul(Place[I + 1], W.index(Axis.Stride)), W.index(Axis.Low));
    Value Pixel = W.add(Corner, Offsets[I]);
    At = W.add(At, W.mul(Pixel, Pitches[I]));
    if (!Axis.Low && Axis.High <= 0)
      continue; // no zeros around
    Value Here = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::ult,
                                       Pixel, Sizes[I]);
    Inside = Inside ? W.both(Inside, Here) : Here;
  }
  int64_t Elements = A.PieceBytes * 8 / A.Element.getIntOrFloatBitWidth();
  Value Count = WholeSteps ? Value() : sub(Channels, First);
  if (Inside)
    Count = arith::SelectOp::create(
        W.B, W.Loc, Inside, Count ? Count : W.index(Elements), W.index(0));
  return {At, Count};
}

MmaSyncProduct::Piece ConvMmaSync::pieceOfB(Value Column, Value InStep) {
  Value Row = W.add(Channel, InStep);
  Value At =
      W.add(W.add(W.mul(Tap, TapPitch), W.mul(Row, FilterPitch)), Column);
  Value Count = sub(ColumnCount, Column);
  if (!WholeSteps)
    Count = arith::SelectOp::create(W.B, W.Loc, W.less(Row, Channels), Count,
                                    W.index(0));
  return {At, Count};
}

bool fits(const ConvProduct &Conv) {
  const MatrixProduct &P = Conv.P;
  Type To = P.D.Element;
  return P.hasTensorTypes() && (To.isF16() || To.isBF16() || To.isF32()) &&
         P.B.ColumnStride == Expr(1) && P.D.ColumnStride == Expr(1);
}

} // namespace

FailureOr<bool> buildConvMmaSync(KernelForm &Form, const target::Target &T,
                                 GpuLaunch &Launch) {
  std::optional<ConvProduct> Conv = ConvProduct::read(Form);
  if (!Conv || !fits(*Conv))
    return false;
  constexpr int64_t Unknown = 512; // a size of which nothing is said
  constexpr int64_t Fewest = 8;    // places or outputs; fewer are reductions
  const Contraction &C = Conv->P.C;
  int64_t Channels = Conv->Channels.asConstant().value_or(
      typicalProduct(C.Sum.Sizes.back(), Unknown));
  schedule::MmaSyncShape Shape;
  Shape.Rows = typicalProduct(C.Rows.Sizes, Unknown);
  Shape.Columns = typicalProduct(C.Columns.Sizes, Unknown);
  Shape.Sum = Conv->taps() * int64_t(llvm::alignTo(Channels, ShortStep));
  Shape.ElementBytes = Conv->P.A.Element.getIntOrFloatBitWidth() / 8;
  Shape.ResultBytes = Conv->P.D.Element.getIntOrFloatBitWidth() / 8;
  Shape.PieceOfA = pieceOfPixels(*Conv);
  Shape.PieceOfB = pieceOfFilter(*Conv);
  if (Shape.Rows < Fewest || Shape.Columns < Fewest)
    return false;
  std::vector<schedule::MmaSyncCost> Ranked =
      schedule::rankMmaSyncSchedules(Shape, T);
  // No long steps of few channels.
  auto Suits = [&](const schedule::MmaSyncSchedule &S) {
    return S.sums() <= MostSums &&
           (S.TileSum <= ShortStep || Channels % S.TileSum == 0);
  };
  llvm::erase_if(Ranked, [&](const schedule::MmaSyncCost &One) {
    return !Suits(One.Schedule);
  });
  const schedule::MmaSyncCost *Chosen =
      chooseSchedule(Form, Ranked, Launch, [&](StringRef Text) {
        auto Read = schedule::readMmaSyncSchedule(Text.str(), Shape, T);
        return Read && Suits(Read->Schedule) ? Read : std::nullopt;
      });
  if (!Chosen)
    return false;
  if (failed(ConvMmaSync(Form, *Conv, Chosen->Schedule, T).emit(Launch)))
    return failure();
  return true;
}

} // namespace kpc::kernels
