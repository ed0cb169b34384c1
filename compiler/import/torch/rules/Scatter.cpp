//===- Scatter.cpp - Import of writes of many elements --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"
#include "compiler/import/torch/rules/RowWrite.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

static mlir::NamedAttribute kindAttr(NodeImport &N, ScatterKind K) {
  mlir::Builder &B = N.builder();
  return B.getNamedAttr("kind", ScatterKindAttr::get(B.getContext(), K));
}

static Value scattered(NodeImport &N, ScatterKind K, Value X, Value Index,
                       Value From, int64_t Axis) {
  if (!X || !Index || !From)
    return {};
  Dims Sizes(N.dims(Index));
  if (N.rank(From) == 0)
    From = N.broadcast(From, Sizes);
  // Of the source the part counts that the index has.
  From =
      N.slice(From, Dims(Sizes.size(), Expr(0)), Ints(Sizes.size(), 1), Sizes);
  return N.build(ScatterElementsOp::getOperationName(),
                 {X, Index, N.cast(From, N.element(X))},
                 {kindAttr(N, K), N.intAttr("axis", Axis)});
}

/// The number that leaves a result as it is; of minima and maxima the other
/// end.
static Value neutral(NodeImport &N, ScatterKind K, Value X) {
  if (K == ScatterKind::add || K == ScatterKind::mul)
    return N.like(K == ScatterKind::mul ? 1 : 0, X);
  bool Most = K == ScatterKind::min;
  if (N.isFloat(X))
    return N.like(Most ? INFINITY : -INFINITY, X);
  auto Whole = llvm::cast<mlir::IntegerType>(N.element(X));
  unsigned Bits = Whole.getWidth() - (Whole.isUnsigned() ? 0 : 1);
  uint64_t Greatest = Bits == 64 ? ~uint64_t(0) : (uint64_t(1) << Bits) - 1;
  int64_t Least = Whole.isUnsigned() ? 0 : -static_cast<int64_t>(Greatest) - 1;
  return N.scalarInt(Most ? static_cast<int64_t>(Greatest) : Least, Whole);
}

/// What several elements of the source do to one; none after a report.
static std::optional<ScatterKind>
kindOf(NodeImport &N, const std::string &Reduce, ScatterKind Default) {
  if (Reduce.empty())
    return Default;
  if (Reduce == "add" || Reduce == "sum" || Reduce == "mean")
    return ScatterKind::add;
  if (Reduce == "multiply" || Reduce == "prod")
    return ScatterKind::mul;
  if (Reduce == "amax")
    return ScatterKind::max;
  if (Reduce == "amin")
    return ScatterKind::min;
  N.unsupported("scatter with reduce '" + printable(Reduce) + "'");
  return std::nullopt;
}

/// The source combined into `X`. Without `IncludeSelf` what is there counts
/// only where nothing comes.
static void scatterReduced(NodeImport &N, const std::string &Reduce,
                           ScatterKind Default, Value X, Value Index,
                           Value From, int64_t Axis) {
  std::optional<ScatterKind> K = kindOf(N, Reduce, Default);
  bool IncludeSelf = N.flag("include_self", true), Mean = Reduce == "mean";
  if (!K || !X || !Index || !From || N.bad())
    return N.give();
  if (IncludeSelf && !Mean)
    return N.result(scattered(N, *K, X, Index, From, Axis));
  if (Mean && !N.isFloat(X))
    return (void)N.unsupported("a mean of integers that are scattered");
  Value One = N.like(1, X), Zero = N.like(0, X);
  // How many come to each element.
  Value Count =
      scattered(N, ScatterKind::add, N.full(0, N.dims(X), N.element(X)), Index,
                N.broadcast(One, N.dims(Index)), Axis);
  Value Comes = N.compare(Predicate::ne, Count, Zero);
  if (!Comes)
    return N.give();
  Value Start = IncludeSelf ? X : N.select(Comes, neutral(N, *K, X), X);
  Value Y = scattered(N, *K, Start, Index, From, Axis);
  if (Mean) {
    Value Of = IncludeSelf ? N.add(Count, One) : N.max(Count, One);
    Y = N.div(Y, Of);
  }
  N.result(Y);
}

template <ScatterKind Default> static void scatter(NodeImport &N) {
  Value X = N.tensor("self"), Index = N.tensor("index");
  if (!X)
    return;
  Value From =
      N.has("src") ? N.tensor("src") : N.operand("value", N.element(X));
  scatterReduced(N, N.text("reduce", ""), Default, X, Index, From,
                 N.axis(N.integer("dim", 0), N.rank(X)));
}

template <ScatterKind K> static void indexWrite(NodeImport &N) {
  Value X = N.tensor("self"), Index = N.tensor("index");
  if (!X || !Index)
    return;
  auto Axis = static_cast<size_t>(N.axis(N.integer("dim", 0), N.rank(X)));
  Value From =
      N.has("source") ? N.tensor("source") : N.operand("value", N.element(X));
  if (!From || N.bad())
    return;
  Dims Sizes(N.dims(X)), Column(N.dims(X).size(), Expr(1));
  Sizes[Axis] = Column[Axis] = typeOf(Index).getNumElements();
  if (K == ScatterKind::none && !N.has("reduce") && isOneElement(Index)) {
    From = N.broadcast(N.cast(From, N.element(X)), Sizes);
    return N.result(withRow(N, X, Index, static_cast<int64_t>(Axis), From));
  }
  if (K == ScatterKind::none && !N.has("reduce") && isChoice(N, X, Index)) {
    From = N.broadcast(N.cast(From, N.element(X)), Sizes);
    return N.result(frontend::chooseRows(N, X, N.cast(Index, N.i64()),
                                         static_cast<int64_t>(Axis), From));
  }
  Index = N.broadcast(N.reshape(Index, Column), Sizes);
  From = N.broadcast(From, Sizes);
  if (N.has("alpha") && N.real("alpha", 1) != 1)
    From = N.mul(From, N.operand("alpha", N.element(From)));
  scatterReduced(N, N.text("reduce", ""), K, X, Index, From,
                 static_cast<int64_t>(Axis));
}

/// Writes to places of the flattened tensor.
static void put(NodeImport &N) {
  Value X = N.tensor("self"), Index = N.tensor("index"),
        From = N.tensor("source");
  if (!X || !Index || !From)
    return;
  Dims Sizes(N.dims(X));
  Expr Count = typeOf(X).getNumElements(),
       Places = typeOf(Index).getNumElements();
  Index = N.reshape(N.cast(Index, N.i64()), {Places});
  // From the end, where they are negative.
  Index = N.select(N.compare(Predicate::lt, Index, N.scalarInt(0, N.i64())),
                   N.add(Index, N.sizeScalar(Count, N.i64())), Index);
  if (!Index)
    return;
  Value Y =
      N.build(ScatterElementsOp::getOperationName(),
              {N.reshape(X, {Count}), Index,
               N.cast(N.reshape(From, {Places}), N.element(X))},
              {kindAttr(N, N.flag("accumulate", false) ? ScatterKind::add
                                                       : ScatterKind::none),
               N.intAttr("axis", 0)});
  N.result(N.reshape(Y, Sizes));
}

/// slice_scatter and select_scatter: a part of a tensor replaced.
template <bool Row> static void partWrite(NodeImport &N) {
  Value X = N.tensor("self"), From = N.tensor("src");
  if (!X || !From)
    return;
  int64_t Axis = N.axis(N.integer("dim", 0), N.rank(X));
  Expr Size = N.dims(X)[static_cast<size_t>(Axis)];
  Expr Start = N.size(Row ? "index" : "start", 0);
  if (Start.asConstant().value_or(0) < 0)
    Start = Start + Size;
  if (N.bad() || N.integer("step", 1) != 1)
    return (void)N.unsupported("a write to a slice with steps");
  Expr Count = Row ? Expr(1) : N.dims(From)[static_cast<size_t>(Axis)];
  auto Place = [&](Value Whole, Value Part) {
    SmallVector<Value> Parts;
    if (Start != Expr(0))
      Parts.push_back(N.sliceAxis(Whole, Axis, 0, Start));
    Parts.push_back(Row ? N.unsqueeze(Part, {Axis}) : Part);
    if (Expr Rest = Size - Start - Count; Rest != Expr(0))
      Parts.push_back(N.sliceAxis(Whole, Axis, Start + Count, Rest));
    return N.concat(Parts, Axis);
  };
  if (!frontend::isPartOfInput(X))
    return N.result(Place(X, From));
  Value Old = N.sliceAxis(X, Axis, Start, Count);
  if (Row)
    Old = N.reshape(Old, N.dims(From));
  N.result(frontend::choosePart(N, X, From, Old, Place));
}

/// The elements of the source one after another where the mask is true.
static void maskedScatter(NodeImport &N) {
  Value X = N.tensor("self"), Mask = N.tensor("mask"),
        From = N.tensor("source");
  if (!X || !Mask || !From)
    return;
  Dims Sizes(N.dims(X));
  Expr Count = typeOf(X).getNumElements();
  Mask = N.reshape(N.broadcast(N.cast(Mask, N.i1()), Sizes), {Count});
  Value Place = N.cumsum(N.cast(Mask, N.i64()), 0, /*Exclusive=*/true, false);
  Expr Held = typeOf(From).getNumElements();
  // Behind the last true element the place may lie behind the source.
  Place = N.min(Place, N.sizeScalar(Held - 1, N.i64()));
  Value Picked = N.gather(N.reshape(From, {Held}), Place, 0);
  Value Y = N.select(Mask, N.cast(Picked, N.element(X)), N.reshape(X, {Count}));
  N.result(N.reshape(Y, Sizes));
}

ArrayRef<Rule> scatterRules() {
  constexpr InPlace Too = InPlace::Yes;
  static const Rule Rows[] = {
      {"index_add.default", indexWrite<ScatterKind::add>, Too},
      {"index_copy.default", indexWrite<ScatterKind::none>, Too},
      {"index_fill.int_Scalar", indexWrite<ScatterKind::none>, Too},
      {"index_fill.int_Tensor", indexWrite<ScatterKind::none>, Too},
      {"index_reduce.default", indexWrite<ScatterKind::none>, Too,
       "means of floats"},
      {"masked_scatter.default", maskedScatter, Too},
      {"put.default", put, Too},
      {"scatter.reduce", scatter<ScatterKind::none>, Too},
      {"scatter.src", scatter<ScatterKind::none>, Too},
      {"scatter.value", scatter<ScatterKind::none>, Too},
      {"scatter.value_reduce", scatter<ScatterKind::none>, Too},
      {"scatter_add.default", scatter<ScatterKind::add>, Too},
      {"scatter_reduce.two", scatter<ScatterKind::none>, Too,
       "means of floats"},
      {"select_scatter.default", partWrite<true>},
      {"slice_scatter.default", partWrite<false>, InPlace::No, "steps of 1"},
  };
  return Rows;
}

} // namespace kpc::torch
