//===- ProductWeights.h - The numbers of a weight ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_PRODUCTWEIGHTS_H
#define KPC_PASSES_GRAPH_PRODUCTWEIGHTS_H

#include "passes/graph/Calibration.h"
#include "passes/graph/Passes.h"

namespace kpc::graph {

/// The elements of a constant value in f32, row major, also through reshapes
/// and casts of floats; none where they are not known.
std::optional<std::vector<float>> numbersOf(mlir::Value V,
                                            const WeightReader &Read);

/// The weight of a GEMM or convolution as a matrix: K rows, the channels of the
/// operand again and again, and N columns.
struct ProductWeights {
  int64_t K = 0, N = 0, Channels = 0;
  std::vector<float> Numbers; ///< row major
  bool TakesZero = false;     ///< the operand may have a zero point: of a GEMM

  /// None where the numbers are not known, or channels cannot be told apart:
  /// in batches of GEMMs and groups of convolutions.
  static std::optional<ProductWeights> of(mlir::Operation *Product,
                                          const WeightReader &Read);

  const float *row(int64_t I) const { return Numbers.data() + I * N; }
  int64_t channelOf(int64_t Row) const { return Row % Channels; }
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_PRODUCTWEIGHTS_H
