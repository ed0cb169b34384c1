//===- FoldConstants.cpp - Constants are computed when compiling ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The place of folding among the passes. What folds is the driver's
/// (compiler/fold), because it compiles and runs kernels.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/Passes.h"

namespace kpc::graph {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

using namespace kpc;

namespace {

struct FoldConstantsPass : graph::impl::FoldConstantsBase<FoldConstantsPass> {
  FoldConstantsPass() = default;
  explicit FoldConstantsPass(graph::ConstantFolder Fold)
      : Fold(std::move(Fold)) {}

  void runOnOperation() override {
    if (Fold && failed(Fold(getOperation())))
      signalPassFailure();
  }

  graph::ConstantFolder Fold;
};

} // namespace

std::unique_ptr<mlir::Pass> graph::createFoldConstants(ConstantFolder Fold) {
  return std::make_unique<FoldConstantsPass>(std::move(Fold));
}
