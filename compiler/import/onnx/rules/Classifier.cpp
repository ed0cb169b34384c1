//===- Classifier.cpp - Import of linear models and support vectors -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/Classifier.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Strings.h"

using namespace kpc::graph;

namespace kpc::onnx {

static constexpr std::string_view Domain = "ai.onnx.ml";

//===----------------------------------------------------------------------===//
// What models that give scores share
//===----------------------------------------------------------------------===//

std::vector<std::string> stringsAttribute(NodeImport &N, const char *Name) {
  N.ignoreAttribute(Name);
  auto It = N.node().Attributes.find(Name);
  return It == N.node().Attributes.end() ? std::vector<std::string>()
                                         : It->second.Strings;
}

std::vector<double> realsOfTensor(NodeImport &N, const Tensor &T) {
  if (std::optional<std::vector<double>> Values = T.reals())
    return *Values;
  if (std::optional<std::vector<int64_t>> Values = T.integers())
    return std::vector<double>(Values->begin(), Values->end());
  N.fail(Code::ImportElementType,
         "an attribute is a tensor of " + elementTypeName(T.Type));
  return {};
}

Value floatRows(NodeImport &N, size_t I) {
  Value X = N.input(I);
  if (!X)
    return {};
  if (!N.element(X).isF64())
    X = N.cast(X, N.f32());
  if (N.rank(X) == 1)
    X = N.unsqueeze(X, {0});
  if (N.rank(X) == 2)
    return X;
  return N.fail(Code::ImportRank, "input " + std::to_string(I) + " has rank " +
                                      std::to_string(N.rank(X)) +
                                      ", but should have 1 or 2");
}

std::optional<ClassLabels> classLabels(NodeImport &N, const char *Name) {
  ClassLabels Labels;
  Labels.Numbers = N.intsAttribute(Name).value_or(Ints());
  Labels.Names = stringsAttribute(N, "classlabels_strings");
  if (!Labels.Numbers.empty())
    Labels.Names.clear();
  if (Labels.size() > 0)
    return Labels;
  N.fail(Code::ImportAttributeMissing,
         "attribute '" + std::string(Name) + "' is missing");
  return std::nullopt;
}

/// As onnxruntime approximates the inverse of the normal distribution.
static Value probit(NodeImport &N, Value Scores) {
  Value X = N.addScalar(N.mulScalar(Scores, 2), -1);
  Value Log = N.log(N.mul(N.sub(N.like(1, X), X), N.addScalar(X, 1)));
  Value V = N.addScalar(N.mulScalar(Log, 0.5), 2 / (3.14159 * 0.147));
  Value Root = N.sqrt(N.sub(N.mul(V, V), N.mulScalar(Log, 1 / 0.147)));
  Value Size = N.sqrt(N.sub(Root, V));
  return N.mulScalar(N.mul(N.unary<SignOp>(X), Size), 1.41421356);
}

Value postTransform(NodeImport &N, Value Scores, const std::string &Name) {
  if (!Scores || Name == "NONE")
    return Scores;
  int64_t Last = N.rank(Scores) - 1;
  if (Name == "LOGISTIC")
    return N.unary<SigmoidOp>(Scores);
  if (Name == "SOFTMAX")
    return N.softmax(Scores, {Last}, /*Logarithm=*/false);
  if (Name == "SOFTMAX_ZERO") {
    // Zeros, to a tolerance, stay in proportion.
    Value Top = N.reduce(ReduceKind::max, Scores, {Last}, true);
    Value Raised = N.exp(N.sub(Scores, Top));
    Value Kept = N.mul(Scores, N.exp(N.neg(Top)));
    Value Large =
        N.compare(Predicate::gt, N.unary<AbsOp>(Scores), N.like(1e-7, Scores));
    Value E = N.select(Large, Raised, Kept);
    return N.div(E, N.reduce(ReduceKind::sum, E, {Last}, true));
  }
  if (Name == "PROBIT")
    return probit(N, Scores);
  return N.unsupported("attribute 'post_transform' is '" + printable(Name) +
                       "'");
}

void giveLabels(NodeImport &N, Value Index, const ClassLabels &Labels) {
  if (!Labels.Names.empty())
    return giveStrings(N, 0, Index, Labels.Names);
  N.result(0, N.gather(N.intVector(Labels.Numbers, N.i64()), Index, 0));
}

void giveClasses(NodeImport &N, Value Scores, const ClassLabels &Labels,
                 const std::string &Transform) {
  if (!Scores)
    return N.result(0, Value());
  Value Best = N.argReduce(ReduceKind::max, Scores, 1, /*SelectLast=*/false);
  giveLabels(N, Best, Labels);
  N.result(1, N.cast(postTransform(N, Scores, Transform), N.f32()));
}

void giveBinary(NodeImport &N, Value Score, const ClassLabels &Labels,
                const std::string &Transform, bool Shares) {
  if (!Score)
    return N.result(0, Value());
  Value Flat = N.reshape(Score, {N.dims(Score)[0]});
  Value Second = N.cast(
      N.compare(Predicate::gt, Flat, N.like(Shares ? 0.5 : 0, Flat)), N.i64());
  giveLabels(N, Second, Labels);
  // Each for itself: only the logistic function has a meaning here.
  bool Logistic = Transform == "LOGISTIC";
  Value First =
      Shares && !Logistic ? N.sub(N.like(1, Score), Score) : N.neg(Score);
  Value Both = N.concat({First, Score}, 1);
  if (Logistic)
    Both = N.unary<SigmoidOp>(Both);
  N.result(1, N.cast(Both, N.f32()));
}

//===----------------------------------------------------------------------===//
// Linear models
//===----------------------------------------------------------------------===//

/// x · coefficients' + intercepts for so many results; null after a report.
static Value linear(NodeImport &N, Value X, int64_t Results) {
  std::vector<double> Coefficients =
      N.floatsAttribute("coefficients").value_or(std::vector<double>());
  std::vector<double> Intercepts =
      N.floatsAttribute("intercepts").value_or(std::vector<double>());
  auto Count = static_cast<int64_t>(Coefficients.size());
  if (!X)
    return {};
  if (Results < 1 || Count % Results != 0 ||
      !N.unify(N.dims(X)[1], Expr(Count / Results)) ||
      (!Intercepts.empty() && int64_t(Intercepts.size()) != Results))
    return N.fail(Code::ImportShape,
                  std::to_string(Count) + " coefficients do not fit " +
                      std::to_string(Results) + " results of " +
                      N.dims(X)[1].str() + " features");
  X = N.cast(X, N.f32());
  std::vector<float> Table(Coefficients.begin(), Coefficients.end());
  Value W = N.data(
      Tensor::ofFloats("coefficients", {Results, Count / Results}, Table));
  Value Y = N.matmul(X, N.transpose(W, {1, 0}));
  return Intercepts.empty() ? Y : N.add(Y, N.floatVector(Intercepts, N.f32()));
}

static void importLinearRegressor(NodeImport &N) {
  int64_t Targets = N.intAttribute("targets", 1);
  std::string Transform = N.stringAttribute("post_transform", "NONE");
  N.expectInputs(1, 1);
  Value X = floatRows(N, 0);
  if (!N.bad())
    N.result(0, postTransform(N, linear(N, X, Targets), Transform));
}

/// The classes of one row of coefficients: the second where its score is above
/// zero, and its share is the score.
static void giveSecond(NodeImport &N, Value Score, const ClassLabels &Labels,
                       const std::string &Transform) {
  if (!Score)
    return N.result(0, Value());
  Value Flat = N.reshape(Score, {N.dims(Score)[0]});
  giveLabels(N,
             N.cast(N.compare(Predicate::gt, Flat, N.like(0, Flat)), N.i64()),
             Labels);
  Value Second = postTransform(N, Score, Transform);
  N.result(1, N.concat({N.sub(N.like(1, Second), Second), Second}, 1));
}

static void importLinearClassifier(NodeImport &N) {
  std::string Transform = N.stringAttribute("post_transform", "NONE");
  std::vector<double> Intercepts =
      N.floatsAttribute("intercepts").value_or(std::vector<double>());
  std::optional<ClassLabels> Labels = classLabels(N, "classlabels_ints");
  N.ignoreAttribute("multi_class");
  N.expectInputs(1, 1);
  Value X = floatRows(N, 0);
  if (N.bad() || !Labels)
    return;
  if (Labels->size() == 2 && Intercepts.size() == 1) {
    if (Transform != "LOGISTIC" && Transform != "PROBIT")
      Transform = "NONE"; // of one score, a row has no meaning
    return giveSecond(N, linear(N, X, 1), *Labels, Transform);
  }
  giveClasses(N, linear(N, X, static_cast<int64_t>(Labels->size())), *Labels,
              Transform);
}

//===----------------------------------------------------------------------===//
// Support vectors
//===----------------------------------------------------------------------===//

Value kernelValues(NodeImport &N, Value X, int64_t Count) {
  std::string Kind = N.stringAttribute("kernel_type", "LINEAR");
  std::vector<double> Parameters =
      N.floatsAttribute("kernel_params").value_or(std::vector<double>());
  std::vector<double> Flat =
      N.floatsAttribute("support_vectors").value_or(std::vector<double>());
  Parameters.resize(3, 0);
  auto Size = static_cast<int64_t>(Flat.size());
  if (Count < 1 || Size % Count != 0 ||
      !N.unify(N.dims(X)[1], Expr(Size / Count)))
    return N.fail(Code::ImportShape,
                  std::to_string(Size) + " numbers are not " +
                      std::to_string(Count) + " vectors of " +
                      N.dims(X)[1].str() + " features");
  std::vector<float> Table(Flat.begin(), Flat.end());
  Value Vectors =
      N.data(Tensor::ofFloats("vectors", {Count, Size / Count}, Table));
  double Gamma = Parameters[0], Offset = Parameters[1];
  if (Kind == "RBF") {
    Value Off = N.sub(N.unsqueeze(X, {1}), N.unsqueeze(Vectors, {0}));
    Value Square = N.reduce(ReduceKind::sum, N.mul(Off, Off), {2});
    return N.exp(N.mulScalar(Square, -Gamma));
  }
  Value Product = N.matmul(X, N.transpose(Vectors, {1, 0}));
  if (Kind == "LINEAR")
    return Product;
  Value Moved = N.addScalar(N.mulScalar(Product, Gamma), Offset);
  if (Kind == "POLY")
    return N.binary<PowOp>(Moved, N.like(Parameters[2], Moved));
  if (Kind == "SIGMOID")
    return N.unary<TanhOp>(Moved);
  return N.fail(Code::ImportAttributeValue,
                "attribute 'kernel_type' is '" + printable(Kind) + "'");
}

static void importSvmRegressor(NodeImport &N) {
  int64_t Supports = N.intAttribute("n_supports", 0);
  bool OneClass = N.flagAttribute("one_class");
  std::string Transform = N.stringAttribute("post_transform", "NONE");
  std::vector<double> Coefficients =
      N.floatsAttribute("coefficients").value_or(std::vector<double>());
  std::vector<double> Rho =
      N.floatsAttribute("rho").value_or(std::vector<double>{0});
  N.expectInputs(1, 1);
  Value X = floatRows(N, 0);
  if (N.bad())
    return;
  if (Supports < 1 || int64_t(Coefficients.size()) != Supports || Rho.empty()) {
    N.unsupported("needs support vectors, a coefficient for each, and rho");
    return;
  }
  X = N.cast(X, N.f32());
  Value K = kernelValues(N, X, Supports);
  Value W = N.reshape(N.floatVector(Coefficients, N.f32()),
                      {Expr(Supports), Expr(1)});
  if (!K)
    return N.result(0, K);
  Value Y = N.addScalar(N.matmul(K, W), Rho[0]);
  if (OneClass && Y)
    Y = N.select(N.compare(Predicate::gt, Y, N.like(0, Y)), N.like(1, Y),
                 N.like(-1, Y));
  N.result(0, postTransform(N, Y, Transform));
}

ArrayRef<Rule> classifierRules() {
  static const Rule Rows[] = {
      {Domain, "LinearRegressor", 1, 5, importLinearRegressor},
      {Domain, "LinearClassifier", 1, 5, importLinearClassifier},
      {Domain, "SVMRegressor", 1, 5, importSvmRegressor, "support vectors"},
  };
  return Rows;
}

} // namespace kpc::onnx
