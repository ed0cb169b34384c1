//===- MicrosoftFused.cpp - Import of com.microsoft's fused operators -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ONNX Runtime's optimiser and its model builders write. Each is written
// out again: fusion is the compiler's own.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/MicrosoftFused.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Spatial.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

static constexpr std::string_view Microsoft = "com.microsoft";

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

Value gelu(NodeImport &N, Value X) {
  Value Gate = N.unary<ErfOp>(N.mulScalar(X, std::sqrt(0.5)));
  return N.mul(N.mulScalar(X, 0.5), N.addScalar(Gate, 1));
}

static Value fastGelu(NodeImport &N, Value X) {
  Value Cube = N.mul(N.mul(X, X), X);
  Value Inner = N.add(X, N.mulScalar(Cube, 0.044715));
  Value Gate = N.unary<TanhOp>(N.mulScalar(Inner, std::sqrt(2 / M_PI)));
  return N.mul(N.mulScalar(X, 0.5), N.addScalar(Gate, 1));
}

/// x, or x + bias where there is one, through a function.
template <Value (*Function)(NodeImport &, Value), size_t Least>
static void importBiased(NodeImport &N) {
  N.expectInputs(Least, 2);
  Value X = N.input(0), Bias = N.optionalInput(1);
  if (N.bad())
    return;
  N.result(0, Function(N, Bias ? N.add(X, Bias) : X));
}

static void importQuickGelu(NodeImport &N) {
  double Alpha = N.floatAttribute("alpha", 1.702F);
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (!N.bad())
    N.result(0, N.mul(X, N.unary<SigmoidOp>(N.mulScalar(X, Alpha))));
}

/// The left half of the channels, times the GELU of the right half.
static void importBiasSplitGelu(NodeImport &N) {
  N.expectInputs(2, 2);
  Value X = N.add(N.input(0), N.input(1));
  if (N.bad() || !X)
    return;
  int64_t Last = N.rank(X) - 1;
  Expr Half = N.dims(X).back().floorDiv(2);
  N.result(0, N.mul(N.sliceAxis(X, Last, 0, Half),
                    gelu(N, N.sliceAxis(X, Last, Half, Half))));
}

static void importBiasAdd(NodeImport &N) {
  N.expectInputs(3, 3);
  Value X = N.input(0), Bias = N.input(1), Skip = N.input(2);
  if (!N.bad())
    N.result(0, N.add(N.add(X, Bias), Skip));
}

static void importScaledSilu(NodeImport &N) {
  double Alpha = N.floatAttribute("alpha", 1);
  N.expectInputs(1, 2);
  Value X = N.input(0), Scale = N.optionalInput(1);
  if (N.bad())
    return;
  X = Scale ? N.mul(X, N.cast(N.reshape(Scale, {}), N.element(X)))
            : N.mulScalar(X, Alpha);
  N.result(0, N.mul(X, N.unary<SigmoidOp>(X)));
}

/// A fused activation by its name and its numbers; null after a report.
static Value activate(NodeImport &N, Value X, const std::string &Name,
                      ArrayRef<double> Given) {
  auto Number = [&](size_t I, double Default) {
    return I < Given.size() ? Given[I] : Default;
  };
  if (!X || Name.empty())
    return X;
  if (Name == "Relu")
    return N.unary<ReluOp>(X);
  if (Name == "Tanh")
    return N.unary<TanhOp>(X);
  if (Name == "Sigmoid")
    return N.unary<SigmoidOp>(X);
  if (Name == "LeakyRelu")
    return N.select(N.compare(Predicate::lt, X, N.like(0, X)),
                    N.mulScalar(X, Number(0, 0.01F)), X);
  if (Name == "Clip")
    return N.min(N.max(X, N.like(Number(0, -INFINITY), X)),
                 N.like(Number(1, INFINITY), X));
  if (Name == "HardSigmoid") {
    Value Y = N.addScalar(N.mulScalar(X, Number(0, 0.2F)), Number(1, 0.5));
    return N.min(N.max(Y, N.like(0, Y)), N.like(1, Y));
  }
  return N.fail(Code::ImportAttributeValue,
                "attribute 'activation' is '" + printable(Name) + "'");
}

//===----------------------------------------------------------------------===//
// Normalizations
//===----------------------------------------------------------------------===//

static Type wideOf(NodeImport &N, Value X) {
  Type T = N.element(X);
  return T.isF16() || T.isBF16() ? N.f32() : T;
}

Normalised normalise(NodeImport &N, Value X, Value Gamma, Value Beta,
                     int64_t Axis, double Epsilon, bool Simplified) {
  if (!X)
    return {};
  Type Stored = N.element(X), Wide = wideOf(N, X);
  Ints Axes = llvm::to_vector(llvm::seq<int64_t>(Axis, N.rank(X)));
  Normalised R;
  Value Centred = N.cast(X, Wide);
  if (!Simplified) {
    R.Mean = N.mean(Centred, Axes, true);
    Centred = N.sub(Centred, R.Mean);
  }
  Value Square = N.mean(N.mul(Centred, Centred), Axes, true);
  R.Scale = N.unary<RsqrtOp>(N.addScalar(Square, Epsilon));
  R.Y = N.mul(N.mul(Centred, R.Scale), N.cast(Gamma, Wide));
  if (Beta)
    R.Y = N.add(R.Y, N.cast(Beta, Wide));
  R.Y = N.cast(R.Y, Stored);
  return R;
}

static void importSimplifiedLayerNorm(NodeImport &N) {
  double Epsilon = N.floatAttribute("epsilon", 1e-5F);
  int64_t Axis = N.intAttribute("axis", -1);
  N.ignoreAttribute("stash_type");
  N.expectInputs(2, 2);
  Value X = N.input(0), Scale = N.input(1);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad())
    return;
  Normalised R = normalise(N, X, Scale, {}, Axis, Epsilon, true);
  N.result(0, R.Y);
  if (N.wants(1))
    N.result(1, R.Scale);
}

template <bool Simplified> static void importSkipLayerNorm(NodeImport &N) {
  double Epsilon = N.floatAttribute("epsilon", 1e-12F);
  N.expectInputs(3, Simplified ? 4 : 5);
  Value X = N.input(0), Skip = N.input(1), Gamma = N.input(2);
  Value Beta = Simplified ? Value() : N.optionalInput(3);
  Value Bias = N.optionalInput(Simplified ? 3 : 4);
  if (N.bad())
    return;
  Value Sum = N.add(X, Skip);
  if (Bias)
    Sum = N.add(Sum, Bias);
  if (!Sum)
    return;
  if (N.rank(Sum) < 1) {
    N.fail(Code::ImportRank, "input 0 is a scalar");
    return;
  }
  Normalised R =
      normalise(N, Sum, Gamma, Beta, N.rank(Sum) - 1, Epsilon, Simplified);
  N.result(0, R.Y);
  if (N.wants(1) && R.Mean)
    N.result(1, R.Mean);
  if (N.wants(2))
    N.result(2, R.Scale);
  if (N.wants(3))
    N.result(3, Sum);
}

void embed(NodeImport &N, const Embeddings &E) {
  if (N.rank(E.Ids) != 2) {
    N.fail(Code::ImportRank, "input_ids should have rank 2");
    return;
  }
  Value Place = E.Positions ? N.gather(E.Places, E.Positions, 0)
                            : N.sliceAxis(E.Places, 0, 0, N.dims(E.Ids)[1]);
  Value Sum = N.add(N.gather(E.Words, E.Ids, 0), Place);
  if (E.Segments && E.SegmentTable)
    Sum = N.add(Sum, N.gather(E.SegmentTable, E.Segments, 0));
  if (!Sum)
    return;
  N.result(0, normalise(N, Sum, E.Gamma, E.Beta, 2, E.Epsilon, false).Y);
  if (N.wants(1))
    N.result(1, E.Mask ? N.reduce(ReduceKind::sum, N.cast(E.Mask, N.i32()), {1})
                       : N.full(0, {N.dims(E.Ids)[0]}, N.i32()));
  if (N.wants(2))
    N.result(2, Sum);
}

static void importEmbedLayerNorm(NodeImport &N) {
  Embeddings E;
  E.Epsilon = N.floatAttribute("epsilon", 1e-12F);
  int64_t MaskType = N.intAttribute("mask_index_type", 0);
  N.expectInputs(7, 9);
  E.Ids = N.input(0);
  E.Segments = N.optionalInput(1);
  E.Words = N.input(2);
  E.Places = N.input(3);
  E.SegmentTable = N.optionalInput(4);
  E.Gamma = N.input(5);
  E.Beta = N.input(6);
  E.Mask = N.optionalInput(7);
  E.Positions = N.optionalInput(8);
  if (N.bad())
    return;
  if (MaskType < 0 || MaskType > 1) {
    N.fail(Code::ImportAttributeValue,
           "mask_index_type should be 0 or 1, not " + std::to_string(MaskType));
    return;
  }
  embed(N, E);
}

template <bool Skips> static void importGroupNorm(NodeImport &N) {
  double Epsilon = N.floatAttribute("epsilon", 1e-5F);
  int64_t Groups = N.requiredInt("groups");
  int64_t Activation = N.requiredInt("activation");
  bool Last = N.flagAttribute("channels_last", true);
  N.expectInputs(Skips ? 4 : 3, Skips ? 5 : 3);
  Value X = N.input(0), Gamma = N.input(1), Beta = N.input(2);
  if (N.bad())
    return;
  if (Skips) {
    Value Skip = N.input(3), Bias = N.optionalInput(4);
    if (N.bad())
      return;
    // Of every place, or one for each image and channel.
    if (N.rank(Skip) == 2)
      Skip = N.unsqueeze(Skip, {1, 2});
    X = N.add(X, Skip);
    if (Bias)
      X = N.add(X, Bias);
    if (X)
      N.result(1, X);
  }
  if (!X || N.rank(X) != 4 || Groups < 1) {
    N.fail(Code::ImportRank, "needs an input of rank 4 and positive groups");
    return;
  }
  X = Last ? channelsFirst(N, X) : X;
  Dims Sizes(N.dims(X));
  Expr Inner = Sizes[1].floorDiv(Groups);
  if (Inner * Groups != Sizes[1]) {
    N.fail(Code::ImportShape, Sizes[1].str() + " channels do not divide into " +
                                  std::to_string(Groups) + " groups");
    return;
  }
  Type Stored = N.element(X), Wide = wideOf(N, X);
  Value G = N.cast(
      N.reshape(X, {Sizes[0], Expr(Groups), Inner, Sizes[2], Sizes[3]}), Wide);
  Value Mean = N.mean(G, {2, 3, 4}, true);
  Value Centred = N.sub(G, Mean);
  Value Scale = N.unary<RsqrtOp>(
      N.addScalar(N.mean(N.mul(Centred, Centred), {2, 3, 4}, true), Epsilon));
  Dims Own = {Expr(Groups), Inner, Expr(1), Expr(1)};
  Value Y = N.mul(N.mul(Centred, Scale), N.reshape(N.cast(Gamma, Wide), Own));
  Y = N.add(Y, N.reshape(N.cast(Beta, Wide), Own));
  if (Activation == 1)
    Y = N.mul(Y, N.unary<SigmoidOp>(Y));
  Y = N.reshape(N.cast(Y, Stored), Sizes);
  N.result(0, Last ? channelsLast(N, Y) : Y);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// A matrix, or batches of them, as transA and transBatchA say.
static Value turned(NodeImport &N, Value X, bool Matrix, bool Batch) {
  int64_t Rank = N.rank(X);
  if (Rank < 2)
    return X;
  Ints Perm = llvm::to_vector(llvm::seq<int64_t>(0, Rank));
  // The first dimension follows those of the batch.
  if (Batch)
    std::rotate(Perm.begin(), Perm.begin() + 1, Perm.end() - 1);
  if (Matrix)
    std::swap(Perm[static_cast<size_t>(Rank) - 2], Perm.back());
  return N.transpose(X, Perm);
}

/// The numbers of a fused activation, as far as they are given.
static SmallVector<double> activationNumbers(NodeImport &N) {
  SmallVector<double> Numbers;
  for (const char *Name :
       {"activation_alpha", "activation_beta", "activation_gamma"})
    if (N.hasAttribute(Name))
      Numbers.push_back(N.floatAttribute(Name, 0));
  return Numbers;
}

template <bool Batches, bool Activates = false>
static void importFusedMatMul(NodeImport &N) {
  double Alpha = N.floatAttribute("alpha", 1);
  bool TransA = N.flagAttribute("transA"), TransB = N.flagAttribute("transB");
  bool BatchA = Batches && N.flagAttribute("transBatchA");
  bool BatchB = Batches && N.flagAttribute("transBatchB");
  N.expectInputs(2, 2);
  Value A = N.input(0), C = N.input(1);
  std::string Activation;
  SmallVector<double> Numbers;
  if (Activates) {
    Activation = N.stringAttribute("activation", "");
    Numbers = activationNumbers(N);
  }
  if (N.bad())
    return;
  Value Y =
      N.matmul(turned(N, A, TransA, BatchA), turned(N, C, TransB, BatchB));
  if (Alpha != 1 && Y)
    Y = N.mulScalar(Y, Alpha);
  N.result(0, activate(N, Y, Activation, Numbers));
}

static void importFusedGemm(NodeImport &N) {
  double Alpha = N.floatAttribute("alpha", 1),
         Beta = N.floatAttribute("beta", 1);
  bool TransA = N.flagAttribute("transA"), TransB = N.flagAttribute("transB");
  std::string Activation = N.stringAttribute("activation", "");
  SmallVector<double> Numbers = activationNumbers(N);
  N.expectInputs(2, 3);
  Value A = N.input(0), C = N.input(1), Summand = N.optionalInput(2);
  if (N.bad())
    return;
  Value Y = N.matmul(turned(N, A, TransA, false), turned(N, C, TransB, false));
  if (Alpha != 1 && Y)
    Y = N.mulScalar(Y, Alpha);
  if (Summand && Beta != 0)
    Y = N.add(Y, Beta != 1 ? N.mulScalar(Summand, Beta) : Summand);
  N.result(0, activate(N, Y, Activation, Numbers));
}

static void importGemmFastGelu(NodeImport &N) {
  N.expectInputs(2, 3);
  Value X = N.input(0), W = N.input(1), Bias = N.optionalInput(2);
  if (N.bad())
    return;
  Value Y = N.matmul(X, W);
  Y = fastGelu(N, Bias ? N.add(Y, Bias) : Y);
  N.result(0, Y);
}

/// Convolutions with the epilogues that ONNX Runtime fuses into them.
template <bool ChannelsLast> static void importFusedConv(NodeImport &N) {
  int64_t Groups = N.intAttribute("group", 1);
  std::string Activation = N.stringAttribute("activation", "");
  std::vector<double> Numbers =
      N.floatsAttribute("activation_params").value_or(std::vector<double>());
  N.expectInputs(2, 4);
  Value X = N.input(0), W = N.input(1), Bias = N.optionalInput(2),
        Summand = N.optionalInput(3);
  if (N.bad())
    return;
  if (N.rank(X) < 3 || N.rank(W) != N.rank(X)) {
    N.fail(Code::ImportRank, "input and weights have the ranks " +
                                 std::to_string(N.rank(X)) + " and " +
                                 std::to_string(N.rank(W)));
    return;
  }
  // The optimiser turns the weights of NhwcConv as well: [O, k…, C/g].
  if (N.node().Op == "NhwcConv" &&
      N.dims(W).back() * Groups == N.dims(X).back()) {
    Ints Perm = {0, N.rank(W) - 1};
    for (int64_t I = 1; I < N.rank(W) - 1; ++I)
      Perm.push_back(I);
    W = N.transpose(W, Perm);
  }
  std::optional<Ints> Kernel = kernelShape(N, N.dims(W).drop_front(2));
  ArrayRef<Expr> Sizes = ChannelsLast ? N.dims(X).drop_front(1).drop_back(1)
                                      : N.dims(X).drop_front(2);
  std::optional<Spatial> S;
  if (Kernel)
    S = spatialAttributes(N, *Kernel, Sizes);
  if (!S)
    return;
  Value Rows = underWindows(N, ChannelsLast ? X : channelsLast(N, X), *S);
  Value Y = N.conv(Rows, kernelLayout(N, W), S->Stride, S->Dilation, S->Low,
                   S->High, Groups);
  if (Bias)
    Y = N.add(Y, Bias);
  if (!ChannelsLast)
    Y = channelsFirst(N, Y);
  if (Summand)
    Y = N.add(Y, Summand);
  N.result(0, activate(N, Y, Activation, Numbers));
}

static void importCDist(NodeImport &N) {
  std::string Metric = N.stringAttribute("metric", "sqeuclidean");
  N.expectInputs(2, 2);
  Value A = N.input(0), C = N.input(1);
  if (N.bad())
    return;
  if (N.rank(A) != 2 || N.rank(C) != 2 ||
      (Metric != "sqeuclidean" && Metric != "euclidean")) {
    N.fail(
        Code::ImportAttributeValue,
        "needs two matrices, and the metric euclidean or sqeuclidean, not '" +
            printable(Metric) + "'");
    return;
  }
  Value Off = N.sub(N.unsqueeze(A, {1}), N.unsqueeze(C, {0}));
  Value Y = N.reduce(ReduceKind::sum, N.mul(Off, Off), {2});
  N.result(0, Metric == "euclidean" ? N.sqrt(Y) : Y);
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

static void importBiasSoftmax(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", 1);
  // How the bias broadcasts, which its sizes say as well.
  N.ignoreAttribute("is_inner_broadcast");
  N.ignoreAttribute("softmax_axis");
  N.ignoreAttribute("broadcast_axis");
  N.expectInputs(2, 2);
  Value X = N.input(0), Bias = N.input(1);
  if (N.bad())
    return;
  Value Sum = N.add(X, Bias);
  if (!Sum)
    return N.result(0, Sum);
  Ints Axes;
  for (int64_t I = N.frontAxis(Axis, N.rank(Sum)); I < N.rank(Sum); ++I)
    Axes.push_back(I);
  if (!N.bad())
    N.result(0, N.softmax(Sum, Axes, /*Logarithm=*/false));
}

/// Nothing is dropped when a model is run.
static void importBiasDropout(NodeImport &N) {
  N.ignoreAttribute("seed");
  N.expectInputs(2, 5);
  Value X = N.input(0), Bias = N.input(1), Residual = N.optionalInput(2);
  if (N.bad())
    return;
  if (N.hasInput(4)) {
    auto Training = N.knownInts(4, "training_mode");
    if (!Training)
      return;
    if (!Training->empty() && Training->front()) {
      N.unsupported("drops elements, as in training");
      return;
    }
  }
  Value Y = N.add(X, Bias);
  N.result(0, Residual ? N.add(Y, Residual) : Y);
  if (N.wants(1) && Y)
    N.result(1, N.full(1, N.dims(Y), N.i1()));
}

static void importExpandDims(NodeImport &N) {
  N.expectInputs(2, 2);
  Value X = N.input(0);
  std::optional<std::vector<int64_t>> Axis = N.knownInts(1, "axis");
  if (N.bad() || !Axis)
    return;
  if (Axis->size() != 1) {
    N.fail(Code::ImportShape, "the axis should be one number");
    return;
  }
  int64_t Front = N.frontAxis(Axis->front(), N.rank(X) + 1);
  if (!N.bad())
    N.result(0, N.unsqueeze(X, {Front}));
}

static void importIsAllFinite(NodeImport &N) {
  bool Infinite = N.flagAttribute("isinf_only");
  bool Nan = N.flagAttribute("isnan_only");
  N.expectInputs(1, 64);
  Value All;
  for (size_t I = 0; I < N.inputCount() && !N.bad(); ++I) {
    Value X = N.input(I);
    if (!X)
      return;
    Value IsNan = N.build(IsNanOp::getOperationName(), {X}, {});
    Value IsInf =
        N.compare(Predicate::eq, N.unary<AbsOp>(X), N.like(INFINITY, X));
    Value Bad = Infinite ? IsInf : Nan ? IsNan : N.binary<OrOp>(IsNan, IsInf);
    Ints Axes = llvm::to_vector(llvm::seq<int64_t>(0, N.rank(X)));
    Value Count = N.reduce(ReduceKind::sum, N.cast(Bad, N.i64()), Axes);
    All = All ? N.add(All, Count) : Count;
  }
  if (!N.bad() && All)
    N.result(0, N.compare(Predicate::eq, All, N.scalarInt(0, N.i64())));
}

/// Products of complex numbers, whose parts are the last dimension.
template <bool Conjugate> static void importComplexMul(NodeImport &N) {
  N.expectInputs(2, 2);
  Value A = N.input(0), C = N.input(1);
  if (N.bad())
    return;
  if (N.rank(A) < 1 || N.rank(C) < 1 || N.dims(A).back() != Expr(2) ||
      N.dims(C).back() != Expr(2)) {
    N.fail(Code::ImportShape, "the operands should end in real and imaginary "
                              "parts");
    return;
  }
  auto PartOf = [&](Value V, int64_t I) {
    return N.sliceAxis(V, N.rank(V) - 1, I, 1);
  };
  Value Ar = PartOf(A, 0), Ai = PartOf(A, 1), Cr = PartOf(C, 0),
        Ci = PartOf(C, 1);
  Value P = N.mul(Ai, Ci), Q = N.mul(Ar, Ci);
  Value Real = Conjugate ? N.add(N.mul(Ar, Cr), P) : N.sub(N.mul(Ar, Cr), P);
  Value Imaginary =
      Conjugate ? N.sub(N.mul(Ai, Cr), Q) : N.add(N.mul(Ai, Cr), Q);
  if (Real && Imaginary)
    N.result(0, N.concat({Real, Imaginary}, N.rank(Real) - 1));
}

/// As the operator of ONNX that it became; it has one meaning of all opsets.
template <const char *Op> static void importAsOnnx(NodeImport &N) {
  findRule("", Op, Newest)->Import(N);
}
static constexpr char Trilu[] = "Trilu", GatherNd[] = "GatherND",
                      GridSample[] = "GridSample";

ArrayRef<Rule> microsoftFusedRules() {
  static const Rule Rows[] = {
      {"", "SimplifiedLayerNormalization", 1, Newest,
       importSimplifiedLayerNorm},
      {Microsoft, "Gelu", 1, 1, importBiased<gelu, 1>},
      {Microsoft, "FastGelu", 1, 1, importBiased<fastGelu, 1>},
      {Microsoft, "BiasGelu", 1, 1, importBiased<gelu, 2>},
      {Microsoft, "QuickGelu", 1, 1, importQuickGelu},
      {Microsoft, "BiasSplitGelu", 1, 1, importBiasSplitGelu},
      {Microsoft, "BiasAdd", 1, 1, importBiasAdd},
      {Microsoft, "BiasDropout", 1, 1, importBiasDropout, "no training"},
      {Microsoft, "BiasSoftmax", 1, 1, importBiasSoftmax},
      {Microsoft, "ScaledSiLU", 1, 1, importScaledSilu},
      {Microsoft, "SimplifiedLayerNormalization", 1, 1,
       importSimplifiedLayerNorm},
      {Microsoft, "SkipLayerNormalization", 1, 1, importSkipLayerNorm<false>},
      {Microsoft, "SkipSimplifiedLayerNormalization", 1, 1,
       importSkipLayerNorm<true>},
      {Microsoft, "EmbedLayerNormalization", 1, 1, importEmbedLayerNorm},
      {Microsoft, "GroupNorm", 1, 1, importGroupNorm<false>},
      {Microsoft, "SkipGroupNorm", 1, 1, importGroupNorm<true>},
      {Microsoft, "FusedMatMul", 1, 1, importFusedMatMul<true>},
      {Microsoft, "FusedMatMulActivation", 1, 1, importFusedMatMul<true, true>,
       "the activations of FusedConv"},
      {Microsoft, "TransposeMatMul", 1, 1, importFusedMatMul<false>},
      {Microsoft, "FusedGemm", 1, 1, importFusedGemm},
      {Microsoft, "GemmFastGelu", 1, 1, importGemmFastGelu},
      {Microsoft, "FusedConv", 1, 1, importFusedConv<false>},
      {Microsoft, "NhwcConv", 1, 1, importFusedConv<true>},
      {Microsoft, "NhwcFusedConv", 1, 1, importFusedConv<true>},
      {Microsoft, "CDist", 1, 1, importCDist},
      {Microsoft, "ExpandDims", 1, 1, importExpandDims,
       "the axis must be known when compiling"},
      {Microsoft, "IsAllFinite", 1, 1, importIsAllFinite},
      {Microsoft, "ComplexMul", 1, 1, importComplexMul<false>},
      {Microsoft, "ComplexMulConj", 1, 1, importComplexMul<true>},
      {Microsoft, "Trilu", 1, 1, importAsOnnx<Trilu>},
      {Microsoft, "GatherND", 1, 1, importAsOnnx<GatherNd>},
      {Microsoft, "GridSample", 1, 1, importAsOnnx<GridSample>},
  };
  return Rows;
}

} // namespace kpc::onnx
