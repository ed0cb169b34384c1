//===- MatrixFunctions.cpp - Import of exponentials and Vandermonde's -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Matrices.h"
#include "compiler/import/torch/Rules.h"
#include "compiler/import/torch/rules/Factorizations.h"

using namespace kpc::graph;

namespace kpc::torch {

/// exp(X) = exp(X / 2^s)^(2^s): Taylor's series of a small matrix, squared as
/// often as the data says.
static void exponential(NodeImport &N) {
  std::optional<Matrices> M =
      squareMatricesOf(N, N.tensor("self"), frontend::LargestElimination);
  if (!M)
    return N.give();
  bool Double = N.element(M->X).isF64();
  // What is left out is at most Most^(Terms + 1) / (Terms + 1)!: 5e-9 and
  // 8e-18.
  const double Most = Double ? 1 : 0.5;
  const int64_t Terms = Double ? 18 : 8, MostSquarings = 64;
  // By the greatest sum of a column: how often to halve.
  Value Sums = N.reduce(ReduceKind::sum, N.unary<AbsOp>(M->X), {1}, true);
  Value Norm = N.reduce(ReduceKind::max, Sums, {2}, true);
  if (!Norm)
    return N.give();
  Value Times = N.mulScalar(N.log(N.mulScalar(Norm, 1 / Most)), M_LOG2E);
  Times = N.unary<CeilOp>(
      N.min(N.max(Times, N.like(0, Norm)), N.like(MostSquarings, Norm)));
  Value X = N.mul(M->X, N.binary<PowOp>(N.like(2, Norm), N.neg(Times)));
  Value Row = N.iota({Expr(1), Expr(M->Rows), Expr(1)}, 1, N.i64());
  Value Column = N.iota({Expr(1), Expr(1), Expr(M->Rows)}, 2, N.i64());
  Value Unit = N.cast(N.compare(Predicate::eq, Row, Column), N.element(M->X));
  Value Y = N.add(Unit, N.mulScalar(X, 1 / double(Terms)));
  for (int64_t I = Terms - 1; I >= 1; --I)
    Y = N.add(Unit, N.mulScalar(N.matmul(X, Y), 1 / double(I)));
  auto Any = [&](Value Left) {
    Value Greatest = N.reduce(ReduceKind::max, Left, {0, 1, 2});
    return N.compare(Predicate::gt, Greatest, N.like(0, Left));
  };
  auto Squared = [&](const Expr &,
                     ArrayRef<Value> Now) -> std::optional<SmallVector<Value>> {
    Value Goes = N.compare(Predicate::gt, Now[1], N.like(0, Now[1]));
    Value Next = N.select(Goes, N.matmul(Now[0], Now[0]), Now[0]);
    Value Left = N.addScalar(Now[1], -1);
    Value Again = Left ? Any(Left) : Left;
    if (!Next || !Again)
      return std::nullopt;
    return SmallVector<Value>{Again, Next, Left};
  };
  Value Begins = Times && Y ? Any(Times) : Value();
  auto Results =
      Begins ? N.loop(Expr(MostSquarings), {Y, Times}, {}, Squared, Begins)
             : std::nullopt;
  if (!Results)
    return N.give();
  N.result(N.cast(inBatch(N, *M, Results->front()), M->Stored));
}

/// Powers of each element: from 0 on, or with `Falls` up to it.
template <bool Falls> static void vandermonde(NodeImport &N) {
  Value X = N.tensor("x");
  if (!X || N.rank(X) < 1)
    return N.give();
  Expr Count = N.size("N", N.dims(X).back());
  bool Up = !Falls || N.flag("increasing", false);
  if (N.bad())
    return;
  Type Stored = N.isFloat(X) ? N.element(X) : N.i64();
  Value Powers = N.iota({Count}, 0, N.i64());
  if (!Up)
    Powers = N.sub(N.sizeScalar(Count - 1, N.i64()), Powers);
  // By the bits of the power, which whole numbers take exactly.
  constexpr int64_t MostBits = 24;
  int64_t Most = Count.asConstant().value_or(int64_t(1) << MostBits) - 1;
  Value Square = N.cast(X, N.isFloat(X) ? N.wide(X) : N.i64());
  Square = Square ? N.unsqueeze(Square, {N.rank(X)}) : Square;
  if (!Square)
    return N.give();
  Value One = N.like(1, Square), Y;
  for (int64_t Bit = 1; Bit <= Most || !Y; Bit *= 2) {
    Value Has =
        N.compare(Predicate::ne, N.bitAnd(Powers, N.scalarInt(Bit, N.i64())),
                  N.scalarInt(0, N.i64()));
    Value Factor = N.select(Has, Square, One);
    Y = Y ? N.mul(Y, Factor) : Factor;
    Square = N.mul(Square, Square);
    if (!Y || !Square)
      return N.give();
  }
  N.result(N.cast(Y, Stored));
}

/// The products of vectors along an axis.
static void vectorProducts(NodeImport &N) {
  Type T = N.promoted("x", "y");
  Value A = N.tensor("x"), C = N.tensor("y");
  Value Y = T ? N.mul(N.cast(A, T), N.cast(C, T)) : Value();
  if (!Y || N.rank(Y) < 1)
    return N.give();
  int64_t Axis = N.axis(N.integer("dim", -1), N.rank(Y));
  if (!N.bad())
    N.result(N.reduce(ReduceKind::sum, Y, {Axis}));
}

/// Rows with each later one: |a - b|.
static void pairDistances(NodeImport &N) {
  Value X = N.tensor("self");
  double P = N.real("p", 2);
  constexpr int64_t MostRows = 512;
  std::optional<int64_t> Rows =
      X && N.rank(X) == 2 ? N.dims(X)[0].asConstant() : std::nullopt;
  if (!Rows || *Rows > MostRows || *Rows < 2 || !N.isFloat(X) || !(P > 0))
    return (void)N.unsupported(
        "distances of pairs of " + (X ? dimsText(N.dims(X)) : "nothing") +
        " by the order " + std::to_string(P) + "; kpc takes reals of 2 to " +
        std::to_string(MostRows) +
        " rows and an order above 0, and torch.cdist takes any");
  Ints First, Second;
  for (int64_t I = 0; I < *Rows; ++I)
    for (int64_t J = I + 1; J < *Rows; ++J)
      First.push_back(I), Second.push_back(J);
  Value Wide = N.cast(X, N.wide(X));
  Value Apart =
      N.unary<AbsOp>(N.sub(N.gather(Wide, N.intVector(First, N.i64()), 0),
                           N.gather(Wide, N.intVector(Second, N.i64()), 0)));
  Value Y;
  if (std::isinf(P))
    Y = N.reduce(ReduceKind::max, Apart, {1});
  else if (P == 1)
    Y = N.reduce(ReduceKind::sum, Apart, {1});
  else if (P == 2)
    Y = N.sqrt(N.reduce(ReduceKind::sum, N.mul(Apart, Apart), {1}));
  else if (Apart) {
    Y = N.reduce(ReduceKind::sum, N.binary<PowOp>(Apart, N.like(P, Apart)),
                 {1});
    Y = N.binary<PowOp>(Y, N.like(1 / P, Apart));
  }
  N.result(N.cast(Y, N.element(X)));
}

/// One distance between two tensors as vectors.
static void distance(NodeImport &N) {
  Type T = N.promoted("self", "other");
  Value A = N.tensor("self"), C = N.tensor("other");
  double P = N.real("p", 2);
  if (!T || !A || !C || N.bad())
    return N.give();
  if (!(P > 0))
    return (void)N.unsupported("a distance of an order that is not above 0");
  Value X = N.unary<AbsOp>(N.sub(N.cast(A, T), N.cast(C, T)));
  Type Stored = X ? N.element(X) : T;
  X = X ? N.cast(X, N.wide(X)) : X;
  if (!X)
    return N.give();
  Ints All = llvm::to_vector<6>(llvm::seq<int64_t>(0, N.rank(X)));
  Value Y;
  if (std::isinf(P))
    Y = N.reduce(ReduceKind::max, X, All);
  else if (P == 1)
    Y = N.reduce(ReduceKind::sum, X, All);
  else if (P == 2)
    Y = N.sqrt(N.reduce(ReduceKind::sum, N.mul(X, X), All));
  else
    Y = N.binary<PowOp>(
        N.reduce(ReduceKind::sum, N.binary<PowOp>(X, N.like(P, X)), All),
        N.like(1 / P, X));
  N.result(N.cast(Y, Stored));
}

/// Parts along an axis whose norm is greater than `maxnorm`, as long as that.
static void renormalised(NodeImport &N) {
  Value X = N.tensor("self");
  double P = N.real("p", 2), Most = N.real("maxnorm", 1);
  if (!X || N.bad())
    return N.give();
  if (!N.isFloat(X) || !(P > 0) || std::isinf(P))
    return (void)N.unsupported("norms of the order " + std::to_string(P) +
                               "; kpc takes reals and a finite order above 0");
  int64_t Kept = N.axis(N.integer("dim", 0), N.rank(X));
  Ints Axes;
  for (int64_t I = 0; I < N.rank(X); ++I)
    if (I != Kept)
      Axes.push_back(I);
  Value Wide = N.cast(X, N.wide(X));
  Value Sum =
      N.reduce(ReduceKind::sum,
               P == 2 ? N.mul(Wide, Wide)
                      : N.binary<PowOp>(N.unary<AbsOp>(Wide), N.like(P, Wide)),
               Axes, /*KeepDims=*/true);
  Value Norm = P == 2 ? N.sqrt(Sum) : N.binary<PowOp>(Sum, N.like(1 / P, Wide));
  // PyTorch's own small number in the denominator.
  Value Factor = N.div(N.like(Most, Norm), N.addScalar(Norm, 1e-7));
  Factor = N.select(N.compare(Predicate::gt, Norm, N.like(Most, Norm)), Factor,
                    N.like(1, Norm));
  N.result(N.cast(N.mul(Wide, Factor), N.element(X)));
}

void unsymmetricEigenvalues(NodeImport &N) {
  N.unsupported("eigenvalues of matrices that are not symmetric, which are "
                "complex: take torch.linalg.eigh (or eigvalsh) where they are "
                "symmetric, else compute them outside and make them inputs");
}

ArrayRef<Rule> matrixFunctionRules() {
  static constexpr std::string_view
      Series = "known sizes of up to 1,024; loops end by data",
      Nothing = "refused: torch.linalg.eigh compiles, of symmetric matrices";
  constexpr InPlace No = InPlace::No;
  static const Rule Rows[] = {
      {"_linalg_eigvals.default", unsymmetricEigenvalues, No, Nothing},
      {"_pdist_forward.default", pairDistances, No, "2 to 512 rows"},
      {"dist.default", distance, No, "orders above 0"},
      {"linalg_eig.default", unsymmetricEigenvalues, No, Nothing},
      {"linalg_eigvals.default", unsymmetricEigenvalues, No, Nothing},
      {"linalg_matrix_exp.default", exponential, No, Series},
      {"linalg_vander.default", vandermonde<false>},
      {"linalg_vecdot.default", vectorProducts},
      {"matrix_exp.default", exponential, No, Series},
      {"pdist.default", pairDistances, No, "2 to 512 rows"},
      {"renorm.default", renormalised, InPlace::Yes,
       "reals; a finite order above 0"},
      {"vander.default", vandermonde<true>},
  };
  return Rows;
}

} // namespace kpc::torch
