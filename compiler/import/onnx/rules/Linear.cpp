//===- Linear.cpp - Import of determinants and Fourier transforms ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Fourier.h"
#include "compiler/import/Matrices.h"
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/ChosenAxes.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

//===----------------------------------------------------------------------===//
// Det
//===----------------------------------------------------------------------===//

namespace {
/// Matrices as one batch, [R, n, n] in f32 or f64.
struct Square {
  Value X;
  Dims Sizes; ///< as given
  Expr Batch = Expr(1), Rows;
  Type Stored;
};
} // namespace

static std::optional<Square> squareInput(NodeImport &N) {
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return std::nullopt;
  Square S;
  S.Sizes = Dims(N.dims(X));
  size_t Rank = S.Sizes.size();
  bool IsSquare = Rank >= 2 && N.unify(S.Sizes[Rank - 2], S.Sizes[Rank - 1]);
  int64_t Known = IsSquare ? S.Sizes.back().asConstant().value_or(1) : 0;
  if (Known < 1 || Known > frontend::LargestElimination) {
    N.fail(Code::ImportShape,
           "input 0 is " + dimsText(S.Sizes) + ", but should hold square " +
               "matrices of 1 to " +
               std::to_string(frontend::LargestElimination) + " rows");
    return std::nullopt;
  }
  S.Rows = N.current(S.Sizes.back());
  for (const Expr &E : llvm::drop_end(S.Sizes, 2))
    S.Batch = S.Batch * E;
  S.Stored = N.element(X);
  Type Wide = S.Stored.isF64() ? S.Stored : N.f32();
  S.X = N.reshape(N.cast(X, Wide), {S.Batch, S.Rows, S.Rows});
  return S.X ? std::optional(S) : std::nullopt;
}

static void importDet(NodeImport &N) {
  std::optional<Square> S = squareInput(N);
  if (!S)
    return;
  Dims Batch(ArrayRef<Expr>(S->Sizes).drop_back(2));
  std::optional<int64_t> Size = S->Rows.asConstant();
  if (Size && *Size <= frontend::LargestDeterminant) {
    Value Y = frontend::determinant(N, S->X);
    N.result(0, N.cast(N.reshape(Y, Batch), S->Stored));
    return;
  }
  // The product of the pivots of an elimination.
  Value One = N.full(1, {S->Batch, Expr(1), Expr(1)}, N.element(S->X));
  auto Results = N.importer().loop(
      N, S->Rows, {S->X, One}, {},
      [&](const Expr &Step,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
        Value Pivot, Next = frontend::eliminate(N, Carried[0], Step, &Pivot);
        if (!Next || !Pivot)
          return std::nullopt;
        // Without a pivot the determinant is 0, and what follows does not
        // count.
        Value Singular = N.compare(Predicate::eq, Pivot, N.like(0, Pivot));
        Next = N.select(Singular, Carried[0], Next);
        Value Product = N.mul(Carried[1], Pivot);
        if (!Next || !Product)
          return std::nullopt;
        return SmallVector<Value>{Next, Product};
      });
  if (!Results)
    return N.result(0, Value());
  N.result(0, N.cast(N.reshape((*Results)[1], Batch), S->Stored));
}

//===----------------------------------------------------------------------===//
// Inverse
//===----------------------------------------------------------------------===//

static void importInverse(NodeImport &N) {
  std::optional<Square> S = squareInput(N);
  if (!S)
    return;
  Value Place = N.iota({Expr(1), S->Rows, Expr(1)}, 1, N.i64());
  Value Across = N.iota({Expr(1), Expr(1), S->Rows}, 2, N.i64());
  Value Unit = N.cast(N.compare(Predicate::eq, Place, Across), N.element(S->X));
  if (!Unit)
    return N.result(0, Value());
  Value A =
      N.concat({S->X, N.broadcast(Unit, {S->Batch, S->Rows, S->Rows})}, 2);
  auto Results = N.importer().loop(
      N, S->Rows, {A}, {},
      [&](const Expr &Step,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
        Value Next = frontend::eliminate(N, Carried[0], Step);
        if (!Next)
          return std::nullopt;
        return SmallVector<Value>{Next};
      });
  if (!Results)
    return N.result(0, Value());
  Value Y = N.sliceAxis(Results->front(), 2, S->Rows, S->Rows);
  N.result(0, N.cast(N.reshape(Y, S->Sizes), S->Stored));
}

//===----------------------------------------------------------------------===//
// DFT, STFT
//===----------------------------------------------------------------------===//

/// The transform of [..., Length, 1 or 2] along the axis before the last.
static Value transform(NodeImport &N, Value X, int64_t Length, int64_t Bins,
                       bool Inverse) {
  bool IsComplex = N.dims(X).back() == Expr(2);
  if (!IsComplex)
    X = N.reshape(X, N.dims(X).drop_back());
  return frontend::fourier(N, X, IsComplex, Bins, Inverse,
                           Inverse ? 1.0 / static_cast<double>(Length) : 1);
}

/// The real signal of `Length` elements, from the first half of its spectrum,
/// [..., Bins, 1 or 2].
static Value inverseOfOneSide(NodeImport &N, Value X, int64_t Bins,
                              int64_t Length) {
  int64_t Last = N.rank(X) - 1;
  if (N.dims(X).back() == Expr(1))
    X = N.concat({X, N.mulScalar(X, 0)}, Last);
  if (Bins > Length / 2 + 1)
    X = N.sliceAxis(X, Last - 1, 0, Expr(Length / 2 + 1));
  return N.unsqueeze(
      frontend::realSignal(N, X, Length, 1.0 / static_cast<double>(Length)),
      {Last});
}

static bool plausible(NodeImport &N, const Expr &Length) {
  if (frontend::isTransformable(Length))
    return true;
  N.unsupported("a transform of length " + Length.str() + "; kpc takes 1 to " +
                std::to_string(frontend::LongestTransform));
  return false;
}

/// The transform along one axis; null after a report.
static Value transformAlong(NodeImport &N, Value X, int64_t Axis, bool Inverse,
                            bool OneSided) {
  int64_t Last = N.rank(X) - 1;
  Ints Perm = llvm::to_vector(llvm::seq<int64_t>(0, Last + 1));
  std::swap(Perm[static_cast<size_t>(Axis)],
            Perm[static_cast<size_t>(Last) - 1]);
  X = N.transpose(X, Perm);
  int64_t Signal = 0;
  if (N.hasInput(1)) {
    std::optional<std::vector<int64_t>> Length = N.knownInts(1, "dft_length");
    std::optional<int64_t> Have =
        N.dims(X)[static_cast<size_t>(Last) - 1].asConstant();
    if (!Length || Length->size() != 1 || !Have)
      return N.unsupported("a dft_length on a size known only at run time");
    Signal = Length->front();
    if (Signal < 1)
      return N.fail(Code::ImportAttributeValue, "dft_length is " +
                                                    std::to_string(Signal) +
                                                    ", expected 1 or more");
    int64_t Bins = Inverse && OneSided ? Signal / 2 + 1 : Signal;
    Ints None(static_cast<size_t>(Last) + 1, 0), High = None;
    High[static_cast<size_t>(Last) - 1] = Bins - *Have;
    X = N.pad(X, N.like(0, X), None, High, None);
  }
  if (!X)
    return {};
  Expr Length = N.dims(X)[static_cast<size_t>(Last) - 1];
  if (!plausible(N, Length))
    return {};
  int64_t L = *Length.asConstant();
  if (Inverse && OneSided) {
    Signal = Signal ? Signal : 2 * (L - 1);
    if (!plausible(N, Signal))
      return {};
    return N.transpose(inverseOfOneSide(N, X, L, Signal), Perm);
  }
  int64_t Bins = OneSided ? L / 2 + 1 : L;
  return N.transpose(transform(N, X, L, Bins, Inverse), Perm);
}

/// The axes that lead to the declared sizes; none if the model declares none.
static std::optional<SmallVector<Ints>> possibleDftAxes(NodeImport &N, Value X,
                                                        bool OneSided) {
  std::optional<Dims> Declared = N.declaredSizes(0);
  if (!Declared || N.hasInput(1))
    return std::nullopt;
  SmallVector<Ints> Choices;
  for (int64_t Axis = 0; Axis + 1 < N.rank(X); ++Axis) {
    Dims Sizes(N.dims(X));
    Expr &Size = Sizes[static_cast<size_t>(Axis)];
    Size = OneSided ? Size.floorDiv(2) + 1 : Size;
    Sizes.back() = Expr(2);
    if (Sizes == *Declared)
      Choices.push_back({Axis});
  }
  if (Choices.empty() || Choices.size() > MostChosenAxes)
    return std::nullopt;
  return Choices;
}

static void importDft(NodeImport &N) {
  bool Inverse = N.flagAttribute("inverse");
  bool OneSided = N.flagAttribute("onesided");
  int64_t Axis = N.opset() < 20 ? N.intAttribute("axis", 1) : -2;
  Value X = N.input(0);
  if (N.bad())
    return;
  std::optional<SmallVector<Ints>> Choices;
  if (N.opset() >= 20 && N.hasInput(2)) {
    if (!N.contents(2) && !(Inverse && OneSided))
      Choices = possibleDftAxes(N, X, OneSided);
    std::optional<std::vector<int64_t>> Given =
        Choices ? std::optional(std::vector<int64_t>{Choices->front().front()})
                : N.knownInts(2, "axis");
    if (!Given || Given->size() != 1)
      return;
    Axis = Given->front();
  }
  Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad())
    return;
  Expr Parts = N.dims(X).back();
  if (Axis == N.rank(X) - 1 || (Parts != Expr(1) && Parts != Expr(2))) {
    N.fail(Code::ImportShape,
           dimsText(N.dims(X)) + " does not end in real and imaginary parts");
    return;
  }
  if (!Choices)
    Choices = SmallVector<Ints>{{Axis}};
  N.result(0,
           chosenByAxes(N, 2, N.rank(X), *Choices, [&](ArrayRef<int64_t> Axes) {
             return transformAlong(N, X, Axes[0], Inverse, OneSided);
           }));
}

static void importStft(NodeImport &N) {
  bool OneSided = N.flagAttribute("onesided", true);
  N.expectInputs(2, 4);
  Value X = N.input(0), Window = N.optionalInput(2);
  std::optional<std::vector<Expr>> Step = N.knownSizes(1, "frame_step");
  if (N.bad())
    return;
  if (Window && N.rank(Window) != 1) {
    N.fail(Code::ImportRank, "the window should have rank 1, but has " +
                                 std::to_string(N.rank(Window)));
    return;
  }
  // [batch, signal, 1 or 2]
  if (N.rank(X) == 2)
    X = N.unsqueeze(X, {2});
  Expr Length = Window ? N.dims(Window)[0] : Expr(0);
  if (N.hasInput(3)) {
    std::optional<std::vector<int64_t>> Given = N.knownInts(3, "frame_length");
    if (!Given || Given->size() != 1)
      return;
    Length = Expr(Given->front());
  }
  if (!X || N.rank(X) != 3 || Step->size() != 1 ||
      !N.importer().require(1, false, Step->front(), "moves by a frame_step",
                            N)) {
    N.fail(Code::ImportShape,
           "needs a signal of rank 2 or 3 and a positive frame_step");
    return;
  }
  if (!plausible(N, Length))
    return;
  int64_t L = *Length.asConstant();
  Expr By = N.importer().facts().simplify(Expr::max(Step->front(), 1));
  Expr Frames = (N.dims(X)[1] - L).floorDiv(By) + 1;
  Dims Grid = {Frames, Expr(L)};
  Value Index = N.add(
      N.mul(N.iota(Grid, 0, N.i64()), N.sizeScalar(Step->front(), N.i64())),
      N.iota(Grid, 1, N.i64()));
  Value Cut = N.gather(X, Index, 1);
  if (Window)
    Cut =
        N.mul(Cut, N.reshape(N.cast(Window, N.element(X)), {Expr(L), Expr(1)}));
  if (!Cut)
    return N.result(0, Cut);
  N.result(0, transform(N, Cut, L, OneSided ? L / 2 + 1 : L, false));
}

/// ONNX Runtime's own: transforms of reals over the last axes, of which the
/// last is halved, without a factor; and back, over all elements.
template <bool Inverse> static void importRealTransform(NodeImport &N) {
  int64_t Axes = N.requiredInt("signal_ndim");
  bool OneSided = N.intAttribute("onesided", 1) != 0;
  bool Normal = N.intAttribute("normalized", 0) != 0;
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  int64_t Rank = N.rank(X) - (Inverse ? 1 : 0);
  if (Axes < 1 || Axes > 3 || Axes > Rank || !OneSided || Normal ||
      (Inverse && N.dims(X).back() != Expr(2))) {
    N.unsupported("transforms over " + std::to_string(Axes) + " axes of " +
                  typeText(X.getType()) +
                  "; kpc has one-sided ones without a norm over one to three");
    return;
  }
  // A complex transform over `Axis` of [..., 2], in its place.
  auto Along = [&](Value V, int64_t Axis) -> Value {
    const Expr &Length = N.dims(V)[static_cast<size_t>(Axis)];
    if (!plausible(N, Length))
      return {};
    int64_t L = *Length.asConstant();
    Ints Perm = llvm::to_vector(llvm::seq<int64_t>(0, N.rank(V)));
    std::swap(Perm[static_cast<size_t>(Axis)], Perm[Perm.size() - 2]);
    V = frontend::fourier(N, N.transpose(V, Perm), /*IsComplex=*/true, L,
                          Inverse, Inverse ? 1.0 / static_cast<double>(L) : 1);
    return N.transpose(V, Perm);
  };
  auto Last = static_cast<size_t>(Rank - 1);
  Expr Length = Inverse ? (N.dims(X)[Last] - 1) * 2 : N.dims(X)[Last];
  if (!plausible(N, Length))
    return;
  int64_t L = *Length.asConstant();
  if (!Inverse)
    X = frontend::fourier(N, X, /*IsComplex=*/false, L / 2 + 1,
                          /*Inverse=*/false, 1);
  for (int64_t I = 1; I < Axes && X; ++I)
    X = Along(X, Rank - 1 - I);
  if (Inverse)
    X = frontend::realSignal(N, X, L, 1.0 / static_cast<double>(L));
  N.result(0, X);
}

ArrayRef<Rule> linearRules() {
  static const Rule Rows[] = {
      {"", "Det", 11, Newest, importDet, "matrices of up to 1,024 rows"},
      {"com.microsoft", "Inverse", 1, 1, importInverse,
       "matrices of up to 1,024 rows"},
      {"com.microsoft", "Rfft", 1, 1, importRealTransform<false>,
       "known lengths of up to 1,048,576, one-sided, over up to three axes"},
      {"com.microsoft", "Irfft", 1, 1, importRealTransform<true>,
       "known lengths of up to 1,048,576, one-sided, over up to three axes"},
      {"", "DFT", 17, Newest, importDft,
       "lengths of up to 1,048,576, known when compiling"},
      {"", "STFT", 17, Newest, importStft,
       "lengths of up to 1,048,576, known when compiling; the step may be an "
       "input"},
  };
  return Rows;
}

} // namespace kpc::onnx
