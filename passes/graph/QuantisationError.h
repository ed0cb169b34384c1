//===- QuantisationError.h - The error that codes are expected to make ----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From the moments of an operand's channels and the numbers of a weight, in
/// the model of independent channels: the power of a product, and that of what
/// rounding both of its factors adds to it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_QUANTISATIONERROR_H
#define KPC_PASSES_GRAPH_QUANTISATIONERROR_H

#include "passes/graph/MakeCodes.h"
#include "passes/graph/ProductWeights.h"

namespace kpc::graph {

/// Signal over noise; 200 at most, also where one of the two is zero.
double decibels(double Signal, double Noise);

struct ExpectedError {
  double Signal = 0;                        ///< power of the product
  double Operand = 0, Weight = 0, Mean = 0; ///< of what rounding adds

  double noise() const { return Operand + Weight + Mean; }
  double decibels() const;
};

/// Whether the statistics have moments of each channel of the weight.
bool hasMoments(const OperandStatistics &Of, const ProductWeights &W);

/// What quantising both factors adds where row K of the weight is multiplied by
/// the factor of its channel; by one where `Factors` is empty. The weight's
/// codes have a scale for each column. Threads share the columns, and the
/// result is the same for any number of them.
ExpectedError expectedError(const OperandStatistics &Of,
                            const ProductWeights &W,
                            llvm::ArrayRef<float> Factors, CodeType Type);

/// The mean error of each column: mean of the operand times (w - rounded w).
std::vector<float> meanError(const OperandStatistics &Of,
                             const ProductWeights &W, CodeType Type);

/// "31.2 dB"
std::string decibelText(double Decibels);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_QUANTISATIONERROR_H
