//===- TripCount.cpp - How often a loop runs ------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/TripCount.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::torch {

/// An integer that a value holds, as far as constants and sizes say.
static std::optional<Expr> knownInteger(Value V) {
  while (V) {
    if (!graph::isInteger(Emitter::element(V)) || isBool(Emitter::element(V)))
      return std::nullopt;
    Operation *Op = V.getDefiningOp();
    if (!Op)
      return std::nullopt;
    if (auto Constant = dyn_cast<ConstantOp>(Op)) {
      auto Elements = dyn_cast<DenseIntElementsAttr>(Constant.getValue());
      if (!Elements || Elements.getNumElements() != 1)
        return std::nullopt;
      return Expr((*Elements.value_begin<APInt>()).getSExtValue());
    }
    if (auto Sizes = dyn_cast<SizesOp>(Op)) {
      ArrayRef<Expr> Values = Sizes.getValues().getDims();
      return Values.size() == 1 ? std::optional(Values[0]) : std::nullopt;
    }
    if (!isa<ReshapeOp, CastOp, BroadcastOp>(Op))
      return std::nullopt;
    V = Op->getOperand(0);
  }
  return std::nullopt;
}

namespace {
/// Scalars of a graph as sums: an input and a number, or a known integer alone.
struct Sum {
  std::optional<size_t> Input;
  Expr Add;
};

/// What of a graph is sums of its inputs.
class Sums {
public:
  Sums(const Graph &G, ArrayRef<std::optional<Expr>> Known) {
    for (size_t I = 0; I < G.Inputs.size(); ++I)
      if (!G.Inputs[I].Values.empty())
        ByName[G.Inputs[I].Values[0]] = Sum{I, Expr(0)};
    for (const Node &N : G.Nodes)
      add(N, Known);
  }

  std::optional<Sum> find(const std::string &Name) const {
    auto It = ByName.find(Name);
    return It == ByName.end() ? std::nullopt : std::optional(It->second);
  }
  /// An argument: a value's name, or a number.
  std::optional<Sum> of(const Argument &A) const {
    if (A.Is == Argument::Kind::Tensor ||
        (A.Is == Argument::Kind::Int && !A.Values.empty() &&
         !A.Values[0].empty()))
      return find(A.Values[0]);
    if (A.Is == Argument::Kind::Int && !A.Ints.empty())
      return Sum{std::nullopt, Expr(A.Ints[0])};
    return std::nullopt;
  }

private:
  void add(const Node &N, ArrayRef<std::optional<Expr>> Known) {
    if (N.Outputs.size() != 1 || N.Outputs[0].Values.size() != 1 ||
        N.Inputs.empty())
      return;
    std::optional<Sum> A = of(N.Inputs[0]), Made;
    int Sign =
        llvm::StringSwitch<int>(N.Target)
            .Cases({"aten.add.Tensor", "aten.add.Scalar", "_operator.add"}, 1)
            .Cases({"aten.sub.Tensor", "aten.sub.Scalar", "_operator.sub"}, -1)
            .Cases({"aten.clone.default", "aten.detach.default",
                    "aten.alias.default", "aten.detach_.default",
                    "aten.lift_fresh_copy.default"},
                   2)
            .Default(0);
    if (Sign == 2) {
      Made = A;
    } else if (Sign != 0 && N.Inputs.size() == 2) {
      std::optional<Sum> C = of(N.Inputs[1]);
      // An input that is known counts as a number.
      auto Number = [&](const std::optional<Sum> &S) -> std::optional<Expr> {
        if (!S)
          return std::nullopt;
        if (!S->Input)
          return S->Add;
        return Known[*S->Input] ? std::optional(*Known[*S->Input] + S->Add)
                                : std::nullopt;
      };
      if (A && C) {
        if (std::optional<Expr> Step = Number(C))
          Made = Sum{A->Input, Sign > 0 ? A->Add + *Step : A->Add - *Step};
        else if (std::optional<Expr> First = Number(A); First && Sign > 0)
          Made = Sum{C->Input, C->Add + *First};
      }
    }
    if (Made)
      ByName[N.Outputs[0].Values[0]] = *Made;
  }

  std::map<std::string, Sum> ByName;
};

/// `Counter` compared with what no iteration changes.
struct Comparison {
  enum class Kind { Less, LessOrEqual, More, MoreOrEqual, NotEqual };
  Kind Is;
  const Argument *Left, *Right;
};
} // namespace

static const Node *writer(const Graph &G, const std::string &Name) {
  for (const Node &N : G.Nodes)
    if (N.Outputs.size() == 1 && N.Outputs[0].Values.size() == 1 &&
        N.Outputs[0].Values[0] == Name)
      return &N;
  return nullptr;
}

static std::optional<Comparison::Kind> comparison(const std::string &Target) {
  using K = std::optional<Comparison::Kind>;
  llvm::StringRef Rest(Target);
  if (!Rest.consume_front("aten.") && !Rest.consume_front("_operator."))
    return std::nullopt;
  return llvm::StringSwitch<K>(Rest.split('.').first)
      .Case("lt", Comparison::Kind::Less)
      .Case("le", Comparison::Kind::LessOrEqual)
      .Case("gt", Comparison::Kind::More)
      .Case("ge", Comparison::Kind::MoreOrEqual)
      .Case("ne", Comparison::Kind::NotEqual)
      .Default(std::nullopt);
}

static bool isConjunction(const std::string &Target) {
  llvm::StringRef Rest(Target);
  return Rest.starts_with("aten.logical_and.") ||
         Rest.starts_with("aten.bitwise_and.") ||
         Rest.starts_with("aten.__and__.");
}

/// The comparisons whose conjunction a value is; `Other` where it is more.
static void collect(const Graph &G, const std::string &Name,
                    std::vector<Comparison> &All, bool &Other,
                    unsigned Depth = 0) {
  const Node *N = writer(G, Name);
  if (N && N->Inputs.size() == 2 && Depth < 32) {
    if (auto Is = comparison(N->Target)) {
      All.push_back({*Is, &N->Inputs[0], &N->Inputs[1]});
      return;
    }
    if (isConjunction(N->Target)) {
      for (const Argument &A : N->Inputs)
        if (A.Is == Argument::Kind::Tensor)
          collect(G, A.Values[0], All, Other, Depth + 1);
        else
          Other = true;
      return;
    }
  }
  Other = true;
}

/// How often a counter that begins at `From` and grows by `Step` passes.
static std::optional<Expr> passes(Comparison::Kind Is, const Expr &From,
                                  int64_t Step, const Expr &Bound,
                                  const shape::Facts &Facts) {
  using K = Comparison::Kind;
  // Growing counters below a bound; shrinking ones mirrored.
  bool Grows = Step > 0;
  Expr Way = Grows ? Bound - From : From - Bound;
  int64_t Stride = Grows ? Step : -Step;
  if (Is == K::NotEqual) {
    // It must meet the bound.
    std::optional<int64_t> Number = Way.asConstant();
    if (Stride != 1 && (!Number || *Number % Stride != 0))
      return std::nullopt;
    if (Facts.range(Way).Min < 0)
      return std::nullopt;
  } else if (Grows ? Is == K::LessOrEqual : Is == K::MoreOrEqual) {
    Way = Way + 1;
  } else if (Is != (Grows ? K::Less : K::More)) {
    return std::nullopt;
  }
  if (std::optional<int64_t> Number = Way.asConstant())
    return Expr(*Number <= 0 ? 0 : (*Number + Stride - 1) / Stride);
  if (Facts.range(Way).Min < 0)
    Way = Expr::max(Way, 0);
  return Facts.simplify(Way.ceilDiv(Stride));
}

std::optional<TripCount> tripCount(const Graph &Condition, const Graph &Body,
                                   ArrayRef<Value> Carried,
                                   ArrayRef<Value> Additional,
                                   const shape::Facts &Facts) {
  size_t Count = Carried.size() + Additional.size();
  if (Condition.Inputs.size() != Count || Body.Inputs.size() != Count ||
      Condition.Outputs.size() != 1 || Condition.Outputs[0].Values.size() != 1)
    return std::nullopt;
  SmallVector<std::string> Next;
  for (const Argument &A : Body.Outputs)
    Next.append(A.Values.begin(), A.Values.end());
  if (Next.size() != Carried.size())
    return std::nullopt;
  // What an iteration adds to each carried value; none where it is more.
  SmallVector<std::optional<Expr>> Begins, Fixed(Count);
  for (Value V : Carried)
    Begins.push_back(knownInteger(V));
  for (size_t I = 0; I < Additional.size(); ++I)
    Fixed[Carried.size() + I] = knownInteger(Additional[I]);
  Sums First(Body, Fixed);
  for (size_t I = 0; I < Carried.size(); ++I)
    if (std::optional<Sum> S = First.find(Next[I]);
        S && S->Input == I && S->Add == Expr(0))
      Fixed[I] = Begins[I];
  Sums InBody(Body, Fixed), InCondition(Condition, Fixed);
  std::vector<Comparison> All;
  bool Other = false;
  collect(Condition, Condition.Outputs[0].Values[0], All, Other);
  std::optional<TripCount> Best;
  for (Comparison &C : All) {
    auto Try = [&](const Argument &Left, const Argument &Right,
                   Comparison::Kind Is) -> std::optional<Expr> {
      std::optional<Sum> A = InCondition.of(Left), D = InCondition.of(Right);
      if (!A || !D || !A->Input || *A->Input >= Carried.size() ||
          !Begins[*A->Input])
        return std::nullopt;
      std::optional<Expr> Bound = D->Add;
      if (D->Input)
        Bound = Fixed[*D->Input] ? std::optional(*Fixed[*D->Input] + D->Add)
                                 : std::nullopt;
      std::optional<Sum> Step = InBody.find(Next[*A->Input]);
      std::optional<int64_t> By = Step && Step->Input == A->Input
                                      ? Step->Add.asConstant()
                                      : std::nullopt;
      if (!Bound || !By || *By == 0)
        return std::nullopt;
      return passes(Is, *Begins[*A->Input] + A->Add, *By, *Bound, Facts);
    };
    using K = Comparison::Kind;
    static constexpr K Mirrored[] = {K::More, K::MoreOrEqual, K::Less,
                                     K::LessOrEqual, K::NotEqual};
    std::optional<Expr> Trips = Try(*C.Left, *C.Right, C.Is);
    if (!Trips)
      Trips = Try(*C.Right, *C.Left, Mirrored[static_cast<size_t>(C.Is)]);
    if (!Trips) {
      Other = true;
      continue;
    }
    Best = TripCount{Best ? Facts.simplify(Expr::min(Best->Most, *Trips))
                          : *Trips};
  }
  if (Best)
    Best->MayEndEarlier = Other;
  return Best;
}

} // namespace kpc::torch
