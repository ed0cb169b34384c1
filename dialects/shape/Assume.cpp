//===- Assume.cpp - What would make two sizes equal -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/shape/Assume.h"
#include "dialects/shape/ExprNode.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kpc::shape {

/// Divisors of models are powers of 2 up to 64, and products of strides.
static constexpr int64_t LargestMultiple = 4096;
/// Sizes that are tried one by one.
static constexpr int64_t LargestTried = 1 << 14;

Expr Multiple::rounded() const {
  return Expr::symbol(Symbol).floorDiv(Divisor) * Divisor;
}

/// Makes `All` a multiple of every constant that `E` divides by.
static void collectDivisors(const Expr &E, int64_t &All) {
  for (const Term &T : terms(E))
    for (const Factor &F : T.Factors) {
      if (F.Base->Kind == AtomKind::Symbol)
        continue;
      collectDivisors(F.Base->A, All);
      collectDivisors(F.Base->B, All);
      std::optional<int64_t> D = F.Base->B.asConstant();
      bool Divides =
          F.Base->Kind == AtomKind::FloorDiv || F.Base->Kind == AtomKind::Mod;
      if (!Divides || !D || *D < 2 || *D > LargestMultiple)
        continue;
      int64_t Next = std::lcm(All, *D);
      if (Next <= LargestMultiple)
        All = Next;
    }
}

std::optional<Multiple> multipleThatMakesEqual(const Facts &F, const Expr &A,
                                               const Expr &B) {
  if (A.overflowed() || B.overflowed())
    return std::nullopt;
  int64_t All = 1;
  collectDivisors(A, All);
  collectDivisors(B, All);
  std::set<std::string, std::less<>> Names;
  A.collectSymbols(Names);
  B.collectSymbols(Names);
  auto MakesEqual = [&](const Multiple &M) {
    std::map<std::string, Expr, std::less<>> Map = {{M.Symbol, M.rounded()}};
    Expr Left = A.substitute(Map);
    return !Left.overflowed() && Left == B.substitute(Map);
  };
  auto Known = [&](const std::string &Name) {
    return std::max<int64_t>(F.divisor(Expr::symbol(Name)), 1);
  };
  for (const std::string &Name : Names)
    if (Multiple M{Name, Known(Name)};
        M.Divisor > 1 && M.Divisor <= LargestMultiple && MakesEqual(M))
      return M;
  std::vector<Multiple> Found;
  for (const std::string &Name : Names) {
    if (Known(Name) > LargestMultiple)
      continue;
    std::set<int64_t> Divisors;
    for (int64_t D = 2; D <= All; ++D)
      if (All % D == 0)
        Divisors.insert(std::lcm(D, Known(Name)));
    for (int64_t D : Divisors)
      if (Multiple M{Name, D}; MakesEqual(M)) {
        Found.push_back(M);
        break;
      }
  }
  // Of two symbols it is not known which one is meant.
  if (Found.size() != 1)
    return std::nullopt;
  return Found.front();
}

std::vector<Multiple> multiplesThatMakeEqual(const Facts &F, const Expr &A,
                                             const Expr &B) {
  if (A.overflowed() || B.overflowed())
    return {};
  int64_t All = 1;
  collectDivisors(A, All);
  collectDivisors(B, All);
  std::set<std::string, std::less<>> Names;
  A.collectSymbols(Names);
  B.collectSymbols(Names);
  std::map<std::string, int64_t, std::less<>> Divisors;
  auto Known = [&](const std::string &Name) {
    return std::max<int64_t>(F.divisor(Expr::symbol(Name)), 1);
  };
  for (const std::string &Name : Names)
    if (Known(Name) <= LargestMultiple)
      Divisors[Name] = std::lcm(All, Known(Name));
  auto MakeEqual = [&] {
    std::map<std::string, Expr, std::less<>> Map;
    for (const auto &[Name, Divisor] : Divisors)
      if (Divisor > 1)
        Map.emplace(Name, Multiple{Name, Divisor}.rounded());
    Expr Left = A.substitute(Map);
    return !Left.overflowed() && Left == B.substitute(Map);
  };
  if (All < 2 || Names.size() < 2 || !MakeEqual())
    return {};
  // Those that the others cannot stand in for: of h*w, which divides by 4, it
  // is not known which one is meant.
  std::set<std::string> Needed;
  for (auto &[Name, Divisor] : Divisors) {
    int64_t Most = std::exchange(Divisor, 1);
    if (!MakeEqual())
      Needed.insert(Name);
    Divisor = Most;
  }
  for (auto &[Name, Divisor] : Divisors)
    if (!Needed.count(Name))
      Divisor = 1;
  if (!MakeEqual())
    return {};
  std::vector<Multiple> Found;
  for (const std::string &Name : Needed) {
    // As small as the others let it be.
    int64_t Most = Divisors[Name];
    for (int64_t D = 2; D <= Most; ++D) {
      Divisors[Name] = std::lcm(D, Known(Name));
      if (Most % D == 0 && MakeEqual())
        break;
    }
    Found.push_back({Name, Divisors[Name]});
  }
  return Found;
}

/// What all divisions around a symbol make together: 512 of
/// floordiv(floordiv(x, 128) + 3, 4).
static int64_t strideOf(const Expr &E) {
  int64_t Most = 1;
  for (const Term &T : terms(E))
    for (const Factor &F : T.Factors) {
      if (F.Base->Kind == AtomKind::Symbol)
        continue;
      int64_t Stride = std::max(strideOf(F.Base->A), strideOf(F.Base->B));
      std::optional<int64_t> D = F.Base->B.asConstant();
      if (F.Base->Kind == AtomKind::FloorDiv && D && *D > 1 &&
          *D <= LargestMultiple)
        Stride *= *D;
      Most = std::max(Most, std::min(Stride, LargestTried));
    }
  return Most;
}

std::optional<FixedSize> valueThatMakesEqual(const Facts &F, const Expr &E,
                                             int64_t Wanted) {
  std::set<std::string, std::less<>> Names;
  E.collectSymbols(Names);
  if (E.overflowed() || Names.size() != 1)
    return std::nullopt;
  const std::string &Name = *Names.begin();
  Expr Symbol = Expr::symbol(Name);
  Interval Range = F.range(Symbol);
  int64_t Known = std::max<int64_t>(F.divisor(Symbol), 1);
  if (Known > Interval::Unbounded - LargestTried)
    return std::nullopt;
  auto Does = [&](int64_t V) {
    return Range.contains(V) && V % Known == 0 &&
           E.evaluate({{Name, V}}) == Wanted;
  };
  std::optional<int64_t> Found;
  if (auto It = F.symbols().find(Name); It != F.symbols().end() &&
                                        It->second.Optimum &&
                                        Does(*It->second.Optimum))
    Found = It->second.Optimum;
  int64_t All = 1;
  collectDivisors(E, All);
  for (int64_t Step : {strideOf(E), All})
    for (int64_t V = Step; !Found && Step > 1 && V <= LargestTried; V += Step)
      if (Does(V))
        Found = V;
  for (int64_t V = Range.Min; !Found && V <= LargestTried; ++V)
    if (Does(V))
      Found = V;
  if (!Found)
    return std::nullopt;
  FixedSize Fixed{Name, *Found, *Found, *Found};
  while (Fixed.Least > 0 && *Found - Fixed.Least < LargestTried &&
         Does(Fixed.Least - Known))
    Fixed.Least -= Known;
  while (Fixed.Most <= LargestTried && Does(Fixed.Most + Known))
    Fixed.Most += Known;
  Fixed.HasNoEnd =
      Fixed.Most >= Range.Max ||
      (Fixed.Most > LargestTried && E.evaluate({{Name, Range.Max}}) == Wanted);
  return Fixed;
}

} // namespace kpc::shape
