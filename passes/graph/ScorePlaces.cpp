//===- ScorePlaces.cpp - Masks that compare places -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/ScorePlaces.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "passes/graph/RegionRoles.h"
#include "passes/graph/RowSpace.h"

using namespace mlir;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace {

/// Dimensions of scores.
constexpr int64_t QueryAxis = 2, KeyAxis = 3;
/// Ops on the way from a mask to its indices.
constexpr unsigned MostDepth = 32;

bool isInteger(Value V) { return isa<IntegerType>(typeOf(V).getElementType()); }

bool isSplat(Operation *Op) {
  DenseElementsAttr Elements;
  return matchPattern(Op, m_Constant(&Elements)) && Elements.isSplat();
}

/// Ops that are written again with other sizes.
bool isMap(Operation *Op) {
  return isa<CompareOp, AndOp, OrOp, NotOp>(Op) ||
         (isa<AddOp, SubOp>(Op) && isInteger(Op->getResult(0)));
}

/// Writes a value again with other sizes, which have the same ones but for 1.
class Rewriter {
public:
  explicit Rewriter(OpBuilder &B) : B(B) {}

  Value run(Value V, ArrayRef<Expr> Sizes, unsigned Depth) {
    SymbolicTensorType Ty = typeOf(V).withDims(Sizes);
    Operation *Def = V.getDefiningOp();
    if (typeOf(V) == Ty && !needsRewriting(V))
      return V;
    if (Def && Depth < MostDepth)
      if (Value Own = rewritten(Def, Ty, Depth))
        return Own;
    return B.createOrFold<ReshapeOp>(V.getLoc(), Ty, V);
  }

private:
  static bool needsRewriting(Value V) {
    Operation *Def = V.getDefiningOp();
    return Def && (isMap(Def) || isa<BroadcastOp, ReshapeOp>(Def));
  }

  Value rewritten(Operation *Def, SymbolicTensorType Ty, unsigned Depth) {
    ArrayRef<Expr> Sizes = Ty.getDims();
    Location Loc = Def->getLoc();
    if (auto Op = dyn_cast<ReshapeOp>(Def))
      return movesOnesOnly(Op) ? run(Op.getX(), Sizes, Depth + 1) : Value();
    if (auto Op = dyn_cast<IotaOp>(Def))
      return iota(Op, Ty);
    if (auto Op = dyn_cast<BroadcastOp>(Def))
      return broadcast(Op, Ty, Depth);
    if (isSplat(Def)) {
      DenseElementsAttr Elements;
      matchPattern(Def, m_Constant(&Elements));
      auto One = RankedTensorType::get({}, Ty.getElementType());
      Value Number = ConstantOp::create(B, Loc, Elements.resizeSplat(One));
      return BroadcastOp::create(B, Loc, Ty, Number);
    }
    if (!isMap(Def))
      return {};
    IRMapping Map;
    for (Value Operand : Def->getOperands())
      Map.map(Operand, run(Operand, Sizes, Depth + 1));
    Operation *Copy = B.clone(*Def, Map);
    Copy->getResult(0).setType(Ty);
    return Copy->getResult(0);
  }

  Value iota(IotaOp Op, SymbolicTensorType Ty) {
    ArrayRef<Expr> From = typeOf(Op.getY()).getDims();
    size_t Axis = Op.getAxis();
    if (From[Axis] == Expr(1))
      return {};
    int64_t Before = llvm::count_if(From.take_front(Axis),
                                    [](const Expr &E) { return E != Expr(1); });
    for (auto [I, Size] : llvm::enumerate(Ty.getDims()))
      if (Size != Expr(1) && Before-- == 0)
        return IotaOp::create(B, Op.getLoc(), Ty, int64_t(I));
    return {};
  }

  Value broadcast(BroadcastOp Op, SymbolicTensorType Ty, unsigned Depth) {
    ArrayRef<Expr> From = typeOf(Op.getX()).getDims(),
                   To = typeOf(Op.getY()).getDims();
    SmallVector<Expr> Sizes(Ty.getDims());
    size_t New = To.size() - From.size();
    auto At = Sizes.begin();
    for (auto [I, Size] : llvm::enumerate(To)) {
      if (Size == Expr(1))
        continue;
      while (*At == Expr(1))
        ++At;
      if (I < New || From[I - New] == Expr(1))
        *At = Expr(1);
      ++At;
    }
    Value X = run(Op.getX(), Sizes, Depth + 1);
    return typeOf(X) == Ty ? X : BroadcastOp::create(B, Op.getLoc(), Ty, X);
  }

  OpBuilder &B;
};

/// `V` before it is repeated, and whether it is an index along one of the two.
bool isIndex(Value V, int64_t Axis) {
  while (auto Op = V.getDefiningOp<BroadcastOp>())
    V = Op.getX();
  auto Iota = V.getDefiningOp<IotaOp>();
  return Iota && int64_t(Iota.getAxis()) == Axis &&
         typeOf(Iota.getY()).getRank() == 4;
}

/// What an integer is made of.
struct Places {
  bool Query = false, Key = false, Batch = false;
};

/// Whether an integer is made of indices of queries and keys and of numbers of
/// batches, with few enough of them; adds them to `Of`.
bool isOfIndices(Value V, unsigned Depth, Places &Of) {
  Of.Query |= isIndex(V, QueryAxis);
  Of.Key |= isIndex(V, KeyAxis);
  Operation *Def = V.getDefiningOp();
  if (Depth > MostDepth)
    return false;
  if (isa_and_present<IotaOp>(Def) || (Def && isSplat(Def)))
    return true;
  if (auto Op = dyn_cast_or_null<BroadcastOp>(Def)) {
    SymbolicTensorType From = typeOf(Op.getX());
    bool IsOfBatches = llvm::all_of(From.getDims().take_back(2),
                                    [](const Expr &E) { return E == Expr(1); });
    Operation *Inner = Op.getX().getDefiningOp();
    Of.Batch |= IsOfBatches && !(Inner && isSplat(Inner));
    return IsOfBatches || isOfIndices(Op.getX(), Depth + 1, Of);
  }
  return isa_and_present<AddOp, SubOp>(Def) && isInteger(V) &&
         llvm::all_of(Def->getOperands(), [&](Value Operand) {
           return isOfIndices(Operand, Depth + 1, Of);
         });
}

/// Whether keys are compared with queries, or, where there are `Many` of these,
/// with numbers of batches: what counts of a buffer.
bool comparesPlaces(CompareOp Op, bool Many) {
  Places Of;
  return typeOf(Op.getY()).getRank() == 4 &&
         typeOf(Op.getA()).getElementType().isInteger(64) &&
         isOfIndices(Op.getA(), 0, Of) && isOfIndices(Op.getB(), 0, Of) &&
         Of.Key && (Of.Query || (Of.Batch && Many));
}

/// Whether `Mask` says that the key is one of the first few, whichever the
/// query.
bool isLead(Value Mask) {
  auto Op = Mask.getDefiningOp<CompareOp>();
  std::optional<LinearIndex> L =
      Op ? LinearIndex::whereNotNegative(Mask) : std::nullopt;
  std::optional<int64_t> Last = L ? L->Offset.asConstant() : std::nullopt;
  return Last && *Last >= 0 && L->Factors.size() == 4 &&
         L->Factors.back() == -1 &&
         llvm::all_of(ArrayRef(L->Factors).drop_back(),
                      [](int64_t F) { return F == 0; });
}

/// Whether a mask has such a comparison in its conjunction. The first keys may
/// be seen in any case: the sink of a softmax.
bool hasPlaces(Value Mask, bool Many, unsigned Depth) {
  while (auto Op = Mask.getDefiningOp<BroadcastOp>())
    Mask = Op.getX();
  if (auto Op = Mask.getDefiningOp<AndOp>())
    return Depth < MostDepth && (hasPlaces(Op.getA(), Many, Depth + 1) ||
                                 hasPlaces(Op.getB(), Many, Depth + 1));
  if (auto Op = Mask.getDefiningOp<OrOp>())
    return Depth < MostDepth &&
           ((isLead(Op.getA()) && hasPlaces(Op.getB(), Many, Depth + 1)) ||
            (isLead(Op.getB()) && hasPlaces(Op.getA(), Many, Depth + 1)));
  auto Compare = Mask.getDefiningOp<CompareOp>();
  return Compare && comparesPlaces(Compare, Many);
}

/// Whether all attentions that `Op` is part of a mask of have several queries.
bool hasManyQueries(Operation *Op, unsigned Depth = 0) {
  bool Many = Depth < MostDepth;
  forEachRealUser(Op, [&](Operation *User, bool) {
    auto Of = dyn_cast<AttentionOp>(User);
    Many = Many && (Of ? typeOf(Of.getQ()).getDims()[QueryAxis] != Expr(1)
                       : isMap(User) && hasManyQueries(User, Depth + 1));
  });
  return Many;
}

} // namespace

Value kpc::graph::placesOf(OpBuilder &B, Value V, ArrayRef<Expr> Sizes,
                           bool Many) {
  Operation *Def = V.getDefiningOp();
  while (isa_and_present<ReshapeOp, BroadcastOp>(Def))
    Def = Def->getOperand(0).getDefiningOp();
  if (!Def || !isMap(Def))
    return {};
  Value Own = Rewriter(B).run(V, Sizes, 0);
  return hasPlaces(Own, Many, 0) ? Own : Value();
}

bool kpc::graph::isWindow(const LinearIndex &Where) {
  ArrayRef<int64_t> Factors = Where.Factors;
  return Factors.size() >= 2 && Factors.back() == 1 &&
         Factors[Factors.size() - 2] == -1 &&
         llvm::all_of(Factors.drop_back(2), [](int64_t F) { return F == 0; });
}

Value kpc::graph::windowOf(OpBuilder &B, Location Loc, const LinearIndex &Where,
                           SymbolicTensorType Scores) {
  ArrayRef<Expr> All = Scores.getDims();
  auto Ty = SymbolicTensorType::get(
      B.getContext(), {1, 1, All[QueryAxis], All[KeyAxis]}, B.getI64Type());
  Value Key = IotaOp::create(B, Loc, Ty, KeyAxis),
        Query = IotaOp::create(B, Loc, Ty, QueryAxis);
  Expr From = Where.Offset * -1;
  Value Start;
  if (std::optional<int64_t> Known = From.asConstant())
    Start = ConstantOp::create(
        B, Loc,
        DenseElementsAttr::get(RankedTensorType::get({}, B.getI64Type()),
                               *Known));
  else
    Start = SizesOp::create(B, Loc, DimsAttr::get(B.getContext(), {From}));
  Start = BroadcastOp::create(B, Loc, Ty, Start);
  return CompareOp::create(B, Loc, Predicate::ge, Key,
                           AddOp::create(B, Loc, Query, Start));
}

/// The window that a conjunction has.
static std::optional<LinearIndex> windowIn(Value Mask, unsigned Depth) {
  while (auto Op = Mask.getDefiningOp<BroadcastOp>())
    Mask = Op.getX();
  if (auto Op = Mask.getDefiningOp<AndOp>(); Op && Depth < MostDepth) {
    std::optional<LinearIndex> A = windowIn(Op.getA(), Depth + 1);
    return A ? A : windowIn(Op.getB(), Depth + 1);
  }
  std::optional<LinearIndex> L = LinearIndex::whereNotNegative(Mask);
  return L && isWindow(*L) ? L : std::nullopt;
}

std::optional<Expr> kpc::graph::keysInWindow(AttentionOp Op) {
  if (!Op.getMask() || !Op.getCausal())
    return std::nullopt;
  std::optional<LinearIndex> From = windowIn(Op.getMask(), 0);
  // key + offset >= query, and key <= query + causal.
  return From ? std::optional(Op.getCausal()->getDims()[0] + From->Offset + 1)
              : std::nullopt;
}

bool kpc::graph::isOfPlaces(Operation *Op) {
  if (Op->getNumResults() != 1 || typeOf(Op->getResult(0)).getRank() != 4)
    return false;
  if (auto Compare = dyn_cast<CompareOp>(Op))
    return comparesPlaces(Compare, hasManyQueries(Op)) ||
           (isLead(Compare.getY()) &&
            llvm::all_of(Op->getUsers(), [](Operation *User) {
              return isa<OrOp>(User) && isOfPlaces(User);
            }));
  if (isa<AndOp, OrOp>(Op))
    return hasPlaces(Op->getResult(0), hasManyQueries(Op), 0);
  Places Of;
  return isa<AddOp, SubOp>(Op) && isOfIndices(Op->getResult(0), 0, Of) &&
         (Of.Query || Of.Key);
}

bool kpc::graph::isMaskOfPlaces(Operation *Op) {
  bool IsMask = isOfPlaces(Op);
  if (IsMask)
    forEachRealUser(Op, [&](Operation *User, bool) {
      IsMask = IsMask && (isa<AttentionOp>(User) || isMaskOfPlaces(User));
    });
  return IsMask;
}
