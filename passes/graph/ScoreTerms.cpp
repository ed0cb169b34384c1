//===- ScoreTerms.cpp - What is added to an attention's scores -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   scores + select(key <= query & padding, 0, -3.4e38)
///     →  causal <[0]>, bias select(padding, 0, -3.4e38)
///
/// A finite number that hides is kept as it is, so a query of which every key
/// is hidden by it gives what the model gives: the mean of all values. The
/// triangle leaves it its last key at least, so there is no such query where
/// nothing else hides. The same goes for a window, where a query's first key is
/// some way before its own: it becomes a mask, whichever number hides.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/ScoreTerms.h"
#include "passes/graph/LinearIndex.h"
#include "passes/graph/RowSpace.h"
#include "passes/graph/ScorePlaces.h"

#include <cmath>

using namespace mlir;
using namespace kpc::graph;
using kpc::shape::Expr;

bool ScoreTerms::hides(double Number) {
  // Exporters write the lowest number of a type (-65504 of f16), -inf, -1e9 or
  // -1e4, which the first models had.
  constexpr double Least = -1e4;
  return Number <= Least;
}

Value ScoreTerms::scalar(double V, Type Element) {
  APFloat Number(V);
  bool Lost;
  Number.convert(cast<FloatType>(Element).getFloatSemantics(),
                 APFloat::rmNearestTiesToEven, &Lost);
  auto Ty = RankedTensorType::get({}, Element);
  return ConstantOp::create(B, B.getUnknownLoc(),
                            DenseElementsAttr::get(Ty, Number));
}

/// `V` with sizes that are the scores' or 1; null where it has others.
Value ScoreTerms::inFourDims(Value V) {
  while (auto Broadcast = V.getDefiningOp<BroadcastOp>())
    V = Broadcast.getX();
  SymbolicTensorType Ty = typeOf(V);
  SmallVector<Expr> Sizes(Ty.getDims());
  while (Sizes.size() > 4 && Sizes.front() == Expr(1))
    Sizes.erase(Sizes.begin());
  if (Sizes.size() > 4)
    return {};
  Sizes.insert(Sizes.begin(), 4 - Sizes.size(), Expr(1));
  for (auto [Size, Score] : llvm::zip_equal(Sizes, Scores.getDims()))
    if (Size != Expr(1) && Size != Score)
      return {};
  if (Value Places = placesOf(B, V, Sizes, Scores.getDims()[2] != Expr(1))) {
    ComparesPlaces = true;
    return Places;
  }
  if (ArrayRef<Expr>(Sizes) == Ty.getDims())
    return V;
  return ReshapeOp::create(B, V.getLoc(), Ty.withDims(Sizes), V);
}

/// The condition behind bools that are cast of numbers, as older models keep
/// their masks: 1 where a key is seen, of which parts may be taken. Null behind
/// others.
static Value conditionBehind(OpBuilder &B, Value Bools) {
  auto Cast = Bools.getDefiningOp<CastOp>();
  Value Numbers = Cast ? Cast.getX() : Value();
  SmallVector<SliceOp> Parts;
  while (auto Part = Numbers ? Numbers.getDefiningOp<SliceOp>() : SliceOp()) {
    Parts.push_back(Part);
    Numbers = Part.getX();
  }
  auto Chosen = Numbers ? Numbers.getDefiningOp<SelectOp>() : SelectOp();
  std::optional<double> A = Chosen ? splatValue(Chosen.getA()) : std::nullopt,
                        C = Chosen ? splatValue(Chosen.getB()) : std::nullopt;
  if (!A || !C || (*A != 0) == (*C != 0))
    return {};
  Value Condition = Chosen.getCondition();
  for (SliceOp Part : llvm::reverse(Parts))
    Condition = SliceOp::create(
        B, Part.getLoc(), typeOf(Bools).withDims(typeOf(Part.getY()).getDims()),
        Condition, Part.getStartAttr(), Part.getStepAttr());
  return *A != 0 ? Condition : NotOp::create(B, Bools.getLoc(), Condition);
}

/// The conditions that hold together where `Seen` does.
void ScoreTerms::split(Value Seen, SmallVectorImpl<Value> &Parts) {
  Operation *Def = Seen.getDefiningOp();
  if (std::optional<double> All = splatValue(Seen); All && *All != 0)
    return;
  if (auto Op = dyn_cast_or_null<BroadcastOp>(Def))
    return split(Op.getX(), Parts);
  if (auto Op = dyn_cast_or_null<AndOp>(Def)) {
    split(Op.getA(), Parts);
    return split(Op.getB(), Parts);
  }
  if (auto Op = dyn_cast_or_null<SelectOp>(Def);
      Op && splatValue(Op.getB()) == 0.0) {
    split(Op.getCondition(), Parts);
    return split(Op.getA(), Parts);
  }
  if (auto Not = dyn_cast_or_null<NotOp>(Def)) {
    Operation *Inner = Not.getX().getDefiningOp();
    if (isa_and_present<BroadcastOp, NotOp, OrOp>(Inner)) {
      bool Twice = isa<NotOp>(Inner);
      for (Value One : Inner->getOperands())
        split(Twice ? One : NotOp::create(B, Seen.getLoc(), One).getResult(),
              Parts);
      return;
    }
  }
  auto Reshape = dyn_cast_or_null<ReshapeOp>(Def);
  bool IsMoved = Reshape && movesOnesOnly(Reshape);
  if (Value Condition = conditionBehind(B, IsMoved ? Reshape.getX() : Seen))
    return split(
        B.createOrFold<ReshapeOp>(Seen.getLoc(), Seen.getType(), Condition),
        Parts);
  if (auto Both = Reshape ? Reshape.getX().getDefiningOp<AndOp>() : AndOp();
      Both && movesOnesOnly(Reshape)) {
    for (Value One : {Both.getA(), Both.getB()})
      split(ReshapeOp::create(B, Seen.getLoc(), Seen.getType(), One), Parts);
    return;
  }
  Parts.push_back(Seen);
}

/// Whether `Seen` holds at every place: `query >= 0`, as exporters write, or
/// that a query and a key are of one sequence, told by positions which go on
/// one by one everywhere.
static bool isEverything(Value Seen) {
  if (decided(Seen) == true)
    return true;
  std::optional<LinearIndex> L = LinearIndex::whereNotNegative(Seen);
  if (!L)
    return false;
  std::optional<int64_t> Offset = L->Offset.asConstant();
  return Offset && *Offset >= 0 &&
         llvm::all_of(L->Factors, [](int64_t F) { return F >= 0; });
}

/// Takes `Seen` as the triangle if it is one.
bool ScoreTerms::isTriangle(Value Seen) {
  std::optional<LinearIndex> L = LinearIndex::whereNotNegative(Seen);
  if (!L || L->Factors.size() < 2 || Causal)
    return false;
  ArrayRef<int64_t> Factors = L->Factors;
  if (Factors.back() != -1 || Factors[Factors.size() - 2] != 1 ||
      llvm::any_of(Factors.drop_back(2), [](int64_t F) { return F != 0; }))
    return false;
  Causal = L->Offset;
  return true;
}

/// Takes `Seen` as the first key that each query sees if it is that.
bool ScoreTerms::isFirstKey(Value Seen) {
  std::optional<LinearIndex> L = LinearIndex::whereNotNegative(Seen);
  if (!L || !isWindow(*L))
    return false;
  Masks.push_back(windowOf(B, Seen.getLoc(), *L, Scores));
  ComparesPlaces = true;
  return true;
}

bool ScoreTerms::hide(Value Seen, double Hidden) {
  SmallVector<Value> Parts, Rest;
  split(Seen, Parts);
  for (Value Part : Parts)
    if (!isEverything(Part) && !isTriangle(Part) && !isFirstKey(Part)) {
      Rest.push_back(inFourDims(Part));
      if (!Rest.back())
        return false;
    }
  if (Rest.empty())
    return true;
  if (std::isinf(Hidden)) {
    llvm::append_range(Masks, Rest);
    return true;
  }
  Value All = join(AndOp::getOperationName(), Rest);
  ArrayRef<Expr> Sizes = typeOf(All).getDims();
  Type Element = Scores.getElementType();
  auto Spread = [&](double V) {
    return BroadcastOp::create(B, All.getLoc(), Scores.withDims(Sizes),
                               scalar(V, Element));
  };
  Value Zero = Spread(0);
  Biases.push_back(
      SelectOp::create(B, All.getLoc(), All, Zero, Spread(Hidden)));
  return true;
}

bool ScoreTerms::add(Value Added) {
  while (auto Broadcast = Added.getDefiningOp<BroadcastOp>())
    Added = Broadcast.getX();
  if (splatValue(Added) == 0.0)
    return true;
  if (auto Sum = Added.getDefiningOp<AddOp>())
    return add(Sum.getA()) && add(Sum.getB());
  auto Reshape = Added.getDefiningOp<ReshapeOp>();
  bool IsMoved = Reshape && movesOnesOnly(Reshape);
  Value Chosen = IsMoved ? Reshape.getX() : Added;
  if (auto Select = Chosen.getDefiningOp<SelectOp>()) {
    std::optional<double> A = constantScalar(Select.getA()),
                          C = constantScalar(Select.getB());
    Value Seen = Select.getCondition();
    auto Moved = [&](Value V) -> Value {
      return IsMoved ? B.createOrFold<ReshapeOp>(
                           Added.getLoc(),
                           typeOf(V).withDims(typeOf(Added).getDims()), V)
                     : V;
    };
    if (A == 0.0 && C && hides(*C))
      return hide(Moved(Seen), *C);
    if (C == 0.0 && A && hides(*A))
      return hide(Moved(NotOp::create(B, Added.getLoc(), Seen)), *A);
  }
  Value Whole = inFourDims(Added);
  if (Whole)
    Biases.push_back(Whole);
  return Whole != nullptr;
}

Value ScoreTerms::join(StringRef Op, ArrayRef<Value> Parts) {
  if (Parts.empty())
    return {};
  Value All = Parts[0];
  for (Value Part : Parts.drop_front()) {
    SmallVector<Expr> Sizes(typeOf(All).getDims());
    for (auto [Size, Other] : llvm::zip_equal(Sizes, typeOf(Part).getDims()))
      if (Size == Expr(1))
        Size = Other;
    auto Spread = [&](Value V) -> Value {
      if (typeOf(V).getDims() == ArrayRef<Expr>(Sizes))
        return V;
      return BroadcastOp::create(B, V.getLoc(), typeOf(V).withDims(Sizes), V);
    };
    Value A = Spread(All), C = Spread(Part);
    All = B.create(Part.getLoc(), B.getStringAttr(Op), {A, C}, A.getType())
              ->getResult(0);
  }
  return All;
}

Value ScoreTerms::mask() { return join(AndOp::getOperationName(), Masks); }

Value ScoreTerms::bias() { return join(AddOp::getOperationName(), Biases); }
