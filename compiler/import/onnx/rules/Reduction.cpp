//===- Reduction.cpp - Import of reductions -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/ChosenAxes.h"

#include "llvm/ADT/bit.h"

using namespace kpc::graph;

namespace kpc::onnx {

static Ints allAxes(int64_t Rank) {
  return llvm::to_vector(llvm::seq<int64_t>(0, Rank));
}

/// What is left of some sizes when axes are reduced.
static Dims reducedSizes(ArrayRef<Expr> From, ArrayRef<int64_t> Axes,
                         bool KeepDims) {
  Dims Left;
  for (size_t I = 0; I < From.size(); ++I)
    if (!llvm::is_contained(Axes, static_cast<int64_t>(I)))
      Left.push_back(From[I]);
    else if (KeepDims)
      Left.push_back(Expr(1));
  return Left;
}

/// The axes that a node may reduce, where input 1 names them at run time: all
/// choices give the same sizes, those that the model declares if it does.
static std::optional<SmallVector<Ints>> possibleAxes(NodeImport &N, Value X,
                                                     bool KeepDims) {
  // Beyond this rank there are too many choices to list.
  constexpr int64_t HighestRank = 10;
  Value Given = N.input(1);
  ArrayRef<Expr> From = N.dims(X);
  if (!Given || N.rank(X) > HighestRank)
    return std::nullopt;
  std::optional<Dims> Declared = N.declaredSizes(0);
  if (Declared && KeepDims && Declared->size() == From.size()) {
    // What is 1 before and after is the same, reduced or not.
    Ints Axes;
    for (size_t I = 0; I < From.size(); ++I)
      if (From[I] != (*Declared)[I])
        Axes.push_back(static_cast<int64_t>(I));
    return SmallVector<Ints>{Axes};
  }
  std::optional<int64_t> Count =
      graph::typeOf(Given).getNumElements().asConstant();
  SmallVector<Ints> Choices;
  std::optional<Dims> Sizes = Declared;
  for (uint64_t Mask = 0; Mask < uint64_t(1) << N.rank(X); ++Mask) {
    if (Count && llvm::popcount(Mask) != *Count)
      continue;
    Ints Axes;
    for (int64_t A = 0; A < N.rank(X); ++A)
      if (Mask >> A & 1)
        Axes.push_back(A);
    Dims Left = reducedSizes(From, Axes, KeepDims);
    if (Declared && Left != *Declared)
      continue;
    if (Sizes && Left != *Sizes)
      return std::nullopt;
    Sizes = Left;
    Choices.push_back(Axes);
  }
  if (Choices.empty() || Choices.size() > MostChosenAxes)
    return std::nullopt;
  return Choices;
}

/// The axes a node reduces, or a choice of several; none after a report.
static std::optional<SmallVector<Ints>> reducedAxes(NodeImport &N, Value X,
                                                    bool KeepDims) {
  bool NoneMeansNone = N.flagAttribute("noop_with_empty_axes");
  Ints Axes;
  if (N.hasInput(1)) {
    if (!N.contents(1)) {
      std::optional<SmallVector<Ints>> Choices = possibleAxes(N, X, KeepDims);
      if (!Choices && !N.bad())
        failOpenAxes(N, 1, "axes");
      return Choices;
    }
    std::optional<std::vector<int64_t>> Given = N.knownInts(1, "axes");
    if (!Given)
      return std::nullopt;
    Axes = N.frontAxes(*Given, N.rank(X));
  }
  if (N.bad())
    return std::nullopt;
  if (Axes.empty() && !NoneMeansNone)
    Axes = allAxes(N.rank(X));
  return SmallVector<Ints>{Axes};
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
  std::optional<SmallVector<Ints>> Choices = reducedAxes(N, X, KeepDims);
  if (!Choices)
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
  Value Y =
      chosenByAxes(N, 1, N.rank(X), *Choices, [&](ArrayRef<int64_t> Axes) {
        return reduceAs(N, S, X, Axes, KeepDims);
      });
  N.result(0, N.cast(Y, Stored));
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
  auto Along = [&](ArrayRef<int64_t> At) {
    return Product ? cumulativeProduct(N, X, At[0], Exclusive, Reverse)
                   : N.cumsum(X, At[0], Exclusive, Reverse);
  };
  auto Rank = static_cast<size_t>(N.rank(X));
  if (N.contents(1)) {
    std::optional<std::vector<int64_t>> Axis = N.knownInts(1, "axis");
    if (!Axis || Axis->size() != 1) {
      N.fail(Code::ImportShape, "the axis should be one number");
      return;
    }
    int64_t At = N.frontAxis(Axis->front(), N.rank(X));
    if (!N.bad())
      N.result(0, Along({At}));
    return;
  }
  if (Rank == 0 || Rank > MostChosenAxes) {
    N.knownInts(1, "axis");
    N.fail(Code::ImportRank, "an axis of a scalar");
    return;
  }
  SmallVector<Ints> Choices;
  for (int64_t A : allAxes(N.rank(X)))
    Choices.push_back({A});
  N.result(0, chosenByAxes(N, 1, N.rank(X), Choices, Along));
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
       "an axis known only at run time costs as much as all axes"},
      {"", "CumProd", 26, Newest, importCumulative<true>,
       "the size of the axis must be known when compiling"},
  };
  return Rows;
}

} // namespace kpc::onnx
