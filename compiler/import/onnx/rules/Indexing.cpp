//===- Indexing.cpp - Import of gathers, scatters and orders --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Ordering.h"

using namespace kpc::graph;

namespace kpc::onnx {

/// Reports a constant index that lies outside a size that is a number.
static bool indicesFit(NodeImport &N, size_t Input, const Expr &Size) {
  const Contents *C = N.contents(Input);
  std::optional<std::vector<int64_t>> Indices =
      C ? C->integers() : std::nullopt;
  std::optional<int64_t> Limit = Size.asConstant();
  if (!Indices || !Limit)
    return true;
  for (int64_t I : *Indices)
    if (I < -*Limit || I >= *Limit) {
      N.fail(Code::ImportShape, "index " + std::to_string(I) +
                                    " is outside the size " + Size.str());
      return false;
    }
  return true;
}

static void importGather(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", 0);
  N.expectInputs(2, 2);
  Value X = N.input(0), Indices = N.input(1);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (!N.bad() && indicesFit(N, 1, N.dims(X)[static_cast<size_t>(Axis)]))
    N.result(0, N.gather(X, Indices, Axis));
}

static void importGatherElements(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", 0);
  N.expectInputs(2, 2);
  Value X = N.input(0), Indices = N.input(1);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (!N.bad() && indicesFit(N, 1, N.dims(X)[static_cast<size_t>(Axis)]))
    N.result(0, N.gatherElements(X, Indices, Axis));
}

static void importGatherNd(NodeImport &N) {
  int64_t Batch = N.intAttribute("batch_dims", 0);
  N.expectInputs(2, 2);
  Value X = N.input(0), Indices = N.input(1);
  if (!N.bad())
    N.result(0, N.build(GatherNdOp::getOperationName(), {X, Indices},
                        {N.intAttr("batch_dims", Batch)}));
}

static std::optional<ScatterKind> scatterKind(NodeImport &N) {
  std::string Name = N.stringAttribute("reduction", "none");
  std::optional<ScatterKind> Kind = symbolizeScatterKind(Name);
  if (!Kind)
    N.fail(Code::ImportAttributeValue,
           "attribute 'reduction' is '" + printable(Name) +
               "', but should be none, add, mul, max or min");
  return N.bad() ? std::nullopt : Kind;
}

static mlir::NamedAttribute kindAttr(NodeImport &N, ScatterKind Kind) {
  mlir::OpBuilder &B = N.builder();
  return B.getNamedAttr("kind", ScatterKindAttr::get(B.getContext(), Kind));
}

static void importScatterElements(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", 0);
  std::optional<ScatterKind> Kind = scatterKind(N);
  N.expectInputs(3, 3);
  Value X = N.input(0), Indices = N.input(1), Updates = N.input(2);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (!N.bad())
    N.result(0, N.build(ScatterElementsOp::getOperationName(),
                        {X, Indices, Updates},
                        {kindAttr(N, *Kind), N.intAttr("axis", Axis)}));
}

static void importScatterNd(NodeImport &N) {
  std::optional<ScatterKind> Kind = scatterKind(N);
  N.expectInputs(3, 3);
  Value X = N.input(0), Indices = N.input(1), Updates = N.input(2);
  if (!N.bad())
    N.result(0, N.build(ScatterNdOp::getOperationName(), {X, Indices, Updates},
                        {kindAttr(N, *Kind)}));
}

//===----------------------------------------------------------------------===//
// TopK
//===----------------------------------------------------------------------===//

static constexpr int64_t LongestOrdered = 4096;

static std::optional<Expr> topCount(NodeImport &N, Value X, int64_t Axis) {
  if (!N.contents(1))
    if (std::optional<Dims> Declared = N.declaredSizes(0);
        Declared && Declared->size() > static_cast<size_t>(Axis))
      return (*Declared)[static_cast<size_t>(Axis)];
  std::optional<std::vector<Expr>> K = N.knownSizes(1, "k");
  if (!K)
    return std::nullopt;
  if (K->size() == 1) {
    if (!N.importer().require(K->front(), false,
                              N.dims(X)[static_cast<size_t>(Axis)],
                              "selects as many of an axis", N)) {
      N.fail(Code::ImportShape, "k is " + K->front().str() +
                                    ", more than the axis has: " +
                                    N.dims(X)[static_cast<size_t>(Axis)].str());
      return std::nullopt;
    }
    return K->front();
  }
  N.fail(Code::ImportShape, "k, input 1, has " + std::to_string(K->size()) +
                                " elements, but should have one");
  return std::nullopt;
}

PairOrder comparePairs(NodeImport &N, Value Own, Value Other, bool Largest) {
  PairOrder O{N.compare(Largest ? Predicate::gt : Predicate::lt, Other, Own),
              N.compare(Predicate::eq, Other, Own)};
  if (!Own || !Other || !N.isFloat(Own))
    return O;
  Value OwnNan = N.build(IsNanOp::getOperationName(), {Own}, {}),
        OtherNan = N.build(IsNanOp::getOperationName(), {Other}, {});
  Value First = Largest ? OtherNan : OwnNan,
        Second = Largest ? OwnNan : OtherNan;
  O.Ahead = N.binary<OrOp>(O.Ahead, N.binary<AndOp>(First, N.notOf(Second)));
  O.Equal = N.binary<OrOp>(O.Equal, N.binary<AndOp>(OwnNan, OtherNan));
  return O;
}

bool mayOrder(NodeImport &N, const Expr &Size) {
  if (N.importer().facts().range(Size).Max <= LongestOrdered)
    return true;
  std::string What = "orders a size of " + Size.str() + "; kpc orders up to " +
                     std::to_string(LongestOrdered);
  if (Size.asConstant())
    N.unsupported(What);
  else
    N.fail(Code::ImportUnsupported, What,
           "give it a range that ends there with --dim");
  return false;
}

static void importTopK(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", -1);
  bool Largest = N.flagAttribute("largest", true);
  N.ignoreAttribute("sorted");
  N.expectInputs(2, 2);
  Value X = N.input(0);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad())
    return;
  std::optional<Expr> K = topCount(N, X, Axis);
  Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
  if (!K)
    return;
  if (!mayOrder(N, Size))
    return;
  int64_t Last = N.rank(X) - 1;
  Ints Perm = llvm::to_vector(llvm::seq<int64_t>(0, Last + 1));
  std::swap(Perm[static_cast<size_t>(Axis)], Perm.back());
  Value Rows = N.transpose(X, Perm);
  Value Own = N.unsqueeze(Rows, {Last + 1}), Other = N.unsqueeze(Rows, {Last});
  PairOrder O = comparePairs(N, Own, Other, Largest);
  Dims Square = {Size, Size};
  Value Earlier = N.compare(Predicate::lt, N.iota(Square, 1, N.i64()),
                            N.iota(Square, 0, N.i64()));
  Value Tied = N.binary<AndOp>(O.Equal, Earlier);
  Value Place =
      N.reduce(ReduceKind::sum, N.cast(N.binary<OrOp>(O.Ahead, Tied), N.i64()),
               {Last + 1});
  Dims Grid = {*K, Size};
  Value Here = N.compare(Predicate::eq, N.unsqueeze(Place, {Last}),
                         N.iota(Grid, 0, N.i64()));
  Value Index = N.reduce(
      ReduceKind::sum,
      N.select(Here, N.iota(Grid, 1, N.i64()), N.scalarInt(0, N.i64())),
      {Last + 1});
  Index = N.transpose(Index, Perm);
  N.result(0, N.gatherElements(X, Index, Axis));
  N.result(1, Index);
}

//===----------------------------------------------------------------------===//
// ReverseSequence
//===----------------------------------------------------------------------===//

static void importReverseSequence(NodeImport &N) {
  int64_t Time = N.intAttribute("time_axis", 0);
  int64_t Batch = N.intAttribute("batch_axis", 1);
  N.expectInputs(2, 2);
  Value X = N.input(0), Lengths = N.input(1);
  if (N.bad())
    return;
  if (Time + Batch != 1 || Time * Batch != 0 || N.rank(X) < 2 ||
      N.rank(Lengths) != 1) {
    N.fail(Code::ImportAttributeValue,
           "time_axis and batch_axis should be 0 and 1, in any order");
    return;
  }
  Dims Sizes(N.dims(X));
  Value Step = N.iota(Sizes, Time, N.i64());
  Dims Along(Sizes.size(), Expr(1));
  Along[static_cast<size_t>(Batch)] = Sizes[static_cast<size_t>(Batch)];
  Value Length = N.reshape(N.cast(Lengths, N.i64()), Along);
  Value Turned = N.addScalar(N.sub(Length, Step), -1);
  Value Index = N.select(N.compare(Predicate::lt, Step, Length), Turned, Step);
  N.result(0, N.gatherElements(X, Index, Time));
}

ArrayRef<Rule> indexingRules() {
  static const Rule Rows[] = {
      {"", "Gather", 1, Newest, importGather},
      {"", "GatherElements", 11, Newest, importGatherElements},
      {"", "GatherND", 11, Newest, importGatherNd},
      {"", "Scatter", 9, 10, importScatterElements},
      {"", "ScatterElements", 11, Newest, importScatterElements},
      {"", "ScatterND", 11, Newest, importScatterNd},
      {"", "TopK", 1, Newest, importTopK,
       "k must be known when compiling; rows of up to 4096 (of a dynamic size: "
       "by its range)"},
      {"", "ReverseSequence", 10, Newest, importReverseSequence},
  };
  return Rows;
}

} // namespace kpc::onnx
