//===- OperandDescriptors.h - Descriptors of tiles ---------------*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What tensor cores are told of a tile in shared memory: its address, made
/// once, and a constant.
///
///   OperandDescriptors A(B, Loc, layout::TensorEngine::Wgmma, Tile, Pointer,
///                        /*KIsContiguous=*/true);
///   Value First = A.at(/*Step=*/0, /*Mn=*/0); // i64
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_TILE_OPERANDDESCRIPTORS_H
#define KPC_PASSES_TILE_OPERANDDESCRIPTORS_H

#include "dialects/layout/MatrixDescriptor.h"
#include "dialects/tile/Tile.h"

namespace kpc::tile {

class OperandDescriptors {
public:
  OperandDescriptors(mlir::OpBuilder &B, mlir::Location Loc,
                     layout::TensorEngine Engine, SharedType Tile,
                     mlir::Value Pointer, bool KIsContiguous);

  /// Of a step of 32 bytes of the sum, from row (column of b) `Mn` on.
  mlir::Value at(int64_t Step, int64_t Mn);

private:
  mlir::OpBuilder &B;
  mlir::Location Loc;
  layout::TensorEngine Engine;
  layout::SharedTile Whole;
  mlir::Value Start;
};

} // namespace kpc::tile

#endif // KPC_PASSES_TILE_OPERANDDESCRIPTORS_H
