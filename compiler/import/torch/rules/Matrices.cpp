//===- Matrices.cpp - Import of determinants, inverses and distances ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Square matrices of a known size, norms and distances. Determinants of up to
/// four rows are written out; all else is an elimination with pivots, a step of
/// it an iteration of a loop.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/Matrices.h"
#include "compiler/import/torch/Rules.h"
#include "compiler/import/torch/rules/Factorizations.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

namespace {
/// Matrices as one batch, [R, n, n] in f32 or f64.
struct Square {
  Value X;
  Dims Batch;
  int64_t Size = 0;
  Type Stored;
};
} // namespace

static std::optional<Square> squareOf(NodeImport &N, std::string_view Name) {
  Value X = N.tensor(Name);
  if (!X)
    return std::nullopt;
  Dims Sizes(N.dims(X));
  std::optional<int64_t> Size =
      Sizes.size() < 2 ? std::nullopt : Sizes.back().asConstant();
  if (!Size || Sizes[Sizes.size() - 2] != Sizes.back() || *Size < 1 ||
      *Size > frontend::LargestElimination || !N.isFloat(X)) {
    N.fail(Code::ImportShape,
           "'" + std::string(Name) + "' is " + dimsText(Sizes) +
               ", but should hold square matrices of 1 to " +
               std::to_string(frontend::LargestElimination) + " rows of reals");
    return std::nullopt;
  }
  Square S{X, Dims(ArrayRef<Expr>(Sizes).drop_back(2)), *Size, N.element(X)};
  Expr Count(1);
  for (const Expr &E : S.Batch)
    Count = Count * E;
  Type Wide = S.Stored.isF64() ? S.Stored : N.f32();
  S.X = N.reshape(N.cast(X, Wide), {Count, Expr(*Size), Expr(*Size)});
  return S.X ? std::optional(S) : std::nullopt;
}

static Dims with(const Dims &Batch, std::initializer_list<Expr> Last) {
  Dims All(Batch);
  All.append(Last.begin(), Last.end());
  return All;
}

//===----------------------------------------------------------------------===//
// Determinants
//===----------------------------------------------------------------------===//

/// The pivots of each matrix, [R, n], with the signs of what changed places.
static Value pivots(NodeImport &N, const Square &S) {
  Value Place = N.iota({Expr(1), Expr(S.Size)}, 1, N.i64());
  Value None = N.full(0, {N.dims(S.X)[0], Expr(S.Size)}, N.element(S.X));
  auto Results = N.loop(
      Expr(S.Size), {S.X, None}, {},
      [&](const Expr &Step,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
        Value Pivot, Next = frontend::eliminate(N, Carried[0], Step, &Pivot);
        if (!Next || !Pivot)
          return std::nullopt;
        // Without a pivot the determinant is 0, and what follows does not
        // count.
        Value Singular = N.compare(Predicate::eq, Pivot, N.like(0, Pivot));
        Next = N.select(Singular, Carried[0], Next);
        Value Here =
            N.compare(Predicate::eq, Place, N.sizeScalar(Step, N.i64()));
        Value Row = N.reshape(Pivot, {N.dims(S.X)[0], Expr(1)});
        Value All = N.select(Here, Row, Carried[1]);
        if (!Next || !All)
          return std::nullopt;
        return SmallVector<Value>{Next, All};
      });
  return Results ? (*Results)[1] : Value();
}

static void determinants(NodeImport &N) {
  std::optional<Square> S = squareOf(N, N.has("A") ? "A" : "self");
  if (!S)
    return N.give();
  Value Y = S->Size <= frontend::LargestDeterminant
                ? frontend::determinant(N, S->X)
                : N.reduce(ReduceKind::prod, pivots(N, *S), {1});
  N.result(0, N.cast(N.reshape(Y, S->Batch), S->Stored));
  for (size_t I = 1; I < N.resultCount(); ++I)
    N.undefined(I);
}

/// The sign, and the logarithm of what is behind it; or with `Whole` that of
/// all.
template <bool Whole> static void logDeterminants(NodeImport &N) {
  std::optional<Square> S = squareOf(N, N.has("A") ? "A" : "self");
  Value P = S ? pivots(N, *S) : Value();
  if (!P)
    return N.give();
  Value Sign = N.reduce(ReduceKind::prod, N.unary<SignOp>(P), {1});
  Value Log = N.reduce(ReduceKind::sum, N.log(N.unary<AbsOp>(P)), {1});
  if (Whole && Sign) {
    Value Negative = N.compare(Predicate::lt, Sign, N.like(0, Sign));
    Log = N.select(Negative, N.like(NAN, Log), Log);
  }
  auto Given = [&](Value V) {
    return N.cast(N.reshape(V, S->Batch), S->Stored);
  };
  if (Whole)
    return N.result(Given(Log));
  N.result(0, Given(Sign));
  N.result(1, Given(Log));
  for (size_t I = 2; I < N.resultCount(); ++I)
    N.undefined(I);
}

//===----------------------------------------------------------------------===//
// Inverses and systems of equations
//===----------------------------------------------------------------------===//

/// What makes [R, n, k] of `Right` by the inverse of [R, n, n].
static Value solved(NodeImport &N, const Square &S, Value Right) {
  Value A = N.concat({S.X, Right}, 2);
  if (!A)
    return {};
  auto Results = N.loop(
      Expr(S.Size), {A}, {},
      [&](const Expr &Step,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
        Value Next = frontend::eliminate(N, Carried[0], Step);
        return Next ? std::optional(SmallVector<Value>{Next}) : std::nullopt;
      });
  return Results
             ? N.sliceAxis(Results->front(), 2, Expr(S.Size), N.dims(Right)[2])
             : Value();
}

static Value unitMatrix(NodeImport &N, const Square &S) {
  Value Row = N.iota({Expr(1), Expr(S.Size), Expr(1)}, 1, N.i64());
  Value Column = N.iota({Expr(1), Expr(1), Expr(S.Size)}, 2, N.i64());
  return N.broadcast(
      N.cast(N.compare(Predicate::eq, Row, Column), N.element(S.X)),
      N.dims(S.X));
}

/// No fault of a matrix is found when the model runs: each is reported right.
static void faultless(NodeImport &N, size_t I, const Dims &Batch) {
  if (I < N.resultCount())
    N.result(I, N.broadcast(N.scalarInt(0, N.i32()), Batch));
}

static void inverse(NodeImport &N) {
  std::optional<Square> S = squareOf(N, N.has("A") ? "A" : "self");
  if (!S)
    return N.give();
  Value Y = solved(N, *S, unitMatrix(N, *S));
  N.result(0,
           N.cast(N.reshape(Y, with(S->Batch, {Expr(S->Size), Expr(S->Size)})),
                  S->Stored));
  faultless(N, 1, S->Batch);
}

/// X of A X = B, or of X A = B where `left` does not hold. A vector is a
/// column.
static void solve(NodeImport &N) {
  std::optional<Square> S = squareOf(N, N.has("A") ? "A" : "self");
  Value B = N.tensor("B");
  if (!S || !B)
    return N.give();
  bool Left = N.flag("left", true);
  Dims Sizes(N.dims(B)), Vectors = with(S->Batch, {Expr(S->Size)});
  bool Vector = Sizes.size() == 1 || Sizes == Vectors;
  Value Right = N.cast(B, N.element(S->X));
  if (Vector)
    Right = N.unsqueeze(Right, {N.rank(B)});
  else if (!Left)
    Right = N.transpose(Right, [&] {
      Ints Perm(llvm::to_vector(llvm::seq<int64_t>(0, N.rank(B))));
      std::swap(Perm[Perm.size() - 1], Perm[Perm.size() - 2]);
      return Perm;
    }());
  if (!Right || N.rank(Right) < 2)
    return N.give();
  // Both batches as one.
  Dims Many(ArrayRef<Expr>(N.dims(Right)).drop_back(2));
  std::optional<Dims> Batch = N.broadcastSizes(S->Batch, Many);
  if (!Batch)
    return N.give();
  Expr Count(1), Columns = N.dims(Right).back();
  for (const Expr &E : *Batch)
    Count = Count * E;
  Value A = N.reshape(S->X, with(S->Batch, {Expr(S->Size), Expr(S->Size)}));
  A = N.broadcast(A, with(*Batch, {Expr(S->Size), Expr(S->Size)}));
  S->X = N.reshape(A, {Count, Expr(S->Size), Expr(S->Size)});
  if (!Left)
    S->X = N.transpose(S->X, {0, 2, 1});
  Right = N.reshape(N.broadcast(Right, with(*Batch, {Expr(S->Size), Columns})),
                    {Count, Expr(S->Size), Columns});
  if (!S->X || !Right)
    return N.give();
  Value Y =
      N.reshape(solved(N, *S, Right), with(*Batch, {Expr(S->Size), Columns}));
  if (Y && !Vector && !Left) {
    Ints Perm(llvm::to_vector(llvm::seq<int64_t>(0, N.rank(Y))));
    std::swap(Perm[Perm.size() - 1], Perm[Perm.size() - 2]);
    Y = N.transpose(Y, Perm);
  }
  if (Y && Vector)
    Y = N.reshape(Y, with(*Batch, {Expr(S->Size)}));
  N.result(0, N.cast(Y, S->Stored));
  faultless(N, N.resultCount() > 2 ? 3 : 1, *Batch);
  for (size_t I = 1; N.resultCount() > 2 && I < 3; ++I)
    N.undefined(I);
}

static void power(NodeImport &N) {
  std::optional<Square> S = squareOf(N, "self");
  int64_t Times = N.integer("n", 1);
  if (!S || N.bad())
    return N.give();
  constexpr int64_t Most = 1 << 20;
  if (Times > Most || Times < -Most)
    return (void)N.unsupported("the power " + std::to_string(Times) +
                               " of a matrix");
  Value Base = Times < 0 ? solved(N, *S, unitMatrix(N, *S)) : S->X, Y;
  if (!Base)
    return N.give();
  for (uint64_t Left = static_cast<uint64_t>(std::abs(Times)); Left && Base;
       Left >>= 1) {
    if (Left & 1)
      Y = Y ? N.matmul(Y, Base) : Base;
    if (Left > 1)
      Base = N.matmul(Base, Base);
  }
  if (Times == 0)
    Y = unitMatrix(N, *S);
  N.result(N.cast(N.reshape(Y, with(S->Batch, {Expr(S->Size), Expr(S->Size)})),
                  S->Stored));
}

/// The lower triangle L of A = L L^T, a column a step; `upper` gives L^T.
static void cholesky(NodeImport &N) {
  std::optional<Square> S = squareOf(N, "self");
  bool Upper = N.flag("upper", false);
  if (!S)
    return N.give();
  Value Row = N.iota({Expr(1), Expr(S->Size), Expr(1)}, 1, N.i64());
  Value Column = N.iota({Expr(1), Expr(1), Expr(S->Size)}, 2, N.i64());
  Value None = N.full(0, N.dims(S->X), N.element(S->X));
  auto Results = N.loop(
      Expr(S->Size), {S->X, None}, {},
      [&](const Expr &Step,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
        Value At = N.sizeScalar(Step, N.i64()), A = Carried[0];
        Value Whole = N.sliceAxis(A, 2, Step, 1);
        Value Below =
            N.select(N.compare(Predicate::ge, Row, At), Whole, N.like(0, A));
        Value L = N.div(Below, N.sqrt(N.sliceAxis(Whole, 1, Step, 1)));
        Value Next = N.sub(A, N.mul(L, N.transpose(L, {0, 2, 1})));
        Value All =
            N.select(N.compare(Predicate::eq, Column, At), L, Carried[1]);
        if (!Next || !All)
          return std::nullopt;
        return SmallVector<Value>{Next, All};
      });
  if (!Results)
    return N.give();
  Value Y = Upper ? N.transpose((*Results)[1], {0, 2, 1}) : (*Results)[1];
  N.result(0,
           N.cast(N.reshape(Y, with(S->Batch, {Expr(S->Size), Expr(S->Size)})),
                  S->Stored));
  faultless(N, 1, S->Batch);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Norms of matrices in two axes: the sum, the greatest or the least of
/// singular values, or of sums of columns or rows.
static void matrixNorm(NodeImport &N, Value X, ArrayRef<int64_t> Axes,
                       bool IsNuclear, double Order) {
  bool Keep = N.flag("keepdim", false);
  Type Stored = N.has("dtype") ? N.type("dtype") : N.element(X);
  X = N.cast(X, N.wide(X));
  bool Largest = Order > 0;
  ReduceKind Picks = Largest ? ReduceKind::max : ReduceKind::min;
  Value Y;
  if (IsNuclear || std::abs(Order) == 2) {
    // The two axes last, and the values in the place of the second.
    Ints Perm;
    for (int64_t I = 0; I < N.rank(X); ++I)
      if (!llvm::is_contained(Axes, I))
        Perm.push_back(I);
    llvm::append_range(Perm, Axes);
    Value S = singularValuesOf(N, N.transpose(X, Perm));
    if (!S)
      return N.give();
    Y = N.reduce(IsNuclear ? ReduceKind::sum : Picks, S, {N.rank(S) - 1});
    if (Keep && Y) {
      Ints Sorted(Axes);
      llvm::sort(Sorted);
      Y = N.unsqueeze(Y, Sorted);
    }
  } else if (std::abs(Order) == 1 || std::isinf(Order)) {
    bool OfColumns = std::abs(Order) == 1;
    Value Sums = N.reduce(ReduceKind::sum, N.unary<AbsOp>(X),
                          {Axes[OfColumns ? 0 : 1]}, /*KeepDims=*/true);
    Ints Sorted(Axes);
    llvm::sort(Sorted);
    Y = N.reduce(Picks, Sums, Sorted, Keep);
  } else {
    return (void)N.unsupported("a norm of matrices of the order " +
                               std::to_string(Order) +
                               "; kpc has 1, 2, infinity, their negatives, "
                               "fro and nuc");
  }
  N.result(N.cast(Y, Stored));
}

static void nuclearNorm(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  Ints Axes = N.axes("dim", N.rank(X));
  if (Axes.size() != 2)
    return (void)N.fail(Code::ImportRank, "expected a norm of two axes, got " +
                                              std::to_string(Axes.size()));
  matrixNorm(N, X, Axes, /*IsNuclear=*/true, 0);
}

/// Two axes as the node gives them: rows first, wherever they are.
static Ints ordered(NodeImport &N, ArrayRef<int64_t> Sorted) {
  Ints Given = N.integers("dim", {});
  for (int64_t &A : Given)
    A = N.axis(A, N.rank(N.tensor("self")));
  return Given.size() == 2 ? Given : Ints(Sorted);
}

/// Norms of vectors, and Frobenius' norm of matrices: the root of all squares.
template <bool Matrices> static void norm(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  const Argument *Order = N.argument("ord");
  bool Text = Order && Order->Is == Argument::Kind::Text;
  Ints Axes = N.axes("dim", N.rank(X));
  if (Matrices && !N.has("dim") && Axes.size() > 2)
    Axes.erase(Axes.begin(), Axes.end() - 2);
  if (N.bad())
    return N.give();
  std::string Name = Text ? N.text("ord", "fro") : "fro";
  if (Axes.size() == 2 && N.isFloat(X) && Order && (!Text || Name == "nuc"))
    return matrixNorm(N, X, ordered(N, Axes), Text,
                      Text ? 0 : N.real("ord", 2));
  if (Name != "fro" ||
      (Order && !Text && (Axes.size() != 1 || N.real("ord", 2) <= 0)))
    return (void)N.unsupported("norms but those of vectors of an order above "
                               "0, and of matrices");
  double P = Order && !Text ? N.real("ord", 2) : 2;
  bool Keep = N.flag("keepdim", false);
  Type Stored = N.has("dtype") ? N.type("dtype") : N.element(X);
  X = N.unary<AbsOp>(N.cast(X, N.wide(X)));
  if (!X || !N.isFloat(X))
    return N.give();
  Value Y;
  if (std::isinf(P))
    Y = N.reduce(ReduceKind::max, X, Axes, Keep);
  else if (P == 1)
    Y = N.reduce(ReduceKind::sum, X, Axes, Keep);
  else if (P == 2)
    Y = N.sqrt(N.reduce(ReduceKind::sum, N.mul(X, X), Axes, Keep));
  else
    Y = N.binary<PowOp>(
        N.reduce(ReduceKind::sum, N.binary<PowOp>(X, N.like(P, X)), Axes, Keep),
        N.like(1 / P, X));
  N.result(N.cast(Y, Stored));
}

/// beta self + alpha of a product: of two vectors, or of a batch's sum.
template <bool Batch> static void addedProduct(NodeImport &N) {
  Value X = N.tensor("self"), A = N.tensor(Batch ? "batch1" : "vec1"),
        C = N.tensor(Batch ? "batch2" : "vec2");
  if (!X || !A || !C)
    return;
  Value Y = Batch ? N.reduce(ReduceKind::sum, N.matmul(A, C), {0})
                  : N.mul(N.unsqueeze(A, {1}), N.unsqueeze(C, {0}));
  double Alpha = N.real("alpha", 1), Beta = N.real("beta", 1);
  if (!Y || N.bad())
    return N.give();
  if (Alpha != 1)
    Y = N.mulScalar(Y, Alpha);
  if (Beta != 1)
    X = N.mulScalar(X, Beta);
  N.result(N.add(X, Y));
}

/// Whether each element is one of the others.
static void isIn(NodeImport &N) {
  std::string_view Elements = N.has("element") ? "element" : "elements",
                   Others =
                       N.has("test_element") ? "test_element" : "test_elements";
  Type T = N.promoted(Elements, Others);
  if (!T)
    return N.give();
  Value X = N.operand(Elements, T), Of = N.operand(Others, T);
  if (!X || !Of)
    return N.give();
  Expr Count(1);
  for (const Expr &E : N.dims(Of))
    Count = Count * E;
  Value Same = N.compare(Predicate::eq, N.unsqueeze(X, {N.rank(X)}),
                         N.reshape(Of, {Count}));
  Value Any = Same ? N.cast(N.reduce(ReduceKind::max, N.cast(Same, N.i32()),
                                     {N.rank(X)}),
                            N.i1())
                   : Same;
  N.result(N.flag("invert", false) ? N.notOf(Any) : Any);
}

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

/// [..., p, r] of [..., p, m] and [..., r, m]. Differences are taken before
/// they are squared: no product of matrices, whose sums would cancel.
static void distances(NodeImport &N) {
  Value A = N.tensor("x1"), C = N.tensor("x2");
  if (!A || !C)
    return;
  double P = N.real("p", 2);
  if (N.rank(A) < 2 || N.rank(C) < 2 || !N.isFloat(A))
    return (void)N.fail(Code::ImportRank,
                        "expected two matrices of reals, got " +
                            dimsText(N.dims(A)) + " and " +
                            dimsText(N.dims(C)));
  Type Stored = N.element(A);
  Value X = N.sub(N.unsqueeze(N.cast(A, N.wide(A)), {N.rank(A) - 1}),
                  N.unsqueeze(N.cast(C, N.wide(A)), {N.rank(C) - 2}));
  X = N.unary<AbsOp>(X);
  if (!X)
    return N.give();
  Ints Last = {N.rank(X) - 1};
  Value Y;
  if (std::isinf(P)) {
    Y = N.reduce(ReduceKind::max, X, Last);
  } else if (P == 0) {
    Value Apart = N.compare(Predicate::ne, X, N.like(0, X));
    Y = N.reduce(ReduceKind::sum, N.cast(Apart, N.element(X)), Last);
  } else if (P == 1) {
    Y = N.reduce(ReduceKind::sum, X, Last);
  } else if (P == 2) {
    Y = N.sqrt(N.reduce(ReduceKind::sum, N.mul(X, X), Last));
  } else {
    Y = N.reduce(ReduceKind::sum, N.binary<PowOp>(X, N.like(P, X)), Last);
    Y = N.binary<PowOp>(Y, N.like(1 / P, Y));
  }
  N.result(N.cast(Y, Stored));
}

ArrayRef<Rule> matrixRules() {
  constexpr std::string_view Known = "matrices of a known size up to 1024";
  static constexpr std::string_view BySingular =
      "norms by singular values: known sizes, the smaller of up to 128";
  static const Rule Rows[] = {
      {"_cdist_forward.default", distances},
      {"_euclidean_dist.default", distances},
      {"_linalg_det.default", determinants, InPlace::No, Known},
      {"_linalg_slogdet.default", logDeterminants<false>, InPlace::No, Known},
      {"_linalg_solve_ex.default", solve, InPlace::No, Known},
      {"addbmm.default", addedProduct<true>},
      {"addr.default", addedProduct<false>},
      {"cdist.default", distances},
      {"cholesky.default", cholesky, InPlace::No, Known},
      {"det.default", determinants, InPlace::No, Known},
      {"frobenius_norm.dim", norm<false>},
      {"inverse.default", inverse, InPlace::No, Known},
      {"isin.Scalar_Tensor", isIn},
      {"isin.Tensor_Scalar", isIn},
      {"isin.Tensor_Tensor", isIn},
      {"linalg_cholesky.default", cholesky, InPlace::No, Known},
      {"linalg_cholesky_ex.default", cholesky, InPlace::No, Known},
      {"linalg_det.default", determinants, InPlace::No, Known},
      {"linalg_inv.default", inverse, InPlace::No, Known},
      {"linalg_inv_ex.default", inverse, InPlace::No, Known},
      {"linalg_matrix_norm.default", norm<true>, InPlace::No, BySingular},
      {"linalg_matrix_norm.str_ord", norm<true>, InPlace::No, BySingular},
      {"linalg_norm.default", norm<false>, InPlace::No, BySingular},
      {"linalg_norm.ord_str", norm<true>, InPlace::No, BySingular},
      {"linalg_matrix_power.default", power, InPlace::No, Known},
      {"linalg_slogdet.default", logDeterminants<false>, InPlace::No, Known},
      {"linalg_solve.default", solve, InPlace::No, Known},
      {"linalg_solve_ex.default", solve, InPlace::No, Known},
      {"logdet.default", logDeterminants<true>, InPlace::No, Known},
      {"nuclear_norm.default", nuclearNorm, InPlace::No, BySingular},
      {"nuclear_norm.dim", nuclearNorm, InPlace::No, BySingular},
      {"matrix_power.default", power, InPlace::No, Known},
      {"slogdet.default", logDeterminants<false>, InPlace::No, Known},
  };
  return Rows;
}

} // namespace kpc::torch
