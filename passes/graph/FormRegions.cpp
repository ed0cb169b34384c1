//===- FormRegions.cpp - Groups ops into kernels -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In:  a function of graph ops. Out: the same, its ops inside graph.regions.
///
///   %0 = graph.matmul %x, %w : …            %1 = graph.region "m+r"(%x, %w) …
///   { %1 = graph.relu %0 : …           →        %a = graph.matmul …
///                                             %b = graph.relu %a
///                                             graph.yield %b }
///
/// One walk from the last op to the first, so each op sees the region of all
/// its users; linear in the number of uses. The bodies of loops and branches
/// come before the block around them: no region reaches across.
///
/// With `rows`, reductions over the rows of one shape and what is between them
/// (softmax, norms) are one region, and a value of it that others use as well
/// is a result beside the last op's:
///
///   %1, %2 = graph.region "add+norm"(%x, %r) { %a = graph.add …
///                                              %m = graph.reduce sum, %a …
///                                              %y = graph.sub %a, …
///                                              graph.yield %y, %a }
///
/// Then kernels that share a wider copy of x, or x - mean, make it themselves.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeHeads.h"
#include "passes/graph/CodeProducts.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/IndexPaths.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RegionBuilder.h"
#include "passes/graph/RegionRoles.h"
#include "passes/graph/RowSpace.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_FORMREGIONS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

struct Group {
  /// In the order found: last op first.
  SmallVector<Operation *> Ops;
  Operation *Root = nullptr;
  /// Where the root ops are reductions of rows of one shape: this one. Then
  /// `InRows` are those ops from which all paths to results keep to the rows.
  std::optional<RowSpace> Rows;
  DenseSet<Operation *> InRows;
  /// Ops whose results others use too.
  SmallVector<Operation *> Shared;
};

struct Rules {
  unsigned MaxOps = 64;
  bool Fuse = true;
  /// Elements of the longest row that one kernel keeps; 0: none does.
  int64_t LongestRow = 0;
  /// Bits of the widest elements that a product reads transposed; 0: none.
  unsigned Transposed = 0;
};

/// Most results of a region beside its last op's.
constexpr size_t MostShared = 4;
class RegionFormer {
public:
  RegionFormer(Block &Body, const Rules &Rule, const shape::Facts &Facts)
      : Body(Body), Rule(Rule), Facts(Facts) {
    // Elsewhere, no op need be asked whether it scales a product of codes.
    for (Operation &Op : Body)
      HasCodeProducts |= isCodeProduct(&Op);
  }

  void run() {
    if (Rule.LongestRow)
      findRows();
    for (Operation &Op : llvm::make_early_inc_range(llvm::reverse(Body)))
      place(&Op);
    // Groups were found last first; each is built in front of its last op.
    for (auto &G : Groups)
      build(*G);
    eraseDeadSources();
    fillSplats();
  }

private:
  void place(Operation *Op);
  /// Empty if `Op` may join `G`, else the reason against.
  StringRef refusal(Operation *Op, Group &G);
  Group *groupToJoin(Operation *Op);
  Group *groupOfAllUsers(Operation *Op, StringRef &Why);
  bool usedAtSameIndex(Operation *Op);
  bool followsPaths(Operation *Op, Group &G);
  bool scalesCodes(Operation *Op) const {
    return HasCodeProducts && isCodeEpilogue(Op);
  }
  bool isCheaperAgain(Operation *Op) const;
  bool makesDigits(Operation *Op) const;
  void cloneForKernels(Operation *Op);
  void build(Group &G);
  void eraseDeadSources();
  void fillSplats();
  bool isTransposedByCopies(Operation *Op, Operation *User) const;
  bool isReadByCopies(Operation *Op, Operation *User) const;

  // Rows.
  void findRows();
  std::optional<RowSpace> rowsReducedBy(Operation *Op);
  bool joinsRows(Operation *Reduce, Group &G);
  bool leavesRows(Operation *Op, Group &G);
  bool isResidualOfRows(Operation *Op, Group &G);
  bool waitsForOperand(Operation *Op);
  Group *groupToShareWith(Operation *Op, StringRef &Why);
  bool isBehind(Operation *User, Group &G);
  std::optional<RowSpace> rowsOf(Group &G) const;

  Block &Body;
  Rules Rule;
  const shape::Facts &Facts;
  bool HasCodeProducts = false;
  /// The place of each op in the block.
  DenseMap<Operation *, unsigned> Place;
  /// Ops made of reduced rows, to a reduction of these.
  DenseMap<Operation *, Operation *> MadeOfRows;
  std::vector<std::unique_ptr<Group>> Groups;
  DenseMap<Operation *, Group *> GroupOf;
  /// Ops from which every path to the group's result is elementwise.
  DenseSet<Operation *> AtSameIndex;
  IndexPaths Paths;
  /// Transposes and gathers that a product reads through.
  DenseSet<Operation *> Transposed;
};

void RegionFormer::place(Operation *Op) {
  Role R = roleOf(Op);
  // A region that is there already stays what it is; what loops and branches
  // hold has been placed.
  if (isa<func::ReturnOp, YieldOp, RegionOp, LoopOp, IfOp>(Op) ||
      R == Role::Source)
    return;
  // It stays outside after all where its operand does.
  StringRef None;
  if (waitsForOperand(Op))
    if (Group *G = groupOfAllUsers(Op, None); G && followsPaths(Op, *G)) {
      G->Ops.push_back(Op);
      GroupOf[Op] = G;
      return;
    }
  if (R == Role::View)
    return;
  if (Op->use_empty()) {
    Op->erase();
    return;
  }
  // A clone is made where it is used; only what leaves the block or meets a
  // view needs memory.
  bool NeedsMemory = llvm::any_of(Op->getUsers(), takesMemory);
  NeedsMemory |= llvm::any_of(Op->getUses(), readsMemory);
  if (isCloned(Op) && !NeedsMemory)
    return;

  if (!NeedsMemory && (isCheaperAgain(Op) || makesDigits(Op)))
    cloneForKernels(Op);
  Group *G = groupToJoin(Op);
  if (!G) {
    Groups.push_back(std::make_unique<Group>());
    G = Groups.back().get();
    AtSameIndex.insert(Op);
    Paths.start(Op);
  } else if (usedAtSameIndex(Op)) {
    AtSameIndex.insert(Op);
  }
  // What is in front of it would be computed for each product.
  if (llvm::any_of(Op->getUsers(), [&](Operation *User) {
        return GroupOf.lookup(User) == G && isReadByCopies(Op, User);
      }))
    Transposed.insert(Op);
  G->Ops.push_back(Op);
  GroupOf[Op] = G;
  if (R == Role::Root && !G->Root) {
    G->Root = Op;
    (void)joinsRows(Op, *G);
  }
}

/// The group of the users, where `Op` may join it; null where it begins one.
/// Remarks tell which, and why.
Group *RegionFormer::groupToJoin(Operation *Op) {
  StringRef Why;
  Group *G = groupOfAllUsers(Op, Why);
  bool IsShared = !G && (G = groupToShareWith(Op, Why));
  if (G)
    Why = refusal(Op, *G);
  if (G && Why.empty() && !followsPaths(Op, *G))
    Why = "it would be computed at too many indices";
  if (!Why.empty())
    remark::missed(Op->getLoc(),
                   remark::RemarkOpts::name("refused").category("fusion"))
        << wordsFor(Op) + " is not fused into its user's kernel, because " +
               Why.str() + ".";
  if (!G || !Why.empty())
    return nullptr;
  if (IsShared)
    G->Shared.push_back(Op);
  remark::passed(Op->getLoc(),
                 remark::RemarkOpts::name("fused").category("fusion"))
      << wordsFor(Op) + " is fused into the kernel that ends with " +
             wordsFor(G->Ops.front()) + ".";
  return G;
}

/// Whether `Op` swaps the last two dims of a product's operand, or is the order
/// of one with one batch dim whose lines stay among the last two: the copies
/// that bring it to tensor cores take it as it lies in memory.
bool RegionFormer::isTransposedByCopies(Operation *Op, Operation *User) const {
  auto Transpose = dyn_cast<TransposeOp>(Op);
  if (!Transpose || !isa<MatmulOp>(User) || !Rule.Transposed)
    return false;
  Type Element = typeOf(Transpose.getX()).getElementType();
  ArrayRef<int64_t> Perm = Transpose.getPerm();
  if (Element.getIntOrFloatBitWidth() > Rule.Transposed || Perm.size() < 2)
    return false;
  // Of parts of K (split-reductions).
  if (Perm == ArrayRef<int64_t>{1, 0, 2} || Perm == ArrayRef<int64_t>{1, 2, 0})
    return true;
  auto Swapped = llvm::to_vector(llvm::seq<int64_t>(0, Perm.size()));
  std::swap(Swapped[Perm.size() - 1], Swapped[Perm.size() - 2]);
  return Perm == ArrayRef<int64_t>(Swapped);
}

/// Whether the copies that bring a product's operand to tensor cores find what
/// `Op` makes of it where it lies in memory.
bool RegionFormer::isReadByCopies(Operation *Op, Operation *User) const {
  return isTransposedByCopies(Op, User) ||
         (Rule.Transposed && picksMatrices(Op, User));
}

Group *RegionFormer::groupOfAllUsers(Operation *Op, StringRef &Why) {
  Group *Common = nullptr;
  bool Several = false, Outside = false;
  forEachRealUser(Op, [&](Operation *User, bool) {
    Group *G = GroupOf.lookup(User);
    Outside |= !G;
    Several |= Common && G != Common;
    Common = G;
  });
  if (Outside)
    return nullptr;
  if (Several) {
    Why = "several kernels use its result";
    return nullptr;
  }
  return Common;
}

/// Whether `Op` makes floats of shorter ones.
static bool widens(Operation *Op) {
  auto Cast = dyn_cast_or_null<CastOp>(Op);
  if (!Cast)
    return false;
  Type From = typeOf(Cast.getX()).getElementType(),
       To = typeOf(Cast.getY()).getElementType();
  return isa<FloatType>(From) && isa<FloatType>(To) &&
         From.getIntOrFloatBitWidth() < To.getIntOrFloatBitWidth();
}

/// Whether each kernel that uses `Op` had better compute it: it reads no more
/// bytes so than the result has, and nobody writes that. What it reads is in
/// memory in any case: x - mean, where the mean is made of x, or exp(x - max).
bool RegionFormer::isCheaperAgain(Operation *Op) const {
  if (!Rule.LongestRow || !Rule.Fuse || MadeOfRows.contains(Op) ||
      isGemmEpilogue(Op) || scalesCodes(Op))
    return false;
  if (widens(Op))
    return true;
  // Of a softmax whose rows no kernel keeps: the sum and the quotient.
  if (isa<ExpOp>(Op)) {
    Operation *Shifted = Op->getOperand(0).getDefiningOp();
    return Shifted && Shifted->hasOneUse() && !widens(Shifted) &&
           isCheaperAgain(Shifted);
  }
  if (!isa<AddOp, SubOp, MulOp>(Op))
    return false;
  bool IsWhole[] = {!Op->getOperand(0).getDefiningOp<BroadcastOp>(),
                    !Op->getOperand(1).getDefiningOp<BroadcastOp>()};
  if (IsWhole[0] == IsWhole[1])
    return false;
  Value X = Op->getOperand(IsWhole[0] ? 0 : 1);
  while (widens(X.getDefiningOp()) && X.hasOneUse())
    X = X.getDefiningOp()->getOperand(0);
  return !X.getDefiningOp() || isa<WeightOp>(X.getDefiningOp()) ||
         !X.hasOneUse();
}

/// Whether `Op` is on the way from what is sorted to codes, which both kernels
/// of the first pass had better compute: codes have twice the bytes, or more.
bool RegionFormer::makesDigits(Operation *Op) const {
  return Rule.Fuse && Op->hasTrait<ElementwiseTrait>() &&
         isa<IntegerType>(typeOf(Op->getResult(0)).getElementType()) &&
         llvm::all_of(Op->getUsers(), [&](Operation *User) {
           Group *G = GroupOf.lookup(User);
           return G && isa<DigitCountsOp, OrderByDigitOp>(G->Ops.front());
         });
}

/// A clone for each of several kernels that may hold one.
void RegionFormer::cloneForKernels(Operation *Op) {
  llvm::SmallMapVector<Group *, SmallVector<OpOperand *>, 4> Uses;
  for (OpOperand &Use : Op->getUses())
    Uses[GroupOf.lookup(Use.getOwner())].push_back(&Use);
  if (Uses.size() < 2 || Uses.contains(nullptr) ||
      !llvm::all_of(Uses, [&](const auto &One) {
        return refusal(Op, *One.first).empty();
      }))
    return;
  OpBuilder B(Op);
  for (auto &[G, OfGroup] : llvm::drop_begin(Uses)) {
    Operation *Clone = B.clone(*Op);
    Place[Clone] = Place.lookup(Op);
    for (OpOperand *Use : OfGroup)
      Use->set(Clone->getResult(0));
    place(Clone);
  }
}

/// Whether `G` needs elements of `Op` at few indices. Rows are there whole.
bool RegionFormer::followsPaths(Operation *Op, Group &G) {
  return Paths.join(
      Op, [&](Operation *User) { return GroupOf.lookup(User) == &G; },
      [&](Operation *User) { return G.InRows.contains(User); });
}

bool RegionFormer::usedAtSameIndex(Operation *Op) {
  bool Same = true;
  forEachRealUser(Op, [&](Operation *User, bool ThroughBroadcast) {
    Same &= !ThroughBroadcast && User->hasTrait<ElementwiseTrait>() &&
            AtSameIndex.contains(User);
  });
  return Same;
}

StringRef RegionFormer::refusal(Operation *Op, Group &G) {
  if (!Rule.Fuse)
    return "fusion is off";
  if (G.Ops.size() >= Rule.MaxOps)
    return "that kernel is as large as allowed";
  if (isa<ConcatOp>(Op))
    return "a concat is a kernel of its own";
  if (isa<SortRunsOp, DigitCountsOp, OrderByDigitOp>(Op))
    return "a sort's kernel writes what it has sorted";
  if (isa<AttentionOp>(Op)) {
    if ((G.Ops.size() == 1 && isOrderOfHeads(G.Ops.front())) ||
        endsCodeAttention(cast<AttentionOp>(Op), G.Ops))
      return {};
    return "attention is a kernel of its own";
  }
  if (G.Root && isa<AttentionOp>(G.Root)) {
    if ((isOrderOfHeads(Op) && llvm::all_of(Op->getUses(), readsHeads)) ||
        isSliceOfHeads(Op) || widensHeads(Op))
      return {};
    return "attention is a kernel of its own";
  }
  bool Finishes = finishesRawProduct(Op) && G.Root;
  if (Finishes ||
      (scalesCodes(Op) && !usedAtSameIndex(Op) && !isResidualOfRows(Op, G)))
    return "it scales a product of codes, which the product's own kernel does";
  if (leavesRows(Op, G))
    return "its rows are computed as a whole, which that kernel does not";
  if (roleOf(Op) == Role::Root) {
    if (joinsRows(Op, G))
      return {};
    if (G.Root)
      return "that kernel has a root op already (a reduction, product, window "
             "or "
             "scatter)";
    if (!usedAtSameIndex(Op))
      return "its elements would be computed more than once";
    return {};
  }
  StringRef Why;
  forEachRealUser(Op, [&](Operation *User, bool) {
    if (isa<ConcatOp>(User) && !keepsLines(Op))
      Why = "a concat reads its parts from memory";
    else if (AtSameIndex.contains(User) && makesGatheredLines(Op, User, Facts))
      Why = "its user gathers its lines, each many times";
    else if (Transposed.contains(User) ||
             (!readsOnce(User) && !isReadByCopies(Op, User)))
      Why = "its user reads each element many times";
  });
  return Why;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

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
Group *RegionFormer::groupToShareWith(Operation *Op, StringRef &Why) {
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

void RegionFormer::build(Group &G) {
  // Views of what is computed elsewhere stay where they are.
  llvm::erase_if(G.Ops, [&](Operation *Op) {
    bool Outside = isa<ReshapeOp>(Op) &&
                   GroupOf.lookup(Op->getOperand(0).getDefiningOp()) != &G;
    if (Outside)
      GroupOf.erase(Op);
    return Outside;
  });
  SmallVector<Operation *> Ops(llvm::reverse(G.Ops));
  SmallVector<Value> Shared;
  for (Operation *Op : llvm::reverse(G.Shared))
    llvm::append_range(Shared, Op->getResults());
  buildRegion(Ops, Shared, [&](Operation *Op) { return GroupOf.contains(Op); });
  for (Operation *Op : G.Ops) {
    GroupOf.erase(Op);
    Op->dropAllUses();
    Op->erase();
  }
}

void RegionFormer::eraseDeadSources() {
  for (Operation &Op : llvm::make_early_inc_range(llvm::reverse(Body)))
    if (isOpTriviallyDead(&Op))
      Op.erase();
}

/// What is left in memory of one value repeated is written by a kernel. Data
/// would take the artifact's bytes, and there is no end to how many.
void RegionFormer::fillSplats() {
  constexpr int64_t MostBytes = 4096;
  for (Operation &Op : llvm::make_early_inc_range(Body)) {
    auto Constant = dyn_cast<ConstantOp>(Op);
    if (!Constant || !isCloned(Constant))
      continue;
    SymbolicTensorType Ty = typeOf(Constant.getY());
    int64_t Most = MostBytes / elementBytes(Ty.getElementType());
    if (Ty.getNumElements().asConstant().value_or(0) <= Most)
      continue;
    buildRegion({Constant}, {}, [](Operation *) { return false; });
    Constant.erase();
  }
}

struct FormRegionsPass : graph::impl::FormRegionsBase<FormRegionsPass> {
  using FormRegionsBase::FormRegionsBase;
  void runOnOperation() override {
    if (!isGraphFunction(getOperation()))
      return;
    Rules Rule{MaxOps, Fuse, Fuse && Rows ? int64_t(LongestRow) : 0,
               Transposed};
    shape::Facts Facts =
        symbolFacts(getOperation()->getParentOfType<ModuleOp>());
    for (Block *Body : blocksOf(getOperation()))
      RegionFormer(*Body, Rule, Facts).run();
  }
};

} // namespace
