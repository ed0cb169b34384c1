//===- Resize.cpp - Import of upsampling and sampling ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Sampling.h"
#include "compiler/import/torch/Rules.h"

#include <algorithm>
#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

namespace {
/// How an axis is scaled.
struct Scaling {
  bool AlignCorners = false;
  /// Elements of the input for one of the result; 0: from the sizes.
  double Step = 0;

  double step(int64_t In, int64_t Out) const {
    if (AlignCorners)
      return Out > 1 ? double(In - 1) / double(Out - 1) : 0;
    return Step > 0 ? Step : double(In) / double(Out);
  }
  double source(int64_t I, double By) const {
    return AlignCorners ? double(I) * By : (double(I) + 0.5) * By - 0.5;
  }
};
enum class Mode { Nearest, NearestExact, Linear, Cubic };
} // namespace

/// Results of one axis as weighted taps of the input.
static Value scaled(NodeImport &N, Value X, int64_t Axis, int64_t Out,
                    const Scaling &S, Mode M) {
  std::optional<int64_t> Size =
      N.dims(X)[static_cast<size_t>(Axis)].asConstant();
  if (!Size || *Size < 1 || Out < 1 || Out > 16384)
    return N.unsupported("resizes a size that is known only at run time");
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
    // Keys' cubic with a = -0.75.
    constexpr double A = -0.75;
    auto Near = [](double V) { return ((A + 2) * V - (A + 3)) * V * V + 1; };
    auto Far = [](double V) {
      return ((A * V - 5 * A) * V + 8 * A) * V - 4 * A;
    };
    double Linear[] = {1 - F, F},
           Cubic[] = {Far(F + 1), Near(F), Near(1 - F), Far(2 - F)};
    for (size_t T = 0; T < Taps; ++T) {
      int64_t Place = Low + static_cast<int64_t>(T) - (Taps == 4 ? 1 : 0);
      Places[T].push_back(std::clamp<int64_t>(Place, 0, In - 1));
      Weights[T].push_back(Taps == 4 ? Cubic[T] : Linear[T]);
    }
  }
  Dims Along(N.dims(X).size(), Expr(1));
  Along[static_cast<size_t>(Axis)] = Expr(Out);
  Value Sum;
  for (size_t T = 0; T < Taps; ++T) {
    Value Tap = N.gather(X, N.intVector(Places[T], N.i64()), Axis);
    if (Taps > 1 && Tap)
      Tap =
          N.mul(Tap, N.reshape(N.floatVector(Weights[T], N.element(X)), Along));
    Sum = Sum ? N.add(Sum, Tap) : Tap;
  }
  return Sum;
}

/// Each element several times, for sizes known only at run time.
static Value repeated(NodeImport &N, Value X, int64_t Axis, int64_t Times) {
  Dims Wide(N.dims(X)), Joined(N.dims(X));
  auto At = static_cast<size_t>(Axis);
  Joined[At] = Joined[At] * Times;
  Wide.insert(Wide.begin() + Axis + 1, Expr(Times));
  return N.reshape(N.broadcast(N.unsqueeze(X, {Axis + 1}), Wide), Joined);
}

template <size_t Count, Mode M> static void upsample(NodeImport &N) {
  bool Vec = N.has("input");
  Value X = N.tensor(Vec ? "input" : "self");
  std::optional<Dims> Wanted = N.declaredSizes();
  if (!X || !Wanted || N.dims(X).size() != Count + 2)
    return N.give();
  bool Align = N.flag("align_corners", false);
  std::optional<std::vector<double>> Factors = N.reals("scale_factors");
  static constexpr std::string_view Names[3][3] = {
      {"scales"},
      {"scales_h", "scales_w"},
      {"scales_d", "scales_h", "scales_w"}};
  Type Stored = N.element(X);
  if (M == Mode::Linear || M == Mode::Cubic)
    X = N.cast(X, N.wide(X));
  for (size_t I = 0; I < Count && X; ++I) {
    auto Axis = static_cast<int64_t>(I + 2);
    double Factor = Factors && Factors->size() == Count ? (*Factors)[I]
                    : Vec ? 0
                          : N.real(Names[Count - 1][I], 0);
    Expr In = N.dims(X)[I + 2], Out = (*Wanted)[I + 2];
    auto Times = static_cast<int64_t>(Factor);
    if (In == Out && Factor <= 1)
      continue;
    if ((M == Mode::Nearest || M == Mode::NearestExact) && !In.asConstant() &&
        Factor == double(Times) && Times >= 1 && Times <= 64) {
      X = repeated(N, X, Axis, Times);
      continue;
    }
    Scaling S{Align, Factor > 0 ? 1 / Factor : 0};
    X = scaled(N, X, Axis, Out.asConstant().value_or(0), S, M);
  }
  N.result(N.cast(X, Stored));
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

/// theta [N, 2, 3] to places [N, H, W, 2].
static void affineGrid(NodeImport &N) {
  Value Theta = N.tensor("theta");
  Ints Size = N.integers("size", {});
  bool Align = N.flag("align_corners", false);
  if (N.bad() || Size.size() != 4)
    return (void)N.unsupported("a grid of other than two dimensions");
  Type T = N.element(Theta);
  auto Line = [&](int64_t Count) {
    std::vector<double> Values;
    for (int64_t I = 0; I < Count; ++I) {
      double Step = Align ? (Count > 1 ? 2.0 / double(Count - 1) : 0)
                          : 2.0 / double(Count);
      Values.push_back(Align ? (Count > 1 ? -1 + Step * double(I) : 0)
                             : -1 + Step * (double(I) + 0.5));
    }
    return N.floatVector(Values, T);
  };
  Expr H(Size[2]), W(Size[3]);
  Value X = N.broadcast(N.reshape(Line(Size[3]), {Expr(1), W}), {H, W});
  Value Y = N.broadcast(N.reshape(Line(Size[2]), {H, Expr(1)}), {H, W});
  Value Base = N.concat(
      {N.unsqueeze(X, {2}), N.unsqueeze(Y, {2}), N.full(1, {H, W, Expr(1)}, T)},
      2);
  Base = N.reshape(Base, {Expr(1), H * W, Expr(3)});
  Expr Batch = N.dims(Theta)[0];
  Value Places = N.matmul(N.broadcast(Base, {Batch, H * W, Expr(3)}),
                          N.transpose(Theta, {0, 2, 1}));
  N.result(N.reshape(Places, {Batch, H, W, Expr(2)}));
}

static void gridSampler(NodeImport &N) {
  Value X = N.tensor("input"), Grid = N.tensor("grid");
  int64_t Mode = N.integer("interpolation_mode", 0),
          Pads = N.integer("padding_mode", 0);
  frontend::Sampling S;
  S.AlignCorners = N.flag("align_corners", false);
  S.RoundsFirst = false;
  if (N.bad())
    return;
  int64_t Space = N.rank(X) - 2;
  if (Mode < 0 || Mode > 2 || Pads < 0 || Pads > 2 ||
      (Space != 2 && Space != 3) || N.rank(Grid) != N.rank(X) ||
      N.dims(Grid).back() != Expr(Space) ||
      llvm::is_contained(N.dims(X).drop_front(2), Expr(0)))
    return (void)N.unsupported("samples " + dimsText(N.dims(X)) +
                               " by a grid of " + dimsText(N.dims(Grid)) +
                               "; kpc samples two and three dimensions that "
                               "have elements");
  // Bilinear, nearest, bicubic; zeros, border, reflection.
  S.Mode = Mode == 1   ? frontend::SampleMode::Nearest
           : Mode == 2 ? frontend::SampleMode::Cubic
                       : frontend::SampleMode::Linear;
  S.Padding = Pads == 1   ? frontend::SamplePadding::Border
              : Pads == 2 ? frontend::SamplePadding::Reflection
                          : frontend::SamplePadding::Zeros;
  N.result(frontend::sampleGrid(N, X, Grid, S));
}

ArrayRef<Rule> resizeRules() {
  constexpr std::string_view Known =
      "sizes must be known, but for whole factors of nearest";
  static const Rule Rows[] = {
      {"_upsample_nearest_exact1d.vec", upsample<1, Mode::NearestExact>,
       InPlace::No, Known},
      {"_upsample_nearest_exact2d.default", upsample<2, Mode::NearestExact>,
       InPlace::No, Known},
      {"_upsample_nearest_exact2d.vec", upsample<2, Mode::NearestExact>,
       InPlace::No, Known},
      {"affine_grid_generator.default", affineGrid, InPlace::No,
       "two dimensions"},
      {"grid_sampler.default", gridSampler},
      {"grid_sampler_2d.default", gridSampler},
      {"grid_sampler_3d.default", gridSampler},
      {"upsample_bicubic2d.default", upsample<2, Mode::Cubic>, InPlace::No,
       Known},
      {"upsample_bicubic2d.vec", upsample<2, Mode::Cubic>, InPlace::No, Known},
      {"upsample_bilinear2d.default", upsample<2, Mode::Linear>, InPlace::No,
       Known},
      {"upsample_bilinear2d.vec", upsample<2, Mode::Linear>, InPlace::No,
       Known},
      {"upsample_linear1d.default", upsample<1, Mode::Linear>, InPlace::No,
       Known},
      {"upsample_linear1d.vec", upsample<1, Mode::Linear>, InPlace::No, Known},
      {"upsample_nearest1d.default", upsample<1, Mode::Nearest>, InPlace::No,
       Known},
      {"upsample_nearest1d.vec", upsample<1, Mode::Nearest>, InPlace::No,
       Known},
      {"upsample_nearest2d.default", upsample<2, Mode::Nearest>, InPlace::No,
       Known},
      {"upsample_nearest2d.vec", upsample<2, Mode::Nearest>, InPlace::No,
       Known},
      {"upsample_nearest3d.default", upsample<3, Mode::Nearest>, InPlace::No,
       Known},
      {"upsample_nearest3d.vec", upsample<3, Mode::Nearest>, InPlace::No,
       Known},
      {"upsample_trilinear3d.default", upsample<3, Mode::Linear>, InPlace::No,
       Known},
      {"upsample_trilinear3d.vec", upsample<3, Mode::Linear>, InPlace::No,
       Known},
  };
  return Rows;
}

} // namespace kpc::torch
