//===- Matmul.cpp - Import of matrix products -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

#include "llvm/ADT/StringExtras.h"

using namespace kpc::graph;

namespace kpc::onnx {

static void importMatMul(NodeImport &N) {
  N.expectInputs(2, 2);
  Value A = N.input(0), C = N.input(1);
  if (!N.bad())
    N.result(0, N.matmul(A, C));
}

static void importGemm(NodeImport &N) {
  double Alpha = N.floatAttribute("alpha", 1);
  double Beta = N.floatAttribute("beta", 1);
  bool TransA = N.flagAttribute("transA"), TransB = N.flagAttribute("transB");
  N.expectInputs(2, 3);
  Value A = N.input(0), C = N.input(1), Summand = N.optionalInput(2);
  if (N.bad())
    return;
  for (Value V : {A, C})
    if (N.rank(V) != 2) {
      N.fail(Code::ImportRank, "an input has rank " +
                                   std::to_string(N.rank(V)) +
                                   ", but should be a matrix");
      return;
    }
  Value Y = N.matmul(TransA ? N.transpose(A, {1, 0}) : A,
                     TransB ? N.transpose(C, {1, 0}) : C);
  if (Alpha != 1)
    Y = Y ? N.mulScalar(Y, Alpha) : Y;
  if (Summand && Beta != 0)
    Y = N.add(Y, Beta != 1 ? N.mulScalar(Summand, Beta) : Summand);
  N.result(0, Y);
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

namespace {
/// One letter per dimension; an ellipsis becomes letters of its own.
using Labels = std::string;

struct Equation {
  std::vector<Labels> Operands;
  Labels Result;
};
} // namespace

/// Letters that stand for the ellipsis' dimensions, the last at the end.
static constexpr std::string_view EllipsisLetters = "0123456789";

static bool expandLabels(std::string_view Text, size_t Rank, Labels &Out,
                         size_t &Ellipsis) {
  size_t Dots = Text.find("...");
  size_t Letters = Text.size() - (Dots == std::string_view::npos ? 0 : 3);
  for (char C : Text)
    if (!llvm::isAlpha(C) && C != '.')
      return false;
  if (Dots == std::string_view::npos) {
    Out = Text;
    return Letters == Rank && Text.find('.') == std::string_view::npos;
  }
  if (Letters > Rank || Rank - Letters > EllipsisLetters.size())
    return false;
  size_t Hidden = Rank - Letters;
  Ellipsis = std::max(Ellipsis, Hidden);
  Out = std::string(Text.substr(0, Dots)) +
        std::string(EllipsisLetters.substr(EllipsisLetters.size() - Hidden)) +
        std::string(Text.substr(Dots + 3));
  return Out.find('.') == std::string::npos;
}

static std::optional<Equation> parseEquation(NodeImport &N, ArrayRef<Value> Xs,
                                             std::string Text) {
  auto Fail = [&]() -> std::optional<Equation> {
    N.fail(Code::ImportAttributeValue,
           "attribute 'equation' does not fit the inputs: '" + printable(Text) +
               "'");
    return std::nullopt;
  };
  std::string Plain;
  for (char C : Text)
    if (C != ' ')
      Plain += C;
  size_t Arrow = Plain.find("->");
  std::string_view Left = std::string_view(Plain).substr(0, Arrow);
  Equation E;
  size_t Ellipsis = 0;
  for (size_t I = 0; I < Xs.size(); ++I) {
    size_t Comma = Left.find(',');
    if ((Comma == std::string_view::npos) != (I + 1 == Xs.size()))
      return Fail();
    if (!expandLabels(Left.substr(0, Comma), N.dims(Xs[I]).size(),
                      E.Operands.emplace_back(), Ellipsis))
      return Fail();
    Left.remove_prefix(std::min(Left.size(), Comma) +
                       (Comma != std::string_view::npos));
  }
  Labels Hidden(EllipsisLetters.substr(EllipsisLetters.size() - Ellipsis));
  if (Arrow != std::string::npos) {
    std::string_view Right = std::string_view(Plain).substr(Arrow + 2);
    size_t Dots = Right.find("...");
    size_t Rank = Right.size() - (Dots == std::string_view::npos ? 0 : 3) +
                  (Dots == std::string_view::npos ? 0 : Ellipsis);
    if (!expandLabels(Right, Rank, E.Result, Ellipsis))
      return Fail();
    return E;
  }
  // Without an arrow: the ellipsis, then letters met once, in order.
  E.Result = Hidden;
  std::map<char, int> Count;
  for (const Labels &L : E.Operands)
    for (char C : L)
      ++Count[C];
  for (auto [C, Times] : Count)
    if (Times == 1 && llvm::isAlpha(C))
      E.Result += C;
  return E;
}

/// Takes dims of one letter to be equal, but for those of size 1, which are
/// broadcast. False after a report.
static bool unifyLetters(NodeImport &N, ArrayRef<Value> Xs, const Equation &E) {
  std::map<char, std::pair<Value, int64_t>> First;
  for (auto [X, L] : llvm::zip_equal(Xs, E.Operands))
    for (size_t I = 0; I < L.size(); ++I) {
      const Expr Size = N.dims(X)[I];
      auto At = static_cast<int64_t>(I);
      if (Size == Expr(1) || First.try_emplace(L[I], X, At).second)
        continue;
      auto [Other, J] = First[L[I]];
      if (N.unifyDims(Other, J, X, At))
        continue;
      std::string Letter = llvm::isAlpha(L[I])
                               ? std::string("the letter '") + L[I] + "'"
                               : "a dim of the ellipsis";
      N.fail(Code::ImportShape,
             Letter + " of the equation has the sizes " +
                 N.dims(Other)[static_cast<size_t>(J)].str() + " and " +
                 Size.str());
      return false;
    }
  return true;
}

/// Takes the diagonal where a letter stands twice.
static Value diagonals(NodeImport &N, Value X, Labels &L) {
  for (size_t I = 0; I < L.size() && X; ++I) {
    size_t J = L.find(L[I], I + 1);
    if (J == std::string::npos)
      continue;
    Dims Sizes(N.dims(X));
    Value Same = N.compare(Predicate::eq,
                           N.iota(Sizes, static_cast<int64_t>(I), N.i64()),
                           N.iota(Sizes, static_cast<int64_t>(J), N.i64()));
    X = N.reduce(ReduceKind::sum, N.select(Same, X, N.like(0, X)),
                 {static_cast<int64_t>(J)});
    L.erase(J, 1);
    --I;
  }
  return X;
}

/// Brings x to the letters of `All`, with size 1 where it has none.
static Value align(NodeImport &N, Value X, const Labels &L, const Labels &All) {
  Ints Perm, Missing;
  for (size_t I = 0; I < All.size(); ++I) {
    size_t At = L.find(All[I]);
    if (At == std::string::npos)
      Missing.push_back(static_cast<int64_t>(I));
    else
      Perm.push_back(static_cast<int64_t>(At));
  }
  return N.unsqueeze(N.transpose(X, Perm), Missing);
}

/// X with one dim broadcast to a size.
static Value widened(NodeImport &N, Value X, size_t At, const Expr &Size) {
  Dims Sizes(N.dims(X));
  if (Sizes[At] == Size)
    return X;
  Sizes[At] = Size;
  return N.broadcast(X, Sizes);
}

/// Two operands as one batched matrix product: letters of both that stay are
/// the batch, letters of both that go are summed.
static Value contract(NodeImport &N, Value A, const Labels &LA, Value C,
                      const Labels &LC, const Labels &Result) {
  auto Has = [](const Labels &L, char Letter) {
    return L.find(Letter) != std::string::npos;
  };
  Labels Batch, Summed, OnlyA, OnlyC;
  for (char Letter : LA) {
    if (!Has(LC, Letter))
      OnlyA += Letter;
    else
      (Has(Result, Letter) ? Batch : Summed) += Letter;
  }
  for (char Letter : LC)
    if (!Has(LA, Letter))
      OnlyC += Letter;
  Dims BatchSizes, SizesA, SizesC;
  auto SizeOf = [&](Value X, const Labels &L, char Letter) {
    return N.dims(X)[L.find(Letter)];
  };
  Expr CountA(1), CountC(1), CountSum(1);
  for (char Letter : Batch) {
    Expr P = SizeOf(A, LA, Letter), Q = SizeOf(C, LC, Letter);
    BatchSizes.push_back(P == Expr(1) ? Q : P);
  }
  for (char Letter : OnlyA)
    SizesA.push_back(SizeOf(A, LA, Letter)), CountA = CountA * SizesA.back();
  for (char Letter : OnlyC)
    SizesC.push_back(SizeOf(C, LC, Letter)), CountC = CountC * SizesC.back();
  for (char Letter : Summed) {
    Expr Size = SizeOf(A, LA, Letter);
    if (Size == Expr(1))
      Size = SizeOf(C, LC, Letter);
    A = widened(N, A, LA.find(Letter), Size);
    C = widened(N, C, LC.find(Letter), Size);
    if (!A || !C)
      return {};
    CountSum = CountSum * Size;
  }
  auto Matrix = [&](Value X, const Labels &L, const Labels &Order,
                    const Expr &Rows, const Expr &Columns) {
    Value Y = align(N, X, L, Order);
    if (!Y)
      return Y;
    Dims Sizes(N.dims(Y).take_front(Batch.size()));
    Sizes.append({Rows, Columns});
    return N.reshape(Y, Sizes);
  };
  Value Y = N.matmul(Matrix(A, LA, Batch + OnlyA + Summed, CountA, CountSum),
                     Matrix(C, LC, Batch + Summed + OnlyC, CountSum, CountC));
  Dims Sizes(BatchSizes);
  Sizes.append(SizesA);
  Sizes.append(SizesC);
  return align(N, N.reshape(Y, Sizes), Batch + OnlyA + OnlyC, Result);
}

static void importEinsum(NodeImport &N) {
  std::string Text = N.stringAttribute("equation", "");
  SmallVector<Value> Xs;
  N.expectInputs(1, 64);
  for (size_t I = 0; I < N.inputCount() && !N.bad(); ++I)
    Xs.push_back(N.input(I));
  if (N.bad())
    return;
  std::optional<Equation> E = parseEquation(N, Xs, Text);
  if (!E)
    return;
  Labels Known;
  for (const Labels &L : E->Operands)
    Known += L;
  for (size_t I = 0; I < E->Result.size(); ++I)
    if (Known.find(E->Result[I]) == std::string::npos ||
        E->Result.find(E->Result[I], I + 1) != std::string::npos) {
      N.fail(Code::ImportAttributeValue,
             "attribute 'equation' has a result that its operands do not "
             "have: '" +
                 printable(Text) + "'");
      return;
    }
  if (!unifyLetters(N, Xs, *E))
    return;
  Value Y = diagonals(N, Xs[0], E->Operands[0]);
  Labels L = E->Operands[0];
  for (size_t I = 1; I <= Xs.size() && Y; ++I) {
    // Letters needed later must survive this step.
    Labels Needed = E->Result;
    for (size_t J = I; J < Xs.size(); ++J)
      Needed += E->Operands[J];
    // Sum what only this operand has.
    auto Drop = [&](Value X, Labels &Own, const Labels &Others) {
      Ints Axes;
      Labels Kept;
      for (size_t A = 0; A < Own.size(); ++A) {
        bool Stays = (Needed + Others).find(Own[A]) != std::string::npos;
        if (Stays)
          Kept += Own[A];
        else
          Axes.push_back(static_cast<int64_t>(A));
      }
      Own = Kept;
      return N.reduce(ReduceKind::sum, X, Axes);
    };
    if (I == Xs.size()) {
      Y = align(N, Drop(Y, L, ""), L, E->Result);
      break;
    }
    Labels Next = E->Operands[I];
    Value X = diagonals(N, Xs[I], Next);
    Labels Later = E->Result;
    for (size_t J = I + 1; J < Xs.size(); ++J)
      Later += E->Operands[J];
    Needed = Later;
    Y = Drop(Y, L, Next);
    X = Drop(X, Next, L);
    Labels Out;
    for (char C : L + Next)
      if (Later.find(C) != std::string::npos &&
          Out.find(C) == std::string::npos)
        Out += C;
    Y = X && Y ? contract(N, Y, L, X, Next, Out) : Value();
    L = Out;
  }
  N.result(0, Y);
}

ArrayRef<Rule> matmulRules() {
  static const Rule Rows[] = {
      {"", "MatMul", 1, Newest, importMatMul},
      {"", "Gemm", 1, Newest, importGemm},
      {"", "Einsum", 12, Newest, importEinsum},
  };
  return Rows;
}

} // namespace kpc::onnx
