//===- LeadingDimensions.h - Padded leading dimensions ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tensor cores' copies (TMA) ask of every row that it begins at a multiple of
/// 16 bytes. A tensor that a matrix product reads or writes is stored so where
/// that is kpc's own business: between two kernels, and as a weight. Its buffer
/// has longer rows, and the kernels' views of it a larger stride; the tensor
/// itself stays what it is.
///
///   4097 columns of f16:  buffer [rows, 4160], views [rows, 4097] with
///                         strides [4160, 1]
///
/// Long rows begin at lines of the second cache, of 128 bytes: a copy of 128
/// bytes that lies across two lines looks up both.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_LEADINGDIMENSIONS_H
#define KPC_PASSES_GRAPH_LEADINGDIMENSIONS_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// What every row's length is a multiple of, and a long row's, in bytes.
inline constexpr int64_t RowBytes = 16, LineBytes = 128;

/// `Row` elements of so many bits, brought to a multiple of `Bytes`.
shape::Expr paddedRow(const shape::Expr &Row, unsigned Bits, int64_t Bytes);

/// Whether the rows of `V` could be copied by tensor cores if they were
/// padded. Not where it would not pay: few columns, elements of other sizes
/// than 16 bits.
bool wantsPadding(mlir::Value V, const shape::Facts &Facts);

/// The inputs of a region that its matrix product reads as they are, or cast,
/// by number.
llvm::SmallVector<unsigned> gemmInputs(RegionOp Region);

class LeadingDimensions {
public:
  /// Looks at the regions of `Main` and at what they read.
  LeadingDimensions(mlir::func::FuncOp Main, const shape::Facts &Facts);

  /// The sizes of the memory that holds `V`: its own, or with longer rows.
  SymbolicTensorType typeOf(mlir::Value V) const;

private:
  void look(RegionOp Region);
  void pad(mlir::Value V);

  const shape::Facts &Facts;
  llvm::DenseMap<mlir::Value, SymbolicTensorType> Padded;
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_LEADINGDIMENSIONS_H
