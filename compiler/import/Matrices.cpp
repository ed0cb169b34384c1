//===- Matrices.cpp - Determinants and eliminations -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Matrices.h"

using namespace kpc::graph;

namespace kpc::frontend {

/// Along the first of the rows from `Row` on, of the columns that are left.
static Value expanded(Emitter &N, Value X, int64_t Row,
                      ArrayRef<int64_t> Columns) {
  int64_t Rank = Emitter::rank(X);
  Dims Batch(Emitter::dims(X).drop_back(2));
  auto At = [&](int64_t Column) {
    Value V =
        N.sliceAxis(N.sliceAxis(X, Rank - 2, Row, 1), Rank - 1, Column, 1);
    return N.reshape(V, Batch);
  };
  if (Columns.size() == 1)
    return At(Columns[0]);
  Value Sum;
  for (size_t I = 0; I < Columns.size(); ++I) {
    Ints Others(Columns);
    Others.erase(Others.begin() + static_cast<ptrdiff_t>(I));
    Value Term = N.mul(At(Columns[I]), expanded(N, X, Row + 1, Others));
    if (I == 0)
      Sum = Term;
    else
      Sum = I % 2 ? N.sub(Sum, Term) : N.add(Sum, Term);
  }
  return Sum;
}

Value determinant(Emitter &N, Value X) {
  if (!X)
    return {};
  int64_t Size = *Emitter::dims(X).back().asConstant();
  return expanded(N, X, 0, llvm::to_vector(llvm::seq<int64_t>(0, Size)));
}

Value eliminate(Emitter &N, Value A, const Expr &Step, Value *Pivot) {
  if (!A)
    return {};
  Value Place = N.iota({Expr(1), Emitter::dims(A)[1], Expr(1)}, 1, N.i64());
  Value At = N.sizeScalar(Step, N.i64());
  Value Column = N.sliceAxis(A, 2, Step, 1);
  Value Here = N.compare(Predicate::eq, Place, At);
  Value Size = N.select(N.compare(Predicate::ge, Place, At),
                        N.unary<AbsOp>(Column), N.like(-1, A));
  Value Best = N.argReduce(ReduceKind::max, Size, 1, /*SelectLast=*/false);
  if (!Best || !Here)
    return {};
  Best = N.unsqueeze(Best, {1});
  Value IsBest = N.compare(Predicate::eq, Place, Best);
  Value Top = N.sliceAxis(A, 1, Step, 1);
  Value Row =
      N.reduce(ReduceKind::sum, N.select(IsBest, A, N.like(0, A)), {1}, true);
  A = N.select(Here, Row, N.select(IsBest, Top, A));
  Value Head = N.sliceAxis(Row, 2, Step, 1);
  if (Pivot)
    *Pivot = N.select(N.compare(Predicate::eq, Best, At), Head, N.neg(Head));
  Value Unit = N.div(Row, Head);
  Value Rest = N.sub(A, N.mul(N.sliceAxis(A, 2, Step, 1), Unit));
  return N.select(Here, Unit, Rest);
}

} // namespace kpc::frontend
