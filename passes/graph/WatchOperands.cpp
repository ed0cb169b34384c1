//===- WatchOperands.cpp - What is multiplied by weights becomes results --===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   func.func @main(%x) -> (%y {graph.name = "y"})
///     %1 = graph.relu %0
///     %2 = graph.matmul %1, %w        loc("fc2")
///     →  -> (%y {graph.name = "y"},
///            %1 {graph.name = "kpc.operand0",
///                graph.watched = [["fc2", "gemm"]]})
///
/// The plan of such a function stores what else is only handed on within a
/// kernel. Values inside of loops and branches are no results of a function.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/Calibration.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_WATCHOPERANDS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

struct WatchOperandsPass : graph::impl::WatchOperandsBase<WatchOperandsPass> {
  using WatchOperandsBase::WatchOperandsBase;

  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    Block &Body = Func.getBody().front();
    Builder B(&getContext());
    llvm::MapVector<Value, SmallVector<Attribute>> Watched;
    Func.walk([&](Operation *Op) {
      if (!multipliesWeight(Op) || nodeName(Op).empty())
        return;
      if (Op->getBlock() != &Body)
        remark::missed(
            Op->getLoc(),
            remark::RemarkOpts::name("unwatched").category("quantisation"))
            << "What this multiplies is not calibrated, because it is in a "
               "loop or branch.";
      else
        Watched[Op->getOperand(0)].push_back(B.getStrArrayAttr(
            {nodeName(Op), isa<ConvOp>(Op) ? "conv" : "gemm"}));
    });
    Operation *Return = Body.getTerminator();
    SmallVector<Value> Results(Return->getOperands());
    SmallVector<DictionaryAttr> Attrs;
    for (unsigned I = 0; I < Results.size(); ++I)
      Attrs.push_back(B.getDictionaryAttr(Func.getResultAttrs(I)));
    for (auto &[V, Nodes] : Watched) {
      std::string Name = "kpc.operand" + std::to_string(Results.size());
      Attrs.push_back(B.getDictionaryAttr(
          {B.getNamedAttr("graph.name", B.getStringAttr(Name)),
           B.getNamedAttr(WatchedAttr, B.getArrayAttr(Nodes))}));
      Results.push_back(V);
    }
    Return->setOperands(Results);
    Func.setType(
        B.getFunctionType(Func.getArgumentTypes(), Return->getOperandTypes()));
    Func.setAllResultAttrs(Attrs);
  }
};

} // namespace
