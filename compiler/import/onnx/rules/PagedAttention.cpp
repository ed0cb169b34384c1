//===- PagedAttention.cpp - Keys in blocks, and blocks of keys ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of com.microsoft: attention whose cache is cut into blocks of rows, and one
// that sees some blocks of its keys alone. B batch, H heads of queries, G heads
// of keys, D the size of a head.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/KeyCache.h"
#include "compiler/import/onnx/rules/TokenRows.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

//===----------------------------------------------------------------------===//
// PagedAttention
//===----------------------------------------------------------------------===//

/// [T, heads*D] to [1, T, heads, D].
static Value rowsOfHeads(NodeImport &N, Value X, int64_t Heads) {
  return X ? splitHeads(N, N.unsqueeze(X, {0}), Heads) : X;
}

namespace {
/// T tokens of B sequences that stand one after another.
struct Paged {
  NodeImport &N;
  Value Sums = {}, Past = {}, Blocks = {}; ///< i64: [B + 1], [B], [B, blocks]
  Expr Batch = {}, Tokens = {};
  Value Sequence = {}, Within = {}, Position = {}; ///< [T]

  bool read();
  Value slots(const Expr &Rows) const;
  Value write(Value Cache, Value New, Value Slots) const;
  Value keys(Value Cache) const;
};
} // namespace

bool Paged::read() {
  if (N.rank(Sums) != 1 || N.rank(Past) != 1 || N.rank(Blocks) != 2) {
    N.fail(Code::ImportRank, "lengths should have rank 1, and the table of "
                             "blocks rank 2");
    return false;
  }
  Batch = N.dims(Past)[0];
  if (!N.unify(N.dims(Sums)[0], Batch + 1) ||
      !N.unify(N.dims(Blocks)[0], N.current(Batch))) {
    N.fail(Code::ImportShape, "the lengths and the table of blocks do not "
                              "have as many sequences");
    return false;
  }
  Batch = N.dims(Past)[0];
  // A token's sequence: how many have ended before it.
  Value Token = N.iota({Tokens, Expr(1)}, 0, N.i64());
  Value Ends = N.unsqueeze(N.sliceAxis(Sums, 0, 1, Batch), {0});
  Sequence =
      N.reduce(ReduceKind::sum,
               N.cast(N.compare(Predicate::ge, Token, Ends), N.i64()), {1});
  Within = N.sub(N.iota({Tokens}, 0, N.i64()), N.gather(Sums, Sequence, 0));
  Position = N.add(N.gather(Past, Sequence, 0), Within);
  return !N.bad() && Position;
}

/// The row of the cache that each token's key goes to.
Value Paged::slots(const Expr &Rows) const {
  Value Size = N.sizeScalar(Rows, N.i64());
  Value Block = N.div(Position, Size);
  Expr Columns = N.dims(Blocks)[1];
  Value Flat = N.reshape(Blocks, {Batch * Columns});
  Value At = N.add(N.mul(Sequence, N.sizeScalar(Columns, N.i64())), Block);
  Value Row = N.sub(Position, N.mul(Block, Size));
  return N.add(N.mul(N.gather(Flat, At, 0), Size), Row);
}

/// New rows [1, T, G, D] in a cache [blocks, rows, G, D].
Value Paged::write(Value Cache, Value New, Value Slots) const {
  if (!Cache || !New || !Slots)
    return {};
  Dims Sizes(N.dims(Cache)), Rows(N.dims(New).drop_front());
  // A place of -1 is that of no row.
  Expr All = Sizes[0] * Sizes[1];
  Value Kept = N.compare(Predicate::ge, Slots, N.like(0, Slots));
  Value At = N.select(Kept, Slots, N.sizeScalar(All, N.i64()));
  Value Flat = N.reshape(Cache, {All, Sizes[2], Sizes[3]});
  return N.reshape(scatterRows(N, Flat, At, N.reshape(New, Rows)), Sizes);
}

/// The keys of all sequences, [B, G, blocks * rows, D].
Value Paged::keys(Value Cache) const {
  Value Y = N.gather(Cache, Blocks, 0);
  if (!Y)
    return {};
  Dims Sizes(N.dims(Y));
  Y = N.reshape(Y, {Sizes[0], Sizes[1] * Sizes[2], Sizes[3], Sizes[4]});
  return N.transpose(Y, {0, 2, 1, 3});
}

void importPagedAttention(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads");
  int64_t Groups = N.requiredInt("kv_num_heads");
  int64_t Window = N.intAttribute("local_window_size", -1);
  bool Rotates = N.flagAttribute("do_rotary");
  bool Interleaved = N.flagAttribute("rotary_interleaved");
  double Epsilon = N.floatAttribute("qk_norm_epsilon", 1e-6F);
  Attention A{N};
  A.Causal = N.flagAttribute("is_causal", true);
  A.Softcap = N.floatAttribute("softcap", 0);
  bool Plain = N.stringAttribute("kv_cache_layout", "SEPARATE") == "SEPARATE" &&
               N.stringAttribute("k_quant_type", "NONE") == "NONE" &&
               N.stringAttribute("v_quant_type", "NONE") == "NONE" &&
               N.intAttribute("rotary_offset", 0) == 0 &&
               N.intAttribute("v_head_size", 0) == 0;
  // Names of the types that the caches have anyway.
  N.ignoreAttribute("k_cache_dtype");
  N.ignoreAttribute("v_cache_dtype");
  N.expectInputs(8, 17);
  Value Q = N.input(0), K = N.optionalInput(1), V = N.optionalInput(2),
        KeyCache = N.input(3), ValueCache = N.optionalInput(4),
        Cos = N.optionalInput(8), Sin = N.optionalInput(9),
        Slots = N.optionalInput(10), GammaQ = N.optionalInput(12),
        GammaK = N.optionalInput(13);
  Paged P{N, N.cast(N.input(5), N.i64()), N.cast(N.input(6), N.i64()),
          N.cast(N.input(7), N.i64())};
  A.Sink = N.optionalInput(11);
  A.HasSink = !!A.Sink;
  if (N.bad())
    return;
  if (!Plain || !ValueCache || N.hasInput(14) || N.hasInput(15)) {
    N.unsupported("takes caches of keys and of values as they are: no latent "
                  "ones, no codes, no rotary_offset");
    return;
  }
  if (Heads < 1 || Groups < 1 || Heads % Groups != 0 || !K != !V ||
      (Rotates && (!Cos || !Sin)) || !GammaQ != !GammaK || N.rank(Q) != 2 ||
      N.rank(KeyCache) != 4 || N.rank(ValueCache) != 4) {
    N.fail(Code::ImportAttributeValue,
           "num_heads should be a multiple of kv_num_heads, queries have rank "
           "2 and caches 4, and keys and values, angles and norms go together");
    return;
  }
  if (!K) {
    PackedHeads All = unpackHeads(N, Q, Heads, Groups);
    Q = All.Q, K = All.K, V = All.V;
  }
  Q = rowsOfHeads(N, Q, Heads);
  K = rowsOfHeads(N, K, Groups);
  V = rowsOfHeads(N, V, Groups);
  if (N.bad() || !Q || !K || !V)
    return;
  P.Tokens = N.dims(Q)[1];
  if (!P.read())
    return;
  Q = normaliseHeads(N, Q, GammaQ, Epsilon);
  K = normaliseHeads(N, K, GammaK, Epsilon);
  if (Rotates) {
    std::optional<int64_t> Half = N.rank(Cos) == 2 && N.rank(Sin) == 2
                                      ? N.dims(Cos)[1].asConstant()
                                      : std::nullopt;
    if (!Half) {
      N.unsupported("rotates heads by a number of angles that is not known");
      return;
    }
    Value At = N.unsqueeze(P.Position, {0});
    Value C = anglesAt(N, Cos, At, Expr(1), P.Tokens);
    Value S = anglesAt(N, Sin, At, Expr(1), P.Tokens);
    Q = rotateHeads(N, Q, C, S, 2, 2 * *Half, Interleaved);
    K = rotateHeads(N, K, C, S, 2, 2 * *Half, Interleaved);
  }
  Slots = Slots ? N.cast(Slots, N.i64()) : P.slots(N.dims(KeyCache)[1]);
  Value NewKeys = P.write(KeyCache, K, Slots);
  Value NewValues = P.write(ValueCache, V, Slots);
  if (N.bad() || !Q || !NewKeys || !NewValues)
    return;
  // Each sequence has a row for each token: [B, T, H, D].
  Dims Sizes(N.dims(Q).drop_front());
  Value At =
      N.add(N.mul(P.Sequence, N.sizeScalar(P.Tokens, N.i64())), P.Within);
  Value Rows = scatterRows(
      N, N.full(0, {P.Batch * P.Tokens, Sizes[1], Sizes[2]}, N.element(Q)), At,
      N.reshape(Q, Sizes));
  Rows = N.reshape(Rows, {P.Batch, P.Tokens, Sizes[1], Sizes[2]});
  A.Q = N.transpose(Rows, {0, 2, 1, 3});
  A.K = P.keys(NewKeys);
  A.V = P.keys(NewValues);
  Value Lengths = N.sub(N.sliceAxis(P.Sums, 0, 1, P.Batch),
                        N.sliceAxis(P.Sums, 0, 0, P.Batch));
  // Rows behind a sequence's own count as queries, so that each stands where
  // its position is.
  A.Valid =
      N.add(P.Past,
            A.Causal || Window > 0 ? N.sizeScalar(P.Tokens, N.i64()) : Lengths);
  A.Left = Window > 0 ? Window - 1 : -1;
  if (Window > 0 && !A.Causal) {
    N.unsupported("takes local_window_size with is_causal alone");
    return;
  }
  if (N.bad() || !A.Q || !A.K || !A.V || !A.readScale())
    return;
  Value Y = N.transpose(A.compute(), {0, 2, 1, 3});
  if (!Y)
    return;
  Dims Out(N.dims(Y));
  Y = N.reshape(Y, {Out[0] * Out[1], Out[2] * Out[3]});
  N.result(0, N.gather(Y, At, 0));
  N.result(1, NewKeys);
  N.result(2, NewValues);
}

//===----------------------------------------------------------------------===//
// SparseAttention
//===----------------------------------------------------------------------===//

/// Which blocks of keys [layouts, rows, columns] each block of queries sees, as
/// ones: `Ends` [layouts, rows + 1] say where the columns of each row end.
static Value blockMask(NodeImport &N, Value Ends, Value Columns) {
  Ends = N.cast(Ends, N.i64());
  Columns = N.cast(Columns, N.i64());
  Expr Layouts = N.dims(Ends)[0], Rows = N.dims(Ends)[1] - 1,
       Entries = N.dims(Columns)[1];
  Value Entry = N.iota({Expr(1), Entries, Expr(1)}, 1, N.i64());
  Value RowEnds = N.unsqueeze(N.sliceAxis(Ends, 1, 1, Rows), {1});
  Value Row =
      N.reduce(ReduceKind::sum,
               N.cast(N.compare(Predicate::ge, Entry, RowEnds), N.i64()), {2});
  // Fillers after the last token go to a row that does not exist.
  Value Layout = N.iota({Layouts, Entries, Expr(1)}, 0, N.i64());
  Value Filled = N.compare(Predicate::ge, Columns, N.like(0, Columns));
  Row = N.select(Filled, Row, N.sizeScalar(Rows, N.i64()));
  Value At = N.concat({Layout, N.unsqueeze(Row, {2}),
                       N.unsqueeze(N.max(Columns, N.like(0, Columns)), {2})},
                      2);
  return scatterRows(N, N.full(0, {Layouts, Rows, Rows}, N.i32()), At,
                     N.full(1, {Layouts, Entries}, N.i32()));
}

void importSparseAttention(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads");
  int64_t Groups = N.requiredInt("kv_num_heads");
  int64_t Block = N.requiredInt("sparse_block_size");
  bool Rotates = N.flagAttribute("do_rotary");
  bool Interleaved = N.flagAttribute("rotary_interleaved");
  Attention A{N};
  A.Causal = true;
  N.expectInputs(9, 11);
  Value Q = N.input(0), K = N.optionalInput(1), V = N.optionalInput(2),
        PastKey = N.input(3), PastValue = N.input(4), Ends = N.input(5),
        Columns = N.input(6), Lengths = N.input(8), Cos = N.optionalInput(9),
        Sin = N.optionalInput(10);
  N.input(7); // the greatest of the lengths
  if (N.bad())
    return;
  if (Heads < 1 || Groups < 1 || Heads % Groups != 0 || Block < 1 || !K != !V ||
      (Rotates && (!Cos || !Sin)) || N.rank(Q) != 3 || N.rank(PastKey) != 4 ||
      N.rank(PastValue) != 4 || N.rank(Ends) != 2 || N.rank(Columns) != 2) {
    N.fail(Code::ImportAttributeValue,
           "num_heads should be a multiple of kv_num_heads, queries have rank "
           "3, caches 4 and the layout 2, and keys and values go together");
    return;
  }
  if (!K) {
    PackedHeads All = unpackHeads(N, Q, Heads, Groups);
    Q = All.Q, K = All.K, V = All.V;
  }
  A.Q = headsFirst(N, Q, Heads);
  A.K = headsFirst(N, K, Groups);
  A.V = headsFirst(N, V, Groups);
  if (N.bad() || !A.Q || !A.K || !A.V || !A.readScale())
    return;
  Expr Batch = N.dims(A.Q)[0], Length = N.dims(A.Q)[2],
       Keys = N.dims(PastKey)[2];
  Value Size = N.sizeScalar(Length, N.i64());
  Value First = N.max(N.sub(N.reshape(N.cast(Lengths, N.i64()), {Batch}), Size),
                      N.scalarInt(0, N.i64()));
  Value Position =
      N.add(N.unsqueeze(First, {1}), N.iota({Batch, Length}, 1, N.i64()));
  if (Rotates) {
    std::optional<int64_t> Half = N.rank(Cos) == 2 && N.rank(Sin) == 2
                                      ? N.dims(Cos)[1].asConstant()
                                      : std::nullopt;
    if (!Half) {
      N.unsupported("rotates heads by a number of angles that is not known");
      return;
    }
    Value C = anglesAt(N, Cos, Position, Batch, Length);
    Value S = anglesAt(N, Sin, Position, Batch, Length);
    A.Q = rotateHeads(N, A.Q, C, S, 1, 2 * *Half, Interleaved);
    A.K = rotateHeads(N, A.K, C, S, 1, 2 * *Half, Interleaved);
  }
  KeyCache Writer{N, First, Keys};
  A.K = Writer.write(PastKey, A.K);
  A.V = Writer.write(PastValue, A.V);
  A.Valid = N.add(First, Size);
  Value Mask = blockMask(N, Ends, Columns);
  std::optional<int64_t> Layouts =
      Mask ? N.dims(Mask)[0].asConstant() : std::nullopt;
  if (N.bad() || !A.K || !A.V || !Mask)
    return;
  if (!Layouts || *Layouts < 1 || Heads % *Layouts != 0) {
    N.fail(Code::ImportShape, "the number of layouts, " +
                                  N.dims(Mask)[0].str() +
                                  ", should divide num_heads");
    return;
  }
  // [layouts, B, S, keys], then head h takes the layout h % layouts.
  Value Each = N.scalarInt(Block, N.i64());
  Value Last = N.sizeScalar(N.dims(Mask)[1] - 1, N.i64());
  auto BlocksOf = [&](Value At) { return N.min(N.div(At, Each), Last); };
  Mask = N.gather(Mask, BlocksOf(Position), 1);
  Mask = N.gather(Mask, BlocksOf(N.iota({Keys}, 0, N.i64())), 3);
  Mask = N.unsqueeze(N.transpose(Mask, {1, 0, 2, 3}), {1});
  Mask = N.broadcast(
      Mask, {Batch, Expr(Heads / *Layouts), Expr(*Layouts), Length, Keys});
  Mask = N.reshape(Mask, {Batch, Expr(Heads), Length, Keys});
  if (!Mask)
    return;
  A.Mask = N.compare(Predicate::ne, Mask, N.like(0, Mask));
  giveOutput(N, A.compute());
  if (N.bad())
    return;
  N.result(1, A.K);
  N.result(2, A.V);
}

} // namespace kpc::onnx
