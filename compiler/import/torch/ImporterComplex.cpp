//===- ImporterComplex.cpp - Nodes on complex numbers ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Complex.h"
#include "compiler/import/torch/Importer.h"

namespace kpc::torch {

bool Importer::isComplex(const NodeImport &N, std::string_view Name) const {
  const Argument *A = N.argument(Name);
  return A && A->Is == Argument::Kind::Tensor && isComplex(A->Values[0]);
}

bool Importer::touchesComplex(const Node &N) const {
  // A file without declarations says by its operators what is complex.
  if (std::optional<ComplexRule> C =
          infers() ? complexRule(N.Target) : std::nullopt;
      C && C->OfReals)
    return true;
  for (const Argument &A : N.Inputs)
    for (const std::string &Name : A.Values)
      if (isComplex(Name))
        return true;
  bool Makes = false;
  forEachResult(N, [&](const std::string &Name) {
    const TensorMeta *M = meta(Name);
    Makes |= M && isComplexType(M->Type);
  });
  return Makes;
}

void Importer::importComplex(const Node &N, const Rule *R) {
  std::optional<ComplexRule> C = complexRule(N.Target);
  if (!C) {
    NodeImport At(*this, N, B, Main.getLoc());
    At.fail(Code::ImportElementType,
            "computes with complex numbers. kpc multiplies, divides, moves and "
            "transforms them: use view_as_real in front of other operators");
    forEachResult(N, [&](const std::string &Name) { Lost.insert(Name); });
    return;
  }
  // stft has a form that gives the pairs as a real tensor.
  bool AsPairs = llvm::any_of(N.Inputs, [](const Argument &A) {
    return A.Name == "return_complex" && A.Is == Argument::Kind::Bool &&
           !A.Ints.empty() && A.Ints[0] == 0;
  });
  if (C->GivesComplex && !AsPairs)
    forEachResult(N, [&](const std::string &Name) { Complex.insert(Name); });
  if (C->Import)
    return importBy(C->Import, N, InPlace::No);
  size_t Rank = 0;
  if (!N.Inputs.empty() && !N.Inputs[0].Values.empty())
    if (Value X = look(N.Inputs[0].Values[0]))
      Rank = static_cast<size_t>(Emitter::rank(X)) - 1;
  importBy(R->Import, Rewritten.emplace_back(forPairs(N, Rank)), InPlace::No);
}

} // namespace kpc::torch
