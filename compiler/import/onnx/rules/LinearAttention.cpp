//===- LinearAttention.cpp - Import of attention as a recurrence ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// B batch, T steps, G heads of keys and values, R heads of queries for each of
// these, D the size of a key, V that of a value.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

namespace {
struct LinearAttention {
  NodeImport &N;
  Value Query = {}, Key = {}, Values = {}; ///< steps first, [T, B, G, rows, x]
  Value Decay = {}, Beta = {}, State = {};
  double Scale = 0;

  bool read();
  /// From the inputs and attributes of com.microsoft's GatedDeltaNet.
  bool readTokens();
  void import();
  void importTokens();

private:
  Value heads(Value X, int64_t Groups, int64_t Rows, std::string_view What);
  bool setScale(const Expr &Size);
  bool readRates(Value G, Value Rate, ArrayRef<Expr> Front);
  /// All outputs, [T, B, G, R, V]; moves the state. Null after a report.
  Value run();
  /// The output of one step, [B, G, R, V]; moves the state.
  Value step(const Expr &At, Value &State) const;
};
} // namespace

/// Steps that are written out one after another.
static constexpr int64_t MostUnrolled = 4;

/// [B, T, groups*rows*x] to [T, B, groups, rows, x].
Value LinearAttention::heads(Value X, int64_t Groups, int64_t Rows,
                             std::string_view What) {
  if (N.rank(X) != 3)
    return N.fail(Code::ImportRank, std::string(What) + " has rank " +
                                        std::to_string(N.rank(X)) +
                                        ", but should have rank 3");
  Expr Width = N.dims(X)[2], Each = Width.floorDiv(Groups * Rows);
  if (Each * (Groups * Rows) != Width)
    return N.fail(Code::ImportShape, std::string(What) + " of the last size " +
                                         Width.str() + " does not split into " +
                                         std::to_string(Groups * Rows) +
                                         " heads");
  Value Y = N.reshape(N.cast(X, N.f32()), {N.dims(X)[0], N.dims(X)[1],
                                           Expr(Groups), Expr(Rows), Each});
  return N.transpose(Y, {1, 0, 2, 3, 4});
}

bool LinearAttention::setScale(const Expr &Size) {
  if (Scale != 0)
    return true;
  if (!Size.asConstant() || Size == Expr(0)) {
    N.unsupportedOn("the scale", Size);
    return false;
  }
  Scale = 1 / std::sqrt(static_cast<double>(*Size.asConstant()));
  return true;
}

bool LinearAttention::read() {
  std::string Rule = N.stringAttribute("update_rule", "gated_delta");
  int64_t QueryHeads = N.requiredInt("q_num_heads");
  int64_t Groups = N.requiredInt("kv_num_heads");
  Scale = N.floatAttribute("scale", 0);
  N.ignoreAttribute("chunk_size");
  N.expectInputs(3, 6);
  Value Q = N.input(0), K = N.input(1), V = N.input(2);
  Value Past = N.optionalInput(3), G = N.optionalInput(4),
        Rate = N.optionalInput(5);
  if (N.bad())
    return false;
  bool Gated = Rule == "gated" || Rule == "gated_delta";
  bool Delta = Rule == "delta" || Rule == "gated_delta";
  if (!Gated && !Delta && Rule != "linear")
    N.fail(Code::ImportAttributeValue,
           "attribute 'update_rule' is '" + printable(Rule) + "'");
  if (Gated != bool(G) || Delta != bool(Rate))
    N.fail(Code::ImportArity, "the rule '" + printable(Rule) + "' takes " +
                                  (Gated ? "" : "no ") + "decay and " +
                                  (Delta ? "" : "no ") + "beta");
  if (Groups < 1 || QueryHeads < Groups || QueryHeads % Groups != 0)
    N.fail(Code::ImportAttributeValue,
           "q_num_heads, " + std::to_string(QueryHeads) +
               ", is not a multiple of kv_num_heads, " +
               std::to_string(Groups));
  if (N.bad())
    return false;
  Query = heads(Q, Groups, QueryHeads / Groups, "query");
  Key = Query ? heads(K, Groups, 1, "key") : Value();
  Values = Key ? heads(V, Groups, 1, "value") : Value();
  if (!Values)
    return false;
  Expr Size = N.dims(Key)[4];
  if (!setScale(Size))
    return false;
  // Of one key's elements, or of all of them: as a column beside the state.
  if (G)
    G = heads(G, Groups, 1, "decay");
  if (G)
    Decay = N.exp(N.transpose(G, {0, 1, 2, 4, 3}));
  // A rate of all heads has one.
  if (Rate && N.rank(Rate) == 3)
    Beta = heads(Rate, N.dims(Rate)[2] == Expr(1) ? 1 : Groups, 1, "beta");
  Dims Sizes = {N.dims(Key)[1], Expr(Groups), Size, N.dims(Values)[4]};
  State = Past ? N.cast(Past, N.f32()) : N.full(0, Sizes, N.f32());
  if (State && (N.rank(State) != 4 ||
                !llvm::all_of(llvm::zip(N.dims(State), Sizes), [&](auto Pair) {
                  return N.unify(std::get<0>(Pair), std::get<1>(Pair));
                })))
    N.fail(Code::ImportShape, "past_state is " + dimsText(N.dims(State)) +
                                  ", but should be " + dimsText(Sizes));
  return !N.bad() && State;
}

Value LinearAttention::step(const Expr &At, Value &State) const {
  auto Now = [&](Value X) {
    Value Y = N.sliceAxis(X, 0, At, Expr(1));
    return Y ? N.reshape(Y, N.dims(Y).drop_front()) : Y;
  };
  if (Decay)
    State = N.mul(State, Now(Decay));
  Value K = Now(Key), V = Now(Values);
  if (Beta)
    V = N.mul(N.sub(V, N.matmul(K, State)), Now(Beta));
  State = N.add(State, N.mul(N.transpose(K, {0, 1, 3, 2}), V));
  return N.mulScalar(N.matmul(Now(Query), State), Scale);
}

Value LinearAttention::run() {
  Expr Steps = N.dims(Query)[0];
  if (std::optional<int64_t> Count = Steps.asConstant();
      Count && *Count >= 1 && *Count <= MostUnrolled) {
    SmallVector<Value> Outputs;
    for (int64_t I = 0; I < *Count; ++I)
      Outputs.push_back(N.unsqueeze(step(I, State), {0}));
    return State ? N.concat(Outputs, 0) : State;
  }
  auto Results = N.importer().loop(N, Steps, {State}, {false},
                                   [&](const Expr &I, ArrayRef<Value> Carried)
                                       -> std::optional<SmallVector<Value>> {
                                     Value Next = Carried.front();
                                     Value Output = step(I, Next);
                                     if (!Next || !Output)
                                       return std::nullopt;
                                     return SmallVector<Value>{Next, Output};
                                   });
  if (!Results)
    return {};
  State = Results->front();
  return Results->back();
}

void LinearAttention::import() {
  Type Stored = N.element(N.input(0));
  Type StateType = N.hasInput(3) ? N.element(N.input(3)) : Stored;
  Value Y = run();
  if (!Y || !State)
    return N.result(0, Value());
  // [T, B, G, R, V] to [B, T, G*R*V].
  Dims Sizes(N.dims(Y));
  Y = N.transpose(Y, {1, 0, 2, 3, 4});
  Y = N.reshape(Y, {Sizes[1], Sizes[0], Sizes[2] * Sizes[3] * Sizes[4]});
  N.result(0, N.cast(Y, Stored));
  N.result(1, N.cast(State, StateType));
}

//===----------------------------------------------------------------------===//
// com.microsoft's GatedDeltaNet: tokens first, more heads of values
//===----------------------------------------------------------------------===//

/// Over the root of the sum of its last axis' squares.
static Value overLength(NodeImport &N, Value X) {
  if (!X)
    return X;
  Value Sum = N.reduce(ReduceKind::sum, N.mul(X, X), {N.rank(X) - 1},
                       /*KeepDims=*/true);
  return N.mul(X, N.unary<RsqrtOp>(N.addScalar(Sum, 1e-6)));
}

/// [B, T, heads, x] to [T, B, Heads, 1, x], each of its heads as often as it
/// serves.
static Value stepsFirst(NodeImport &N, Value X, const Expr &Heads) {
  if (!X)
    return X;
  Dims Sizes(N.dims(X));
  if (Sizes[2] != Heads) {
    Dims Wide = {Sizes[0], Sizes[1], Sizes[2], Heads.floorDiv(Sizes[2]),
                 Sizes[3]};
    X = N.broadcast(N.unsqueeze(X, {3}), Wide);
    X = N.reshape(X, {Sizes[0], Sizes[1], Heads, Sizes[3]});
  }
  return N.unsqueeze(N.transpose(X, {1, 0, 2, 3}), {3});
}

/// Decay and rate of each token, [.., heads] or [.., heads, D]; `Front` is the
/// batch and the number of steps.
bool LinearAttention::readRates(Value G, Value Rate, ArrayRef<Expr> Front) {
  std::string GateForm = N.stringAttribute("gate_activation", "none"),
              RateForm = N.stringAttribute("beta_activation", "none");
  Value Log = N.optionalInput(7), Shift = N.optionalInput(8);
  if ((GateForm != "none" && GateForm != "qwen") ||
      (RateForm != "none" && RateForm != "sigmoid") ||
      (GateForm == "qwen") != (Log && Shift)) {
    N.fail(Code::ImportAttributeValue,
           "gate_activation should be none, or qwen with a_log and dt_bias; "
           "beta_activation none or sigmoid");
    return false;
  }
  Expr Heads = N.dims(Values)[2];
  auto Columns = [&](Value X, const Expr &Each) {
    X = N.reshape(X, {Front[0], Front[1], Heads, Each, Expr(1)});
    return N.transpose(X, {1, 0, 2, 3, 4});
  };
  if (G) {
    int64_t Rank = N.rank(N.input(0)); // that of queries, or of packed ones
    bool OfKeys = N.hasInput(1) ? N.rank(G) == Rank : N.rank(G) == Rank + 1;
    G = N.cast(G, N.f32());
    if (GateForm == "qwen") {
      G = N.add(G, N.cast(Shift, N.f32()));
      // log(1 + exp(x)) without an overflow.
      Value Small = N.unary<Log1pOp>(N.exp(N.neg(N.unary<AbsOp>(G))));
      Value Soft = N.add(N.max(G, N.like(0, G)), Small);
      G = N.neg(N.mul(N.exp(N.cast(Log, N.f32())), Soft));
    }
    Decay = N.exp(Columns(G, OfKeys ? N.dims(Key)[4] : Expr(1)));
  }
  if (Rate) {
    Rate = N.cast(Rate, N.f32());
    Beta = Columns(RateForm == "sigmoid" ? N.unary<SigmoidOp>(Rate) : Rate,
                   Expr(1));
  }
  return !N.bad();
}

bool LinearAttention::readTokens() {
  std::string Rule = N.stringAttribute("update_rule", "gated_delta");
  Scale = N.floatAttribute("scale", 0);
  bool Normed = N.flagAttribute("qk_l2_norm");
  int64_t Captured = N.intAttribute("state_update_capacity", 0);
  N.ignoreAttribute("chunk_size");
  N.expectInputs(1, 11);
  Value Q = N.input(0), K = N.optionalInput(1), V = N.optionalInput(2);
  Value G = N.optionalInput(4), Rate = N.optionalInput(5),
        Past = N.optionalInput(6);
  if (N.bad())
    return false;
  bool Gated = Rule == "gated" || Rule == "gated_delta";
  bool Delta = Rule == "delta" || Rule == "gated_delta";
  if (N.hasInput(3) || Captured != 0)
    N.unsupported("sequences of different lengths (cu_seqlens) and updates of "
                  "the state (state_update_capacity) are not supported");
  else if (!Gated && !Delta && Rule != "linear")
    N.fail(Code::ImportAttributeValue,
           "attribute 'update_rule' is '" + printable(Rule) + "'");
  else if (Gated != bool(G) || Delta != bool(Rate))
    N.fail(Code::ImportArity, "the rule '" + printable(Rule) + "' takes " +
                                  (Gated ? "" : "no ") + "decay and " +
                                  (Delta ? "" : "no ") + "beta");
  else if (!Past || N.rank(Past) != 4 || bool(K) != bool(V))
    N.fail(Code::ImportArity, "needs an initial_state of rank 4, and keys and "
                              "values both or neither");
  if (N.bad() || !Q || !Past)
    return false;
  Dims Held(N.dims(Past)); // [B, heads, V, D]
  int64_t Tokens = N.rank(Q) - (K ? 2 : 1);
  if (Tokens < 1 || Tokens > 2 ||
      (K && (N.rank(K) != N.rank(Q) || N.rank(V) != N.rank(Q)))) {
    N.fail(Code::ImportRank, "queries, keys and values should have rank 3 or "
                             "4, packed ones 2 or 3");
    return false;
  }
  Dims Front = {Held[0],
                Tokens == 2 ? N.dims(Q)[1] : N.dims(Q)[0].floorDiv(Held[0])};
  auto Whole = [&](Value X, const Expr &Each) {
    Expr Heads = N.dims(X)[size_t(Tokens)];
    return N.reshape(N.cast(X, N.f32()), {Front[0], Front[1], Heads, Each});
  };
  if (K) {
    Q = Whole(Q, Held[3]);
    K = Whole(K, Held[3]);
    V = Whole(V, Held[2]);
  } else {
    Expr ValueWidth = Held[1] * Held[2];
    Expr Width = (N.dims(Q).back() - ValueWidth).floorDiv(2);
    Value All =
        N.reshape(N.cast(Q, N.f32()), {Front[0], Front[1], N.dims(Q).back()});
    auto Part = [&](const Expr &At, const Expr &Size, const Expr &Each) {
      return N.reshape(N.sliceAxis(All, 2, At, Size),
                       {Front[0], Front[1], Size.floorDiv(Each), Each});
    };
    Q = Part(0, Width, Held[3]);
    K = Part(Width, Width, Held[3]);
    V = Part(Width * 2, ValueWidth, Held[2]);
  }
  if (N.bad() || !Q || !K || !V || !setScale(Held[3]))
    return false;
  if (N.dims(Q)[2] != N.dims(K)[2] ||
      Held[1].floorDiv(N.dims(Q)[2]) * N.dims(Q)[2] != Held[1]) {
    N.fail(Code::ImportShape, Held[1].str() +
                                  " heads of values are no "
                                  "multiple of " +
                                  N.dims(Q)[2].str() + " of queries");
    return false;
  }
  Query = stepsFirst(N, Normed ? overLength(N, Q) : Q, Held[1]);
  Key = stepsFirst(N, Normed ? overLength(N, K) : K, Held[1]);
  Values = stepsFirst(N, V, Held[1]);
  State = N.transpose(N.cast(Past, N.f32()), {0, 1, 3, 2});
  return Query && Key && Values && State && readRates(G, Rate, Front);
}

void LinearAttention::importTokens() {
  Type Stored = N.element(N.input(0));
  Value Y = run();
  if (!Y || !State)
    return N.result(0, Value());
  // [T, B, heads, 1, V] to [B, T, heads, V], or with B and T as one.
  Dims Sizes(N.dims(Y));
  Dims Given(N.dims(N.input(0)));
  bool IsWhole = Given.size() == (N.hasInput(1) ? 4 : 3);
  Y = N.transpose(Y, {1, 0, 2, 3, 4});
  Dims Result = {Sizes[1], Sizes[0], Sizes[2], Sizes[4]};
  if (!IsWhole)
    Result = {Given[0], Sizes[2], Sizes[4]};
  N.result(0, N.cast(N.reshape(Y, Result), Stored));
  if (N.wants(1))
    N.result(1,
             N.cast(N.transpose(State, {0, 1, 3, 2}), N.element(N.input(6))));
}

static void importGatedDeltaNet(NodeImport &N) {
  LinearAttention A{N};
  if (A.readTokens())
    A.importTokens();
}

static void importLinearAttention(NodeImport &N) {
  LinearAttention A{N};
  if (A.read())
    A.import();
}

ArrayRef<Rule> linearAttentionRules() {
  static const Rule Rows[] = {
      {"", "LinearAttention", 27, Newest, importLinearAttention},
      {"com.microsoft", "GatedDeltaNet", 1, 1, importGatedDeltaNet,
       "sequences of one length, no state_update_capacity"},
  };
  return Rows;
}

} // namespace kpc::onnx
