//===- Passes.h - Passes on the graph dialect -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_PASSES_H
#define KPC_PASSES_GRAPH_PASSES_H

#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"
#include "mlir/Pass/Pass.h"

#include <functional>

namespace kpc::graph {

/// Replaces what a module computes from constants alone by its values. It needs
/// a compiler and a processor, which are above the passes: the driver has one.
using ConstantFolder = std::function<mlir::LogicalResult(mlir::ModuleOp)>;

/// The elements of a weight (or a constant) in f32, row major; none where it is
/// not known. The driver has the bytes.
using WeightReader =
    std::function<std::optional<std::vector<float>>(mlir::Value)>;

/// The bytes of a weight as the model has them; none where they are not known.
using WeightBytes =
    std::function<std::optional<llvm::ArrayRef<uint8_t>>(WeightOp)>;

/// Keeps bytes, row major, and gives the name by which graph.weight finds them.
using WeightWriter =
    std::function<std::string(SymbolicTensorType, std::vector<uint8_t>)>;

/// Mean products of the channels that a node multiplies, as the rows of the
/// upper triangle; none where calibration did not keep them.
using MomentReader =
    std::function<std::optional<std::vector<float>>(llvm::StringRef)>;

#define GEN_PASS_DECL
#include "passes/graph/Passes.h.inc"

/// The pass with a folder; without one it leaves the module as it is.
std::unique_ptr<mlir::Pass> createFoldConstants(ConstantFolder Fold);

/// The passes that look at weights. Without a reader they see constants alone.
std::unique_ptr<mlir::Pass> createSmoothChannels(SmoothChannelsOptions Options,
                                                 WeightReader Read);
std::unique_ptr<mlir::Pass> createCorrectBias(CorrectBiasOptions Options,
                                              WeightReader Read);

std::unique_ptr<mlir::Pass>
createScaleWeights(const ScaleWeightsOptions &Options, WeightReader Read);
/// Without bytes, codes of FP8 are taken for finite numbers.
std::unique_ptr<mlir::Pass>
createTileFewRowWeights(const TileFewRowWeightsOptions &Options,
                        WeightBytes Bytes);
/// The same that make weights; without a writer they are constants.
std::unique_ptr<mlir::Pass>
createQuantiseWeights(const QuantiseWeightsOptions &Options, WeightReader Read,
                      WeightWriter Write);
std::unique_ptr<mlir::Pass>
createRoundByFeedback(const RoundByFeedbackOptions &Options, WeightReader Read,
                      MomentReader Moments, WeightWriter Write);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_PASSES_H
