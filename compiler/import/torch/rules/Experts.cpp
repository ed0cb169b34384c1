//===- Experts.cpp - Import of products by groups of rows -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Mixtures of experts sort their rows by expert and multiply each group of
/// rows by its own matrix.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/GroupedProduct.h"
#include "compiler/import/torch/Rules.h"

using namespace kpc::graph;

namespace kpc::torch {

/// `Left`, `Right` and `Ends` are what the schema calls the operands.
static void grouped(NodeImport &N, std::string_view Left,
                    std::string_view Right, std::string_view Ends) {
  Value X = N.tensor(Left), W = N.tensor(Right), E = N.optionalTensor(Ends);
  if (N.bad())
    return;
  if (N.has("bias"))
    return (void)N.unsupported(
        "a bias of grouped products: add it to the result");
  Type T = N.has("out_dtype") ? N.type("out_dtype") : N.element(X);
  if (N.bad())
    return;
  if (!E && N.rank(X) == 3 && N.rank(W) == 3)
    return N.result(N.cast(N.matmul(X, W), T));
  if (!E || N.rank(X) != 2 || N.rank(W) != 3 || N.rank(E) != 1)
    return (void)N.unsupported(
        "grouped products of " + dimsText(N.dims(X)) + " and " +
        dimsText(N.dims(W)) +
        ": kpc takes rows [s, k] by matrices [g, k, n] with the groups' ends, "
        "and [g, s, k] by [g, k, n] without");
  bool Fits =
      (N.dims(X)[1] == N.dims(W)[1] || N.unify(N.dims(X)[1], N.dims(W)[1])) &&
      (N.dims(E)[0] == N.dims(W)[0] || N.unify(N.dims(E)[0], N.dims(W)[0]));
  if (!Fits) {
    N.fail(Code::ImportShape,
           "rows of " + dimsText(N.dims(X)) + ", matrices of " +
               dimsText(N.dims(W)) + " and ends of " + dimsText(N.dims(E)) +
               " do not fit together, expected [s, k], [g, k, n] and [g]");
    return;
  }
  N.result(N.cast(groupedProduct(N, X, W, E), T));
}

static void groupedMm(NodeImport &N) { grouped(N, "self", "mat2", "offs"); }
/// What transformers has where PyTorch's own kernel does not take a device.
static void groupedFallback(NodeImport &N) {
  grouped(N, "input", "weight", "offs");
}

ArrayRef<Rule> expertRules() {
  constexpr std::string_view Forms = "rows by [g, k, n] with ends, or batches";
  static const Rule Rows[] = {
      {"_grouped_mm.default", groupedMm, InPlace::No, Forms},
      {"transformers.grouped_mm_fallback.default", groupedFallback, InPlace::No,
       Forms},
  };
  return Rows;
}

} // namespace kpc::torch
