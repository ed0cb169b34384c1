//===- Fp8Gemm.h - GEMMs of FP8 in the graph --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What passes have in common that multiply codes of FP8: which GEMMs kernels
/// take, and how scales become factors of a result.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_FP8GEMM_H
#define KPC_PASSES_GRAPH_FP8GEMM_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// Why no kernel multiplies codes of FP8 in place of this GEMM's operands, as a
/// clause; empty: one does.
llvm::StringRef refusalOfFp8(MatmulOp Op, const shape::Facts &Facts);

/// `Product` times the scales of both operands, each a scalar, a vector along M
/// or N, or null. The codes' product alone is no number of 16 bits: it is
/// multiplied once, by the product of the scales.
mlir::Value scaled(mlir::OpBuilder &B, mlir::Value Product,
                   mlir::Value ScaleOfA, mlir::Value ScaleOfB);

/// Whether `Op` does that.
bool scalesFp8Product(mlir::Operation *Op);

/// Whether `V` is a product of codes that nothing has scaled yet.
bool isFp8Product(mlir::Value V);

/// A scalar f32.
mlir::Value scalar(mlir::OpBuilder &B, mlir::Location Loc, double Value);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_FP8GEMM_H
