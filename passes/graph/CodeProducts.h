//===- CodeProducts.h - GEMMs and convolutions of codes ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What passes have in common that multiply codes, FP8 or integers of 8 bits:
/// which GEMMs kernels take, and how scales become factors of a result.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_CODEPRODUCTS_H
#define KPC_PASSES_GRAPH_CODEPRODUCTS_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// Why no kernel multiplies codes of FP8 in place of this GEMM's operands, as a
/// clause; empty: one does. `Wgmma`: it is to be that instruction's.
llvm::StringRef refusalOfFp8(MatmulOp Op, const shape::Facts &Facts,
                             bool Wgmma);

/// The same of a convolution, which one instruction or another multiplies.
llvm::StringRef refusalOfFp8(ConvOp Op, const shape::Facts &Facts);

/// The same of an attention, whose kernel is wgmma's.
llvm::StringRef refusalOfFp8(AttentionOp Op, const shape::Facts &Facts);

/// The same of integers of 8 bits. Their sums of 32 bits have to be exact,
/// unless the GEMM's own are integers, which wrap.
llvm::StringRef refusalOfInt8(MatmulOp Op, const shape::Facts &Facts);

llvm::StringRef refusalOfInt8(ConvOp Op, const shape::Facts &Facts);

/// Why no kernel of few rows reads codes of this GEMM's weight, as a clause;
/// empty: one does, whatever 16-bit floats they are multiplied by.
llvm::StringRef refusalOfTiles(MatmulOp Op, const shape::Facts &Facts);

/// Whether a GEMM has, or may have, more rows than such a kernel takes.
bool hasManyRows(MatmulOp Op, const shape::Facts &Facts);

/// The same of a kernel for any number of rows, which asks for more of columns.
llvm::StringRef refusalOfTilesOfManyRows(MatmulOp Op);

/// `Product` times the scales of both operands, each a scalar, a vector along M
/// or N, or null. The codes' product alone is no number of 16 bits: it is
/// multiplied once, by the product of the scales.
mlir::Value scaled(mlir::OpBuilder &B, mlir::Value Product,
                   mlir::Value ScaleOfA, mlir::Value ScaleOfB);

/// `V`, a scalar or a vector along `Dim`, for each element of `To`.
mlir::Value spread(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value V,
                   SymbolicTensorType To, int64_t Dim);

/// Whether `V` is a product of codes that nothing has scaled yet: zero points
/// may be taken off, and it may be cast.
bool isRawProduct(mlir::Value V);

/// Whether `Op` scales such a product, or brings it nearer to that; and which.
bool finishesRawProduct(mlir::Operation *Op);
mlir::Operation *rawProductFinishedBy(mlir::Operation *Op);

/// Whether values are made of codes that stay in the artifact.
bool isOfCodes(mlir::Value V);

/// A scalar f32.
mlir::Value scalar(mlir::OpBuilder &B, mlir::Location Loc, double Value);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_CODEPRODUCTS_H
