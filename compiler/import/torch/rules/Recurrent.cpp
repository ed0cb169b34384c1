//===- Recurrent.cpp - Import of RNN, GRU and LSTM ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"

using namespace kpc::graph;

namespace kpc::torch {

/// Steps are written out one by one.
static constexpr int64_t MostSteps = 256;

namespace {
enum class Cell { Tanh, Relu, Gru, Lstm };

struct Layer {
  Value W, R, InputBias = {}, StateBias = {};
  Value Projection =
      {}; ///< of the state, [projected, hidden]; null without one
  int64_t Hidden = 0;
};

/// One direction of one layer over time.
struct Track {
  SmallVector<Value> Outputs; ///< by time
  Value State, Memory;
};
} // namespace

static Value part(NodeImport &N, Value V, int64_t I, int64_t Size) {
  return V ? N.sliceAxis(V, N.rank(V) - 1, I * Size, Size) : V;
}

/// The next state; gates in PyTorch's order: i f g o, and r z n.
static void step(NodeImport &N, Cell C, const Layer &L, Value Inputs,
                 Value &State, Value &Memory) {
  Value Own = N.matmul(State, N.transpose(L.R, {1, 0}));
  if (L.StateBias)
    Own = N.add(Own, L.StateBias);
  int64_t H = L.Hidden;
  auto Sigmoid = [&](Value V) { return N.unary<SigmoidOp>(V); };
  auto Tanh = [&](Value V) { return N.unary<TanhOp>(V); };
  if (C == Cell::Gru) {
    Value Reset = Sigmoid(N.add(part(N, Inputs, 0, H), part(N, Own, 0, H)));
    Value Update = Sigmoid(N.add(part(N, Inputs, 1, H), part(N, Own, 1, H)));
    Value New =
        Tanh(N.add(part(N, Inputs, 2, H), N.mul(Reset, part(N, Own, 2, H))));
    State = Update ? N.add(N.mul(N.sub(N.like(1, Update), Update), New),
                           N.mul(Update, State))
                   : Value();
    return;
  }
  Value Sum = N.add(Inputs, Own);
  if (C == Cell::Lstm) {
    Value In = Sigmoid(part(N, Sum, 0, H)),
          Forget = Sigmoid(part(N, Sum, 1, H));
    Value New = Tanh(part(N, Sum, 2, H)), Out = Sigmoid(part(N, Sum, 3, H));
    Memory = N.add(N.mul(Forget, Memory), N.mul(In, New));
    State = N.mul(Out, Tanh(Memory));
    if (L.Projection)
      State = N.matmul(State, N.transpose(L.Projection, {1, 0}));
    return;
  }
  State = C == Cell::Tanh ? Tanh(Sum) : N.unary<ReluOp>(Sum);
}

static Track run(NodeImport &N, Cell C, const Layer &L, Value X, Value State,
                 Value Memory, bool Backwards) {
  Value All = N.matmul(X, N.transpose(L.W, {1, 0}));
  if (L.InputBias)
    All = N.add(All, L.InputBias);
  Track T;
  T.State = State;
  T.Memory = Memory;
  int64_t Steps = N.dims(X)[0].asConstant().value_or(0);
  T.Outputs.resize(static_cast<size_t>(Steps));
  for (int64_t I = 0; I < Steps && All; ++I) {
    int64_t At = Backwards ? Steps - 1 - I : I;
    Value Inputs = N.sliceAxis(All, 0, At, 1);
    if (!Inputs || !T.State)
      return {};
    Inputs = N.reshape(Inputs, N.dims(Inputs).drop_front());
    step(N, C, L, Inputs, T.State, T.Memory);
    T.Outputs[static_cast<size_t>(At)] = N.unsqueeze(T.State, {0});
  }
  return T;
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
  std::optional<int64_t> Steps = X ? N.dims(X)[0].asConstant() : std::nullopt;
  if (!Steps || *Steps < 1 || *Steps > MostSteps) {
    N.unsupported("a recurrent layer over " +
                  (X ? N.dims(X)[0].str() : std::string("?")) +
                  " steps; kpc takes a known number up to " +
                  std::to_string(MostSteps));
    return;
  }
  SmallVector<Value> States, Memories;
  for (int64_t I = 0; I < Layers; ++I) {
    SmallVector<Track> Tracks;
    for (int64_t D = 0; D < Ways; ++D) {
      int64_t At = I * Ways + D;
      Value *P = &Params[static_cast<size_t>(At) * Each];
      Layer L{P[0], P[1], Biases ? P[2] : Value(), Biases ? P[3] : Value()};
      if (Projects)
        L.Projection = P[Each - 1];
      L.Hidden =
          N.dims(Projects ? L.Projection : L.R)[1].asConstant().value_or(0);
      auto Plane = [&](Value V) {
        V = N.sliceAxis(V, 0, At, 1);
        return V ? N.reshape(V, N.dims(V).drop_front()) : V;
      };
      Tracks.push_back(run(N, C, L, X, Plane(Start[0]),
                           C == Cell::Lstm ? Plane(Start[1]) : Value(),
                           D == 1));
      if (!Tracks.back().State)
        return N.give();
      States.push_back(N.unsqueeze(Tracks.back().State, {0}));
      if (C == Cell::Lstm)
        Memories.push_back(N.unsqueeze(Tracks.back().Memory, {0}));
    }
    SmallVector<Value> Sides;
    for (Track &T : Tracks)
      Sides.push_back(N.concat(T.Outputs, 0));
    X = N.concat(Sides, 2);
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
  Layer L{N.tensor("w_ih"), N.tensor("w_hh"), N.optionalTensor("b_ih"),
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
  constexpr std::string_view Known = "a known number of steps up to 256";
  static const Rule Rows[] = {
      {"gru_cell.default", cell<Cell::Gru>},
      {"lstm_cell.default", cell<Cell::Lstm>},
      {"rnn_relu_cell.default", cell<Cell::Relu>},
      {"rnn_tanh_cell.default", cell<Cell::Tanh>},
      {"gru.input", recurrent<Cell::Gru>, InPlace::No, Known},
      {"lstm.input", recurrent<Cell::Lstm>, InPlace::No, Known},
      {"rnn_relu.input", recurrent<Cell::Relu>, InPlace::No, Known},
      {"rnn_tanh.input", recurrent<Cell::Tanh>, InPlace::No, Known},
  };
  return Rows;
}

} // namespace kpc::torch
