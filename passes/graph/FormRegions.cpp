//===- FormRegions.cpp - Groups ops into kernels -------------------------===//
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
#include "passes/graph/Passes.h"
#include "passes/graph/RegionBuilder.h"
#include "passes/graph/RegionFormer.h"
#include "passes/graph/RegionRoles.h"
#include "passes/graph/ScorePlaces.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_FORMREGIONS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

RegionFormer::RegionFormer(Block &Body, const Rules &Rule,
                           const shape::Facts &Facts)
    : Body(Body), Rule(Rule), Facts(Facts) {
  // Elsewhere, no op need be asked whether it scales a product of codes.
  for (Operation &Op : Body)
    HasCodeProducts |= isCodeProduct(&Op);
}

void RegionFormer::run() {
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
    // A clone may get its address.
    Place.erase(Op);
    MadeOfRows.erase(Op);
    Op->erase();
    return;
  }
  // A clone is made where it is used; only what leaves the block or meets a
  // view needs memory.
  bool NeedsMemory = llvm::any_of(Op->getUsers(), takesMemory);
  NeedsMemory |= llvm::any_of(Op->getUses(), readsMemory);
  if (isCloned(Op) && !NeedsMemory)
    return;

  if (!NeedsMemory && (isCheaperAgain(Op) || makesDigits(Op) ||
                       (Rule.Fuse && isMaskOfPlaces(Op))))
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
RegionFormer::Group *RegionFormer::groupToJoin(Operation *Op) {
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

RegionFormer::Group *RegionFormer::groupOfAllUsers(Operation *Op,
                                                   StringRef &Why) {
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

bool RegionFormer::scalesCodes(Operation *Op) const {
  return HasCodeProducts && isCodeEpilogue(Op);
}

bool RegionFormer::usedAtSameIndex(Operation *Op) {
  bool Same = true;
  forEachRealUser(Op, [&](Operation *User, bool ThroughBroadcast) {
    Same &= !ThroughBroadcast && User->hasTrait<ElementwiseTrait>() &&
            AtSameIndex.contains(User);
  });
  return Same;
}

/// Whether the product of codes that `Op` scales may follow it into `G`. The
/// sums alone would be stored in f32.
bool RegionFormer::mayFinish(Operation *Op, Group &G) {
  Operation *Product = rawProductFinishedBy(Op);
  return !G.Root && usedAtSameIndex(Op) &&
         llvm::none_of(G.Ops, [&](Operation *Other) {
           Operation *Of = rawProductFinishedBy(Other);
           return Of && Of != Product;
         });
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
        isSliceOfHeads(Op) || widensHeads(Op) || isMaskOfPlaces(Op))
      return {};
    return "attention is a kernel of its own";
  }
  bool Finishes = finishesRawProduct(Op) && !mayFinish(Op, G);
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

namespace {
struct FormRegionsPass : graph::impl::FormRegionsBase<FormRegionsPass> {
  using FormRegionsBase::FormRegionsBase;
  void runOnOperation() override {
    if (!isGraphFunction(getOperation()))
      return;
    RegionFormer::Rules Rule{
        MaxOps, Fuse, Fuse && Rows ? int64_t(LongestRow) : 0, Transposed};
    shape::Facts Facts =
        symbolFacts(getOperation()->getParentOfType<ModuleOp>());
    for (Block *Body : blocksOf(getOperation()))
      RegionFormer(*Body, Rule, Facts).run();
  }
};

} // namespace
