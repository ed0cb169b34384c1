//===- PadLeadingDimension.cpp - Copies that pad rows ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In:  regions. Out: the same, some with a copy in front or behind.
///
///   %y = graph.region "fc"(%x, %w)   →   %c = graph.region "x_rows"(%x)
///                                        %d = graph.region "fc"(%c, %w)
///                                        %y = graph.region "fc_rows"(%d)
///
/// `lower-regions` gives %c and %d the rows that the caller's %x and %y lack.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/GraphFunction.h"
#include "passes/graph/LeadingDimensions.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_PADLEADINGDIMENSION
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// A region that copies `V`, at the builder's place.
Value copyOf(OpBuilder &B, Value V, StringRef Name) {
  Location Loc = V.getLoc();
  auto Copy = RegionOp::create(B, Loc, V.getType(), (Name + "_rows").str(),
                               ValueRange{V});
  OpBuilder::InsertionGuard Guard(B);
  Block *Body = B.createBlock(&Copy.getBody(), {}, {V.getType()}, {Loc});
  Value Same =
      CastOp::create(B, Loc, Body->getArgument(0), typeOf(V).getElementType());
  YieldOp::create(B, Loc, Same);
  return Copy.getOutputs()[0];
}

class Repacker {
public:
  Repacker(func::FuncOp Main, const shape::Facts &Facts, int64_t LeastUses)
      : Main(Main), Facts(Facts), LeastUses(LeastUses) {}

  void run() {
    auto Regions = llvm::to_vector(Main.getBody().front().getOps<RegionOp>());
    for (RegionOp Region : Regions)
      if (MatmulOp Product = productOf(Region)) {
        copyInputs(Region, Product);
        copyOutput(Region, Product);
      }
  }

private:
  static MatmulOp productOf(RegionOp Region) {
    auto Products = Region.getBody().front().getOps<MatmulOp>();
    return Products.empty() ? MatmulOp() : *Products.begin();
  }
  /// How often each element of `V` is multiplied, the product being what it is.
  int64_t usesOf(Value V, MatmulOp Product) const {
    auto Count = [&](Value Of) {
      return Facts.optimum(typeOf(Of).getNumElements()).value_or(0);
    };
    Expr Sum = typeOf(Product.getA()).getDims().back();
    double Work = double(Count(Product.getResult())) *
                  double(Facts.optimum(Sum).value_or(0));
    return int64_t(Work / double(std::max<int64_t>(Count(V), 1)));
  }
  bool pays(Value V, MatmulOp Product) const {
    return wantsPadding(V, Facts) && usesOf(V, Product) >= LeastUses;
  }
  void copyInputs(RegionOp Region, MatmulOp Product);
  void copyOutput(RegionOp Region, MatmulOp Product);

  func::FuncOp Main;
  const shape::Facts &Facts;
  int64_t LeastUses;
  DenseMap<Value, Value> Copies; ///< of inputs
};

void Repacker::copyInputs(RegionOp Region, MatmulOp Product) {
  for (unsigned I : gemmInputs(Region)) {
    OpOperand &Use = Region.getInputsMutable()[I];
    auto Argument = dyn_cast<BlockArgument>(Use.get());
    if (!Argument || !pays(Argument, Product))
      continue;
    Value &Copy = Copies[Argument];
    if (!Copy) {
      OpBuilder B(Region);
      auto Name = Main.getArgAttrOfType<StringAttr>(Argument.getArgNumber(),
                                                    "graph.name");
      Copy = copyOf(B, Argument, Name ? Name.getValue() : "input");
    }
    Use.set(Copy);
  }
}

void Repacker::copyOutput(RegionOp Region, MatmulOp Product) {
  if (Region.getNumResults() != 1)
    return;
  Value Output = Region.getOutputs()[0];
  bool Returned = llvm::any_of(Output.getUsers(), [](Operation *User) {
    return isa<func::ReturnOp>(User);
  });
  if (!Returned || !pays(Output, Product))
    return;
  OpBuilder B(Region->getContext());
  B.setInsertionPointAfter(Region);
  Value Copy = copyOf(B, Output, Region.getName());
  // Other kernels read the product itself.
  Output.replaceUsesWithIf(
      Copy, [](OpOperand &Use) { return isa<func::ReturnOp>(Use.getOwner()); });
}

struct PadLeadingDimensionPass
    : graph::impl::PadLeadingDimensionBase<PadLeadingDimensionPass> {
  using PadLeadingDimensionBase::PadLeadingDimensionBase;
  void runOnOperation() override {
    func::FuncOp Main = getOperation();
    if (!isGraphFunction(Main) || !Main.getBody().hasOneBlock())
      return;
    shape::Facts Facts = symbolFacts(Main->getParentOfType<ModuleOp>());
    Repacker(Main, Facts, LeastUses).run();
  }
};

} // namespace
