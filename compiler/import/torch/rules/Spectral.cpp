//===- Spectral.cpp - Import of Fourier transforms ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Signals and spectra as two reals, and which axes are transformed how; the
/// transforms are those of ONNX.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/Fourier.h"
#include "compiler/import/torch/Complex.h"
#include "compiler/import/torch/Importer.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

static Value moveLast(NodeImport &N, Value X, int64_t Axis) {
  if (!X)
    return X;
  Ints Perm = llvm::to_vector<6>(llvm::seq<int64_t>(0, N.rank(X)));
  std::swap(Perm[static_cast<size_t>(Axis)], Perm.back());
  return N.transpose(X, Perm);
}

static Parts moveLast(NodeImport &N, const Parts &X, int64_t Axis) {
  return {moveLast(N, X.Real, Axis), moveLast(N, X.Imaginary, Axis)};
}

/// Cut or filled with zeros to `Length` along the last axis.
static Value fitted(NodeImport &N, Value X, int64_t Length) {
  std::optional<int64_t> Have =
      X ? N.dims(X).back().asConstant() : std::nullopt;
  if (!Have || *Have == Length)
    return X;
  Ints None(static_cast<size_t>(N.rank(X)), 0), High = None;
  High.back() = Length - *Have;
  return N.pad(X, N.like(0, X), None, High, None);
}

/// The transform of the last axis: `Bins` of `Length`, times `Scale`.
static Parts transform(NodeImport &N, const Parts &X, int64_t Bins,
                       bool Inverse, double Scale) {
  if (!X.Real)
    return {};
  Value Y = frontend::fourier(N, X.Imaginary ? pairsOf(N, X) : X.Real,
                              X.Imaginary != nullptr, Bins, Inverse, Scale);
  if (!Y)
    return {};
  int64_t Last = N.rank(Y) - 1;
  auto Part = [&](int64_t I) {
    return N.reshape(N.sliceAxis(Y, Last, I, 1), N.dims(Y).drop_back());
  };
  return {Part(0), Part(1)};
}

/// The real signal of `Length` from the first half of its spectrum: what is
/// left out mirrors what is there.
static Value realSignal(NodeImport &N, const Parts &X, int64_t Length,
                        double Scale) {
  int64_t Bins = Length / 2 + 1;
  Parts Half = {fitted(N, X.Real, Bins), fitted(N, X.Imaginary, Bins)};
  if (Half.Real && !Half.Imaginary)
    Half.Imaginary = N.full(0, N.dims(Half.Real), N.element(Half.Real));
  if (!Half.Real || !Half.Imaginary)
    return {};
  return frontend::realSignal(N, pairsOf(N, Half), Length, Scale);
}

/// What a transform is multiplied by: with no `norm` the inverse one by
/// 1 / length.
static std::optional<double> scaleOf(NodeImport &N, int64_t Length,
                                     bool Inverse) {
  std::string Norm = N.text("norm", "backward");
  if (Norm == "ortho")
    return 1 / std::sqrt(double(Length));
  if (Norm == "backward" || Norm == "forward")
    return Inverse == (Norm == "backward") ? 1 / double(Length) : 1.0;
  N.fail(Code::ImportAttributeValue, "norm is '" + printable(Norm) +
                                         "', expected backward, forward or "
                                         "ortho");
  return std::nullopt;
}

static bool plausible(NodeImport &N, const Expr &Length) {
  if (frontend::isTransformable(Length))
    return true;
  N.unsupported("a transform of length " + Length.str() +
                "; kpc takes known "
                "lengths from 1 to " +
                std::to_string(frontend::LongestTransform));
  return false;
}

/// The operand in f32 or f64; 16-bit floats have no spectra in PyTorch either.
static Parts signal(NodeImport &N) {
  Parts X = complexParts(N, "self");
  if (X.Real && !X.Imaginary)
    X.Real = N.asFloat(X.Real);
  if (X.Real && N.rank(X.Real) == 0)
    N.fail(Code::ImportRank, "transforms a scalar");
  return N.bad() ? Parts() : X;
}

enum class Kind { OfReal, ToReal, Complex };

/// One axis of X, in its place.
template <Kind K, bool Inverse>
static Parts along(NodeImport &N, Parts X, int64_t Axis,
                   std::optional<int64_t> Wanted, bool Last) {
  if (!X.Real)
    return {};
  X = moveLast(N, X, Axis);
  Expr Have = N.dims(X.Real).back();
  Expr Length = Wanted                      ? Expr(*Wanted)
                : K == Kind::ToReal && Last ? (Have - 1) * 2
                                            : Have;
  if (!plausible(N, Length) ||
      (Wanted && !Have.asConstant() && !plausible(N, Have)))
    return {};
  int64_t L = *Length.asConstant();
  std::optional<double> Scale = scaleOf(N, L, Inverse);
  if (!Scale)
    return {};
  if (K == Kind::ToReal && Last)
    return moveLast(N, Parts{realSignal(N, X, L, *Scale), {}}, Axis);
  X = {fitted(N, X.Real, L), fitted(N, X.Imaginary, L)};
  int64_t Bins = K == Kind::OfReal && Last ? L / 2 + 1 : L;
  return moveLast(N, transform(N, X, Bins, Inverse, *Scale), Axis);
}

static void give(NodeImport &N, const Parts &Y, bool Complex) {
  N.result(Complex ? pairsOf(N, Y) : Y.Real);
}

template <Kind K, bool Inverse> static void fft(NodeImport &N) {
  Parts X = signal(N);
  if (!X.Real)
    return N.give();
  int64_t Axis = N.axis(N.integer("dim", -1), N.rank(X.Real));
  std::optional<int64_t> Wanted;
  if (N.has("n"))
    Wanted = N.integer("n", 1);
  if (N.bad())
    return;
  give(N, along<K, Inverse>(N, X, Axis, Wanted, true), K != Kind::ToReal);
}

/// Several axes: the last one is the halved one.
template <Kind K, bool Inverse, int Default>
static void fftMany(NodeImport &N) {
  Parts X = signal(N);
  if (!X.Real)
    return N.give();
  int64_t Rank = N.rank(X.Real);
  Ints Axes = N.integers("dim", {}), Sizes = N.integers("s", {});
  if (Axes.empty() && Default > 0)
    Axes = {-2, -1};
  // Without axes the last ones, as many as there are sizes, else all.
  if (Axes.empty())
    for (int64_t I = -(Sizes.empty() ? Rank : int64_t(Sizes.size())); I < 0;
         ++I)
      Axes.push_back(I);
  for (int64_t &A : Axes)
    A = N.axis(A, Rank);
  if (N.bad() || Axes.empty() ||
      (!Sizes.empty() && Sizes.size() != Axes.size()))
    return N.give();
  auto Step = [&](size_t I) {
    std::optional<int64_t> Wanted;
    if (!Sizes.empty() && Sizes[I] > 0)
      Wanted = Sizes[I];
    X = along<K, Inverse>(N, X, Axes[I], Wanted, I + 1 == Axes.size());
  };
  // Of reals the halved axis is first, to reals it is last.
  if (K == Kind::OfReal)
    for (size_t I = Axes.size(); I-- > 0;)
      Step(I);
  else
    for (size_t I = 0; I < Axes.size(); ++I)
      Step(I);
  give(N, X, K != Kind::ToReal);
}

/// What decompositions leave: 0 no factor, 1 a root of the sizes, 2 the sizes.
template <Kind K> static void fftCore(NodeImport &N) {
  Parts X = signal(N);
  if (!X.Real)
    return N.give();
  Ints Axes = N.integers("dim", {});
  int64_t Norm = N.integer("normalization", 0);
  bool Inverse =
      K == Kind::ToReal || (K == Kind::Complex && !N.flag("forward", true));
  bool Half = K == Kind::OfReal && N.flag("onesided", true);
  for (size_t I = 0; I < Axes.size(); ++I) {
    // The halved axis is the last one; of reals it is transformed first.
    size_t At = K == Kind::OfReal ? Axes.size() - 1 - I : I;
    bool Last = At + 1 == Axes.size();
    int64_t Axis = N.axis(Axes[At], N.rank(X.Real));
    if (N.bad())
      return;
    X = moveLast(N, X, Axis);
    Expr Length = K == Kind::ToReal && Last
                      ? Expr(N.integer("last_dim_size", 1))
                      : N.dims(X.Real).back();
    if (!plausible(N, Length))
      return;
    int64_t L = *Length.asConstant();
    double Scale = Norm == 0   ? 1
                   : Norm == 1 ? 1 / std::sqrt(double(L))
                               : 1 / double(L);
    if (K == Kind::ToReal && Last)
      X = {realSignal(N, X, L, Scale), {}};
    else
      X = transform(N, X, Half && Last ? L / 2 + 1 : L, Inverse, Scale);
    X = moveLast(N, X, Axis);
    if (!X.Real)
      return N.give();
  }
  give(N, X, K != Kind::ToReal);
}

//===----------------------------------------------------------------------===//
// Short-time transforms
//===----------------------------------------------------------------------===//

/// A window of `Length`, with zeros on both sides of a shorter one.
static Value windowOf(NodeImport &N, int64_t Length, int64_t Given, Type T) {
  Value W = N.optionalTensor("window");
  W = W ? N.cast(W, T) : N.full(1, {Expr(Given)}, T);
  int64_t Left = (Length - Given) / 2;
  if (Given == Length || !W)
    return W;
  return N.pad(W, N.like(0, W), {Left}, {Length - Given - Left}, {0});
}

/// Elements beyond both ends, mirrored or filled as the mode says.
static Value centred(NodeImport &N, Value X, int64_t By, llvm::StringRef Mode) {
  Expr Size = N.dims(X).back();
  int64_t Axis = N.rank(X) - 1;
  if (Mode == "constant" || Mode == "replicate") {
    Ints None(static_cast<size_t>(N.rank(X)), 0), Pads = None;
    Pads.back() = By;
    if (Mode == "constant")
      return N.pad(X, N.like(0, X), Pads, Pads, None);
    Dims Wide(N.dims(X));
    Wide.back() = Expr(By);
    return N.concat({N.broadcast(N.sliceAxis(X, Axis, 0, 1), Wide), X,
                     N.broadcast(N.sliceAxis(X, Axis, Size - 1, 1), Wide)},
                    Axis);
  }
  return N.concat({N.reverse(N.sliceAxis(X, Axis, 1, By), Axis), X,
                   N.reverse(N.sliceAxis(X, Axis, Size - 1 - By, By), Axis)},
                  Axis);
}

static void shortTime(NodeImport &N) {
  Value X = N.tensor("self");
  int64_t L = N.integer("n_fft", 1);
  int64_t Hop = N.integer("hop_length", std::max<int64_t>(L / 4, 1)),
          Given = N.integer("win_length", L);
  bool Half = N.flag("onesided", true), Normal = N.flag("normalized", false);
  if (!X || N.bad() || !plausible(N, Expr(L)))
    return N.give();
  if (N.importer().isComplex(N, "self") || Hop < 1 || Given < 1 || Given > L ||
      N.rank(X) < 1 || N.rank(X) > 2)
    return (void)N.unsupported("a short-time transform of other than real "
                               "signals, [length] or [batch, length]");
  bool Alone = N.rank(X) == 1;
  if (Alone)
    X = N.unsqueeze(X, {0});
  if (N.flag("center", false))
    X = centred(N, X, L / 2, N.text("pad_mode", "reflect"));
  if (!X)
    return N.give();
  Expr Frames =
      N.importer().facts().simplify((N.dims(X)[1] - L).floorDiv(Expr(Hop)) + 1);
  Dims Grid = {Frames, Expr(L)};
  Value Index =
      N.add(N.mul(N.iota(Grid, 0, N.i64()), N.scalarInt(Hop, N.i64())),
            N.iota(Grid, 1, N.i64()));
  Value Cut = N.mul(N.gather(X, Index, 1), windowOf(N, L, Given, N.element(X)));
  Parts Y = transform(N, {Cut, {}}, Half ? L / 2 + 1 : L, false,
                      Normal ? 1 / std::sqrt(double(L)) : 1);
  // [batch, frames, bins] to [batch, bins, frames].
  for (Value *V : {&Y.Real, &Y.Imaginary}) {
    *V = *V ? N.transpose(*V, {0, 2, 1}) : *V;
    if (*V && Alone)
      *V = N.reshape(*V, N.dims(*V).drop_front());
  }
  N.result(pairsOf(N, Y));
}

/// Frames added up where they overlap, over the sum of the windows' squares.
static void inverseShortTime(NodeImport &N) {
  Parts X = complexParts(N, "self");
  int64_t L = N.integer("n_fft", 1);
  int64_t Hop = N.integer("hop_length", std::max<int64_t>(L / 4, 1)),
          Given = N.integer("win_length", L);
  bool Half = N.flag("onesided", true), Normal = N.flag("normalized", false),
       Centre = N.flag("center", true);
  if (!X.Real || !X.Imaginary || N.bad() || !plausible(N, Expr(L)))
    return N.give();
  bool Alone = N.rank(X.Real) == 2;
  std::optional<int64_t> Frames = N.dims(X.Real).back().asConstant();
  if (N.flag("return_complex", false) || N.rank(X.Real) < 2 ||
      N.rank(X.Real) > 3 || !Frames || Hop < 1 || Hop > L || *Frames < 1)
    return (void)N.unsupported(
        "an inverse short-time transform of other than a known number of "
        "frames to a real signal");
  for (Value *V : {&X.Real, &X.Imaginary}) {
    if (Alone)
      *V = N.unsqueeze(*V, {0});
    *V = N.transpose(*V, {0, 2, 1});
  }
  double Scale = Normal ? 1 / std::sqrt(double(L)) : 1 / double(L);
  Value Y =
      Half ? realSignal(N, X, L, Scale) : transform(N, X, L, true, Scale).Real;
  Value W = Y ? windowOf(N, L, Given, N.element(Y)) : Y;
  Y = N.mul(Y, W);
  if (!Y)
    return N.give();
  Expr Batch = N.dims(Y)[0];
  int64_t Whole = L + Hop * (*Frames - 1);
  // Frame f begins at f hops: [batch, frames, L] into [batch, whole].
  auto Overlap = [&](Value V, const Expr &Rows) {
    Value At = N.add(N.mul(N.iota({Expr(*Frames), Expr(L)}, 0, N.i64()),
                           N.scalarInt(Hop, N.i64())),
                     N.iota({Expr(*Frames), Expr(L)}, 1, N.i64()));
    Dims Flat = {Rows, Expr(*Frames * L)};
    At = N.broadcast(N.reshape(At, {Expr(1), Expr(*Frames * L)}), Flat);
    mlir::Builder &B = N.builder();
    return N.build(
        ScatterElementsOp::getOperationName(),
        {N.full(0, {Rows, Expr(Whole)}, N.element(V)), At, N.reshape(V, Flat)},
        {B.getNamedAttr("kind",
                        ScatterKindAttr::get(B.getContext(), ScatterKind::add)),
         N.intAttr("axis", 1)});
  };
  Value Squares =
      N.broadcast(N.reshape(N.mul(W, W), {Expr(1), Expr(1), Expr(L)}),
                  {Expr(1), Expr(*Frames), Expr(L)});
  Value Sum = Overlap(Y, Batch), Weight = Overlap(Squares, Expr(1));
  int64_t Start = Centre ? L / 2 : 0;
  int64_t Count = N.has("length") ? N.integer("length", 1)
                  : Centre        ? Whole - L / 2 * 2
                                  : Whole;
  int64_t Held = std::min(Count, Whole - Start);
  if (N.bad() || Held < 1)
    return N.give();
  Y = N.div(N.sliceAxis(Sum, 1, Start, Expr(Held)),
            N.sliceAxis(Weight, 1, Start, Expr(Held)));
  Y = fitted(N, Y, Count);
  N.result(Alone && Y ? N.reshape(Y, N.dims(Y).drop_front()) : Y);
}

std::optional<ComplexRule> spectralRule(std::string_view Target) {
  for (const Rule &R : spectralRules())
    if (R.Target == Target) {
      llvm::StringRef Name(Target);
      bool ToReal = Name.starts_with("fft_irfft") ||
                    Name.starts_with("istft") || Name.starts_with("_fft_c2r");
      return ComplexRule{R.Import, !ToReal, !ToReal};
    }
  return std::nullopt;
}

ArrayRef<Rule> spectralRules() {
  static constexpr std::string_view Known =
      "known lengths of up to 1,048,576; complex numbers are pairs of reals";
  static const Rule Rows[] = {
      {"_fft_c2c.default", fftCore<Kind::Complex>, InPlace::No, Known},
      {"_fft_c2r.default", fftCore<Kind::ToReal>, InPlace::No, Known},
      {"_fft_r2c.default", fftCore<Kind::OfReal>, InPlace::No, Known},
      {"fft_fft.default", fft<Kind::Complex, false>, InPlace::No, Known},
      {"fft_fft2.default", fftMany<Kind::Complex, false, 2>, InPlace::No,
       Known},
      {"fft_fftn.default", fftMany<Kind::Complex, false, 0>, InPlace::No,
       Known},
      {"fft_ifft.default", fft<Kind::Complex, true>, InPlace::No, Known},
      {"fft_ifft2.default", fftMany<Kind::Complex, true, 2>, InPlace::No,
       Known},
      {"fft_ifftn.default", fftMany<Kind::Complex, true, 0>, InPlace::No,
       Known},
      {"fft_irfft.default", fft<Kind::ToReal, true>, InPlace::No, Known},
      {"fft_irfft2.default", fftMany<Kind::ToReal, true, 2>, InPlace::No,
       Known},
      {"fft_irfftn.default", fftMany<Kind::ToReal, true, 0>, InPlace::No,
       Known},
      {"fft_rfft.default", fft<Kind::OfReal, false>, InPlace::No, Known},
      {"fft_rfft2.default", fftMany<Kind::OfReal, false, 2>, InPlace::No,
       Known},
      {"fft_rfftn.default", fftMany<Kind::OfReal, false, 0>, InPlace::No,
       Known},
      {"istft.default", inverseShortTime, InPlace::No,
       "a known number of frames, to reals"},
      {"stft.center", shortTime, InPlace::No, Known},
      {"stft.default", shortTime, InPlace::No, Known},
  };
  return Rows;
}

} // namespace kpc::torch
