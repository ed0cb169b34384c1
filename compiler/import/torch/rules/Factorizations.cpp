//===- Factorizations.cpp - Import of QR, eigenvalues and least squares ---===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Factorizations.h"
#include "compiler/import/Matrices.h"
#include "compiler/import/torch/Rules.h"
#include "compiler/import/torch/rules/Factorizations.h"

using namespace kpc::graph;

namespace kpc::torch {

std::optional<Matrices> matricesOf(NodeImport &N, Value X, int64_t MostOfLess) {
  if (!X)
    return std::nullopt;
  Dims Sizes(N.dims(X));
  std::optional<int64_t> Rows, Columns;
  if (Sizes.size() >= 2) {
    Rows = Sizes[Sizes.size() - 2].asConstant();
    Columns = Sizes.back().asConstant();
  }
  if (!Rows || !Columns || *Rows < 1 || *Columns < 1 || !N.isFloat(X) ||
      std::min(*Rows, *Columns) > MostOfLess) {
    N.fail(Code::ImportShape,
           "takes apart " + dimsText(Sizes) +
               ", but kpc does so with matrices of reals whose sizes are "
               "known, the smaller from 1 to " +
               std::to_string(MostOfLess));
    return std::nullopt;
  }
  Matrices M{X, Dims(ArrayRef<Expr>(Sizes).drop_back(2)), *Rows, *Columns,
             N.element(X)};
  Expr Count(1);
  for (const Expr &E : M.Batch)
    Count = Count * E;
  Type Wide = M.Stored.isF64() ? M.Stored : N.f32();
  M.X = N.reshape(N.cast(X, Wide), {Count, Expr(*Rows), Expr(*Columns)});
  return M.X ? std::optional(M) : std::nullopt;
}

Value inBatch(NodeImport &N, const Matrices &M, Value V) {
  if (!V)
    return V;
  Dims Sizes(M.Batch);
  llvm::append_range(Sizes, N.dims(V).drop_front());
  return N.reshape(V, Sizes);
}

/// A result of [R, ...] with the batch and the type as they were.
static Value given(NodeImport &N, const Matrices &M, Value V) {
  return N.cast(inBatch(N, M, V), M.Stored);
}

Value transposed(NodeImport &N, Value X) {
  if (!X || N.rank(X) < 2)
    return {};
  Ints Perm = llvm::to_vector<6>(llvm::seq<int64_t>(0, N.rank(X)));
  std::swap(Perm[Perm.size() - 1], Perm[Perm.size() - 2]);
  return N.transpose(X, Perm);
}

std::optional<Matrices> squareMatricesOf(NodeImport &N, Value X, int64_t Most) {
  std::optional<Matrices> M = matricesOf(N, X, Most);
  if (M && M->Rows != M->Columns) {
    N.fail(Code::ImportShape, "expected square matrices, got " +
                                  std::to_string(M->Rows) + " by " +
                                  std::to_string(M->Columns));
    return std::nullopt;
  }
  return M;
}

/// What builds loops of a node.
static auto loopsOf(NodeImport &N) {
  return [&N](const Expr &Count, ArrayRef<Value> Inits, ArrayRef<bool> Reversed,
              frontend::LoopFunction Body) {
    return N.loop(Count, Inits, Reversed, Body);
  };
}

static std::optional<std::pair<Value, Value>> factored(NodeImport &N, Value X,
                                                       int64_t Columns) {
  return frontend::orthogonalTriangular(N, X, Columns, loopsOf(N));
}

//===----------------------------------------------------------------------===//
// QR
//===----------------------------------------------------------------------===//

static void qr(NodeImport &N) {
  Value X = N.tensor(N.has("A") ? "A" : "self");
  std::string Mode = N.has("mode")          ? N.text("mode", "reduced")
                     : N.flag("some", true) ? "reduced"
                                            : "complete";
  if (N.bad())
    return;
  if (Mode != "reduced" && Mode != "complete" && Mode != "r")
    return (void)N.fail(Code::ImportAttributeValue,
                        "mode is '" + printable(Mode) +
                            "', expected reduced, complete or r");
  std::optional<Matrices> M = matricesOf(N, X, frontend::LargestElimination);
  auto Both = M ? factored(N, M->X, Mode == "complete" ? M->Rows : M->least())
                : std::nullopt;
  if (!Both)
    return N.give();
  auto [Q, R] = *Both;
  if (Mode != "complete")
    R = N.sliceAxis(R, 1, 0, Expr(M->least()));
  N.result(0, Mode == "r" ? N.full(0, {Expr(0)}, M->Stored) : given(N, *M, Q));
  N.result(1, given(N, *M, R));
}

//===----------------------------------------------------------------------===//
// Eigenvalues of symmetric matrices
//===----------------------------------------------------------------------===//

/// One triangle counts. `Vectors`: whether they are results.
template <bool Vectors> static void eigen(NodeImport &N) {
  std::optional<Matrices> M = squareMatricesOf(
      N, N.tensor(N.has("A") ? "A" : "self"), frontend::LargestRotated);
  bool Upper = N.text("UPLO", "L") == "U";
  if (!M)
    return N.give();
  Value Row = N.iota({Expr(1), Expr(M->Rows), Expr(1)}, 1, N.i64());
  Value Column = N.iota({Expr(1), Expr(1), Expr(M->Rows)}, 2, N.i64());
  Value Counts = N.compare(Upper ? Predicate::le : Predicate::ge, Row, Column);
  auto Both = frontend::eigenSymmetric(
      N, N.select(Counts, M->X, transposed(N, M->X)), loopsOf(N));
  if (!Both)
    return N.give();
  N.result(0, given(N, *M, Both->first));
  if (Vectors && N.flag("compute_v", true))
    N.result(1, given(N, *M, Both->second));
  else if (N.resultCount() > 1)
    N.result(1, N.full(0, {Expr(0)}, M->Stored));
}

//===----------------------------------------------------------------------===//
// Singular values
//===----------------------------------------------------------------------===//

/// Columns are the shorter side, of whichever matrix that is.
static std::optional<frontend::Singular> singularOf(NodeImport &N,
                                                    const Matrices &M) {
  bool Wide = M.Rows < M.Columns;
  auto S =
      frontend::singularValues(N, Wide ? transposed(N, M.X) : M.X, loopsOf(N));
  if (S && Wide)
    std::swap(S->U, S->V);
  return S;
}

Value singularValuesOf(NodeImport &N, Value X) {
  std::optional<Matrices> M = matricesOf(N, X, frontend::LargestRotated);
  auto S = M ? singularOf(N, *M) : std::nullopt;
  return S ? given(N, *M, S->S) : Value();
}

static void singularValues(NodeImport &N) {
  N.result(singularValuesOf(N, N.tensor("A")));
}

/// A square orthogonal matrix whose first columns are those of `Some`.
static Value completed(NodeImport &N, Value Some, int64_t Rows, int64_t Have) {
  if (Rows == Have)
    return Some;
  auto Both = factored(N, Some, Rows);
  return Both ? N.concat({Some, N.sliceAxis(Both->first, 2, Expr(Have),
                                            Expr(Rows - Have))},
                         2)
              : Value();
}

/// U, S and V; `Transposed`: V^T. `some` leaves out what `full_matrices` adds.
template <bool Transposed> static void svd(NodeImport &N) {
  std::optional<Matrices> M = matricesOf(N, N.tensor(N.has("A") ? "A" : "self"),
                                         frontend::LargestRotated);
  bool Full =
      Transposed ? N.flag("full_matrices", true) : !N.flag("some", true);
  auto S = M && !N.bad() ? singularOf(N, *M) : std::nullopt;
  if (!S)
    return N.give();
  if (!N.flag("compute_uv", true)) {
    // Zeros of the whole sizes, but none where the operator says so itself.
    bool Empty = llvm::StringRef(N.node().Target).contains("_linalg_svd");
    for (size_t I : {0, 2}) {
      Expr Size(I == 0 ? M->Rows : M->Columns);
      Dims Whole(M->Batch);
      Whole.append({Size, Size});
      N.result(I, N.full(0, Empty ? Dims{Expr(0)} : Whole, M->Stored));
    }
    return N.result(1, given(N, *M, S->S));
  }
  if (Full) {
    S->U = completed(N, S->U, M->Rows, M->least());
    S->V = completed(N, S->V, M->Columns, M->least());
  }
  N.result(0, given(N, *M, S->U));
  N.result(1, given(N, *M, S->S));
  N.result(2, given(N, *M, Transposed && S->V ? transposed(N, S->V) : S->V));
}

/// A tolerance, a number or one for each matrix, as a factor of [..., 1]; null
/// where it is left out.
static Value tolerance(NodeImport &N, std::string_view Name, Value Like) {
  if (!N.has(Name))
    return {};
  if (N.isNumber(Name))
    return N.like(N.real(Name, 0), Like);
  Value T = N.cast(N.tensor(Name), N.element(Like));
  return T ? N.unsqueeze(T, {N.rank(T)}) : T;
}

/// The least singular value that counts, from the greatest of its matrix,
/// [..., 1].
static Value leastCounted(NodeImport &N, Value Greatest, double Default) {
  bool Alone = N.has("tol");
  Value Absolute = tolerance(N, Alone ? "tol" : "atol", Greatest);
  Value Relative = tolerance(N, N.has("rcond") ? "rcond" : "rtol", Greatest);
  if (!Relative) {
    // An absolute bound leaves the relative one at 0, as PyTorch has it.
    Value Zero = N.like(0, Greatest);
    Relative = Alone ? Zero : N.like(Default, Greatest);
    if (Absolute && !Alone)
      Relative =
          N.select(N.compare(Predicate::gt, Absolute, Zero), Zero, Relative);
  }
  Value Bound = N.mul(Greatest, Relative);
  return Absolute ? N.max(Absolute, Bound) : Bound;
}

static double epsilonOf(Type T) { return T.isF64() ? 0x1p-52 : 0x1p-23; }

/// V diag(1 / S) U^T, without singular values that are too small a part of the
/// greatest one.
static void pseudoInverse(NodeImport &N) {
  std::optional<Matrices> M =
      matricesOf(N, N.tensor("self"), frontend::LargestRotated);
  if (!M)
    return N.give();
  bool ByShare = llvm::StringRef(N.node().Target).ends_with(".default");
  double Default =
      ByShare ? 1e-15
              : epsilonOf(M->Stored) * double(std::max(M->Rows, M->Columns));
  auto S = N.bad() ? std::nullopt : singularOf(N, *M);
  Value Greatest =
      S && S->S ? inBatch(N, *M, N.sliceAxis(S->S, 1, 0, 1)) : Value();
  if (!Greatest)
    return N.give();
  Value Least =
      N.broadcast(leastCounted(N, Greatest, Default), N.dims(Greatest));
  Least = N.reshape(Least, {N.dims(M->X)[0], Expr(1)});
  Value Counts = N.compare(Predicate::gt, S->S, Least);
  Value One = N.like(1, S->S);
  Value Inverse = N.select(Counts, N.div(One, N.select(Counts, S->S, One)),
                           N.like(0, S->S));
  N.result(given(
      N, *M,
      N.matmul(N.mul(S->V, N.unsqueeze(Inverse, {1})), transposed(N, S->U))));
}

/// How many singular values are above `tol`, or `rtol` of the greatest.
static void matrixRank(NodeImport &N) {
  Value X = N.tensor(N.has("input") ? "input" : "self");
  Value S = X ? singularValuesOf(N, X) : X;
  if (!S || N.bad())
    return N.give();
  auto Sides = N.dims(X).take_back(2);
  double Default = epsilonOf(N.element(S)) *
                   double(std::max(Sides[0].asConstant().value_or(1),
                                   Sides[1].asConstant().value_or(1)));
  Value Least = leastCounted(N, N.sliceAxis(S, N.rank(S) - 1, 0, 1), Default);
  Value Counts = N.compare(Predicate::gt, S, Least);
  if (Counts)
    N.result(N.reduce(ReduceKind::sum, N.cast(Counts, N.i64()),
                      {N.rank(Counts) - 1}));
}

/// The matrix's condition: the greatest singular value by the least, or the
/// other way around.
static void condition(NodeImport &N) {
  Value X = N.tensor("self");
  const Argument *P = N.argument("p");
  double Order = P && P->Is != Argument::Kind::Text ? N.real("p", 2) : 2;
  if (!X || N.bad())
    return N.give();
  if ((P && P->Is == Argument::Kind::Text) || std::abs(Order) != 2)
    return (void)N.unsupported(
        "a condition by another norm than 2 and -2; the product of "
        "linalg_matrix_norm of the matrix and of its inverse is it");
  Value S = singularValuesOf(N, X);
  if (!S)
    return N.give();
  int64_t Last = N.rank(S) - 1;
  Value Most = N.reduce(ReduceKind::max, S, {Last}),
        Least = N.reduce(ReduceKind::min, S, {Last});
  N.result(Order > 0 ? N.div(Most, Least) : N.div(Least, Most));
}

//===----------------------------------------------------------------------===//
// Least squares
//===----------------------------------------------------------------------===//

Value solvedSystem(NodeImport &N, Value R, Value B, int64_t Size) {
  Value A = N.concat({R, B}, 2);
  if (!A)
    return {};
  auto Results = N.loop(
      Expr(Size), {A}, {},
      [&](const Expr &Step,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
        Value Next = frontend::eliminate(N, Carried[0], Step);
        return Next ? std::optional(SmallVector<Value>{Next}) : std::nullopt;
      });
  return Results ? N.sliceAxis(Results->front(), 2, Expr(Size), N.dims(B)[2])
                 : Value();
}

/// The X of least norm among those of least |A X - B|, for matrices of full
/// rank.
static void leastSquares(NodeImport &N) {
  std::optional<Matrices> M =
      matricesOf(N, N.tensor("self"), frontend::LargestElimination);
  Value B = N.tensor(N.has("b") ? "b" : "B");
  if (!M || !B)
    return N.give();
  Dims Sizes(N.dims(B));
  bool Vector = Sizes.size() == M->Batch.size() + 1;
  if (Vector)
    Sizes.emplace_back(1);
  Dims Wanted(M->Batch);
  Wanted.emplace_back(M->Rows);
  if (Sizes.size() != Wanted.size() + 1 ||
      ArrayRef<Expr>(Sizes).drop_back() != ArrayRef<Expr>(Wanted))
    return (void)N.fail(Code::ImportShape,
                        "the right side is " + dimsText(N.dims(B)) +
                            ", expected " + dimsText(Wanted) + " and columns");
  Expr Columns = Sizes.back();
  B = N.reshape(N.cast(B, N.element(M->X)),
                {N.dims(M->X)[0], Expr(M->Rows), Columns});
  bool Tall = M->Rows >= M->Columns;
  auto Both = factored(N, Tall ? M->X : transposed(N, M->X),
                       Tall ? M->Rows : M->least());
  if (!Both || !B)
    return N.give();
  auto [Q, R] = *Both;
  int64_t Least = M->least();
  R = N.sliceAxis(R, 1, 0, Expr(Least));
  Value X, Rest;
  if (Tall) {
    Value Turned = N.matmul(transposed(N, Q), B);
    X = solvedSystem(N, R, N.sliceAxis(Turned, 1, 0, Expr(Least)), Least);
    if (M->Rows > M->Columns && Turned) {
      Value Over =
          N.sliceAxis(Turned, 1, Expr(Least), Expr(M->Rows - M->Columns));
      Rest = N.reduce(ReduceKind::sum, N.mul(Over, Over), {1});
    }
  } else {
    X = N.matmul(Q, solvedSystem(N, transposed(N, R), B, Least));
  }
  X = given(N, *M, X);
  if (X && Vector)
    X = N.reshape(X, N.dims(X).drop_back());
  N.result(0, X);
  Value None = N.full(0, {Expr(0)}, M->Stored);
  N.result(1, Rest ? given(N, *M, Rest) : None);
  N.result(2, N.broadcast(N.scalarInt(Least, N.i64()), M->Batch));
  N.result(3, None);
}

ArrayRef<Rule> factorizationRules() {
  static constexpr std::string_view
      Reflected = "known sizes, the smaller of up to 1,024",
      Rotated = "known sizes, the smaller of up to 128, in ten sweeps of "
                "rotations",
      Singular = "known sizes, the smaller of up to 128, in ten sweeps of "
                 "rotations; a vector of a singular value 0 is 0";
  constexpr InPlace No = InPlace::No;
  static const Rule Rows[] = {
      {"_linalg_eigh.default", eigen<true>, No, Rotated},
      {"_linalg_svd.default", svd<true>, No, Singular},
      {"linalg_eigh.default", eigen<true>, No, Rotated},
      {"linalg_eigvalsh.default", eigen<false>, No, Rotated},
      {"linalg_lstsq.default", leastSquares, No,
       "known sizes, the smaller of up to 1,024, of full rank, which is not "
       "checked; no singular values"},
      {"linalg_cond.default", condition, No, Rotated},
      {"linalg_matrix_rank.atol_rtol_float", matrixRank, No, Rotated},
      {"linalg_matrix_rank.atol_rtol_tensor", matrixRank, No, Rotated},
      {"linalg_matrix_rank.default", matrixRank, No, Rotated},
      {"linalg_matrix_rank.tol_tensor", matrixRank, No, Rotated},
      {"linalg_pinv.atol_rtol_float", pseudoInverse, No, Rotated},
      {"linalg_pinv.atol_rtol_tensor", pseudoInverse, No, Rotated},
      {"linalg_pinv.default", pseudoInverse, No, Rotated},
      {"linalg_pinv.rcond_tensor", pseudoInverse, No, Rotated},
      {"pinverse.default", pseudoInverse, No, Rotated},
      {"linalg_qr.default", qr, No, Reflected},
      {"linalg_svd.default", svd<true>, No, Singular},
      {"linalg_svdvals.default", singularValues, No, Rotated},
      {"qr.default", qr, No, Reflected},
      {"svd.default", svd<false>, No, Singular},
  };
  return Rows;
}

} // namespace kpc::torch
