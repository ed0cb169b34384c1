//===- Indexing.cpp - Import of gathers, scatters and orders --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"

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

/// A gather of places that are known and lie in equal steps is a slice, which
/// others read in place. Null where it is none.
static Value sliceInstead(NodeImport &N, Value X, Value Indices, int64_t Axis) {
  const Contents *C = N.contents(1);
  std::optional<std::vector<int64_t>> At = C ? C->integers() : std::nullopt;
  Dims Sizes(N.dims(X));
  std::optional<int64_t> Size = Sizes[static_cast<size_t>(Axis)].asConstant();
  if (!At || At->empty() || !Size || N.rank(Indices) > 1)
    return {};
  for (int64_t &I : *At)
    I += I < 0 ? *Size : 0;
  int64_t Step = At->size() > 1 ? (*At)[1] - (*At)[0] : 1;
  for (size_t I = 1; I < At->size(); ++I)
    if (!Step || (*At)[I] - (*At)[I - 1] != Step)
      return {};
  Value Part = N.sliceAxis(X, Axis, At->front(), int64_t(At->size()), Step);
  if (N.rank(Indices) == 1)
    return Part;
  Sizes.erase(Sizes.begin() + Axis);
  return N.reshape(Part, Sizes);
}

static void importGather(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", 0);
  N.expectInputs(2, 2);
  Value X = N.input(0), Indices = N.input(1);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad() || !indicesFit(N, 1, N.dims(X)[static_cast<size_t>(Axis)]))
    return;
  Value Slice = sliceInstead(N, X, Indices, Axis);
  N.result(0, Slice ? Slice : N.gather(X, Indices, Axis));
}

/// The first elements of an axis, as many as indices have there: fewer than x
/// or as many. Runs check it where sizes are open.
static Value partOfAxis(NodeImport &N, Value X, int64_t Axis,
                        const Expr &Count) {
  const Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
  if (Count == Size || (Count.isConstant() && Size.isConstant()) ||
      !N.importer().require(Count, false, Size,
                            "has no more indices along an axis than elements",
                            N))
    return X;
  return N.sliceAxis(X, Axis, 0, Count);
}

static void importGatherElements(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", 0);
  N.expectInputs(2, 2);
  Value X = N.input(0), Indices = N.input(1);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (N.bad() || !indicesFit(N, 1, N.dims(X)[static_cast<size_t>(Axis)]))
    return;
  for (int64_t I = 0; N.rank(X) == N.rank(Indices) && I < N.rank(X); ++I)
    if (I != Axis)
      X = partOfAxis(N, X, I, N.dims(Indices)[static_cast<size_t>(I)]);
  N.result(0, N.gatherElements(X, Indices, Axis));
}

static void importGatherNd(NodeImport &N) {
  int64_t Batch = N.intAttribute("batch_dims", 0);
  N.expectInputs(2, 2);
  Value X = N.input(0), Indices = N.input(1);
  if (!N.bad())
    N.result(0, N.gatherNd(X, Indices, Batch));
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

static void importScatterElements(NodeImport &N) {
  int64_t Axis = N.intAttribute("axis", 0);
  std::optional<ScatterKind> Kind = scatterKind(N);
  N.expectInputs(3, 3);
  Value X = N.input(0), Indices = N.input(1), Updates = N.input(2);
  if (N.bad())
    return;
  Axis = N.frontAxis(Axis, N.rank(X));
  if (!N.bad())
    N.result(0, N.scatterElements(*Kind, X, Indices, Updates, Axis));
}

static void importScatterNd(NodeImport &N) {
  std::optional<ScatterKind> Kind = scatterKind(N);
  N.expectInputs(3, 3);
  Value X = N.input(0), Indices = N.input(1), Updates = N.input(2);
  if (!N.bad())
    N.result(0, N.scatterNd(*Kind, X, Indices, Updates));
}

//===----------------------------------------------------------------------===//
// TopK
//===----------------------------------------------------------------------===//

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
  N.takeOneElement(1);
  std::optional<Expr> K = topCount(N, X, Axis);
  if (!K)
    return;
  auto [Elements, Indices] = N.sort(X, Axis, /*Descending=*/Largest, *K);
  N.result(0, Elements);
  N.result(1, Indices);
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
  auto At = static_cast<size_t>(Batch);
  if (N.dims(Lengths)[0] != N.dims(X)[At] &&
      !N.unify(N.dims(X)[At], N.dims(Lengths)[0])) {
    N.fail(Code::ImportShape, "has " + N.dims(Lengths)[0].str() +
                                  " lengths for a batch of " +
                                  N.dims(X)[At].str());
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
      {"", "TopK", 1, Newest, importTopK},
      {"", "ReverseSequence", 10, Newest, importReverseSequence},
  };
  return Rows;
}

} // namespace kpc::onnx
