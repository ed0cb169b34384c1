//===- AllowTf32.cpp - Products of f32 may be made of tf32 ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   kernel.gemm %a, %b into %zeros
///   kernel.gemm %a, %b tf32 into %zeros
///
/// In: kernels in linalg form. Out: the same; GEMMs, convolutions and attention
/// of f32 say that factors may be rounded to tf32 where tensor cores multiply
/// them. Sums that give angles or coordinates are left as they are, and so are
/// those of nodes to be kept.
///
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "dialects/kernel/KernelRecurrent.h"
#include "dialects/plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/graph/Passes.h"
#include "passes/graph/StoredValues.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace kpc;

namespace kpc::graph {
#define GEN_PASS_DEF_ALLOWTF32
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

struct AllowTf32Pass : graph::impl::AllowTf32Base<AllowTf32Pass> {
  using AllowTf32Base::AllowTf32Base;
  void runOnOperation() override;
};

void AllowTf32Pass::runOnOperation() {
  ModuleOp Module = getOperation();
  FailureOr<graph::NodePatterns> Kept = graph::NodePatterns::read(Keep, Module);
  if (failed(Kept))
    return signalPassFailure();
  llvm::StringSet<> Exact;
  Module.walk([&](plan::LaunchOp Launch) {
    if (Launch->removeAttr(graph::ExactAttr))
      Exact.insert(Launch.getKernel());
    if (auto Nodes = Launch.getNodes())
      for (auto Node : Nodes->getAsValueRange<StringAttr>())
        if (Kept->match(Node))
          Exact.insert(Launch.getKernel());
  });
  for (auto Kernel : Module.getOps<func::FuncOp>()) {
    if (!kernel::buffersOf(Kernel) || Exact.contains(Kernel.getSymName()))
      continue;
    Kernel.walk([](Operation *Op) {
      if (auto Gemm = dyn_cast<kernel::GemmOp>(Op))
        Gemm.setTf32(Gemm.getAccumulatorType().isF32());
      if (auto Conv = dyn_cast<kernel::ConvOp>(Op))
        Conv.setTf32(Conv.getAccumulatorType().isF32());
      if (auto Recurrent = dyn_cast<kernel::RecurrentOp>(Op))
        Recurrent.setTf32(cast<MemRefType>(Recurrent.getR().getType())
                              .getElementType()
                              .isF32());
      if (auto Attention = dyn_cast<kernel::AttentionOp>(Op))
        Attention.setTf32(true);
    });
  }
}

} // namespace
