//===- Statistics.cpp - Import of counts, orders and running values -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Selection.h"
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"

#include <cmath>
#include <limits>

using namespace kpc::graph;

namespace kpc::torch {

static Value isNan(NodeImport &N, Value X) {
  return N.isFloat(X) ? N.build(IsNanOp::getOperationName(), {X}, {})
                      : N.full(0, N.dims(X), N.i1());
}

static int64_t axisOf(NodeImport &N, Value X, int64_t Default = -1) {
  return N.axis(N.integer("dim", Default), N.rank(X));
}

static Value withoutAxis(NodeImport &N, Value V, int64_t Axis) {
  if (!V || N.flag("keepdim", false))
    return V;
  Dims Sizes(N.dims(V));
  Sizes.erase(Sizes.begin() + Axis);
  return N.reshape(V, Sizes);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

template <bool Mean> static void withoutNan(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  Type T = N.has("dtype") ? N.type("dtype")
           : N.isFloat(X) ? N.element(X)
                          : N.i64();
  Ints Axes = N.axes("dim", N.rank(X));
  bool Keep = N.flag("keepdim", false);
  Value Nan = isNan(N, X);
  X = N.cast(N.select(Nan, N.scalarInt(0, N.element(X)), X), T);
  Value Sum = N.reduce(ReduceKind::sum, X, Axes, Keep);
  if (!Mean)
    return N.result(Sum);
  Value Count =
      N.reduce(ReduceKind::sum, N.cast(N.notOf(Nan), N.i64()), Axes, Keep);
  N.result(N.div(Sum, N.cast(Count, T)));
}

static void bothExtremes(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  bool Keep = N.flag("keepdim", false);
  Ints Axes = N.has("dim") ? Ints{axisOf(N, X, 0)} : N.axes("dim", N.rank(X));
  if (N.rank(X) == 0)
    Axes.clear();
  N.result(0, N.reduce(ReduceKind::min, X, Axes, Keep));
  N.result(1, N.reduce(ReduceKind::max, X, Axes, Keep));
}

//===----------------------------------------------------------------------===//
// Running values: each step reaches back twice as far as the one before it
//===----------------------------------------------------------------------===//

/// Steps that reach over the whole axis; none after a report.
static std::optional<int64_t> doublings(NodeImport &N, const Expr &Size) {
  int64_t Most = N.importer().facts().range(Size).Max;
  if (Most > int64_t(1) << 40) {
    N.unsupported("runs along the size " + Size.str() +
                  ", which has no bound; give it one by --dim or a Dim");
    return std::nullopt;
  }
  int64_t Steps = 0;
  while ((int64_t(1) << Steps) < Most)
    ++Steps;
  return Steps;
}

/// Elements `Back` places in front along an axis, the first one at the edge.
struct Reach {
  Value Index, Inside;
  Reach(NodeImport &N, Value X, int64_t Axis, int64_t Back) {
    Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
    Value At = N.addScalar(N.iota({Size}, 0, N.i64()), double(-Back));
    Index = N.max(At, N.scalarInt(0, N.i64()));
    Dims Column(N.dims(X).size(), Expr(1));
    Column[static_cast<size_t>(Axis)] = Size;
    Inside = N.reshape(N.compare(Predicate::ge, At, N.scalarInt(0, N.i64())),
                       Column);
  }
};

/// Extremes so far and the places of the last ones that are equal.
template <bool Max> static void runningExtreme(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  if (N.rank(X) == 0) {
    N.result(0, X);
    return N.result(1, N.scalarInt(0, N.i64()));
  }
  int64_t Axis = axisOf(N, X);
  std::optional<int64_t> Steps =
      doublings(N, N.dims(X)[static_cast<size_t>(Axis)]);
  if (!Steps || N.bad())
    return N.give();
  Value Place = N.iota(N.dims(X), Axis, N.i64());
  for (int64_t I = 0; I < *Steps && X && Place; ++I) {
    Reach R(N, X, Axis, int64_t(1) << I);
    Value Left = N.gather(X, R.Index, Axis);
    Value Stays = N.compare(Max ? Predicate::ge : Predicate::le, X, Left);
    if (N.isFloat(X))
      Stays = N.binary<OrOp>(isNan(N, X), Stays);
    Place = N.select(Stays, Place, N.gather(Place, R.Index, Axis));
    X = N.select(Stays, X, Left);
  }
  N.result(0, X);
  N.result(1, Place);
}

enum class Running { Product, LogSum };

template <Running What> static void running(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  Type T = N.has("dtype") ? N.type("dtype") : Type();
  if (!T)
    T = N.isFloat(X)               ? N.element(X)
        : What == Running::Product ? N.i64()
                                   : N.f32();
  X = N.cast(X, T);
  if (N.rank(X) == 0)
    return N.result(X);
  int64_t Axis = axisOf(N, X);
  std::optional<int64_t> Steps =
      doublings(N, N.dims(X)[static_cast<size_t>(Axis)]);
  if (!Steps || N.bad())
    return N.give();
  X = N.cast(X, N.wide(X));
  for (int64_t I = 0; I < *Steps && X; ++I) {
    Reach R(N, X, Axis, int64_t(1) << I);
    Value Left = N.gather(X, R.Index, Axis), Both;
    if (What == Running::Product) {
      Both = N.mul(X, Left);
    } else {
      Value Top = N.max(X, Left);
      Value Apart = N.neg(N.unary<AbsOp>(N.sub(X, Left)));
      Both = N.add(Top, N.unary<Log1pOp>(N.exp(Apart)));
      // Of two infinities the difference is no number.
      Value Finite = N.sub(Top, Top);
      Both = N.select(N.compare(Predicate::eq, Finite, Finite), Both, Top);
    }
    X = N.select(R.Inside, Both, X);
  }
  N.result(N.cast(X, T));
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

static void kthValue(NodeImport &N) {
  Value X = N.tensor("self");
  int64_t K = N.integer("k", 1);
  if (!X || N.rank(X) == 0 || K < 1)
    return N.give();
  int64_t Axis = axisOf(N, X);
  auto [Elements, Indices] = N.sort(X, Axis, /*Descending=*/false, Expr(K));
  if (!Elements)
    return N.give();
  N.result(0, withoutAxis(N, N.sliceAxis(Elements, Axis, K - 1, 1), Axis));
  N.result(1, withoutAxis(N, N.sliceAxis(Indices, Axis, K - 1, 1), Axis));
}

static void sortFirst(NodeImport &N) {
  Value X = N.tensor("self");
  if (X)
    N.result(N.rank(X) == 0
                 ? X
                 : N.sort(X, 0, /*Descending=*/false, N.dims(X)[0]).Elements);
}

/// The element between two of the sorted ones, as a share of their count says.
/// PyTorch multiplies shares in the type of the elements, and takes no more of
/// them than f32 counts.
static constexpr int64_t MostOfQuantile = 1 << 24;
static constexpr std::string_view QuantileLimit =
    "up to 16777216 elements; shares from 0 to 1, which no run checks";

static std::string interpolationOf(NodeImport &N) {
  std::string How = N.text("interpolation", "linear");
  constexpr std::string_view Known[] = {"linear", "lower", "higher", "midpoint",
                                        "nearest"};
  if (!N.bad() && !llvm::is_contained(Known, How))
    N.fail(Code::ImportAttributeValue,
           "'interpolation' is '" + printable(How) +
               "', expected linear, lower, higher, midpoint or nearest");
  return How;
}

static void quantile(NodeImport &N) {
  Value X = N.tensor("self");
  double Q = N.real("q", 0.5);
  std::string How = interpolationOf(N);
  if (!X || N.bad())
    return N.give();
  bool All = !N.has("dim");
  bool Keep = N.flag("keepdim", false);
  Dims Ones(N.dims(X).size(), Expr(1));
  if (All)
    X = frontend::flatten(N, X);
  if (N.rank(X) == 0)
    return N.result(X);
  int64_t Axis = All ? 0 : axisOf(N, X);
  std::optional<int64_t> Size =
      N.dims(X)[static_cast<size_t>(Axis)].asConstant();
  if (!Size || *Size < 1 || *Size > MostOfQuantile || !(Q >= 0 && Q <= 1))
    return (void)N.unsupported("a quantile along the size " +
                               N.dims(X)[static_cast<size_t>(Axis)].str() +
                               "; kpc takes a known size up to " +
                               std::to_string(MostOfQuantile) +
                               " and a share from 0 to 1");
  double At = N.element(X).isF64() ? Q * double(*Size - 1)
                                   : double(float(Q) * float(*Size - 1));
  auto Low = static_cast<int64_t>(std::floor(At)),
       High = static_cast<int64_t>(std::ceil(At));
  double Part = How == "linear"     ? At - double(Low)
                : How == "midpoint" ? (High > Low ? 0.5 : 0)
                : How == "higher"   ? (High > Low ? 1 : 0)
                : How == "nearest"  ? std::nearbyint(At) - double(Low)
                                    : 0;
  Value Sorted = N.sort(X, Axis, false, Expr(*Size)).Elements;
  Value A = N.sliceAxis(Sorted, Axis, Low, 1),
        C = N.sliceAxis(Sorted, Axis, High, 1);
  Value Y = Part == 0 ? A : N.add(A, N.mulScalar(N.sub(C, A), Part));
  // One NaN makes the result none.
  Value Nan = N.reduce(ReduceKind::max, N.cast(isNan(N, X), N.i32()), {Axis},
                       /*KeepDims=*/true);
  Y = N.select(N.cast(Nan, N.i1()), N.like(NAN, X), Y);
  if (!Y)
    return;
  if (All)
    return N.result(
        N.reshape(Y, Keep ? ArrayRef<Expr>(Ones) : ArrayRef<Expr>()));
  N.result(withoutAxis(N, Y, Axis));
}

/// The least of the most frequent values, and its last place.
static void mostFrequent(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X || N.rank(X) == 0)
    return N.give();
  int64_t Axis = axisOf(N, X);
  Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
  if (N.bad() || N.importer().facts().range(Size).Max > 4096)
    return (void)N.unsupported("the most frequent of " + Size.str() +
                               " elements; kpc compares each pair of up to "
                               "4096");
  Value Sorted = N.sort(X, Axis, false, Size).Elements;
  Value Same = N.compare(Predicate::eq, N.unsqueeze(Sorted, {Axis}),
                         N.unsqueeze(Sorted, {Axis + 1}));
  Value Count = N.reduce(ReduceKind::sum, N.cast(Same, N.i32()), {Axis});
  Value First =
      N.unsqueeze(N.argReduce(ReduceKind::max, Count, Axis, false), {Axis});
  Value Y = N.gatherElements(Sorted, First, Axis);
  Value Equal = N.cast(N.compare(Predicate::eq, X, Y), N.i32());
  Value Last =
      N.unsqueeze(N.argReduce(ReduceKind::max, Equal, Axis, true), {Axis});
  N.result(0, withoutAxis(N, Y, Axis));
  N.result(1, withoutAxis(N, Last, Axis));
}

/// Integers in the order of the floats: below 0 the bits but the sign's are
/// turned over. Both zeros are one.
static Value ordered(NodeImport &N, Value X) {
  if (!X || !N.isFloat(X))
    return X;
  if (!N.element(X).isF64())
    X = N.cast(X, N.f32());
  unsigned Width = N.element(X).getIntOrFloatBitWidth();
  Type Whole = N.builder().getIntegerType(Width);
  Value Zero = N.like(0, X);
  X = N.select(N.compare(Predicate::eq, X, Zero), Zero, X);
  Value Bits = N.bitcast(X, Whole);
  int64_t Most = Width == 64 ? std::numeric_limits<int64_t>::max()
                             : std::numeric_limits<int32_t>::max();
  return N.select(N.compare(Predicate::lt, Bits, N.scalarInt(0, Whole)),
                  N.binary<XorOp>(Bits, N.scalarInt(Most, Whole)), Bits);
}

/// Where values stand in ascending rows: by halving in a vector, by comparing
/// each pair elsewhere.
static void standing(NodeImport &N, Value Sorted, Value X) {
  bool Right = N.flag("right", false) || N.text("side", "left") == "right";
  if (!Sorted || !X || N.bad())
    return N.give();
  if (N.has("sorter"))
    return (void)N.unsupported("a sequence that is ordered by 'sorter'; sort "
                               "it in front");
  Type T = N.wider(N.element(Sorted), N.element(X));
  Sorted = N.cast(Sorted, T);
  X = N.cast(X, T);
  Value Y;
  if (N.rank(Sorted) == 1) {
    Y = N.searchSorted(ordered(N, Sorted), ordered(N, X), Right);
  } else {
    Value Less = N.compare(Right ? Predicate::le : Predicate::lt,
                           N.unsqueeze(Sorted, {N.rank(Sorted) - 1}),
                           N.unsqueeze(X, {N.rank(X)}));
    Y = Less ? N.reduce(ReduceKind::sum, N.cast(Less, N.i64()),
                        {N.rank(Less) - 1})
             : Value();
  }
  N.result(N.cast(Y, N.flag("out_int32", false) ? N.i32() : N.i64()));
}

static void searchSorted(NodeImport &N) {
  standing(N, N.tensor("sorted_sequence"), N.operand("self"));
}
static void bucketize(NodeImport &N) {
  standing(N, N.tensor("boundaries"), N.operand("self"));
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

/// `Weights`, or ones, added up by `Places`.
static Value addedUp(NodeImport &N, Value Places, Value Weights,
                     const Expr &Size) {
  if (!Places || !Weights)
    return {};
  mlir::Builder &B = N.builder();
  return N.build(ScatterElementsOp::getOperationName(),
                 {N.full(0, {Size}, N.element(Weights)), Places, Weights},
                 {B.getNamedAttr("kind", ScatterKindAttr::get(
                                             B.getContext(), ScatterKind::add)),
                  N.intAttr("axis", 0)});
}

static void binCount(NodeImport &N) {
  Value X = N.tensor("self"), Weights = N.optionalTensor("weights");
  int64_t Least = N.integer("minlength", 0);
  if (!X || N.bad())
    return;
  if (N.rank(X) != 1 || N.isFloat(X))
    return (void)N.fail(Code::ImportRank,
                        "counts " + dimsText(N.dims(X)) +
                            ", expected a vector of integers");
  X = N.cast(X, N.i64());
  Value Most = N.addScalar(N.reduce(ReduceKind::max, X, {0}), 1);
  if (N.importer().facts().range(N.dims(X)[0]).Min < 1)
    // Of nothing the greatest is the least number there is.
    Most = N.max(Most, N.scalarInt(0, N.i64()));
  constexpr int64_t MostBins = std::numeric_limits<int32_t>::max();
  std::optional<Expr> Size = N.decideSize(
      N.max(Most, N.scalarInt(Least, N.i64())), Expr(MostBins), 0, 0);
  if (!Size)
    return N.give();
  if (Weights)
    Weights = N.element(Weights).isF32()
                  ? Weights
                  : N.cast(Weights, N.builder().getF64Type());
  else
    Weights = N.full(1, N.dims(X), N.i64());
  N.result(addedUp(N, X, Weights, *Size));
}

/// Counts between `bins` + 1 edges; the last bin has its right edge too.
static void histogram(NodeImport &N) {
  Value X = N.tensor("self");
  int64_t Bins = N.integer("bins", 100);
  double Low = N.real("min", 0), High = N.real("max", 0);
  if (!X || N.bad())
    return;
  if (Bins < 1 || Bins > 65536)
    return (void)N.unsupported("a histogram of " + std::to_string(Bins) +
                               " bins; kpc takes 1 to 65536");
  X = frontend::flatten(N, N.asFloat(X));
  Type Stored = N.element(X);
  X = N.cast(X, N.wide(X));
  Type T = N.element(X);
  Value Share = N.mulScalar(N.iota({Expr(Bins + 1)}, 0, T), 1.0 / double(Bins));
  Value From, To;
  if (Low != 0 || High != 0) {
    if (Low == High)
      --Low, ++High;
    From = N.scalar(Low, T);
    To = N.scalar(High, T);
  } else {
    From = N.reduce(ReduceKind::min, X, {0});
    To = N.reduce(ReduceKind::max, X, {0});
    Value Same = N.compare(Predicate::eq, From, To);
    From = N.select(Same, N.addScalar(From, -1), From);
    To = N.select(Same, N.addScalar(To, 1), To);
  }
  // From both ends, so that the last edge is exact.
  Value Edges = N.select(
      N.compare(Predicate::lt, Share, N.like(0.5, Share)),
      N.add(From, N.mul(N.sub(To, From), Share)),
      N.sub(To, N.mul(N.sub(To, From), N.sub(N.like(1, Share), Share))));
  Value Place = N.addScalar(
      N.searchSorted(ordered(N, Edges), ordered(N, X), /*Right=*/true), -1);
  Value Last = N.scalarInt(Bins - 1, N.i64());
  Place = N.select(N.compare(Predicate::eq, X, To), Last, Place);
  // What lies outside goes to a bin that is cut off.
  Value Outside = N.notOf(N.binary<AndOp>(N.compare(Predicate::ge, X, From),
                                          N.compare(Predicate::le, X, To)));
  Place = N.select(Outside, N.scalarInt(Bins, N.i64()), Place);
  Value Counts =
      X ? addedUp(N, Place, N.full(1, N.dims(X), T), Expr(Bins + 1)) : X;
  N.result(N.cast(N.sliceAxis(Counts, 0, 0, Expr(Bins)), Stored));
}

//===----------------------------------------------------------------------===//
// Values that differ
//===----------------------------------------------------------------------===//

/// Neighbours that differ; sorted ones first, or as they stand. Then to which
/// each element belongs, and how many each are.
static void distinct(NodeImport &N, bool Sorts) {
  Value X = N.tensor("self");
  if (!X)
    return;
  Dims Whole(N.dims(X));
  if (N.has("dim") && N.rank(X) != 1)
    return (void)N.unsupported(
        "rows that differ; make one number of each row, or take the rows "
        "apart outside of the model");
  X = frontend::flatten(N, X);
  Expr Size = N.dims(X)[0];
  Value Order;
  if (Sorts) {
    auto [Elements, Indices] = N.sort(X, 0, /*Descending=*/false, Size);
    X = Elements;
    Order = Indices;
  }
  if (!X)
    return N.give();
  Value Place = N.iota({Size}, 0, N.i64());
  Value Before = N.max(N.addScalar(Place, -1), N.scalarInt(0, N.i64()));
  Value IsNew =
      N.binary<OrOp>(N.compare(Predicate::ne, X, N.gather(X, Before, 0)),
                     N.compare(Predicate::eq, Place, N.scalarInt(0, N.i64())));
  std::optional<Expr> Count =
      N.decideSize(frontend::countTrue(N, IsNew), Size, 0, 0);
  Value Running = frontend::runningCount(N, IsNew, N.i64());
  if (!Count || !Running)
    return N.give();
  Value Ordinal = frontend::ordinals(N, *Count, Running);
  Value Begin = N.searchSorted(Running, Ordinal);
  N.result(0, N.gather(X, Begin, 0));
  if (!N.flag("return_inverse", false)) {
    N.undefined(1);
  } else {
    Value Group = N.addScalar(Running, -1);
    if (Order)
      Group = N.gather(Group, N.sort(Order, 0, false, Size).Indices, 0);
    N.result(1, N.reshape(Group, Whole));
  }
  if (!N.flag("return_counts", false))
    N.undefined(2);
  else
    N.result(2, N.sub(N.searchSorted(Running, Ordinal, /*Right=*/true), Begin));
}

static void unique(NodeImport &N) { distinct(N, true); }
static void uniqueNeighbours(NodeImport &N) { distinct(N, false); }

/// The same for shares in a tensor, which stand in front of the result.
static void quantiles(NodeImport &N) {
  Value X = N.tensor("self"), Q = N.tensor("q");
  std::string How = interpolationOf(N);
  if (!X || !Q || N.bad())
    return N.give();
  Type T = N.element(X);
  Dims Ones(N.dims(X).size(), Expr(1)), Shares(N.dims(Q));
  bool All = !N.has("dim"), Keep = N.flag("keepdim", false);
  if (All || N.rank(X) == 0)
    X = frontend::flatten(N, X);
  int64_t Axis = All ? 0 : axisOf(N, X);
  if (N.bad() || Shares.size() > 1)
    return N.give();
  Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
  if (N.importer().facts().range(Size).Min > MostOfQuantile)
    return (void)N.unsupported("quantiles of " + Size.str() +
                               " elements; kpc takes up to " +
                               std::to_string(MostOfQuantile));
  Value Sorted = N.sort(X, Axis, false, Size).Elements;
  // One NaN makes the result none.
  Value Nan = N.reduce(ReduceKind::max, N.cast(isNan(N, X), N.i32()), {Axis},
                       /*KeepDims=*/true);
  Sorted = N.select(N.cast(Nan, N.i1()), N.like(NAN, X), Sorted);
  if (!Sorted)
    return N.give();
  Type Wide = N.wide(X);
  Value At = N.mul(N.cast(frontend::flatten(N, Q), Wide),
                   N.cast(N.sizeScalar(Size - 1, N.i64()), Wide));
  if (How == "nearest")
    At = N.unary<RoundOp>(At);
  Value Low = N.unary<FloorOp>(At), High = N.unary<CeilOp>(At);
  Value Part = N.sub(At, Low);
  if (How == "midpoint")
    Part = N.select(N.compare(Predicate::gt, Part, N.like(0, Part)),
                    N.like(0.5, Part), N.like(0, Part));
  Ints Perm = {Axis};
  for (int64_t I = 0; I < N.rank(X); ++I)
    if (I != Axis)
      Perm.push_back(I);
  Value Front = N.transpose(Sorted, Perm);
  auto Rows = [&](Value V) { return N.gather(Front, N.cast(V, N.i64()), 0); };
  Value Y = Rows(How == "higher" ? High : Low);
  if (!Y || !Part)
    return N.give();
  if (How == "linear" || How == "midpoint") {
    Dims Each(N.dims(Y).size(), Expr(1));
    Each[0] = N.dims(Y)[0];
    Y = N.add(Y, N.mul(N.sub(Rows(High), Y), N.reshape(N.cast(Part, T), Each)));
  }
  Dims Sizes(Shares);
  if (All && Keep)
    Sizes.append(Ones);
  else
    for (int64_t I = 0; I < N.rank(X); ++I)
      if (I != Axis)
        Sizes.push_back(N.dims(X)[static_cast<size_t>(I)]);
      else if (Keep && !All)
        Sizes.emplace_back(1);
  N.result(N.reshape(Y, Sizes));
}

ArrayRef<Rule> statisticsRules() {
  static constexpr std::string_view Bounded = "the size must have a bound";
  static constexpr std::string_view Decided =
      "not inside loops and branches; of several axes all elements together";
  static const Rule Rows[] = {
      {"_unique2.default", unique, InPlace::No, Decided},
      {"aminmax.default", bothExtremes},
      {"bincount.default", binCount, InPlace::No,
       "not inside loops and branches"},
      {"bucketize.Scalar", bucketize},
      {"bucketize.Tensor", bucketize},
      {"cummax.default", runningExtreme<true>, InPlace::No, Bounded},
      {"cummin.default", runningExtreme<false>, InPlace::No, Bounded},
      {"cumprod.default", running<Running::Product>, InPlace::Yes, Bounded},
      {"histc.default", histogram, InPlace::No, "up to 65536 bins"},
      {"kthvalue.default", kthValue},
      {"logcumsumexp.default", running<Running::LogSum>, InPlace::No, Bounded},
      {"mode.default", mostFrequent, InPlace::No, "up to 4096 elements"},
      {"msort.default", sortFirst},
      {"nanmean.default", withoutNan<true>},
      {"nansum.default", withoutNan<false>},
      {"quantile.default", quantiles, InPlace::No, QuantileLimit},
      {"quantile.scalar", quantile, InPlace::No,
       "one share; the size must be known, and up to 16777216"},
      {"searchsorted.Scalar", searchSorted, InPlace::No, "no sorter"},
      {"searchsorted.Tensor", searchSorted, InPlace::No, "no sorter"},
      {"unique_consecutive.default", uniqueNeighbours, InPlace::No, Decided},
      {"unique_dim.default", unique, InPlace::No,
       "vectors; not inside loops and branches"},
  };
  return Rows;
}

} // namespace kpc::torch
