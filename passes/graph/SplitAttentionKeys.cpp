//===- SplitAttentionKeys.cpp - Few heads and many keys ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.region (%q, %k, %v) { %0 = graph.attention …; graph.yield %0 }
///     →  %y, %parts, %counters = graph.region (…) {
///          …; graph.yield %0, %zeros, %no
///        } {graph.counters}
///
//===----------------------------------------------------------------------===//

#include "passes/graph/SplitAttentionKeys.h"
#include "compiler/target/Target.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeHeads.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/TargetNames.h"
#include "passes/schedule/DecodeSchedule.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_SPLITATTENTIONKEYS
#include "passes/graph/SplitAttentionKeys.h.inc"
} // namespace kpc::graph

namespace {

/// What splitting has to gain: the counters are cleared in any case, whichever
/// of its kernels a run takes.
constexpr double LeastGain = 1.08;

AttentionOp attentionIn(RegionOp Region) {
  AttentionOp Found;
  for (auto Op : Region.getBody().front().getOps<AttentionOp>()) {
    if (Found)
      return {};
    Found = Op;
  }
  return Found;
}

/// None where sizes are open that say how many blocks there are.
std::optional<schedule::DecodeShape> shapeOf(AttentionOp Op, bool Appends,
                                             const shape::Facts &Facts) {
  ArrayRef<Expr> QD = typeOf(Op.getQ()).getDims(),
                 KD = typeOf(Op.getK()).getDims();
  Type Element = typeOf(Op.getQ()).getElementType();
  std::optional<int64_t> Heads = QD[1].asConstant(),
                         Groups = KD[1].asConstant(),
                         Depth = QD[3].asConstant(),
                         Width = typeOf(Op.getV()).getStaticDim(3),
                         Keys = Facts.optimum(KD[2]),
                         Batch = Facts.optimum(QD[0]),
                         Queries = Facts.optimum(QD[2]);
  int64_t MostBatch = Facts.range(QD[0]).Max,
          MostQueries = Facts.range(QD[2]).Max;
  if (!Heads || !Groups || !*Groups || !Depth || !Width || !Keys ||
      (!Element.isF16() && !Element.isBF16()) ||
      MostBatch > schedule::MostSplitBlocks ||
      MostQueries > schedule::MostDecodeQueries)
    return std::nullopt;
  schedule::DecodeShape Shape;
  int64_t Each = *Heads / *Groups;
  Shape.Streams = Batch.value_or(1) * *Groups;
  Shape.Rows = Queries.value_or(1) * Each;
  Shape.Keys = *Keys;
  Shape.Depth = *Depth;
  Shape.Width = *Width;
  Shape.Appends = Appends;
  Shape.MostStreams = MostBatch * *Groups;
  Shape.MostRows = MostQueries * Each;
  return Shape;
}

/// Whether the best schedule of each target splits the keys.
bool pays(schedule::DecodeShape Shape,
          ArrayRef<const target::Target *> Targets) {
  return llvm::all_of(Targets, [&](const target::Target *T) {
    Shape.MaySplit = false;
    auto Whole = schedule::rankDecodeSchedules(Shape, *T);
    Shape.MaySplit = true;
    auto Split = schedule::rankDecodeSchedules(Shape, *T);
    return !Whole.empty() && Split[0].Schedule.Splits > 1 &&
           Split[0].Total * LeastGain < Whole[0].Total;
  });
}

void addMemory(RegionOp Region, AttentionOp Op) {
  OpBuilder B(Region);
  MLIRContext *Context = B.getContext();
  Location Loc = Region.getLoc();
  schedule::DecodeShape Shape;
  Shape.Width = *typeOf(Op.getV()).getStaticDim(3);
  Type F32 = B.getF32Type(), I32 = B.getI32Type();
  auto Parts = SymbolicTensorType::get(
      Context, {Expr(schedule::splitPartElements(Shape))}, F32);
  auto Counters =
      SymbolicTensorType::get(Context, {Expr(schedule::MostSplitBlocks)}, I32);
  SmallVector<Type> Types(Region.getResultTypes());
  Types.append({Parts, Counters});
  auto Wider =
      RegionOp::create(B, Loc, Types, Region.getName(), Region.getInputs());
  Wider->setDiscardableAttrs(Region->getDiscardableAttrDictionary());
  Wider->setAttr(CountersAttr, B.getUnitAttr());
  Wider.getBody().takeBody(Region.getBody());
  auto Yield = cast<graph::YieldOp>(Wider.getBody().front().getTerminator());
  B.setInsertionPoint(Yield);
  auto Zeros = [&](SymbolicTensorType Ty) -> Value {
    auto One = RankedTensorType::get({}, Ty.getElementType());
    Value Zero = ConstantOp::create(
        B, Loc,
        DenseElementsAttr::get(One, B.getZeroAttr(Ty.getElementType())));
    return BroadcastOp::create(B, Loc, Ty, Zero);
  };
  SmallVector<Value> Values(Yield.getValues());
  Values.push_back(Zeros(Parts));
  Values.push_back(Zeros(Counters));
  graph::YieldOp::create(B, Yield.getLoc(), Values);
  Yield.erase();
  Region.replaceAllUsesWith(
      Wider.getResults().take_front(Region.getNumResults()));
  Region.erase();
}

struct SplitAttentionKeysPass
    : graph::impl::SplitAttentionKeysBase<SplitAttentionKeysPass> {
  using SplitAttentionKeysBase::SplitAttentionKeysBase;

  void runOnOperation() override {
    if (!isGraphFunction(getOperation()))
      return;
    auto All = targetsNamed(Targets, getOperation());
    if (failed(All))
      return signalPassFailure();
    if (All->empty())
      return;
    shape::Facts Facts =
        symbolFacts(getOperation()->getParentOfType<ModuleOp>());
    // Not in loops and branches: what they hold is cleared once.
    for (auto Region : llvm::make_early_inc_range(
             getOperation().getBody().front().getOps<RegionOp>())) {
      AttentionOp Op = attentionIn(Region);
      if (!Op || Op->hasAttr(CodesAttr) || Region->hasAttr(CountersAttr))
        continue;
      std::optional<schedule::DecodeShape> Shape =
          shapeOf(Op, Region.getNumResults() > 1, Facts);
      if (!Shape || !pays(*Shape, *All))
        continue;
      remark::passed(Op.getLoc(),
                     remark::RemarkOpts::name("split-keys").category("fusion"))
          << "The keys of the attention are split over all multiprocessors, "
             "and the last block adds up.";
      addMemory(Region, Op);
    }
  }
};

} // namespace
