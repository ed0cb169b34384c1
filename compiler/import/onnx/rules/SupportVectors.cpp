//===- SupportVectors.cpp - Import of classifiers by support vectors ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A classifier has a decision for each pair of classes. Votes of the pairs
/// decide; chances of classes are the fixed point of an iteration from chances
/// of pairs, as libsvm computes them.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Classifier.h"

using namespace kpc::graph;

namespace kpc::onnx {

/// Classes are unrolled in each step of the iteration.
static constexpr int64_t MostClasses = 64;

namespace {
struct PairClassifier {
  NodeImport &N;
  int64_t Classes = 0, Vectors = 0;
  std::vector<double> Coefficients = {}, Rho = {}, ProbA = {}, ProbB = {};
  Ints PerClass = {};

  int64_t pairs() const { return Classes * (Classes - 1) / 2; }
  bool read();
  Value decisions(Value Kernel);
  Value votes(Value Decisions);
  Value chances(Value Decisions);

private:
  Value table(std::string Name, int64_t Rows, int64_t Columns,
              const std::vector<float> &Numbers) {
    return N.data(Tensor::ofFloats(std::move(Name), {Rows, Columns}, Numbers));
  }
  Value column(Value X, int64_t I) { return N.sliceAxis(X, 1, I, 1); }
  std::optional<SmallVector<Value>> refine(Value P, Value Q);
};
} // namespace

bool PairClassifier::read() {
  auto Reals = [&](const char *Name) {
    return N.floatsAttribute(Name).value_or(std::vector<double>());
  };
  Coefficients = Reals("coefficients");
  Rho = Reals("rho");
  ProbA = Reals("prob_a");
  ProbB = Reals("prob_b");
  PerClass = N.intsAttribute("vectors_per_class").value_or(Ints());
  for (int64_t Count : PerClass) {
    if (Count < 0 || Count > INT32_MAX)
      return false;
    Vectors += Count;
  }
  auto Pairs = static_cast<size_t>(pairs());
  return Classes >= 2 && Classes <= MostClasses && Vectors > 0 &&
         int64_t(PerClass.size()) == Classes && Rho.size() == Pairs &&
         int64_t(Coefficients.size()) == (Classes - 1) * Vectors &&
         ProbA.size() == ProbB.size() &&
         (ProbA.empty() || ProbA.size() == Pairs);
}

Value PairClassifier::decisions(Value Kernel) {
  // Pair (i, j) reads row j - 1 for the vectors of i, and row i for those of j.
  std::vector<float> Weights(static_cast<size_t>(Vectors * pairs()), 0);
  Ints Start(PerClass.size(), 0);
  for (size_t I = 1; I < Start.size(); ++I)
    Start[I] = Start[I - 1] + PerClass[I - 1];
  int64_t Pair = 0;
  for (int64_t I = 0; I < Classes; ++I)
    for (int64_t J = I + 1; J < Classes; ++J, ++Pair)
      for (auto [Own, Row] : {std::pair(I, J - 1), std::pair(J, I)})
        for (int64_t V = Start[Own]; V < Start[Own] + PerClass[Own]; ++V)
          Weights[static_cast<size_t>(V * pairs() + Pair)] = static_cast<float>(
              Coefficients[static_cast<size_t>(Row * Vectors + V)]);
  return N.add(N.matmul(Kernel, table("pairs", Vectors, pairs(), Weights)),
               N.floatVector(Rho, N.f32()));
}

Value PairClassifier::votes(Value Decisions) {
  std::vector<float> First(static_cast<size_t>(pairs() * Classes), 0);
  std::vector<float> Second = First;
  int64_t Pair = 0;
  for (int64_t I = 0; I < Classes; ++I)
    for (int64_t J = I + 1; J < Classes; ++J, ++Pair) {
      First[static_cast<size_t>(Pair * Classes + I)] = 1;
      Second[static_cast<size_t>(Pair * Classes + J)] = 1;
    }
  Value Won = N.cast(N.compare(Predicate::gt, Decisions, N.like(0, Decisions)),
                     N.f32());
  Value Lost = N.sub(N.like(1, Won), Won);
  return N.add(N.matmul(Won, table("first", pairs(), Classes, First)),
               N.matmul(Lost, table("second", pairs(), Classes, Second)));
}

/// One step from chances [rows, classes]; rows that are done stay.
std::optional<SmallVector<Value>> PairClassifier::refine(Value P, Value Q) {
  auto Of = [&](int64_t T) { // row T of each matrix
    return N.reshape(N.sliceAxis(Q, 1, T, 1), {N.dims(Q)[0], Expr(Classes)});
  };
  Value Column = N.unsqueeze(P, {2});
  if (!Column)
    return std::nullopt;
  Value Qp = N.reshape(N.matmul(Q, Column), N.dims(P));
  Value PQp = N.reduce(ReduceKind::sum, N.mul(P, Qp), {1}, true);
  Value Error =
      N.reduce(ReduceKind::max, N.unary<AbsOp>(N.sub(Qp, PQp)), {1}, true);
  Value Open = N.compare(Predicate::ge, Error,
                         N.like(0.005 / static_cast<double>(Classes), P));
  Value New = P;
  for (int64_t T = 0; T < Classes; ++T) {
    Value Diagonal = column(Of(T), T);
    Value Off = N.div(N.sub(PQp, column(Qp, T)), Diagonal);
    Value Scale = N.addScalar(Off, 1);
    Value Here =
        N.compare(Predicate::eq, N.iota({Expr(1), Expr(Classes)}, 1, N.i64()),
                  N.scalarInt(T, N.i64()));
    Value More = N.add(N.mul(Off, Diagonal), N.mulScalar(column(Qp, T), 2));
    PQp = N.div(N.add(PQp, N.mul(Off, More)), N.mul(Scale, Scale));
    New = N.div(N.select(Here, N.add(New, Off), New), Scale);
    Qp = N.div(N.add(Qp, N.mul(Off, Of(T))), Scale);
  }
  Value Next = N.select(Open, New, P);
  if (!Next)
    return std::nullopt;
  return SmallVector<Value>{Next};
}

Value PairClassifier::chances(Value Decisions) {
  Value Each = N.neg(N.add(N.mul(Decisions, N.floatVector(ProbA, N.f32())),
                           N.floatVector(ProbB, N.f32())));
  Each = N.unary<SigmoidOp>(Each);
  if (!Each)
    return {};
  Each = N.min(N.max(Each, N.like(1e-7, Each)), N.like(1 - 1e-7, Each));
  // R[i, j] is the chance of i against j.
  SmallVector<Value> Entries;
  Value Zero = N.mulScalar(column(Each, 0), 0);
  auto PairOf = [&](int64_t I, int64_t J) {
    return I * Classes - I * (I + 1) / 2 + (J - I - 1);
  };
  for (int64_t I = 0; I < Classes; ++I)
    for (int64_t J = 0; J < Classes; ++J) {
      Value Chance =
          I == J ? Zero : column(Each, PairOf(std::min(I, J), std::max(I, J)));
      Entries.push_back(I > J ? N.sub(N.like(1, Chance), Chance) : Chance);
    }
  Value Flat = N.concat(Entries, 1);
  if (!Flat)
    return {};
  Expr Rows = N.dims(Flat)[0];
  Value R = N.reshape(Flat, {Rows, Expr(Classes), Expr(Classes)});
  Value Turned = N.transpose(R, {0, 2, 1});
  Value Squares = N.reduce(ReduceKind::sum, N.mul(R, R), {1});
  Value I = N.iota({Expr(Classes), Expr(1)}, 0, N.i64());
  Value J = N.iota({Expr(1), Expr(Classes)}, 1, N.i64());
  Value Q = N.select(N.compare(Predicate::eq, I, J), N.unsqueeze(Squares, {2}),
                     N.neg(N.mul(R, Turned)));
  Value P = N.full(1.0 / static_cast<double>(Classes), {Rows, Expr(Classes)},
                   N.f32());
  if (!Q || !P)
    return {};
  constexpr int64_t MostSteps = 100;
  auto Results = N.importer().loop(N, Expr(MostSteps), {P}, {},
                                   [&](const Expr &, ArrayRef<Value> Carried) {
                                     return refine(Carried[0], Q);
                                   });
  return Results ? Results->front() : Value();
}

/// Without support vectors there is a row of coefficients for each class.
static void classifyByRows(NodeImport &N, Value X, const ClassLabels &Labels,
                           const std::string &Transform) {
  auto Reals = [&](const char *Name) {
    return N.floatsAttribute(Name).value_or(std::vector<double>());
  };
  std::vector<double> Coefficients = Reals("coefficients"), Rho = Reals("rho");
  N.ignoreAttribute("kernel_type"); // which is linear
  N.ignoreAttribute("kernel_params");
  auto Count = static_cast<int64_t>(Coefficients.size()),
       Classes = static_cast<int64_t>(Labels.size());
  if (N.bad())
    return;
  if (Count == 0 || Count % Classes != 0 ||
      !N.unify(N.dims(X)[1], Expr(Count / Classes)) || Rho.size() > 1) {
    N.fail(Code::ImportShape,
           std::to_string(Count) + " coefficients and " +
               std::to_string(Rho.size()) + " offsets in 'rho', expected " +
               N.dims(X)[1].str() + " for each of " + std::to_string(Classes) +
               " classes, and one offset");
    return;
  }
  std::vector<float> Table(Coefficients.begin(), Coefficients.end());
  Value W = N.data(
      Tensor::ofFloats("coefficients", {Classes, Count / Classes}, Table));
  Value Scores = N.matmul(N.cast(X, N.f32()), N.transpose(W, {1, 0}));
  giveClasses(N, Rho.empty() ? Scores : N.addScalar(Scores, Rho[0]), Labels,
              Transform);
}

static void importSvmClassifier(NodeImport &N) {
  std::string Transform = N.stringAttribute("post_transform", "NONE");
  std::optional<ClassLabels> Labels = classLabels(N, "classlabels_ints");
  N.expectInputs(1, 1);
  Value X = floatRows(N, 0);
  if (N.bad() || !Labels)
    return;
  if (!N.hasAttribute("support_vectors") &&
      !N.hasAttribute("vectors_per_class"))
    return classifyByRows(N, X, *Labels, Transform);
  PairClassifier C{N};
  C.Classes = static_cast<int64_t>(Labels->size());
  if (!C.read()) {
    N.unsupported("needs support vectors for each of 2 to " +
                  std::to_string(MostClasses) +
                  " classes, and coefficients and rho for each pair of them");
    return;
  }
  Value Kernel = kernelValues(N, N.cast(X, N.f32()), C.Vectors);
  Value Decisions = C.decisions(Kernel);
  if (!Decisions)
    return N.result(0, Decisions);
  Value Best = N.argReduce(ReduceKind::max, C.votes(Decisions), 1,
                           /*SelectLast=*/false);
  giveLabels(N, Best, *Labels);
  Value Scores = C.ProbA.empty() ? Decisions : C.chances(Decisions);
  // One decision of two classes counts for the one, and against the other.
  if (C.ProbA.empty() && C.Classes == 2)
    Scores = N.concat({N.neg(Scores), Scores}, 1);
  N.result(1, postTransform(N, Scores, Transform));
}

ArrayRef<Rule> supportVectorRules() {
  static const Rule Rows[] = {
      {"ai.onnx.ml", "SVMClassifier", 1, 5, importSvmClassifier,
       "2 to 64 classes with support vectors"},
  };
  return Rows;
}

} // namespace kpc::onnx
