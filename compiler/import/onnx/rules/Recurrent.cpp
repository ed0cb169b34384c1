//===- Recurrent.cpp - Import of RNN, GRU and LSTM ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Recurrent.h"
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"

using namespace kpc::graph;

namespace kpc::onnx {

using frontend::Activation;
using frontend::RecurrentLayer;
using frontend::RecurrentResults;
using frontend::RecurrentWay;

namespace {

/// What an activation is called, and the defaults of its parameters, which are
/// those of the operators of that name. Names are compared without case, as
/// onnxruntime does.
struct KnownActivation {
  std::string_view Name;
  Activation Defaults;
  bool HasAlpha, HasBeta;
};

/// What the node's inputs are, before they are taken apart by direction.
struct Given {
  Value X, W, R, Bias, Lengths, State, Cell, Peep;
  int64_t Directions = 1, Hidden = 0, Gates = 1;
  std::string Direction;
  bool BatchFirst = false;
};

} // namespace

static const KnownActivation *findActivation(llvm::StringRef Name) {
  using Kind = Activation::Kind;
  static const KnownActivation All[] = {
      {"sigmoid", {Kind::Sigmoid}, false, false},
      {"tanh", {Kind::Tanh}, false, false},
      {"relu", {Kind::Relu}, false, false},
      {"affine", {Kind::Affine, 1, 0}, true, true},
      {"leakyrelu", {Kind::LeakyRelu, 0.01}, true, false},
      {"thresholdedrelu", {Kind::ThresholdedRelu, 1}, true, false},
      {"scaledtanh", {Kind::ScaledTanh, 1, 1}, true, true},
      {"hardsigmoid", {Kind::HardSigmoid, 0.2, 0.5}, true, true},
      {"elu", {Kind::Elu, 1}, true, false},
      {"softsign", {Kind::Softsign}, false, false},
      {"softplus", {Kind::Softplus}, false, false},
  };
  for (const KnownActivation &A : All)
    if (Name.equals_insensitive(A.Name))
      return &A;
  return nullptr;
}

/// Activation names, three, two or one a direction. Their parameters are taken
/// in turn by those that have them.
static bool readActivations(NodeImport &N, RecurrentLayer &L,
                            ArrayRef<Activation::Kind> Defaults) {
  size_t Each = Defaults.size();
  for (RecurrentWay &Way : L.Ways)
    for (auto [I, K] : llvm::enumerate(Defaults))
      Way.Functions[I].Of = K;
  N.ignoreAttribute("activations");
  std::vector<double>
      Alphas =
          N.floatsAttribute("activation_alpha").value_or(std::vector<double>()),
      Betas =
          N.floatsAttribute("activation_beta").value_or(std::vector<double>());
  auto It = N.node().Attributes.find("activations");
  if (It == N.node().Attributes.end())
    return !N.bad();
  const std::vector<std::string> &Names = It->second.Strings;
  if (Names.size() != Each * L.Ways.size()) {
    N.fail(Code::ImportAttributeValue,
           "attribute 'activations' has " + std::to_string(Names.size()) +
               " names, expected " + std::to_string(Each * L.Ways.size()));
    return false;
  }
  size_t NextAlpha = 0, NextBeta = 0;
  for (auto [I, Name] : llvm::enumerate(Names)) {
    const KnownActivation *Known = findActivation(Name);
    if (!Known) {
      N.unsupported("the activation '" + printable(Name) + "'");
      return false;
    }
    Activation &F = L.Ways[I / Each].Functions[I % Each];
    F = Known->Defaults;
    if (Known->HasAlpha && NextAlpha < Alphas.size())
      F.Alpha = Alphas[NextAlpha++];
    if (Known->HasBeta && NextBeta < Betas.size())
      F.Beta = Betas[NextBeta++];
  }
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
static bool readOptionalInputs(NodeImport &N, const Given &G) {
  Expr Directions(G.Directions), Hidden(G.Hidden), Batch = N.dims(G.X)[1];
  Dims State = G.BatchFirst ? Dims{Batch, Directions, Hidden}
                            : Dims{Directions, Batch, Hidden};
  return hasDims(N, G.Bias, "B", {Directions, Expr(2 * G.Gates * G.Hidden)}) &&
         hasDims(N, G.Lengths, "sequence_lens", {Batch}) &&
         hasDims(N, G.State, "initial_h", State) &&
         hasDims(N, G.Cell, "initial_c", State) &&
         hasDims(N, G.Peep, "P", {Directions, Expr(3 * G.Hidden)});
}

/// The node's inputs, checked; none after a report.
static std::optional<Given> readInputs(NodeImport &N, int64_t Gates, Value W,
                                       Value R) {
  Given G;
  G.Gates = Gates;
  G.Direction = N.stringAttribute("direction", "forward");
  G.BatchFirst = N.flagAttribute("layout");
  G.Hidden = N.intAttribute("hidden_size", 0);
  N.ignoreAttribute("output_sequence");
  G.X = N.input(0);
  G.W = W;
  G.R = R;
  G.Bias = N.optionalInput(3);
  G.Lengths = N.optionalInput(4);
  G.State = N.optionalInput(5);
  G.Cell = N.optionalInput(6);
  G.Peep = N.optionalInput(7);
  if (N.bad())
    return std::nullopt;
  if (G.Direction != "forward" && G.Direction != "reverse" &&
      G.Direction != "bidirectional") {
    N.fail(Code::ImportAttributeValue,
           "attribute 'direction' is '" + printable(G.Direction) + "'");
    return std::nullopt;
  }
  G.Directions = G.Direction == "bidirectional" ? 2 : 1;
  if (N.rank(G.X) != 3 || N.rank(G.W) != 3 || N.rank(G.R) != 3) {
    N.fail(Code::ImportRank, "inputs X, W and R should have rank 3");
    return std::nullopt;
  }
  if (G.BatchFirst)
    G.X = N.transpose(G.X, {1, 0, 2});
  std::optional<int64_t> Hidden = N.dims(G.R)[2].asConstant();
  if (!Hidden || N.dims(G.R)[0] != Expr(G.Directions) ||
      N.dims(G.W)[0] != Expr(G.Directions) ||
      N.dims(G.W)[1] != Expr(*Hidden * Gates) ||
      N.dims(G.R)[1] != Expr(*Hidden * Gates)) {
    N.fail(Code::ImportShape, "weights of " + dimsText(N.dims(G.W)) + " and " +
                                  dimsText(N.dims(G.R)) + " do not fit");
    return std::nullopt;
  }
  G.Hidden = *Hidden;
  if (!readOptionalInputs(N, G))
    return std::nullopt;
  return G;
}

/// The start states of all directions: the input, or zeros.
static Value startState(NodeImport &N, const Given &G, Value From) {
  if (!From)
    return N.full(0, {Expr(G.Directions), N.dims(G.X)[1], Expr(G.Hidden)},
                  N.element(G.X));
  return G.BatchFirst ? N.transpose(From, {1, 0, 2}) : From;
}

static RecurrentWay readWay(NodeImport &N, const Given &G, int64_t Direction) {
  RecurrentWay Way{frontend::planeOf(N, G.W, Direction),
                   frontend::planeOf(N, G.R, Direction),
                   {},
                   {}};
  if (Value Bias = frontend::planeOf(N, G.Bias, Direction)) {
    int64_t All = G.Gates * G.Hidden;
    Way.InputBias = N.sliceAxis(Bias, 0, 0, All);
    Way.StateBias = N.sliceAxis(Bias, 0, All, All);
  }
  Way.Peep = frontend::planeOf(N, G.Peep, Direction);
  Way.Reversed = G.Direction == "reverse" || Direction == 1;
  return Way;
}

static void importLayer(NodeImport &N, RecurrentLayer L, Value W, Value R,
                        ArrayRef<Activation::Kind> Defaults) {
  bool HasCell = L.Of == RecurrentLayer::Cells::Lstm;
  std::optional<Given> G = readInputs(N, L.gates(), W, R);
  if (!G)
    return;
  L.Clip = N.floatAttribute("clip", 0);
  L.Hidden = G->Hidden;
  L.X = G->X;
  for (int64_t D = 0; D < G->Directions; ++D)
    L.Ways.push_back(readWay(N, *G, D));
  if (!readActivations(N, L, Defaults))
    return;
  L.State = startState(N, *G, G->State);
  if (HasCell)
    L.Memory = startState(N, *G, G->Cell);
  L.Lengths = G->Lengths;
  L.WantsOutputs = N.wants(0);
  L.WantsState = N.wants(1);
  L.WantsMemory = N.wants(2);
  auto Loop = [&](const Expr &Count, ArrayRef<Value> Inits,
                  ArrayRef<bool> Reversed, frontend::LoopFunction Body) {
    return N.importer().loop(N, Count, Inits, Reversed, Body);
  };
  RecurrentResults Made = frontend::importRecurrent(N, L, Loop);
  if (N.wants(0))
    N.result(0, N.transpose(Made.Outputs, G->BatchFirst
                                              ? ArrayRef<int64_t>{1, 0, 2, 3}
                                              : ArrayRef<int64_t>{0, 2, 1, 3}));
  auto Final = [&](Value V) {
    return G->BatchFirst ? N.transpose(V, {1, 0, 2}) : V;
  };
  if (N.wants(1))
    N.result(1, Final(Made.State));
  if (HasCell && N.wants(2))
    N.result(2, Final(Made.Memory));
}

static void importRnn(NodeImport &N) {
  N.expectInputs(3, 6);
  RecurrentLayer L;
  L.Of = RecurrentLayer::Cells::Rnn;
  importLayer(N, L, N.input(1), N.input(2), {Activation::Kind::Tanh});
}

static void importGru(NodeImport &N) {
  N.expectInputs(3, 6);
  RecurrentLayer L;
  L.Of = RecurrentLayer::Cells::Gru;
  L.LinearBeforeReset = N.flagAttribute("linear_before_reset");
  importLayer(N, L, N.input(1), N.input(2),
              {Activation::Kind::Sigmoid, Activation::Kind::Tanh});
}

static void importLstm(NodeImport &N, Value W, Value R) {
  RecurrentLayer L;
  L.Of = RecurrentLayer::Cells::Lstm;
  L.CouplesGates = N.flagAttribute("input_forget");
  importLayer(N, L, W, R,
              {Activation::Kind::Sigmoid, Activation::Kind::Tanh,
               Activation::Kind::Tanh});
}

static void importLstm(NodeImport &N) {
  N.expectInputs(3, 8);
  importLstm(N, N.input(1), N.input(2));
}

/// Codes [directions, K, 4 * hidden] as the weights of an LSTM. Scales and zero
/// points are one for a direction, or one for each column.
static Value weightsOfCodes(NodeImport &N, size_t Codes, size_t Scale) {
  Value W = N.input(Codes), S = N.input(Scale), Z = N.input(Scale + 1);
  if (!W || !S || !Z)
    return {};
  if (N.rank(W) != 3)
    return N.fail(Code::ImportRank, "inputs W and R should have rank 3");
  auto PerColumn = [&](Value V) -> Value {
    Dims Sizes = {N.dims(W)[0], Expr(1),
                  N.rank(V) == 2 ? N.dims(V)[1] : Expr(1)};
    if (N.rank(V) != 1 && N.rank(V) != 2)
      return N.fail(Code::ImportRank, "scales and zero points of weights "
                                      "should have rank 1 or 2");
    return N.reshape(N.cast(V, N.f32()), Sizes);
  };
  Value Scales = PerColumn(S), Zeros = PerColumn(Z);
  return N.transpose(N.mul(N.sub(N.cast(W, N.f32()), Zeros), Scales),
                     {0, 2, 1});
}

/// What it multiplies by the weights stays as it is: onnxruntime quantises it
/// in each step, which is its way to multiply and loses accuracy.
static void importDynamicQuantizeLstm(NodeImport &N) {
  N.expectInputs(12, 12);
  if (N.bad())
    return;
  Value W = weightsOfCodes(N, 1, 8), R = weightsOfCodes(N, 2, 10);
  if (W && R && !N.bad())
    importLstm(N, W, R);
}

ArrayRef<Rule> recurrentRules() {
  static const Rule Rows[] = {
      {"", "RNN", 7, Newest, importRnn},
      {"", "GRU", 7, Newest, importGru},
      {"", "LSTM", 7, Newest, importLstm},
      {"com.microsoft", "DynamicQuantizeLSTM", 1, 1, importDynamicQuantizeLstm,
       "weights are dequantised, and activations are not quantised"},
  };
  return Rows;
}

} // namespace kpc::onnx
