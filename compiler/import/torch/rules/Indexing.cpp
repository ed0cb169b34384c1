//===- Indexing.cpp - Import of reads and writes by index -----------------===//
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

static Ints moved(size_t Rank, ArrayRef<int64_t> First) {
  Ints Perm(First);
  for (size_t I = 0; I < Rank; ++I)
    if (!llvm::is_contained(First, static_cast<int64_t>(I)))
      Perm.push_back(static_cast<int64_t>(I));
  return Perm;
}

static Ints inverse(ArrayRef<int64_t> Perm) {
  Ints Back(Perm.size(), 0);
  for (size_t I = 0; I < Perm.size(); ++I)
    Back[static_cast<size_t>(Perm[I])] = static_cast<int64_t>(I);
  return Back;
}

namespace {
/// The index tensors of `index` and `index_put`, made one.
struct Places {
  Ints Axes;        ///< that are indexed
  Value Index;      ///< [sizes…, axes]
  Dims Sizes;       ///< of the index tensors together
  Value Mask;       ///< instead of all this: one tensor of bools,
  size_t Front = 0; ///< over the axes from this one on
};
} // namespace

static std::optional<Places> readPlaces(NodeImport &N, Value X) {
  SmallVector<Value> Given = N.tensors("indices");
  if (N.bad() || !X)
    return std::nullopt;
  Places P;
  SmallVector<Value> Used;
  for (size_t I = 0; I < Given.size(); ++I) {
    if (!Given[I])
      continue;
    if (isBool(N.element(Given[I]))) {
      if (llvm::count_if(Given, [](Value V) { return bool(V); }) != 1) {
        N.unsupported("a mask among other indices: take the mask's places by "
                      "nonzero, or index twice");
        return std::nullopt;
      }
      P.Mask = Given[I];
      P.Front = I;
      return P;
    }
    P.Axes.push_back(static_cast<int64_t>(I));
    Used.push_back(N.cast(Given[I], N.i64()));
  }
  if (Used.empty() || P.Axes.back() >= N.rank(X)) {
    N.fail(Code::ImportRank, "has more indices than there are dimensions");
    return std::nullopt;
  }
  P.Sizes = Dims(N.dims(Used[0]));
  for (Value V : Used) {
    std::optional<Dims> Both = N.broadcastSizes(P.Sizes, N.dims(V));
    if (!Both)
      return std::nullopt;
    P.Sizes = *Both;
  }
  SmallVector<Value> Columns;
  for (auto [A, V] : llvm::zip(P.Axes, Used)) {
    V = N.broadcast(V, P.Sizes);
    // From the end, where they are negative.
    Value Size = N.sizeScalar(N.dims(X)[static_cast<size_t>(A)], N.i64());
    V = N.select(N.compare(Predicate::lt, V, N.scalarInt(0, N.i64())),
                 N.add(V, Size), V);
    Columns.push_back(N.unsqueeze(V, {static_cast<int64_t>(P.Sizes.size())}));
  }
  P.Index = N.concat(Columns, static_cast<int64_t>(P.Sizes.size()));
  return P;
}

static void index(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Places> P = readPlaces(N, X);
  if (!P)
    return;
  if (P->Mask)
    return selectByMask(N, X, P->Mask, P->Front);
  if (P->Axes.size() == 1) {
    Value Index = N.reshape(P->Index, P->Sizes);
    return N.result(N.gather(X, Index, P->Axes[0]));
  }
  Value Y =
      N.build(GatherNdOp::getOperationName(),
              {N.transpose(X, moved(N.dims(X).size(), P->Axes)), P->Index},
              {N.intAttr("batch_dims", 0)});
  if (!Y)
    return;
  // Index tensors side by side: their sizes stand where they stood.
  bool Together = P->Axes.back() - P->Axes.front() + 1 ==
                  static_cast<int64_t>(P->Axes.size());
  auto Own = static_cast<int64_t>(P->Sizes.size());
  if (Together && P->Axes[0] > 0) {
    Ints Perm;
    for (int64_t I = 0; I < P->Axes[0]; ++I)
      Perm.push_back(Own + I);
    for (int64_t I = 0; I < Own; ++I)
      Perm.push_back(I);
    for (int64_t I = Own + P->Axes[0]; I < N.rank(Y); ++I)
      Perm.push_back(I);
    Y = N.transpose(Y, Perm);
  }
  N.result(Y);
}

static mlir::NamedAttribute kindAttr(NodeImport &N, ScatterKind K) {
  mlir::Builder &B = N.builder();
  return B.getNamedAttr("kind", ScatterKindAttr::get(B.getContext(), K));
}

/// x[..., mask] = values: one for each row where the mask is true, or the same
/// for all of them.
static void writeByMask(NodeImport &N, Value X, Value Mask, size_t Front,
                        Value Values, bool Adds) {
  auto Covered = static_cast<size_t>(N.rank(Mask));
  if (Front + Covered > N.dims(X).size())
    return (void)N.fail(Code::ImportRank,
                        "a mask of " + dimsText(N.dims(Mask)) +
                            " does not fit " + dimsText(N.dims(X)));
  ArrayRef<Expr> Rest = N.dims(X).drop_front(Front + Covered);
  Dims Sizes(Front, Expr(1));
  llvm::append_range(Sizes, N.dims(Mask));
  Sizes.append(Rest.size(), Expr(1));
  bool Same = N.rank(Values) <= static_cast<int64_t>(Rest.size());
  if (!Same && Front + Covered > 0) {
    size_t Place = N.dims(Values).size() - Rest.size() - 1;
    Same = N.dims(Values)[Place] == Expr(1) && Place == 0;
  }
  if (!Same && Front != 0)
    return (void)N.unsupported("writes a value for each place of a mask that "
                               "is not the first index");
  if (!Same) {
    // The row of an element is as many as are true in front of it.
    Dims Flat = {graph::typeOf(Mask).getNumElements()};
    llvm::append_range(Flat, Rest);
    Value Flags = N.reshape(N.cast(Mask, N.i64()), {Flat[0]});
    Value Place = N.cumsum(Flags, 0, /*Exclusive=*/true, /*Reverse=*/false);
    Expr Held = N.dims(Values)[0];
    // None may be true: then nothing is taken, but something is read.
    if (N.importer().facts().range(Held).Min < 1) {
      Dims One(N.dims(Values));
      One[0] = Expr(1);
      Values = N.concat({Values, N.full(0, One, N.element(X))}, 0);
    } else {
      Place = N.min(Place, N.sizeScalar(Held - 1, N.i64()));
    }
    Values = N.reshape(N.gather(Values, Place, 0), N.dims(X));
  }
  Value New = Adds ? N.add(X, Values) : Values;
  N.result(N.select(N.reshape(Mask, Sizes), New, X));
}

static void indexPut(NodeImport &N) {
  Value X = N.tensor("self"), Values = N.tensor("values");
  bool Adds = N.flag("accumulate", false);
  std::optional<Places> P = readPlaces(N, X);
  if (!P || !Values)
    return N.give();
  Values = N.cast(Values, N.element(X));
  if (P->Mask)
    return writeByMask(N, X, P->Mask, P->Front, Values, Adds);
  if (!Adds && P->Axes.size() == 1 && isOneElement(P->Index)) {
    auto Axis = static_cast<size_t>(P->Axes[0]);
    Dims Read(N.dims(X).take_front(Axis)), Row(N.dims(X));
    Read.append(P->Sizes);
    Read.append(N.dims(X).begin() + P->Axes[0] + 1, N.dims(X).end());
    Row[Axis] = Expr(1);
    Values = N.reshape(N.broadcast(Values, Read), Row);
    return N.result(withRow(N, X, P->Index, P->Axes[0], Values));
  }
  if (!Adds && P->Axes.size() == 1 && P->Sizes.size() == 1) {
    Value Index = N.reshape(P->Index, P->Sizes);
    Dims Read(N.dims(X));
    Read[static_cast<size_t>(P->Axes[0])] = P->Sizes[0];
    if (Index && isChoice(N, X, Index))
      return N.result(frontend::chooseRows(N, X, Index, P->Axes[0],
                                           N.broadcast(Values, Read)));
  }
  Ints Perm = moved(N.dims(X).size(), P->Axes);
  Value Turned = N.transpose(X, Perm);
  if (!Turned)
    return;
  Dims Rest(N.dims(Turned).drop_front(P->Axes.size()));
  Dims Wanted(P->Sizes);
  Wanted.append(Rest);
  bool Together = P->Axes.back() - P->Axes.front() + 1 ==
                  static_cast<int64_t>(P->Axes.size());
  if (Together && P->Axes[0] > 0 && N.rank(Values) > 0) {
    // The values' sizes are those of the result of `index`.
    auto Own = static_cast<int64_t>(P->Sizes.size());
    int64_t Front = P->Axes[0];
    Dims Read(N.dims(X).take_front(static_cast<size_t>(Front)));
    Read.append(P->Sizes);
    Read.append(N.dims(X).begin() + P->Axes.back() + 1, N.dims(X).end());
    Values = N.broadcast(Values, Read);
    Ints Order;
    for (int64_t I = 0; I < Own; ++I)
      Order.push_back(Front + I);
    for (int64_t I = 0; I < Front; ++I)
      Order.push_back(I);
    for (int64_t I = Own + Front; I < static_cast<int64_t>(Read.size()); ++I)
      Order.push_back(I);
    Values = N.transpose(Values, Order);
  } else {
    Values = N.broadcast(Values, Wanted);
  }
  Value Y = N.build(ScatterNdOp::getOperationName(), {Turned, P->Index, Values},
                    {kindAttr(N, Adds ? ScatterKind::add : ScatterKind::none)});
  N.result(N.transpose(Y, inverse(Perm)));
}

static void indexSelect(NodeImport &N) {
  Value X = N.tensor("self"), Index = N.tensor("index");
  if (!X || !Index)
    return;
  if (N.rank(Index) == 0)
    Index = N.unsqueeze(Index, {0});
  N.result(N.gather(X, Index, N.axis(N.integer("dim", 0), N.rank(X))));
}

static void embedding(NodeImport &N) {
  N.result(N.gather(N.tensor("weight"), N.tensor("indices"), 0));
}

/// Sums, means or extremes of the rows that the indices between two offsets
/// name; those of `padding_idx` do not count.
static void embeddingBag(NodeImport &N) {
  Value W = N.tensor("weight"), Index = N.tensor("indices"),
        Offsets = N.tensor("offsets");
  Value Each = N.optionalTensor("per_sample_weights");
  int64_t Mode = N.integer("mode", 0), Padding = N.integer("padding_idx", -1);
  if (!W || !Index || !Offsets || N.bad())
    return;
  if (N.rank(W) != 2 || N.rank(Index) != 1 || N.rank(Offsets) != 1)
    return (void)N.fail(Code::ImportRank, "bags of " + dimsText(N.dims(Index)) +
                                              " by offsets " +
                                              dimsText(N.dims(Offsets)) +
                                              ", expected two vectors");
  Expr Bags = N.dims(Offsets)[0], Count = N.dims(Index)[0],
       Width = N.dims(W)[1];
  Type T = N.element(W);
  Offsets = N.cast(Offsets, N.i64());
  if (N.flag("include_last_offset", false)) {
    Bags = Bags - 1;
    Offsets = N.sliceAxis(Offsets, 0, 0, Bags);
  }
  Value Bag = N.addScalar(
      N.searchSorted(Offsets, N.iota({Count}, 0, N.i64()), /*Right=*/true), -1);
  Value Rows = N.gather(W, Index, 0);
  Value Counts = N.full(1, {Count, Expr(1)}, T);
  if (N.has("padding_idx") && Padding >= 0) {
    Value Is =
        N.compare(Predicate::eq, Index, N.scalarInt(Padding, N.element(Index)));
    Counts = N.select(N.unsqueeze(Is, {1}), N.scalar(0, T), Counts);
  }
  Value Taken = N.compare(Predicate::ne, Counts, N.scalar(0, T));
  if (Each)
    Rows = N.mul(Rows, N.unsqueeze(N.cast(Each, T), {1}));
  Rows = N.select(Taken, Rows,
                  Mode == 2 ? N.scalar(-INFINITY, T) : N.scalar(0, T));
  auto Scatter = [&](Value From, double Start, const Expr &Columns,
                     ScatterKind K) {
    return N.build(
        ScatterNdOp::getOperationName(),
        {N.full(Start, {Bags, Columns}, T), N.unsqueeze(Bag, {1}), From},
        {kindAttr(N, K)});
  };
  Value Sizes = Scatter(Counts, 0, 1, ScatterKind::add);
  Value Y = Mode == 2 ? Scatter(Rows, -INFINITY, Width, ScatterKind::max)
                      : Scatter(Rows, 0, Width, ScatterKind::add);
  if (!Y || !Sizes)
    return N.give();
  if (Mode == 1)
    Y = N.div(Y, N.max(Sizes, N.like(1, Sizes)));
  if (Mode == 2)
    Y = N.select(N.compare(Predicate::eq, Sizes, N.like(0, Sizes)),
                 N.like(0, Y), Y);
  N.result(0, Y);
  // What only the backward pass reads.
  for (size_t I = 1; I < 4; ++I)
    N.undefined(I);
}

static void gather(NodeImport &N) {
  Value X = N.tensor("self"), Index = N.tensor("index");
  if (!X || !Index)
    return;
  if (N.rank(X) == 0)
    return N.result(X);
  int64_t Axis = N.axis(N.integer("dim", 0), N.rank(X));
  N.result(N.gatherElements(X, Index, Axis));
}

static void takeAlong(NodeImport &N) {
  Value X = N.tensor("self"), Index = N.tensor("indices");
  if (!X || !Index || !N.has("dim"))
    return N.give();
  auto Axis = static_cast<size_t>(N.axis(N.integer("dim", 0), N.rank(X)));
  Dims A(N.dims(X)), C(N.dims(Index));
  A[Axis] = C[Axis] = Expr(1);
  std::optional<Dims> Both = N.broadcastSizes(A, C);
  if (!Both)
    return;
  Dims SizesX = *Both, SizesI = *Both;
  SizesX[Axis] = N.dims(X)[Axis];
  SizesI[Axis] = N.dims(Index)[Axis];
  N.result(N.gatherElements(N.broadcast(X, SizesX), N.broadcast(Index, SizesI),
                            static_cast<int64_t>(Axis)));
}

static void oneHot(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Dims> Sizes = N.declaredSizes();
  if (!X || !Sizes)
    return;
  Value Own = N.unsqueeze(X, {N.rank(X)});
  N.result(N.cast(
      N.compare(Predicate::eq, Own, N.iota({Sizes->back()}, 0, N.element(X))),
      N.i64()));
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

static void ordered(NodeImport &N, bool Top, bool Values) {
  Value X = N.tensor("self");
  if (!X || N.rank(X) == 0)
    return N.give();
  int64_t Axis = N.axis(N.integer("dim", -1), N.rank(X));
  if (N.bad())
    return;
  Expr Count = Top ? N.size("k", 1) : N.dims(X)[static_cast<size_t>(Axis)];
  bool Largest = Top ? N.flag("largest", true) : N.flag("descending", false);
  auto [Elements, Indices] = N.sort(X, Axis, /*Descending=*/Largest, Count);
  if (!Values)
    return N.result(Indices);
  N.result(0, Elements);
  N.result(1, Indices);
}

static void topK(NodeImport &N) { ordered(N, true, true); }
static void sort(NodeImport &N) { ordered(N, false, true); }
static void argSort(NodeImport &N) { ordered(N, false, false); }
/// The lower one of two middles.
static void median(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  bool All = !N.has("dim");
  if (All)
    X = N.reshape(X, {typeOf(X).getNumElements()});
  int64_t Axis = All ? 0 : N.axis(N.integer("dim", -1), N.rank(X));
  if (N.bad() || N.rank(X) == 0)
    return N.give();
  Expr Middle = (N.dims(X)[static_cast<size_t>(Axis)] - 1).floorDiv(2);
  Value Index = N.sort(X, Axis, /*Descending=*/false, Middle + 1).Indices;
  Index = Index ? N.sliceAxis(Index, Axis, Middle, 1) : Index;
  Value Y = N.gatherElements(X, Index, Axis);
  if (!Y)
    return;
  if (All)
    return N.result(N.reshape(Y, {}));
  Dims Sizes(N.dims(Y));
  if (!N.flag("keepdim", false))
    Sizes.erase(Sizes.begin() + Axis);
  N.result(0, N.reshape(Y, Sizes));
  N.result(1, N.reshape(Index, Sizes));
}

ArrayRef<Rule> indexingRules() {
  constexpr InPlace Too = InPlace::Yes;
  constexpr std::string_view Bags = "the first result alone";
  static const Rule Rows[] = {
      {"argsort.default", argSort},
      {"argsort.stable", argSort},
      {"_embedding_bag.default", embeddingBag, InPlace::No, Bags},
      {"_embedding_bag_forward_only.default", embeddingBag, InPlace::No, Bags},
      {"embedding.default", embedding},
      {"embedding_bag.default", embeddingBag, InPlace::No, Bags},
      {"embedding_bag.padding_idx", embeddingBag, InPlace::No, Bags},
      {"gather.default", gather},
      {"index.Tensor", index, InPlace::No, "a mask as the only index"},
      {"index_put.default", indexPut, Too,
       "a mask as the only index; with values of its own, as the first"},
      {"_unsafe_index.Tensor", index, InPlace::No, "a mask as the only index"},
      {"index_select.default", indexSelect},
      {"median.default", median},
      {"median.dim", median},
      {"one_hot.default", oneHot},
      {"sort.default", sort},
      {"sort.stable", sort},
      {"take_along_dim.default", takeAlong},
      {"topk.default", topK},
  };
  return Rows;
}

} // namespace kpc::torch
