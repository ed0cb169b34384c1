//===- BlockCodes.h - Codes with a scale for each block ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// MXFP8, MXFP4 and NVFP4: how numbers become codes that share a scale in
/// blocks. Importers of models that quantise in each run and passes that
/// quantise by themselves write the same arithmetic.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_GRAPH_BLOCKCODES_H
#define KPC_DIALECTS_GRAPH_BLOCKCODES_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

struct BlockFormat {
  mlir::Type Code, Scale;
  int64_t Block = 0;
  double Greatest = 0; ///< of the codes
  /// Another scale, f32, for what has many blocks: those of blocks are of E4M3.
  bool HasSecond = false;

  /// OCP Microscaling Formats (MX) 1.0: blocks of 32 with scales of E8M0.
  static BlockFormat mxfp8(mlir::MLIRContext *Context);
  static BlockFormat mxfp4(mlir::MLIRContext *Context);
  /// NVIDIA's: blocks of 16 with scales of E4M3, and a second scale.
  static BlockFormat nvfp4(mlir::MLIRContext *Context);
  /// "mxfp8", "mxfp4" or "nvfp4"; none for other words.
  static std::optional<BlockFormat> named(llvm::StringRef Name,
                                          mlir::MLIRContext *Context);
};

struct BlockCodes {
  mlir::Value Codes;  ///< of the sizes of what they stand for
  mlir::Value Scales; ///< one for each block: as many along the axis
};

/// Codes of `X`, f32, in blocks along `Axis`, whose size is a multiple of
/// theirs. Scales of E8M0 are the least power of two that brings a block's
/// greatest magnitude within the codes' range: nothing saturates. `Second`: the
/// second scale, which broadcasts to `X`; null: 1.
BlockCodes quantiseInBlocks(mlir::OpBuilder &B, mlir::Location Loc,
                            mlir::Value X, int64_t Axis, const BlockFormat &F,
                            mlir::Value Second = {});

/// The greatest magnitudes along `Axis`, in the sizes of `X` with 1 there.
mlir::Value greatestAlong(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value X,
                          int64_t Axis);

/// A scalar f32 in the sizes of `Like`.
mlir::Value filled(mlir::OpBuilder &B, mlir::Location Loc, double V,
                   SymbolicTensorType Like);

} // namespace kpc::graph

#endif // KPC_DIALECTS_GRAPH_BLOCKCODES_H
