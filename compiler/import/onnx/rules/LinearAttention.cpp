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
  void import();

private:
  Value heads(Value X, int64_t Groups, int64_t Rows, std::string_view What);
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
  if (Scale == 0) {
    if (!Size.asConstant() || Size == Expr(0)) {
      N.unsupportedOn("the scale", Size);
      return false;
    }
    Scale = 1 / std::sqrt(static_cast<double>(*Size.asConstant()));
  }
  // Of one key's elements, or of all of them: as a column beside the state.
  if (G && (G = heads(G, Groups, 1, "decay")))
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

void LinearAttention::import() {
  Type Stored = N.element(N.input(0));
  Type StateType = N.hasInput(3) ? N.element(N.input(3)) : Stored;
  Expr Steps = N.dims(Query)[0];
  Value Y;
  if (std::optional<int64_t> Count = Steps.asConstant();
      Count && *Count >= 1 && *Count <= MostUnrolled) {
    SmallVector<Value> Outputs;
    for (int64_t I = 0; I < *Count; ++I)
      Outputs.push_back(N.unsqueeze(step(I, State), {0}));
    Y = N.concat(Outputs, 0);
  } else {
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
      return;
    State = Results->front();
    Y = Results->back();
  }
  if (!Y || !State)
    return N.result(0, Value());
  // [T, B, G, R, V] to [B, T, G*R*V].
  Dims Sizes(N.dims(Y));
  Y = N.transpose(Y, {1, 0, 2, 3, 4});
  Y = N.reshape(Y, {Sizes[1], Sizes[0], Sizes[2] * Sizes[3] * Sizes[4]});
  N.result(0, N.cast(Y, Stored));
  N.result(1, N.cast(State, StateType));
}

static void importLinearAttention(NodeImport &N) {
  LinearAttention A{N};
  if (A.read())
    A.import();
}

ArrayRef<Rule> linearAttentionRules() {
  static const Rule Rows[] = {
      {"", "LinearAttention", 27, Newest, importLinearAttention},
  };
  return Rows;
}

} // namespace kpc::onnx
