//===- ResizeAxis.h - Resizing along one axis -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_RULES_RESIZEAXIS_H
#define KPC_COMPILER_IMPORT_TORCH_RULES_RESIZEAXIS_H

#include "compiler/import/torch/NodeImport.h"

namespace kpc::torch {

/// How an axis is scaled.
struct Scaling {
  bool AlignCorners = false;
  /// Elements of the input for one of the result; 0: from the sizes.
  double Step = 0;

  double step(int64_t In, int64_t Out) const {
    if (AlignCorners)
      return Out > 1 ? double(In - 1) / double(Out - 1) : 0;
    return Step > 0 ? Step : double(In) / double(Out);
  }
  double source(int64_t I, double By) const {
    return AlignCorners ? double(I) * By : (double(I) + 0.5) * By - 0.5;
  }
};
enum class Mode { Nearest, NearestExact, Linear, Cubic };

/// Where both sizes are numbers, places and weights are tables.
Value scaled(NodeImport &N, Value X, int64_t Axis, int64_t Out,
             const Scaling &S, Mode M);
/// Where the run knows them, it computes places and weights.
Value scaledBySizes(NodeImport &N, Value X, int64_t Axis, const Expr &Out,
                    const Scaling &S, Mode M);
/// Linear and cubic weights of a kernel that widens where the axis shrinks, so
/// that no element is skipped.
Value antialiased(NodeImport &N, Value X, int64_t Axis, const Expr &Out,
                  const Scaling &S, Mode M);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_RULES_RESIZEAXIS_H
