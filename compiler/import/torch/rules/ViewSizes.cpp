//===- ViewSizes.cpp - Views in other sizes -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/rules/ViewSizes.h"

#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Infer.h"
#include "dialects/shape/Assume.h"

using namespace kpc::graph;

namespace kpc::torch {

static Expr countOf(ArrayRef<Expr> Sizes) {
  Expr Count(1);
  for (const Expr &Size : Sizes)
    Count = Count * Size;
  return Count;
}

/// `X` in sizes of as many elements, which a run may have to check.
static Value inSizes(Emitter &E, Value X, ArrayRef<Expr> Wanted) {
  if (!X)
    return {};
  Dims Sizes;
  for (const Expr &Size : Wanted)
    Sizes.push_back(E.current(Size));
  Expr Has = typeOf(X).getNumElements(), Count = countOf(Sizes);
  if (Has != Count && !(Has.isConstant() && Count.isConstant()))
    X = E.sliceAxis(E.reshape(X, {Has}), 0, 0, Count);
  return E.reshape(X, Sizes);
}

/// The same elements with other sizes.
void reshaped(NodeImport &N, const Dims &Sizes) {
  N.view(
      0, "self", [Sizes](Emitter &E, Value X) { return inSizes(E, X, Sizes); },
      [](Emitter &E, Value Whole, Value Part) {
        return inSizes(E, Part, Emitter::dims(Whole));
      });
}

/// The sizes of a view that declares `Sizes`. PyTorch writes the 4 of
/// `reshape(b, h // 4, 4)` as `h // (h // 4)`: the arguments say it better.
static Dims sizesOfView(NodeImport &N, Value X, const Dims &Sizes) {
  Expr Count = typeOf(X).getNumElements();
  if (N.importer().infers() || countOf(Sizes) == Count)
    return Sizes;
  std::optional<SmallVector<Dims>> Own = inferSizes(N);
  if (!Own || Own->size() != 1 || Own->front().size() != Sizes.size())
    return Sizes;
  // Where an argument is -1 what PyTorch says of it is simpler.
  Dims Both = Sizes;
  for (auto [Size, Given] : llvm::zip_equal(Both, Own->front()))
    if (Given.isConstant())
      Size = Given;
  for (const Dims &Each : {Both, Own->front()})
    if (countOf(Each) == Count ||
        !shape::remaindersThatMakeEqual(Count, countOf(Each)).empty())
      return Each;
  return Both;
}

void viewAsDeclared(NodeImport &N) {
  Value X = N.tensor("self");
  std::optional<Dims> Declared = X ? N.declaredSizes() : std::nullopt;
  if (!Declared)
    return N.give();
  Dims Sizes = sizesOfView(N, X, *Declared);
  Expr Has = typeOf(X).getNumElements(), Wanted = countOf(Sizes);
  if (!N.bad() && Has != Wanted && !N.unify(Has, Wanted))
    N.fail(Code::ImportShape, "changes the number of elements from " +
                                  Has.str() + " to " + Wanted.str());
  if (!N.bad())
    reshaped(N, Sizes);
}

} // namespace kpc::torch
