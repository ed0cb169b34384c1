//===- ScalarCast.h - Conversions between element types -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_LINALG_SCALARCAST_H
#define KPC_PASSES_GRAPH_LINALG_SCALARCAST_H

#include "mlir/IR/Builders.h"

namespace kpc::graph {

/// Converts `X`, which stands for an element of graph type `From` (16-bit
/// floats are held as f32, narrow types as bytes), to what stands for one of
/// `To`, as graph.cast says.
mlir::Value castScalar(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value X,
                       mlir::Type From, mlir::Type To);

/// The same bits as an element of `To`, as graph.bitcast says. A NaN of 16 bits
/// comes out quiet.
mlir::Value bitcastScalar(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value X,
                          mlir::Type From, mlir::Type To);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_LINALG_SCALARCAST_H
