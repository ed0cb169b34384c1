//===- RopeRegion.cpp - Regions of a rotary embedding ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/RopeRegion.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

/// Whether `Op` takes all of each dimension but `Except`, in order.
static bool takesAllBut(SliceOp Op, int64_t Except) {
  SymbolicTensorType From = typeOf(Op.getX()), To = typeOf(Op.getY());
  for (int64_t D = 0; D < From.getRank(); ++D)
    if (D != Except &&
        (Op.getStep()[D] != 1 || Op.getStart().getDims()[D] != Expr(0) ||
         From.getDims()[D] != To.getDims()[D]))
      return false;
  return true;
}

int64_t graph::rotatedPairs(Operation *Op) {
  auto Slice = dyn_cast<SliceOp>(Op);
  int64_t Rank = Slice ? typeOf(Slice.getX()).getRank() : 0;
  if (Rank < 2 || Slice.getX().getType() != Slice.getType())
    return 0;
  SymbolicTensorType Ty = typeOf(Slice.getX());
  for (int64_t Behind : {2, 1}) {
    int64_t Pair = Rank - Behind, Other = Behind == 2 ? Rank - 1 : Rank - 2;
    if (Ty.getStaticDim(Pair) == 2 && Ty.getStaticDim(Other) &&
        Slice.getStart().getDims()[Pair] == Expr(1) &&
        Slice.getStep()[Pair] == -1 && takesAllBut(Slice, Pair))
      return Behind;
  }
  return 0;
}

/// The first of the heads that `Op` takes; none where it does more.
static std::optional<int64_t> firstOfHeads(SliceOp Op) {
  int64_t Heads = typeOf(Op.getX()).getRank() - 3;
  if (Heads < 0 || Op.getStep()[Heads] != 1 || !takesAllBut(Op, Heads) ||
      !typeOf(Op.getX()).getStaticDim(Heads) ||
      !typeOf(Op.getY()).getStaticDim(Heads))
    return std::nullopt;
  return Op.getStart().getDims()[Heads].asConstant();
}

/// The argument whose heads `V` is, or some of them.
static BlockArgument headsBehind(Value V) {
  while (Operation *Def = V.getDefiningOp()) {
    auto Slice = dyn_cast<SliceOp>(Def);
    if (!isa<CastOp>(Def) && !(Slice && firstOfHeads(Slice)))
      return {};
    V = Def->getOperand(0);
  }
  return cast<BlockArgument>(V);
}

std::optional<RopeRegion> RopeRegion::read(RegionOp Region) {
  Block &Body = Region.getBody().front();
  auto Exchange = llvm::find_if(Body, [](Operation &Op) {
    return rotatedPairs(&Op) && headsBehind(Op.getOperand(0));
  });
  if (Region.getNumResults() != 1 || Exchange == Body.end())
    return std::nullopt;
  RopeRegion R{Region, headsBehind(Exchange->getOperand(0))};
  int64_t Pairs = rotatedPairs(&*Exchange);
  R.Interleaved = Pairs == 1;
  if (R.hasHeads() && !R.heads().getStaticDim(R.inHead() - 1))
    return std::nullopt;
  R.Rotated = R.count();
  for (Operation &Op : Body.without_terminator()) {
    auto Slice = dyn_cast<SliceOp>(Op);
    if (!Slice &&
        (Op.hasTrait<ElementwiseTrait>() || isa<BroadcastOp, ConstantOp>(Op)))
      continue;
    if (!Slice || headsBehind(Slice.getX()) != R.X)
      return std::nullopt;
    if (int64_t Own = rotatedPairs(Slice)) {
      if (Own != Pairs)
        return std::nullopt;
      continue;
    }
    std::optional<int64_t> From = firstOfHeads(Slice);
    if (!From || typeOf(Slice.getX()).getDims() != R.heads().getDims())
      return std::nullopt;
    R.First = *From;
    R.Rotated = *typeOf(Slice.getY()).getStaticDim(R.inHead() - 1);
  }
  SmallVector<Expr> Dims(R.heads().getDims());
  if (R.hasHeads())
    Dims[R.inHead() - 1] = Expr(R.Rotated);
  // All parts are the same: others meet nothing of the result's sizes.
  for (Operation &Op : Body.without_terminator())
    if (auto Slice = dyn_cast<SliceOp>(Op))
      if (typeOf(Slice.getY()).getDims() != ArrayRef(Dims) ||
          (!rotatedPairs(Slice) && firstOfHeads(Slice) != R.First))
        return std::nullopt;
  if (typeOf(Region.getOutputs()[0]).getDims() != ArrayRef(Dims))
    return std::nullopt;
  return R;
}

std::optional<RopeSizes> RopeSizes::of(const RopeRegion &Rope,
                                       SymbolicTensorType Gemm) {
  ArrayRef<Expr> Dims = Rope.heads().getDims();
  RopeSizes S;
  S.Rows = Gemm.getDims()[0];
  S.AllColumns = Gemm.getDims()[1];
  S.Rotated = Rope.Rotated;
  size_t Behind = Rope.hasHeads() ? 3 : 2;
  S.Columns.assign(Dims.end() - Behind, Dims.end());
  S.Front.assign(Dims.begin(), Dims.end() - Behind);
  Expr Before(1), InColumns(1);
  for (const Expr &Size : S.Front)
    Before = Before * Size;
  for (const Expr &Size : S.Columns)
    InColumns = InColumns * Size;
  if (S.Front.empty() || Before != S.Rows || InColumns != S.AllColumns)
    return std::nullopt;
  return S;
}

SmallVector<Expr> RopeSizes::all() const {
  SmallVector<Expr> Dims{Rows};
  llvm::append_range(Dims, Columns);
  return Dims;
}

SmallVector<Expr> RopeSizes::asHeads(int64_t Count) const {
  SmallVector<Expr> Dims(Front);
  if (Columns.size() > 2)
    Dims.push_back(Expr(Count));
  Dims.push_back(Columns.back() * Columns[Columns.size() - 2]);
  return Dims;
}

bool RopeSizes::hasRotatedHeads(ArrayRef<Expr> Dims) const {
  return Columns.size() > 2 && Dims.size() > 2 && Columns[0] != Expr(Rotated) &&
         Dims[Dims.size() - 3] != Expr(1);
}

std::optional<RopeSizes::Sizes> RopeSizes::ofRope(ArrayRef<Expr> Dims) const {
  if (Dims.size() > Front.size() + Columns.size())
    return std::nullopt;
  size_t Behind = std::min(Dims.size(), Columns.size());
  ArrayRef<Expr> Own = Dims.take_back(Behind), Before = Dims.drop_back(Behind);
  Sizes S;
  if (!Before.empty()) {
    auto IsOne = [](const Expr &Size) { return Size == Expr(1); };
    S.Dims.push_back(Before.back());
    if (Before == ArrayRef(Front)) {
      S.Dims.back() = Rows;
      S.Front = Along::Rows;
    } else if (!llvm::all_of(Before.drop_back(), IsOne)) {
      return std::nullopt;
    } else if (Before.back() == Front.back() && !IsOne(Before.back())) {
      S.Front = Rows == Front.back() ? Along::Rows : Along::Positions;
    } else if (!IsOne(Before.back())) {
      return std::nullopt;
    }
  }
  llvm::append_range(S.Dims, Own);
  if (hasRotatedHeads(Dims))
    S.Dims[S.Dims.size() - 3] = Columns[0];
  return S;
}

std::optional<SmallVector<Expr>> RopeSizes::ofGemm(ArrayRef<Expr> Dims) const {
  SmallVector<Expr> To;
  if (Dims.size() > 2 ||
      (Dims.size() == 2 && Dims[0] != Rows && Dims[0] != Expr(1)))
    return std::nullopt;
  if (Dims.size() == 2)
    To.push_back(Dims[0]);
  if (Dims.empty())
    return To;
  if (Dims.back() == AllColumns)
    llvm::append_range(To, Columns);
  else if (Dims.back() == Expr(1))
    To.append(Columns.size(), Expr(1));
  else
    return std::nullopt;
  return To;
}
