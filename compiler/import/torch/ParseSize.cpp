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
/// `Add(Integer(2), Symbol('s0', positive=True))`: calls of calls.
class SizeParser {
public:
  SizeParser(StringRef Rest,
             const std::map<std::string, Expr, std::less<>> &Symbols)
      : Rest(Rest), Symbols(Symbols) {}

  std::optional<Expr> whole() {
    std::optional<Expr> E = call(0);
    return Rest.trim().empty() ? E : std::nullopt;
  }

private:
  static constexpr unsigned Deepest = 200;

  bool take(char C) {
    Rest = Rest.ltrim();
    return Rest.consume_front(StringRef(&C, 1));
  }

  std::optional<Expr> symbol() {
    Rest = Rest.ltrim();
    if (!Rest.consume_front("'"))
      return std::nullopt;
    auto [Name, Behind] = Rest.split('\'');
    size_t End = Behind.find(')');
    if (End == StringRef::npos)
      return std::nullopt;
    Rest = Behind.drop_front(End + 1);
    auto It = Symbols.find(Name.str());
    if (It == Symbols.end())
      return std::nullopt;
    return It->second;
  }

  std::optional<Expr> call(unsigned Depth) {
    Rest = Rest.ltrim();
    StringRef Name = Rest.take_while(
        [](char C) { return llvm::isAlnum(C) || C == '_' || C == '.'; });
    Rest = Rest.drop_front(Name.size());
    Name = Name.rsplit('.').second.empty() ? Name : Name.rsplit('.').second;
    if (Depth > Deepest || !take('('))
      return std::nullopt;
    if (Name == "Symbol")
      return symbol();
    if (Name == "Integer") {
      int64_t V = 0;
      Rest = Rest.ltrim();
      if (Rest.consumeInteger(10, V) || !take(')'))
        return std::nullopt;
      return Expr(V);
    }
    std::vector<Expr> Args;
    do {
      std::optional<Expr> A = call(Depth + 1);
      if (!A)
        return std::nullopt;
      Args.push_back(*A);
    } while (take(','));
    if (!take(')'))
      return std::nullopt;
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

} // namespace kpc::torch
