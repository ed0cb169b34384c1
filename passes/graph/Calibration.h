//===- Calibration.h - What calibration found of operands -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranges of what GEMMs and convolutions multiply with their weights, as
/// `kpc calibrate` found them in data. The module holds them by the name of the
/// node that multiplies:
///
///   module attributes {graph.calibration = {conv1 = {
///     least = -1.0 : f64, greatest = 3.0 : f64, range = 2.5 : f64,
///     largest = dense<…> : tensor<64xf32>, mean = …, rms = …}}}
///
/// `range` is the greatest magnitude that is told apart; what is beyond it is
/// clipped. `rows` in addition: each row of the operand finds its own scale in
/// each run all the same. The lists have an entry for each channel, the last
/// dim, and may be missing. An op that has been given another operand holds the
/// same dictionary itself, as `graph.operand`.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_CALIBRATION_H
#define KPC_PASSES_GRAPH_CALIBRATION_H

#include "passes/graph/NodePatterns.h"

namespace kpc::graph {

constexpr llvm::StringLiteral CalibrationAttr = "graph.calibration",
                              OperandAttr = "graph.operand";
/// Of a result that watch-operands added: [node, "gemm" or "conv"] of each that
/// multiplies it.
constexpr llvm::StringLiteral WatchedAttr = "graph.watched";
/// Of a product: "int8", "fp8" or "none", whatever else is asked for.
constexpr llvm::StringLiteral PrecisionAttr = "graph.precision";
/// Of a module: [node, type, type…] of each switch that switch-precisions made.
constexpr llvm::StringLiteral SwitchedAttr = "graph.switched";

struct OperandStatistics {
  double Least = 0, Greatest = 0, Range = 0;
  /// Each row finds its scale in each run; the rest is known all the same.
  bool ScalesOfRows = false;
  /// Of each channel: the greatest magnitude, the mean, the root mean square.
  llvm::SmallVector<float> Largest, Mean, Rms;

  /// The greatest magnitude of all.
  double magnitude() const { return std::max(-Least, Greatest); }
  /// Whether nothing is negative: integers need no sign then.
  bool isUnsigned() const { return Least >= 0; }

  mlir::DictionaryAttr attribute(mlir::MLIRContext *Context) const;
};

/// What is known of the operand that a GEMM or convolution multiplies with its
/// weight.
std::optional<OperandStatistics> statisticsOf(mlir::Operation *Product);

/// Whether the op is a GEMM or convolution of floats by a constant that is not
/// made of codes yet: what can be quantised.
bool multipliesWeight(mlir::Operation *Op);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_CALIBRATION_H
