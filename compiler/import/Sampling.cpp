//===- Sampling.cpp - Images, read at the places of a grid ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Sampling.h"

using namespace kpc::graph;

namespace kpc::frontend {

/// x in [-1, 1] to elements.
static Value denormalise(Emitter &N, Value X, const Expr &Size,
                         bool AlignCorners) {
  Value Count = N.sizeScalar(Size, N.element(X));
  Value Right = N.addScalar(X, 1);
  if (AlignCorners)
    return N.mulScalar(N.mul(Right, N.addScalar(Count, -1)), 0.5);
  return N.mulScalar(N.addScalar(N.mul(Right, Count), -1), 0.5);
}

/// Folds x back into the image at its borders, as often as needed.
static Value reflect(Emitter &N, Value X, const Expr &Size, bool AlignCorners) {
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
static Value confine(Emitter &N, Value X, const Expr &Size, SamplePadding P,
                     bool AlignCorners) {
  if (P == SamplePadding::Zeros)
    return X;
  if (P == SamplePadding::Reflection)
    X = reflect(N, X, Size, AlignCorners);
  Value Last = N.addScalar(N.sizeScalar(Size, N.element(X)), -1);
  return N.min(N.max(X, N.like(0, X)), Last);
}

namespace {
/// A whole place along one axis: whether it is in the image, and how many
/// elements lie in front of it, or of the nearest that is.
struct Tap {
  Value Within, Before;
};

/// Where an image is read. Places are floats of a type of their own: the image
/// may be of integers, or of floats too short to count its elements. They are
/// [N, places…, 1], as the grid has them, so that all of it is elementwise:
/// what is computed of places needs no memory.
class Sampler {
public:
  Sampler(Emitter &N, Value X, Type Computed, SamplePadding P,
          bool AlignCorners)
      : N(N), P(P), AlignCorners(AlignCorners), Sizes(N.dims(X).drop_front(2)) {
    // One index a pixel, which picks all channels. The cast is behind the
    // reshape, which would keep it in memory.
    Expr Pixels(1);
    for (const Expr &Size : Sizes)
      Pixels = Pixels * Size;
    Dims Flat = {N.dims(X)[0], N.dims(X)[1], Pixels};
    Image = N.cast(N.transpose(N.reshape(X, Flat), {0, 2, 1}), Computed);
  }

  Tap tap(Value Place, size_t Axis) {
    const Expr &Size = Sizes[Axis];
    Value V = confine(N, Place, Size, P, AlignCorners);
    Value Before = clampIndex(V, Size);
    Expr Each(1);
    for (size_t I = Axis + 1; I < Sizes.size(); ++I)
      Each = Each * Sizes[I];
    if (Each != Expr(1) && Before)
      Before = N.mul(Before, N.sizeScalar(Each, N.i64()));
    // All places are inside once they are confined.
    return {P == SamplePadding::Zeros ? within(V, Size) : Value(), Before};
  }

  /// The elements at whole places; zeros outside, if that is the padding.
  Value at(ArrayRef<Tap> Taps) {
    Value Inside, Pixel;
    for (const Tap &One : Taps) {
      if (!One.Before)
        return {};
      Pixel = Pixel ? N.add(Pixel, One.Before) : One.Before;
      if (One.Within)
        Inside = Inside ? N.binary<AndOp>(Inside, One.Within) : One.Within;
    }
    Value Y = N.build(GatherNdOp::getOperationName(), {Image, Pixel},
                      {N.intAttr("batch_dims", 1)});
    return Inside ? N.select(Inside, Y, N.like(0, Y)) : Y;
  }

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

  Emitter &N;
  Value Image;
  SamplePadding P;
  bool AlignCorners;
  Dims Sizes;
};
} // namespace

/// Weights of the four taps of cubic interpolation at a fraction (A = -0.75).
static SmallVector<Value> cubicWeights(Emitter &N, Value F) {
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

/// Sums taps around places: two for linear, four for cubic, an axis.
static Value interpolate(Emitter &N, Sampler &S, ArrayRef<Value> Places,
                         bool Cubic) {
  struct Axis {
    SmallVector<Tap> Taps;
    SmallVector<Value> Weights;
  };
  SmallVector<Axis> Axes;
  size_t Count = 1;
  int First = Cubic ? -1 : 0;
  for (auto [I, Place] : llvm::enumerate(Places)) {
    Value Low = N.unary<FloorOp>(Place);
    Value Part = N.sub(Place, Low);
    if (!Part)
      return {};
    Axis One;
    One.Weights = Cubic
                      ? cubicWeights(N, Part)
                      : SmallVector<Value>{N.sub(N.like(1, Part), Part), Part};
    for (size_t K = 0; K < One.Weights.size(); ++K)
      One.Taps.push_back(
          S.tap(N.addScalar(Low, First + static_cast<int>(K)), I));
    Count *= One.Weights.size();
    Axes.push_back(std::move(One));
  }
  Value Sum;
  for (size_t Number = 0; Number < Count; ++Number) {
    // The last axis is the fastest.
    SmallVector<Tap> At(Axes.size());
    Value Weight;
    size_t Rest = Number;
    for (size_t I = Axes.size(); I-- > 0;) {
      size_t K = Rest % Axes[I].Weights.size();
      Rest /= Axes[I].Weights.size();
      At[I] = Axes[I].Taps[K];
      Value Own = Axes[I].Weights[K];
      Weight = Weight ? N.mul(Own, Weight) : Own;
    }
    Value Part = N.mul(S.at(At), Weight);
    Sum = Sum ? N.add(Sum, Part) : Part;
  }
  return Sum;
}

/// The type of places and sums: f64 where f32 does not hold every element.
static Type computedType(Emitter &N, Type Stored) {
  unsigned Exact = isFloat(Stored) ? 33 : 17;
  return Stored.getIntOrFloatBitWidth() < Exact ? N.f32()
                                                : N.builder().getF64Type();
}

Value sampleGrid(Emitter &N, Value X, Value Grid, const Sampling &How) {
  int64_t Space = N.rank(X) - 2;
  bool Nearest = How.Mode == SampleMode::Nearest;
  SamplePadding P = How.Padding;
  bool Align = How.AlignCorners;
  Type Stored = N.element(X), Computed = computedType(N, Stored);
  Grid = N.cast(Grid, Computed);
  // Cubic taps are confined one by one, a linear place as a whole, and a whole
  // place when it is one: halves round before they are reflected, or behind.
  SmallVector<Value> Places;
  for (int64_t I = 0; I < Space; ++I) {
    Expr Size = N.dims(X)[static_cast<size_t>(I) + 2];
    Value Place = N.sliceAxis(Grid, Space + 1, Space - 1 - I, 1);
    Place = denormalise(N, Place, Size, Align);
    if (How.Mode == SampleMode::Linear || (Nearest && !How.RoundsFirst))
      Place = confine(N, Place, Size, P, Align);
    if (Nearest)
      Place = N.unary<RoundOp>(Place);
    if (!Place)
      return {};
    Places.push_back(Place);
  }
  Sampler S(N, X, Nearest ? Stored : Computed, P, Align);
  SmallVector<Tap> Nearby;
  for (auto [I, Place] : llvm::enumerate(Places))
    if (Nearest)
      Nearby.push_back(S.tap(Place, I));
  Value Y = Nearest ? S.at(Nearby)
                    : interpolate(N, S, Places, How.Mode == SampleMode::Cubic);
  Ints Back = {0, Space + 1};
  for (int64_t I = 1; I <= Space; ++I)
    Back.push_back(I);
  return N.cast(N.transpose(Y, Back), Stored);
}

} // namespace kpc::frontend
