//===- TriangularFactors.cpp - Import of LU, triangles and their systems --===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A = P L U, as LAPACK's getrf stores it: both triangles in one matrix, and
/// for each step the row, from 1, that the step's row changed places with.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/Matrices.h"
#include "compiler/import/torch/Rules.h"
#include "compiler/import/torch/rules/Factorizations.h"

using namespace kpc::graph;

namespace kpc::torch {

static Value placesOf(NodeImport &N, int64_t Count, int64_t Axis) {
  Dims Sizes(3, Expr(1));
  Sizes[static_cast<size_t>(Axis)] = Expr(Count);
  return N.iota(Sizes, Axis, N.i64());
}

/// [R, m, k] with rows `Step` and `Other`, [R, 1, 1], in each other's places.
static Value exchanged(NodeImport &N, Value X, const Expr &Step, Value Other) {
  if (!X)
    return X;
  Value Row = N.iota({Expr(1), N.dims(X)[1], Expr(1)}, 1, N.i64());
  Value Here = N.compare(Predicate::eq, Row, N.sizeScalar(Step, N.i64()));
  Value There = N.compare(Predicate::eq, Row, Other);
  Value Its = N.reduce(ReduceKind::sum,
                       N.select(There, X, N.scalarInt(0, N.element(X))), {1},
                       /*KeepDims=*/true);
  return N.select(Here, Its, N.select(There, N.sliceAxis(X, 1, Step, 1), X));
}

//===----------------------------------------------------------------------===//
// LU
//===----------------------------------------------------------------------===//

namespace {
struct Lu {
  Value Both;   ///< [R, m, n]
  Value Pivots; ///< [R, least], from 0
};
} // namespace

static std::optional<Lu> factored(NodeImport &N, const Matrices &M,
                                  bool Pivoted) {
  int64_t Steps = M.least();
  Expr Count = N.dims(M.X)[0];
  Value Row = placesOf(N, M.Rows, 1), Column = placesOf(N, M.Columns, 2);
  Value Place = N.iota({Expr(1), Expr(Steps)}, 1, N.i64());
  auto Results = N.loop(
      Expr(Steps), {M.X, N.broadcast(Place, {Count, Expr(Steps)})}, {},
      [&](const Expr &Step,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
        Value A = Carried[0], Pivots = Carried[1];
        Value At = N.sizeScalar(Step, N.i64());
        if (Pivoted) {
          Value Size = N.select(N.compare(Predicate::ge, Row, At),
                                N.unary<AbsOp>(N.sliceAxis(A, 2, Step, 1)),
                                N.like(-1, A));
          Value Best =
              N.argReduce(ReduceKind::max, Size, 1, /*SelectLast=*/false);
          if (!Best)
            return std::nullopt;
          A = exchanged(N, A, Step, N.unsqueeze(Best, {1}));
          Pivots = N.select(N.compare(Predicate::eq, Place, At), Best, Pivots);
        }
        Value Top = N.sliceAxis(A, 1, Step, 1);
        Value Head = N.sliceAxis(Top, 2, Step, 1);
        Value Below = N.compare(Predicate::gt, Row, At);
        // Without a pivot all below is 0, and stays.
        Value None = N.compare(Predicate::eq, Head, N.like(0, A));
        Value Factor = N.select(Below,
                                N.div(N.sliceAxis(A, 2, Step, 1),
                                      N.select(None, N.like(1, A), Head)),
                                N.like(0, A));
        Value Right =
            N.select(N.compare(Predicate::gt, Column, At), Top, N.like(0, A));
        Value Rest = N.sub(A, N.mul(Factor, Right));
        Value Stored = N.bitAnd(Below, N.compare(Predicate::eq, Column, At));
        Value Next = N.select(Stored, Factor, Rest);
        if (!Next || !Pivots)
          return std::nullopt;
        return SmallVector<Value>{Next, Pivots};
      });
  return Results ? std::optional(Lu{(*Results)[0], (*Results)[1]})
                 : std::nullopt;
}

/// P of all exchanges, [R, m, m]: row i of L U is row j of A where P[j, i].
static Value permutation(NodeImport &N, Value Pivots, int64_t Rows, Type T) {
  if (!Pivots)
    return {};
  Expr Count = N.dims(Pivots)[0];
  Value Order = N.broadcast(placesOf(N, Rows, 1), {Count, Expr(Rows), Expr(1)});
  auto Results = N.loop(
      N.dims(Pivots)[1], {Order}, {},
      [&](const Expr &Step,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
        Value Other = N.unsqueeze(N.sliceAxis(Pivots, 1, Step, 1), {2});
        Value Next = exchanged(N, Carried[0], Step, Other);
        return Next ? std::optional(SmallVector<Value>{Next}) : std::nullopt;
      });
  if (!Results)
    return {};
  return N.cast(N.compare(Predicate::eq, placesOf(N, Rows, 1),
                          transposed(N, Results->front())),
                T);
}

/// L, [R, m, least], with ones on its diagonal.
static Value lowerOf(NodeImport &N, Value Both, const Matrices &M) {
  Value X = N.sliceAxis(Both, 2, 0, Expr(M.least()));
  Value Row = placesOf(N, M.Rows, 1), Column = placesOf(N, M.least(), 2);
  return N.select(N.compare(Predicate::gt, Row, Column), X,
                  N.cast(N.compare(Predicate::eq, Row, Column), N.element(X)));
}

/// U, [R, least, n]
static Value upperOf(NodeImport &N, Value Both, const Matrices &M) {
  Value X = N.sliceAxis(Both, 1, 0, Expr(M.least()));
  Value Row = placesOf(N, M.least(), 1), Column = placesOf(N, M.Columns, 2);
  return N.select(N.compare(Predicate::le, Row, Column), X,
                  N.scalarInt(0, N.element(X)));
}

static Value given(NodeImport &N, const Matrices &M, Value V) {
  return N.cast(inBatch(N, M, V), M.Stored);
}

/// The first 0 on U's diagonal, from 1, and 0 where there is none: [R].
static Value firstZeroOf(NodeImport &N, Value Both, const Matrices &M) {
  int64_t Least = M.least();
  Value Row = placesOf(N, M.Rows, 1), Column = placesOf(N, M.Columns, 2);
  Value Others =
      N.select(N.compare(Predicate::eq, Row, Column), Both, N.like(1, Both));
  Value Is = N.compare(Predicate::eq, Others, N.like(0, Both));
  Value First = N.reduce(ReduceKind::min,
                         N.select(Is, N.add(Row, N.scalarInt(1, N.i64())),
                                  N.scalarInt(Least + 1, N.i64())),
                         {1, 2});
  return N.select(N.compare(Predicate::gt, First, N.scalarInt(Least, N.i64())),
                  N.scalarInt(0, N.i64()), First);
}

/// Both factors in one matrix, the exchanges, and where U is singular.
static void luFactor(NodeImport &N) {
  std::optional<Matrices> M = matricesOf(N, N.tensor(N.has("A") ? "A" : "self"),
                                         frontend::LargestElimination);
  auto F = M ? factored(N, *M, N.flag("pivot", true)) : std::nullopt;
  if (!F)
    return N.give();
  N.result(0, given(N, *M, F->Both));
  Value FromOne = N.add(F->Pivots, N.scalarInt(1, N.i64()));
  N.result(1, inBatch(N, *M, N.cast(FromOne, N.i32())));
  if (N.resultCount() > 2)
    N.result(2, inBatch(N, *M, N.cast(firstZeroOf(N, F->Both, *M), N.i32())));
}

static void threeFactors(NodeImport &N) {
  std::optional<Matrices> M =
      matricesOf(N, N.tensor("A"), frontend::LargestElimination);
  bool Pivoted = N.flag("pivot", true);
  auto F = M ? factored(N, *M, Pivoted) : std::nullopt;
  if (!F)
    return N.give();
  N.result(
      0, Pivoted
             ? given(N, *M, permutation(N, F->Pivots, M->Rows, N.element(M->X)))
             : N.full(0, {Expr(0)}, M->Stored));
  N.result(1, given(N, *M, lowerOf(N, F->Both, *M)));
  N.result(2, given(N, *M, upperOf(N, F->Both, *M)));
}

/// The exchanges of an argument as [R, least], from 0.
static Value pivotsOf(NodeImport &N, std::string_view Name, const Matrices &M) {
  Value Given = N.cast(N.tensor(Name), N.i64());
  if (!Given)
    return {};
  Dims Wanted(M.Batch);
  Wanted.emplace_back(M.least());
  if (N.dims(Given) != ArrayRef<Expr>(Wanted))
    return N.fail(Code::ImportShape, "'" + std::string(Name) + "' is " +
                                         dimsText(N.dims(Given)) +
                                         ", expected " + dimsText(Wanted));
  return N.sub(N.reshape(Given, {N.dims(M.X)[0], Expr(M.least())}),
               N.scalarInt(1, N.i64()));
}

static void unpack(NodeImport &N) {
  std::optional<Matrices> M =
      matricesOf(N, N.tensor("LU_data"), frontend::LargestElimination);
  Value Pivots = M ? pivotsOf(N, "LU_pivots", *M) : Value();
  if (!Pivots)
    return N.give();
  Value None = N.full(0, {Expr(0)}, M->Stored);
  N.result(0,
           N.flag("unpack_pivots", true)
               ? given(N, *M, permutation(N, Pivots, M->Rows, N.element(M->X)))
               : None);
  bool Data = N.flag("unpack_data", true);
  N.result(1, Data ? given(N, *M, lowerOf(N, M->X, *M)) : None);
  N.result(2, Data ? given(N, *M, upperOf(N, M->X, *M)) : None);
}

//===----------------------------------------------------------------------===//
// Systems of equations
//===----------------------------------------------------------------------===//

namespace {
/// Square matrices and right sides, their batches joined into one.
struct System {
  SmallVector<Value> Factors; ///< [R, n, n] each
  Value Right;                ///< [R, n, k]
  Dims Batch;
  bool Left = true;
  int64_t Size = 0;
  Type Stored;
};
} // namespace

/// The system of the factors in `M`'s batch and `B`: A X = B, or X A = B where
/// `Left` does not hold. None after a report.
static std::optional<System> systemOf(NodeImport &N, const Matrices &M,
                                      ArrayRef<Value> Factors, Value B,
                                      bool Left) {
  if (!B || llvm::is_contained(Factors, Value()))
    return std::nullopt;
  if (M.Rows != M.Columns || N.rank(B) < 2) {
    N.fail(Code::ImportShape, "expected square matrices and right sides of two "
                              "axes or more, got " +
                                  std::to_string(M.Rows) + " by " +
                                  std::to_string(M.Columns) + " and " +
                                  dimsText(N.dims(B)));
    return std::nullopt;
  }
  System S;
  S.Left = Left, S.Size = M.Rows, S.Stored = M.Stored;
  Value Right = N.cast(B, N.element(M.X));
  if (!Left)
    Right = transposed(N, Right);
  if (!Right || !N.unify(N.dims(Right).drop_back().back(), Expr(S.Size))) {
    N.fail(Code::ImportShape, "the right side is " + dimsText(N.dims(B)) +
                                  ", which does not fit to matrices of " +
                                  std::to_string(S.Size) + " rows");
    return std::nullopt;
  }
  std::optional<Dims> Batch =
      N.broadcastSizes(M.Batch, N.dims(Right).drop_back(2));
  if (!Batch)
    return std::nullopt;
  S.Batch = *Batch;
  Expr Count(1), Side(S.Size), Columns = N.dims(Right).back();
  for (const Expr &E : S.Batch)
    Count = Count * E;
  auto Joined = [&](Value X, const Expr &Last) {
    Dims Whole(S.Batch);
    Whole.append({Side, Last});
    return N.reshape(N.broadcast(X, Whole), {Count, Side, Last});
  };
  S.Right = Joined(Right, Columns);
  for (Value X : Factors)
    S.Factors.push_back(Joined(inBatch(N, M, X), Side));
  return S;
}

static void answer(NodeImport &N, const System &S, Value X) {
  if (!X)
    return N.give();
  Dims Whole(S.Batch);
  Whole.append({Expr(S.Size), N.dims(X)[2]});
  X = N.reshape(X, Whole);
  N.result(0, N.cast(S.Left ? X : transposed(N, X), S.Stored));
}

/// One triangle of [R, n, n]; `Unit` has ones on its diagonal.
static Value triangle(NodeImport &N, Value X, int64_t Size, bool Upper,
                      bool Unit) {
  Value Row = placesOf(N, Size, 1), Column = placesOf(N, Size, 2);
  X = N.select(N.compare(Upper ? Predicate::le : Predicate::ge, Row, Column), X,
               N.like(0, X));
  return Unit ? N.select(N.compare(Predicate::eq, Row, Column), N.like(1, X), X)
              : X;
}

/// linalg_solve_triangular, and triangular_solve with the sides the other way.
template <bool Old> static void solveTriangle(NodeImport &N) {
  std::optional<Matrices> M =
      matricesOf(N, N.tensor(Old ? "A" : "self"), frontend::LargestElimination);
  Value B = N.tensor(Old ? "self" : "B");
  bool Upper = N.flag("upper", true), Unit = N.flag("unitriangular", false);
  bool Left = Old || N.flag("left", true);
  bool Turned = Old && N.flag("transpose", false);
  if (!M || !B || N.bad())
    return N.give();
  Value T = triangle(N, M->X, M->Rows, Upper, Unit);
  // X A = B is A^T X^T = B^T.
  if (Turned || !Left)
    T = transposed(N, T);
  auto S = systemOf(N, *M, {T}, B, Left);
  if (!S)
    return N.give();
  answer(N, *S, solvedSystem(N, S->Factors[0], S->Right, S->Size));
  if (N.resultCount() > 1)
    N.result(1, N.tensor("A"));
}

/// X of A X = B by P, L and U of A; with `adjoint` of A^T X = B.
template <bool Old> static void solveByLu(NodeImport &N) {
  std::optional<Matrices> M = matricesOf(N, N.tensor(Old ? "LU_data" : "LU"),
                                         frontend::LargestElimination);
  Value B = N.tensor(Old ? "self" : "B");
  Value Pivots = M ? pivotsOf(N, Old ? "LU_pivots" : "pivots", *M) : Value();
  bool Left = Old || N.flag("left", true);
  bool Turned = (!Old && N.flag("adjoint", false)) != !Left;
  if (!Pivots || !B || N.bad())
    return N.give();
  auto S = systemOf(N, *M,
                    {permutation(N, Pivots, M->Rows, N.element(M->X)),
                     lowerOf(N, M->X, *M), upperOf(N, M->X, *M)},
                    B, Left);
  if (!S)
    return N.give();
  Value P = S->Factors[0], L = S->Factors[1], U = S->Factors[2], X = S->Right;
  if (Turned) {
    X = solvedSystem(N, transposed(N, U), X, S->Size);
    X = N.matmul(P, solvedSystem(N, transposed(N, L), X, S->Size));
  } else {
    X = solvedSystem(N, L, N.matmul(transposed(N, P), X), S->Size);
    X = solvedSystem(N, U, X, S->Size);
  }
  answer(N, *S, X);
}

/// X of (L L^T) X = B; the inverse is that of the unit matrix.
template <bool Inverse> static void solveByCholesky(NodeImport &N) {
  std::optional<Matrices> M = matricesOf(
      N, N.tensor(Inverse ? "self" : "input2"), frontend::LargestElimination);
  bool Upper = N.flag("upper", false);
  if (!M || N.bad())
    return N.give();
  Value L = triangle(N, M->X, M->Rows, Upper, /*Unit=*/false);
  if (Upper)
    L = transposed(N, L);
  Value B = Inverse ? N.cast(N.compare(Predicate::eq, placesOf(N, M->Rows, 1),
                                       placesOf(N, M->Rows, 2)),
                             M->Stored)
                    : N.tensor("self");
  if (Inverse)
    B = N.reshape(B, {Expr(M->Rows), Expr(M->Rows)});
  auto S = systemOf(N, *M, {L}, B, /*Left=*/true);
  if (!S)
    return N.give();
  L = S->Factors[0];
  answer(N, *S,
         solvedSystem(N, transposed(N, L),
                      solvedSystem(N, L, S->Right, S->Size), S->Size));
}

ArrayRef<Rule> triangularRules() {
  static constexpr std::string_view Known =
      "known sizes, the smaller of up to 1,024";
  constexpr InPlace No = InPlace::No;
  static const Rule Rows[] = {
      {"_lu_with_info.default", luFactor, No, Known},
      {"cholesky_inverse.default", solveByCholesky<true>, No, Known},
      {"cholesky_solve.default", solveByCholesky<false>, No, Known},
      {"linalg_lu.default", threeFactors, No, Known},
      {"linalg_lu_factor.default", luFactor, No, Known},
      {"linalg_lu_factor_ex.default", luFactor, No, Known},
      {"linalg_lu_solve.default", solveByLu<false>, No, Known},
      {"linalg_solve_triangular.default", solveTriangle<false>, No, Known},
      {"lu_solve.default", solveByLu<true>, No, Known},
      {"lu_unpack.default", unpack, No, Known},
      {"triangular_solve.default", solveTriangle<true>, No, Known},
  };
  return Rows;
}

} // namespace kpc::torch
