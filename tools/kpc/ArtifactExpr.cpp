//===- ArtifactExpr.cpp - Sizes of an artifact's table --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/ArtifactExpr.h"

#include "dialects/shape/Expr.h"
#include "runtime/format/Validate.h"

#include <algorithm>

namespace kpc::cli {

std::optional<int64_t> evaluate(const format::Expr &E,
                                const std::vector<int64_t> &Symbols) {
  std::vector<int64_t> Stack;
  const auto &Words = *E.words();
  for (size_t I = 0; I < Words.size(); ++I) {
    auto Operation = static_cast<format::Op>(Words[I]);
    if (Operation == format::Op::Constant) {
      Stack.push_back(Words[++I]);
      continue;
    }
    if (Operation == format::Op::Symbol) {
      Stack.push_back(Symbols[Words[++I]]);
      continue;
    }
    int64_t B = Stack.back();
    Stack.pop_back();
    int64_t &A = Stack.back();
    bool Overflow = false;
    switch (Operation) {
    case format::Op::Add:
      Overflow = __builtin_add_overflow(A, B, &A);
      break;
    case format::Op::Mul:
      Overflow = __builtin_mul_overflow(A, B, &A);
      break;
    case format::Op::FloorDiv:
    case format::Op::Mod: {
      if (B <= 0)
        return std::nullopt;
      int64_t Rest = A % B < 0 ? A % B + B : A % B;
      A = Operation == format::Op::Mod ? Rest : (A - Rest) / B;
      break;
    }
    case format::Op::Min:
      A = std::min(A, B);
      break;
    default:
      A = std::max(A, B);
      break;
    }
    if (Overflow)
      return std::nullopt;
  }
  return Stack.empty() ? std::nullopt : std::optional(Stack.back());
}

std::string exprText(const format::Model &M, const format::Expr &E) {
  using shape::Expr;
  std::vector<Expr> Stack;
  const auto &Words = *E.words();
  for (size_t I = 0; I < Words.size(); ++I) {
    auto Operation = static_cast<format::Op>(Words[I]);
    if (Operation == format::Op::Constant) {
      Stack.emplace_back(Words[++I]);
      continue;
    }
    if (Operation == format::Op::Symbol) {
      const format::Symbol *S =
          M.symbols()->Get(static_cast<uint32_t>(Words[++I]));
      Stack.push_back(Expr::symbol(S->name()->string_view()));
      continue;
    }
    Expr B = Stack.back();
    Stack.pop_back();
    Expr &A = Stack.back();
    switch (Operation) {
    case format::Op::Add:
      A = A + B;
      break;
    case format::Op::Mul:
      A = A * B;
      break;
    case format::Op::FloorDiv:
      A = A.floorDiv(B);
      break;
    case format::Op::Mod:
      A = A.mod(B);
      break;
    case format::Op::Min:
      A = Expr::min(A, B);
      break;
    default:
      A = Expr::max(A, B);
      break;
    }
  }
  return Stack.empty() ? std::string() : Stack.back().str();
}

} // namespace kpc::cli
