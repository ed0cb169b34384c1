//===- ResizeAxis.cpp - Resizing along one axis ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Along an axis each output element is a sum of few input elements ("taps").
/// Where the sizes are numbers, taps and weights are computed here; where they
/// are symbols, by the graph.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/ResizeAxis.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

namespace {
/// Taps of one axis: `Count` for each output element, clamped indices.
struct Taps {
  size_t Count = 0;
  std::vector<int64_t> Index; ///< [tap][output]
  std::vector<float> Weight;
  std::vector<bool> Outside; ///< crop_and_resize: takes the extrapolation value
};
} // namespace

//===----------------------------------------------------------------------===//
// Taps as numbers
//===----------------------------------------------------------------------===//

static double sourceCoordinate(const ResizeOptions &O, const AxisResize &A,
                               int64_t X) {
  auto In = static_cast<double>(*A.In.asConstant());
  auto At = static_cast<double>(X);
  double Scale = *A.Scale;
  double Out = A.Length;
  const std::string &Mode = O.Coordinates;
  if (Mode == "align_corners")
    return Out == 1 ? 0 : At * (In - 1) / (Out - 1);
  if (Mode == "asymmetric")
    return At / Scale;
  if (Mode == "tf_half_pixel_for_nn")
    return (At + 0.5) / Scale;
  if (Mode == "pytorch_half_pixel")
    return Out > 1 ? (At + 0.5) / Scale - 0.5 : 0;
  if (Mode == "tf_crop_and_resize")
    return Out > 1 ? A.RoiStart * (In - 1) +
                         At * (A.RoiEnd - A.RoiStart) * (In - 1) / (Out - 1)
                   : 0.5 * (A.RoiStart + A.RoiEnd) * (In - 1);
  double Half = (At + 0.5) / Scale - 0.5;
  if (Mode == "half_pixel_symmetric")
    return In / 2 * (1 - static_cast<double>(*A.Out.asConstant()) / Out) + Half;
  return Half;
}

static double nearestIndex(const std::string &Mode, double X) {
  if (Mode == "floor")
    return std::floor(X);
  if (Mode == "ceil")
    return std::ceil(X);
  if (Mode == "round_prefer_ceil")
    return std::floor(X + 0.5);
  return std::ceil(X - 0.5);
}

/// The interpolation kernel at distance `X`.
static double kernelAt(const ResizeOptions &O, double X) {
  X = std::abs(X);
  if (O.Mode == "linear")
    return std::max(0.0, 1 - X);
  double A = O.CubicA;
  if (X <= 1)
    return ((A + 2) * X - (A + 3)) * X * X + 1;
  return X < 2 ? (((X - 5) * X + 8) * X - 4) * A : 0;
}

/// Shrinking with antialias widens the kernel so that no element is skipped.
static double kernelStretch(const ResizeOptions &O, const AxisResize &A) {
  return O.Antialias && *A.Scale < 1 ? 1 / *A.Scale : 1;
}

static double kernelSupport(const ResizeOptions &O) {
  return O.Mode == "nearest" ? 0 : O.Mode == "linear" ? 1 : 2;
}

/// Elements that one output element is made of; 0 where that is absurd.
static size_t tapCount(const ResizeOptions &O, const AxisResize &A) {
  if (O.Mode == "nearest")
    return 1;
  double Stretch = kernelStretch(O, A);
  double Count =
      std::ceil(2 * kernelSupport(O) * Stretch) + (Stretch > 1 ? 1 : 0);
  return Count <= 1024 ? static_cast<size_t>(Count) : 0;
}

static Taps numericTaps(const ResizeOptions &O, const AxisResize &A) {
  auto In = *A.In.asConstant(), Out = *A.Out.asConstant();
  double Support = kernelSupport(O), Stretch = kernelStretch(O, A);
  Taps T;
  T.Count = tapCount(O, A);
  size_t Columns = static_cast<size_t>(Out);
  T.Index.resize(T.Count * Columns);
  T.Weight.resize(T.Count * Columns, 1);
  T.Outside.resize(Columns, false);
  for (size_t X = 0; X < Columns; ++X) {
    double Source = sourceCoordinate(O, A, static_cast<int64_t>(X));
    if (O.Coordinates == "tf_crop_and_resize")
      T.Outside[X] = Source < 0 || Source > static_cast<double>(In - 1);
    double First = O.Mode == "nearest"
                       ? nearestIndex(O.Nearest, Source)
                       : std::floor(Source - Support * Stretch) + 1;
    double Sum = 0;
    for (size_t K = 0; K < T.Count; ++K) {
      double At = First + static_cast<double>(K);
      double Weight =
          O.Mode == "nearest" ? 1 : kernelAt(O, (At - Source) / Stretch);
      bool Beyond = At < 0 || At > static_cast<double>(In - 1);
      if (O.ExcludeOutside && Beyond && O.Mode != "nearest")
        Weight = 0;
      Sum += Weight;
      T.Weight[K * Columns + X] = static_cast<float>(Weight);
      T.Index[K * Columns + X] = static_cast<int64_t>(std::clamp(
          At, 0.0, static_cast<double>(std::max<int64_t>(In, 1) - 1)));
    }
    if ((O.ExcludeOutside || Stretch > 1) && Sum != 0)
      for (size_t K = 0; K < T.Count; ++K)
        T.Weight[K * Columns + X] =
            static_cast<float>(T.Weight[K * Columns + X] / Sum);
  }
  return T;
}

/// Indices and weights are tables of the output's length.
static constexpr int64_t LongestAxis = 1 << 20;

/// A vector as it broadcasts along `Axis`.
static Value along(NodeImport &N, Value V, int64_t Axis, int64_t Rank) {
  if (!V)
    return {};
  Dims Sizes(static_cast<size_t>(Rank), Expr(1));
  Sizes[static_cast<size_t>(Axis)] = N.dims(V)[0];
  return N.reshape(V, Sizes);
}

Value resizeByNumbers(NodeImport &N, Value X, int64_t Axis,
                      const ResizeOptions &O, const AxisResize &A) {
  auto Out = *A.Out.asConstant();
  if (tapCount(O, A) == 0 || Out > LongestAxis)
    return N.unsupported("resizes " + A.In.str() + " to " + A.Out.str());
  Taps T = numericTaps(O, A);
  auto Columns = static_cast<size_t>(Out);
  std::string Suffix = std::to_string(Axis) + ".";
  Value Sum;
  for (size_t K = 0; K < T.Count; ++K) {
    std::string Name = Suffix + std::to_string(K);
    std::vector<int64_t> Index(T.Index.begin() + K * Columns,
                               T.Index.begin() + (K + 1) * Columns);
    Value Tap = N.gather(
        X, N.data(Tensor::ofIntegers("index" + Name, {Out}, Index)), Axis);
    if (T.Count > 1) {
      std::vector<float> Weight(T.Weight.begin() + K * Columns,
                                T.Weight.begin() + (K + 1) * Columns);
      Value W = N.data(Tensor::ofFloats("weight" + Name, {Out}, Weight));
      Tap = N.mul(Tap, N.cast(along(N, W, Axis, N.rank(X)), N.element(X)));
    }
    Sum = Sum ? N.add(Sum, Tap) : Tap;
  }
  bool AnyOutside = llvm::is_contained(T.Outside, true);
  if (!AnyOutside)
    return Sum;
  std::vector<int64_t> Flags(T.Outside.begin(), T.Outside.end());
  Value Outside =
      N.compare(Predicate::ne,
                N.data(Tensor::ofIntegers("outside" + Suffix, {Out}, Flags)),
                N.scalarInt(0, N.i64()));
  return N.select(along(N, Outside, Axis, N.rank(X)),
                  N.like(O.Extrapolation, X), Sum);
}

//===----------------------------------------------------------------------===//
// Taps computed when the model runs
//===----------------------------------------------------------------------===//

static Value coordinates(NodeImport &N, const ResizeOptions &O,
                         const AxisResize &A) {
  Value At = N.iota({A.Out}, 0, N.f32());
  Value In = N.sizeScalar(A.In, N.f32()), Out = N.sizeScalar(A.Out, N.f32());
  Value Scale = A.Scale        ? N.scalar(*A.Scale, N.f32())
                : A.ScaleInput ? A.ScaleInput
                               : N.div(Out, In);
  if (O.Coordinates == "align_corners") {
    Value Steps = N.addScalar(N.mul(In, Scale), -1);
    // One output element sits at 0, which 0 * anything finite is.
    Value Zero = N.scalar(0, N.f32());
    Steps = N.select(N.compare(Predicate::eq, Steps, Zero),
                     N.scalar(1, N.f32()), Steps);
    return N.div(N.mul(At, N.addScalar(In, -1)), Steps);
  }
  if (O.Coordinates == "asymmetric")
    return N.div(At, Scale);
  if (O.Coordinates == "tf_crop_and_resize") {
    auto Edge = [&](Value Input, double Number) {
      return N.mul(Input ? Input : N.scalar(Number, N.f32()),
                   N.addScalar(In, -1));
    };
    Value Start = Edge(A.RoiStartInput, A.RoiStart);
    Value End = Edge(A.RoiEndInput, A.RoiEnd);
    // A single element sits in the middle.
    Value Middle = N.broadcast(N.mulScalar(N.add(Start, End), 0.5), {A.Out});
    if (A.Out == Expr(1))
      return Middle;
    Value Steps = N.addScalar(Out, -1);
    Value Many = N.compare(Predicate::gt, Steps, N.like(0, Steps));
    Value Step = N.div(N.sub(End, Start), N.max(Steps, N.like(1, Steps)));
    Value Spread = N.add(Start, N.mul(At, Step));
    return A.Out.isConstant() ? Spread : N.select(Many, Spread, Middle);
  }
  Value Half = N.div(N.addScalar(At, 0.5), Scale);
  if (O.Coordinates == "tf_half_pixel_for_nn")
    return Half;
  if (O.Coordinates == "half_pixel_symmetric") {
    // What rounding the length took off lies on both sides.
    Value Share = N.div(Out, N.mul(In, Scale));
    Value Offset =
        N.mul(N.mulScalar(In, 0.5), N.sub(N.scalar(1, N.f32()), Share));
    Half = N.add(Half, Offset);
  }
  Half = N.addScalar(Half, -0.5);
  // One output element is taken from 0.
  if (O.Coordinates == "pytorch_half_pixel" && !A.Out.isConstant())
    Half = N.select(N.compare(Predicate::gt, Out, N.like(1, Out)), Half,
                    N.like(0, Half));
  return Half;
}

/// The interpolation kernel at distances.
static Value kernelAt(NodeImport &N, const ResizeOptions &O, Value Distance) {
  Value X = N.unary<AbsOp>(Distance);
  if (!X)
    return {};
  if (O.Mode == "linear")
    return N.max(N.sub(N.like(1, X), X), N.like(0, X));
  double A = O.CubicA;
  Value Near = N.addScalar(N.mulScalar(X, A + 2), -(A + 3));
  Near = N.addScalar(N.mul(N.mul(Near, X), X), 1);
  Value Far = N.addScalar(N.mul(N.addScalar(X, -5), X), 8);
  Far = N.mulScalar(N.addScalar(N.mul(Far, X), -4), A);
  Far = N.select(N.compare(Predicate::lt, X, N.like(2, X)), Far, N.like(0, X));
  return N.select(N.compare(Predicate::le, X, N.like(1, X)), Near, Far);
}

/// Sums of taps whose weights the run computes; the kernel widens where
/// antialias says so.
static Value resizeByKernel(NodeImport &N, Value X, int64_t Axis,
                            const ResizeOptions &O, const AxisResize &A,
                            Value Source) {
  double Support = kernelSupport(O);
  auto Count = static_cast<int64_t>(2 * Support);
  Value Stretch = N.scalar(1, N.f32());
  if (O.Antialias) {
    // floor(In * Scale) is Out, so the scale is at least Out / In.
    std::optional<int64_t> In = A.In.asConstant(), Out = A.Out.asConstant();
    if (!In || !Out || *Out < 1)
      return N.unsupportedOn("antialias", In ? A.Out : A.In);
    double Widest = std::max(1.0, double(*In) / double(*Out));
    Count = static_cast<int64_t>(std::ceil(2 * Support * Widest)) + 1;
    if (Count > 1024)
      return N.unsupported("resizes " + A.In.str() + " to " + A.Out.str());
    Value Scale =
        A.ScaleInput ? A.ScaleInput
                     : N.scalar(A.Scale ? *A.Scale : double(*Out) / double(*In),
                                N.f32());
    Stretch = N.max(N.div(Stretch, Scale), Stretch);
  }
  Value Reach = N.mulScalar(Stretch, Support);
  Value First = N.addScalar(N.unary<FloorOp>(N.sub(Source, Reach)), 1);
  Value LastIndex = N.sizeScalar(A.In - 1, N.i64());
  Value Sum, Weights;
  for (int64_t K = 0; K < Count; ++K) {
    Value At = N.addScalar(First, static_cast<double>(K));
    Value Weight = kernelAt(N, O, N.div(N.sub(At, Source), Stretch));
    if (!Weight)
      return {};
    if (O.ExcludeOutside) {
      Value Last = N.sizeScalar(A.In - 1, N.f32());
      Value Inside =
          N.binary<AndOp>(N.compare(Predicate::ge, At, N.like(0, At)),
                          N.compare(Predicate::le, At, Last));
      Weight = N.select(Inside, Weight, N.like(0, Weight));
    }
    Value Index =
        N.min(N.max(N.cast(At, N.i64()), N.scalarInt(0, N.i64())), LastIndex);
    Value Tap = N.mul(N.gather(X, Index, Axis),
                      N.cast(along(N, Weight, Axis, N.rank(X)), N.element(X)));
    Sum = Sum ? N.add(Sum, Tap) : Tap;
    Weights = Weights ? N.add(Weights, Weight) : Weight;
  }
  if (!O.ExcludeOutside && !O.Antialias)
    return Sum;
  return N.div(Sum, N.cast(along(N, Weights, Axis, N.rank(X)), N.element(X)));
}

/// The elements at places that the run computes.
static Value tapsOf(NodeImport &N, Value X, int64_t Axis,
                    const ResizeOptions &O, const AxisResize &A, Value Source) {
  Value Last = N.sizeScalar(A.In - 1, N.i64());
  auto Clamp = [&](Value V) {
    return N.min(N.max(N.cast(V, N.i64()), N.scalarInt(0, N.i64())), Last);
  };
  if (O.Mode == "nearest") {
    Value Index;
    if (O.Nearest == "floor")
      Index = N.unary<FloorOp>(Source);
    else if (O.Nearest == "ceil")
      Index = N.unary<CeilOp>(Source);
    else if (O.Nearest == "round_prefer_ceil")
      Index = N.unary<FloorOp>(N.addScalar(Source, 0.5));
    else
      Index = N.unary<CeilOp>(N.addScalar(Source, -0.5));
    return N.gather(X, Clamp(Index), Axis);
  }
  if (O.Mode == "cubic" || O.Antialias || O.ExcludeOutside)
    return resizeByKernel(N, X, Axis, O, A, Source);
  Value Low = N.unary<FloorOp>(Source);
  Value Part =
      N.cast(along(N, N.sub(Source, Low), Axis, N.rank(X)), N.element(X));
  Value A0 = N.gather(X, Clamp(Low), Axis);
  Value A1 = N.gather(X, Clamp(N.addScalar(Low, 1)), Axis);
  return N.add(A0, N.mul(N.sub(A1, A0), Part));
}

Value resizeBySizes(NodeImport &N, Value X, int64_t Axis,
                    const ResizeOptions &O, const AxisResize &A) {
  if (O.Coordinates == "pytorch_half_pixel" && A.Out == Expr(1))
    return N.sliceAxis(X, Axis, 0, 1);
  Value Source = coordinates(N, O, A);
  Value Y = tapsOf(N, X, Axis, O, A, Source);
  if (O.Coordinates != "tf_crop_and_resize" || !Y)
    return Y;
  Value Last = N.sizeScalar(A.In - 1, N.f32());
  Value Outside =
      N.binary<OrOp>(N.compare(Predicate::lt, Source, N.like(0, Source)),
                     N.compare(Predicate::gt, Source, Last));
  return N.select(along(N, Outside, Axis, N.rank(X)),
                  N.like(O.Extrapolation, X), Y);
}

} // namespace kpc::onnx
