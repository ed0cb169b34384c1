//===- QuantisedPairs.h - Quantising and dequantising, read -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// QuantizeLinear and DequantizeLinear of a whole tensor, as importers spell
/// them:
///
///   dequantised: cast((cast i32 codes - zero) cast f32 * scale)
///   quantised:   cast(min(max(round(x / scale) + zero, least), most))
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_QUANTISEDPAIRS_H
#define KPC_PASSES_GRAPH_QUANTISEDPAIRS_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// What one scale and one zero point mean for codes of 8 or 16 bits.
struct CodeScale {
  /// A positive number of f32.
  double Scale = 0;
  int64_t Zero = 0;
  /// An integer.
  mlir::Type Code;
  /// What codes are dequantised to.
  mlir::Type Number;

  /// Whether codes mean the same, whatever they are dequantised to.
  bool hasCodesOf(const CodeScale &Other) const {
    return Scale == Other.Scale && Zero == Other.Zero && Code == Other.Code;
  }
  bool operator==(const CodeScale &Other) const {
    return hasCodesOf(Other) && Number == Other.Number;
  }

  int64_t least() const;
  int64_t most() const;
  /// The number that a code stands for, as it is computed.
  double numberOf(int64_t C) const;
  /// The code that stands for exactly this number; none: there is no such code.
  std::optional<int64_t> codeOf(double X) const;
};

struct Dequantised : CodeScale {
  mlir::Value Codes;

  /// None where `V` is something else.
  static std::optional<Dequantised> read(mlir::Value V);
};

struct Quantised : CodeScale {
  mlir::Value X;
  /// Bounds of the codes that are made.
  double Lowest = 0, Highest = 0;
  /// The sum of the greatest relative errors of x as it is read, and of the
  /// quotient, in what they are rounded to.
  double Error = 0;
  /// The floats among these with the fewest bits.
  mlir::Type Narrowest;
  /// All of it, the last op first.
  llvm::SmallVector<mlir::Operation *> Steps;

  static std::optional<Quantised> read(mlir::Operation *Op);

  /// Whether quantising what was dequantised gives the codes again.
  bool undoes(const Dequantised &From) const;

  /// Another value, of any sizes, quantised in the same steps.
  mlir::Operation *cloneFor(mlir::Value Other, mlir::OpBuilder &B) const;
};

/// The one number that a value repeats, through casts that keep it.
std::optional<double> repeatedNumber(mlir::Value V);

/// `Codes` dequantised.
mlir::Value dequantised(mlir::OpBuilder &B, mlir::Location Loc,
                        mlir::Value Codes, const CodeScale &By);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_QUANTISEDPAIRS_H
