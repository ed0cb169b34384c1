//===- GraphPipeline.h - The passes of each phase -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pipeline has two halves. `addGraphPasses` is the same for all targets:
/// it simplifies the graph, and recognises attention, RoPE and similar
/// patterns. `addPlanPasses` is for one class of targets: precision, fusion,
/// layout, kernels and plan. It depends only on the capabilities of these
/// targets, so that a target's kernels do not depend on the artifact's other
/// targets.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_GRAPHPIPELINE_H
#define KPC_COMPILER_GRAPHPIPELINE_H

#include "compiler/CompileOptions.h"
#include "compiler/target/TargetClass.h"
#include "mlir/Pass/PassManager.h"
#include "passes/graph/Passes.h"

namespace kpc {

/// The targets as the user named them; this machine's GPU, else its processor,
/// where none is named.
std::vector<std::string> targetNames(const CompileOptions &Options);

/// Model as imported → the graph of all targets, as --emit graph shows it.
void addGraphPasses(mlir::OpPassManager &Passes, const CompileOptions &Options);

/// Services of the driver that passes need.
struct PlanTools {
  /// Computes constants; without it they are computed at run time.
  graph::ConstantFolder Fold;
  /// Knows the numbers of weights.
  graph::WeightReader Read;
  graph::WeightBytes Bytes;
  /// Keeps those that passes make; without it they are constants of the graph.
  graph::WeightWriter Write;
  /// Knows the second moments of calibrated operands.
  graph::MomentReader Moments;
};

/// That graph → kernels in linalg form and a plan.
void addPlanPasses(mlir::OpPassManager &Passes, const CompileOptions &Options,
                   const target::TargetClass &For, const PlanTools &Tools);

} // namespace kpc

#endif // KPC_COMPILER_GRAPHPIPELINE_H
