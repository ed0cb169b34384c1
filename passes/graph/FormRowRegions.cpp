//===- FormRowRegions.cpp - Groups reductions of rows into kernels --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reductions over the rows of one shape share a kernel with what is between
/// them: which ops keep to the rows, which join, and which results are shared.
///
//===----------------------------------------------------------------------===//
#include "passes/graph/RegionBuilder.h"
#include "passes/graph/RegionFormer.h"
#include "passes/graph/RegionRoles.h"

using namespace mlir;

namespace kpc::graph {

/// Most results of a region apart from those of its last op.
constexpr size_t MostShared = 4;

/// The space of a reduction whose rows a kernel may keep.
std::optional<RowSpace> RegionFormer::rowsReducedBy(Operation *Op) {
  if (!Rule.LongestRow)
    return std::nullopt;
  std::optional<RowSpace> Rows = RowSpace::reducedBy(Op);
  if (Rows && !Rows->fitsKernel(Rule.LongestRow, Facts))
    return std::nullopt;
  return Rows;
}

/// One walk from the first op to the last.
void RegionFormer::findRows() {
  for (auto [I, Op] : llvm::enumerate(Body)) {
    Place[&Op] = I;
    if (Op.getNumRegions())
      continue;
    if (rowsReducedBy(&Op)) {
      MadeOfRows[&Op] = &Op;
      continue;
    }
    for (Value Operand : Op.getOperands()) {
      Operation *From = MadeOfRows.lookup(Operand.getDefiningOp());
      if (From && RowSpace::reducedBy(From)->keepsRows(&Op)) {
        MadeOfRows[&Op] = From;
        break;
      }
    }
  }
}

/// A reshape between a transpose and what is cut out of the result: the pixels
/// of a transposed convolution, of which lines stay as they are.
static bool isOfInterleaved(ReshapeOp Op) {
  auto Transpose = Op.getX().getDefiningOp<TransposeOp>();
  return Transpose && Transpose->hasOneUse() && keepsLines(Transpose) &&
         typeOf(Op.getX()).getDims().back() ==
             typeOf(Op.getY()).getDims().back() &&
         !Op->use_empty() && llvm::all_of(Op->getUsers(), [](Operation *User) {
           return isa<SliceOp>(User) && keepsLines(User);
         });
}

/// A reshape that a kernel of rows may hold, if it holds what is reshaped: one
/// element a row, or the number of elements of a row; and one of pixels.
bool RegionFormer::waitsForOperand(Operation *Op) {
  auto Reshape = dyn_cast<ReshapeOp>(Op);
  if (Reshape && Rule.Fuse && isOfInterleaved(Reshape))
    return true;
  if (!Rule.LongestRow || !Rule.Fuse || !Reshape || Op->use_empty() ||
      !movesOnesOnly(Reshape))
    return false;
  Operation *Def = Reshape.getX().getDefiningOp();
  Operation *Reduce = Def ? MadeOfRows.lookup(Def) : nullptr;
  bool IsPerRow =
      Reduce && RowSpace::reducedBy(Reduce)->isPerRow(typeOf(Reshape.getX()));
  return Def && (isa<SizesOp>(Def) || IsPerRow) &&
         llvm::all_of(Op->getUsers(), [](Operation *User) {
           return User->hasTrait<ElementwiseTrait>() || isa<BroadcastOp>(User);
         });
}

/// Whether `Reduce` may be computed in `G`: what uses it there keeps to its
/// rows, as do the reductions that are there already.
bool RegionFormer::joinsRows(Operation *Reduce, Group &G) {
  std::optional<RowSpace> Rows = rowsReducedBy(Reduce);
  if (!Rows || (G.Root && G.Root != Reduce && G.Rows != Rows))
    return false;
  SmallVector<Operation *> Worklist{Reduce};
  DenseSet<Operation *> Seen;
  while (!Worklist.empty()) {
    Operation *Op = Worklist.pop_back_val();
    if (G.InRows.contains(Op) || !Seen.insert(Op).second)
      continue;
    if (!Rows->keepsRows(Op))
      return false;
    for (Operation *User : Op->getUsers())
      if (GroupOf.lookup(User) == &G || isa<BroadcastOp>(User))
        Worklist.push_back(User);
  }
  G.Rows = Rows;
  G.InRows.insert_range(Seen);
  return true;
}

/// Whether `Op` has whole rows that reductions were made for, and `G` would
/// compute them element by element.
bool RegionFormer::leavesRows(Operation *Op, Group &G) {
  Operation *From = MadeOfRows.lookup(Op);
  if (!From || Op->getNumResults() != 1 || roleOf(Op) == Role::Root)
    return false;
  RowSpace Rows = *RowSpace::reducedBy(From);
  if (!Rows.isWhole(typeOf(Op->getResult(0))))
    return false;
  if (G.Root && G.Rows != Rows)
    return true;
  return llvm::any_of(Op->getUsers(), [&](Operation *User) {
    return GroupOf.lookup(User) == &G && !Rows.keepsRows(User);
  });
}

/// Whether `Op` adds a value of all elements, a residual, to what a kernel of
/// rows keeps at hand. It may read both: what a product of codes has become is
/// a number of 16 bits by then, and its kernel need not wait for the residual.
bool RegionFormer::isResidualOfRows(Operation *Op, Group &G) {
  return G.Rows && isa<AddOp, SubOp>(Op) &&
         llvm::none_of(Op->getOperands(), [](Value V) {
           return isa_and_present<BroadcastOp>(V.getDefiningOp());
         });
}

bool RegionFormer::isBehind(Operation *User, Group &G) {
  Group *Other = GroupOf.lookup(User);
  Operation *At = Other ? Other->Ops.front() : User;
  return Place.lookup(At) > Place.lookup(G.Ops.front());
}

/// The rows of a group, or those that it will have: codes are made of
/// rows whose greatest elements were not placed yet.
std::optional<RowSpace> RegionFormer::rowsOf(Group &G) const {
  Operation *Last = G.Ops.front();
  if (G.Rows || G.Root || Last->getNumResults() != 1 ||
      !isCode(typeOf(Last->getResult(0)).getElementType()))
    return G.Rows;
  Operation *From = MadeOfRows.lookup(Last);
  return From ? RowSpace::reducedBy(From) : std::nullopt;
}

/// A kernel of rows that computes `Op` in any case and may store it as well:
/// all others that use it come later.
RegionFormer::Group *RegionFormer::groupToShareWith(Operation *Op,
                                                    StringRef &Why) {
  if (!Rule.LongestRow || !Op->hasTrait<ElementwiseTrait>() || isCloned(Op))
    return nullptr;
  Group *First = nullptr;
  forEachRealUser(Op, [&](Operation *User, bool) {
    Group *G = GroupOf.lookup(User);
    if (G && rowsOf(*G) && (!First || isBehind(First->Ops.front(), *G)))
      First = G;
  });
  if (!First || !rowsOf(*First)->keepsRows(Op) ||
      First->Shared.size() == MostShared)
    return nullptr;
  bool Behind = true;
  forEachRealUser(Op, [&](Operation *User, bool) {
    Behind &= GroupOf.lookup(User) == First || isBehind(User, *First);
  });
  if (!Behind)
    return nullptr;
  if (isGemmEpilogue(Op)) {
    Why = "the kernel of its product writes it";
    return nullptr;
  }
  return First;
}

} // namespace kpc::graph
