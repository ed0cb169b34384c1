//===- Resize.cpp - Import of upsampling and sampling ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
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

namespace {
/// Reads an image, channels last, at places in elements.
class Sampler {
public:
  Sampler(NodeImport &N, Value Image, bool Border)
      : N(N), Image(Image), Border(Border), Height(N.dims(Image)[1]),
        Width(N.dims(Image)[2]) {}

  Value at(Value Row, Value Column) {
    Value R = inside(Row, Height), C = inside(Column, Width);
    Value Index =
        N.concat({last(N.cast(R, N.i64())), last(N.cast(C, N.i64()))}, 3);
    Value Y = N.build(GatherNdOp::getOperationName(), {Image, Index},
                      {N.intAttr("batch_dims", 1)});
    if (Border || !Y)
      return Y;
    Value Here = N.binary<AndOp>(N.compare(Predicate::eq, R, Row),
                                 N.compare(Predicate::eq, C, Column));
    return N.select(last(Here), Y, N.like(0, Y));
  }
  /// [N, H, W] to [N, H, W, 1]
  Value last(Value V) { return N.unsqueeze(V, {3}); }

private:
  Value inside(Value V, const Expr &Size) {
    Value Most = N.addScalar(N.sizeScalar(Size, N.element(V)), -1);
    return N.min(N.max(V, N.like(0, V)), Most);
  }
  NodeImport &N;
  Value Image;
  bool Border;
  Expr Height, Width;
};
} // namespace

static void gridSampler(NodeImport &N) {
  Value X = N.tensor("input"), Grid = N.tensor("grid");
  int64_t Mode = N.integer("interpolation_mode", 0),
          Pads = N.integer("padding_mode", 0);
  bool Align = N.flag("align_corners", false);
  if (N.bad())
    return;
  if (N.rank(X) != 4 || Mode > 1 || Pads > 1) {
    N.unsupported("samples with bicubic weights, reflection or three "
                  "dimensions");
    return;
  }
  Type Stored = N.element(X), Wide = N.wide(X);
  Value Image = N.transpose(N.cast(X, Wide), {0, 2, 3, 1});
  Grid = N.cast(Grid, Wide);
  if (!Image || !Grid)
    return;
  Dims Places(N.dims(Grid).drop_back());
  auto Place = [&](int64_t I, const Expr &Size) {
    Value V = N.reshape(N.sliceAxis(Grid, 3, I, 1), Places);
    Value Count = N.sizeScalar(Size, Wide);
    V = N.addScalar(V, 1);
    V = Align ? N.mulScalar(N.mul(V, N.addScalar(Count, -1)), 0.5)
              : N.mulScalar(N.addScalar(N.mul(V, Count), -1), 0.5);
    if (Pads == 1)
      V = N.min(N.max(V, N.like(0, V)), N.addScalar(Count, -1));
    return V;
  };
  Value Column = Place(0, N.dims(X)[3]), Row = Place(1, N.dims(X)[2]);
  if (!Column || !Row)
    return N.give();
  Sampler S(N, Image, Pads == 1);
  Value Y;
  if (Mode == 1) {
    Y = S.at(N.unary<RoundOp>(Row), N.unary<RoundOp>(Column));
  } else {
    Value Top = N.unary<FloorOp>(Row), Left = N.unary<FloorOp>(Column);
    Value Down = N.sub(Row, Top), Right = N.sub(Column, Left);
    for (int R = 0; R < 2; ++R)
      for (int C = 0; C < 2; ++C) {
        Value WeightR = R ? Down : N.sub(N.like(1, Down), Down);
        Value WeightC = C ? Right : N.sub(N.like(1, Right), Right);
        Value Tap = N.mul(S.at(N.addScalar(Top, R), N.addScalar(Left, C)),
                          S.last(N.mul(WeightR, WeightC)));
        Y = Y ? N.add(Y, Tap) : Tap;
      }
  }
  N.result(N.cast(N.transpose(Y, {0, 3, 1, 2}), Stored));
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
      {"grid_sampler.default", gridSampler, InPlace::No,
       "two dimensions, linear or nearest"},
      {"grid_sampler_2d.default", gridSampler, InPlace::No,
       "linear or nearest"},
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
