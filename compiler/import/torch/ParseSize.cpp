//===- ParseSize.cpp - Sizes as PyTorch writes them -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Program.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using llvm::StringRef;
using Expr = kpc::shape::Expr;

namespace kpc::torch {

namespace {
/// A size over a number, as in `x.shape[0] * 0.5`.
struct Ratio {
  Expr Above;
  int64_t Below = 1;

  Ratio operator+(const Ratio &C) const {
    return {Above * Expr(C.Below) + C.Above * Expr(Below), Below * C.Below};
  }
  Ratio operator-(const Ratio &C) const {
    return *this + Ratio{Expr(0) - C.Above, C.Below};
  }
  Ratio operator*(const Ratio &C) const {
    return {Above * C.Above, Below * C.Below};
  }
  bool isWhole() const { return Below == 1; }
  /// Products of denominators stay small.
  bool fits() const { return Below <= (int64_t(1) << 20); }
};

/// Calls of calls, as `Add(Integer(2), Symbol('s0', positive=True))`, and the
/// sums that PyTorch 2.6 and older write: `2*s0 + (s1//2)`.
class SizeParser {
public:
  SizeParser(StringRef Rest,
             const std::map<std::string, Expr, std::less<>> &Symbols)
      : Rest(Rest), Symbols(Symbols) {}

  std::optional<Expr> whole() {
    std::optional<Expr> E = wholeSum();
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
        std::optional<Expr> A = wholeSum();
        std::optional<Expr> C = A && take(",") ? wholeSum() : std::nullopt;
        return C && take(")") && Rest.trim().empty() ? made(R, *A, *C)
                                                     : std::nullopt;
      }
      Rest = Before;
    }
    std::optional<Expr> A = wholeSum();
    for (const Row &R : Rows)
      if (A && !R.Sign.empty() && take(R.Sign)) {
        std::optional<Expr> C = wholeSum();
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

  std::optional<Expr> wholeSum() {
    std::optional<Ratio> R = sum(0);
    return R && R->isWhole() ? std::optional(R->Above) : std::nullopt;
  }

  std::optional<Ratio> sum(unsigned Depth) {
    std::optional<Ratio> E = product(Depth);
    while (E) {
      bool Minus = false;
      if (!take("+")) {
        Minus = take("-");
        if (!Minus)
          break;
      }
      std::optional<Ratio> Next = product(Depth);
      if (!Next || !E->fits() || !Next->fits())
        return std::nullopt;
      E = Minus ? *E - *Next : *E + *Next;
    }
    return E;
  }

  std::optional<Ratio> product(unsigned Depth) {
    std::optional<Ratio> E = factor(Depth);
    while (E) {
      bool Divides = take("//"), Remains = !Divides && take("%");
      if (!Divides && !Remains && !take("*"))
        break;
      std::optional<Ratio> Next = factor(Depth);
      if (!Next)
        return std::nullopt;
      std::vector<Ratio> Both{*E, *Next};
      E = apply(Divides ? "FloorDiv" : Remains ? "Mod" : "Mul", Both);
    }
    return E;
  }

  std::optional<Ratio> factor(unsigned Depth) {
    if (Depth > Deepest)
      return std::nullopt;
    if (take("-")) {
      std::optional<Ratio> E = factor(Depth + 1);
      return E ? std::optional(Ratio{Expr(0)} - *E) : std::nullopt;
    }
    std::optional<Ratio> E = atom(Depth);
    if (E && take("**")) {
      std::optional<Ratio> N = factor(Depth + 1);
      std::vector<Ratio> Args;
      if (!N)
        return std::nullopt;
      Args.assign({*E, *N});
      return apply("Pow", Args);
    }
    return E;
  }

  std::optional<Ratio> known(StringRef Name) const {
    auto It = Symbols.find(Name.str());
    return It == Symbols.end() ? std::nullopt
                               : std::optional(Ratio{It->second});
  }

  /// "0.375": a whole number over a power of two.
  static std::optional<Ratio> real(StringRef Text) {
    double V = 0;
    if (Text.getAsDouble(V) || !(std::fabs(V) < 1 << 30))
      return std::nullopt;
    Ratio R;
    for (; V != std::floor(V) && R.fits(); R.Below *= 2)
      V *= 2;
    R.Above = Expr(static_cast<int64_t>(V));
    return R.fits() ? std::optional(R) : std::nullopt;
  }

  /// What follows `Symbol(`: its name, and what sympy assumes of it.
  std::optional<Ratio> symbol() {
    if (!take("'"))
      return std::nullopt;
    auto [Name, Behind] = Rest.split('\'');
    size_t End = Behind.find(')');
    if (End == StringRef::npos)
      return std::nullopt;
    Rest = Behind.drop_front(End + 1);
    return known(Name);
  }

  /// What follows `Float(`: `'0.5', precision=53)`.
  std::optional<Ratio> literal() {
    if (!take("'"))
      return std::nullopt;
    auto [Text, Behind] = Rest.split('\'');
    size_t End = Behind.find(')');
    if (End == StringRef::npos)
      return std::nullopt;
    Rest = Behind.drop_front(End + 1);
    return real(Text);
  }

  std::optional<Ratio> atom(unsigned Depth) {
    Rest = Rest.ltrim();
    if (take("(")) {
      std::optional<Ratio> E = sum(Depth + 1);
      return E && take(")") ? E : std::nullopt;
    }
    if (!Rest.empty() && llvm::isDigit(Rest.front())) {
      StringRef Digits =
          Rest.take_while([](char C) { return llvm::isDigit(C) || C == '.'; });
      if (Digits.contains('.')) {
        Rest = Rest.drop_front(Digits.size());
        return real(Digits);
      }
      int64_t V = 0;
      return Rest.consumeInteger(10, V) ? std::nullopt
                                        : std::optional(Ratio{Expr(V)});
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
    if (Name == "Float")
      return literal();
    std::vector<Ratio> Args;
    do {
      std::optional<Ratio> A = sum(Depth + 1);
      if (!A)
        return std::nullopt;
      Args.push_back(*A);
    } while (take(","));
    if (!take(")"))
      return std::nullopt;
    return apply(Name, Args);
  }

  static std::optional<Ratio> apply(StringRef Name, std::vector<Ratio> &A) {
    auto Fold = [&](auto Combine) -> std::optional<Ratio> {
      Ratio All = A.front();
      for (size_t I = 1; I < A.size(); ++I) {
        if (!All.fits() || !A[I].fits())
          return std::nullopt;
        All = Combine(All, A[I]);
      }
      return All;
    };
    if (Name == "Add")
      return Fold([](const Ratio &X, const Ratio &Y) { return X + Y; });
    if (Name == "Mul" || Name == "FloatMul")
      return Fold([](const Ratio &X, const Ratio &Y) { return X * Y; });
    if (A.size() == 1) {
      if (Name == "ToFloat" || Name == "Integer")
        return A[0];
      // What is cut off is a size or a part of one, and not below zero.
      if (Name == "TruncToInt" || Name == "FloorToInt" || Name == "floor")
        return Ratio{A[0].Above.floorDiv(Expr(A[0].Below))};
      if (Name == "CeilToInt" || Name == "ceiling")
        return Ratio{A[0].Above.ceilDiv(Expr(A[0].Below))};
      return std::nullopt;
    }
    if (Name == "Rational" || Name == "IntTrueDiv" || Name == "FloatTrueDiv") {
      std::optional<int64_t> By = A.size() == 2 && A[1].isWhole()
                                      ? A[1].Above.asConstant()
                                      : std::nullopt;
      if (By && *By > 0 && A[0].fits() && *By <= (1 << 20))
        return Ratio{A[0].Above, A[0].Below * *By};
    }
    if (!llvm::all_of(A, [](const Ratio &R) { return R.isWhole(); }))
      return std::nullopt;
    if (Name == "Max")
      return Fold([](const Ratio &X, const Ratio &Y) {
        return Ratio{Expr::max(X.Above, Y.Above)};
      });
    if (Name == "Min")
      return Fold([](const Ratio &X, const Ratio &Y) {
        return Ratio{Expr::min(X.Above, Y.Above)};
      });
    if (A.size() != 2)
      return std::nullopt;
    const Expr &X = A[0].Above, &Y = A[1].Above;
    if (Name == "FloorDiv" || Name == "CleanDiv" || Name == "IntTrueDiv")
      return Ratio{X.floorDiv(Y)};
    if (Name == "CeilDiv")
      return Ratio{X.ceilDiv(Y)};
    if (Name == "Mod" || Name == "PythonMod")
      return Ratio{X.mod(Y)};
    if (Name == "Pow") {
      int64_t N = Y.asConstant().value_or(-1);
      if (N < 1 || N > 8)
        return std::nullopt;
      Expr Power = X;
      for (int64_t I = 1; I < N; ++I)
        Power = Power * X;
      return Ratio{Power};
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
