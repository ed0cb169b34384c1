//===- FuseGatedMlp.cpp - A gated MLP's two GEMMs as one ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In:  regions of one product each, of one left side, the second of which
///      takes the first's result element by element (SwiGLU, GEGLU).
/// Out: one region of both products.
///
///   %g = graph.region "gate"(%x, %w)        →   %y = graph.region
///   { … matmul %x, %w … }                           "gate+up"(%x, %w, %v) {
///   %y = graph.region "up"(%g, %x, %v)                … matmul %x, %w …
///   { … matmul %x, %v … %g · … }                      … matmul %x, %v … · … }
///
/// The gate is neither written nor read, and both products read the left side
/// once. Behind set-precision, so that types are what the builder will see:
/// those for wgmma, tcgen05, mma.sync and few rows keep two sums, and to all
/// others such a region would be a loop for each element. So it is for such
/// targets alone. By mma.sync and tcgen05 it is done where costs say that it
/// gains. Weights may be codes that few rows read (graph.dequantise_tiles).
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/FusionCosts.h"
#include "passes/graph/GemmRegion.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/TargetNames.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_FUSEGATEDMLP
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

class Pairer {
public:
  Pairer(func::FuncOp Main, FusionCosts Costs, FusionCosts CostsOfCodes)
      : Main(Main), Costs(std::move(Costs)),
        CostsOfCodes(std::move(CostsOfCodes)) {}

  void run() {
    for (RegionOp Region :
         llvm::to_vector(Main.getBody().front().getOps<RegionOp>())) {
      if (Merged.contains(Region))
        continue;
      std::optional<GemmRegion> Gate = GemmRegion::readAny(Region);
      if (!Gate || !Region.getOutputs()[0].hasOneUse())
        continue;
      OpOperand &Use = *Region.getOutputs()[0].use_begin();
      auto User = dyn_cast<RegionOp>(Use.getOwner());
      std::optional<GemmRegion> Up =
          User ? GemmRegion::readAny(User) : std::nullopt;
      if (!Up || !meet(*Gate, *Up, Use.getOperandNumber()))
        continue;
      std::string Why = refusal(*Gate, *Up);
      if (Why.empty())
        merge(*Gate, *Up, Use.getOperandNumber());
      else
        remark::missed(User.getLoc(),
                       remark::RemarkOpts::name("gate").category("recognition"))
            << "The two GEMMs of a gated MLP are not fused: " + Why + ".";
    }
  }

private:
  /// Whether each element of the gate meets that of the other product at the
  /// same place, and both have one left side.
  static bool meet(GemmRegion &Gate, GemmRegion &Up, unsigned Operand) {
    BlockArgument In = Up.Region.getBody().getArgument(Operand);
    return Gate.input(Gate.A) == Up.input(Up.A) && In != Up.A && In != Up.B &&
           typeOf(In).getDims() == typeOf(Up.Matmul.getY()).getDims() &&
           isUsedInPlace(In);
  }
  std::string refusal(GemmRegion &Gate, GemmRegion &Up) const;
  void merge(GemmRegion &Gate, GemmRegion &Up, unsigned Operand);

  func::FuncOp Main;
  FusionCosts Costs, CostsOfCodes;
  DenseSet<Operation *> Merged; ///< are there no more
};

/// Types that epilogues of GEMMs store.
static bool isStored(Type Element) {
  return Element.isF16() || Element.isBF16() || Element.isF32() ||
         Element.isInteger(32) || Element.getIntOrFloatBitWidth() == 8;
}

/// Whether a kernel reads both weights alike.
static bool haveOneForm(GemmRegion &Gate, GemmRegion &Up) {
  if (!Gate.Tiles || !Up.Tiles)
    return Gate.B && Up.B && typeOf(Gate.B) == typeOf(Up.B);
  DequantiseTilesOp One = Gate.Tiles, Other = Up.Tiles;
  // Zero points are one number for each block, or one for all, which may be
  // another in each weight.
  auto AreStoredAlike = [](Value A, Value B) {
    return argumentBehind(A).getType() == argumentBehind(B).getType();
  };
  return llvm::equal(One->getOperands(), Other->getOperands(),
                     AreStoredAlike) &&
         One.getType() == Other.getType() && One.getBits() == Other.getBits() &&
         One.getBlock() == Other.getBlock() &&
         One.getNumber() == Other.getNumber();
}

std::string Pairer::refusal(GemmRegion &Gate, GemmRegion &Up) const {
  if (StringRef Why = Gate.refusal(!Costs.isAsked()); !Why.empty())
    return Why.str();
  if (StringRef Why = Up.refusal(!Costs.isAsked()); !Why.empty())
    return Why.str();
  if (!haveOneForm(Gate, Up))
    return "the two weights differ in size or type";
  if (!isStored(typeOf(Up.Region.getOutputs()[0]).getElementType()))
    return "no kernel of two products stores its result's type";
  const FusionCosts &Asked = Gate.Tiles ? CostsOfCodes : Costs;
  if (auto Slower = Asked.whereGateIsSlower(Gate.size()))
    return "one kernel is no faster" + Slower->str();
  return {};
}

void Pairer::merge(GemmRegion &Gate, GemmRegion &Up, unsigned Operand) {
  OpBuilder B(Up.Region);
  RegionMerger Joiner(B,
                      B.getFusedLoc({Gate.Region.getLoc(), Up.Region.getLoc()}),
                      (Gate.Region.getName() + "+" + Up.Region.getName()).str(),
                      Up.Region.getResultTypes());
  IRMapping Map;
  for (auto [Input, From] : llvm::zip_equal(
           Gate.Region.getInputs(), Gate.Region.getBody().getArguments()))
    Map.map(From, Joiner.argument(Input));
  for (Operation &Op : Gate.Region.getBody().front().without_terminator())
    B.clone(Op, Map);
  // What was rounded for memory alone stays as it was computed.
  Value Yielded =
      Map.lookup(Gate.Region.getBody().front().getTerminator()->getOperand(0));
  auto Rounded = Yielded.getDefiningOp<CastOp>();
  for (auto [I, Input] : llvm::enumerate(Up.Region.getInputs()))
    Map.map(Up.Region.getBody().getArgument(I),
            I == Operand ? Yielded : Joiner.argument(Input));
  for (Operation &Op : Up.Region.getBody().front()) {
    auto Widened = dyn_cast<CastOp>(Op);
    if (Widened && Rounded &&
        Widened.getX() == Up.Region.getBody().getArgument(Operand) &&
        Widened.getType() == Rounded.getX().getType())
      Map.map(Widened.getResult(), Rounded.getX());
    else
      B.clone(Op, Map);
  }
  if (Rounded && Rounded->use_empty())
    Rounded->erase();
  RegionOp Region = Joiner.finish();
  remark::passed(Region.getLoc(),
                 remark::RemarkOpts::name("gate").category("recognition"))
      << "The two GEMMs of a gated MLP are fused into one kernel.";
  Up.Region.getOutputs()[0].replaceAllUsesWith(Region.getOutputs()[0]);
  Merged.insert(Up.Region);
  Up.Region.erase();
  Gate.Region.erase();
}

struct FuseGatedMlpPass : graph::impl::FuseGatedMlpBase<FuseGatedMlpPass> {
  using FuseGatedMlpBase::FuseGatedMlpBase;
  void runOnOperation() override {
    func::FuncOp Main = getOperation();
    if (!isGraphFunction(Main) || !Main.getBody().hasOneBlock())
      return;
    auto All = targetsNamed(Targets, Main),
         OfCodes =
             targetsNamed(CodeTargets.empty() ? Targets : CodeTargets, Main);
    if (failed(All) || failed(OfCodes))
      return signalPassFailure();
    shape::Facts Facts = symbolFacts(Main->getParentOfType<ModuleOp>());
    Pairer(Main, FusionCosts(*All, Facts), FusionCosts(*OfCodes, Facts)).run();
  }
};

} // namespace
