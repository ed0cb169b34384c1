//===- Selection.cpp - Import of what data selects ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How many elements these find is a number that the program computes, and from
/// then on a size of its own (NodeImport::decideSize).
///
//===----------------------------------------------------------------------===//
#include "compiler/import/Selection.h"
#include "compiler/import/Deformed.h"
#include "compiler/import/Regions.h"
#include "compiler/import/torch/Rules.h"

#include <cmath>
#include <limits>

using namespace kpc::graph;

namespace kpc::torch {

/// Whether each element of a tensor is none of zero, as a vector.
static Value flagsOf(NodeImport &N, Value X) {
  return N.cast(frontend::flatten(N, X), N.i1());
}

/// The places of what is none of zero, an axis at a time; none after a report.
static std::optional<SmallVector<Value>> nonzeroPlaces(NodeImport &N, Value X) {
  if (!X)
    return std::nullopt;
  if (N.rank(X) == 0) {
    N.unsupported("the places of a scalar that is none of zero");
    return std::nullopt;
  }
  Value Flags = flagsOf(N, X);
  std::optional<Expr> Count =
      N.decideSize(frontend::countTrue(N, Flags),
                   graph::typeOf(Flags).getNumElements(), 0, 0);
  if (!Count)
    return std::nullopt;
  return frontend::rowsOf(N, frontend::trueIndices(N, Flags, *Count, N.i64()),
                          Dims(N.dims(X)));
}

static void nonzero(NodeImport &N) {
  std::optional<SmallVector<Value>> Columns =
      nonzeroPlaces(N, N.tensor("self"));
  if (!Columns)
    return;
  for (Value &Column : *Columns)
    Column = N.unsqueeze(Column, {1});
  N.result(N.concat(*Columns, 1));
}

/// `where` of a condition alone, and nonzero_numpy: a vector an axis.
static void whereTrue(NodeImport &N) {
  std::optional<SmallVector<Value>> Columns =
      nonzeroPlaces(N, N.tensor(N.has("condition") ? "condition" : "self"));
  for (size_t I = 0; Columns && I < Columns->size(); ++I)
    N.result(I, (*Columns)[I]);
}

void selectByMask(NodeImport &N, Value X, Value Mask, size_t Front) {
  Expr Places(1);
  int64_t Covered = N.rank(Mask);
  if (Covered == 0 || static_cast<int64_t>(Front) + Covered > N.rank(X))
    return (void)N.unsupported("a mask of rank " + std::to_string(Covered) +
                               " on a tensor of rank " +
                               std::to_string(N.rank(X)));
  for (int64_t I = 0; I < Covered; ++I) {
    Expr A = N.dims(X)[Front + static_cast<size_t>(I)],
         C = N.dims(Mask)[static_cast<size_t>(I)];
    if (A != C && !N.unify(A, C)) {
      N.fail(Code::ImportShape, "a mask of " + dimsText(N.dims(Mask)) +
                                    " does not fit " + dimsText(N.dims(X)));
      return;
    }
    Places = Places * A;
  }
  Dims Rest(N.dims(X).take_front(Front));
  Rest.push_back(Places);
  llvm::append_range(
      Rest, N.dims(X).drop_front(Front + static_cast<size_t>(Covered)));
  Value Flags = flagsOf(N, Mask);
  std::optional<Expr> Count =
      N.decideSize(frontend::countTrue(N, Flags), Places, 0, Front);
  if (Count)
    N.result(N.gather(N.reshape(X, Rest),
                      frontend::trueIndices(N, Flags, *Count, N.i64()),
                      static_cast<int64_t>(Front)));
}

/// Each element, or each index, as many times as `repeats` says. All of them
/// together are a size that data decides.
static void repeatByData(NodeImport &N) {
  bool OfIndices = !N.has("self");
  Value Times = N.tensor("repeats");
  Value X = OfIndices ? Value() : N.tensor("self");
  if (!Times || N.bad())
    return;
  if (X && !N.has("dim"))
    X = frontend::flatten(N, X);
  int64_t Axis = X ? N.axis(N.integer("dim", 0), N.rank(X)) : 0;
  if (N.bad())
    return;
  Times = N.cast(frontend::flatten(N, Times), N.i64());
  if (X)
    Times = N.broadcast(Times, {N.dims(X)[static_cast<size_t>(Axis)]});
  if (!Times)
    return N.give();
  Value Ends = N.cumsum(Times, 0, /*Exclusive=*/false, /*Reverse=*/false);
  constexpr int64_t Most = std::numeric_limits<int32_t>::max();
  std::optional<Expr> Count =
      N.decideSize(N.reduce(ReduceKind::sum, Times, {0}), Expr(Most), 0,
                   static_cast<size_t>(Axis));
  if (!Count)
    return N.give();
  Value Index =
      N.searchSorted(Ends, N.iota({*Count}, 0, N.i64()), /*Right=*/true);
  N.result(X ? N.gather(X, Index, Axis) : Index);
}

static void maskedSelect(NodeImport &N) {
  Value X = N.tensor("self"), Mask = N.tensor("mask");
  if (!X || !Mask)
    return;
  std::optional<Dims> Both = N.broadcastSizes(N.dims(X), N.dims(Mask));
  if (!Both)
    return N.give();
  if (Both->empty())
    Both->push_back(Expr(1));
  X = N.broadcast(X, *Both);
  Mask = N.broadcast(Mask, *Both);
  if (X && Mask)
    selectByMask(N, X, Mask);
}

/// A number of a tensor, which sizes may be made of.
static void item(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  if (!graph::isInteger(N.element(X)) || isBool(N.element(X)))
    return (void)N.unsupported(
        "takes a number from a tensor of " + typeText(N.element(X)) +
        "; kpc does so for integers, whose numbers are sizes");
  N.decideNumber(N.reshape(X, {}));
}

//===----------------------------------------------------------------------===//
// torchvision
//===----------------------------------------------------------------------===//

/// The boxes that stay, the best first: [K].
static void nms(NodeImport &N) {
  Value Boxes = N.tensor("dets"), Scores = N.tensor("scores");
  if (!Boxes || !Scores)
    return;
  if (N.rank(Boxes) != 2 || N.rank(Scores) != 1 ||
      N.dims(Boxes)[1] != Expr(4)) {
    N.fail(Code::ImportRank, "boxes are " + dimsText(N.dims(Boxes)) +
                                 " and scores " + dimsText(N.dims(Scores)) +
                                 ", expected [boxes, 4] and [boxes]");
    return;
  }
  Boxes = N.cast(Boxes, N.f32());
  Scores = N.cast(Scores, N.f32());
  Value Threshold = N.scalar(N.real("iou_threshold", 0.5), N.f32());
  // Finite, so that minus infinity says that a box is gone.
  Scores = N.max(Scores, N.like(std::numeric_limits<float>::lowest(), Scores));
  Expr Count = N.dims(Scores)[0];
  auto Found = frontend::takeBoxes(
      N, N.unsqueeze(Boxes, {0}), N.unsqueeze(Scores, {0, 1}), Threshold,
      /*AreCenters=*/false, Count,
      [&](const Expr &Rounds, ArrayRef<Value> Inits, ArrayRef<bool> Reversed,
          frontend::LoopFunction Body) {
        return N.loop(Rounds, Inits, Reversed, Body);
      });
  if (!Found)
    return N.give();
  Value Best = frontend::flatten(N, Found->first),
        Taken = frontend::flatten(N, Found->second);
  std::optional<Expr> Kept =
      N.decideSize(frontend::countTrue(N, Taken), Count, 0, 0);
  if (Kept)
    N.result(
        N.gather(Best, frontend::trueIndices(N, Taken, *Kept, N.i64()), 0));
}

/// A whole number that has a least value; that value after a report.
static int64_t atLeast(NodeImport &N, const std::string &Name, int64_t Default,
                       int64_t Least) {
  int64_t V = N.integer(Name, Default);
  if (V >= Least)
    return V;
  N.fail(Code::ImportAttributeValue, Name + " is " + std::to_string(V) +
                                         ", expected " + std::to_string(Least) +
                                         " or more");
  return Least;
}

static void roiAlign(NodeImport &N) {
  frontend::Regions B;
  B.X = N.tensor("input");
  Value Rois = N.tensor("rois");
  B.Out[0] = atLeast(N, "pooled_height", 1, 1);
  B.Out[1] = atLeast(N, "pooled_width", 1, 1);
  int64_t Samples = N.integer("sampling_ratio", -1);
  if (!B.X || !Rois || N.bad())
    return;
  if (N.rank(B.X) != 4 || N.rank(Rois) != 2 || N.dims(Rois)[1] != Expr(5)) {
    N.fail(Code::ImportRank, "images are " + dimsText(N.dims(B.X)) +
                                 " and regions " + dimsText(N.dims(Rois)) +
                                 ", expected [n, c, h, w] and [r, 5]");
    return;
  }
  Type Wide = N.wide(B.X);
  Rois = N.cast(Rois, Wide);
  B.Batch =
      N.cast(N.reshape(N.sliceAxis(Rois, 1, 0, 1), {N.dims(Rois)[0]}), N.i64());
  frontend::readBoxes(N, Rois, 1, N.real("spatial_scale", 1), B);
  bool HalfPixel = N.flag("aligned", false);
  if (Samples > 0)
    return N.result(
        frontend::alignRegions(N, B, Samples, HalfPixel, /*Max=*/false));
  N.result(frontend::alignRegionsBySize(
      N, B, HalfPixel, /*Max=*/false,
      [&](Value Begins, ArrayRef<Value> Inits, frontend::LoopFunction Body) {
        return N.loop(Expr(frontend::Endless), Inits, {}, Body, Begins);
      }));
}

/// Bias and mask are always there; `use_mask` says whether the latter counts.
static void deformedConvolution(NodeImport &N) {
  frontend::Deformed D;
  D.X = N.tensor("input");
  D.W = N.tensor("weight");
  D.Offset = N.tensor("offset");
  D.Bias = N.tensor("bias");
  if (N.flag("use_mask", false))
    D.Mask = N.tensor("mask");
  D.Groups = N.integer("groups", 1);
  D.OffsetGroups = N.integer("offset_groups", 1);
  for (size_t I = 0; I < 2; ++I) {
    std::string Side = I == 0 ? "_h" : "_w";
    D.Stride[I] = atLeast(N, "stride" + Side, 1, 1);
    D.Dilation[I] = atLeast(N, "dilation" + Side, 1, 1);
    D.Low[I] = D.High[I] = atLeast(N, "pad" + Side, 0, 0);
  }
  if (N.bad() || !frontend::areDeformable(N, D))
    return N.give();
  for (size_t I = 0; I < 2; ++I) {
    std::optional<int64_t> Size = N.dims(D.W)[I + 2].asConstant();
    if (!Size)
      return (void)N.fail(Code::ImportNotConstant,
                          "weights are " + dimsText(N.dims(D.W)) +
                              "; the window must be known");
    D.Kernel[I] = *Size;
  }
  N.result(frontend::deformedConv(N, D));
}

/// The greatest element of each cell: of an axis the cells' first and last
/// places follow from the box, and a cell takes all between.
static void roiPool(NodeImport &N) {
  Value X = N.tensor("input"), Rois = N.tensor("rois");
  int64_t Out[2] = {atLeast(N, "pooled_height", 1, 1),
                    atLeast(N, "pooled_width", 1, 1)};
  double Scale = N.real("spatial_scale", 1);
  if (!X || !Rois || N.bad())
    return;
  if (N.rank(X) != 4 || N.rank(Rois) != 2 || N.dims(Rois)[1] != Expr(5))
    return (void)N.fail(Code::ImportRank,
                        "images are " + dimsText(N.dims(X)) + " and regions " +
                            dimsText(N.dims(Rois)) +
                            ", expected [n, c, h, w] and [r, 5]");
  Type Stored = N.element(X), T = N.wide(X);
  Rois = N.cast(Rois, T);
  Expr Regions = N.dims(Rois)[0];
  auto Column = [&](int64_t I) {
    return N.reshape(N.sliceAxis(Rois, 1, I, 1), {Regions});
  };
  Value Gone = N.scalar(-INFINITY, T);
  Value Y = N.gather(N.cast(X, T), N.cast(Column(0), N.i64()), 0);
  // Rows of [r, c, h, w] first, then columns of [r, c, rows, w].
  for (int64_t Axis = 0; Axis < 2 && Y; ++Axis) {
    auto Round = [&](int64_t I) {
      // Halves away from zero, as C's round does.
      Value V = N.mulScalar(Column(I), Scale);
      Value Up = N.unary<FloorOp>(N.addScalar(N.unary<AbsOp>(V), 0.5));
      return N.select(N.compare(Predicate::lt, V, N.like(0, V)), N.neg(Up), Up);
    };
    Value Begin = Round(2 - Axis), End = Round(4 - Axis);
    Value Length = N.max(N.addScalar(N.sub(End, Begin), 1), N.like(1, Begin));
    Value Step =
        N.unsqueeze(N.div(Length, N.like(double(Out[Axis]), Length)), {1});
    Value Cell = N.iota({Expr(Out[Axis])}, 0, T);
    Value Start = N.unsqueeze(Begin, {1});
    Expr Size = N.dims(X)[static_cast<size_t>(Axis) + 2];
    auto Inside = [&](Value V) {
      return N.min(N.max(V, N.like(0, V)), N.sizeScalar(Size, T));
    };
    // [r, cells], then beside each place of the axis [r, cells, size].
    Value First = Inside(N.add(N.unary<FloorOp>(N.mul(Cell, Step)), Start));
    Value Last = Inside(
        N.add(N.unary<CeilOp>(N.mul(N.addScalar(Cell, 1), Step)), Start));
    Value Place = N.iota({Size}, 0, T);
    Value Is = N.binary<AndOp>(
        N.compare(Predicate::ge, Place, N.unsqueeze(First, {2})),
        N.compare(Predicate::lt, Place, N.unsqueeze(Last, {2})));
    // Rows: [r, 1, cells, h, 1] on [r, c, 1, h, w]; columns: [r, 1, 1, cells,
    // w] on [r, c, rows, 1, w].
    Y = Axis == 0 ? N.reduce(ReduceKind::max,
                             N.select(N.unsqueeze(Is, {1, 4}),
                                      N.unsqueeze(Y, {2}), Gone),
                             {3})
                  : N.reduce(ReduceKind::max,
                             N.select(N.unsqueeze(Is, {1, 2}),
                                      N.unsqueeze(Y, {3}), Gone),
                             {4});
  }
  // Cells without elements are 0.
  Y = N.select(N.compare(Predicate::eq, Y, Gone), N.scalar(0, T), Y);
  N.result(0, N.cast(Y, Stored));
  N.undefined(1); // places, for the backward pass
}

/// As many rows as are asked for; those that nothing fills hold a number.
static void nonzeroOfSize(NodeImport &N) {
  Value X = N.tensor("self");
  Expr Count = N.size("size", 0);
  int64_t Filler = N.integer("fill_value", -1);
  if (!X || N.bad())
    return N.give();
  Value Flags = frontend::flatten(
      N, N.compare(Predicate::ne, X, N.scalarInt(0, N.element(X))));
  Value Places = frontend::trueIndices(N, Flags, Count, N.i64());
  if (!Places)
    return N.give();
  Value Fits = N.compare(Predicate::lt, N.iota({Count}, 0, N.i64()),
                         frontend::countTrue(N, Flags));
  SmallVector<Value> Columns;
  for (Value Column : frontend::rowsOf(N, Places, Dims(N.dims(X))))
    Columns.push_back(
        N.unsqueeze(N.select(Fits, Column, N.scalarInt(Filler, N.i64())), {1}));
  N.result(Columns.empty() ? N.full(0, {Count, Expr(0)}, N.i64())
                           : N.concat(Columns, 1));
}

ArrayRef<Rule> selectionRules() {
  static constexpr std::string_view NotInside = "not inside loops and branches";
  static const Rule Rows[] = {
      {"argwhere.default", nonzero, InPlace::No, NotInside},
      {"_local_scalar_dense.default", item, InPlace::No,
       "integers; not inside loops and branches"},
      {"item.default", item, InPlace::No,
       "integers; not inside loops and branches"},
      {"masked_select.default", maskedSelect, InPlace::No, NotInside},
      {"nonzero.default", nonzero, InPlace::No, NotInside},
      {"nonzero_static.default", nonzeroOfSize},
      {"nonzero_numpy.default", whereTrue, InPlace::No, NotInside},
      {"repeat_interleave.Tensor", repeatByData, InPlace::No, NotInside},
      {"repeat_interleave.self_Tensor", repeatByData, InPlace::No, NotInside},
      {"torchvision.deform_conv2d.default", deformedConvolution, InPlace::No,
       "windows of a known size"},
      {"torchvision.nms.default", nms, InPlace::No, NotInside},
      {"torchvision.roi_align.default", roiAlign},
      {"torchvision.roi_pool.default", roiPool, InPlace::No,
       "the first result alone"},
      {"where.default", whereTrue, InPlace::No, NotInside},
  };
  return Rows;
}

} // namespace kpc::torch
