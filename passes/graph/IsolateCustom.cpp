//===- IsolateCustom.cpp - Users' operators become kernels ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In:  graph.custom, with code for GPUs, the host or both.
/// Out: each in a region of its own, with the code of this class of targets.
///
///   %y = graph.custom "a::b" (%x)     →  %y = graph.region "node" (%x) {
///          cuda {…} host {…}               %1 = graph.custom "a::b" (%a) cuda
///          {…}
///                                          graph.yield %1 }
///
/// A 32-bit argument that may be too large becomes a requirement, which a run
/// checks when it binds.
///
//===----------------------------------------------------------------------===//

#include "dialects/graph/CustomCode.h"
#include "dialects/graph/Requirements.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_ISOLATECUSTOM
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

struct IsolateCustomPass : graph::impl::IsolateCustomBase<IsolateCustomPass> {
  using IsolateCustomBase::IsolateCustomBase;

  void runOnOperation() override {
    SmallVector<CustomOp> Ops;
    getOperation().walk([&](CustomOp Op) {
      if (!Op->getParentOfType<RegionOp>())
        Ops.push_back(Op);
    });
    if (Ops.empty())
      return;
    Facts = symbolFacts(getOperation());
    Required = requirements(getOperation());
    bool Good = true;
    for (CustomOp Op : Ops)
      Good &= succeeded(isolate(Op));
    if (!Good)
      return signalPassFailure();
    if (!Required.empty())
      setRequirements(getOperation(), Required);
  }

private:
  LogicalResult isolate(CustomOp Op) {
    auto Kept = Gpu ? Op.getCuda() : Op.getHost();
    if (!Kept)
      return Op.emitError("the custom operator '")
             << Op.getOperatorName() << "' has no code for "
             << (Gpu ? "GPUs" : "the host") << "; add \""
             << (Gpu ? "cuda" : "host") << "\" to its manifest, or compile for "
             << (Gpu ? "the host" : "GPUs") << " alone";
    if (Gpu)
      Op.removeHostAttr();
    else
      Op.removeCudaAttr();
    std::string Problem;
    std::optional<CustomCode> Code =
        CustomCode::read(*Kept, Gpu, /*WithSizes=*/true, Problem);
    if (!Code)
      return Op.emitError("bad code: ") << Problem;
    for (auto [Type, Size] : llvm::zip(Code->Arguments, Code->Sizes))
      if (Type == "i32" && failed(fitIn32Bits(Op, Size)))
        return failure();
    moveIntoRegion(Op);
    return success();
  }

  /// With an operand for each input of the user's function, also where two are
  /// the same value.
  static void moveIntoRegion(CustomOp Op) {
    OpBuilder B(Op);
    auto Node = Op->getLoc()->findInstanceOf<NameLoc>();
    auto Region = RegionOp::create(
        B, Op.getLoc(), Op.getResultTypes(),
        Node ? Node.getName().strref() : Op.getOperatorName(), Op.getInputs());
    Op.replaceAllUsesWith(Region.getResults());
    Block *Body = B.createBlock(&Region.getBody());
    for (Value Input : Op.getInputs())
      Body->addArgument(Input.getType(), Input.getLoc());
    Op->moveBefore(Body, Body->end());
    Op->setOperands(Body->getArguments());
    YieldOp::create(B, Op.getLoc(), Op.getResults());
  }

  LogicalResult fitIn32Bits(CustomOp Op, const Expr &Size) {
    constexpr int64_t Most = INT32_MAX;
    shape::Interval Range = Facts.range(Size);
    if (Range.Max <= Most)
      return success();
    if (auto Loop = Op->getParentOfType<LoopOp>();
        Loop && names({Size}, Loop.getCounter()))
      return Op.emitError("the 32-bit argument ")
             << Size.str() << " of '" << Op.getOperatorName()
             << "' changes in a loop and may be too large; make it an i64";
    Requirement R{Size, Expr(Most), /*Equal=*/false,
                  "an argument of the custom operator '" +
                      Op.getOperatorName().str() + "' has 32 bits"};
    if (!llvm::is_contained(Required, R))
      Required.push_back(std::move(R));
    return success();
  }

  shape::Facts Facts;
  std::vector<Requirement> Required;
};

} // namespace
