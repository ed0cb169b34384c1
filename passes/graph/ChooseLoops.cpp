//===- ChooseLoops.cpp - Loops whose state stays on the chip --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %h, %y = graph.loop "i" (%h0) { … }
///     →  %h, %y = graph.region (%h0, %xs, …) {
///          … = graph.loop "i" (…) { … }
///        }
///
/// The kernel of the region is written here once, and the family of loops is
/// asked for its schedules on each target (passes/schedule/LoopSchedule.h).
///
//===----------------------------------------------------------------------===//

#include "passes/graph/ChooseLoops.h"
#include "compiler/target/Target.h"
#include "dialects/graph/GraphRecurrent.h"
#include "dialects/kernel/Kernel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/RegionBuilder.h"
#include "passes/graph/TargetNames.h"
#include "passes/graph/linalg/KernelWriter.h"
#include "passes/kernels/form/LoopForm.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_CHOOSELOOPS
#include "passes/graph/ChooseLoops.h.inc"
} // namespace kpc::graph

namespace {

bool isSplat(Operation *Op) {
  auto Constant = dyn_cast<ConstantOp>(Op);
  auto Elements = Constant ? dyn_cast<DenseElementsAttr>(Constant.getValue())
                           : DenseElementsAttr();
  return Elements && Elements.isSplat();
}

/// What is memory wherever it stands.
bool isSource(Operation *Op) {
  return isa<WeightOp>(Op) || (isa<ConstantOp>(Op) && !isSplat(Op));
}

bool isTaken(Operation *Op) {
  return Op->hasTrait<ElementwiseTrait>() || isSource(Op) || isSplat(Op) ||
         isa<BroadcastOp, TransposeOp, ReshapeOp, SliceOp, ConcatOp, PadOp,
             GatherOp, GatherElementsOp, GatherNdOp, IotaOp, SizesOp, ReduceOp,
             ArgReduceOp, CumSumOp, ScatterElementsOp, ScatterNdOp, MatmulOp>(
             Op);
}

/// Ops of which each is a kernel of its own, if steps are kernels.
bool isKernel(Operation *Op) {
  return isa<GatherElementsOp, GatherNdOp, ReduceOp, ArgReduceOp, CumSumOp,
             ScatterElementsOp, ScatterNdOp, MatmulOp, ConcatOp>(Op);
}

/// Whether sizes and places in `Op` can be computed from the step's number.
bool followsCounter(Operation *Op, StringRef Counter) {
  bool Follows = true;
  auto Check = [&](ArrayRef<Expr> All) {
    for (const Expr &E : All)
      Follows &= KernelWriter::followsCounter(E, Counter);
  };
  for (NamedAttribute Attr : Op->getAttrs())
    if (auto Sizes = dyn_cast<DimsAttr>(Attr.getValue()))
      Check(Sizes.getDims());
  for (Type Ty : Op->getResultTypes())
    Follows &= !names(cast<SymbolicTensorType>(Ty).getDims(), Counter);
  return Follows;
}

/// A loop that only data ends, with no bound, would keep the chip where it
/// never does; step by step, the session's limit ends it.
constexpr int64_t MostEndedSteps = 1 << 20;

/// Values that a kernel reads: each is a parameter, of which there are 4 KiB.
constexpr size_t MostInputs = 128;
/// Ops of one body: each element of a stage may take all of them.
constexpr size_t MostOps = 512;

/// Why no kernel can hold the body; empty: one can.
std::string bodyRefusal(LoopOp Loop, const shape::Facts &Facts) {
  if (Loop.endsByData() && Facts.range(Loop.getTrips()).Max > MostEndedSteps)
    return "data alone ends it: a run that goes on could not be stopped. A "
           "greatest number of steps, at most " +
           std::to_string(MostEndedSteps) + ", bounds it";
  if (Loop.getBody().front().getOperations().size() > MostOps)
    return "its body has more than " + std::to_string(MostOps) + " operations";
  for (Operation &Op : Loop.getBody().front().without_terminator()) {
    if (isa<LoopOp, IfOp>(Op))
      return "its body holds a loop or a branch";
    if (!isTaken(&Op))
      return "its body holds '" + wordsFor(&Op) +
             "', which is a kernel of its own";
    if (!followsCounter(&Op, Loop.getCounter()))
      return "'" + wordsFor(&Op) +
             "' has sizes or a place that steps do not change by one number";
  }
  return {};
}

/// The loop in a region of its own, before it; it stays.
RegionOp regionOf(LoopOp Loop) {
  llvm::SetVector<Value> Inputs;
  llvm::SetVector<Operation *> Clones;
  std::function<void(Value)> Take = [&](Value V) {
    Operation *Def = V.getDefiningOp();
    if (Def && Loop->isAncestor(Def) && !isSource(Def))
      return;
    if (auto Argument = dyn_cast<BlockArgument>(V);
        Argument && Argument.getOwner()->getParentOp() == Loop)
      return;
    if (!Def || !isCloned(Def) || Loop->isAncestor(Def)) {
      Inputs.insert(V);
      return;
    }
    for (Value Operand : Def->getOperands())
      Take(Operand);
    Clones.insert(Def);
  };
  for (Value Operand : Loop->getOperands())
    Take(Operand);
  // Weights stand before the loop.
  for (Operation &Op :
       llvm::make_early_inc_range(Loop.getBody().front().without_terminator()))
    if (isSource(&Op))
      Op.moveBefore(Loop);
  Loop.getBody().walk([&](Operation *Op) {
    for (Value Operand : Op->getOperands())
      Take(Operand);
  });
  OpBuilder B(Loop);
  Location Loc = Loop.getLoc();
  auto Node = Loc->findInstanceOf<NameLoc>();
  auto Region = RegionOp::create(B, Loc, Loop.getResultTypes(),
                                 Node ? Node.getName().strref() : "loop",
                                 Inputs.getArrayRef());
  Block *Body = B.createBlock(&Region.getBody());
  IRMapping Map;
  for (Value Input : Inputs)
    Map.map(Input, Body->addArgument(Input.getType(), Input.getLoc()));
  for (Operation *Clone : Clones)
    B.clone(*Clone, Map);
  Operation *Inner = B.clone(*Loop, Map);
  YieldOp::create(B, Loc, Inner->getResults());
  return Region;
}

struct ChooseLoopsPass : graph::impl::ChooseLoopsBase<ChooseLoopsPass> {
  using ChooseLoopsBase::ChooseLoopsBase;

  /// Why the kernel of the region is none on a target; empty: it is one.
  std::string refusal(RegionOp Region, int64_t Launches,
                      ArrayRef<const target::Target *> All,
                      const shape::Facts &Facts,
                      const LeadingDimensions &Rows) {
    OpBuilder B(getOperation().getBody(), getOperation().getBody()->end());
    KernelWriter Writer(B, Region, "kpc_loop_on_trial", Facts, Rows);
    bool IsWritten = false;
    {
      ScopedDiagnosticHandler Quiet(&getContext(),
                                    [](Diagnostic &) { return success(); });
      IsWritten = succeeded(Writer.write());
    }
    func::FuncOp Kernel = Writer.kernel();
    std::string Why;
    if (!IsWritten)
      Why = "no kernel can be made of an op in its body";
    else
      Why = refusal(Kernel, Launches, All);
    Kernel.erase();
    return Why;
  }

  std::string refusal(func::FuncOp Kernel, int64_t Launches,
                      ArrayRef<const target::Target *> All) {
    FailureOr<kernels::FusedKernel> Form = kernels::FusedKernel::read(Kernel);
    if (failed(Form))
      return "it is not in the form of kernels";
    std::string Why;
    std::optional<kernels::LoopForm> Loop = kernels::LoopForm::read(*Form, Why);
    if (!Loop)
      return Why;
    schedule::LoopShape Shape = Loop->shape();
    for (const target::Target *T : All) {
      std::vector<schedule::LoopCost> Ranked =
          schedule::rankLoopSchedules(Shape, *T, &Why);
      if (Ranked.empty())
        return Why;
      double One = Ranked.front().Total,
             Each = schedule::costOfSteps(Shape, Launches, *T);
      if (One > Each)
        return llvm::formatv("too little of it runs at once: by the cost model "
                             "of {0} it takes {1:F0} us as one kernel in {2} "
                             "blocks, and its {3} launches about {4:F0}",
                             T->Name, One,
                             Ranked.front().Schedule.blocks(Shape),
                             Shape.Steps * Launches, Each)
            .str();
    }
    return {};
  }

  void choose(LoopOp Loop, ArrayRef<const target::Target *> All,
              const shape::Facts &Facts) {
    std::string Why = bodyRefusal(Loop, Facts);
    if (Why.empty()) {
      int64_t Launches = 1;
      for (Operation &Op : Loop.getBody().front())
        Launches += isKernel(&Op);
      RegionOp Region = regionOf(Loop);
      LeadingDimensions Rows(Loop->getParentOfType<func::FuncOp>(), Facts);
      if (Region.getInputs().size() > MostInputs)
        Why = "it reads more than " + std::to_string(MostInputs) + " tensors";
      else
        Why = refusal(Region, Launches, All, Facts, Rows);
      if (Why.empty()) {
        Loop.replaceAllUsesWith(Region.getResults());
        Loop.erase();
        return;
      }
      Region.erase();
    }
    remark::missed(Loop.getLoc(),
                   remark::RemarkOpts::name("loop").category("recognition"))
        << "A loop is not one kernel, because " + Why +
               "; each of its steps is kernels of its own.";
    SmallVector<LoopOp> Inner;
    for (Operation &Op : Loop.getBody().front())
      Op.walk<WalkOrder::PreOrder>([&](LoopOp Next) {
        Inner.push_back(Next);
        return WalkResult::skip();
      });
    for (LoopOp Next : Inner)
      choose(Next, All, Facts);
  }

  void runOnOperation() override {
    auto All = targetsNamed(Targets, getOperation());
    if (failed(All))
      return signalPassFailure();
    if (All->empty())
      return;
    shape::Facts Facts = symbolFacts(getOperation());
    SmallVector<LoopOp> Loops;
    for (func::FuncOp Func : getOperation().getOps<func::FuncOp>())
      if (isGraphFunction(Func))
        Func.walk<WalkOrder::PreOrder>([&](Operation *Op) {
          if (isa<RegionOp>(Op))
            return WalkResult::skip();
          auto Loop = dyn_cast<LoopOp>(Op);
          if (!Loop)
            return WalkResult::advance();
          Loops.push_back(Loop);
          return WalkResult::skip();
        });
    for (LoopOp Loop : Loops)
      choose(Loop, *All, Facts);
  }
};

} // namespace
