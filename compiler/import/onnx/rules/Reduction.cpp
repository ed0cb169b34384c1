//===- Reduction.cpp - Import of reductions -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

using namespace kpc::graph;

namespace kpc::onnx {

static Ints allAxes(int64_t Rank) {
  return llvm::to_vector(llvm::seq<int64_t>(0, Rank));
}

/// Axes that lead to the declared sizes, where they are known only at run time
/// and only one choice is possible.
static std::optional<Ints> declaredAxes(NodeImport &N, Value X, bool KeepDims) {
  std::optional<Dims> Declared = N.declaredSizes(0);
  if (!Declared)
    return std::nullopt;
  ArrayRef<Expr> From = N.dims(X);
  Ints Axes;
  if (KeepDims) {
    if (Declared->size() != From.size())
      return std::nullopt;
    for (size_t I = 0; I < From.size(); ++I)
      if (From[I] != (*Declared)[I])
        Axes.push_back(static_cast<int64_t>(I));
    return Axes;
  }
  // A greedy match from the front must agree with one from the back.
  auto Match = [&](bool Front) {
    Ints Kept;
    size_t Next = 0, Rank = From.size(), Left = Declared->size();
    for (size_t I = 0; I < Rank && Next < Left; ++I) {
      size_t At = Front ? I : Rank - 1 - I;
      size_t Want = Front ? Next : Left - 1 - Next;
      if (From[At] == (*Declared)[Want]) {
        Kept.push_back(static_cast<int64_t>(At));
        ++Next;
      }
    }
    llvm::sort(Kept);
    return Kept;
  };
  Ints Kept = Match(true);
  if (Kept.size() != Declared->size() || Kept != Match(false))
    return std::nullopt;
  for (int64_t A : allAxes(static_cast<int64_t>(From.size())))
    if (!llvm::is_contained(Kept, A))
      Axes.push_back(A);
  return Axes;
}

/// The axes a node reduces; none after a report.
static std::optional<Ints> reducedAxes(NodeImport &N, Value X, bool KeepDims) {
  bool NoneMeansNone = N.flagAttribute("noop_with_empty_axes");
  Ints Axes;
  if (N.hasInput(1)) {
    if (!N.contents(1))
      if (std::optional<Ints> Declared = declaredAxes(N, X, KeepDims))
        return Declared;
    std::optional<std::vector<int64_t>> Given = N.knownInts(1, "axes");
    if (!Given)
      return std::nullopt;
    Axes = N.frontAxes(*Given, N.rank(X));
  }
  if (N.bad())
    return std::nullopt;
  if (Axes.empty() && !NoneMeansNone)
    Axes = allAxes(N.rank(X));
  return Axes;
}

namespace {
enum class Sort {
  Sum,
  Mean,
  Max,
  Min,
  Prod,
  L1,
  L2,
  LogSum,
  LogSumExp,
  SumSquare
};
} // namespace

static Value logSumExp(NodeImport &N, Value X, ArrayRef<int64_t> Axes,
                       bool KeepDims) {
  Value Top = N.reduce(ReduceKind::max, X, Axes, true);
  // An infinite maximum would make inf - inf.
  Value Finite = N.compare(Predicate::lt, N.unary<AbsOp>(Top),
                           N.like(std::numeric_limits<double>::infinity(), X));
  Top = N.select(Finite, Top, N.like(0, X));
  Value Sum = N.reduce(ReduceKind::sum, N.exp(N.sub(X, Top)), Axes, true);
  Value Y = N.add(N.log(Sum), Top);
  if (KeepDims || !Y)
    return Y;
  Dims Sizes;
  for (int64_t I = 0; I < N.rank(Y); ++I)
    if (!llvm::is_contained(Axes, I))
      Sizes.push_back(N.dims(Y)[static_cast<size_t>(I)]);
  return N.reshape(Y, Sizes);
}

static Value reduceAs(NodeImport &N, Sort S, Value X, ArrayRef<int64_t> Axes,
                      bool KeepDims) {
  auto Sum = [&](Value V) {
    return N.reduce(ReduceKind::sum, V, Axes, KeepDims);
  };
  switch (S) {
  case Sort::Sum:
    return Sum(X);
  case Sort::Mean:
    return N.mean(X, Axes, KeepDims);
  case Sort::Max:
    return N.reduce(ReduceKind::max, X, Axes, KeepDims);
  case Sort::Min:
    return N.reduce(ReduceKind::min, X, Axes, KeepDims);
  case Sort::Prod:
    return N.reduce(ReduceKind::prod, X, Axes, KeepDims);
  case Sort::L1:
    return Sum(isUnsigned(N.element(X)) ? X : N.unary<AbsOp>(X));
  case Sort::L2:
    return N.sqrt(Sum(N.mul(X, X)));
  case Sort::LogSum:
    return N.log(Sum(X));
  case Sort::LogSumExp:
    return logSumExp(N, X, Axes, KeepDims);
  case Sort::SumSquare:
    return Sum(N.mul(X, X));
  }
  return {};
}

template <Sort S> static void importReduce(NodeImport &N) {
  N.expectInputs(1, 2);
  bool KeepDims = N.flagAttribute("keepdims", true);
  Value X = N.input(0);
  if (N.bad())
    return;
  std::optional<Ints> Axes = reducedAxes(N, X, KeepDims);
  if (!Axes)
    return;
  // 16-bit floats lose their digits between the steps.
  Type Stored = N.element(X);
  bool Widen = Stored.isF16() || Stored.isBF16() || isBool(Stored);
  bool Roots = S == Sort::L2 || S == Sort::LogSum || S == Sort::LogSumExp;
  if (Widen || (Roots && !isFloat(Stored)))
    // Bools as ui8: the ends of its range, of which nothing reduces to one, are
    // false and true again.
    X = N.cast(X,
               isBool(Stored)
                   ? Type(mlir::IntegerType::get(Stored.getContext(), 8,
                                                 mlir::IntegerType::Unsigned))
               : isFloat(Stored) ? N.f32()
                                 : N.builder().getF64Type());
  N.result(0, N.cast(reduceAs(N, S, X, *Axes, KeepDims), Stored));
}

template <ReduceKind K> static void importArg(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", 0);
  bool KeepDims = N.flagAttribute("keepdims", true);
  bool Last = N.flagAttribute("select_last_index");
  Value X = N.input(0);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad())
    return;
  Value Y = N.argReduce(K, X, Axis, Last);
  N.result(0, KeepDims ? N.unsqueeze(Y, {Axis}) : Y);
}

/// x moved by `Distance` places to the end of an axis, ones in front.
static Value shifted(NodeImport &N, Value X, int64_t Axis, int64_t Distance) {
  if (!X)
    return {};
  auto Rank = static_cast<size_t>(N.rank(X));
  Ints Low(Rank, 0), Zero(Rank, 0);
  Low[static_cast<size_t>(Axis)] = Distance;
  Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
  return N.sliceAxis(N.pad(X, N.like(1, X), Low, Zero, Zero), Axis, Expr(0),
                     Size);
}

/// Doubling: after step k an element is the product of 2^k, or of all before.
static Value cumulativeProduct(NodeImport &N, Value X, int64_t Axis,
                               bool Exclusive, bool Reverse) {
  std::optional<int64_t> Size =
      N.dims(X)[static_cast<size_t>(Axis)].asConstant();
  if (!Size)
    return N.unsupported("the axis has a size that is not a number");
  if (Reverse)
    X = N.reverse(X, Axis);
  if (Exclusive && *Size > 0)
    X = shifted(N, X, Axis, 1);
  for (int64_t Distance = 1; Distance < *Size; Distance *= 2)
    X = N.mul(X, shifted(N, X, Axis, Distance));
  return Reverse ? N.reverse(X, Axis) : X;
}

template <bool Product> static void importCumulative(NodeImport &N) {
  bool Exclusive = N.flagAttribute("exclusive");
  bool Reverse = N.flagAttribute("reverse");
  N.expectInputs(2, 2);
  Value X = N.input(0);
  if (N.bad())
    return;
  // Of a vector there is one axis, whatever the input says.
  std::optional<std::vector<int64_t>> Axis = std::vector<int64_t>{0};
  if (N.rank(X) != 1 || N.contents(1))
    Axis = N.knownInts(1, "axis");
  if (!Axis || Axis->size() != 1) {
    N.fail(Code::ImportShape, "the axis should be one number");
    return;
  }
  int64_t At = N.frontAxis(Axis->front(), N.rank(X));
  if (!N.bad())
    N.result(0, Product ? cumulativeProduct(N, X, At, Exclusive, Reverse)
                        : N.cumsum(X, At, Exclusive, Reverse));
}

ArrayRef<Rule> reductionRules() {
  static const Rule Rows[] = {
      {"", "ReduceSum", 1, Newest, importReduce<Sort::Sum>},
      {"", "ReduceMean", 1, Newest, importReduce<Sort::Mean>},
      {"", "ReduceMax", 1, Newest, importReduce<Sort::Max>},
      {"", "ReduceMin", 1, Newest, importReduce<Sort::Min>},
      {"", "ReduceProd", 1, Newest, importReduce<Sort::Prod>},
      {"", "ReduceL1", 1, Newest, importReduce<Sort::L1>},
      {"", "ReduceL2", 1, Newest, importReduce<Sort::L2>},
      {"", "ReduceLogSum", 1, Newest, importReduce<Sort::LogSum>},
      {"", "ReduceLogSumExp", 1, Newest, importReduce<Sort::LogSumExp>},
      {"", "ReduceSumSquare", 1, Newest, importReduce<Sort::SumSquare>},
      {"", "ArgMax", 1, Newest, importArg<ReduceKind::max>},
      {"", "ArgMin", 1, Newest, importArg<ReduceKind::min>},
      {"", "CumSum", 11, Newest, importCumulative<false>,
       "the axis must be known when compiling"},
      {"", "CumProd", 26, Newest, importCumulative<true>,
       "the axis and its size must be known when compiling"},
  };
  return Rows;
}

} // namespace kpc::onnx
