//===- Complex.h - Complex numbers as pairs of reals -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_COMPLEX_H
#define KPC_COMPILER_IMPORT_TORCH_COMPLEX_H

#include "compiler/import/torch/Rules.h"

namespace kpc::torch {

/// How an operator treats complex tensors.
struct ComplexRule {
  /// Null: by the operator's own rule, with arguments of `forPairs`.
  RuleFunction Import;
  bool GivesComplex;
  /// Whether it makes complex numbers of reals.
  bool OfReals = false;
};

/// A complex tensor as two of reals; of a real one the second is null.
struct Parts {
  Value Real, Imaginary;
};
Parts complexParts(NodeImport &N, std::string_view Name);
/// The pairs of two parts; null for null ones.
Value pairsOf(NodeImport &N, const Parts &Of);

/// None for an operator that kpc cannot do on complex numbers.
std::optional<ComplexRule> complexRule(std::string_view Target);

/// That of a Fourier transform, by its name without a domain.
std::optional<ComplexRule> spectralRule(std::string_view Target);

/// The node on pairs, whose `self` is complex and of the rank.
Node forPairs(const Node &N, size_t Rank);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_COMPLEX_H
