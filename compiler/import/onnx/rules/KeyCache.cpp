//===- KeyCache.cpp - Past keys in attention of com.microsoft -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// B batch, G heads of keys, S new rows, T rows of the present keys, D the size
// of a head.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/KeyCache.h"

using namespace kpc::graph;

namespace kpc::onnx {

Value headsFirst(NodeImport &N, Value X, int64_t Heads) {
  return N.transpose(splitHeads(N, X, Heads), {0, 2, 1, 3});
}

void giveOutput(NodeImport &N, Value Y) {
  if (!Y)
    return N.result(0, Y);
  Y = N.transpose(Y, {0, 2, 1, 3});
  N.result(0, N.reshape(Y, {N.dims(Y)[0], N.dims(Y)[1],
                            N.dims(Y)[2] * N.dims(Y)[3]}));
}

Value KeyCache::write(Value Past, Value New) const {
  if (!Past || !New)
    return {};
  Dims Sizes(N.dims(New));
  Expr Have = N.dims(Past)[2], Count = Sizes[2];
  Sizes[2] = Rows;
  Value Row = N.iota({Rows, Expr(1)}, 0, N.i64());
  Value Start = N.reshape(First, {Sizes[0], Expr(1), Expr(1), Expr(1)});
  Value Zero = N.scalarInt(0, N.i64());
  // Indices after the last row are that row's.
  auto RowsOf = [&](Value From, Value Index) {
    return N.gatherElements(From, N.broadcast(Index, Sizes), 2);
  };
  // A cache as long as the new one stays as it is where nothing is written.
  Value Old = Have == Rows ? Past : RowsOf(Past, Row);
  Value At = N.sub(Row, Start);
  Value Fresh = N.binary<AndOp>(
      N.compare(Predicate::ge, At, Zero),
      N.compare(Predicate::lt, At, N.sizeScalar(Count, N.i64())));
  return N.select(Fresh, RowsOf(New, N.max(At, Zero)), Old);
}

bool writeToBuffers(NodeImport &N, Attention &A, Value Past) {
  if (N.rank(A.PastKey) != 4 || N.rank(A.PastValue) != 4) {
    N.fail(Code::ImportRank, "past keys and values should have rank 4");
    return false;
  }
  Expr Batch = N.dims(A.Q)[0], New = N.dims(A.K)[2];
  Value First =
      N.broadcast(N.reshape(N.cast(Past, N.i64()), {Expr(1)}), {Batch});
  KeyCache Writer{N, First, N.dims(A.PastKey)[2]};
  A.K = Writer.write(A.PastKey, A.K);
  A.V = Writer.write(A.PastValue, A.V);
  A.PastKey = A.PastValue = {};
  A.Valid = N.add(First, N.sizeScalar(New, N.i64()));
  return !N.bad() && A.K && A.V;
}

Value withColumns(NodeImport &N, Value Mask, const Expr &Keys) {
  if (!Mask || N.rank(Mask) < 1 || N.dims(Mask).back() == Keys)
    return Mask;
  // Those beyond the last one count for nothing.
  Value Column = N.min(N.iota({Keys}, 0, N.i64()),
                       N.sizeScalar(N.dims(Mask).back() - 1, N.i64()));
  return N.gather(Mask, Column, N.rank(Mask) - 1);
}

Value followBeams(NodeImport &N, Value Rows, Value Beams, Value Past) {
  if (!Rows || !Beams || !Past)
    return {};
  Dims Sizes(N.dims(Rows));
  if (N.rank(Beams) != 3 || !N.unify(N.dims(Beams)[2], Sizes[2]) ||
      !N.unify(N.dims(Beams)[0] * N.dims(Beams)[1], Sizes[0]))
    return N.fail(Code::ImportShape,
                  "'cache_indirection' is " + dimsText(N.dims(Beams)) +
                      ", expected a beam for each row of a buffer of " +
                      dimsText(Sizes));
  Type Index = N.i64();
  Value Own = N.iota({Sizes[0], Expr(1)}, 0, Index);
  Value Width = N.sizeScalar(N.dims(Beams)[1], Index);
  Value Of = N.reshape(N.cast(Beams, Index), {Sizes[0], Sizes[2]});
  Value Other = N.add(N.mul(N.div(Own, Width), Width), Of);
  Value Older = N.compare(Predicate::lt, N.iota({Expr(1), Sizes[2]}, 1, Index),
                          N.reshape(N.cast(Past, Index), {Expr(1), Expr(1)}));
  Value From = N.select(Older, Other, Own);
  From = N.min(N.max(From, N.scalarInt(0, Index)),
               N.sizeScalar(Sizes[0] - 1, Index));
  if (!From)
    return {};
  From = N.reshape(From, {Sizes[0], Expr(1), Sizes[2], Expr(1)});
  return N.gatherElements(Rows, N.broadcast(From, Sizes), 0);
}

} // namespace kpc::onnx
