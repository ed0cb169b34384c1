//===- CalibratedGraph.h - A graph and a calibration ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_CALIBRATEDGRAPH_H
#define KPC_COMPILER_CALIBRATEDGRAPH_H

#include "compiler/CompileOptions.h"
#include "compiler/CompileReport.h"
#include "compiler/SecondMoments.h"
#include "compiler/diagnostics/Diagnostics.h"
#include "compiler/import/WeightStore.h"
#include "mlir/IR/BuiltinOps.h"

namespace kpc {

/// Reads --calibration's file and writes its ranges into the module. False
/// after an error, such as a file that is of another model.
bool attachCalibration(mlir::ModuleOp Module, const CompileOptions &Options,
                       SecondMoments &Moments, CompileReport &Report,
                       Diagnostics &Diags);

/// The results that watch-operands added to the graph.
std::vector<WatchedResult> watchedResults(mlir::ModuleOp Module);

/// The switches that switch-precisions made.
std::vector<SwitchedNode> switchedNodes(mlir::ModuleOp Module);

/// The numbers of a graph.weight of floats, in f32; none for other weights.
std::optional<std::vector<float>> weightNumbers(mlir::Value V,
                                                const WeightStore &Weights);

} // namespace kpc

#endif // KPC_COMPILER_CALIBRATEDGRAPH_H
