//===- KnownPicks.cpp - Gathers and scatters of known tensors -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/KnownPlaces.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kpc::graph;
using namespace kpc::onnx;

using Result = std::optional<KnownTensor>;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

std::optional<Ints> kpc::onnx::shortDims(Value V) {
  Ints Dims;
  for (const Expr &E : Emitter::dims(V)) {
    std::optional<int64_t> Size = E.asConstant();
    if (!Size)
      return std::nullopt;
    Dims.push_back(*Size);
  }
  std::optional<int64_t> Count = elementCount(Dims);
  if (!Count || *Count > Contents::MostElements)
    return std::nullopt;
  return Dims;
}

size_t kpc::onnx::countOf(ArrayRef<int64_t> Dims) {
  size_t Count = 1;
  for (int64_t Size : Dims)
    Count *= static_cast<size_t>(Size);
  return Count;
}

Ints kpc::onnx::indexOf(size_t Flat, ArrayRef<int64_t> Dims) {
  Ints Index(Dims.size(), 0);
  for (size_t I = Dims.size(); I-- > 0;) {
    auto Size = static_cast<size_t>(Dims[I]);
    Index[I] = static_cast<int64_t>(Flat % Size);
    Flat /= Size;
  }
  return Index;
}

std::optional<size_t> kpc::onnx::flatOf(ArrayRef<int64_t> Index,
                                        ArrayRef<int64_t> Dims) {
  size_t Flat = 0;
  for (size_t I = 0; I < Dims.size(); ++I) {
    if (Index[I] < 0 || Index[I] >= Dims[I])
      return std::nullopt;
    Flat = Flat * static_cast<size_t>(Dims[I]) + static_cast<size_t>(Index[I]);
  }
  return Flat;
}

std::optional<KnownTensor> kpc::onnx::gathered(
    const KnownTensor &X, ArrayRef<int64_t> Dims,
    llvm::function_ref<std::optional<Ints>(const Ints &)> From) {
  KnownTensor Y{X.Element, Ints(Dims), {}};
  size_t Count = countOf(Dims);
  for (size_t I = 0; I < Count; ++I) {
    std::optional<Ints> Index = From(indexOf(I, Dims));
    std::optional<size_t> Flat = Index ? flatOf(*Index, X.Dims) : std::nullopt;
    if (!Flat)
      return std::nullopt;
    Y.Elements.push_back(X.Elements[*Flat]);
  }
  return Y;
}

//===----------------------------------------------------------------------===//
// Gathers and scatters
//===----------------------------------------------------------------------===//

/// An index that may count from the end, as one from the front, clamped.
static std::optional<int64_t> frontIndex(const KnownElement &E, int64_t Size) {
  std::optional<int64_t> At = E.Whole.asConstant();
  if (!At || Size == 0)
    return std::nullopt;
  return std::clamp<int64_t>(*At < 0 ? *At + Size : *At, 0, Size - 1);
}

static Result gather(GatherOp Op, const KnownTensor &X, const KnownTensor &At,
                     ArrayRef<int64_t> Dims) {
  auto Axis = static_cast<size_t>(Op.getAxis());
  return gathered(X, Dims, [&](const Ints &Index) -> std::optional<Ints> {
    ArrayRef<int64_t> All(Index);
    std::optional<size_t> Flat =
        flatOf(All.slice(Axis, At.Dims.size()), At.Dims);
    std::optional<int64_t> Picked =
        Flat ? frontIndex(At.Elements[*Flat], X.Dims[Axis]) : std::nullopt;
    if (!Picked)
      return std::nullopt;
    Ints From(All.take_front(Axis));
    From.push_back(*Picked);
    From.append(All.begin() + Axis + At.Dims.size(), All.end());
    return From;
  });
}

static Result gatherElements(int64_t Axis, const KnownTensor &X,
                             const KnownTensor &At, ArrayRef<int64_t> Dims) {
  return gathered(X, Dims, [&](const Ints &Index) -> std::optional<Ints> {
    Ints From(Index);
    auto A = static_cast<size_t>(Axis);
    std::optional<size_t> Flat = flatOf(Index, At.Dims);
    std::optional<int64_t> Picked =
        Flat ? frontIndex(At.Elements[*Flat], X.Dims[A]) : std::nullopt;
    if (!Picked)
      return std::nullopt;
    From[A] = *Picked;
    return From;
  });
}

/// Whether the index, which may count from the end, is one of x's; makes it
/// count from the front.
static std::optional<bool> placeOf(const KnownElement &E, int64_t Size,
                                   int64_t &Place) {
  std::optional<int64_t> At = E.Whole.asConstant();
  if (!At)
    return std::nullopt;
  Place = *At < 0 ? *At + Size : *At;
  return Place >= 0 && Place < Size;
}

static Result scatterElements(ScatterElementsOp Op, const KnownTensor &X,
                              const KnownTensor &At,
                              const KnownTensor &Updates) {
  if (Op.getKind() != ScatterKind::none)
    return std::nullopt;
  KnownTensor Y = X;
  auto Axis = static_cast<size_t>(Op.getAxis());
  for (size_t I = 0; I < At.Elements.size(); ++I) {
    Ints Index = indexOf(I, At.Dims);
    std::optional<bool> Inside =
        placeOf(At.Elements[I], X.Dims[Axis], Index[Axis]);
    if (!Inside)
      return std::nullopt;
    if (std::optional<size_t> To = flatOf(Index, X.Dims); *Inside && To)
      Y.Elements[*To] = Updates.Elements[I];
  }
  return Y;
}

static Result scatterNd(ScatterNdOp Op, const KnownTensor &X,
                        const KnownTensor &At, const KnownTensor &Updates) {
  if (Op.getKind() != ScatterKind::none || At.Dims.empty())
    return std::nullopt;
  KnownTensor Y = X;
  auto Length = static_cast<size_t>(At.Dims.back());
  size_t Slice = countOf(ArrayRef<int64_t>(X.Dims).drop_front(Length));
  size_t Count = countOf(ArrayRef<int64_t>(At.Dims).drop_back());
  for (size_t I = 0; I < Count; ++I) {
    size_t Flat = 0;
    bool AllInside = true;
    for (size_t A = 0; A < Length; ++A) {
      int64_t Place = 0;
      std::optional<bool> Inside =
          placeOf(At.Elements[I * Length + A], X.Dims[A], Place);
      if (!Inside)
        return std::nullopt;
      AllInside &= *Inside;
      Flat = Flat * static_cast<size_t>(X.Dims[A]) + static_cast<size_t>(Place);
    }
    for (size_t E = 0; E < Slice && AllInside; ++E)
      Y.Elements[Flat * Slice + E] = Updates.Elements[I * Slice + E];
  }
  return Y;
}

Result KnownValues::pick(Operation *Op, ArrayRef<const KnownTensor *> In) {
  Ints Dims = *shortDims(Op->getResult(0));
  return llvm::TypeSwitch<Operation *, Result>(Op)
      .Case([&](GatherOp G) { return gather(G, *In[0], *In[1], Dims); })
      .Case([&](GatherElementsOp G) {
        return gatherElements(G.getAxis(), *In[0], *In[1], Dims);
      })
      .Case([&](ScatterElementsOp S) {
        return scatterElements(S, *In[0], *In[1], *In[2]);
      })
      .Case([&](ScatterNdOp S) { return scatterNd(S, *In[0], *In[1], *In[2]); })
      .Default([](Operation *) { return Result(); });
}
