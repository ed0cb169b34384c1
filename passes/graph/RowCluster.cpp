//===- RowCluster.cpp - What computes on the elements of reduced rows -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/RowCluster.h"
#include "passes/graph/CodeHeads.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/RegionRoles.h"
#include "passes/graph/RowSpace.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

using Kind = RowPlace::Kind;

static bool isOne(const Expr &Size) { return Size == Expr(1); }

/// The number of elements of which `Op` makes one, where these are the last
/// dimensions but for such of size 1.
static std::optional<Expr> rowReducedBy(ReduceOp Op) {
  SymbolicTensorType Ty = typeOf(Op.getX());
  if (!isNumber(Ty.getElementType()))
    return std::nullopt;
  Expr Row = 1;
  bool IsInRow = false;
  for (auto [I, Size] : llvm::enumerate(Ty.getDims())) {
    if (isOne(Size))
      continue;
    bool IsReduced = llvm::is_contained(Op.getAxes(), int64_t(I));
    if (IsInRow && !IsReduced)
      return std::nullopt;
    IsInRow |= IsReduced;
    if (IsReduced)
      Row = Row * Size;
  }
  return IsInRow ? std::optional(Row) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

RowPlace RowCluster::whole(ArrayRef<Expr> Shape) {
  RowPlace Place{Kind::Whole, SmallVector<Expr>(Shape), {}};
  for (unsigned I = 0; I < Shape.size(); ++I)
    Place.At.push_back({I});
  return Place;
}

RowPlace RowCluster::perRow(ArrayRef<Expr> Outer) const {
  RowPlace Place = whole(Outer);
  Place.What = Kind::PerRow;
  Place.Of.push_back(Row);
  return Place;
}

std::optional<RowPlace> RowCluster::across(ReshapeOp Op, Value To,
                                           const RowPlace &Place) const {
  ArrayRef<Expr> Dims = typeOf(To).getDims();
  if (Place.What == Kind::Whole)
    return whole(Dims);
  if (Place.What == Kind::PerRow)
    return perRow(Dims);
  Value From = To == Op.getX() ? Op.getY() : Op.getX();
  ArrayRef<Expr> Others = typeOf(From).getDims();
  RowPlace Other{Place.What, Place.Of, {}};
  size_t Next = 0;
  for (const Expr &Size : Dims) {
    Other.At.emplace_back();
    for (Expr Joined = 1; Joined != Size; ++Next) {
      if (Next == Others.size())
        return std::nullopt;
      Joined = Joined * Others[Next];
      if (!isOne(Others[Next]))
        llvm::append_range(Other.At.back(), Place.At[Next]);
    }
  }
  return Other;
}

RowPlace RowCluster::placeBefore(BroadcastOp Op, const RowPlace &After) {
  size_t New = typeOf(Op.getY()).getRank() - typeOf(Op.getX()).getRank();
  return {Kind::Repeated, After.Of,
          llvm::to_vector(ArrayRef(After.At).drop_front(New))};
}

/// Whether a value of one element a row is repeated to the elements of its row.
bool RowCluster::isOwnRow(BroadcastOp Op) const {
  ArrayRef<Expr> From = typeOf(Op.getX()).getDims(),
                 To = typeOf(Op.getY()).getDims();
  size_t New = To.size() - From.size();
  Expr Repeated = 1;
  bool IsInRow = false;
  for (auto [I, Size] : llvm::enumerate(To)) {
    if (isOne(Size))
      continue;
    bool IsKept = I >= New && From[I - New] == Size;
    if (IsKept && IsInRow)
      return false;
    IsInRow |= !IsKept;
    if (!IsKept)
      Repeated = Repeated * Size;
  }
  return Repeated == Row;
}

//===----------------------------------------------------------------------===//
// Growing
//===----------------------------------------------------------------------===//

/// Steps back in which it is found out what a value depends on.
static constexpr unsigned MostSteps = 64;
/// Rounds in which reshapes are given up one by one.
static constexpr unsigned MostRounds = 8;

RowCluster::RowCluster(ReduceOp Seed, Expr Row, DenseSet<Operation *> &Taken)
    : Seed(Seed), Row(std::move(Row)), Dims(typeOf(Seed.getX()).getDims()),
      Taken(&Taken), Crossings(1), First(Seed) {}

std::optional<RowCluster> RowCluster::grow(ReduceOp Seed,
                                           DenseSet<Operation *> &Taken,
                                           bool AcrossTransposes) {
  std::optional<Expr> Row = rowReducedBy(Seed);
  if (!Row || Taken.contains(Seed))
    return std::nullopt;
  RowCluster Cluster(Seed, *Row, Taken);
  Cluster.AcrossTransposes = AcrossTransposes;
  Cluster.join(Seed, Cluster.perRow(typeOf(Seed.getY()).getDims()), 0);
  while (!Cluster.Worklist.empty()) {
    Step Next = Cluster.Worklist.pop_back_val();
    if (Next.IsUse)
      Cluster.countUse(Next);
    else
      Cluster.visitUsers(Next);
  }
  unsigned Round = 0;
  while (Round < MostRounds && Cluster.giveUpCrossings())
    ++Round;
  if (Round < MostRounds && Cluster.finish())
    return Cluster;
  // The others may be a cluster without the seed.
  for (auto &[Op, Place] : Cluster.Ops)
    if (Op != Seed)
      Taken.erase(Op);
  return std::nullopt;
}

/// Whether an operand is read through an index that a view of it has not: a
/// kernel of its own would have to write it first.
static bool isReadThroughIndex(Value V) {
  Operation *Def = V.getDefiningOp();
  if (!Def || isa<BroadcastOp, ConstantOp>(Def) ||
      Def->hasTrait<ElementwiseTrait>() || roleOf(Def) != Role::Map)
    return false;
  return isa<IotaOp>(Def) || V.hasOneUse();
}

/// The value behind reshapes and broadcasts.
static Value sourceOf(Value V) {
  while (Operation *Def = V.getDefiningOp()) {
    if (!isa<ReshapeOp, BroadcastOp>(Def))
      break;
    V = Def->getOperand(0);
  }
  return V;
}

/// Whether what is computed elsewhere needs the cluster, or may do so.
bool RowCluster::dependsOnCluster(Value V) const {
  Operation *Source = sourceOf(V).getDefiningOp();
  if (!Source || Ops.contains(Source))
    return false;
  SmallVector<Operation *> Worklist{Source};
  for (unsigned Steps = 0; !Worklist.empty(); ++Steps) {
    Operation *Def = Worklist.pop_back_val();
    if (Ops.contains(Def) || Steps == MostSteps)
      return true;
    if (Def->getBlock() != Seed->getBlock() || Def->isBeforeInBlock(First))
      continue;
    if (Def->getNumRegions() != 0)
      return true;
    for (Value Operand : Def->getOperands())
      if (Operation *Next = Operand.getDefiningOp())
        Worklist.push_back(Next);
  }
  return false;
}

bool RowCluster::mayJoin(Operation *Op, const RowPlace &Place) {
  if (Taken->contains(Op) || Op->getBlock() != Seed->getBlock() ||
      Op->getNumResults() != 1)
    return false;
  auto Reduce = dyn_cast<ReduceOp>(Op);
  if (Reduce ? rowReducedBy(Reduce) != Row
             : !Op->hasTrait<ElementwiseTrait>() || isGemmEpilogue(Op) ||
                   widensHeads(Op) ||
                   llvm::any_of(Op->getOperands(), isReadThroughIndex))
    return false;
  if (llvm::any_of(Op->getOperands(),
                   [&](Value V) { return dependsOnCluster(V); }))
    return false;
  if (Place.What == Kind::Repeated)
    return !isOne(typeOf(Op->getResult(0)).getNumElements());
  if (Dims.add(Reduce ? typeOf(Reduce.getX()).getDims()
                      : ArrayRef<Expr>(Place.Of)))
    return true;
  for (Value Operand : Op->getOperands())
    if (auto Reshape = Operand.getDefiningOp<ReshapeOp>();
        Reshape && Ops.contains(sourceOf(Reshape).getDefiningOp()))
      Refused[Reshape] = "its dimensions have borders within theirs";
  return false;
}

void RowCluster::join(Operation *Op, RowPlace Place, unsigned Behind) {
  Taken->insert(Op);
  BehindOf[Op] = Behind;
  if (Op->isBeforeInBlock(First))
    First = Op;
  RowPlace Operands = Place;
  if (auto Reduce = dyn_cast<ReduceOp>(Op))
    Operands = whole(typeOf(Reduce.getX()).getDims());
  for (Value Operand : Op->getOperands())
    Worklist.push_back({Operand, Operands, Behind, /*IsUse=*/true});
  if (Place.What != Kind::Repeated)
    Worklist.push_back({Op->getResult(0), Place, Behind, /*IsUse=*/false});
  Ops.insert({Op, std::move(Place)});
}

/// What the cluster alone uses is its own, if it may be, and so is what else
/// reduces such rows.
void RowCluster::countUse(const Step &Use) {
  if (auto Reduce = Use.V.getDefiningOp<ReduceOp>()) {
    RowPlace Place = perRow(typeOf(Reduce.getY()).getDims());
    if (mayJoin(Reduce, Place))
      join(Reduce, Place, Use.Behind);
    return;
  }
  auto [Left, IsNew] = UsesLeft.try_emplace(Use.V, 0);
  if (IsNew)
    Left->second = llvm::range_size(Use.V.getUses());
  if (--Left->second)
    return;
  Operation *Def = Use.V.getDefiningOp();
  if (!Def)
    return;
  if (auto Broadcast = dyn_cast<BroadcastOp>(Def)) {
    Worklist.push_back({Broadcast.getX(), placeBefore(Broadcast, Use.Place),
                        Use.Behind, /*IsUse=*/true});
  } else if (auto Reshape = dyn_cast<ReshapeOp>(Def)) {
    if (auto Place = across(Reshape, Reshape.getX(), Use.Place))
      Worklist.push_back({Reshape.getX(), *Place, Use.Behind, /*IsUse=*/true});
  } else if (mayJoin(Def, Use.Place)) {
    join(Def, Use.Place, Use.Behind);
  }
}

void RowCluster::visitUsers(const Step &Made) {
  for (Operation *User : Made.V.getUsers()) {
    if (auto Reshape = dyn_cast<ReshapeOp>(User)) {
      unsigned Behind = Made.Behind;
      if (!movesOnesOnly(Reshape)) {
        Behind = Crossings.size();
        Crossings.push_back({Reshape, Made.Behind});
      }
      if (auto Place = across(Reshape, Reshape.getY(), Made.Place))
        Worklist.push_back({Reshape.getY(), *Place, Behind, /*IsUse=*/false});
    } else if (auto Broadcast = dyn_cast<BroadcastOp>(User)) {
      if (Made.Place.What != Kind::PerRow || !isOwnRow(Broadcast))
        continue;
      IsNorm = true;
      Worklist.push_back({Broadcast.getY(),
                          whole(typeOf(Broadcast.getY()).getDims()),
                          Made.Behind, /*IsUse=*/false});
    } else if (auto Reduce = dyn_cast<ReduceOp>(User)) {
      RowPlace Place = perRow(typeOf(Reduce.getY()).getDims());
      if (Made.Place.What == Kind::Whole && mayJoin(User, Place))
        join(User, Place, Made.Behind);
    } else if (mayJoin(User, Made.Place)) {
      join(User, Made.Place, Made.Behind);
    }
  }
}

/// Whether a value is needed beside the cluster.
bool RowCluster::leaves(Value V) const {
  SmallVector<Value> Worklist{V};
  while (!Worklist.empty())
    for (Operation *User : Worklist.pop_back_val().getUsers()) {
      if (isa<ReshapeOp, BroadcastOp>(User))
        Worklist.push_back(User->getResult(0));
      else if (!Ops.contains(User))
        return true;
    }
  return false;
}

/// Whether a kernel ends with `V` in any case: who needs it beside the cluster
/// reads memory, or is several.
bool RowCluster::isStored(Value V) const {
  Operation *Reader = nullptr;
  SmallVector<Value> Worklist{V};
  while (!Worklist.empty())
    for (Operation *User : Worklist.pop_back_val().getUsers()) {
      if (Ops.contains(User))
        continue;
      if (isa<BroadcastOp>(User)) {
        Worklist.push_back(User->getResult(0));
        continue;
      }
      bool IsMemory = isa<ReshapeOp>(User)
                          ? leaves(User->getResult(0))
                          : takesMemory(User) || isa<ConcatOp>(User) ||
                                !readsOnce(User) ||
                                (AcrossTransposes && isa<TransposeOp>(User));
      if (IsMemory || (Reader && Reader != User))
        return true;
      if (!isa<ReshapeOp>(User))
        Reader = User;
    }
  return false;
}

/// Lets those ops go that are behind a reshape whose operand is stored in any
/// case, or where all are computed in the kernel of what is behind them: no
/// kernel would go away. Whether there are any.
bool RowCluster::giveUpCrossings() {
  llvm::SmallBitVector EndsKernel(Crossings.size()), HasOps(EndsKernel);
  for (auto &[Op, Place] : Ops) {
    unsigned Behind = BehindOf.lookup(Op);
    HasOps.set(Behind);
    if (isStored(Op->getResult(0)))
      EndsKernel.set(Behind);
  }
  for (size_t I = Crossings.size(); I-- > 1;)
    if (EndsKernel[I])
      EndsKernel.set(Crossings[I].Before);
  bool GaveUp = false;
  DenseMap<Value, bool> Leaving;
  for (auto [I, C] : llvm::drop_begin(llvm::enumerate(Crossings))) {
    if (C.IsGivenUp)
      continue;
    auto [Known, IsNew] = Leaving.try_emplace(C.Op.getX(), false);
    if (IsNew)
      Known->second = leaves(C.Op.getX());
    bool Leaves = Known->second;
    C.IsGivenUp = Crossings[C.Before].IsGivenUp || !EndsKernel[I] || Leaves;
    GaveUp |= C.IsGivenUp;
    if (C.IsGivenUp && HasOps[I])
      Refused[C.Op] = Leaves ? "what is reshaped is needed elsewhere as well"
                             : "the kernel that needs it computes it there";
  }
  if (GaveUp)
    Ops.remove_if([&](auto &Entry) {
      bool IsGivenUp = Crossings[BehindOf.lookup(Entry.first)].IsGivenUp;
      if (IsGivenUp)
        Taken->erase(Entry.first);
      return IsGivenUp;
    });
  return GaveUp;
}

/// Transposes of data whose results the cluster reads, all of it, through a
/// reshape that has other dimensions.
SmallVector<TransposeOp> RowCluster::transposedOperands() const {
  SmallVector<TransposeOp> Found;
  for (auto &[Op, Place] : Ops) {
    if (Place.What != Kind::Whole && !isa<ReduceOp>(Op))
      continue;
    for (Value Operand : Op->getOperands()) {
      bool HasOtherDims = false;
      while (auto Reshape = Operand.getDefiningOp<ReshapeOp>()) {
        HasOtherDims |= !movesOnesOnly(Reshape);
        Operand = Reshape.getX();
      }
      auto Transpose = Operand.getDefiningOp<TransposeOp>();
      if (HasOtherDims && Transpose && !llvm::is_contained(Found, Transpose))
        Found.push_back(Transpose);
    }
  }
  return Found;
}

/// Dimensions that a transpose parts are not joined.
void RowCluster::keepBordersOf(TransposeOp Op) {
  SmallVector<unsigned> Starts = Dims.startsOf(typeOf(Op.getY()).getDims());
  std::optional<int64_t> Before;
  for (auto [I, From] : llvm::enumerate(Op.getPerm())) {
    if (Starts[I] == Starts[I + 1])
      continue;
    if (!Before || From != *Before + 1)
      Borders.set(Starts[I]);
    Before = From;
  }
}

/// Orders the ops, and finds the dimensions that they need; false where these
/// are not to be told.
bool RowCluster::finish() {
  auto Ordered = Ops.takeVector();
  llvm::sort(Ordered, [](const auto &A, const auto &B) {
    return A.first->isBeforeInBlock(B.first);
  });
  for (auto &Entry : Ordered)
    Ops.insert(std::move(Entry));
  SmallVector<TransposeOp> Transposes;
  if (AcrossTransposes)
    Transposes = transposedOperands();
  // Without those that were given up.
  Dims = RefinedDims(typeOf(Seed.getX()).getDims());
  for (auto &[Op, Place] : Ops)
    if (auto Reduce = dyn_cast<ReduceOp>(Op);
        (Reduce && !Dims.add(typeOf(Reduce.getX()).getDims())) ||
        !Dims.add(Place.Of))
      return false;
  llvm::erase_if(Transposes, [&](TransposeOp Op) {
    return !Dims.add(typeOf(Op.getY()).getDims());
  });
  IsTransposed = !Transposes.empty();
  Borders.resize(Dims.dims().size());
  for (TransposeOp Op : Transposes)
    keepBordersOf(Op);
  auto Keep = [&](const RowPlace &Place, SymbolicTensorType Ty) {
    llvm::SmallBitVector Mask = maskAt(Place, Ty);
    for (unsigned I = 0; I < Mask.size(); ++I)
      if (I == 0 || Mask[I] != Mask[I - 1])
        Borders.set(I);
  };
  for (auto &[Op, Place] : Ops) {
    Keep(Place, typeOf(Op->getResult(0)));
    if (isa<ReduceOp>(Op))
      continue;
    for (Value Operand : Op->getOperands()) {
      RowPlace At = Place;
      while (auto Broadcast = Operand.getDefiningOp<BroadcastOp>()) {
        At = placeBefore(Broadcast, At);
        Operand = Broadcast.getX();
        Keep(At, typeOf(Operand));
      }
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// What has grown
//===----------------------------------------------------------------------===//

/// Whether other dimensions would put a reshape between ops that may be one
/// kernel without.
bool RowCluster::isTiedToDims() const {
  auto IsOutside = [&](Operation *Op) {
    return Op && Op->hasTrait<ElementwiseTrait>() && !Ops.contains(Op) &&
           !isGemmEpilogue(Op);
  };
  return llvm::any_of(Ops, [&](const auto &Entry) {
    auto &[Op, Place] = Entry;
    if (BehindOf.lookup(Op) != 0)
      return false;
    bool IsWhole = Place.What == Kind::Whole;
    return (IsWhole && llvm::any_of(Op->getUsers(), IsOutside)) ||
           ((IsWhole || isa<ReduceOp>(Op)) &&
            llvm::any_of(Op->getOperands(), [&](Value V) {
              return IsOutside(V.getDefiningOp());
            }));
  });
}

bool RowCluster::wantsOtherDims() const {
  if (!IsNorm || isTiedToDims())
    return false;
  ReduceOp First = Seed;
  ArrayRef<Expr> Shape = typeOf(First.getX()).getDims();
  int64_t RowDims = llvm::count_if(
      First.getAxes(), [&](int64_t Axis) { return !isOne(Shape[Axis]); });
  if (int64_t(sizes().size() - outerRank()) < RowDims)
    return true;
  return llvm::any_of(Ops, [&](const auto &Entry) {
    auto &[Op, Place] = Entry;
    if (auto Reduce = dyn_cast<ReduceOp>(Op)) {
      std::optional<RowSpace> Rows = RowSpace::reducedBy(Op);
      return !Rows || !Rows->isOnePiece() ||
             typeOf(Reduce.getX()).getDims() != Shape;
    }
    return Place.What == Kind::Whole && ArrayRef(Place.Of) != Shape;
  });
}

/// Of all dimensions, those that the value has more than one element along.
llvm::SmallBitVector RowCluster::maskAt(const RowPlace &Place,
                                        SymbolicTensorType Ty) const {
  llvm::SmallBitVector Mask(Dims.dims().size());
  SmallVector<unsigned> Starts = Dims.startsOf(Place.Of);
  for (auto [Size, At] : llvm::zip_equal(Ty.getDims(), Place.At))
    if (!isOne(Size))
      for (unsigned I : At)
        Mask.set(Starts[I], Starts[I + 1]);
  return Mask;
}

SmallVector<Expr> RowCluster::joined(const llvm::SmallBitVector &Mask) const {
  SmallVector<Expr> Sizes;
  for (auto [I, Size] : llvm::enumerate(Dims.dims())) {
    if (Borders[I])
      Sizes.emplace_back(1);
    if (Mask[I])
      Sizes.back() = Sizes.back() * Size;
  }
  return Sizes;
}

SmallVector<Expr> RowCluster::sizesAt(const RowPlace &Place,
                                      SymbolicTensorType Ty) const {
  return joined(maskAt(Place, Ty));
}

SmallVector<Expr> RowCluster::sizes() const {
  return joined(llvm::SmallBitVector(Dims.dims().size(), true));
}

unsigned RowCluster::outerRank() const {
  SmallVector<Expr> All = sizes();
  unsigned Rank = All.size();
  for (Expr Inner = 1; Inner != Row;)
    Inner = Inner * All[--Rank];
  return Rank;
}
