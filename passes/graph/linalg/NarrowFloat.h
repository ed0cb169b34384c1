//===- NarrowFloat.h - Floats of 8 and 4 bits as integers -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_LINALG_NARROWFLOAT_H
#define KPC_PASSES_GRAPH_LINALG_NARROWFLOAT_H

#include "mlir/IR/Builders.h"

namespace kpc::graph {

/// The value, in f32, of the code `X` (i8) of the narrow float type `From`.
mlir::Value decodeNarrow(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value X,
                         mlir::Type From);

/// The code (i8) that `X`, an f32 or f64, has in the narrow float type `To`,
/// as graph.cast says.
mlir::Value encodeNarrow(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value X,
                         mlir::Type To);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_LINALG_NARROWFLOAT_H
