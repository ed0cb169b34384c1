//===- HoistInvariants.cpp - What each iteration would compute alike ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In:  loops. Out: the same, ops that depend on no iteration in front.
///
///   graph.loop "i" … {               %0 = graph.transpose %w …
///     %0 = graph.transpose %w …   →  graph.loop "i" … {
///     %1 = graph.matmul %h, %0         %1 = graph.matmul %h, %0
///
/// Upstream's pass would move too much: an op depends on the iteration also
/// where a size of it names the loop's counter. What is moved out of a loop is
/// folded with the model's other constants if it is one.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_HOISTINVARIANTS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Whether a type, size or start in `Op` or below names the symbol.
bool dependsOn(Operation *Op, StringRef Counter) {
  bool Named = false;
  AttrTypeWalker Walker;
  Walker.addWalk(
      [&](SymbolicTensorType Ty) { Named |= names(Ty.getDims(), Counter); });
  Walker.addWalk(
      [&](DimsAttr Sizes) { Named |= names(Sizes.getDims(), Counter); });
  Op->walk([&](Operation *Inner) {
    Walker.walk(Inner->getAttrDictionary());
    for (Type Ty : Inner->getResultTypes())
      Walker.walk(Ty);
  });
  return Named;
}

struct HoistInvariantsPass
    : graph::impl::HoistInvariantsBase<HoistInvariantsPass> {
  void runOnOperation() override {
    if (!isGraphFunction(getOperation()))
      return;
    // Inner loops first: what leaves one may leave the next.
    getOperation().walk([](LoopOp Loop) { hoist(Loop); });
  }

  static void hoist(LoopOp Loop) {
    moveLoopInvariantCode(
        &Loop.getBody(),
        [&](Value V, Region *Body) {
          return !Body->isAncestor(V.getParentRegion());
        },
        [&](Operation *Op, Region *) {
          return isPure(Op) && !dependsOn(Op, Loop.getCounter());
        },
        [&](Operation *Op, Region *) { Op->moveBefore(Loop); });
  }
};

} // namespace
