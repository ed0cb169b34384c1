//===- Evaluate.cpp - Values and text of size programs --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Evaluate.h"

#include <algorithm>
#include <cinttypes>

namespace kpc::rt {

using format::Op;

// Division and modulus of floor, for a positive divisor.
static int64_t floorDiv(int64_t A, int64_t B) {
  return A / B - (A % B < 0 ? 1 : 0);
}

static bool apply(Op Code, int64_t A, int64_t B, int64_t &Out) {
  switch (Code) {
  case Op::Add:
    return !__builtin_add_overflow(A, B, &Out);
  case Op::Mul:
    return !__builtin_mul_overflow(A, B, &Out);
  case Op::FloorDiv:
    if (B <= 0)
      return false;
    Out = floorDiv(A, B);
    return true;
  case Op::Mod:
    if (B <= 0)
      return false;
    Out = A % B;
    Out += Out < 0 ? B : 0;
    return true;
  case Op::Min:
    Out = std::min(A, B);
    return true;
  case Op::Max:
    Out = std::max(A, B);
    return true;
  case Op::Constant:
  case Op::Symbol:
    break;
  }
  return false;
}

std::optional<int64_t> evaluate(const format::Expr &Program,
                                std::span<const int64_t> Symbols) {
  const auto &Words = *Program.words();
  int64_t Stack[format::MaxExprDepth];
  size_t Depth = 0;
  for (uint32_t I = 0; I < Words.size(); ++I) {
    Op Code = Op(Words.Get(I));
    if (Code == Op::Constant) {
      Stack[Depth++] = Words.Get(++I);
    } else if (Code == Op::Symbol) {
      Stack[Depth++] = Symbols[size_t(Words.Get(++I))];
    } else {
      int64_t B = Stack[--Depth];
      if (!apply(Code, Stack[Depth - 1], B, Stack[Depth - 1]))
        return std::nullopt;
    }
  }
  return Stack[0];
}

namespace {
// A piece of infix text and how tightly it binds: 0 sum, 1 product, 2 atom.
struct Piece {
  std::string Text;
  int Binding;
};
} // namespace

/// Longer texts say nothing to people, and each word would copy them.
static constexpr size_t LongestText = 16384;

static void append(std::string &To, const Piece &P, int Least) {
  bool Inside = P.Binding < Least;
  To.append(Inside ? "(" : "").append(P.Text).append(Inside ? ")" : "");
}

/// Makes `A` the text of both.
static void join(Op Code, Piece &A, const Piece &B) {
  if (A.Text.size() + B.Text.size() > LongestText) {
    A = {"…", 2};
    return;
  }
  switch (Code) {
  case Op::Add: {
    std::string_view Part = B.Text;
    bool Subtracts = Part.starts_with("-");
    if (Subtracts)
      Part.remove_prefix(Part.starts_with("-1*") ? 3 : 1);
    A.Text.append(Subtracts ? " - " : " + ").append(Part);
    A.Binding = 0;
    return;
  }
  case Op::Mul: {
    bool FirstIsSign = A.Text == "-1";
    std::string Text;
    if (FirstIsSign || B.Text == "-1") {
      Text = "-1*";
      append(Text, FirstIsSign ? B : A, 1);
    } else {
      append(Text, A, 1);
      Text += "*";
      append(Text, B, 1);
    }
    A = {std::move(Text), 1};
    return;
  }
  default: {
    const char *Names[] = {"floordiv", "mod", "min", "max"};
    A = {std::string(Names[int(Code) - int(Op::FloorDiv)]) + "(" + A.Text +
             ", " + B.Text + ")",
         2};
  }
  }
}

std::string exprText(const format::Model &M, const format::Expr &Program) {
  const auto &Words = *Program.words();
  std::vector<Piece> Stack;
  for (uint32_t I = 0; I < Words.size(); ++I) {
    Op Code = Op(Words.Get(I));
    if (Code == Op::Constant) {
      Stack.push_back({std::to_string(Words.Get(++I)), 2});
    } else if (Code == Op::Symbol) {
      const auto *S = M.symbols()->Get(uint32_t(Words.Get(++I)));
      Stack.push_back({format::printable(S->name()), 2});
    } else {
      Piece B = std::move(Stack.back());
      Stack.pop_back();
      join(Code, Stack.back(), B);
    }
  }
  return Stack.back().Text;
}

std::optional<uint32_t> asSymbol(const format::Expr &Program) {
  const auto &Words = *Program.words();
  if (Words.size() == 2 && Op(Words.Get(0)) == Op::Symbol)
    return uint32_t(Words.Get(1));
  return std::nullopt;
}

bool namesAny(const format::Expr &Program, std::span<const uint8_t> Which) {
  const auto &Words = *Program.words();
  for (uint32_t I = 0; I < Words.size(); ++I) {
    Op Code = Op(Words.Get(I));
    if (Code != Op::Constant && Code != Op::Symbol)
      continue;
    int64_t Operand = Words.Get(++I);
    if (Code == Op::Symbol && Which[size_t(Operand)])
      return true;
  }
  return false;
}

std::optional<Solution> solve(const format::Expr &Program, int64_t Value,
                              std::span<int64_t> Symbols,
                              std::span<const uint8_t> Known) {
  const auto &Words = *Program.words();
  std::optional<uint32_t> Unknown;
  for (uint32_t I = 0; I < Words.size(); ++I) {
    Op Code = Op(Words.Get(I));
    if (Code != Op::Constant && Code != Op::Symbol)
      continue;
    uint32_t Index = uint32_t(Words.Get(++I));
    if (Code == Op::Constant || Known[Index] || Unknown == Index)
      continue;
    if (Unknown)
      return std::nullopt;
    Unknown = Index;
  }
  if (!Unknown)
    return std::nullopt;
  // A linear program is known from two of its values.
  int64_t &X = Symbols[*Unknown];
  X = 0;
  auto AtZero = evaluate(Program, Symbols);
  X = 1;
  auto AtOne = evaluate(Program, Symbols);
  int64_t Slope, Rise;
  if (!AtZero || !AtOne || __builtin_sub_overflow(*AtOne, *AtZero, &Slope) ||
      __builtin_sub_overflow(Value, *AtZero, &Rise) || Slope <= 0 || Rise < 0 ||
      Rise % Slope)
    return std::nullopt;
  X = Rise / Slope;
  if (evaluate(Program, Symbols) != Value)
    return std::nullopt;
  return Solution{*Unknown, X};
}

Evaluation::Evaluation(const format::Model &M,
                       std::span<const int64_t> Symbols) {
  Values.reserve(format::count(M.exprs()));
  Good.reserve(format::count(M.exprs()));
  for (const format::Expr *E : format::each(M.exprs())) {
    std::optional<int64_t> V = evaluate(*E, Symbols);
    Values.push_back(V.value_or(0));
    Good.push_back(V.has_value());
  }
}

} // namespace kpc::rt
