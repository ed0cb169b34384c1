//===- Recurrent.cpp - Recurrent layers of all front ends -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Recurrent.h"
#include "dialects/graph/GraphRecurrent.h"

using namespace kpc::graph;
using mlir::Block;
using mlir::OpBuilder;
using mlir::Operation;
using mlir::ValueRange;

namespace kpc::frontend {

Value planeOf(Emitter &E, Value V, int64_t I) {
  if (!V)
    return {};
  Dims Sizes(Emitter::dims(V).drop_front());
  return E.reshape(E.sliceAxis(V, 0, I, 1), Sizes);
}

Value partOf(Emitter &E, Value V, int64_t I, int64_t Size) {
  return V ? E.sliceAxis(V, Emitter::rank(V) - 1, I * Size, Size) : V;
}

namespace {

/// Steps that are unrolled at most; more are a loop. Kernels of one step are
/// then merged with those of the next.
constexpr int64_t MostUnrolled = 16;

using Cells = RecurrentLayer::Cells;

/// What one direction computes.
struct Track {
  Value Outputs; ///< by time
  Value State, Memory;
};

/// The values of all directions along a new axis.
Value joined(Emitter &E, ArrayRef<Value> Each, int64_t Axis) {
  SmallVector<Value> All;
  for (Value V : Each)
    All.push_back(E.unsqueeze(V, {Axis}));
  return E.concat(All, Axis);
}

Value applied(Emitter &E, const Activation &F, Value X) {
  using Kind = Activation::Kind;
  if (!X)
    return X;
  auto Zero = [&] { return E.like(0, X); };
  switch (F.Of) {
  case Kind::Sigmoid:
    return E.unary<SigmoidOp>(X);
  case Kind::Tanh:
    return E.unary<TanhOp>(X);
  case Kind::Relu:
    return E.unary<ReluOp>(X);
  case Kind::Affine:
    return E.addScalar(E.mulScalar(X, F.Alpha), F.Beta);
  case Kind::LeakyRelu:
    return E.select(E.compare(Predicate::lt, X, Zero()),
                    E.mulScalar(X, F.Alpha), X);
  case Kind::ThresholdedRelu:
    return E.select(E.compare(Predicate::gt, X, E.like(F.Alpha, X)), X, Zero());
  case Kind::ScaledTanh:
    return E.mulScalar(E.unary<TanhOp>(E.mulScalar(X, F.Beta)), F.Alpha);
  case Kind::HardSigmoid:
    return E.min(E.max(E.addScalar(E.mulScalar(X, F.Alpha), F.Beta), Zero()),
                 E.like(1, X));
  case Kind::Elu:
    return E.select(E.compare(Predicate::lt, X, Zero()),
                    E.mulScalar(E.unary<Expm1Op>(X), F.Alpha), X);
  case Kind::Softsign:
    return E.div(X, E.addScalar(E.unary<AbsOp>(X), 1));
  case Kind::Softplus:
    // log(1 + e^x), which must not overflow.
    return E.add(E.max(X, Zero()),
                 E.unary<Log1pOp>(E.exp(E.neg(E.unary<AbsOp>(X)))));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

/// One direction over time.
struct Run {
  Emitter &E;
  const RecurrentLayer &L;
  const RecurrentWay &Way;
  LoopBuilder Loop;
  Value All;     ///< [steps, batch, gates*hidden]: the inputs' part
  Value Lengths; ///< [batch, 1]; null: all rows are whole

  Value clipped(Value V) const {
    if (L.Clip <= 0 || !V)
      return V;
    return E.min(E.max(V, E.like(-L.Clip, V)), E.like(L.Clip, V));
  }
  Value function(size_t I, Value V) const {
    return applied(E, Way.Functions[I], clipped(V));
  }
  Value stateProduct(Value State, int64_t First, int64_t Count) const;
  void rnn(Value Inputs, Value &State) const;
  void gru(Value Inputs, Value &State) const;
  void lstm(Value Inputs, Value &State, Value &Memory) const;
  Expr steps() const { return Emitter::dims(L.X)[0]; }
  /// The `I`-th step: takes state and cell to the next, and gives the output.
  Value step(const Expr &I, Value &State, Value &Memory) const;
  Track unrolled(int64_t Steps, Value State, Value Memory) const;
  Track loop(Value State, Value Memory) const;
};

/// The state times the recurrent weights of gates [First, First + Count), and
/// their bias.
Value Run::stateProduct(Value State, int64_t First, int64_t Count) const {
  Value Rows = E.sliceAxis(Way.R, 0, First * L.Hidden, Count * L.Hidden);
  if (!Rows)
    return {};
  Value Y = E.matmul(State, E.transpose(Rows, {1, 0}));
  if (Way.StateBias)
    Y = E.add(
        Y, E.sliceAxis(Way.StateBias, 0, First * L.Hidden, Count * L.Hidden));
  return Y;
}

void Run::rnn(Value Inputs, Value &State) const {
  State = function(0, E.add(Inputs, stateProduct(State, 0, 1)));
}

void Run::gru(Value Inputs, Value &State) const {
  Value Both =
      E.add(partOf(E, Inputs, 0, 2 * L.Hidden), stateProduct(State, 0, 2));
  Value Update = function(0, partOf(E, Both, 0, L.Hidden));
  Value Reset = function(0, partOf(E, Both, 1, L.Hidden));
  Value Own = partOf(E, Inputs, 2, L.Hidden);
  Value Past = L.LinearBeforeReset ? E.mul(Reset, stateProduct(State, 2, 1))
                                   : stateProduct(E.mul(Reset, State), 2, 1);
  Value New = function(1, E.add(Own, Past));
  // (1 - z) * h + z * H
  State = Update ? E.add(E.mul(E.sub(E.like(1, Update), Update), New),
                         E.mul(Update, State))
                 : Value();
}

void Run::lstm(Value Inputs, Value &State, Value &Memory) const {
  Value Sum = E.add(Inputs, stateProduct(State, 0, 4));
  auto Gate = [&](int64_t I, Value Seen) {
    Value V = partOf(E, Sum, I, L.Hidden);
    if (Way.Peep)
      V = E.add(V, E.mul(partOf(E, Way.Peep, I, L.Hidden), Seen));
    return function(0, V);
  };
  Value In = Gate(0, Memory);
  Value Forget = !L.CouplesGates ? Gate(2, Memory)
                 : In            ? E.sub(E.like(1, In), In)
                                 : Value();
  Value New = function(1, partOf(E, Sum, 3, L.Hidden));
  Memory = E.add(E.mul(Forget, Memory), E.mul(In, New));
  // What the last activation gets is not clipped.
  State = E.mul(Gate(1, Memory), applied(E, Way.Functions[2], Memory));
  if (Way.Projection)
    State = E.matmul(State, E.transpose(Way.Projection, {1, 0}));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Value Run::step(const Expr &I, Value &State, Value &Memory) const {
  Expr At = Way.Reversed ? steps() - 1 - I : I;
  Value OldState = State, OldMemory = Memory;
  Value Inputs = E.sliceAxis(All, 0, At, 1);
  if (!Inputs)
    return {};
  Inputs = E.reshape(Inputs, Dims(Emitter::dims(Inputs).drop_front()));
  if (L.Of == Cells::Rnn)
    rnn(Inputs, State);
  else if (L.Of == Cells::Gru)
    gru(Inputs, State);
  else
    lstm(Inputs, State, Memory);
  if (!Lengths)
    return State;
  // Behind a sequence's end the state stays and the output is zero.
  Value Inside = E.compare(Predicate::gt, Lengths, E.sizeScalar(At, E.i64()));
  State = E.select(Inside, State, OldState);
  Memory = E.select(Inside, Memory, OldMemory);
  return E.select(Inside, State, E.like(0, State));
}

Track Run::unrolled(int64_t Steps, Value State, Value Memory) const {
  SmallVector<Value> Outputs(static_cast<size_t>(Steps));
  for (int64_t I = 0; I < Steps; ++I)
    Outputs[static_cast<size_t>(Way.Reversed ? Steps - 1 - I : I)] =
        E.unsqueeze(step(I, State, Memory), {0});
  return {L.WantsOutputs ? E.concat(Outputs, 0) : Value(), State, Memory};
}

Track Run::loop(Value State, Value Memory) const {
  SmallVector<Value> Inits{State};
  if (Memory)
    Inits.push_back(Memory);
  auto Results = Loop(
      steps(), Inits, SmallVector<bool>(L.WantsOutputs ? 1 : 0, Way.Reversed),
      [&](const Expr &I,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
        Value NextState = Carried.front();
        Value NextMemory = Memory ? Carried.back() : Value();
        Value Output = step(I, NextState, NextMemory);
        SmallVector<Value> Yielded{NextState};
        if (Memory)
          Yielded.push_back(NextMemory);
        if (L.WantsOutputs)
          Yielded.push_back(Output);
        if (llvm::is_contained(Yielded, Value()))
          return std::nullopt;
        return Yielded;
      });
  if (!Results)
    return {};
  return {L.WantsOutputs ? Results->back() : Value(), Results->front(),
          Memory ? (*Results)[1] : Value()};
}

/// [steps, batch, in] * [in, gates*hidden], and the inputs' biases.
Value inputsPart(Emitter &E, const RecurrentLayer &L, const RecurrentWay &Way) {
  Value All = E.matmul(L.X, E.transpose(Way.W, {1, 0}));
  return Way.InputBias ? E.add(All, Way.InputBias) : All;
}

/// Step by step, in loops or unrolled.
RecurrentResults runSteps(Emitter &E, const RecurrentLayer &L,
                          ArrayRef<Value> Inputs, Value Lengths,
                          LoopBuilder Loop, bool NeedsAll) {
  SmallVector<Value> Outputs, States, Memories;
  for (auto [I, Way] : llvm::enumerate(L.Ways)) {
    auto At = static_cast<int64_t>(I);
    Run R{E,    L,         Way,
          Loop, Inputs[I], Lengths ? E.unsqueeze(Lengths, {1}) : Value()};
    Value State = planeOf(E, L.State, At), Memory = planeOf(E, L.Memory, At);
    if (!R.All || !State || (L.Memory && !Memory))
      return {};
    std::optional<int64_t> Steps = R.steps().asConstant();
    Track T = Steps && *Steps >= 1 && *Steps <= MostUnrolled
                  ? R.unrolled(*Steps, State, Memory)
                  : R.loop(State, Memory);
    Outputs.push_back(T.Outputs);
    States.push_back(T.State);
    Memories.push_back(T.Memory);
  }
  RecurrentResults G;
  if (L.WantsOutputs)
    G.Outputs = joined(E, Outputs, 2);
  if (NeedsAll || L.WantsState)
    G.State = joined(E, States, 0);
  if (L.Memory && (NeedsAll || L.WantsMemory))
    G.Memory = joined(E, Memories, 0);
  return G;
}

//===----------------------------------------------------------------------===//
// Layers that GPUs have a kernel for
//===----------------------------------------------------------------------===//

/// The kind of cell that GPUs have a kernel of all steps for.
std::optional<CellKind> kindOf(const RecurrentLayer &L) {
  using Kind = Activation::Kind;
  auto Are = [&](ArrayRef<Kind> Wanted) {
    return llvm::all_of(L.Ways, [&](const RecurrentWay &Way) {
      for (auto [F, K] : llvm::zip(Way.Functions, Wanted))
        if (F.Of != K)
          return false;
      return !Way.Peep && !Way.Projection;
    });
  };
  // Where y is not asked for, the loops do not collect it.
  if (L.Clip > 0 || L.CouplesGates || !L.WantsOutputs ||
      !Emitter::isFloat(L.X) || Emitter::element(L.X).isF64())
    return std::nullopt;
  if (L.Of == Cells::Lstm && Are({Kind::Sigmoid, Kind::Tanh, Kind::Tanh}))
    return CellKind::lstm;
  // Otherwise the reset gate multiplies the state, of which blocks need all.
  if (L.Of == Cells::Gru && L.LinearBeforeReset &&
      Are({Kind::Sigmoid, Kind::Tanh}))
    return CellKind::gru;
  if (L.Of == Cells::Rnn && Are({Kind::Tanh}))
    return CellKind::tanh;
  if (L.Of == Cells::Rnn && Are({Kind::Relu}))
    return CellKind::relu;
  return std::nullopt;
}

/// The inputs' part with those of the state's biases that only add to it.
Value withStateBias(Emitter &E, const RecurrentLayer &L,
                    const RecurrentWay &Way, Value Inputs) {
  Value Bias = Way.StateBias;
  if (!Bias || !Inputs)
    return Inputs;
  if (L.Of == Cells::Gru)
    Bias = E.concat({E.sliceAxis(Bias, 0, 0, 2 * L.Hidden),
                     E.full(0, {Expr(L.Hidden)}, Emitter::element(L.X))},
                    0);
  return E.add(Inputs, Bias);
}

/// The layer as one op, whose body are the steps.
RecurrentResults runAsOne(Emitter &E, const RecurrentLayer &L,
                          ArrayRef<Value> Inputs, Value Lengths,
                          LoopBuilder Loop, CellKind Kind) {
  SmallVector<Value> Xs, Weights, Biases;
  SmallVector<bool> Reversed;
  for (auto [I, Way] : llvm::enumerate(L.Ways)) {
    Xs.push_back(withStateBias(E, L, Way, Inputs[I]));
    Weights.push_back(Way.R);
    Reversed.push_back(Way.Reversed);
    if (Kind == CellKind::gru && Way.StateBias)
      Biases.push_back(E.sliceAxis(Way.StateBias, 0, 2 * L.Hidden, L.Hidden));
  }
  Value R = joined(E, Weights, 0),
        Bias = Biases.empty() ? Value() : joined(E, Biases, 0);
  if (llvm::is_contained(Xs, Value()) || !R || (!Biases.empty() && !Bias))
    return {};
  OpBuilder &B = E.builder();
  Block *Here = B.getInsertionBlock();
  Operation *Before = B.getInsertionPoint() == Here->begin()
                          ? nullptr
                          : &*std::prev(B.getInsertionPoint());
  RecurrentResults Body =
      runSteps(E, L, Inputs, Lengths, Loop, /*NeedsAll=*/true);
  if (!Body.Outputs || !Body.State || (L.Memory && !Body.Memory))
    return {};
  SmallVector<Value> Results{Body.Outputs, Body.State};
  if (Body.Memory)
    Results.push_back(Body.Memory);
  auto Op = RecurrentOp::create(
      B, E.loc(), llvm::to_vector(ValueRange(Results).getTypes()), Kind, Xs, R,
      Bias, Lengths, L.State, L.Memory, Reversed);
  Block *Inside = new Block;
  Op.getBody().push_back(Inside);
  Inside->getOperations().splice(Inside->end(), Here->getOperations(),
                                 Before ? std::next(Before->getIterator())
                                        : Here->begin(),
                                 Op->getIterator());
  OpBuilder AtEnd = OpBuilder::atBlockEnd(Inside);
  RecurrentYieldOp::create(AtEnd, E.loc(), Results);
  return {Op.getResult(0), Op.getResult(1),
          Body.Memory ? Op.getResult(2) : Value()};
}

} // namespace

RecurrentResults importRecurrent(Emitter &E, const RecurrentLayer &L,
                                 LoopBuilder Loop) {
  bool IsLstm = L.Of == Cells::Lstm;
  if (!L.X || !L.State || IsLstm != bool(L.Memory))
    return {};
  SmallVector<Value> Inputs;
  for (const RecurrentWay &Way : L.Ways) {
    if (!Way.W || !Way.R)
      return {};
    Inputs.push_back(inputsPart(E, L, Way));
  }
  Value Lengths = L.Lengths ? E.cast(L.Lengths, E.i64()) : Value();
  if (llvm::is_contained(Inputs, Value()))
    return {};
  if (std::optional<CellKind> Kind = kindOf(L))
    return runAsOne(E, L, Inputs, Lengths, Loop, *Kind);
  return runSteps(E, L, Inputs, Lengths, Loop, /*NeedsAll=*/false);
}

} // namespace kpc::frontend
