//===- Loss.cpp - Import of losses ----------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

using namespace kpc::graph;

namespace kpc::onnx {

enum class Reduction { None, Sum, Mean };

static std::optional<Reduction> reduction(NodeImport &N) {
  std::string Name = N.stringAttribute("reduction", "mean");
  if (Name == "none")
    return Reduction::None;
  if (Name == "sum")
    return Reduction::Sum;
  if (Name == "mean")
    return Reduction::Mean;
  N.fail(Code::ImportAttributeValue, "attribute 'reduction' is '" +
                                         printable(Name) +
                                         "', but should be none, sum or mean");
  return std::nullopt;
}

/// -x at the target classes, weighted; x is [N, C, d…], targets are [N, d…].
static void importNll(NodeImport &N, Value X) {
  std::optional<Reduction> How = reduction(N);
  bool Ignores = N.hasAttribute("ignore_index");
  int64_t Ignored = N.intAttribute("ignore_index", 0);
  N.expectInputs(2, 3);
  Value Target = N.input(1), Weight = N.optionalInput(2);
  if (N.bad() || !X)
    return;
  if (N.rank(X) < 2 || N.rank(Target) != N.rank(X) - 1) {
    N.fail(Code::ImportRank, "scores of rank " + std::to_string(N.rank(X)) +
                                 " and targets of rank " +
                                 std::to_string(N.rank(Target)) +
                                 " do not fit");
    return;
  }
  Value Skip;
  if (Ignores) {
    Skip = N.compare(Predicate::eq, Target,
                     N.scalarInt(Ignored, N.element(Target)));
    // An index that is skipped may be outside the classes.
    Target = N.select(Skip, N.scalarInt(0, N.element(Target)), Target);
  }
  Value Picked = N.gatherElements(X, N.unsqueeze(Target, {1}), 1);
  if (!Picked || !Target)
    return N.result(0, Value());
  Value Loss = N.neg(N.reshape(Picked, N.dims(Target)));
  Value Scale;
  if (Weight)
    Scale = N.gather(Weight, Target, 0);
  if (Scale)
    Loss = N.mul(Loss, Scale);
  if (Ignores) {
    Scale = N.select(Skip, N.like(0, X), Scale ? Scale : N.like(1, X));
    // Not a product: what is ignored may be NaN or infinite.
    Loss = N.select(Skip, N.like(0, X), Loss);
  }
  if (*How == Reduction::None)
    return N.result(0, Loss);
  Ints Axes = llvm::to_vector(llvm::seq<int64_t>(0, N.rank(Target)));
  Value Sum = N.reduce(ReduceKind::sum, Loss, Axes);
  if (*How == Reduction::Sum)
    return N.result(0, Sum);
  N.result(0, Scale ? N.div(Sum, N.reduce(ReduceKind::sum, Scale, Axes))
                    : N.mean(Loss, Axes));
}

static void importNegativeLogLikelihood(NodeImport &N) {
  importNll(N, N.input(0));
}

static void importSoftmaxCrossEntropy(NodeImport &N) {
  Value X = N.input(0);
  if (N.bad())
    return;
  if (N.rank(X) < 2) {
    N.fail(Code::ImportRank, "scores of rank " + std::to_string(N.rank(X)));
    return;
  }
  Value Logs = N.softmax(X, {1}, /*Logarithm=*/true);
  importNll(N, Logs);
  if (!N.bad())
    N.result(1, Logs);
}

ArrayRef<Rule> lossRules() {
  static const Rule Rows[] = {
      {"", "NegativeLogLikelihoodLoss", 12, Newest,
       importNegativeLogLikelihood},
      {"", "SoftmaxCrossEntropyLoss", 12, Newest, importSoftmaxCrossEntropy},
  };
  return Rows;
}

} // namespace kpc::onnx
