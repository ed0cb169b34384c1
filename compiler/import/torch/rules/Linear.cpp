//===- Linear.cpp - Import of matrix products -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Rules.h"

#include <set>

using namespace kpc::graph;

namespace kpc::torch {

static void linear(NodeImport &N) {
  Value X = N.tensor("input"), W = N.tensor("weight"),
        Bias = N.optionalTensor("bias");
  if (N.bad())
    return;
  Value Y = N.matmul(X, N.rank(W) == 2 ? N.transpose(W, {1, 0}) : W);
  N.result(Bias ? N.add(Y, Bias) : Y);
}

static void matmul(NodeImport &N) {
  N.result(N.matmul(N.tensor("self"), N.tensor(N.has("mat2")     ? "mat2"
                                               : N.has("vec")    ? "vec"
                                               : N.has("tensor") ? "tensor"
                                                                 : "other")));
}

/// beta * self + alpha * a · c
static void addProduct(NodeImport &N) {
  bool Batched = N.has("batch1");
  Value X = N.tensor("self");
  Value A = N.tensor(Batched        ? "batch1"
                     : N.has("mat") ? "mat"
                                    : "mat1"),
        C = N.tensor(Batched        ? "batch2"
                     : N.has("vec") ? "vec"
                                    : "mat2");
  Value Y = N.matmul(A, C);
  if (!Y || !X)
    return N.give();
  if (N.real("alpha", 1) != 1)
    Y = N.mul(Y, N.operand("alpha", N.element(Y)));
  if (N.has("beta") && N.real("beta", 1) == 0)
    return N.result(Y);
  if (N.real("beta", 1) != 1)
    X = N.mul(X, N.operand("beta", N.element(X)));
  N.result(N.add(Y, X));
}

static void outer(NodeImport &N) {
  Value A = N.tensor("self"), C = N.tensor("vec2");
  if (A && C)
    N.result(N.mul(N.unsqueeze(A, {1}), N.unsqueeze(C, {0})));
}

//===----------------------------------------------------------------------===//
// Einstein's sums
//===----------------------------------------------------------------------===//

namespace {
/// A tensor whose dimensions have letters.
struct Lettered {
  Value V;
  std::string Letters;
  int64_t axis(char L) const { return static_cast<int64_t>(Letters.find(L)); }
  bool has(char L) const { return Letters.find(L) != std::string::npos; }
};
} // namespace

/// Sums what neither others nor the result have.
static void sumAlone(NodeImport &N, Lettered &T, const std::string &Needed) {
  Ints Axes;
  std::string Kept;
  for (char L : T.Letters)
    if (Needed.find(L) == std::string::npos)
      Axes.push_back(T.axis(L));
    else
      Kept += L;
  if (!Axes.empty())
    T.V = N.reduce(ReduceKind::sum, T.V, Axes);
  T.Letters = Kept;
}

static Value ordered(NodeImport &N, const Lettered &T,
                     const std::string &Letters) {
  Ints Perm;
  for (char L : Letters)
    Perm.push_back(T.axis(L));
  return N.transpose(T.V, Perm);
}

static Lettered product(NodeImport &N, const Lettered &A, const Lettered &C,
                        const std::string &Needed) {
  std::string Batch, Left, Right, Sum;
  Expr Sizes[4] = {Expr(1), Expr(1), Expr(1), Expr(1)};
  Dims Shape;
  Dims LeftSizes, RightSizes;
  auto SizeIn = [&](const Lettered &T, char L) {
    return N.dims(T.V)[static_cast<size_t>(T.axis(L))];
  };
  for (char L : A.Letters) {
    bool Wanted = Needed.find(L) != std::string::npos;
    if (!C.has(L)) {
      Left += L;
      Sizes[1] = Sizes[1] * SizeIn(A, L);
      LeftSizes.push_back(SizeIn(A, L));
    } else if (Wanted) {
      Batch += L;
      Sizes[0] = Sizes[0] * SizeIn(A, L);
      Shape.push_back(SizeIn(A, L));
    } else {
      Sum += L;
      Sizes[3] = Sizes[3] * SizeIn(A, L);
    }
  }
  for (char L : C.Letters)
    if (!A.has(L)) {
      Right += L;
      Sizes[2] = Sizes[2] * SizeIn(C, L);
      RightSizes.push_back(SizeIn(C, L));
    }
  Lettered Y;
  Y.Letters = Batch + Left + Right;
  Shape.append(LeftSizes);
  Shape.append(RightSizes);
  Value X = N.reshape(ordered(N, A, Batch + Left + Sum),
                      {Sizes[0], Sizes[1], Sizes[3]});
  Value Z = N.reshape(ordered(N, C, Batch + Sum + Right),
                      {Sizes[0], Sizes[3], Sizes[2]});
  Y.V = N.reshape(N.matmul(X, Z), Shape);
  return Y;
}

/// The letters of an operand; "..." becomes capital ones that are free.
static std::optional<std::string> expanded(llvm::StringRef Term, int64_t Rank) {
  size_t Dots = Term.find("...");
  if (Dots == llvm::StringRef::npos)
    return static_cast<int64_t>(Term.size()) == Rank ? std::optional(Term.str())
                                                     : std::nullopt;
  int64_t Free = Rank - static_cast<int64_t>(Term.size()) + 3;
  if (Free < 0 || Free > 8)
    return std::nullopt;
  std::string Letters;
  for (int64_t I = Free; I-- > 0;)
    Letters += static_cast<char>('0' + I);
  return (Term.take_front(Dots) + Letters + Term.drop_front(Dots + 3)).str();
}

static void einsum(NodeImport &N) {
  SmallVector<Value> Xs = N.tensors("tensors");
  std::string Text = N.text("equation", "");
  llvm::erase(Text, ' ');
  auto [In, Out] = llvm::StringRef(Text).split("->");
  SmallVector<llvm::StringRef> Terms;
  In.split(Terms, ',');
  if (N.bad() || Terms.size() != Xs.size() || Xs.empty())
    return N.give();
  SmallVector<Lettered> Operands;
  std::string All;
  for (auto [Term, V] : llvm::zip(Terms, Xs)) {
    std::optional<std::string> Letters = expanded(Term, N.rank(V));
    if (!Letters || std::set<char>(Letters->begin(), Letters->end()).size() !=
                        Letters->size()) {
      N.unsupported("the equation '" + printable(Text) +
                    "', which takes a diagonal or does not fit");
      return;
    }
    Operands.push_back({V, *Letters});
    All += *Letters;
  }
  std::string Result;
  if (Text.find("->") == std::string::npos) {
    // Letters that occur once, in the alphabet's order.
    for (char L : std::set<char>(All.begin(), All.end()))
      if (std::count(All.begin(), All.end(), L) == 1)
        Result += L;
  } else {
    std::string Free;
    for (char L = '7'; L >= '0'; --L)
      if (All.find(L) != std::string::npos)
        Free += L;
    Result = Out.str();
    if (size_t Dots = Result.find("..."); Dots != std::string::npos)
      Result.replace(Dots, 3, Free);
  }
  auto NeededBehind = [&](size_t I) {
    std::string Needed = Result;
    for (size_t J = I; J < Operands.size(); ++J)
      Needed += Operands[J].Letters;
    return Needed;
  };
  Lettered Y = Operands[0];
  sumAlone(N, Y, NeededBehind(1));
  for (size_t I = 1; I < Operands.size() && Y.V; ++I) {
    Lettered C = Operands[I];
    sumAlone(N, C, NeededBehind(I + 1) + Y.Letters);
    if (!C.V)
      return N.give();
    Y = product(N, Y, C, NeededBehind(I + 1));
  }
  if (!Y.V)
    return N.give();
  sumAlone(N, Y, Result);
  N.result(ordered(N, Y, Result));
}

/// Matrices of 8-bit integers, with sums of 32 bits.
static void integerProduct(NodeImport &N) {
  Value A = N.tensor("self"), C = N.tensor("mat2");
  if (A && C)
    N.result(N.matmul(N.cast(A, N.i32()), N.cast(C, N.i32())));
}

ArrayRef<Rule> linearRules() {
  static const Rule Rows[] = {
      {"_int_mm.default", integerProduct},
      {"addmm.default", addProduct, InPlace::Yes},
      {"addmv.default", addProduct, InPlace::Yes},
      {"baddbmm.default", addProduct, InPlace::Yes},
      {"bmm.default", matmul},
      {"dot.default", matmul},
      {"einsum.default", einsum, InPlace::No, "diagonals"},
      {"linear.default", linear},
      {"matmul.default", matmul},
      {"mm.default", matmul},
      {"mv.default", matmul},
      {"outer.default", outer},
  };
  return Rows;
}

} // namespace kpc::torch
