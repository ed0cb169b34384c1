//===- AssumedSizes.cpp - Sizes that an import takes for equal ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/AssumedSizes.h"
#include "dialects/shape/Assume.h"

#include <numeric>

using namespace mlir;
using namespace kpc::graph;

namespace kpc::frontend {

bool changeSizes(Operation *Root,
                 llvm::function_ref<Expr(const Expr &)> Change) {
  auto Substitute = [&](ArrayRef<Expr> From) {
    Dims To;
    for (const Expr &E : From)
      To.push_back(Change(E));
    return To;
  };
  bool Possible = true;
  auto Check = [&](TypeRange Types) {
    for (Type Ty : Types)
      if (auto Tensor = dyn_cast<SymbolicTensorType>(Ty))
        Possible &= !!checkedType(Substitute(Tensor.getDims()),
                                  Tensor.getElementType());
  };
  Root->walk([&](Operation *Op) {
    Check(Op->getResultTypes());
    for (Region &R : Op->getRegions())
      if (!R.empty())
        Check(R.getArgumentTypes());
    return Possible ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (!Possible)
    return false;
  AttrTypeReplacer Replacer;
  Replacer.addReplacement([&](SymbolicTensorType Ty) -> std::optional<Type> {
    return Ty.withDims(Substitute(Ty.getDims()));
  });
  Replacer.addReplacement([&](DimsAttr A) -> std::optional<mlir::Attribute> {
    return DimsAttr::get(A.getContext(), Substitute(A.getDims()));
  });
  Replacer.recursivelyReplaceElementsIn(Root, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  return true;
}

/// None where the range has no multiple of the divisor.
static std::optional<shape::SymbolFacts> withDivisor(shape::SymbolFacts F,
                                                     int64_t Divisor) {
  F.Divisor = Divisor;
  // From the range's least size on, not from below it.
  int64_t Least = F.Min / Divisor * Divisor;
  if (Least < F.Min && llvm::AddOverflow(Least, Divisor, Least))
    return std::nullopt;
  if (Least > F.Max)
    return std::nullopt;
  if (F.Optimum)
    F.Optimum = std::max(*F.Optimum / Divisor * Divisor, Least);
  return F;
}

std::optional<shape::Facts> withDivisor(const shape::Facts &Known,
                                        const std::string &Symbol,
                                        int64_t Divisor) {
  shape::SymbolFacts F;
  if (auto It = Known.symbols().find(Symbol); It != Known.symbols().end())
    F = It->second;
  std::optional<shape::SymbolFacts> Divided = withDivisor(F, Divisor);
  if (!Divided)
    return std::nullopt;
  shape::Facts New = Known;
  New.declare(Symbol, *Divided);
  return New;
}

/// What is known of a size that has two names; none where it cannot be both.
static std::optional<shape::SymbolFacts>
knownOfBoth(const shape::SymbolFacts &A, const shape::SymbolFacts &C) {
  shape::SymbolFacts Both{std::max(A.Min, C.Min), std::min(A.Max, C.Max),
                          A.Optimum ? A.Optimum : C.Optimum};
  if (Both.Min > Both.Max)
    return std::nullopt;
  if (Both.Optimum)
    Both.Optimum = std::clamp(*Both.Optimum, Both.Min, Both.Max);
  int64_t Divisor;
  if (llvm::MulOverflow(A.Divisor / std::gcd(A.Divisor, C.Divisor), C.Divisor,
                        Divisor))
    return std::nullopt;
  return withDivisor(Both, Divisor);
}

std::optional<shape::Facts>
factsAfter(const shape::Facts &Known, const std::string &Old, const Expr &New) {
  shape::Interval Range = Known.range(New),
                  Asked = Known.range(Expr::symbol(Old));
  if (Range.Min > Asked.Max || Range.Max < Asked.Min)
    return std::nullopt;
  shape::Facts Left;
  for (const auto &[Name, F] : Known.symbols())
    if (Name != Old)
      Left.declare(Name, F);
  auto Kept = New.asSymbol();
  auto OfOld = Known.symbols().find(Old);
  if (!Kept || OfOld == Known.symbols().end())
    return Left;
  auto OfKept = Left.symbols().find(*Kept);
  auto Both = knownOfBoth(OfKept == Left.symbols().end() ? shape::SymbolFacts()
                                                         : OfKept->second,
                          OfOld->second);
  if (!Both)
    return std::nullopt;
  Left.declare(*Kept, *Both);
  return Left;
}

static std::string whyEqual(const Expr &A, const Expr &C) {
  return " needs the sizes " + A.str() + " and " + C.str() + " to be equal";
}

bool assumeMultiples(const Expr &A, const Expr &C, const Assumption &For) {
  std::vector<shape::Multiple> All;
  if (auto M = shape::multipleThatMakesEqual(For.Facts, A, C))
    All.push_back(*M);
  else
    All = shape::multiplesThatMakeEqual(For.Facts, A, C);
  for (const shape::Multiple &M : All) {
    std::optional<shape::Facts> Known =
        withDivisor(For.Facts, M.Symbol, M.Divisor);
    bool Said = For.Facts.divisor(Expr::symbol(M.Symbol)) == M.Divisor;
    if (!Known || !For.Replace(M.Symbol, M.rounded(), *Known))
      return false;
    if (Said)
      continue;
    For.Diags.warning(Code::ImportAssumed)
        .at(For.Place)
        .message(printable(M.Symbol) + " must be a multiple of " +
                 std::to_string(M.Divisor) + ": the node" + whyEqual(A, C));
    For.Reasons[M.Symbol] = For.Node + whyEqual(A, C);
  }
  return !All.empty();
}

bool assumeParts(const Expr &A, const Expr &C, const Assumption &For) {
  std::vector<shape::Replacement> Parts =
      shape::partsThatMakeEqual(For.Facts, A, C);
  for (const shape::Replacement &P : Parts) {
    if (!For.Change([&](const Expr &E) { return E.replace(P.Part, P.New); }))
      return false;
    For.Replaced.emplace_back(P.Part, P.New);
    std::optional<bool> Known = P.Equal
                                    ? For.Facts.isEqual(P.Left, P.Right)
                                    : For.Facts.isLessOrEqual(P.Left, P.Right);
    if (Known == true || llvm::any_of(For.Required, [&](const Requirement &R) {
          return R.Left == P.Left && R.Right == P.Right && R.Equal == P.Equal;
        }))
      continue;
    For.Required.push_back(
        {P.Left, P.Right, P.Equal, For.Node + whyEqual(A, C)});
    For.Diags.warning(Code::ImportAssumed)
        .at(For.Place)
        .message(P.requirement() + ": the node" + whyEqual(A, C));
  }
  return !Parts.empty();
}

} // namespace kpc::frontend
