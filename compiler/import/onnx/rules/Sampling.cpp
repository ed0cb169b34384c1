//===- Sampling.cpp - Import of GridSample --------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

using namespace kpc::graph;

namespace kpc::onnx {

namespace {
enum class Padding { Zeros, Border, Reflection };

/// A grid of places in one image axis, in elements.
struct Axis {
  Expr Size;
  Value Source; ///< [N, Ho, Wo], float
};
} // namespace

/// x in [-1, 1] to elements.
static Value denormalise(NodeImport &N, Value X, const Expr &Size,
                         bool AlignCorners) {
  Value Count = N.sizeScalar(Size, N.element(X));
  Value Right = N.addScalar(X, 1);
  if (AlignCorners)
    return N.mulScalar(N.mul(Right, N.addScalar(Count, -1)), 0.5);
  return N.mulScalar(N.addScalar(N.mul(Right, Count), -1), 0.5);
}

/// Folds x back into the image at its borders, as often as needed.
static Value reflect(NodeImport &N, Value X, const Expr &Size,
                     bool AlignCorners) {
  Value Count = N.sizeScalar(Size, N.element(X));
  Value Low = N.like(AlignCorners ? 0 : -0.5, X);
  Value Span = AlignCorners ? N.addScalar(Count, -1) : Count;
  // Distance from the border, in periods of twice the span.
  Value Off = N.unary<AbsOp>(N.sub(X, Low));
  Value Safe = N.max(Span, N.like(1e-6, X));
  Value Turns = N.unary<FloorOp>(N.div(Off, Safe));
  Value Rest = N.sub(Off, N.mul(Turns, Safe));
  Value Half = N.mulScalar(Turns, 0.5);
  Value Even = N.compare(Predicate::eq, N.unary<FloorOp>(Half), Half);
  return N.select(Even, N.add(Low, Rest), N.add(Low, N.sub(Span, Rest)));
}

/// Brings a place into the image, where the padding says so.
static Value confine(NodeImport &N, Value X, const Expr &Size, Padding P,
                     bool AlignCorners) {
  if (P == Padding::Zeros)
    return X;
  if (P == Padding::Reflection)
    X = reflect(N, X, Size, AlignCorners);
  Value Last = N.addScalar(N.sizeScalar(Size, N.element(X)), -1);
  return N.min(N.max(X, N.like(0, X)), Last);
}

namespace {
/// Where an image is read. Places are floats of a type of their own: the image
/// may be of integers, or of floats too short to count its elements.
class Sampler {
public:
  Sampler(NodeImport &N, Value X, Padding P, bool AlignCorners)
      : N(N), X(X), P(P), AlignCorners(AlignCorners), Height(N.dims(X)[2]),
        Width(N.dims(X)[3]) {
    // Channels last, so that one index picks all of them.
    Image = N.transpose(X, {0, 2, 3, 1});
  }

  /// The elements at whole places; zeros outside, if that is the padding.
  Value at(Value Row, Value Column) {
    Value R = confine(N, Row, Height, P, AlignCorners);
    Value C = confine(N, Column, Width, P, AlignCorners);
    Value Inside = N.binary<AndOp>(within(R, Height), within(C, Width));
    if (!Inside)
      return {};
    Value Index =
        N.concat({last(clampIndex(R, Height)), last(clampIndex(C, Width))}, 3);
    Value Y = N.build(GatherNdOp::getOperationName(), {Image, Index},
                      {N.intAttr("batch_dims", 1)});
    return P == Padding::Zeros ? N.select(last(Inside), Y, N.like(0, X)) : Y;
  }

  /// [N, Ho, Wo] to [N, Ho, Wo, 1]
  Value last(Value V) { return N.unsqueeze(V, {3}); }

private:
  Value within(Value V, const Expr &Size) {
    Value Last = N.addScalar(N.sizeScalar(Size, N.element(V)), -1);
    return N.binary<AndOp>(N.compare(Predicate::ge, V, N.like(0, V)),
                           N.compare(Predicate::le, V, Last));
  }
  Value clampIndex(Value V, const Expr &Size) {
    Value Last = N.addScalar(N.sizeScalar(Size, N.element(V)), -1);
    return N.cast(N.min(N.max(V, N.like(0, V)), Last), N.i64());
  }

  NodeImport &N;
  Value X, Image;
  Padding P;
  bool AlignCorners;
  Expr Height, Width;
};
} // namespace

/// Weights of the four taps of cubic interpolation at a fraction (A = -0.75).
static SmallVector<Value> cubicWeights(NodeImport &N, Value F) {
  constexpr double A = -0.75;
  auto Near = [&](Value X) {
    Value Inner = N.addScalar(N.mulScalar(X, A + 2), -(A + 3));
    return N.addScalar(N.mul(N.mul(Inner, X), X), 1);
  };
  auto Far = [&](Value X) {
    Value Inner = N.addScalar(N.mulScalar(X, A), -5 * A);
    Inner = N.addScalar(N.mul(Inner, X), 8 * A);
    return N.addScalar(N.mul(Inner, X), -4 * A);
  };
  Value Rest = N.sub(N.like(1, F), F);
  return {Far(N.addScalar(F, 1)), Near(F), Near(Rest),
          Far(N.addScalar(Rest, 1))};
}

/// Sums taps around a place: two for linear, four for cubic, an axis.
static Value interpolate(NodeImport &N, Sampler &S, Value Row, Value Column,
                         bool Cubic) {
  Value TopRow = N.unary<FloorOp>(Row), LeftColumn = N.unary<FloorOp>(Column);
  Value DownRow = N.sub(Row, TopRow), Right = N.sub(Column, LeftColumn);
  if (!DownRow || !Right)
    return {};
  auto Linear = [&](Value F) {
    return SmallVector<Value>{N.sub(N.like(1, F), F), F};
  };
  SmallVector<Value> Rows = Cubic ? cubicWeights(N, DownRow) : Linear(DownRow);
  SmallVector<Value> Columns = Cubic ? cubicWeights(N, Right) : Linear(Right);
  int First = Cubic ? -1 : 0;
  Value Sum;
  for (size_t R = 0; R < Rows.size(); ++R)
    for (size_t C = 0; C < Columns.size(); ++C) {
      Value Tap = S.at(N.addScalar(TopRow, First + static_cast<int>(R)),
                       N.addScalar(LeftColumn, First + static_cast<int>(C)));
      Tap = N.mul(Tap, S.last(N.mul(Rows[R], Columns[C])));
      Sum = Sum ? N.add(Sum, Tap) : Tap;
    }
  return Sum;
}

/// The type of places and sums: f64 where f32 does not hold every element.
static Type computedType(NodeImport &N, Type Stored) {
  unsigned Exact = isFloat(Stored) ? 33 : 17;
  return Stored.getIntOrFloatBitWidth() < Exact ? N.f32()
                                                : N.builder().getF64Type();
}

static void importGridSample(NodeImport &N) {
  std::string Mode = N.stringAttribute("mode", "linear");
  std::string Pads = N.stringAttribute("padding_mode", "zeros");
  bool Align = N.flagAttribute("align_corners");
  N.expectInputs(2, 2);
  Value X = N.input(0), Grid = N.input(1);
  if (N.bad())
    return;
  bool Nearest = Mode == "nearest";
  bool Cubic = Mode == "bicubic" || Mode == "cubic";
  bool Linear = Mode == "bilinear" || Mode == "linear";
  std::optional<Padding> P;
  if (Pads == "zeros")
    P = Padding::Zeros;
  else if (Pads == "border")
    P = Padding::Border;
  else if (Pads == "reflection")
    P = Padding::Reflection;
  if (!P || !(Nearest || Cubic || Linear)) {
    N.fail(Code::ImportAttributeValue, "mode '" + printable(Mode) +
                                           "' with padding_mode '" +
                                           printable(Pads) + "'");
    return;
  }
  if (N.rank(X) != 4 || N.rank(Grid) != 4 || N.dims(Grid)[3] != Expr(2)) {
    N.unsupported("samples " + dimsText(N.dims(X)) + " by a grid of " +
                  dimsText(N.dims(Grid)) + "; kpc samples two dimensions");
    return;
  }
  for (int64_t Axis : {2, 3})
    if (N.dims(X)[static_cast<size_t>(Axis)] == Expr(0)) {
      N.fail(Code::ImportShape, "samples an image of " + dimsText(N.dims(X)) +
                                    ", which has no elements");
      return;
    }
  Dims Places(N.dims(Grid).drop_back());
  Type Stored = N.element(X), Computed = computedType(N, Stored);
  Grid = N.cast(Grid, Computed);
  if (!Nearest)
    X = N.cast(X, Computed);
  Value Column = N.reshape(N.sliceAxis(Grid, 3, 0, 1), Places);
  Value Row = N.reshape(N.sliceAxis(Grid, 3, 1, 1), Places);
  Column = denormalise(N, Column, N.dims(X)[3], Align);
  Row = denormalise(N, Row, N.dims(X)[2], Align);
  if (!Row || !Column)
    return N.result(0, Value());
  Sampler S(N, X, *P, Align);
  // Cubic taps are confined one by one, a linear place as a whole, and a whole
  // place when it is one: halves round before they are reflected.
  if (Linear) {
    Column = confine(N, Column, N.dims(X)[3], *P, Align);
    Row = confine(N, Row, N.dims(X)[2], *P, Align);
  }
  Value Y = Nearest ? S.at(N.unary<RoundOp>(Row), N.unary<RoundOp>(Column))
                    : interpolate(N, S, Row, Column, Cubic);
  N.result(0, N.cast(N.transpose(Y, {0, 3, 1, 2}), Stored));
}

ArrayRef<Rule> samplingRules() {
  static const Rule Rows[] = {
      {"", "GridSample", 16, Newest, importGridSample, "two dimensions"},
  };
  return Rows;
}

} // namespace kpc::onnx
