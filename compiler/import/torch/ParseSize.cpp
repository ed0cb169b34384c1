//===- ParseSize.cpp - Sizes as PyTorch writes them -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Program.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"

using llvm::StringRef;
using Expr = kpc::shape::Expr;

namespace kpc::torch {

namespace {
/// Calls of calls, as `Add(Integer(2), Symbol('s0', positive=True))`, and the
/// sums that PyTorch 2.6 and older write: `2*s0 + (s1//2)`.
class SizeParser {
public:
  SizeParser(StringRef Rest,
             const std::map<std::string, Expr, std::less<>> &Symbols)
      : Rest(Rest), Symbols(Symbols) {}

  std::optional<Expr> whole() {
    std::optional<Expr> E = sum(0);
    return Rest.trim().empty() ? E : std::nullopt;
  }

  /// `GreaterThan(A, B)`, or `A >= B` as older versions write it.
  std::optional<Relation> relation() {
    static constexpr Row Rows[] = {
        {"GreaterThan", ">=", Relation::Kind::LessOrEqual, true},
        {"StrictGreaterThan", ">", Relation::Kind::Less, true},
        {"LessThan", "<=", Relation::Kind::LessOrEqual, false},
        {"StrictLessThan", "<", Relation::Kind::Less, false},
        {"Equality", "==", Relation::Kind::Equal, false},
        {"Eq", "", Relation::Kind::Equal, false},
        {"Unequality", "!=", Relation::Kind::NotEqual, false},
        {"Ne", "", Relation::Kind::NotEqual, false},
    };
    for (const Row &R : Rows) {
      StringRef Before = Rest;
      if (take(R.Name) && take("(")) {
        std::optional<Expr> A = sum(0);
        std::optional<Expr> C = A && take(",") ? sum(0) : std::nullopt;
        return C && take(")") && Rest.trim().empty() ? made(R, *A, *C)
                                                     : std::nullopt;
      }
      Rest = Before;
    }
    std::optional<Expr> A = sum(0);
    for (const Row &R : Rows)
      if (A && !R.Sign.empty() && take(R.Sign)) {
        std::optional<Expr> C = sum(0);
        return C && Rest.trim().empty() ? made(R, *A, *C) : std::nullopt;
      }
    return std::nullopt;
  }

private:
  static constexpr unsigned Deepest = 200;

  struct Row {
    StringRef Name, Sign;
    Relation::Kind Is;
    bool Turned;
  };
  static std::optional<Relation> made(const Row &R, const Expr &A,
                                      const Expr &C) {
    return R.Turned ? Relation{R.Is, C, A} : Relation{R.Is, A, C};
  }

  bool take(StringRef Text) {
    Rest = Rest.ltrim();
    return Rest.consume_front(Text);
  }

  std::optional<Expr> sum(unsigned Depth) {
    std::optional<Expr> E = product(Depth);
    while (E) {
      bool Minus = false;
      if (!take("+")) {
        Minus = take("-");
        if (!Minus)
          break;
      }
      std::optional<Expr> Next = product(Depth);
      if (!Next)
        return std::nullopt;
      E = Minus ? *E - *Next : *E + *Next;
    }
    return E;
  }

  std::optional<Expr> product(unsigned Depth) {
    std::optional<Expr> E = factor(Depth);
    while (E) {
      bool Divides = take("//"), Remains = !Divides && take("%");
      if (!Divides && !Remains && !take("*"))
        break;
      std::optional<Expr> Next = factor(Depth);
      if (!Next)
        return std::nullopt;
      E = Divides ? E->floorDiv(*Next) : Remains ? E->mod(*Next) : *E * *Next;
    }
    return E;
  }

  std::optional<Expr> factor(unsigned Depth) {
    if (Depth > Deepest)
      return std::nullopt;
    if (take("-")) {
      std::optional<Expr> E = factor(Depth + 1);
      return E ? std::optional(Expr(0) - *E) : std::nullopt;
    }
    std::optional<Expr> E = atom(Depth);
    if (E && take("**")) {
      std::optional<Expr> N = factor(Depth + 1);
      std::vector<Expr> Args;
      if (!N)
        return std::nullopt;
      Args.assign({*E, *N});
      return apply("Pow", Args);
    }
    return E;
  }

  std::optional<Expr> known(StringRef Name) const {
    auto It = Symbols.find(Name.str());
    return It == Symbols.end() ? std::nullopt : std::optional(It->second);
  }

  /// What follows `Symbol(`: its name, and what sympy assumes of it.
  std::optional<Expr> symbol() {
    if (!take("'"))
      return std::nullopt;
    auto [Name, Behind] = Rest.split('\'');
    size_t End = Behind.find(')');
    if (End == StringRef::npos)
      return std::nullopt;
    Rest = Behind.drop_front(End + 1);
    return known(Name);
  }

  std::optional<Expr> atom(unsigned Depth) {
    Rest = Rest.ltrim();
    if (take("(")) {
      std::optional<Expr> E = sum(Depth + 1);
      return E && take(")") ? E : std::nullopt;
    }
    if (!Rest.empty() && llvm::isDigit(Rest.front())) {
      int64_t V = 0;
      return Rest.consumeInteger(10, V) ? std::nullopt : std::optional(Expr(V));
    }
    StringRef Name = Rest.take_while(
        [](char C) { return llvm::isAlnum(C) || C == '_' || C == '.'; });
    Rest = Rest.drop_front(Name.size());
    if (Name.empty())
      return std::nullopt;
    if (!take("("))
      return known(Name);
    Name = Name.rsplit('.').second.empty() ? Name : Name.rsplit('.').second;
    if (Name == "Symbol")
      return symbol();
    std::vector<Expr> Args;
    do {
      std::optional<Expr> A = sum(Depth + 1);
      if (!A)
        return std::nullopt;
      Args.push_back(*A);
    } while (take(","));
    if (!take(")"))
      return std::nullopt;
    if (Name == "Integer" && Args.size() == 1)
      return Args.front();
    return apply(Name, Args);
  }

  static std::optional<Expr> apply(StringRef Name, std::vector<Expr> &A) {
    auto Fold = [&](auto Combine) {
      Expr Sum = A.front();
      for (size_t I = 1; I < A.size(); ++I)
        Sum = Combine(Sum, A[I]);
      return Sum;
    };
    if (Name == "Add")
      return Fold([](const Expr &X, const Expr &Y) { return X + Y; });
    if (Name == "Mul")
      return Fold([](const Expr &X, const Expr &Y) { return X * Y; });
    if (Name == "Max")
      return Fold([](const Expr &X, const Expr &Y) { return Expr::max(X, Y); });
    if (Name == "Min")
      return Fold([](const Expr &X, const Expr &Y) { return Expr::min(X, Y); });
    if (A.size() == 1 && (Name == "ToFloat" || Name == "TruncToInt"))
      return A[0];
    if (A.size() != 2)
      return std::nullopt;
    if (Name == "FloorDiv" || Name == "CleanDiv" || Name == "IntTrueDiv")
      return A[0].floorDiv(A[1]);
    if (Name == "CeilDiv")
      return A[0].ceilDiv(A[1]);
    if (Name == "Mod" || Name == "PythonMod")
      return A[0].mod(A[1]);
    if (Name == "Pow") {
      int64_t N = A[1].asConstant().value_or(-1);
      if (N < 1 || N > 8)
        return std::nullopt;
      Expr Power = A[0];
      for (int64_t I = 1; I < N; ++I)
        Power = Power * A[0];
      return Power;
    }
    return std::nullopt;
  }

  StringRef Rest;
  const std::map<std::string, Expr, std::less<>> &Symbols;
};
} // namespace

std::optional<Expr>
parseSize(std::string_view Text,
          const std::map<std::string, Expr, std::less<>> &Symbols) {
  return SizeParser(Text, Symbols).whole();
}

std::optional<Relation>
parseRelation(std::string_view Text,
              const std::map<std::string, Expr, std::less<>> &Symbols) {
  return SizeParser(Text, Symbols).relation();
}

} // namespace kpc::torch
