//===- Selection.cpp - Results whose number data decides ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compress, NonZero, Unique, NonMaxSuppression: flags say what is selected,
/// their sum is a size of the model (NodeImport::decideSize), and the rest is
/// gathers by the places of the flags.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/Selection.h"
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"

#include <limits>

using namespace kpc::graph;

namespace kpc::onnx {

using frontend::countTrue;
using frontend::flatten;
using frontend::ordinals;
using frontend::rowsOf;
using frontend::takeBoxes;

//===----------------------------------------------------------------------===//
// Compress, NonZero
//===----------------------------------------------------------------------===//

/// The type that counts up to a size: i32 where it is known to do.
static Type countType(NodeImport &N, const Expr &Size) {
  constexpr int64_t Most = std::numeric_limits<int32_t>::max();
  return N.importer().facts().range(Size).Max <= Most ? N.i32() : N.i64();
}

static Value runningCount(NodeImport &N, Value Flags) {
  return Flags
             ? frontend::runningCount(N, Flags, countType(N, N.dims(Flags)[0]))
             : Value();
}

static Value trueIndices(NodeImport &N, Value Flags, const Expr &Count) {
  return Flags ? frontend::trueIndices(N, Flags, Count,
                                       countType(N, N.dims(Flags)[0]))
               : Value();
}

/// The size of dim `Axis` of the node's first output: as declared, or what the
/// flags say.
static std::optional<Expr> selectedSize(NodeImport &N, Value Flags, size_t Axis,
                                        size_t Rank) {
  std::optional<Dims> Declared = N.declaredSizes(0);
  if (Declared && Declared->size() == Rank)
    return (*Declared)[Axis];
  if (!Flags)
    return std::nullopt;
  return N.decideSize(countTrue(N, Flags), N.dims(Flags)[0], Axis);
}

/// Input 0 and its `axis`, or without one its elements in a row and 0; null
/// after a fault.
static std::pair<Value, int64_t> inputAlongAxis(NodeImport &N) {
  bool HasAxis = N.hasAttribute("axis");
  int64_t Axis = N.intAttribute("axis", 0);
  Value X = N.input(0);
  if (N.bad())
    return {};
  if (!HasAxis)
    X = flatten(N, X);
  Axis = N.frontAxis(Axis, N.rank(X));
  return {N.bad() ? Value() : X, Axis};
}

static void importCompress(NodeImport &N) {
  N.expectInputs(2, 2);
  auto [X, Axis] = inputAlongAxis(N);
  if (!X)
    return;
  if (const Contents *C = N.contents(1)) {
    if (std::optional<std::vector<int64_t>> Bits = C->integers()) {
      Ints Kept;
      for (size_t I = 0; I < Bits->size(); ++I)
        if ((*Bits)[I])
          Kept.push_back(static_cast<int64_t>(I));
      if (!Kept.empty())
        return N.result(0, N.gather(X, N.intVector(Kept, N.i64()), Axis));
    }
  }
  Value Flags = N.input(1);
  if (N.bad())
    return;
  if (N.rank(Flags) != 1) {
    N.fail(Code::ImportRank, "input 1 has rank " +
                                 std::to_string(N.rank(Flags)) +
                                 ", but should be a vector");
    return;
  }
  // The condition may be shorter than the axis; what is longer selects nothing.
  size_t At = static_cast<size_t>(Axis);
  Expr Looked = Expr::min(N.dims(Flags)[0], N.dims(X)[At]);
  Looked = N.importer().facts().simplify(Looked);
  Flags = N.sliceAxis(Flags, 0, 0, Looked);
  if (std::optional<Expr> Count = selectedSize(N, Flags, At, N.dims(X).size()))
    N.result(0, N.gather(X, trueIndices(N, Flags, *Count), Axis));
}

static void importNonZero(NodeImport &N) {
  Value X = N.input(0);
  if (N.bad())
    return;
  if (N.rank(X) == 0) {
    N.fail(Code::ImportRank, "input 0 is a scalar");
    return;
  }
  Value Flags = N.cast(flatten(N, X), N.i1());
  std::optional<Expr> Count = selectedSize(N, Flags, 1, 2);
  if (!Count)
    return;
  SmallVector<Value> Rows =
      rowsOf(N, trueIndices(N, Flags, *Count), Dims(N.dims(X)));
  for (Value &Row : Rows)
    Row = N.unsqueeze(Row, {0});
  N.result(0, N.concat(Rows, 0));
}

//===----------------------------------------------------------------------===//
// Unique
//===----------------------------------------------------------------------===//

namespace {
/// What is told of the elements or slices that differ.
struct Distinct {
  Expr Count;
  Value Indices; ///< of the first of each, [Count]
  Value Groups;  ///< which of them each element is
  Value Counts;  ///< how many elements each is, [Count]
};

/// How the other of two elements stands to one's own.
struct PairOrder {
  Value Ahead, Equal;
};
} // namespace

/// Whether two elements are equal, NaN to NaN too.
static Value areEqual(NodeImport &N, Value A, Value B) {
  Value Equal = N.compare(Predicate::eq, A, B);
  if (!A || !B || !N.isFloat(A))
    return Equal;
  Value NanA = N.build(IsNanOp::getOperationName(), {A}, {}),
        NanB = N.build(IsNanOp::getOperationName(), {B}, {});
  return N.binary<OrOp>(Equal, N.binary<AndOp>(NanA, NanB));
}

/// Places that are all different, in order: where each of them stands.
static Value inverseOf(NodeImport &N, Value Places) {
  if (!Places)
    return {};
  const Expr &Size = N.dims(Places)[0];
  return N
      .sort(N.cast(Places, countType(N, Size)), 0, /*Descending=*/false, Size)
      .Indices;
}

/// Of the elements of a vector, in their order or in that of the first of each.
static std::optional<Distinct> distinctElements(NodeImport &N, Value X,
                                                bool Sorted) {
  const Expr Size = N.dims(X)[0];
  auto [Elements, Order] = N.sort(X, 0, /*Descending=*/false, Size);
  if (!Elements)
    return std::nullopt;
  // The one in front of the first is the last; the first one is new anyway.
  Value Place = N.iota({Size}, 0, N.i64());
  Value InFront = N.gather(Elements, N.addScalar(Place, -1), 0);
  Value IsNew =
      N.binary<OrOp>(N.notOf(areEqual(N, Elements, InFront)),
                     N.compare(Predicate::eq, Place, N.scalarInt(0, N.i64())));
  Value Running = runningCount(N, IsNew);
  std::optional<Expr> Count = selectedSize(N, IsNew, 0, 1);
  if (!Count || !Running)
    return std::nullopt;
  Distinct D{*Count, {}, {}, {}};
  Value Ordinal = ordinals(N, *Count, Running);
  Value Begin = N.searchSorted(Running, Ordinal);
  D.Counts = N.sub(N.searchSorted(Running, Ordinal, /*Right=*/true), Begin);
  D.Indices = N.gather(Order, Begin, 0);
  D.Groups = N.addScalar(
      N.cast(N.gather(Running, inverseOf(N, Order), 0), N.i64()), -1);
  if (Sorted || !D.Indices)
    return D;
  auto [ByFirst, Old] =
      N.sort(N.cast(D.Indices, countType(N, Size)), 0, false, *Count);
  D.Indices = N.cast(ByFirst, N.i64());
  D.Counts = N.gather(D.Counts, Old, 0);
  D.Groups = N.gather(inverseOf(N, Old), D.Groups, 0);
  return D;
}

/// A total order of elements, in which NaN is the greatest.
static PairOrder comparePairs(NodeImport &N, Value Own, Value Other) {
  PairOrder O{N.compare(Predicate::lt, Other, Own), areEqual(N, Other, Own)};
  if (!Own || !Other || !N.isFloat(Own))
    return O;
  Value OwnNan = N.build(IsNanOp::getOperationName(), {Own}, {}),
        OtherNan = N.build(IsNanOp::getOperationName(), {Other}, {});
  O.Ahead = N.binary<OrOp>(O.Ahead, N.binary<AndOp>(OwnNan, N.notOf(OtherNan)));
  return O;
}

/// How each row [M, L] stands to each other one, [M, M]: by the first elements
/// in which they differ.
static PairOrder compareRows(NodeImport &N, Value Rows) {
  Value Own = N.unsqueeze(Rows, {1}), Other = N.unsqueeze(Rows, {0});
  PairOrder O = comparePairs(N, Own, Other);
  Value Differs = N.cast(N.notOf(O.Equal), N.i32());
  Value Most = N.reduce(ReduceKind::max, Differs, {2});
  Value First = N.argReduce(ReduceKind::max, Differs, 2, /*SelectLast=*/false);
  if (!First)
    return {};
  Value At = N.gatherElements(N.cast(O.Ahead, N.i32()),
                              N.unsqueeze(N.cast(First, N.i64()), {2}), 2);
  return {N.cast(N.reduce(ReduceKind::max, At, {2}), N.i1()),
          N.compare(Predicate::eq, Most, N.scalarInt(0, N.i32()))};
}

/// Slices are compared with each other: there must be few.
static bool mayCompareAll(NodeImport &N, const Expr &Size) {
  constexpr int64_t Most = 4096;
  if (N.importer().facts().range(Size).Max <= Most)
    return true;
  if (!Size.asConstant() &&
      N.importer().require(Size, false, Expr(Most), "compares all pairs of", N))
    return true;
  N.unsupported("compares all pairs of " + Size.str() +
                " slices; kpc compares up to " + std::to_string(Most));
  return false;
}

/// Of the slices of an axis.
static std::optional<Distinct> distinctSlices(NodeImport &N, Value X,
                                              int64_t Axis, bool Sorted) {
  size_t At = static_cast<size_t>(Axis);
  Expr Size = N.dims(X)[At];
  if (!mayCompareAll(N, Size))
    return std::nullopt;
  Ints Perm = {Axis};
  Expr Length(1);
  for (int64_t D = 0; D < N.rank(X); ++D)
    if (D != Axis) {
      Perm.push_back(D);
      Length = Length * N.dims(X)[static_cast<size_t>(D)];
    }
  PairOrder O = compareRows(N, N.reshape(N.transpose(X, Perm), {Size, Length}));
  Dims Square = {Size, Size};
  Value Column = N.iota(Square, 1, N.i64());
  Value Earlier = N.compare(Predicate::lt, Column, N.iota(Square, 0, N.i64()));
  Value Zero = N.scalarInt(0, N.i64());
  // Of what is equal the first one stands for all.
  Value Before = N.reduce(ReduceKind::sum,
                          N.cast(N.bitAnd(O.Equal, Earlier), N.i64()), {1});
  Value IsFirst = N.compare(Predicate::eq, Before, Zero);
  Value Ahead = O.Ahead;
  if (!Sorted) {
    // In the order of the first ones: those in front of one's own first one.
    Value Own =
        N.reduce(ReduceKind::min,
                 N.select(O.Equal, Column, N.sizeScalar(Size, N.i64())), {1});
    Ahead = N.compare(Predicate::lt, Column, N.unsqueeze(Own, {1}));
  }
  Value Group = N.reduce(
      ReduceKind::sum,
      N.cast(N.bitAnd(Ahead, N.unsqueeze(IsFirst, {0})), N.i64()), {1});
  std::optional<Expr> Count =
      selectedSize(N, IsFirst, At, static_cast<size_t>(N.rank(X)));
  if (!Count || !Group)
    return std::nullopt;
  Dims Grid = {*Count, Size};
  Value Of = N.compare(Predicate::eq, Group, N.iota(Grid, 0, N.i64()));
  Value Indices = N.reduce(
      ReduceKind::sum,
      N.select(N.bitAnd(Of, IsFirst), N.iota(Grid, 1, N.i64()), Zero), {1});
  return Distinct{*Count, Indices, Group,
                  N.reduce(ReduceKind::sum, N.cast(Of, N.i64()), {1})};
}

static void importUnique(NodeImport &N) {
  bool Sorted = N.flagAttribute("sorted", true);
  N.expectInputs(1, 1);
  auto [X, Axis] = inputAlongAxis(N);
  if (!X)
    return;
  std::optional<Distinct> D = N.rank(X) == 1
                                  ? distinctElements(N, X, Sorted)
                                  : distinctSlices(N, X, Axis, Sorted);
  if (!D)
    return;
  N.result(0, N.gather(X, D->Indices, Axis));
  if (N.wants(1))
    N.result(1, D->Indices);
  if (N.wants(2))
    N.result(2, D->Groups);
  if (N.wants(3))
    N.result(3, D->Counts);
}

/// ONNX Runtime's own: of a vector, in the order in which elements come first.
static void importUniqueOfVector(NodeImport &N) {
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (N.bad())
    return;
  if (N.rank(X) != 1) {
    N.fail(Code::ImportRank, "elements of " + typeText(X.getType()) +
                                 ", expected those of a vector");
    return;
  }
  std::optional<Distinct> D = distinctElements(N, X, /*Sorted=*/false);
  if (!D)
    return;
  N.result(0, N.gather(X, D->Indices, 0));
  if (N.wants(1))
    N.result(1, D->Groups);
  if (N.wants(2))
    N.result(2, D->Counts);
}

//===----------------------------------------------------------------------===//
// NonMaxSuppression
//===----------------------------------------------------------------------===//

/// A scalar, also where it is a vector of one element.
static Value scalarInput(NodeImport &N, size_t I) {
  N.takeOneElement(I);
  Value V = N.input(I);
  if (!V || N.rank(V) == 0)
    return V;
  return N.reshape(V, {});
}

/// What a class may select at most: a size, or where that is no size a value.
struct BoxLimit {
  Expr Rounds;
  Value Given;
};
static BoxLimit boxLimit(NodeImport &N, const Expr &BoxCount) {
  if (!N.hasInput(2))
    return {Expr(0), {}};
  N.takeOneElement(2);
  if (std::optional<std::vector<Expr>> Known = N.readSizes(2);
      Known && Known->size() == 1) {
    Expr Most = Expr::max(Known->front(), 0);
    return {N.importer().facts().simplify(Expr::min(Most, BoxCount)), {}};
  }
  return {BoxCount, N.cast(scalarInput(N, 2), N.i64())};
}

static void importNonMaxSuppression(NodeImport &N) {
  bool AreCenters = N.flagAttribute("center_point_box");
  N.expectInputs(2, 5);
  Value All = N.input(0), Scores = N.input(1);
  if (N.bad())
    return;
  if (N.rank(All) != 3 || N.rank(Scores) != 3 ||
      N.dims(All)[2].asConstant().value_or(4) != 4) {
    N.fail(Code::ImportRank,
           "boxes are " + typeText(All.getType()) + " and scores " +
               typeText(Scores.getType()) +
               ", expected [batch, boxes, 4] and [batch, classes, boxes]");
    return;
  }
  if (!N.unify(N.dims(All)[0], N.dims(Scores)[0]) ||
      !N.unify(N.dims(All)[1], N.dims(Scores)[2])) {
    N.fail(Code::ImportShape, "boxes are " + typeText(All.getType()) +
                                  ", but scores " + typeText(Scores.getType()));
    return;
  }
  // Finite, so that minus infinity is none of the model's own; NaN is the last.
  Value Lowest = N.like(std::numeric_limits<float>::lowest(), Scores);
  Value Left =
      N.select(N.compare(Predicate::gt, Scores, Lowest), Scores, Lowest);
  if (N.hasInput(4))
    Left = N.select(N.compare(Predicate::gt, Scores, scalarInput(N, 4)), Left,
                    N.like(-std::numeric_limits<double>::infinity(), Scores));
  Value Threshold = N.hasInput(3) ? scalarInput(N, 3) : N.like(0, All);
  BoxLimit Limit = boxLimit(N, N.dims(Scores)[2]);
  if (N.bad() || !Left)
    return;
  if (Limit.Rounds.asConstant() == 0)
    return N.result(0, N.full(0, {Expr(0), Expr(3)}, N.i64()));
  auto Found =
      takeBoxes(N, All, Left, Threshold, AreCenters, Limit.Rounds,
                [&](const Expr &Count, ArrayRef<Value> Inits,
                    ArrayRef<bool> Reversed, frontend::LoopFunction Body) {
                  return N.importer().loop(N, Count, Inits, Reversed, Body);
                });
  if (!Found)
    return;
  Value Best = N.transpose(Found->first, {1, 2, 0}),
        Taken = N.transpose(Found->second, {1, 2, 0});
  if (Limit.Given)
    Taken = N.bitAnd(Taken,
                     N.compare(Predicate::lt, N.iota(N.dims(Best), 2, N.i64()),
                               Limit.Given));
  Value Flags = flatten(N, Taken);
  std::optional<Expr> Count = selectedSize(N, Flags, 0, 2);
  if (!Count)
    return;
  Value Flat = trueIndices(N, Flags, *Count);
  SmallVector<Value> Columns = rowsOf(N, Flat, Dims(N.dims(Best)));
  Columns[2] = N.gather(flatten(N, Best), Flat, 0);
  for (Value &Column : Columns)
    Column = N.unsqueeze(Column, {1});
  N.result(0, N.concat(Columns, 1));
}

ArrayRef<Rule> selectionRules() {
  static constexpr std::string_view NotInside =
      "inside loops and branches the number of results must be declared";
  static const Rule Rows[] = {
      {"", "Compress", 9, Newest, importCompress, NotInside},
      {"", "NonZero", 9, Newest, importNonZero, NotInside},
      {"", "NonMaxSuppression", 10, Newest, importNonMaxSuppression, NotInside},
      {"com.microsoft", "Unique", 1, 1, importUniqueOfVector},
      {"", "Unique", 11, Newest, importUnique,
       "up to 4096 slices (of a dynamic size: by its range); inside loops and "
       "branches the number of results must be declared"},
  };
  return Rows;
}

} // namespace kpc::onnx
