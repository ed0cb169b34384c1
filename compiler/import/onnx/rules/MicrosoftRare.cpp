//===- MicrosoftRare.cpp - Import of rarer operators of com.microsoft -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention of encoders and decoders before transformers were all alike, norms
// fused with products of codes, and hashes.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/KeyCache.h"
#include "compiler/import/onnx/rules/MatMulNBits.h"
#include "compiler/import/onnx/rules/MicrosoftFused.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

static constexpr std::string_view Microsoft = "com.microsoft";

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// A flag that the model gives as an input.
static std::optional<bool> knownFlag(NodeImport &N, size_t I,
                                     std::string_view What) {
  auto Numbers = N.knownInts(I, What);
  if (!Numbers)
    return std::nullopt;
  if (Numbers->size() == 1)
    return Numbers->front() != 0;
  N.fail(Code::ImportShape, "'" + std::string(What) + "' has " +
                                std::to_string(Numbers->size()) +
                                " elements, expected one");
  return std::nullopt;
}

/// [S, B, heads*D] to [B, heads, S, D].
static Value headsOfSteps(NodeImport &N, Value X, int64_t Heads) {
  return X ? headsFirst(N, N.transpose(X, {1, 0, 2}), Heads) : X;
}

/// One layer's attention of a fairseq decoder: keys come from the queries' own
/// rows, after those of a cache, or from an encoder's.
static void importDecoderAttention(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads");
  N.ignoreAttribute("mask_filter_value"); // a padded key counts for nothing
  N.expectInputs(12, 12);
  Value X = N.input(0), Source = N.input(1), QueryWeight = N.input(2),
        Weight = N.input(3), Bias = N.input(4), Padding = N.optionalInput(5);
  auto IsCross = knownFlag(N, 8, "static_kv");
  auto UsesPast = knownFlag(N, 9, "use_past");
  auto HasState = knownFlag(N, 10, "has_layer_state");
  auto HasPadding = knownFlag(N, 11, "has_key_padding_mask");
  if (N.bad() || !IsCross || !UsesPast || !HasState || !HasPadding)
    return;
  if (N.rank(X) != 3 || N.rank(Source) != 3 || N.rank(QueryWeight) != 2 ||
      N.rank(Weight) != 2 || N.rank(Bias) != 1 || Heads < 1) {
    N.fail(Code::ImportRank, "query and key should have rank 3, weights 2, the "
                             "bias 1, and num_heads be positive");
    return;
  }
  Expr Width = N.dims(X)[2];
  auto BiasOf = [&](int64_t I) {
    return N.sliceAxis(Bias, 0, Width * I, Width);
  };
  Attention A{N};
  A.Q = headsOfSteps(N, N.add(N.matmul(X, QueryWeight), BiasOf(0)), Heads);
  bool FromCache = *UsesPast && *HasState;
  Value PastKey = FromCache ? N.input(6) : Value(),
        PastValue = FromCache ? N.input(7) : Value();
  if (N.bad() || !A.Q || !A.readScale())
    return;
  if (FromCache && *IsCross) {
    A.K = PastKey;
    A.V = PastValue;
  } else {
    Value Both = N.matmul(*IsCross ? Source : X, Weight);
    if (!Both)
      return;
    A.K = headsOfSteps(N, N.add(N.sliceAxis(Both, 2, 0, Width), BiasOf(1)),
                       Heads);
    A.V = headsOfSteps(N, N.add(N.sliceAxis(Both, 2, Width, Width), BiasOf(2)),
                       Heads);
    A.PastKey = PastKey;
    A.PastValue = PastValue;
  }
  if (*HasPadding && Padding) {
    Value Hidden = N.unsqueeze(Padding, {1, 2});
    A.Mask = N.select(Hidden, N.like(-INFINITY, A.Q), N.like(0, A.Q));
  }
  Value Y = N.bad() ? Value() : A.compute();
  if (!Y)
    return;
  // [B, heads, S, D] to [S, B, heads*D].
  Dims Sizes(N.dims(Y));
  N.result(0, N.reshape(N.transpose(Y, {2, 0, 1, 3}),
                        {Sizes[2], Sizes[0], Sizes[1] * Sizes[3]}));
  if (N.wants(1))
    N.result(1, A.K);
  if (N.wants(2))
    N.result(2, A.V);
}

namespace {
struct ThreeParts {
  Value Q, K, V;
};
} // namespace

/// Queries, keys and values [B, heads, S, D] of one product.
static ThreeParts projected(NodeImport &N, Value X, Value Weight, Value Bias,
                            int64_t Heads) {
  Value All = N.add(N.matmul(X, Weight), Bias);
  if (!All)
    return {};
  Expr Width = N.dims(X)[2];
  auto PartOf = [&](int64_t I) {
    return headsFirst(N, N.sliceAxis(All, 2, Width * I, Width), Heads);
  };
  return {PartOf(0), PartOf(1), PartOf(2)};
}

/// Each token sees its neighbours and a few tokens that all see, which see all
/// by weights of their own. All scores are computed, and what is not seen is
/// masked.
static void importLongformerAttention(NodeImport &N) {
  int64_t Heads = N.requiredInt("num_heads"), Window = N.requiredInt("window");
  N.expectInputs(7, 7);
  Value X = N.input(0), Weight = N.input(1), Bias = N.input(2),
        Mask = N.input(3), WideWeight = N.input(4), WideBias = N.input(5),
        Wide = N.input(6);
  if (N.bad())
    return;
  if (N.rank(X) != 3 || N.rank(Weight) != 2 || N.rank(WideWeight) != 2 ||
      N.rank(Mask) != 2 || N.rank(Wide) != 2 || Heads < 1 || Window < 0) {
    N.fail(Code::ImportRank, "the input should have rank 3, weights, mask and "
                             "flags 2, num_heads be positive");
    return;
  }
  ThreeParts Near = projected(N, X, Weight, Bias, Heads),
             Far = projected(N, X, WideWeight, WideBias, Heads);
  if (N.bad() || !Near.V || !Far.V)
    return;
  Expr Length = N.dims(X)[1];
  Value SeesAll = N.compare(Predicate::ne, Wide, N.like(0, Wide));
  Value Row = N.iota({Length, Length}, 0, N.i64()),
        Column = N.iota({Length, Length}, 1, N.i64());
  Value IsNear = N.compare(Predicate::le, N.unary<AbsOp>(N.sub(Row, Column)),
                           N.scalarInt(Window, N.i64()));
  Value Seen = N.binary<OrOp>(IsNear, N.unsqueeze(SeesAll, {1, 2}));
  Value Added = N.unsqueeze(Mask, {1, 2});
  auto Attended = [&](const ThreeParts &P, Value Scores) {
    Attention A{N, P.Q, P.K, P.V, Scores};
    return A.readScale() ? A.compute() : Value();
  };
  Value Local = Attended(Near, N.select(Seen, Added, N.like(-INFINITY, Added)));
  Value Global = N.bad() ? Value() : Attended(Far, Added);
  if (!Local || !Global)
    return;
  giveOutput(N, N.select(N.unsqueeze(SeesAll, {1, 3}), Global, Local));
}

//===----------------------------------------------------------------------===//
// Products with codes that follow a norm
//===----------------------------------------------------------------------===//

/// The sizes that all products of a node share.
static NBits sharedSizes(NodeImport &N) {
  NBits P;
  P.K = N.requiredInt("K");
  P.Bits = N.intAttribute("bits", 4);
  P.Block = N.requiredInt("block_size");
  N.ignoreAttribute("accuracy_level");
  return P;
}

/// RMSNorm of the input, or of its sum with another one, which output `Sum` is.
static Value normedInput(NodeImport &N, size_t Sum) {
  double Epsilon = N.floatAttribute("epsilon", 1e-5F);
  Value X = N.input(0), Skip = N.optionalInput(1), Scale = N.optionalInput(2);
  if (N.bad())
    return {};
  if (Skip)
    X = N.add(X, Skip);
  if (!X || N.rank(X) < 1)
    return N.fail(Code::ImportRank, "input 0 is a scalar");
  if (N.wants(Sum))
    N.result(Sum, X);
  return Scale ? normalise(N, X, Scale, {}, N.rank(X) - 1, Epsilon,
                           /*Simplified=*/true)
                     .Y
               : X;
}

static CodedWeights weightsAt(NodeImport &N, size_t I) {
  return {N.input(I), N.input(I + 1), {}, {}, N.optionalInput(I + 2)};
}

static void importCodedMlp(NodeImport &N) {
  NBits P = sharedSizes(N);
  P.N = N.requiredInt("N");
  std::string Activation = N.stringAttribute("activation", "");
  N.expectInputs(8, 9);
  Value X = normedInput(N, 1);
  CodedWeights Gate = weightsAt(N, 3), Up = weightsAt(N, 6);
  if (N.bad())
    return;
  Value Open = matMulNBits(N, P, X, Gate);
  if (!Open)
    return;
  if (Activation == "silu" || Activation == "swish") {
    Open = N.mul(Open, N.unary<SigmoidOp>(Open));
  } else if (Activation == "gelu") {
    Open = gelu(N, Open);
  } else if (Activation == "relu") {
    Open = N.unary<ReluOp>(Open);
  } else {
    N.fail(Code::ImportAttributeValue, "attribute 'activation' is '" +
                                           printable(Activation) +
                                           "', expected silu, gelu or relu");
    return;
  }
  N.result(0, N.mul(Open, matMulNBits(N, P, X, Up)));
}

static void importCodedQkv(NodeImport &N) {
  NBits P = sharedSizes(N);
  int64_t Queries = N.requiredInt("Nq"), Keys = N.requiredInt("Nkv");
  N.expectInputs(11, 12);
  Value X = normedInput(N, 3);
  for (size_t I = 0; I < 3 && !N.bad(); ++I) {
    P.N = I == 0 ? Queries : Keys;
    CodedWeights W = weightsAt(N, 3 + 3 * I);
    if (!N.bad())
      N.result(I, matMulNBits(N, P, X, W));
  }
}

/// Tables of codes, each with one scale and one zero point.
static void importCodedEmbeddings(NodeImport &N) {
  Embeddings E;
  E.Epsilon = N.floatAttribute("epsilon", 1e-12F);
  N.expectInputs(13, 18);
  auto Table = [&](size_t I, size_t Scale) -> Value {
    Value Codes = N.input(I), Step = N.input(Scale),
          Zero = N.optionalInput(Scale + 5);
    if (N.bad())
      return {};
    // Each is of one element, of whatever rank.
    Value Off = N.cast(Codes, N.f32());
    if (Zero)
      Off = N.sub(Off, N.cast(N.reshape(Zero, {}), N.f32()));
    return N.mul(Off, N.reshape(Step, {}));
  };
  E.Ids = N.input(0);
  E.Segments = N.optionalInput(1);
  E.Words = Table(2, 8);
  E.Places = Table(3, 9);
  if (E.Segments)
    E.SegmentTable = Table(4, 10);
  E.Gamma = Table(5, 11);
  E.Beta = Table(6, 12);
  E.Mask = N.optionalInput(7);
  if (!N.bad())
    embed(N, E);
}

//===----------------------------------------------------------------------===//
// Hashes
//===----------------------------------------------------------------------===//

namespace {
/// Arithmetic of MurmurHash3_x86_32 (Austin Appleby, public domain) on tensors
/// of u32.
struct Murmur {
  NodeImport &N;
  Type Word;

  Value number(int64_t V) const { return N.scalarInt(V, Word); }
  Value times(Value X, int64_t V) const { return N.mul(X, number(V)); }
  Value turned(Value X, int64_t Bits) const {
    return N.binary<OrOp>(N.binary<ShlOp>(X, number(Bits)),
                          N.binary<ShrOp>(X, number(32 - Bits)));
  }
  Value mixed(Value Hash, Value Block) const {
    Block = times(turned(times(Block, 0xcc9e2d51), 15), 0x1b873593);
    return N.add(times(turned(N.binary<XorOp>(Hash, Block), 13), 5),
                 number(0xe6546b64));
  }
  Value folded(Value Hash, int64_t Bits) const {
    return N.binary<XorOp>(Hash, N.binary<ShrOp>(Hash, number(Bits)));
  }
  Value finished(Value Hash, int64_t Bytes) const {
    Hash = N.binary<XorOp>(Hash, number(Bytes));
    Hash = times(folded(Hash, 16), 0x85ebca6b);
    Hash = times(folded(Hash, 13), 0xc2b2ae35);
    return folded(Hash, 16);
  }
};
} // namespace

static void importMurmurHash(NodeImport &N) {
  bool Positive = N.flagAttribute("positive", true);
  int64_t Seed = N.intAttribute("seed", 0);
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  unsigned Width = N.element(X).getIntOrFloatBitWidth();
  if (Width != 32 && Width != 64) {
    N.unsupported("hashes " + typeText(N.element(X)) +
                  "; kpc does so for types of 32 and 64 bits");
    return;
  }
  auto Unsigned = [&](unsigned Bits) {
    return mlir::IntegerType::get(N.builder().getContext(), Bits,
                                  mlir::IntegerType::Unsigned);
  };
  Murmur M{N, Unsigned(32)};
  if (N.element(X) != Unsigned(Width))
    X = N.bitcast(X, Unsigned(Width));
  Value Hash = M.number(Seed & 0xffffffff);
  if (Width == 32) {
    Hash = M.mixed(Hash, X);
  } else {
    Value Low = N.bitAnd(X, N.scalarInt(0xffffffff, Unsigned(64)));
    Value High = N.binary<ShrOp>(X, N.scalarInt(32, Unsigned(64)));
    for (Value Half : {Low, High})
      Hash = M.mixed(Hash, N.cast(Half, Unsigned(32)));
  }
  Hash = M.finished(Hash, Width / 8);
  N.result(0, Positive || !Hash ? Hash : N.bitcast(Hash, N.i32()));
}

namespace {
/// Ids [B, T] with `Before` ones of the past in front.
struct History {
  NodeImport &N;
  Value Ids, Missing, End, Segments; ///< the last two may be null
  int64_t Before;
  Expr Length;

  /// The ids of `Back` steps before.
  Value shifted(Value Of, int64_t Back) const {
    return N.sliceAxis(Of, 1, Before - Back, Length);
  }
  /// The same, and what stands for those past the end of a text.
  Value seen(int64_t Back) const {
    Value Id = shifted(Ids, Back), Gone;
    auto Also = [&](Value Here) {
      Gone = Gone ? N.binary<OrOp>(Gone, Here) : Here;
    };
    for (int64_t I = 1; I <= Back; ++I) {
      if (End)
        Also(N.compare(Predicate::eq, shifted(Ids, I), End));
      if (Segments)
        Also(N.compare(Predicate::ne, shifted(Segments, I),
                       shifted(Segments, I - 1)));
    }
    return Gone ? N.select(Gone, Missing, Id) : Id;
  }
};
} // namespace

/// Remainders of the products of a token and those before it.
static void importRunHashes(NodeImport &N) {
  int64_t Most = N.requiredInt("max_ngram_size"),
          Heads = N.requiredInt("n_head_per_ngram"),
          Pad = N.requiredInt("pad_id");
  bool Resets = N.flagAttribute("reset_on_eos");
  N.expectInputs(3, 8);
  Value Ids = N.input(0), Factors = N.input(1), Sizes = N.input(2),
        Past = N.optionalInput(3), Offsets = N.optionalInput(4),
        End = N.optionalInput(5), Segments = N.optionalInput(6);
  if (N.bad())
    return;
  if (Most < 2 || Most > 64 || Heads < 1 || N.rank(Ids) != 2 ||
      N.rank(Factors) != 1 || N.rank(Sizes) != 1) {
    N.fail(Code::ImportAttributeValue,
           "max_ngram_size should be 2 to 64, n_head_per_ngram positive, "
           "input_ids of rank 2, multipliers and vocab_sizes of rank 1");
    return;
  }
  Type Id = N.element(Ids);
  History H{N, {}, {}, {}, {}, Most - 1, N.dims(Ids)[1]};
  H.Missing = End ? N.reshape(End, {}) : N.scalarInt(Pad, Id);
  Dims Front = {N.dims(Ids)[0], Expr(Most - 1)};
  H.Ids = N.concat({Past ? Past : N.broadcast(H.Missing, Front), Ids}, 1);
  if (Resets && End)
    H.End = H.Missing;
  if (Segments) {
    // No border lies in front of the first token.
    Value First = N.sliceAxis(Segments, 1, 0, 1);
    H.Segments = N.concat({N.broadcast(First, Front), Segments}, 1);
  }
  if (N.bad() || !H.Ids)
    return;
  auto Of = [&](Value Vector, int64_t I, int64_t Count) {
    Value V = N.sliceAxis(Vector, 0, I, Count);
    return V && Count == 1 ? N.reshape(V, {}) : V;
  };
  Value Mix = N.mul(H.seen(0), Of(Factors, 0, 1));
  SmallVector<Value> Hashes;
  for (int64_t Back = 1; Back < Most; ++Back) {
    Mix = N.binary<XorOp>(Mix, N.mul(H.seen(Back), Of(Factors, Back, 1)));
    if (!Mix)
      return;
    int64_t At = (Back - 1) * Heads;
    Value Size = N.sliceAxis(Sizes, 0, At, Heads);
    Value Y = N.binary<ModOp>(N.unsqueeze(Mix, {2}), Size);
    if (Offsets)
      Y = N.add(Y, N.sliceAxis(Offsets, 0, At, Heads));
    Hashes.push_back(Y);
  }
  if (N.bad())
    return;
  N.result(0, N.concat(Hashes, 2));
  if (N.wants(1))
    N.result(1, N.sliceAxis(H.Ids, 1, H.Length, Most - 1));
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

static void importSameAgain(NodeImport &N) {
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (!N.bad())
    N.result(0, X);
}

static void importTorchEmbedding(NodeImport &N) {
  N.expectInputs(2, 4);
  Value Table = N.input(0), Indices = N.input(1);
  // The two others concern gradients.
  N.optionalInput(2);
  N.optionalInput(3);
  if (!N.bad())
    N.result(0, N.gather(Table, Indices, 0));
}

/// Nothing is dropped when a model is run; `Biased`: a bias and a residual are
/// added. The mask has a bit for each element, as words of 32.
template <bool Biased> static void importBitmaskDropout(NodeImport &N) {
  N.ignoreAttribute("seed");
  size_t First = Biased ? 3 : 1;
  N.expectInputs(Biased ? 2 : 1, First + 2);
  Value X = N.input(0);
  if (N.bad())
    return;
  if (N.hasInput(First + 1)) {
    auto Training = knownFlag(N, First + 1, "training_mode");
    if (!Training)
      return;
    if (*Training) {
      N.unsupported("drops elements, as in training");
      return;
    }
  }
  if (Biased) {
    Value Bias = N.input(1), Residual = N.optionalInput(2);
    if (N.bad())
      return;
    X = N.add(X, Bias);
    if (Residual)
      X = N.add(X, Residual);
  }
  N.result(0, X);
  if (!N.wants(1) || !X)
    return;
  Expr Count(1);
  for (const Expr &E : N.dims(X))
    Count = Count * E;
  Type Word = mlir::IntegerType::get(N.builder().getContext(), 32,
                                     mlir::IntegerType::Unsigned);
  N.result(1, N.broadcast(N.scalarInt(0xffffffff, Word), {Count.ceilDiv(32)}));
}

ArrayRef<Rule> microsoftRareRules() {
  static const Rule Rows[] = {
      {Microsoft, "DecoderAttention", 1, 1, importDecoderAttention,
       "its flags must be known when compiling"},
      {Microsoft, "LongformerAttention", 1, 1, importLongformerAttention},
      {Microsoft, "MatMulNBitsMlp", 1, 1, importCodedMlp,
       "the activations silu, gelu and relu"},
      {Microsoft, "MatMulNBitsQkv", 1, 1, importCodedQkv},
      {Microsoft, "QEmbedLayerNormalization", 1, 1, importCodedEmbeddings},
      {Microsoft, "MurmurHash3", 1, 1, importMurmurHash,
       "no strings; numbers of 32 and 64 bits"},
      {Microsoft, "NGramHashMapping", 1, 1, importRunHashes},
      {Microsoft, "SampleOp", 1, 1, importSameAgain},
      {Microsoft, "TorchEmbedding", 1, 1, importTorchEmbedding},
      {Microsoft, "BitmaskDropout", 1, 1, importBitmaskDropout<false>,
       "no training"},
      {Microsoft, "BitmaskBiasDropout", 1, 1, importBitmaskDropout<true>,
       "no training"},
  };
  return Rows;
}

} // namespace kpc::onnx
