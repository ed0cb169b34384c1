//===- AssumeParts.cpp - Parts that would make two sizes equal ------------===//
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

namespace kpc::shape {

/// Nested bounds of slices are two or three.
static constexpr unsigned MostChoices = 3;
/// Sizes of more bounds than this are nobody's.
static constexpr size_t MostBounds = 12;
/// Values of all symbols together that are tried.
static constexpr unsigned MostSamples = 6000;

/// Every min and max in `E`, outer ones first.
static void collectBounds(const Expr &E, std::vector<AtomRef> &Found) {
  for (const Term &T : terms(E))
    for (const Factor &F : T.Factors) {
      const AtomRef &A = F.Base;
      if (A->Kind == AtomKind::Symbol)
        continue;
      bool IsBound = A->Kind == AtomKind::Min || A->Kind == AtomKind::Max;
      if (IsBound && std::ranges::none_of(Found, [&](const AtomRef &Other) {
            return compare(*Other, *A) == 0;
          }))
        Found.push_back(A);
      collectBounds(A->A, Found);
      collectBounds(A->B, Found);
    }
}

/// Tries values of the symbols until one meets everything.
class Samples {
public:
  Samples(const Facts &F, const Expr &A, const Expr &B) : F(F) {
    std::set<std::string, std::less<>> Names;
    A.collectSymbols(Names);
    B.collectSymbols(Names);
    for (const std::string &Name : Names)
      Lists.push_back({Name, valuesOf(Name)});
  }

  template <typename Predicate> bool any(Predicate Holds) const {
    unsigned __int128 All = 1;
    for (const auto &[Name, List] : Lists) {
      if (List.empty())
        return false;
      All = std::min<unsigned __int128>(All * List.size(),
                                        (unsigned __int128)(1) << 64);
    }
    // All of them in turn, or as many in strides that are prime to the lists.
    auto Count =
        static_cast<unsigned>(std::min<unsigned __int128>(All, MostSamples));
    uint64_t Seed = 1;
    for (unsigned I = 0; I < Count; ++I) {
      Bindings Values;
      uint64_t Rest = I;
      for (const auto &[Name, List] : Lists) {
        uint64_t At = Rest % List.size();
        Rest /= List.size();
        if (All > MostSamples) {
          Seed = Seed * 6364136223846793005u + 1442695040888963407u;
          At = (Seed >> 33) % List.size();
        }
        Values.emplace(Name, List[At]);
      }
      if (Holds(Values))
        return true;
    }
    return false;
  }

private:
  std::vector<int64_t> valuesOf(const std::string &Name) const {
    Interval Range = F.range(Expr::symbol(Name));
    int64_t Divisor = std::max<int64_t>(F.divisor(Expr::symbol(Name)), 1);
    std::set<int64_t> Values;
    auto Add = [&](int64_t V) {
      V = V / Divisor * Divisor;
      if (Range.contains(V))
        Values.insert(V);
    };
    auto It = F.symbols().find(Name);
    if (It != F.symbols().end() && It->second.Optimum)
      Add(*It->second.Optimum);
    for (int64_t V = 0; V <= 40; ++V)
      for (int64_t Scale : {int64_t(1), Divisor})
        if (V <= Interval::Unbounded / 64 / Scale)
          Add(V * Scale);
    for (int64_t Power = 32; Power <= 4096; Power *= 2)
      for (int64_t V : {Power - 1, Power, Power + 1, Power + Power / 2})
        Add(V);
    int64_t Next = Range.Min;
    for (int64_t V = 0; V < 4; ++V) {
      Add(Next);
      if (__builtin_add_overflow(Next, Divisor, &Next))
        break;
    }
    return {Values.begin(), Values.end()};
  }

  const Facts &F;
  std::vector<std::pair<std::string, std::vector<int64_t>>> Lists;
};

/// Whether some sizes meet what the replacements need, with elements to
/// compute.
static bool possible(const Facts &F, const Expr &A, const Expr &B,
                     const std::vector<Replacement> &List) {
  return Samples(F, A, B).any([&](const Bindings &Values) {
    std::optional<int64_t> Size = A.evaluate(Values);
    if (!Size || *Size < 1 || B.evaluate(Values) != Size)
      return false;
    return std::ranges::all_of(List, [&](const Replacement &R) {
      std::optional<int64_t> Left = R.Left.evaluate(Values),
                             Right = R.Right.evaluate(Values);
      return Left && Right && (R.Equal ? *Left == *Right : *Left <= *Right);
    });
  });
}

/// `R.Left <= R.Right` without what is subtracted: p <= 31 is read sooner than
/// 1 <= 32 - p.
static Replacement balanced(Replacement R) {
  auto Subtracts = [](const Expr &E) {
    return std::ranges::any_of(terms(E),
                               [](const Term &T) { return T.Coefficient < 0; });
  };
  if (!Subtracts(R.Left) && !Subtracts(R.Right))
    return R;
  Expr Difference = R.Right - R.Left, Left, Right;
  if (Difference.overflowed())
    return R;
  for (const Term &T : terms(Difference)) {
    Expr Single = exprOf(T);
    if (T.Coefficient < 0)
      Left = Left - Single;
    else
      Right = Right + Single;
  }
  R.Left = Left;
  R.Right = Right;
  return R;
}

/// Chooses one side of up to `Left` bounds; the choices made are in `List`.
static bool chooseSides(const Facts &F, const Expr &A, const Expr &B,
                        unsigned Left, std::vector<Replacement> &List) {
  std::vector<AtomRef> Bounds;
  collectBounds(A, Bounds);
  collectBounds(B, Bounds);
  if (Bounds.size() > MostBounds)
    return false;
  for (const AtomRef &Bound : Bounds)
    for (bool First : {true, false}) {
      const Expr &Taken = First ? Bound->A : Bound->B,
                 &Other = First ? Bound->B : Bound->A;
      bool IsMin = Bound->Kind == AtomKind::Min;
      Replacement R{exprOf(Bound), Taken, IsMin ? Taken : Other,
                    IsMin ? Other : Taken, false};
      if (F.isLessOrEqual(R.Left, R.Right) == false)
        continue;
      Expr NewA = A.replace(R.Part, R.New), NewB = B.replace(R.Part, R.New);
      if (NewA.overflowed() || NewB.overflowed())
        continue;
      List.push_back(balanced(R));
      if (NewA == NewB ||
          (Left > 1 && chooseSides(F, NewA, NewB, Left - 1, List)))
        return true;
      List.pop_back();
    }
  return false;
}

/// A remainder by a number in `E` that has none inside; null if there is none.
static const Atom *findRemainder(const Expr &E) {
  for (const Term &T : terms(E))
    for (const Factor &F : T.Factors) {
      const Atom &A = *F.Base;
      if (A.Kind == AtomKind::Symbol)
        continue;
      for (const Expr *Part : {&A.A, &A.B})
        if (const Atom *Inside = findRemainder(*Part))
          return Inside;
      if (A.Kind == AtomKind::Mod && A.B.asConstant().value_or(0) > 0)
        return &A;
    }
  return nullptr;
}

std::string Replacement::requirement() const {
  if (Equal)
    return Left.str() + " must be equal to " + Right.str();
  return Left.isConstant() ? Right.str() + " must be at least " + Left.str()
                           : Left.str() + " must be at most " + Right.str();
}

std::vector<Replacement> remaindersThatMakeEqual(const Expr &A, const Expr &B) {
  // n + mod(k - mod(n, k), k) has two; sums of a few axes have more.
  constexpr size_t MostRemainders = 8;
  std::vector<Replacement> List;
  Expr Left = A, Right = B;
  while (List.size() < MostRemainders && !Left.overflowed() &&
         !Right.overflowed()) {
    if (Left == Right)
      return List;
    const Atom *Found = findRemainder(Left);
    if (!Found)
      Found = findRemainder(Right);
    if (!Found)
      break;
    Expr Part = Expr::Node::makeAtom(AtomKind::Mod, Found->A, Found->B),
         New = Found->A - Found->B * Found->A.floorDiv(Found->B);
    Left = Left.replace(Part, New);
    Right = Right.replace(Part, New);
    List.push_back({Part, New, 0, 0, /*Equal=*/true});
  }
  return Left == Right && !Left.overflowed() ? List
                                             : std::vector<Replacement>();
}

std::vector<Replacement> partsThatMakeEqual(const Facts &F, const Expr &A,
                                            const Expr &B) {
  if (A.overflowed() || B.overflowed())
    return {};
  std::optional<bool> Known = F.isEqual(A, B);
  if (Known == false)
    return {};
  if (std::vector<Replacement> List = remaindersThatMakeEqual(A, B);
      !List.empty())
    return List;
  // What is equal for all sizes needs other words alone, and no choice.
  for (unsigned Count = 1; Known != true && Count <= MostChoices; ++Count) {
    std::vector<Replacement> List;
    if (chooseSides(F, A, B, Count, List) && possible(F, A, B, List))
      return List;
  }
  // What the other size leaves for one part.
  Expr Off = A - B;
  if (Off.overflowed())
    return {};
  for (const Term &T : terms(Off)) {
    bool IsPart = T.Factors.size() == 1 && T.Factors[0].Exponent == 1 &&
                  T.Factors[0].Base->Kind != AtomKind::Symbol &&
                  (T.Coefficient == 1 || T.Coefficient == -1);
    if (!IsPart)
      continue;
    Expr Part = Expr::Node::make({{T.Factors, 1}});
    Expr New = Part - Off * T.Coefficient;
    Replacement R{Part, New, A, B, true};
    if (New.overflowed() || New.replace(Part, New + 1) != New)
      continue;
    if (possible(F, A, B, {R}))
      return {R};
  }
  return {};
}

std::pair<Expr, Expr> withoutCommonFactors(const Expr &A, const Expr &B) {
  if (A.overflowed() || B.overflowed() || terms(A).empty() || terms(B).empty())
    return {A, B};
  Monomial Common = terms(A).front().Factors;
  uint64_t Content = 0;
  for (const Expr *E : {&A, &B})
    for (const Term &T : terms(*E)) {
      Common = commonFactors(Common, T.Factors);
      uint64_t C = static_cast<uint64_t>(T.Coefficient);
      Content = std::gcd(Content, T.Coefficient < 0 ? 0 - C : C);
    }
  if (Content == 0 ||
      Content > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return {A, B};
  auto Divided = [&](const Expr &E) {
    std::vector<Term> Left;
    for (const Term &T : terms(E))
      Left.push_back({*divide(T.Factors, Common),
                      T.Coefficient / static_cast<int64_t>(Content)});
    return Expr::Node::make(std::move(Left));
  };
  return {Divided(A), Divided(B)};
}

std::optional<SquareParts> squareThatMakesEqual(const Facts &F, const Expr &A,
                                                const Expr &B) {
  Expr Off = A - B;
  if (Off.overflowed() || terms(Off).size() != 2 || constantTerm(Off) == 0 ||
      constantTerm(Off) == std::numeric_limits<int64_t>::min())
    return std::nullopt;
  const Term &T = terms(Off).front();
  int64_t Square = -constantTerm(Off);
  if (T.Factors.size() != 2 || T.Factors[0].Exponent != 1 ||
      T.Factors[1].Exponent != 1 || T.Coefficient == 0 ||
      Square % T.Coefficient != 0)
    return std::nullopt;
  Square /= T.Coefficient;
  int64_t Root = 1;
  constexpr int64_t MostRoot = 4096;
  while (Root < MostRoot && Root * Root < Square)
    ++Root;
  if (Root * Root != Square)
    return std::nullopt;
  auto Part = [&](size_t I) { return Expr::Node::make({{{T.Factors[I]}, 1}}); };
  SquareParts Parts{Part(0), Part(1), Root};
  for (const Expr &E : {Parts.First, Parts.Second})
    if (!F.range(E).contains(Root))
      return std::nullopt;
  return Parts;
}

} // namespace kpc::shape
