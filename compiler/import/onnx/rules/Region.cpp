//===- Region.cpp - Import of regions of images and deformed windows ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RoiAlign and MaxRoiPool read images at places that boxes say, DeformConv at
// places that offsets say.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Regions.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Spatial.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

using frontend::alignRegions;
using frontend::Between;
using frontend::readBoxes;
using frontend::Regions;

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

static void importRoiAlign(NodeImport &N) {
  std::string Mode = N.stringAttribute("mode", "avg");
  std::string Coordinates =
      N.opset() < 16
          ? "output_half_pixel"
          : N.stringAttribute("coordinate_transformation_mode", "half_pixel");
  int64_t Samples = N.intAttribute("sampling_ratio", 0);
  double Scale = N.floatAttribute("spatial_scale", 1);
  Regions B;
  B.Out[0] = N.intAttribute("output_height", 1);
  B.Out[1] = N.intAttribute("output_width", 1);
  N.expectInputs(3, 3);
  B.X = N.input(0);
  Value Rois = N.input(1);
  B.Batch = N.input(2);
  if (N.bad())
    return;
  if (N.rank(B.X) != 4 || N.rank(Rois) != 2 || N.dims(Rois)[1] != Expr(4) ||
      N.rank(B.Batch) != 1) {
    N.fail(Code::ImportRank, "images should have rank 4, boxes be [R, 4], and "
                             "their images a vector");
    return;
  }
  if ((Mode != "avg" && Mode != "max") || B.Out[0] < 1 || B.Out[1] < 1 ||
      (Coordinates != "half_pixel" && Coordinates != "output_half_pixel")) {
    N.fail(Code::ImportAttributeValue,
           "mode '" + printable(Mode) + "' with " + printable(Coordinates));
    return;
  }
  if (Samples < 1) {
    N.fail(Code::ImportUnsupported,
           "sampling_ratio is " + std::to_string(Samples) +
               ": the number of samples follows from the boxes, which only the "
               "run knows",
           "export the model with a positive sampling_ratio; 2 is usual");
    return;
  }
  Type Wide = N.element(B.X).isF64() ? N.element(B.X) : N.f32();
  readBoxes(N, N.cast(Rois, Wide), 0, Scale, B);
  N.result(0, alignRegions(N, B, Samples, Coordinates == "half_pixel",
                           Mode == "max"));
}

/// Which elements of an axis the outputs of each box see: bools
/// [R, outputs, elements].
static Value binMask(NodeImport &N, const Regions &B, int Axis,
                     const Expr &Size) {
  Type F = N.element(B.Low[Axis]);
  // Boxes are rounded to elements, halves up.
  auto Rounded = [&](Value V) { return N.unary<FloorOp>(N.addScalar(V, 0.5)); };
  Value Start = Rounded(B.Low[Axis]), End = Rounded(B.High[Axis]);
  Value Length = N.max(N.addScalar(N.sub(End, Start), 1), N.scalar(1, F));
  Value Bin = N.unsqueeze(
      N.div(Length, N.scalar(static_cast<double>(B.Out[Axis]), F)), {1});
  Value At = N.iota({Expr(B.Out[Axis])}, 0, F);
  Value From = N.unsqueeze(Start, {1});
  Value Low = N.add(N.unary<FloorOp>(N.mul(Bin, At)), From);
  Value High = N.add(N.unary<CeilOp>(N.mul(Bin, N.addScalar(At, 1))), From);
  Value Place = N.iota({Size}, 0, F);
  return N.binary<AndOp>(
      N.compare(Predicate::ge, Place, N.unsqueeze(Low, {2})),
      N.compare(Predicate::lt, Place, N.unsqueeze(High, {2})));
}

static void importMaxRoiPool(NodeImport &N) {
  double Scale = N.floatAttribute("spatial_scale", 1);
  std::optional<Ints> Pooled = N.intsAttribute("pooled_shape");
  N.expectInputs(2, 2);
  Regions B;
  B.X = N.input(0);
  Value Rois = N.input(1);
  if (N.bad())
    return;
  if (!Pooled || Pooled->size() != 2 || (*Pooled)[0] < 1 || (*Pooled)[1] < 1 ||
      N.rank(B.X) != 4 || N.rank(Rois) != 2 || N.dims(Rois)[1] != Expr(5)) {
    N.fail(Code::ImportShape, "needs images of rank 4, boxes [R, 5] and a "
                              "positive pooled_shape of two sizes");
    return;
  }
  B.Out[0] = (*Pooled)[0];
  B.Out[1] = (*Pooled)[1];
  Type Stored = N.element(B.X);
  Type Wide = Stored.isF64() ? Stored : N.f32();
  Rois = N.cast(Rois, Wide);
  B.Batch =
      N.cast(N.reshape(N.sliceAxis(Rois, 1, 0, 1), {N.dims(Rois)[0]}), N.i64());
  readBoxes(N, Rois, 1, Scale, B);
  Dims Sizes(N.dims(B.X));
  // [R, C, H, W], of which each output sees some columns, then some rows.
  Value Images = N.gather(B.X, B.Batch, 0);
  Value Columns = N.unsqueeze(binMask(N, B, 1, Sizes[3]), {1, 3});
  Value Rows = N.unsqueeze(binMask(N, B, 0, Sizes[2]), {1, 3});
  Value Least = N.scalar(-INFINITY, Stored);
  // [R, 1, w, 1, W] with [R, C, 1, H, W], then [R, 1, h, 1, H] with the
  // columns' maxima as [R, C, 1, w, H].
  Value Seen = N.select(Columns, N.unsqueeze(Images, {2}), Least);
  Value Widths = N.unsqueeze(N.reduce(ReduceKind::max, Seen, {4}), {2});
  Value Y = N.reduce(ReduceKind::max, N.select(Rows, Widths, Least), {4});
  Value Empty = Y ? N.compare(Predicate::eq, Y, Least) : Y;
  N.result(0, N.select(Empty, N.scalar(0, Stored), Y));
}

//===----------------------------------------------------------------------===//
// DeformConv
//===----------------------------------------------------------------------===//

namespace {
struct Deformed {
  Value X, W, Offset, Bias, Mask;
  int64_t Groups, OffsetGroups;
  Spatial S;
  Dims Out; ///< rows and columns of the result
};
} // namespace

/// The two elements around each place; none counts that is outside the image.
/// An index that no number is may be any: gathers keep it inside.
static Between around(NodeImport &N, Value Place, const Expr &Size) {
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
/// [N, oh, ow, kh, kw, G, Each]. Nothing behind it changes its shape, so that
/// what is made of it is part of the kernel that reads the image.
static Value perTap(NodeImport &N, const Deformed &D, Value X, int64_t Each) {
  X = N.reshape(X, {N.dims(D.X)[0], Expr(D.OffsetGroups), Expr(D.S.Kernel[0]),
                    Expr(D.S.Kernel[1]), Expr(Each), D.Out[0], D.Out[1]});
  return N.transpose(X, {0, 5, 6, 2, 3, 1, 4});
}

/// Places of an axis, [N, oh, ow, kh, kw, G, 1].
static Value deformedPlaces(NodeImport &N, const Deformed &D, size_t Axis) {
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
  Value Base =
      N.add(Along(Expr(D.S.Kernel[Axis]), 2 + Axis, D.S.Dilation[Axis]),
            Along(D.Out[Axis], Axis, D.S.Stride[Axis]));
  Base = N.addScalar(Base, -static_cast<double>(D.S.Low[Axis]));
  return N.add(Offset, Base);
}

/// The image at the places, [N, oh, ow, kh, kw, G, C/G], in f32 at least. An
/// image is a list of channels of pixels, those of a group side by side: so an
/// index is one number, and neighbours in memory are read together.
static Value deformedImage(NodeImport &N, const Deformed &D) {
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

static void importDeformConv(NodeImport &N) {
  Deformed D;
  D.Groups = N.intAttribute("group", 1);
  D.OffsetGroups = N.intAttribute("offset_group", 1);
  N.expectInputs(3, 5);
  D.X = N.input(0);
  D.W = N.input(1);
  D.Offset = N.input(2);
  D.Bias = N.optionalInput(3);
  D.Mask = N.optionalInput(4);
  if (N.bad())
    return;
  if (N.rank(D.X) != 4 || N.rank(D.W) != 4 || N.rank(D.Offset) != 4 ||
      (D.Mask && N.rank(D.Mask) != 4) || D.Groups < 1 || D.OffsetGroups < 1) {
    N.unsupported("kpc deforms windows of two dimensions: input, weights, "
                  "offset and mask should have rank 4");
    return;
  }
  std::optional<Ints> Kernel = kernelShape(N, N.dims(D.W).drop_front(2));
  std::optional<Spatial> S;
  if (Kernel)
    S = spatialAttributes(N, *Kernel, N.dims(D.X).drop_front(2));
  if (!S || refuseSkipped(N, *S, N.dims(D.X).drop_front(2)))
    return;
  D.S = *S;
  D.Out = {N.dims(D.Offset)[2], N.dims(D.Offset)[3]};
  Expr Channels = N.dims(D.X)[1], Each = N.dims(D.W)[1], Maps = N.dims(D.W)[0];
  Expr Taps(D.S.Kernel[0] * D.S.Kernel[1]);
  if (Each * D.Groups != Channels ||
      Maps.floorDiv(D.Groups) * D.Groups != Maps ||
      Channels.floorDiv(D.OffsetGroups) * D.OffsetGroups != Channels ||
      N.dims(D.Offset)[1] != Taps * D.OffsetGroups * 2) {
    N.fail(Code::ImportShape, "channels, weights and offsets do not fit the "
                              "groups: " +
                                  dimsText(N.dims(D.X)) + ", " +
                                  dimsText(N.dims(D.W)) + ", " +
                                  dimsText(N.dims(D.Offset)));
    return;
  }
  Type Stored = N.element(D.X);
  Value Y = N.cast(deformedImage(N, D), Stored);
  if (!Y)
    return N.result(0, Y);
  // A product for each group of [N oh ow, kh kw C/g] and [kh kw C/g, O/g].
  Expr Batch = N.dims(D.X)[0], Group(D.Groups);
  Expr Rows = Batch * D.Out[0] * D.Out[1], Some = Maps.floorDiv(D.Groups);
  Value Weights = N.reshape(D.W, {Group, Some, Each, Taps});
  Weights =
      N.reshape(N.transpose(Weights, {0, 3, 2, 1}), {Group, Taps * Each, Some});
  if (D.Groups == 1) {
    Y = N.reshape(Y, {Rows, Taps * Each});
    Y = N.matmul(Y, N.reshape(Weights, {Taps * Each, Some}));
  } else {
    Y = N.transpose(N.reshape(Y, {Rows, Taps, Group, Each}), {2, 0, 1, 3});
    Y = N.matmul(N.reshape(Y, {Group, Rows, Taps * Each}), Weights);
    Y = N.transpose(Y, {1, 0, 2});
  }
  Y = N.reshape(Y, {Batch, D.Out[0], D.Out[1], Maps});
  if (D.Bias)
    Y = N.add(Y, D.Bias);
  N.result(0, channelsFirst(N, Y));
}

ArrayRef<Rule> regionRules() {
  static const Rule Rows[] = {
      {"", "RoiAlign", 10, Newest, importRoiAlign,
       "sampling_ratio must be positive"},
      {"", "MaxRoiPool", 1, Newest, importMaxRoiPool},
      {"", "DeformConv", 19, Newest, importDeformConv, "two dimensions"},
  };
  return Rows;
}

} // namespace kpc::onnx
