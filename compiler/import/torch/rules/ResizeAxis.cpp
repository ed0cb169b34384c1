//===- ResizeAxis.cpp - Resizing along one axis ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/rules/ResizeAxis.h"

#include <algorithm>
#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

/// Results along an axis, as places and weights are tables.
static constexpr int64_t LongestAxis = 16384;
/// Elements that one result is made of.
static constexpr int64_t MostTaps = 1024;
/// Keys' parameter: PyTorch has another one where it widens the kernel.
static constexpr double Sharp = -0.75, Soft = -0.5;

/// Keys' cubic at a distance of 0 to 2.
static double cubic(double V, double A) {
  if (V <= 1)
    return ((A + 2) * V - (A + 3)) * V * V + 1;
  return V < 2 ? ((A * V - 5 * A) * V + 8 * A) * V - 4 * A : 0;
}

/// The sum of the taps, whose places and weights are tables.
static Value weighted(NodeImport &N, Value X, int64_t Axis,
                      const std::vector<std::vector<int64_t>> &Places,
                      const std::vector<std::vector<double>> &Weights) {
  if (!X)
    return {};
  Dims Along(N.dims(X).size(), Expr(1));
  Along[static_cast<size_t>(Axis)] =
      Expr(static_cast<int64_t>(Places[0].size()));
  Value Sum;
  for (size_t T = 0; T < Places.size(); ++T) {
    Value Tap =
        N.mul(N.gather(X, N.intVector(Places[T], N.i64()), Axis),
              N.reshape(N.floatVector(Weights[T], N.element(X)), Along));
    Sum = Sum ? N.add(Sum, Tap) : Tap;
  }
  return Sum;
}

Value scaled(NodeImport &N, Value X, int64_t Axis, int64_t Out,
             const Scaling &S, Mode M) {
  std::optional<int64_t> Size =
      N.dims(X)[static_cast<size_t>(Axis)].asConstant();
  if (!Size || *Size < 1 || Out < 1 || Out > LongestAxis)
    return N.unsupported("resizes " +
                         N.dims(X)[static_cast<size_t>(Axis)].str() +
                         " elements of an axis to " + std::to_string(Out) +
                         "; kpc takes 1 to " + std::to_string(LongestAxis));
  int64_t In = *Size;
  double By = S.step(In, Out);
  size_t Taps = M == Mode::Cubic ? 4 : M == Mode::Linear ? 2 : 1;
  std::vector<std::vector<int64_t>> Places(Taps);
  std::vector<std::vector<double>> Weights(Taps);
  for (int64_t I = 0; I < Out; ++I) {
    if (Taps == 1) {
      // PyTorch computes the place in f32.
      float Place =
          M == Mode::Nearest
              ? static_cast<float>(I) * static_cast<float>(By)
              : (static_cast<float>(I) + 0.5F) * static_cast<float>(By);
      Places[0].push_back(
          std::min<int64_t>(static_cast<int64_t>(std::floor(Place)), In - 1));
      continue;
    }
    double At = S.source(I, By);
    if (M == Mode::Linear)
      At = std::max(At, 0.0);
    auto Low = static_cast<int64_t>(std::floor(At));
    double F = At - double(Low);
    double Linear[] = {1 - F, F},
           Cubic[] = {cubic(F + 1, Sharp), cubic(F, Sharp), cubic(1 - F, Sharp),
                      cubic(2 - F, Sharp)};
    for (size_t T = 0; T < Taps; ++T) {
      int64_t Place = Low + static_cast<int64_t>(T) - (Taps == 4 ? 1 : 0);
      Places[T].push_back(std::clamp<int64_t>(Place, 0, In - 1));
      Weights[T].push_back(Taps == 4 ? Cubic[T] : Linear[T]);
    }
  }
  if (Taps == 1)
    return N.gather(X, N.intVector(Places[0], N.i64()), Axis);
  return weighted(N, X, Axis, Places, Weights);
}

Value antialiased(NodeImport &N, Value X, int64_t Axis, const Expr &Out,
                  const Scaling &S, Mode M) {
  Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
  std::optional<int64_t> In = Size.asConstant(), Count = Out.asConstant();
  if (!In || !Count || *In < 1 || *Count < 1 || *Count > LongestAxis)
    return N.unsupported("resizes " + Size.str() + " elements of an axis to " +
                         Out.str() +
                         " with antialias; kpc takes sizes that "
                         "are known, up to " +
                         std::to_string(LongestAxis));
  double By = S.step(*In, *Count), Stretch = std::max(By, 1.0);
  double Reach = (M == Mode::Cubic ? 2 : 1) * Stretch;
  auto Taps = static_cast<int64_t>(std::ceil(Reach)) * 2 + 1;
  if (Taps > MostTaps)
    return N.unsupported("a result of antialias made of more than 1024 "
                         "elements");
  std::vector<std::vector<int64_t>> Places;
  std::vector<std::vector<double>> Weights;
  for (int64_t I = 0; I < *Count; ++I) {
    double Centre = By * (double(I) + 0.5);
    int64_t From = std::max<int64_t>(int64_t(Centre - Reach + 0.5), 0),
            To = std::min<int64_t>(int64_t(Centre + Reach + 0.5), *In);
    double Sum = 0;
    auto Weight = [&](int64_t At) {
      double Distance = std::abs((double(At) - Centre + 0.5) / Stretch);
      return M == Mode::Cubic ? cubic(Distance, Soft)
                              : std::max(1 - Distance, 0.0);
    };
    for (int64_t At = From; At < To; ++At)
      Sum += Weight(At);
    for (int64_t T = 0; T < Taps && From + T < To; ++T) {
      auto Row = static_cast<size_t>(T);
      if (Row == Places.size()) {
        Places.emplace_back(*Count, 0);
        Weights.emplace_back(*Count, 0.0);
      }
      Places[Row][static_cast<size_t>(I)] = From + T;
      Weights[Row][static_cast<size_t>(I)] =
          Sum == 0 ? 0 : Weight(From + T) / Sum;
    }
  }
  if (Places.empty())
    return N.unsupported("resizes with antialias to nothing");
  return weighted(N, X, Axis, Places, Weights);
}

//===----------------------------------------------------------------------===//
// Computed when the model runs
//===----------------------------------------------------------------------===//

/// Keys' cubic at distances of 0 to 1, and of 1 to 2.
static Value cubicNear(NodeImport &N, Value V) {
  Value Y = N.addScalar(N.mulScalar(V, Sharp + 2), -(Sharp + 3));
  return N.addScalar(N.mul(N.mul(Y, V), V), 1);
}
static Value cubicFar(NodeImport &N, Value V) {
  Value Y = N.addScalar(N.mulScalar(V, Sharp), -5 * Sharp);
  return N.addScalar(N.mul(N.addScalar(N.mul(Y, V), 8 * Sharp), V), -4 * Sharp);
}

Value scaledBySizes(NodeImport &N, Value X, int64_t Axis, const Expr &Out,
                    const Scaling &S, Mode M) {
  if (!X)
    return {};
  Expr In = N.dims(X)[static_cast<size_t>(Axis)];
  Value I = N.iota({Out}, 0, N.f32()), Size = N.sizeScalar(In, N.f32()),
        Count = N.sizeScalar(Out, N.f32());
  // PyTorch computes in f32 as well.
  Value By;
  if (S.AlignCorners)
    By = N.div(N.addScalar(Size, -1),
               N.max(N.addScalar(Count, -1), N.scalar(1, N.f32())));
  else
    By = S.Step > 0 ? N.scalar(S.Step, N.f32()) : N.div(Size, Count);
  Value Last = N.sizeScalar(In - 1, N.i64());
  auto Read = [&](Value Place) {
    Place = N.min(N.max(N.cast(Place, N.i64()), N.scalarInt(0, N.i64())), Last);
    return N.gather(X, Place, Axis);
  };
  if (M == Mode::Nearest)
    return Read(N.unary<FloorOp>(N.mul(I, By)));
  Value Half = N.mul(N.addScalar(I, 0.5), By);
  if (M == Mode::NearestExact)
    return Read(N.unary<FloorOp>(Half));
  Value At = S.AlignCorners ? N.mul(I, By) : N.addScalar(Half, -0.5);
  if (M == Mode::Linear)
    At = N.max(At, N.scalar(0, N.f32()));
  Value Low = N.unary<FloorOp>(At);
  Value F = N.sub(At, Low);
  Value Rest = N.sub(N.scalar(1, N.f32()), F);
  SmallVector<Value> Weights;
  if (M == Mode::Linear)
    Weights = {Rest, F};
  else
    Weights = {cubicFar(N, N.addScalar(F, 1)), cubicNear(N, F),
               cubicNear(N, Rest), cubicFar(N, N.addScalar(Rest, 1))};
  Dims Along(N.dims(X).size(), Expr(1));
  Along[static_cast<size_t>(Axis)] = Out;
  Value Sum;
  for (size_t T = 0; T < Weights.size(); ++T) {
    double Offset = static_cast<double>(T) - (Weights.size() == 4 ? 1 : 0);
    Value Tap = N.mul(Read(N.addScalar(Low, Offset)),
                      N.reshape(N.cast(Weights[T], N.element(X)), Along));
    Sum = Sum ? N.add(Sum, Tap) : Tap;
  }
  return Sum;
}

} // namespace kpc::torch
