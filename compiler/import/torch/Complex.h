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
};

/// None for an operator that kpc cannot do on complex numbers.
std::optional<ComplexRule> complexRule(std::string_view Target);

/// The node on pairs, whose `self` is complex and of the rank.
Node forPairs(const Node &N, size_t Rank);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_COMPLEX_H
