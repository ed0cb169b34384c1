//===- Deformed.cpp - Convolutions whose windows are deformed -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Deformed.h"
#include "compiler/import/Regions.h"

using namespace kpc::graph;

namespace kpc::frontend {

/// The two elements around each place; none counts that is outside the image.
static Between around(Emitter &N, Value Place, const Expr &Size) {
  Value Low = N.unary<FloorOp>(Place);
  if (!Low)
    return {};
  Type F = N.element(Low);
  Value Last = N.sizeScalar(Size - 1, F);
  Value Part = N.sub(Place, Low);
  Between Result;
  for (int I = 0; I < 2; ++I) {
    Value At = N.addScalar(Low, I);
    Value Inside = N.binary<AndOp>(N.compare(Predicate::ge, At, N.scalar(0, F)),
                                   N.compare(Predicate::le, At, Last));
    Value Weight = I ? Part : N.sub(N.scalar(1, F), Part);
    Result.Index[I] =
        wholePlace(N, N.min(N.max(At, N.scalar(0, F)), Last), Size);
    Result.Weight[I] = N.select(Inside, Weight, N.scalar(0, F));
  }
  return Result;
}

/// Places of an axis, [N, G, kh, kw, oh, ow].
static Value deformedPlaces(Emitter &N, const Deformed &D, size_t Axis) {
  Expr Kernel[2] = {D.Kernel[0], D.Kernel[1]};
  Dims Whole = {
      N.dims(D.X)[0], Expr(D.OffsetGroups), Kernel[0],          Kernel[1],
      Expr(2),        N.dims(D.Offset)[2],  N.dims(D.Offset)[3]};
  Value Offset = N.reshape(D.Offset, Whole);
  Whole.erase(Whole.begin() + 4);
  Offset =
      N.reshape(N.sliceAxis(Offset, 4, static_cast<int64_t>(Axis), 1), Whole);
  Type F = N.f32();
  auto Along = [&](const Expr &Size, size_t At, int64_t Step) {
    Dims Sizes(4, Expr(1));
    Sizes[At] = Size;
    return N.mulScalar(N.reshape(N.iota({Size}, 0, F), Sizes),
                       static_cast<double>(Step));
  };
  Value Base =
      N.add(Along(Kernel[Axis], Axis, D.Dilation[Axis]),
            Along(N.dims(D.Offset)[2 + Axis], 2 + Axis, D.Stride[Axis]));
  Base = N.addScalar(Base, -static_cast<double>(D.Low[Axis]));
  return N.add(Offset, Base);
}

/// The image at the places: [N, G, kh, kw, oh, ow, C/G].
static Value deformedImage(Emitter &N, const Deformed &D) {
  Dims Sizes(N.dims(D.X));
  Expr Each = Sizes[1].floorDiv(D.OffsetGroups);
  Value Image = N.reshape(
      D.X, {Sizes[0], Expr(D.OffsetGroups), Each, Sizes[2], Sizes[3]});
  Image = N.transpose(Image, {0, 1, 3, 4, 2});
  Value Row = deformedPlaces(N, D, 0), Column = deformedPlaces(N, D, 1);
  if (!Row || !Column)
    return {};
  Between Rows = around(N, Row, Sizes[2]);
  Between Columns = around(N, Column, Sizes[3]);
  Value Sum;
  for (int R = 0; R < 2; ++R)
    for (int C = 0; C < 2; ++C) {
      Value Index = N.concat(
          {N.unsqueeze(Rows.Index[R], {6}), N.unsqueeze(Columns.Index[C], {6})},
          6);
      Value Tap = N.build(GatherNdOp::getOperationName(), {Image, Index},
                          {N.intAttr("batch_dims", 2)});
      Value Weight = N.mul(Rows.Weight[R], Columns.Weight[C]);
      Tap = N.mul(Tap, N.unsqueeze(Weight, {6}));
      Sum = Sum ? N.add(Sum, Tap) : Tap;
    }
  if (!D.Mask)
    return Sum;
  Value Mask =
      N.reshape(D.Mask, {Sizes[0], Expr(D.OffsetGroups), Expr(D.Kernel[0]),
                         Expr(D.Kernel[1]), N.dims(D.Offset)[2],
                         N.dims(D.Offset)[3], Expr(1)});
  return N.mul(Sum, Mask);
}

bool areDeformable(Emitter &N, const Deformed &D) {
  if (!D.X || !D.W || !D.Offset)
    return false;
  if (N.rank(D.X) == 4 && N.rank(D.W) == 4 && N.rank(D.Offset) == 4 &&
      (!D.Mask || N.rank(D.Mask) == 4) && D.Groups >= 1 && D.OffsetGroups >= 1)
    return true;
  N.fail(Code::ImportUnsupported,
         "kpc deforms windows of two dimensions: input, weights, offset and "
         "mask should have rank 4");
  return false;
}

Value deformedConv(Emitter &N, Deformed D) {
  Expr Rows = N.dims(D.Offset)[2], Columns = N.dims(D.Offset)[3];
  Expr Channels = N.dims(D.X)[1], Each = N.dims(D.W)[1], Maps = N.dims(D.W)[0];
  Expr Taps(D.Kernel[0] * D.Kernel[1]);
  if (Each * D.Groups != Channels ||
      Maps.floorDiv(D.Groups) * D.Groups != Maps ||
      Channels.floorDiv(D.OffsetGroups) * D.OffsetGroups != Channels ||
      N.dims(D.Offset)[1] != Taps * D.OffsetGroups * 2)
    return N.fail(Code::ImportShape,
                  "channels, weights and offsets do not fit the groups: " +
                      dimsText(N.dims(D.X)) + ", " + dimsText(N.dims(D.W)) +
                      ", " + dimsText(N.dims(D.Offset)));
  Type Stored = N.element(D.X);
  for (Value *V : {&D.X, &D.W, &D.Offset, &D.Bias, &D.Mask})
    if (*V)
      *V = N.cast(*V, N.f32());
  Value Y = deformedImage(N, D);
  if (!Y)
    return {};
  // A product for each group of [N oh ow, C/g kh kw] and [C/g kh kw, O/g].
  Expr Batch = N.dims(D.X)[0], Group(D.Groups);
  Y = N.transpose(Y, {0, 4, 5, 1, 6, 2, 3});
  Y = N.reshape(Y, {Batch * Rows * Columns, Group, Each * Taps});
  Value Weights = N.reshape(D.W, {Group, Maps.floorDiv(D.Groups), Each * Taps});
  Y = N.matmul(N.transpose(Y, {1, 0, 2}), N.transpose(Weights, {0, 2, 1}));
  Y = N.reshape(N.transpose(Y, {1, 0, 2}), {Batch, Rows, Columns, Maps});
  if (D.Bias)
    Y = N.add(Y, D.Bias);
  return N.cast(N.transpose(Y, {0, 3, 1, 2}), Stored);
}

} // namespace kpc::frontend
