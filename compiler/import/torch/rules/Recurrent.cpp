//===- Recurrent.cpp - Import of RNN, GRU and LSTM ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Recurrent.h"
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"

using namespace kpc::graph;

namespace kpc::torch {

using frontend::Activation;
using frontend::RecurrentLayer;
using frontend::RecurrentResults;
using frontend::RecurrentWay;

namespace {
enum class Cell { Tanh, Relu, Gru, Lstm };

/// The weights of a cell, in PyTorch's order of gates.
struct CellWeights {
  Value W, R, InputBias = {}, StateBias = {};
  int64_t Hidden = 0;
};
} // namespace

/// The next state; gates in PyTorch's order: i f g o, and r z n.
static void step(NodeImport &N, Cell C, const CellWeights &L, Value Inputs,
                 Value &State, Value &Memory) {
  Value Own = N.matmul(State, N.transpose(L.R, {1, 0}));
  if (L.StateBias)
    Own = N.add(Own, L.StateBias);
  int64_t H = L.Hidden;
  auto Sigmoid = [&](Value V) { return N.unary<SigmoidOp>(V); };
  auto Tanh = [&](Value V) { return N.unary<TanhOp>(V); };
  if (C == Cell::Gru) {
    Value Reset = Sigmoid(N.add(frontend::partOf(N, Inputs, 0, H),
                                frontend::partOf(N, Own, 0, H)));
    Value Update = Sigmoid(N.add(frontend::partOf(N, Inputs, 1, H),
                                 frontend::partOf(N, Own, 1, H)));
    Value New = Tanh(N.add(frontend::partOf(N, Inputs, 2, H),
                           N.mul(Reset, frontend::partOf(N, Own, 2, H))));
    State = Update ? N.add(N.mul(N.sub(N.like(1, Update), Update), New),
                           N.mul(Update, State))
                   : Value();
    return;
  }
  Value Sum = N.add(Inputs, Own);
  if (C == Cell::Lstm) {
    Value In = Sigmoid(frontend::partOf(N, Sum, 0, H)),
          Forget = Sigmoid(frontend::partOf(N, Sum, 1, H));
    Value New = Tanh(frontend::partOf(N, Sum, 2, H)),
          Out = Sigmoid(frontend::partOf(N, Sum, 3, H));
    Memory = N.add(N.mul(Forget, Memory), N.mul(In, New));
    State = N.mul(Out, Tanh(Memory));
    return;
  }
  State = C == Cell::Tanh ? Tanh(Sum) : N.unary<ReluOp>(Sum);
}

/// Rows of weights or biases in ONNX's order of gates: i o f g, and z r n.
static Value inOrder(NodeImport &N, Cell C, Value V, int64_t Hidden) {
  if (!V || (C != Cell::Lstm && C != Cell::Gru))
    return V;
  Ints Order = C == Cell::Lstm ? Ints{0, 3, 1, 2} : Ints{1, 0, 2};
  SmallVector<Value> Parts;
  for (int64_t Gate : Order)
    Parts.push_back(N.sliceAxis(V, 0, Gate * Hidden, Hidden));
  return N.concat(Parts, 0);
}

/// Reads the hidden units off a direction's weights: W, R, two biases where it
/// has them, and a projection. False after an error where their sizes do not
/// fit each other.
static bool haveSizes(NodeImport &N, RecurrentLayer &L, ArrayRef<Value> P,
                      bool Projects) {
  auto Fail = [&](Value V, const std::string &Expected) {
    N.fail(Code::ImportShape,
           "a weight is " + dimsText(N.dims(V)) + ", expected " + Expected);
    return false;
  };
  auto Rows = N.rank(P[0]) == 2 ? N.dims(P[0])[0].asConstant() : std::nullopt;
  if (!Rows || *Rows < 1 || *Rows % L.gates() != 0)
    return Fail(P[0], "a matrix with " + std::to_string(L.gates()) +
                          " rows for each hidden unit");
  L.Hidden = *Rows / L.gates();
  Expr Units(L.Hidden), Gates(*Rows);
  if (Projects && (N.rank(P.back()) != 2 || N.dims(P.back())[1] != Units))
    return Fail(P.back(), "a matrix with " + Units.str() + " columns");
  Expr Fed = Projects ? N.dims(P.back())[0] : Units;
  if (N.rank(P[1]) != 2 || N.dims(P[1])[0] != Gates || N.dims(P[1])[1] != Fed)
    return Fail(P[1], "[" + Gates.str() + ", " + Fed.str() + "]");
  for (Value Bias : P.slice(2).drop_back(Projects ? 1 : 0))
    if (N.rank(Bias) != 1 || N.dims(Bias)[0] != Gates)
      return Fail(Bias, "[" + Gates.str() + "]");
  return true;
}

/// The start of a layer's directions, with the batch of its input. A row of it
/// has `Units`.
static Value startOf(NodeImport &N, Value All, int64_t First, int64_t Ways,
                     Value X, const Expr &Units) {
  if (!All)
    return {};
  if (N.rank(All) != 3 || N.dims(All)[2] != Units) {
    N.fail(Code::ImportShape, "the state is " + dimsText(N.dims(All)) +
                                  ", expected rows of " + Units.str());
    return {};
  }
  Value V = N.sliceAxis(All, 0, First, Ways);
  if (!V)
    return {};
  Dims Sizes(N.dims(V));
  if (Sizes[1] == N.dims(X)[1])
    return V;
  if (!N.unify(Sizes[1], N.dims(X)[1])) {
    N.fail(Code::ImportShape, "the state is " + dimsText(N.dims(All)) +
                                  ", expected a batch of " +
                                  N.dims(X)[1].str());
    return {};
  }
  Sizes[1] = N.dims(X)[1];
  return N.reshape(V, Sizes);
}

static std::array<Activation, 3> functionsOf(Cell C) {
  using Kind = Activation::Kind;
  switch (C) {
  case Cell::Tanh:
    return {Activation{Kind::Tanh}};
  case Cell::Relu:
    return {Activation{Kind::Relu}};
  case Cell::Gru:
  case Cell::Lstm:
    break;
  }
  return {Activation{Kind::Sigmoid}, Activation{Kind::Tanh},
          Activation{Kind::Tanh}};
}

/// A result that is not compared with its declaration: PyTorch 2.11 writes the
/// states of several layers with a dimension that they do not have.
static void finalState(NodeImport &N, size_t I, Value V) {
  const std::vector<Argument> &Outputs = N.node().Outputs;
  if (!V || I >= Outputs.size() || Outputs[I].Values.size() != 1)
    return N.give();
  N.importer().define(Outputs[I].Values[0], V);
}

template <Cell C> static void recurrent(NodeImport &N) {
  Value X = N.tensor("input");
  SmallVector<Value> Params = N.tensors("params"), Start;
  if (C == Cell::Lstm)
    Start = N.tensors("hx");
  else
    Start = {N.tensor("hx")};
  bool Biases = N.flag("has_biases", true),
       Both = N.flag("bidirectional", false),
       BatchFirst = N.flag("batch_first", false);
  int64_t Layers = N.integer("num_layers", 1), Ways = Both ? 2 : 1;
  if (N.bad() || Start.size() != (C == Cell::Lstm ? 2 : 1))
    return N.give();
  if (N.flag("train", false) && N.real("dropout", 0) != 0)
    return (void)N.unsupported("the program trains: export it after "
                               "model.eval()");
  if (Layers < 1 || Layers > static_cast<int64_t>(Params.size()))
    return (void)N.fail(Code::ImportArity,
                        "'num_layers' is " + std::to_string(Layers) + ", got " +
                            std::to_string(Params.size()) + " weights");
  size_t Each = Biases ? 4 : 2, All = static_cast<size_t>(Layers * Ways);
  bool Projects = C == Cell::Lstm && Params.size() == (Each + 1) * All;
  Each += Projects;
  if (Params.size() != Each * All)
    return (void)N.fail(Code::ImportArity,
                        "expected " + std::to_string(Each * All) +
                            " weights, got " + std::to_string(Params.size()));
  bool Alone = N.rank(X) == 2;
  if (Alone) {
    X = N.unsqueeze(X, {1});
    for (Value &S : Start)
      S = N.unsqueeze(S, {1});
  } else if (BatchFirst) {
    X = N.transpose(X, {1, 0, 2});
  }
  if (!X || N.rank(X) != 3)
    return N.give();
  if (std::optional<int64_t> Steps = N.dims(X)[0].asConstant();
      Steps && *Steps < 1)
    return (void)N.unsupported("a recurrent layer over no steps");
  auto Loop = [&](const Expr &Count, ArrayRef<Value> Inits,
                  ArrayRef<bool> Reversed, frontend::LoopFunction Body) {
    return N.loop(Count, Inits, Reversed, Body);
  };
  SmallVector<Value> States, Memories;
  for (int64_t I = 0; I < Layers; ++I) {
    RecurrentLayer L;
    L.Of = C == Cell::Lstm  ? RecurrentLayer::Cells::Lstm
           : C == Cell::Gru ? RecurrentLayer::Cells::Gru
                            : RecurrentLayer::Cells::Rnn;
    L.LinearBeforeReset = true;
    L.X = X;
    for (int64_t D = 0; D < Ways; ++D) {
      Value *P = &Params[static_cast<size_t>(I * Ways + D) * Each];
      if (llvm::is_contained(ArrayRef<Value>(P, Each), Value()))
        return N.give();
      if (!haveSizes(N, L, ArrayRef<Value>(P, Each), Projects))
        return;
      auto Ordered = [&](Value V) { return inOrder(N, C, V, L.Hidden); };
      RecurrentWay Way{Ordered(P[0]), Ordered(P[1]),
                       Biases ? Ordered(P[2]) : Value(),
                       Biases ? Ordered(P[3]) : Value()};
      if (Projects)
        Way.Projection = P[Each - 1];
      Way.Reversed = D == 1;
      Way.Functions = functionsOf(C);
      L.Ways.push_back(Way);
    }
    const Value &Rows = Params[static_cast<size_t>(I * Ways) * Each + 1];
    L.State = startOf(N, Start[0], I * Ways, Ways, X, N.dims(Rows)[1]);
    if (C == Cell::Lstm)
      L.Memory = startOf(N, Start[1], I * Ways, Ways, X, Expr(L.Hidden));
    if (!L.State || (C == Cell::Lstm && !L.Memory))
      return N.give();
    RecurrentResults Made = frontend::importRecurrent(N, L, Loop);
    if (!Made.Outputs || !Made.State)
      return N.give();
    States.push_back(Made.State);
    if (C == Cell::Lstm)
      Memories.push_back(Made.Memory);
    // [steps, batch, directions, hidden]: both sides are one row.
    ArrayRef<Expr> Sizes = N.dims(Made.Outputs);
    X = N.reshape(Made.Outputs, {Sizes[0], Sizes[1], Sizes[2] * Sizes[3]});
    if (!X)
      return N.give();
  }
  auto Final = [&](ArrayRef<Value> Parts) {
    Value V = N.concat(Parts, 0);
    return Alone && V ? N.reshape(V, {N.dims(V)[0], N.dims(V)[2]}) : V;
  };
  if (Alone)
    X = N.reshape(X, {N.dims(X)[0], N.dims(X)[2]});
  else if (BatchFirst)
    X = N.transpose(X, {1, 0, 2});
  N.result(0, X);
  finalState(N, 1, Final(States));
  if (C == Cell::Lstm)
    finalState(N, 2, Final(Memories));
}

/// One step alone, as lstm_cell and its kin.
template <Cell C> static void cell(NodeImport &N) {
  Value X = N.tensor("input");
  SmallVector<Value> Start;
  if (C == Cell::Lstm)
    Start = N.tensors("hx");
  else
    Start = {N.tensor("hx")};
  CellWeights L{N.tensor("w_ih"), N.tensor("w_hh"), N.optionalTensor("b_ih"),
                N.optionalTensor("b_hh")};
  if (N.bad() || Start.size() != (C == Cell::Lstm ? 2 : 1) || N.rank(L.R) != 2)
    return N.give();
  L.Hidden = N.dims(L.R)[1].asConstant().value_or(0);
  Value Inputs = N.matmul(X, N.transpose(L.W, {1, 0}));
  if (L.InputBias)
    Inputs = N.add(Inputs, L.InputBias);
  Value State = Start[0], Memory = C == Cell::Lstm ? Start[1] : Value();
  if (Inputs)
    step(N, C, L, Inputs, State, Memory);
  N.result(0, State);
  if (C == Cell::Lstm)
    N.result(1, Memory);
}

ArrayRef<Rule> recurrentRules() {
  static const Rule Rows[] = {
      {"gru_cell.default", cell<Cell::Gru>},
      {"lstm_cell.default", cell<Cell::Lstm>},
      {"rnn_relu_cell.default", cell<Cell::Relu>},
      {"rnn_tanh_cell.default", cell<Cell::Tanh>},
      {"gru.input", recurrent<Cell::Gru>},
      {"lstm.input", recurrent<Cell::Lstm>},
      {"rnn_relu.input", recurrent<Cell::Relu>},
      {"rnn_tanh.input", recurrent<Cell::Tanh>},
  };
  return Rows;
}

} // namespace kpc::torch
