//===- Resize.cpp - Import of upsampling and sampling ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Sampling.h"
#include "compiler/import/torch/Rules.h"
#include "compiler/import/torch/rules/ResizeAxis.h"

using namespace kpc::graph;

namespace kpc::torch {

/// Each element several times, for sizes known only at run time.
static Value repeated(NodeImport &N, Value X, int64_t Axis, int64_t Times) {
  Dims Wide(N.dims(X)), Joined(N.dims(X));
  auto At = static_cast<size_t>(Axis);
  Joined[At] = Joined[At] * Times;
  Wide.insert(Wide.begin() + Axis + 1, Expr(Times));
  return N.reshape(N.broadcast(N.unsqueeze(X, {Axis + 1}), Wide), Joined);
}

template <size_t Count, Mode M, bool Antialias = false>
static void upsample(NodeImport &N) {
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
    if (Antialias && Align)
      return (void)N.unsupported("antialias with align_corners");
    X = Antialias ? antialiased(N, X, Axis, Out, S, M)
        : In.asConstant() && Out.asConstant()
            ? scaled(N, X, Axis, *Out.asConstant(), S, M)
            : scaledBySizes(N, X, Axis, Out, S, M);
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
  constexpr std::string_view Known = "up to 16384 results along an axis that "
                                     "is known",
                             Numbers = "sizes must be known; no align_corners";
  static const Rule Rows[] = {
      {"_upsample_bicubic2d_aa.default", upsample<2, Mode::Cubic, true>,
       InPlace::No, Numbers},
      {"_upsample_bicubic2d_aa.vec", upsample<2, Mode::Cubic, true>,
       InPlace::No, Numbers},
      {"_upsample_bilinear2d_aa.default", upsample<2, Mode::Linear, true>,
       InPlace::No, Numbers},
      {"_upsample_bilinear2d_aa.vec", upsample<2, Mode::Linear, true>,
       InPlace::No, Numbers},
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
