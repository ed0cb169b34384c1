//===- LoopReads.cpp - What stages of a loop read -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/LoopReads.h"
#include "passes/kernels/form/SizeFacts.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace kpc::kernels {

/// Operations that are computed again rather than kept: a barrier and a load
/// of shared memory take as long.
static constexpr int64_t MostRepeated = 5;
static constexpr int64_t MathOperations = 10, SumOperations = 1000,
                         LoadOperations = 2;
/// Terms of a sum whose size is not known.
static constexpr int64_t UnknownTerms = 64;

/// Operations on elements in a generic's body; index arithmetic is free.
static int64_t operationsIn(linalg::LinalgOp Op) {
  int64_t Count = 0;
  Op.getBlock()->walk([&](Operation *Inner) {
    if (isa<math::MathDialect>(Inner->getDialect()))
      Count += MathOperations;
    else if (isa<scf::ForOp, scf::WhileOp>(Inner))
      Count += SumOperations;
    else if (auto Cast = dyn_cast<arith::IndexCastOp>(Inner);
             Cast && Cast.getType().isIndex())
      Count += MathOperations; // the place of a gather waits for its index
    else if (isa<arith::ArithDialect>(Inner->getDialect()) &&
             !isa<arith::ConstantOp>(Inner) && Inner->getNumResults() == 1 &&
             !Inner->getResult(0).getType().isIndex())
      ++Count;
  });
  return Count;
}

static bool reduces(linalg::LinalgOp Op) {
  return Op.getNumReductionLoops() > 0;
}

bool findsIndex(linalg::LinalgOp Op) {
  if (Op.getNumReductionLoops() != 1 || Op->getNumResults() != 2)
    return false;
  Block &Body = *Op.getBlock();
  auto Value =
           Body.getTerminator()->getOperand(0).getDefiningOp<arith::SelectOp>(),
       Place =
           Body.getTerminator()->getOperand(1).getDefiningOp<arith::SelectOp>();
  if (!Value || !Place || Value.getCondition() != Place.getCondition())
    return false;
  unsigned Inputs = Op.getNumDpsInputs();
  auto Cast = Place.getTrueValue().getDefiningOp<arith::IndexCastOp>();
  auto Index =
      Cast ? Cast.getIn().getDefiningOp<linalg::IndexOp>() : linalg::IndexOp();
  return Index &&
         Op.getIteratorTypesArray()[Index.getDim()] ==
             utils::IteratorType::reduction &&
         Value.getTrueValue() == Body.getArgument(0) &&
         Value.getFalseValue() == Body.getArgument(Inputs) &&
         Place.getFalseValue() == Body.getArgument(Inputs + 1);
}

//===----------------------------------------------------------------------===//
// The choice of stages
//===----------------------------------------------------------------------===//

LoopPlan::LoopPlan(kernel::LoopOp Op) : Loop(Op) {
  choose();
  // Once more: what reads a value that is kept costs less than it seemed.
  Known = IsStage;
  choose();
}

void LoopPlan::choose() {
  Costs.clear();
  Uses.clear();
  IsStage.clear();
  Kept.clear();
  Block &Body = Loop.getBody().front();
  for (Value V : Loop.getNext()->getOperands())
    if (linalg::LinalgOp Generic = loopsBehind(V);
        Generic && V.getParentBlock() == &Body)
      IsStage.insert(Generic);
  for (Operation &Inner : llvm::reverse(Body))
    if (linalg::LinalgOp Generic = loopsOf(&Inner))
      visit(Generic);
  std::reverse(Kept.begin(), Kept.end());
}

/// Of an element that another op reads.
int64_t LoopPlan::costOfRead(Value Operand) {
  Operation *Def = Operand.getDefiningOp();
  if (viewOf(Operand))
    return LoadOperations;
  return Def && !Known.contains(Def) ? costOf(Def) : 0;
}

int64_t LoopPlan::costOf(Operation *Op) {
  linalg::LinalgOp Generic = loopsOf(Op);
  if (!Generic || Op->getBlock() != &Loop.getBody().front())
    return 0;
  if (auto It = Costs.find(Op); It != Costs.end())
    return It->second;
  int64_t Cost = reduces(Generic) ? SumOperations : operationsIn(Generic);
  for (Value Operand : Generic.getDpsInputs())
    Cost += costOfRead(Operand);
  Generic.getBlock()->walk([&](tensor::ExtractOp Extract) {
    Cost += costOfRead(Extract.getTensor());
  });
  return Costs[Op] = std::min<int64_t>(Cost, 2 * SumOperations);
}

/// Users come first.
void LoopPlan::visit(linalg::LinalgOp Op) {
  Use &Mine = Uses[Op];
  int64_t Cost = costOf(Op);
  bool IsHeavy = Cost > MostRepeated, IsSum = Cost >= SumOperations;
  bool IsOwn = IsStage.contains(Op);
  if (!IsOwn && ((IsHeavy && (Mine.IsRepeated || Mine.Stages.size() > 1)) ||
                 (IsSum && (Mine.IsInSum || Mine.IsExtracted)))) {
    IsStage.insert(Op);
    IsOwn = true;
    for (Value Result : Op->getResults())
      if (!Result.use_empty())
        Kept.push_back(Result);
  }
  SmallVector<Operation *> Stages{Op.getOperation()};
  if (!IsOwn)
    Stages = Mine.Stages;
  bool IsRepeated = !IsOwn && Mine.IsRepeated,
       IsInSum = reduces(Op) || (!IsOwn && Mine.IsInSum),
       IsExtracted = !IsOwn && Mine.IsExtracted;
  auto Add = [&](Value Operand, bool Again, bool Extracted) {
    linalg::LinalgOp Def = loopsBehind(Operand);
    if (!Def || Def->getBlock() != Op->getBlock())
      return;
    Use &Of = Uses[Def];
    for (Operation *Stage : Stages)
      if (!llvm::is_contained(Of.Stages, Stage))
        Of.Stages.push_back(Stage);
    Of.IsRepeated |= IsRepeated || Again;
    Of.IsInSum |= IsInSum;
    Of.IsExtracted |= IsExtracted || Extracted;
  };
  for (OpOperand *Input : Op.getDpsInputOperands()) {
    AffineMap Map = Op.getMatchingIndexingMap(Input);
    bool Again = false;
    for (unsigned L = 0; L < Op.getNumLoops(); ++L)
      Again |= !Map.isFunctionOfDim(L) && constantOf(loopSize(Op, L)) != 1;
    Add(Input->get(), Again, false);
  }
  for (Value Init : Op.getDpsInits())
    Add(Init, false, false);
  Op.getBlock()->walk([&](tensor::ExtractOp Extract) {
    Add(Extract.getTensor(), false, true);
  });
}

//===----------------------------------------------------------------------===//
// The walk from a stage
//===----------------------------------------------------------------------===//

void LoopReads::readStage(Value Tensor) {
  unsigned Rank = cast<RankedTensorType>(Tensor.getType()).getRank();
  SmallVector<AffineExpr> At;
  for (unsigned I = 0; I < Rank; ++I)
    At.push_back(getAffineDimExpr(I, Tensor.getContext()));
  compute(Tensor, At);
}

void LoopReads::readCopy(Value Tensor) {
  unsigned Rank = cast<RankedTensorType>(Tensor.getType()).getRank();
  SmallVector<AffineExpr> At;
  for (unsigned I = 0; I < Rank; ++I)
    At.push_back(getAffineDimExpr(I, Tensor.getContext()));
  visit(Tensor, At);
}

void LoopReads::visit(Value Tensor, ArrayRef<AffineExpr> At) {
  if (IsKept(Tensor)) {
    All.push_back({Tensor, SmallVector<AffineExpr>(At)});
    return;
  }
  if (viewOf(Tensor)) {
    ++Loads;
    return;
  }
  if (auto Cast = Tensor.getDefiningOp<tensor::CastOp>())
    return visit(Cast.getSource(), At);
  auto Map = AffineMap::get(64, 1 << 16, At, Tensor.getContext());
  if (loopsBehind(Tensor) && Seen.insert({Tensor, Map}).second)
    compute(Tensor, At);
}

/// An index that a body computes, where it is affine.
AffineExpr LoopReads::indexOf(Value Index, ArrayRef<AffineExpr> Loops) {
  MLIRContext *Context = Index.getContext();
  if (std::optional<int64_t> Known = getConstantIntValue(Index))
    return getAffineConstantExpr(*Known, Context);
  Operation *Def = Index.getDefiningOp();
  if (auto Loop = dyn_cast_or_null<linalg::IndexOp>(Def))
    return Loops[Loop.getDim()];
  std::optional<AffineExprKind> Kind;
  if (isa_and_present<arith::AddIOp>(Def))
    Kind = AffineExprKind::Add;
  else if (isa_and_present<arith::MulIOp>(Def))
    Kind = AffineExprKind::Mul;
  else if (isa_and_present<arith::DivUIOp, arith::FloorDivSIOp>(Def))
    Kind = AffineExprKind::FloorDiv;
  else if (isa_and_present<arith::RemUIOp>(Def))
    Kind = AffineExprKind::Mod;
  if (!Kind)
    return unknown(Context);
  AffineExpr Left = indexOf(Def->getOperand(0), Loops),
             Right = indexOf(Def->getOperand(1), Loops);
  if (*Kind == AffineExprKind::Mul && isa<AffineConstantExpr>(Left))
    std::swap(Left, Right);
  auto Factor = dyn_cast<AffineConstantExpr>(Right);
  if (*Kind != AffineExprKind::Add &&
      (!Factor || (*Kind != AffineExprKind::Mul && Factor.getValue() <= 0)))
    return unknown(Context);
  return getAffineBinaryOpExpr(*Kind, Left, Right);
}

void LoopReads::compute(Value Tensor, ArrayRef<AffineExpr> At) {
  linalg::LinalgOp Op = loopsBehind(Tensor);
  MLIRContext *Context = Tensor.getContext();
  SmallVector<AffineExpr> Loops(Op.getNumLoops());
  AffineMap Result = Op.getIndexingMapMatchingResult(cast<OpResult>(Tensor));
  for (auto [Expr, Index] : llvm::zip(Result.getResults(), At))
    if (auto Dim = dyn_cast<AffineDimExpr>(Expr))
      Loops[Dim.getPosition()] = Index;
  int64_t Own = 1;
  for (auto [I, Loop] : llvm::enumerate(Loops))
    if (!Loop) {
      Loop = unknown(Context);
      Own = saturatingMul(Own, typicalOf(loopSize(Op, I), UnknownTerms));
    }
  if (reduces(Op)) {
    bool Combines =
        findsIndex(Op) ||
        llvm::all_of(llvm::seq<unsigned>(0, Op->getNumResults()),
                     [&](unsigned I) { return combinerOf(Op, I) != nullptr; });
    Splits = Combines && (Terms == 1 || Splits);
    Terms = std::max(Terms, Own);
  }
  Operations += operationsIn(Op);
  for (OpOperand &Operand : Op->getOpOperands()) {
    if (!Op.payloadUsesValueFromOperand(&Operand))
      continue;
    SmallVector<AffineExpr> Exprs;
    for (AffineExpr Expr : Op.getMatchingIndexingMap(&Operand).getResults())
      Exprs.push_back(simplifyAffineExpr(Expr.replaceDims(Loops), 64, Symbols));
    visit(Operand.get(), Exprs);
  }
  Op.getBlock()->walk([&](tensor::ExtractOp Extract) {
    SmallVector<AffineExpr> Exprs;
    for (Value Index : Extract.getIndices())
      Exprs.push_back(simplifyAffineExpr(indexOf(Index, Loops), 64, Symbols));
    visit(Extract.getTensor(), Exprs);
  });
}

} // namespace kpc::kernels
