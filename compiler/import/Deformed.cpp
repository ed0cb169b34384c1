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
/// An index that no number is may be any: gathers keep it inside.
static Between around(Emitter &N, Value Place, const Expr &Size) {
  Value Low = N.unary<FloorOp>(Place);
  if (!Low)
    return {};
  Type F = N.element(Low);
  Value Zero = N.scalar(0, F), Last = N.sizeScalar(Size - 1, F);
  Value Part = N.sub(Place, Low);
  Between Result;
  for (int I = 0; I < 2; ++I) {
    Value At = I ? N.addScalar(Low, 1) : Low;
    Value Nearest = N.min(N.max(At, Zero), Last);
    Value Weight = I ? Part : N.sub(N.scalar(1, F), Part);
    Result.Index[I] = N.cast(Nearest, N.i64());
    Result.Weight[I] =
        N.select(N.compare(Predicate::eq, At, Nearest), Weight, Zero);
  }
  return Result;
}

/// What has `Each` values for each group and tap, [N, G kh kw Each, oh, ow], as
/// [N, oh, ow, kh, kw, G, Each]. Nothing after it changes its shape, so that
/// what is made of it is part of the kernel that reads the image.
static Value perTap(Emitter &N, const Deformed &D, Value X, int64_t Each) {
  X = N.reshape(X, {N.dims(D.X)[0], Expr(D.OffsetGroups), Expr(D.Kernel[0]),
                    Expr(D.Kernel[1]), Expr(Each), N.dims(D.Offset)[2],
                    N.dims(D.Offset)[3]});
  return N.transpose(X, {0, 5, 6, 2, 3, 1, 4});
}

/// Places of an axis, [N, oh, ow, kh, kw, G, 1].
static Value deformedPlaces(Emitter &N, const Deformed &D, size_t Axis) {
  Value Offset =
      N.sliceAxis(perTap(N, D, D.Offset, 2), 6, static_cast<int64_t>(Axis), 1);
  if (!Offset)
    return {};
  Type F = N.element(D.X).isF64() ? N.element(D.X) : N.f32();
  Offset = N.cast(Offset, F);
  auto Along = [&](const Expr &Size, size_t At, int64_t Step) {
    Dims Sizes(6, Expr(1));
    Sizes[At] = Size;
    return N.mulScalar(N.reshape(N.iota({Size}, 0, F), Sizes),
                       static_cast<double>(Step));
  };
  Value Base = N.add(Along(Expr(D.Kernel[Axis]), 2 + Axis, D.Dilation[Axis]),
                     Along(N.dims(D.Offset)[2 + Axis], Axis, D.Stride[Axis]));
  Base = N.addScalar(Base, -static_cast<double>(D.Low[Axis]));
  return N.add(Offset, Base);
}

/// The image at the places, [N, oh, ow, kh, kw, G, C/G], in f32 at least. An
/// image is a list of channels of pixels, those of a group side by side: so an
/// index is one number, and adjacent elements are read together.
static Value deformedImage(Emitter &N, const Deformed &D) {
  Dims Sizes(N.dims(D.X));
  Expr Groups(D.OffsetGroups);
  Value Image = N.reshape(N.transpose(D.X, {0, 2, 3, 1}),
                          {Sizes[0], Sizes[2] * Sizes[3] * Groups,
                           Sizes[1].floorDiv(D.OffsetGroups)});
  Value Row = deformedPlaces(N, D, 0), Column = deformedPlaces(N, D, 1);
  if (!Image || !Row || !Column)
    return {};
  Type F = N.element(Row), I64 = N.i64();
  Between Rows = around(N, Row, Sizes[2]);
  Between Columns = around(N, Column, Sizes[3]);
  Value Sum;
  for (int R = 0; R < 2; ++R) {
    Value First = N.mul(Rows.Index[R], N.sizeScalar(Sizes[3], I64)), Line;
    for (int C = 0; C < 2; ++C) {
      Value Index = N.add(First, Columns.Index[C]);
      if (D.OffsetGroups > 1)
        Index = N.add(N.mul(Index, N.sizeScalar(Groups, I64)),
                      N.reshape(N.iota({Groups}, 0, I64), {Groups, Expr(1)}));
      Value Tap = N.build(GatherNdOp::getOperationName(), {Image, Index},
                          {N.intAttr("batch_dims", 1)});
      Tap = N.mul(N.cast(Tap, F), Columns.Weight[C]);
      Line = Line ? N.add(Line, Tap) : Tap;
    }
    Line = N.mul(Line, Rows.Weight[R]);
    Sum = Sum ? N.add(Sum, Line) : Line;
  }
  if (D.Mask)
    Sum = N.mul(Sum, N.cast(perTap(N, D, D.Mask, 1), F));
  return Sum;
}

bool areDeformable(Emitter &N, const Deformed &D) {
  if (!D.X || !D.W || !D.Offset)
    return false;
  if (N.rank(D.X) == 4 && N.rank(D.W) == 4 && N.rank(D.Offset) == 4 &&
      (!D.Mask || N.rank(D.Mask) == 4) && D.Groups >= 1 && D.OffsetGroups >= 1)
    return true;
  if (D.Groups < 1 || D.OffsetGroups < 1) {
    bool First = D.Groups < 1;
    N.fail(Code::ImportAttributeValue,
           std::string(First ? "the number of groups"
                             : "the number of offset groups") +
               " is " + std::to_string(First ? D.Groups : D.OffsetGroups) +
               ", expected 1 or more");
    return false;
  }
  N.fail(Code::ImportUnsupported,
         "kpc deforms windows of two dimensions: input, weights, offset and "
         "mask should have rank 4");
  return false;
}

/// Sizes that may be the same count as the same.
static bool fits(Emitter &N, llvm::StringRef What, Value V,
                 const Dims &Wanted) {
  Dims Sizes(N.dims(V));
  bool Same = Sizes.size() == Wanted.size();
  for (size_t I = 0; Same && I < Sizes.size(); ++I)
    Same = (Sizes[I] - Wanted[I]).asConstant().value_or(0) == 0;
  if (!Same)
    N.fail(Code::ImportShape,
           (What + " is " + dimsText(Sizes) + ", expected " + dimsText(Wanted))
               .str());
  return Same;
}

Value deformedConv(Emitter &N, const Deformed &D) {
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
  // [N, values, oh, ow] of windows that fit into the padded image.
  auto PerPlace = [&](int64_t Each) {
    Dims Sizes = {N.dims(D.X)[0], Taps * D.OffsetGroups * Each};
    for (size_t I = 0; I < 2; ++I)
      Sizes.push_back((N.dims(D.X)[2 + I] + D.Low[I] + D.High[I] -
                       D.Dilation[I] * (D.Kernel[I] - 1) - 1)
                          .floorDiv(D.Stride[I]) +
                      1);
    return Sizes;
  };
  if (!fits(N, "offset", D.Offset, PerPlace(2)) ||
      (D.Mask && !fits(N, "mask", D.Mask, PerPlace(1))) ||
      (D.Bias && !fits(N, "bias", D.Bias, {Maps})))
    return {};
  Value Y = N.cast(deformedImage(N, D), N.element(D.X));
  if (!Y)
    return {};
  // A product for each group of [N oh ow, kh kw C/g] and [kh kw C/g, O/g].
  Expr Batch = N.dims(D.X)[0], Group(D.Groups);
  Expr Places = Batch * Rows * Columns, Some = Maps.floorDiv(D.Groups);
  Value Weights = N.reshape(D.W, {Group, Some, Each, Taps});
  Weights =
      N.reshape(N.transpose(Weights, {0, 3, 2, 1}), {Group, Taps * Each, Some});
  if (D.Groups == 1) {
    Y = N.reshape(Y, {Places, Taps * Each});
    Y = N.matmul(Y, N.reshape(Weights, {Taps * Each, Some}));
  } else {
    Y = N.transpose(N.reshape(Y, {Places, Taps, Group, Each}), {2, 0, 1, 3});
    Y = N.matmul(N.reshape(Y, {Group, Places, Taps * Each}), Weights);
    Y = N.transpose(Y, {1, 0, 2});
  }
  Y = N.reshape(Y, {Batch, Rows, Columns, Maps});
  if (D.Bias)
    Y = N.add(Y, D.Bias);
  return N.transpose(Y, {0, 3, 1, 2});
}

} // namespace kpc::frontend
