//===- Recurrent.cpp - Import of RNN, GRU and LSTM ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Recurrent layers are loops over time, short ones unrolled. The inputs' part
/// of all steps is one matrix product; each step adds the state's part.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "dialects/graph/GraphRecurrent.h"

using namespace kpc::graph;
using mlir::Block;
using mlir::OpBuilder;
using mlir::Operation;
using mlir::ValueRange;

namespace kpc::onnx {

namespace {

/// Steps that are unrolled at most; more are a loop. Kernels of one step are
/// then merged with those of the next.
constexpr int64_t MostUnrolled = 16;

using Activation = Value (*)(NodeImport &, Value);

Value sigmoid(NodeImport &N, Value X) { return N.unary<SigmoidOp>(X); }
Value tanh(NodeImport &N, Value X) { return N.unary<TanhOp>(X); }
Value relu(NodeImport &N, Value X) { return N.unary<ReluOp>(X); }

struct Layer {
  Value X, W, R, Bias, State, Cell, Peep, Lengths;
  int64_t Directions = 1, Hidden = 0, Gates = 1;
  Expr Steps, Batch;
  std::string Direction;
  bool BatchFirst = false, LinearBeforeReset = false;
  double Clip = 0;
  std::vector<Activation> Functions; ///< per direction
};

/// What one direction computes.
struct Track {
  Value Outputs; ///< by time
  Value State, Cell;
};

Value plane(NodeImport &N, Value V, const Expr &I) {
  if (!V)
    return {};
  Dims Sizes(N.dims(V).drop_front());
  return N.reshape(N.sliceAxis(V, 0, I, 1), Sizes);
}

/// The `I`-th of equal parts of the last axis.
Value part(NodeImport &N, Value V, int64_t I, int64_t Size) {
  return V ? N.sliceAxis(V, N.rank(V) - 1, I * Size, Size) : V;
}

Value clip(NodeImport &N, const Layer &L, Value V) {
  if (L.Clip <= 0 || !V)
    return V;
  return N.min(N.max(V, N.like(-L.Clip, V)), N.like(L.Clip, V));
}

} // namespace

/// Activation names, three, two or one a direction.
static bool readActivations(NodeImport &N, Layer &L,
                            std::vector<Activation> Defaults) {
  size_t Each = Defaults.size();
  for (int64_t D = 0; D < L.Directions; ++D)
    L.Functions.insert(L.Functions.end(), Defaults.begin(), Defaults.end());
  N.ignoreAttribute("activations");
  auto It = N.node().Attributes.find("activations");
  if (It == N.node().Attributes.end())
    return true;
  for (std::string_view Name : {"activation_alpha", "activation_beta"})
    if (N.hasAttribute(Name)) {
      N.unsupported("attribute '" + std::string(Name) + "'");
      return false;
    }
  const std::vector<std::string> &Names = It->second.Strings;
  for (size_t I = 0; I < Names.size() && I < L.Functions.size(); ++I) {
    if (Names[I] == "Sigmoid")
      L.Functions[I] = sigmoid;
    else if (Names[I] == "Tanh")
      L.Functions[I] = tanh;
    else if (Names[I] == "Relu")
      L.Functions[I] = relu;
    else {
      N.unsupported("the activation '" + printable(Names[I]) + "'");
      return false;
    }
  }
  if (Names.size() != Each * static_cast<size_t>(L.Directions))
    N.fail(Code::ImportAttributeValue, "attribute 'activations' has " +
                                           std::to_string(Names.size()) +
                                           " names");
  return !N.bad();
}

/// Whether an optional input has the dims that it should have; reports if not.
/// Names in the dims become those that are wanted.
static bool hasDims(NodeImport &N, Value V, std::string_view Name,
                    ArrayRef<Expr> Wanted) {
  if (!V)
    return true;
  bool Fits = static_cast<size_t>(N.rank(V)) == Wanted.size();
  for (size_t I = 0; Fits && I < Wanted.size(); ++I) {
    // An input before may have given a name in `Wanted` another size.
    Fits = N.dims(V)[I] == N.current(Wanted[I]) ||
           N.unify(N.current(Wanted[I]), N.dims(V)[I]);
  }
  if (!Fits)
    N.fail(static_cast<size_t>(N.rank(V)) == Wanted.size() ? Code::ImportShape
                                                           : Code::ImportRank,
           "input " + std::string(Name) + " is " + dimsText(N.dims(V)) +
               ", but should be " + dimsText(Wanted));
  return Fits;
}

/// Checks the inputs that may be left out, as the others are known.
static bool readOptionalInputs(NodeImport &N, Layer &L) {
  Expr Directions(L.Directions), Hidden(L.Hidden), Batch = N.dims(L.X)[1];
  Dims State = L.BatchFirst ? Dims{Batch, Directions, Hidden}
                            : Dims{Directions, Batch, Hidden};
  return hasDims(N, L.Bias, "B", {Directions, Expr(2 * L.Gates * L.Hidden)}) &&
         hasDims(N, L.Lengths, "sequence_lens", {Batch}) &&
         hasDims(N, L.State, "initial_h", State) &&
         hasDims(N, L.Cell, "initial_c", State) &&
         hasDims(N, L.Peep, "P", {Directions, Expr(3 * L.Hidden)});
}

static std::optional<Layer> readLayer(NodeImport &N, int64_t Gates,
                                      std::vector<Activation> Defaults) {
  Layer L;
  L.Gates = Gates;
  L.Direction = N.stringAttribute("direction", "forward");
  L.BatchFirst = N.flagAttribute("layout");
  L.Clip = N.floatAttribute("clip", 0);
  L.Hidden = N.intAttribute("hidden_size", 0);
  N.ignoreAttribute("output_sequence");
  L.X = N.input(0);
  L.W = N.input(1);
  L.R = N.input(2);
  L.Bias = N.optionalInput(3);
  L.Lengths = N.optionalInput(4);
  L.State = N.optionalInput(5);
  L.Cell = N.optionalInput(6);
  L.Peep = N.optionalInput(7);
  if (N.bad())
    return std::nullopt;
  if (L.Direction != "forward" && L.Direction != "reverse" &&
      L.Direction != "bidirectional") {
    N.fail(Code::ImportAttributeValue,
           "attribute 'direction' is '" + printable(L.Direction) + "'");
    return std::nullopt;
  }
  L.Directions = L.Direction == "bidirectional" ? 2 : 1;
  if (N.rank(L.X) != 3 || N.rank(L.W) != 3 || N.rank(L.R) != 3) {
    N.fail(Code::ImportRank, "inputs X, W and R should have rank 3");
    return std::nullopt;
  }
  if (L.BatchFirst)
    L.X = N.transpose(L.X, {1, 0, 2});
  std::optional<int64_t> Hidden = N.dims(L.R)[2].asConstant();
  if (!Hidden || N.dims(L.R)[0] != Expr(L.Directions) ||
      N.dims(L.W)[0] != Expr(L.Directions) ||
      N.dims(L.W)[1] != Expr(*Hidden * Gates) ||
      N.dims(L.R)[1] != Expr(*Hidden * Gates)) {
    N.fail(Code::ImportShape, "weights of " + dimsText(N.dims(L.W)) + " and " +
                                  dimsText(N.dims(L.R)) + " do not fit");
    return std::nullopt;
  }
  L.Hidden = *Hidden;
  if (!readOptionalInputs(N, L))
    return std::nullopt;
  L.Steps = N.dims(L.X)[0];
  L.Batch = N.dims(L.X)[1];
  if (!readActivations(N, L, std::move(Defaults)))
    return std::nullopt;
  return L;
}

/// A start state: the input's plane, or zeros.
static Value startState(NodeImport &N, const Layer &L, Value Given,
                        int64_t Direction) {
  if (!Given)
    return N.full(0, {L.Batch, Expr(L.Hidden)}, N.element(L.X));
  if (L.BatchFirst)
    Given = N.transpose(Given, {1, 0, 2});
  return plane(N, Given, Direction);
}

/// One step of a cell: from the inputs' part, the state and the cell to the
/// next state and cell.
using StepFunction = void (*)(NodeImport &, const Layer &, int64_t Direction,
                              Value Inputs, Value &State, Value &Cell);

namespace {
/// One direction over time.
struct Run {
  NodeImport &N;
  const Layer &L;
  int64_t Direction;
  StepFunction Step;
  Value All;     ///< [steps, batch, gates*hidden]: the inputs' part
  Value Lengths; ///< [batch, 1]; null: all sequences are whole

  bool isBackwards() const {
    return L.Direction == "reverse" || Direction == 1;
  }
  /// The `I`-th step: takes state and cell to the next, and gives the output.
  Value step(const Expr &I, Value &State, Value &Cell) const;
  Track unrolled(int64_t Steps, Value State, Value Cell) const;
  Track loop(Value State, Value Cell) const;
};
} // namespace

Value Run::step(const Expr &I, Value &State, Value &Cell) const {
  Expr At = isBackwards() ? L.Steps - 1 - I : I;
  Value OldState = State, OldCell = Cell;
  Step(N, L, Direction, plane(N, All, At), State, Cell);
  if (!Lengths)
    return State;
  // Behind a sequence's end the state stays and the output is zero.
  Value Inside = N.compare(Predicate::gt, Lengths, N.sizeScalar(At, N.i64()));
  State = N.select(Inside, State, OldState);
  Cell = N.select(Inside, Cell, OldCell);
  return N.select(Inside, State, N.like(0, State));
}

Track Run::unrolled(int64_t Steps, Value State, Value Cell) const {
  SmallVector<Value> Outputs(static_cast<size_t>(Steps));
  for (int64_t I = 0; I < Steps; ++I)
    Outputs[static_cast<size_t>(isBackwards() ? Steps - 1 - I : I)] =
        N.unsqueeze(step(I, State, Cell), {0});
  return {N.wants(0) ? N.concat(Outputs, 0) : Value(), State, Cell};
}

Track Run::loop(Value State, Value Cell) const {
  bool Collects = N.wants(0);
  SmallVector<Value> Inits{State};
  if (Cell)
    Inits.push_back(Cell);
  auto Results = N.importer().loop(
      N, L.Steps, Inits, SmallVector<bool>(Collects ? 1 : 0, isBackwards()),
      [&](const Expr &I,
          ArrayRef<Value> Carried) -> std::optional<SmallVector<Value>> {
        Value NextState = Carried.front();
        Value NextCell = Cell ? Carried.back() : Value();
        Value Output = step(I, NextState, NextCell);
        SmallVector<Value> Yielded{NextState};
        if (Cell)
          Yielded.push_back(NextCell);
        if (Collects)
          Yielded.push_back(Output);
        if (llvm::is_contained(Yielded, Value()))
          return std::nullopt;
        return Yielded;
      });
  if (!Results)
    return {};
  return {Collects ? Results->back() : Value(), Results->front(),
          Cell ? (*Results)[1] : Value()};
}

/// [steps, batch, in] * [in, gates*hidden], and the inputs' biases.
static Value inputsPart(NodeImport &N, const Layer &L, int64_t Direction) {
  Value All = N.matmul(L.X, N.transpose(plane(N, L.W, Direction), {1, 0}));
  if (Value Bias = plane(N, L.Bias, Direction))
    All = N.add(All, part(N, Bias, 0, L.Gates * L.Hidden));
  return All;
}

namespace {
/// What a layer gives: [steps, batch, directions, hidden], and the last state
/// and cell of [directions, batch, hidden].
struct Given {
  Value Outputs, State, Cell;
};
/// What it begins with: the inputs' part of each direction, and states and
/// cells of all.
struct Begun {
  SmallVector<Value> Inputs;
  SmallVector<Value> States, Cells;
  Value Lengths; ///< [batch], i64
};
} // namespace

static Track runDirection(NodeImport &N, const Layer &L, const Begun &Start,
                          int64_t Direction, StepFunction Step) {
  auto I = static_cast<size_t>(Direction);
  Value Lengths = Start.Lengths ? N.unsqueeze(Start.Lengths, {1}) : Value();
  Run R{N, L, Direction, Step, Start.Inputs[I], Lengths};
  std::optional<int64_t> Steps = L.Steps.asConstant();
  return Steps && *Steps >= 1 && *Steps <= MostUnrolled
             ? R.unrolled(*Steps, Start.States[I], Start.Cells[I])
             : R.loop(Start.States[I], Start.Cells[I]);
}

/// The values of all directions along a new axis.
static Value joined(NodeImport &N, ArrayRef<Value> Each, int64_t Axis) {
  SmallVector<Value> All;
  for (Value V : Each)
    All.push_back(N.unsqueeze(V, {Axis}));
  return N.concat(All, Axis);
}

/// Step by step, in loops or unrolled.
static Given runSteps(NodeImport &N, const Layer &L, const Begun &Start,
                      StepFunction Step, bool NeedsAll) {
  SmallVector<Value> Outputs, States, Cells;
  for (int64_t D = 0; D < L.Directions; ++D) {
    Track T = runDirection(N, L, Start, D, Step);
    Outputs.push_back(T.Outputs);
    States.push_back(T.State);
    Cells.push_back(T.Cell);
  }
  Given G;
  if (N.wants(0))
    G.Outputs = joined(N, Outputs, 2);
  if (NeedsAll || N.wants(1))
    G.State = joined(N, States, 0);
  if (Cells.front() && (NeedsAll || N.wants(2)))
    G.Cell = joined(N, Cells, 0);
  return G;
}

/// The kind of cell that GPUs have a kernel of all steps for.
static std::optional<CellKind> kindOf(NodeImport &N, const Layer &L) {
  std::vector<Activation> Lstm{sigmoid, tanh, tanh}, Gru{sigmoid, tanh};
  auto Are = [&](const std::vector<Activation> &Wanted) {
    for (size_t I = 0; I < L.Functions.size(); ++I)
      if (L.Functions[I] != Wanted[I % Wanted.size()])
        return false;
    return true;
  };
  // Where y is not asked for, the loops do not collect it.
  if (L.Clip > 0 || L.Peep || !N.wants(0) || !N.isFloat(L.X) ||
      N.element(L.X).isF64())
    return std::nullopt;
  if (L.Gates == 4 && Are(Lstm))
    return CellKind::lstm;
  // Otherwise the reset gate multiplies the state, of which blocks need all.
  if (L.Gates == 3 && L.LinearBeforeReset && Are(Gru))
    return CellKind::gru;
  if (L.Gates == 1 && Are({tanh}))
    return CellKind::tanh;
  if (L.Gates == 1 && Are({relu}))
    return CellKind::relu;
  return std::nullopt;
}

/// The inputs' part with those of the state's biases that only add to it.
static Value withStateBias(NodeImport &N, const Layer &L, int64_t Direction,
                           Value Inputs) {
  Value Bias = plane(N, L.Bias, Direction);
  if (!Bias)
    return Inputs;
  int64_t All = L.Gates * L.Hidden;
  Value Of = N.sliceAxis(Bias, 0, All, All);
  if (L.Gates == 3)
    Of = N.concat({N.sliceAxis(Bias, 0, All, 2 * L.Hidden),
                   N.full(0, {Expr(L.Hidden)}, N.element(L.X))},
                  0);
  return N.add(Inputs, Of);
}

/// The layer as one op, whose body are the steps.
static Given runAsOne(NodeImport &N, const Layer &L, const Begun &Start,
                      CellKind Kind, StepFunction Step) {
  SmallVector<Value> Xs;
  SmallVector<bool> Reversed;
  for (int64_t D = 0; D < L.Directions; ++D) {
    Xs.push_back(withStateBias(N, L, D, Start.Inputs[static_cast<size_t>(D)]));
    Reversed.push_back(D == 1 || L.Direction == "reverse");
  }
  Value State = joined(N, Start.States, 0),
        Cell = Kind == CellKind::lstm ? joined(N, Start.Cells, 0) : Value(),
        Bias;
  if (Kind == CellKind::gru && L.Bias)
    Bias = N.sliceAxis(L.Bias, 1, 5 * L.Hidden, L.Hidden);
  if (N.bad())
    return {};
  OpBuilder &B = N.builder();
  Block *Here = B.getInsertionBlock();
  Operation *Before = B.getInsertionPoint() == Here->begin()
                          ? nullptr
                          : &*std::prev(B.getInsertionPoint());
  Given Body = runSteps(N, L, Start, Step, /*NeedsAll=*/true);
  if (N.bad() || !Body.Outputs || !Body.State)
    return {};
  SmallVector<Value> Results{Body.Outputs, Body.State};
  if (Body.Cell)
    Results.push_back(Body.Cell);
  auto Op = RecurrentOp::create(
      B, N.loc(), llvm::to_vector(ValueRange(Results).getTypes()), Kind, Xs,
      L.R, Bias, Start.Lengths, State, Cell, Reversed);
  Block *Inside = new Block;
  Op.getBody().push_back(Inside);
  Inside->getOperations().splice(Inside->end(), Here->getOperations(),
                                 Before ? std::next(Before->getIterator())
                                        : Here->begin(),
                                 Op->getIterator());
  OpBuilder AtEnd = OpBuilder::atBlockEnd(Inside);
  RecurrentYieldOp::create(AtEnd, N.loc(), Results);
  return {Op.getResult(0), Op.getResult(1),
          Body.Cell ? Op.getResult(2) : Value()};
}

static void importLayer(NodeImport &N, const Layer &L, StepFunction Step,
                        bool HasCell) {
  Begun Start;
  for (int64_t D = 0; D < L.Directions; ++D) {
    Start.Inputs.push_back(inputsPart(N, L, D));
    Start.States.push_back(startState(N, L, L.State, D));
    Start.Cells.push_back(HasCell ? startState(N, L, L.Cell, D) : Value());
  }
  if (L.Lengths)
    Start.Lengths = N.cast(L.Lengths, N.i64());
  std::optional<CellKind> Kind = kindOf(N, L);
  Given G = Kind ? runAsOne(N, L, Start, *Kind, Step)
                 : runSteps(N, L, Start, Step, /*NeedsAll=*/false);
  if (N.wants(0))
    N.result(0, N.transpose(G.Outputs, L.BatchFirst
                                           ? ArrayRef<int64_t>{1, 0, 2, 3}
                                           : ArrayRef<int64_t>{0, 2, 1, 3}));
  auto Final = [&](Value V) {
    return L.BatchFirst ? N.transpose(V, {1, 0, 2}) : V;
  };
  if (N.wants(1))
    N.result(1, Final(G.State));
  if (HasCell && N.wants(2))
    N.result(2, Final(G.Cell));
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

/// The state times the recurrent weights of gates [First, First + Count), and
/// their bias.
static Value stateProduct(NodeImport &N, const Layer &L, int64_t Direction,
                          Value State, int64_t First, int64_t Count) {
  Value R = plane(N, L.R, Direction);
  Value Rows = N.sliceAxis(R, 0, First * L.Hidden, Count * L.Hidden);
  if (!Rows)
    return {};
  Value Y = N.matmul(State, N.transpose(Rows, {1, 0}));
  if (Value Bias = plane(N, L.Bias, Direction))
    Y = N.add(Y, N.sliceAxis(Bias, 0, (L.Gates + First) * L.Hidden,
                             Count * L.Hidden));
  return Y;
}

static void rnnStep(NodeImport &N, const Layer &L, int64_t D, Value Inputs,
                    Value &State, Value &) {
  Value Sum = N.add(Inputs, stateProduct(N, L, D, State, 0, 1));
  State = L.Functions[static_cast<size_t>(D)](N, clip(N, L, Sum));
}

static void gruStep(NodeImport &N, const Layer &L, int64_t D, Value Inputs,
                    Value &State, Value &) {
  Activation F = L.Functions[static_cast<size_t>(D) * 2];
  Activation G = L.Functions[static_cast<size_t>(D) * 2 + 1];
  Value Both = N.add(part(N, Inputs, 0, 2 * L.Hidden),
                     stateProduct(N, L, D, State, 0, 2));
  Value Update = F(N, clip(N, L, part(N, Both, 0, L.Hidden)));
  Value Reset = F(N, clip(N, L, part(N, Both, 1, L.Hidden)));
  Value Own = part(N, Inputs, 2, L.Hidden);
  Value Past = L.LinearBeforeReset
                   ? N.mul(Reset, stateProduct(N, L, D, State, 2, 1))
                   : stateProduct(N, L, D, N.mul(Reset, State), 2, 1);
  Value New = G(N, clip(N, L, N.add(Own, Past)));
  // (1 - z) * h + z * H
  if (!Update)
    return;
  State =
      N.add(N.mul(N.sub(N.like(1, Update), Update), New), N.mul(Update, State));
}

static void lstmStep(NodeImport &N, const Layer &L, int64_t D, Value Inputs,
                     Value &State, Value &Cell) {
  Activation F = L.Functions[static_cast<size_t>(D) * 3];
  Activation G = L.Functions[static_cast<size_t>(D) * 3 + 1];
  Activation H = L.Functions[static_cast<size_t>(D) * 3 + 2];
  // Gates in ONNX's order: input, output, forget, cell.
  Value Sum = N.add(Inputs, stateProduct(N, L, D, State, 0, 4));
  Value Peep = plane(N, L.Peep, D);
  auto Gate = [&](int64_t I, int64_t PeepAt, Value Seen) {
    Value V = part(N, Sum, I, L.Hidden);
    if (Peep)
      V = N.add(V, N.mul(part(N, Peep, PeepAt, L.Hidden), Seen));
    return F(N, clip(N, L, V));
  };
  Value In = Gate(0, 0, Cell), Forget = Gate(2, 2, Cell);
  Value New = G(N, clip(N, L, part(N, Sum, 3, L.Hidden)));
  Cell = N.add(N.mul(Forget, Cell), N.mul(In, New));
  Value Out = Gate(1, 1, Cell);
  State = N.mul(Out, H(N, Cell));
}

static void importRnn(NodeImport &N) {
  N.expectInputs(3, 6);
  if (std::optional<Layer> L = readLayer(N, 1, {tanh}))
    importLayer(N, *L, rnnStep, /*HasCell=*/false);
}

static void importGru(NodeImport &N) {
  bool Linear = N.flagAttribute("linear_before_reset");
  N.expectInputs(3, 6);
  if (std::optional<Layer> L = readLayer(N, 3, {sigmoid, tanh})) {
    L->LinearBeforeReset = Linear;
    importLayer(N, *L, gruStep, /*HasCell=*/false);
  }
}

static void importLstm(NodeImport &N) {
  if (N.flagAttribute("input_forget"))
    N.unsupported("attribute 'input_forget' is 1");
  N.expectInputs(3, 8);
  if (N.bad())
    return;
  if (std::optional<Layer> L = readLayer(N, 4, {sigmoid, tanh, tanh}))
    importLayer(N, *L, lstmStep, /*HasCell=*/true);
}

ArrayRef<Rule> recurrentRules() {
  static const Rule Rows[] = {
      {"", "RNN", 7, Newest, importRnn},
      {"", "GRU", 7, Newest, importGru},
      {"", "LSTM", 7, Newest, importLstm},
  };
  return Rows;
}

} // namespace kpc::onnx
