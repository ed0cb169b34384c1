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
#include "compiler/import/Deformed.h"
#include "compiler/import/Regions.h"
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Spatial.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

using frontend::alignRegions;
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
  if (N.rank(B.X) != 4 || N.rank(Rois) != 2 || N.rank(B.Batch) != 1 ||
      !N.unify(N.dims(Rois)[1], Expr(4))) {
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
  N.unifyDims(Rois, 0, B.Batch, 0);
  Type Wide = N.element(B.X).isF64() ? N.element(B.X) : N.f32();
  readBoxes(N, N.cast(Rois, Wide), 0, Scale, B);
  bool HalfPixel = Coordinates == "half_pixel", Max = Mode == "max";
  if (Samples > 0)
    return N.result(0, alignRegions(N, B, Samples, HalfPixel, Max));
  N.result(0, frontend::alignRegionsBySize(
                  N, B, HalfPixel, Max,
                  [&](Value Begins, ArrayRef<Value> Inits,
                      frontend::LoopFunction Body) {
                    return N.importer().loop(N, Expr(frontend::Endless), Inits,
                                             {}, Body, Begins);
                  }));
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
      N.rank(B.X) != 4 || N.rank(Rois) != 2 ||
      !N.unify(N.dims(Rois)[1], Expr(5))) {
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

static void importDeformConv(NodeImport &N) {
  frontend::Deformed D;
  D.Groups = N.intAttribute("group", 1);
  D.OffsetGroups = N.intAttribute("offset_group", 1);
  N.expectInputs(3, 5);
  D.X = N.input(0);
  D.W = N.input(1);
  D.Offset = N.input(2);
  D.Bias = N.optionalInput(3);
  D.Mask = N.optionalInput(4);
  if (N.bad() || !frontend::areDeformable(N, D))
    return;
  std::optional<Ints> Kernel = kernelShape(N, N.dims(D.W).drop_front(2));
  std::optional<Spatial> S;
  if (Kernel)
    S = spatialAttributes(N, *Kernel, N.dims(D.X).drop_front(2));
  if (!S || refuseSkipped(N, *S, N.dims(D.X).drop_front(2)))
    return;
  for (size_t I = 0; I < 2; ++I) {
    D.Kernel[I] = S->Kernel[I];
    D.Stride[I] = S->Stride[I];
    D.Dilation[I] = S->Dilation[I];
    D.Low[I] = S->Low[I];
    D.High[I] = S->High[I];
  }
  N.result(0, frontend::deformedConv(N, D));
}

ArrayRef<Rule> regionRules() {
  static const Rule Rows[] = {
      {"", "RoiAlign", 10, Newest, importRoiAlign},
      {"", "MaxRoiPool", 1, Newest, importMaxRoiPool},
      {"", "DeformConv", 19, Newest, importDeformConv, "two dimensions"},
  };
  return Rows;
}

} // namespace kpc::onnx
