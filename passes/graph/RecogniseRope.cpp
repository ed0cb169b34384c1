//===- RecogniseRope.cpp - Rotary embeddings without copies ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %a = graph.slice %x, the back half of each head
///   %c = graph.slice %x, the front half
///   %r = graph.concat %n, %c axis 3                   (%n = graph.neg %a)
///   %y = x·cos + %r·sin : <[b, s, 32, 64], f32>
///     →  %h = graph.reshape %x : … to <[b, s, 32, 2, 32], f32>
///        %r = graph.slice %h, dimension 3 backwards
///        %y = %h·cos + %r·sin', sin' with its sign: a reshape of this
///
/// A concat is a kernel of its own, and what it joins lies in memory: a dozen
/// copies for each layer. A dimension of two halves that is walked backwards is
/// an index, so all of it is one elementwise kernel. Heads that lie side by
/// side in one tensor and turn by the same angles (queries and keys) are turned
/// together. ONNX's RotaryEmbedding is imported with that dimension at once; of
/// its like those that lie side by side are joined, too.
///
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RopeRegion.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_RECOGNISEROPE
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// `Dims` with the last one as two halves, or as pairs.
SmallVector<Expr> inHalves(ArrayRef<Expr> Dims, int64_t Half,
                           bool Interleaved = false) {
  SmallVector<Expr> Split(Dims.drop_back());
  Split.append({Expr(2), Expr(Half)});
  if (Interleaved)
    std::swap(Split.back(), Split[Split.size() - 2]);
  return Split;
}

/// The two halves of the last dimension of a value, the second first.
struct RotateHalf {
  Value X;
  bool NegatesBack = false, NegatesFront = false;
  int64_t Half = 0;

  static std::optional<RotateHalf> read(ConcatOp Concat);
};

/// The part of the last dimension that `Op` takes of all of its operand, from
/// `Start` on.
bool takesHalf(SliceOp Op, int64_t Start, int64_t Half) {
  SymbolicTensorType From = typeOf(Op.getX()), To = typeOf(Op.getY());
  ArrayRef<Expr> Starts = Op.getStart().getDims();
  return From.getDims().drop_back() == To.getDims().drop_back() &&
         llvm::all_of(Op.getStep(), [](int64_t Step) { return Step == 1; }) &&
         llvm::all_of(Starts.drop_back(),
                      [](const Expr &E) { return E == Expr(0); }) &&
         Starts.back() == Expr(Start) && To.getDims().back() == Expr(Half);
}

std::optional<RotateHalf> RotateHalf::read(ConcatOp Concat) {
  SymbolicTensorType Ty = typeOf(Concat.getY());
  std::optional<int64_t> Size =
      Ty.getRank() ? Ty.getStaticDim(Ty.getRank() - 1) : std::nullopt;
  if (Concat.getXs().size() != 2 || Ty.getRank() < 2 ||
      !isFloat(Ty.getElementType()) ||
      int64_t(Concat.getAxis()) != Ty.getRank() - 1 || !Size || *Size % 2 ||
      *Size == 0)
    return std::nullopt;
  RotateHalf Found;
  Found.Half = *Size / 2;
  auto Part = [](Value V, bool &Negated) {
    auto Neg = V.getDefiningOp<NegOp>();
    Negated = Neg != nullptr;
    return (Neg ? Neg->getOperand(0) : V).getDefiningOp<SliceOp>();
  };
  SliceOp Back = Part(Concat.getXs()[0], Found.NegatesBack),
          Front = Part(Concat.getXs()[1], Found.NegatesFront);
  if (!Back || !Front || Back.getX() != Front.getX() ||
      Back.getX().getType() != Concat.getType() ||
      !takesHalf(Back, Found.Half, Found.Half) ||
      !takesHalf(Front, 0, Found.Half))
    return std::nullopt;
  Found.X = Back.getX();
  return Found;
}

/// x·cos + swapped(x)·sin.
struct Rope {
  RotateHalf Halves;
  Value Cos, Sin;
  AddOp Sum;
  /// Pairs are a dimension of sum and angles already, the last where they are
  /// interleaved.
  bool IsSplit = false, Interleaved = false;

  /// None with the reason why not.
  static std::optional<Rope> read(ConcatOp Concat, RotateHalf Halves,
                                  StringRef &Why);
  /// With pairs in the other order as a slice.
  static std::optional<Rope> readSplit(SliceOp PairOfX);

  /// Of x where it is heads `First` to `First + Count` of another tensor.
  SliceOp Heads = {};
  int64_t First = 0, Count = 0;
  void findHeads();
  /// Whether `Other` turns the heads behind these by the same angles.
  bool isFollowedBy(const Rope &Other) const;
};

Value otherFactor(MulOp Mul, Value One) {
  return Mul.getA() == One ? Mul.getB() : Mul.getA();
}

/// `X` times a cosine, and `PairOfX`, the other element of each pair, times a
/// sine.
std::optional<Rope> sumOf(Value X, Value PairOfX, const RotateHalf &Halves,
                          StringRef &Why) {
  auto Rotated =
      PairOfX.hasOneUse() ? dyn_cast<MulOp>(*PairOfX.user_begin()) : MulOp();
  if (!Rotated || !Rotated->hasOneUse()) {
    Why = "they are not multiplied by a sine alone";
    return std::nullopt;
  }
  auto Sum = dyn_cast<AddOp>(*Rotated->user_begin());
  Value Rest;
  if (Sum)
    Rest = Sum.getA() == Rotated.getY() ? Sum.getB() : Sum.getA();
  auto Straight = Rest ? Rest.getDefiningOp<MulOp>() : MulOp();
  if (!Straight || !Straight->hasOneUse() ||
      (Straight.getA() != X && Straight.getB() != X)) {
    Why = "what is added to them is not the whole by a cosine";
    return std::nullopt;
  }
  return Rope{Halves, otherFactor(Straight, X), otherFactor(Rotated, PairOfX),
              Sum};
}

std::optional<Rope> Rope::read(ConcatOp Concat, RotateHalf Halves,
                               StringRef &Why) {
  std::optional<Rope> Found = sumOf(Halves.X, Concat.getY(), Halves, Why);
  if (Found)
    Found->findHeads();
  return Found;
}

SmallVector<Expr> withoutOnes(ArrayRef<Expr> Dims) {
  return llvm::filter_to_vector(
      Dims, [](const Expr &Size) { return Size != Expr(1); });
}

/// Whether `V` repeats what has ones in all dimensions but the first and the
/// last `Count`.
bool isSameBut(Value V, size_t Count) {
  auto Broadcast = V.getDefiningOp<BroadcastOp>();
  if (!Broadcast)
    return false;
  ArrayRef<Expr> From = typeOf(Broadcast.getX()).getDims();
  if (From.size() <= Count)
    return true;
  From = From.drop_back(Count);
  if (int64_t(From.size() + Count) == typeOf(V).getRank())
    From = From.drop_front();
  return withoutOnes(From).empty();
}

std::optional<Rope> Rope::readSplit(SliceOp PairOfX) {
  int64_t Pairs = rotatedPairs(PairOfX);
  auto View = PairOfX.getX().getDefiningOp<ReshapeOp>();
  if (!Pairs || !View || !isFloat(typeOf(View.getY()).getElementType()))
    return std::nullopt;
  SymbolicTensorType From = typeOf(View.getX()), To = typeOf(View.getY());
  int64_t Half = *To.getStaticDim(To.getRank() - (Pairs == 2 ? 1 : 2));
  bool IsTurned = From.getDims().drop_back() != To.getDims().drop_back(2);
  // Of one query: heads may come before it, which is a reshape as well.
  if (From.getRank() + 1 != To.getRank() ||
      From.getDims().back() != Expr(2 * Half) ||
      (IsTurned && withoutOnes(From.getDims().drop_back()) !=
                       withoutOnes(To.getDims().drop_back(2))))
    return std::nullopt;
  StringRef Why;
  std::optional<Rope> Found = sumOf(View.getY(), PairOfX.getY(),
                                    {View.getX(), false, false, Half}, Why);
  if (!Found)
    return std::nullopt;
  // Angles are then those of all heads and queries.
  if (IsTurned && !(isSameBut(Found->Cos, 2) && isSameBut(Found->Sin, 2)))
    return std::nullopt;
  Found->IsSplit = true;
  Found->Interleaved = Pairs == 1;
  Found->findHeads();
  return Found;
}

void Rope::findHeads() {
  SymbolicTensorType Ty = typeOf(Halves.X);
  auto Slice = Halves.X.getDefiningOp<SliceOp>();
  if (!Slice || Ty.getRank() != 4)
    return;
  ArrayRef<Expr> Start = Slice.getStart().getDims();
  std::optional<int64_t> From = Start[2].asConstant(),
                         Size = Ty.getStaticDim(2);
  SymbolicTensorType Whole = typeOf(Slice.getX());
  if (!From || !Size || Start[0] != Expr(0) || Start[1] != Expr(0) ||
      Start[3] != Expr(0) || Whole.getDims()[3] != Ty.getDims()[3] ||
      Whole.getDims()[0] != Ty.getDims()[0] ||
      Whole.getDims()[1] != Ty.getDims()[1] ||
      llvm::any_of(Slice.getStep(), [](int64_t Step) { return Step != 1; }))
    return;
  Heads = Slice;
  First = *From;
  Count = *Size;
}

/// What `V` repeats, if it is the same for all heads, whose dimension is this
/// one from the end.
Value sameForHeads(Value V, int64_t FromEnd) {
  auto Broadcast = V.getDefiningOp<BroadcastOp>();
  if (!Broadcast)
    return {};
  SymbolicTensorType Ty = typeOf(Broadcast.getX());
  int64_t Rank = Ty.getRank();
  return Rank < FromEnd || Ty.getDims()[Rank - FromEnd] == Expr(1)
             ? Broadcast.getX()
             : Value();
}

bool Rope::isFollowedBy(const Rope &Other) const {
  if (IsSplit != Other.IsSplit || Interleaved != Other.Interleaved)
    return false;
  auto Same = [&](Value A, Value C) {
    Value One = sameForHeads(A, IsSplit ? 3 : 2);
    return One && One == sameForHeads(C, IsSplit ? 3 : 2);
  };
  SliceOp Mine = Heads, Theirs = Other.Heads;
  return Mine && Theirs && Mine.getX() == Theirs.getX() &&
         First + Count == Other.First && Same(Cos, Other.Cos) &&
         Same(Sin, Other.Sin) &&
         Halves.NegatesBack == Other.Halves.NegatesBack &&
         Halves.NegatesFront == Other.Halves.NegatesFront;
}

/// Writes what was found.
class RopeWriter {
public:
  explicit RopeWriter(Block &Body) : B(Body.getTerminator()) {}

  /// One after another in one tensor.
  void write(ArrayRef<Rope> Together);

private:
  /// `V`, of the sizes that x has or fewer, with its last dimension in halves;
  /// with `Signs` each half of it by its sign.
  Value angles(Value V, SymbolicTensorType To, const RotateHalf *Signs);
  Value signedHalves(Value V, const RotateHalf &Signs);
  /// `V` for all heads.
  Value repeated(Value V, SymbolicTensorType To);
  Value split(Value V, int64_t Half, bool Interleaved = false);

  OpBuilder B;
  /// With their signs: one for all layers.
  DenseMap<std::pair<Value, unsigned>, Value> Signed;
};

Value RopeWriter::split(Value V, int64_t Half, bool Interleaved) {
  SymbolicTensorType Ty = typeOf(V);
  // One element for both halves stays one.
  SmallVector<Expr> Dims(Ty.getDims());
  if (!Dims.empty() && Dims.back() == Expr(1))
    Dims.push_back(Expr(1));
  else if (!Dims.empty())
    Dims = inHalves(Ty.getDims(), Half, Interleaved);
  return B.createOrFold<ReshapeOp>(V.getLoc(), Ty.withDims(Dims), V);
}

Value RopeWriter::signedHalves(Value V, const RotateHalf &Signs) {
  if (!Signs.NegatesBack && !Signs.NegatesFront)
    return split(V, Signs.Half);
  unsigned Which = Signs.NegatesBack * 2 + Signs.NegatesFront;
  Value &Known = Signed[{V, Which}];
  if (Known)
    return Known;
  Location Loc = V.getLoc();
  Type Element = typeOf(V).getElementType();
  auto Number = [&](bool Negated) -> Attribute {
    return B.getFloatAttr(Element, Negated ? -1.0 : 1.0);
  };
  auto Of =
      DenseElementsAttr::get(RankedTensorType::get({2, 1}, Element),
                             ArrayRef<Attribute>{Number(Signs.NegatesBack),
                                                 Number(Signs.NegatesFront)});
  Value Halves = split(V, Signs.Half);
  Value Sign =
      ConstantOp::create(B, Loc, typeOf(V).withDims({Expr(2), Expr(1)}), Of);
  // One element for both halves becomes two.
  SymbolicTensorType Ty = typeOf(Halves);
  SmallVector<Expr> Dims(Ty.getDims());
  if (Dims.size() < 2)
    Dims.assign({Expr(2), Expr(1)});
  Dims[Dims.size() - 2] = Expr(2);
  Ty = Ty.withDims(Dims);
  Value Wide = B.createOrFold<BroadcastOp>(Loc, Ty, Halves);
  return Known = MulOp::create(B, Loc, Wide,
                               B.createOrFold<BroadcastOp>(Loc, Ty, Sign));
}

Value RopeWriter::angles(Value V, SymbolicTensorType To,
                         const RotateHalf *Signs) {
  auto Broadcast = V.getDefiningOp<BroadcastOp>();
  Value Small = Broadcast ? Broadcast.getX() : V;
  int64_t Half = *To.getStaticDim(To.getRank() - 1);
  Value Split = Signs ? signedHalves(Small, *Signs) : split(Small, Half);
  return B.createOrFold<BroadcastOp>(V.getLoc(), To, Split);
}

Value RopeWriter::repeated(Value V, SymbolicTensorType To) {
  auto Broadcast = V.getDefiningOp<BroadcastOp>();
  return B.createOrFold<BroadcastOp>(V.getLoc(), To,
                                     Broadcast ? Broadcast.getX() : V);
}

void RopeWriter::write(ArrayRef<Rope> Together) {
  const Rope &Front = Together.front();
  const RotateHalf &Halves = Front.Halves;
  SmallVector<Location> Locs;
  for (Rope One : Together)
    Locs.push_back(One.Sum.getLoc());
  Location Loc = FusedLoc::get(B.getContext(), Locs);
  SymbolicTensorType Ty = typeOf(Halves.X);
  SymbolicTensorType In =
      Ty.withDims(inHalves(Ty.getDims(), Halves.Half, Front.Interleaved));
  Value X;
  int64_t Count = 0;
  if (Front.Heads) {
    // The heads are sliced behind the reshape, which is a view of memory.
    for (const Rope &One : Together)
      Count += One.Count;
    SmallVector<Expr> Dims(In.getDims()), Start(Dims.size(), Expr(0));
    Dims[2] = Expr(Count);
    Start[2] = Expr(Front.First);
    In = In.withDims(Dims);
    SliceOp Heads = Front.Heads;
    X = B.createOrFold<SliceOp>(
        Loc, In, split(Heads.getX(), Halves.Half, Front.Interleaved),
        DimsAttr::get(B.getContext(), Start),
        B.getDenseI64ArrayAttr(SmallVector<int64_t>(Dims.size(), 1)));
  } else {
    X = split(Halves.X, Halves.Half, Front.Interleaved);
  }
  int64_t Pair = In.getRank() - (Front.Interleaved ? 1 : 2);
  SmallVector<Expr> Start(In.getRank(), Expr(0));
  SmallVector<int64_t> Step(In.getRank(), 1);
  Start[Pair] = Expr(1);
  Step[Pair] = -1;
  Value RotatedHalf =
      SliceOp::create(B, Loc, In, X, DimsAttr::get(B.getContext(), Start),
                      B.getDenseI64ArrayAttr(Step));
  auto AnglesOf = [&](Value V, const RotateHalf *Signs) {
    return Front.IsSplit ? repeated(V, In) : angles(V, In, Signs);
  };
  Value Straight = MulOp::create(B, Loc, X, AnglesOf(Front.Cos, nullptr));
  Value Rotated =
      MulOp::create(B, Loc, RotatedHalf, AnglesOf(Front.Sin, &Halves));
  Value Sum = AddOp::create(B, Loc, Straight, Rotated);
  SmallVector<Expr> Dims(In.getDims().drop_back(2));
  Dims.push_back(Expr(2 * Halves.Half));
  Value Whole = ReshapeOp::create(B, Loc, In.withDims(Dims), Sum);
  int64_t First = 0;
  for (Rope One : Together) {
    Value Own = Whole;
    if (Together.size() > 1) {
      SmallVector<Expr> Begin(Dims.size(), Expr(0));
      Begin[2] = Expr(First);
      First += One.Count;
      Own = SliceOp::create(
          B, Loc, typeOf(One.Halves.X), Whole,
          DimsAttr::get(B.getContext(), Begin),
          B.getDenseI64ArrayAttr(SmallVector<int64_t>(Dims.size(), 1)));
    }
    if (One.IsSplit)
      Own = B.createOrFold<ReshapeOp>(Loc, One.Sum.getType(), Own);
    One.Sum.getY().replaceAllUsesWith(Own);
  }
  std::string Of = Count ? " of " + std::to_string(Count) + " heads" : "";
  remark::passed(Loc,
                 remark::RemarkOpts::name("rotary").category("recognition"))
      << "RoPE" + Of + " of " + std::to_string(2 * Halves.Half) +
             " elements is recognised: rotate-half is an index, not a copy.";
}

struct RecogniseRopePass : graph::impl::RecogniseRopeBase<RecogniseRopePass> {
  void runOnOperation() override {
    if (!isGraphFunction(getOperation()))
      return;
    SmallVector<Rope> All;
    Block &Body = getOperation().getBody().front();
    for (auto Op : Body.getOps<ConcatOp>()) {
      std::optional<RotateHalf> Halves = RotateHalf::read(Op);
      if (!Halves)
        continue;
      StringRef Why;
      if (std::optional<Rope> Found = Rope::read(Op, *Halves, Why))
        All.push_back(*Found);
      else
        remark::missed(Op.getLoc(), remark::RemarkOpts::name("rotary").category(
                                        "recognition"))
            << "Rotated halves are not recognised as RoPE: " + Why.str() + ".";
    }
    for (auto Op : Body.getOps<SliceOp>())
      if (std::optional<Rope> Found = Rope::readSplit(Op))
        All.push_back(*Found);
    RopeWriter Writer(Body);
    bool Changed = false;
    for (ArrayRef<Rope> Together : joined(All)) {
      // One that is imported alone is what it would become.
      if (Together.size() == 1 && Together[0].IsSplit && !Together[0].Heads)
        continue;
      Writer.write(Together);
      Changed = true;
    }
    if (!Changed)
      return;
    sortTopologically(&Body);
    for (Operation &Op : llvm::make_early_inc_range(llvm::reverse(Body)))
      if (isOpTriviallyDead(&Op))
        Op.erase();
  }

  /// Puts those that are written together next to each other.
  static SmallVector<SmallVector<Rope>> joined(ArrayRef<Rope> All) {
    SmallVector<SmallVector<Rope>> Sets;
    SmallVector<bool> Taken(All.size(), false);
    auto HasFrontNeighbour = [&](const Rope &One) {
      return llvm::any_of(
          All, [&](const Rope &Other) { return Other.isFollowedBy(One); });
    };
    for (auto [I, One] : llvm::enumerate(All)) {
      if (Taken[I] || HasFrontNeighbour(One))
        continue;
      SmallVector<Rope> Set{One};
      Taken[I] = true;
      for (bool Grown = true; Grown;) {
        Grown = false;
        for (auto [K, Next] : llvm::enumerate(All))
          if (!Taken[K] && Set.back().isFollowedBy(Next)) {
            Set.push_back(Next);
            Taken[K] = Grown = true;
            break;
          }
      }
      Sets.push_back(std::move(Set));
    }
    // Of several at the same place one was joined.
    for (auto [I, One] : llvm::enumerate(All))
      if (!Taken[I])
        Sets.push_back({One});
    return Sets;
  }
};

} // namespace
