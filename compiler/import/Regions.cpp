//===- Regions.cpp - Regions of images, read between elements -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Regions.h"

#include <limits>

using namespace kpc::graph;

namespace kpc::frontend {

Value wholePlace(Emitter &N, Value V, const Expr &Size) {
  Value Last = N.sizeScalar(Size - 1, N.i64());
  return N.min(N.max(N.cast(V, N.i64()), N.scalarInt(0, N.i64())), Last);
}

void readBoxes(Emitter &N, Value Rois, int64_t First, double Scale,
               Regions &B) {
  auto ColumnOf = [&](int64_t I) {
    Value V = N.sliceAxis(Rois, 1, First + I, 1);
    return N.mulScalar(N.reshape(V, {N.dims(Rois)[0]}), Scale);
  };
  B.Low[1] = ColumnOf(0);
  B.Low[0] = ColumnOf(1);
  B.High[1] = ColumnOf(2);
  B.High[0] = ColumnOf(3);
}

/// Places of an axis as RoiAlign defines them: beyond one element outside the
/// image everything is 0, else the place is confined.
static Between align(Emitter &N, Value Place, const Expr &Size) {
  Type Element = N.element(Place);
  Value Zero = N.scalar(0, Element), One = N.scalar(1, Element);
  Value Count = N.sizeScalar(Size, Element);
  Value Inside = N.binary<AndOp>(N.compare(Predicate::ge, Place, N.neg(One)),
                                 N.compare(Predicate::le, Place, Count));
  Value At = N.min(N.max(Place, Zero), N.sub(Count, One));
  Value Low = N.unary<FloorOp>(At);
  Value Part = N.sub(At, Low);
  Between Result;
  Result.Index[0] = wholePlace(N, Low, Size);
  Result.Index[1] = wholePlace(N, N.addScalar(Low, 1), Size);
  Result.Weight[0] = N.select(Inside, N.sub(One, Part), Zero);
  Result.Weight[1] = N.select(Inside, Part, Zero);
  return Result;
}

/// The samples of an axis: [R, outputs * samples].
static Value samplePlaces(Emitter &N, const Regions &B, int Axis,
                          int64_t Samples, bool HalfPixel) {
  Type Element = N.element(B.Low[Axis]);
  double Offset = HalfPixel ? -0.5 : 0;
  Value Start = N.addScalar(B.Low[Axis], Offset);
  Value Length = N.sub(B.High[Axis], B.Low[Axis]);
  if (!HalfPixel)
    Length = N.max(Length, N.scalar(1, Element));
  int64_t Count = B.Out[Axis] * Samples;
  Value Step = N.mulScalar(Length, 1.0 / static_cast<double>(Count));
  Value At = N.addScalar(N.iota({Expr(Count)}, 0, Element), 0.5);
  return N.add(N.unsqueeze(Start, {1}), N.mul(N.unsqueeze(Step, {1}), At));
}

/// The images at each row and column of places, [R, rows] and [R, columns],
/// between four elements: [R, rows, columns, C]. `Image` is [N, H, W, C].
static Value sampled(Emitter &N, const Regions &B, Value Image, Value RowPlaces,
                     Value ColumnPlaces, bool Max) {
  if (!Image || !RowPlaces || !ColumnPlaces)
    return {};
  Between Rows = align(N, RowPlaces, N.dims(B.X)[2]);
  Between Columns = align(N, ColumnPlaces, N.dims(B.X)[3]);
  Dims Grid = {N.dims(RowPlaces)[0], N.dims(RowPlaces)[1],
               N.dims(ColumnPlaces)[1]};
  auto IndexOf = [&](Value V, ArrayRef<int64_t> Missing) {
    return N.unsqueeze(N.broadcast(N.unsqueeze(V, Missing), Grid), {3});
  };
  Value Batch = IndexOf(N.cast(B.Batch, N.i64()), {1, 2});
  Value Sum;
  for (int R = 0; R < 2; ++R)
    for (int C = 0; C < 2; ++C) {
      Value Place = N.concat(
          {Batch, IndexOf(Rows.Index[R], {2}), IndexOf(Columns.Index[C], {1})},
          3);
      Value Tap = N.build(GatherNdOp::getOperationName(), {Image, Place},
                          {N.intAttr("batch_dims", 0)});
      Value Weight = N.mul(N.unsqueeze(Rows.Weight[R], {2, 3}),
                           N.unsqueeze(Columns.Weight[C], {1, 3}));
      Tap = N.mul(Tap, Weight);
      // As ONNX defines the maximum: of the weighted elements.
      Sum = !Sum ? Tap : Max ? N.max(Sum, Tap) : N.add(Sum, Tap);
    }
  return Sum;
}

/// [N, H, W, C] in the type of the boxes.
static Value channelsLast(Emitter &N, const Regions &B) {
  return N.transpose(N.cast(B.X, N.element(B.Low[0])), {0, 2, 3, 1});
}

Value alignRegions(Emitter &N, const Regions &B, int64_t Samples,
                   bool HalfPixel, bool Max) {
  Value RowPlaces = samplePlaces(N, B, 0, Samples, HalfPixel);
  Value ColumnPlaces = samplePlaces(N, B, 1, Samples, HalfPixel);
  Value Sum = sampled(N, B, channelsLast(N, B), RowPlaces, ColumnPlaces, Max);
  if (!Sum)
    return {};
  Value Y = N.reshape(Sum, {N.dims(RowPlaces)[0], Expr(B.Out[0]), Expr(Samples),
                            Expr(B.Out[1]), Expr(Samples), N.dims(B.X)[1]});
  Y = Max ? N.reduce(ReduceKind::max, Y, {2, 4}) : N.mean(Y, {2, 4});
  return N.cast(N.transpose(Y, {0, 3, 1, 2}), N.element(B.X));
}

Value alignRegionsBySize(Emitter &N, const Regions &B, bool HalfPixel, bool Max,
                         DataLoopBuilder Loop) {
  Type F = N.element(B.Low[0]);
  Value Image = channelsLast(N, B);
  // The first place, the length of an output, and how many samples it has.
  Value Start[2], Bin[2], Count[2], Most[2];
  for (int A = 0; A < 2; ++A) {
    Start[A] = N.addScalar(B.Low[A], HalfPixel ? -0.5 : 0);
    Value Length = N.sub(B.High[A], B.Low[A]);
    if (!HalfPixel)
      Length = N.max(Length, N.scalar(1, F));
    Bin[A] = N.mulScalar(Length, 1.0 / static_cast<double>(B.Out[A]));
    Count[A] = N.max(N.unary<CeilOp>(Bin[A]), N.scalar(0, F));
    // A box beyond all images is cut: no run may count without an end.
    constexpr double Longest = 1 << 15;
    Count[A] = N.min(Count[A], N.scalar(Longest, F));
    Most[A] = N.max(N.reduce(ReduceKind::max, N.cast(Count[A], N.i64()), {0}),
                    N.scalarInt(0, N.i64()));
  }
  Value All = N.mul(Most[0], Most[1]);
  if (!Image || !All)
    return {};
  Dims Sizes = {N.dims(B.Low[0])[0], Expr(B.Out[0]), Expr(B.Out[1]),
                N.dims(B.X)[1]};
  Value None =
      N.full(Max ? -std::numeric_limits<double>::infinity() : 0, Sizes, F);
  Value First = N.scalarInt(0, N.i64());
  auto Goes = [&](Value At) { return N.compare(Predicate::lt, At, All); };
  auto Iteration =
      [&](const Expr &,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
    Value At = Carried[1];
    Value Number[2] = {N.div(At, Most[1]), N.binary<ModOp>(At, Most[1])};
    Value Places[2], Counts;
    for (int A = 0; A < 2; ++A) {
      Value Own = N.cast(Number[A], F);
      Value Part =
          N.div(N.addScalar(Own, 0.5), N.max(Count[A], N.scalar(1, F)));
      Value Output = N.iota({Expr(1), Expr(B.Out[A])}, 1, F);
      Places[A] = N.add(N.unsqueeze(Start[A], {1}),
                        N.mul(N.unsqueeze(Bin[A], {1}),
                              N.add(Output, N.unsqueeze(Part, {1}))));
      Value Has = N.compare(Predicate::lt, Own, Count[A]);
      Counts = Counts ? N.binary<AndOp>(Counts, Has) : Has;
    }
    Value One = sampled(N, B, Image, Places[0], Places[1], Max);
    Value Sum = Carried[0];
    Value More = Max ? N.max(Sum, One) : N.add(Sum, One);
    Sum = N.select(N.unsqueeze(Counts, {1, 2, 3}), More, Sum);
    Value Next = N.add(At, N.scalarInt(1, N.i64()));
    Value GoesOn = Goes(Next);
    if (!Sum || !GoesOn)
      return std::nullopt;
    return SmallVector<Value>{GoesOn, Sum, Next};
  };
  auto Results = Loop(Goes(First), {None, First}, Iteration);
  if (!Results)
    return {};
  Value Samples = N.mul(Count[0], Count[1]);
  Value Y = Results->front();
  if (Max)
    Y = N.select(N.unsqueeze(N.compare(Predicate::gt, Samples, N.scalar(0, F)),
                             {1, 2, 3}),
                 Y, N.scalar(0, F));
  else
    Y = N.div(Y, N.unsqueeze(N.max(Samples, N.scalar(1, F)), {1, 2, 3}));
  return N.cast(N.transpose(Y, {0, 3, 1, 2}), N.element(B.X));
}

} // namespace kpc::frontend
