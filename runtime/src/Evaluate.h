//===- Evaluate.h - Values and text of size programs ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The runtime's own evaluator of the artifact's postfix programs. Programs
/// come from a checked table (runtime/format/Validate.h), so their structure is
/// good; what their values lead to is not known before.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_EVALUATE_H
#define KPC_RUNTIME_SRC_EVALUATE_H

#include "runtime/format/ValidateTarget.h"

#include <optional>
#include <span>
#include <vector>

namespace kpc::rt {

/// None where a step overflows or a divisor is not positive.
std::optional<int64_t> evaluate(const format::Expr &Program,
                                std::span<const int64_t> Symbols);

/// Infix text for people: "batch*2 + 1".
std::string exprText(const format::Model &M, const format::Expr &Program);

/// The number of a symbol that is the whole program; none for other programs.
std::optional<uint32_t> asSymbol(const format::Expr &Program);

/// Whether a program names a symbol that `Which` marks.
bool namesAny(const format::Expr &Program, std::span<const uint8_t> Which);

/// Solves `Program == Value` for its only symbol that is not in `Known`, where
/// the program is linear in it. None if it has no or several such symbols, or
/// there is no such value. `Symbols` is used as scratch at that position.
struct Solution {
  uint32_t Symbol;
  int64_t Value;
};
std::optional<Solution> solve(const format::Expr &Program, int64_t Value,
                              std::span<int64_t> Symbols,
                              std::span<const uint8_t> Known);

/// The values of all expressions of a model for one choice of symbols.
class Evaluation {
public:
  Evaluation(const format::Model &M, std::span<const int64_t> Symbols);
  /// None where the expression has no value.
  std::optional<int64_t> operator[](uint32_t Index) const {
    if (!Good[Index])
      return std::nullopt;
    return Values[Index];
  }

private:
  std::vector<int64_t> Values;
  std::vector<bool> Good;
};

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_EVALUATE_H
