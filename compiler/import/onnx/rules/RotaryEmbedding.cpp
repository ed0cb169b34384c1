//===- RotaryEmbedding.cpp - Import of rotary embedding -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// B batch, S tokens, D the size of a head.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/rules/Attention.h"

using namespace kpc::graph;

namespace kpc::onnx {

/// `V`, whose last dimension is pairs, with these as a dimension of 2: the last
/// where they are adjacent, else the last but one. Of one angle a pair, 1.
static Value inPairs(NodeImport &N, Value V, const Expr &Two,
                     bool Interleaved) {
  if (!V)
    return {};
  Dims Sizes(N.dims(V));
  Expr Pairs = Two == Expr(1) ? Sizes.back() : Sizes.back().floorDiv(Two);
  Sizes.back() = Interleaved ? Pairs : Two;
  Sizes.push_back(Interleaved ? Two : Pairs);
  return N.reshape(V, Sizes);
}

Value rotateHeads(NodeImport &N, Value X, Value Cos, Value Sin,
                  int64_t HeadAxis, int64_t Rotated, bool Interleaved) {
  if (!X || !Cos || !Sin)
    return {};
  Cos = inPairs(N, N.unsqueeze(Cos, {HeadAxis}), Expr(1), Interleaved);
  Sin = inPairs(N, N.unsqueeze(Sin, {HeadAxis}), Expr(1), Interleaved);
  // y = x·cos + exchanged(x)·sin, where the first of a pair subtracts.
  Value Pairs = inPairs(N, N.sliceAxis(X, 3, Expr(0), Expr(Rotated)), Expr(2),
                        Interleaved);
  Value OtherHalf = N.reverse(Pairs, Interleaved ? 4 : 3);
  Value Sign = N.floatVector({-1, 1}, N.element(X));
  if (!Interleaved)
    Sign = N.unsqueeze(Sign, {1});
  Value Y = N.add(N.mul(Pairs, Cos), N.mul(OtherHalf, N.mul(Sin, Sign)));
  if (Y)
    Y = N.reshape(Y, {N.dims(Y)[0], N.dims(Y)[1], N.dims(Y)[2], Expr(Rotated)});
  Expr Left = N.dims(X)[3] - Rotated;
  if (Y && Left != Expr(0))
    Y = N.concat({Y, N.sliceAxis(X, 3, Expr(Rotated), Left)}, 3);
  return Y;
}

/// A table of angles, [B, S, D/2].
static Value angles(NodeImport &N, size_t Input, Value Positions,
                    int64_t Half) {
  Value Table = N.input(Input);
  if (!Table)
    return {};
  int64_t Rank = Positions ? 2 : 3;
  if (N.rank(Table) != Rank)
    return N.fail(Code::ImportRank, "input " + std::to_string(Input) +
                                        " should have rank " +
                                        std::to_string(Rank));
  if (N.dims(Table).back() != Expr(Half))
    return N.fail(Code::ImportShape,
                  "input " + std::to_string(Input) + " has " +
                      N.dims(Table).back().str() + " angles for " +
                      std::to_string(2 * Half) + " rotated elements");
  if (Positions)
    Table = N.gather(Table, Positions, 0);
  if (Table && N.rank(Table) != 3)
    return N.fail(Code::ImportRank, "'position_ids' should have rank 2");
  return Table;
}

void importRotaryEmbedding(NodeImport &N) {
  bool Interleaved = N.flagAttribute("interleaved");
  int64_t Rotated = N.intAttribute("rotary_embedding_dim", 0);
  int64_t Heads = N.intAttribute("num_heads", 0);
  N.expectInputs(3, 4);
  Value X = N.input(0), Positions = N.optionalInput(3);
  if (N.bad())
    return;
  bool Flat = N.rank(X) == 3;
  if (!Flat && N.rank(X) != 4) {
    N.fail(Code::ImportRank, "input 0 should have rank 3 or 4");
    return;
  }
  if (Flat)
    X = splitHeads(N, X, Heads);
  if (!X)
    return;
  std::optional<int64_t> Size = N.dims(X)[3].asConstant();
  if (!Rotated)
    Rotated = Size.value_or(0);
  if (!Size || Rotated < 2 || Rotated % 2 || Rotated > *Size) {
    N.fail(Code::ImportShape, "a head of size " + N.dims(X)[3].str() +
                                  " cannot have " + std::to_string(Rotated) +
                                  " of its elements rotated in pairs");
    return;
  }
  int64_t Half = Rotated / 2;
  Value Cos = angles(N, 1, Positions, Half);
  Value Sin = Cos ? angles(N, 2, Positions, Half) : Value();
  Value Y = rotateHeads(N, X, Cos, Sin, Flat ? 2 : 1, Rotated, Interleaved);
  if (Flat && Y)
    Y = N.reshape(Y, {N.dims(Y)[0], N.dims(Y)[1], N.dims(Y)[2] * N.dims(Y)[3]});
  N.result(0, Y);
}

} // namespace kpc::onnx
