//===- Tile.h - The tile dialect --------------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One GPU kernel on tensor cores; see TileBase.td and docs/dialects/tile.md.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_TILE_TILE_H
#define KPC_DIALECTS_TILE_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/layout/ElementType.h"
#include "dialects/tile/TileDialect.h.inc"
#include "dialects/tile/TileEnums.h.inc"

namespace kpc::tile {

/// Scales that products of a format take of each row, of 32 bytes of codes.
constexpr int64_t scalesPerStep(BlockFormat Format) {
  return int64_t(1) << int64_t(Format);
}
/// Words of four scales that a row of `CodeBytes` has.
constexpr int64_t scaleWords(BlockFormat Format, int64_t CodeBytes) {
  return CodeBytes / 32 * scalesPerStep(Format) / 4;
}

} // namespace kpc::tile

#define GET_TYPEDEF_CLASSES
#include "dialects/tile/TileTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/tile/Tile.h.inc"

namespace kpc::tile {

/// Threads of a warpgroup.
inline constexpr int64_t WarpgroupThreads = 128;

/// So many blocks a cluster may have on every chip that has clusters.
inline constexpr int64_t MostClusterBlocks = 8;

/// Rows (lanes) and columns of a block's tensor memory, on every chip that has
/// one (PTX ISA, tcgen05).
inline constexpr int64_t TensorMemoryRows = 128, TensorMemoryColumns = 512;

/// What products in tensor memory call a factor's elements; f32 is tf32.
layout::ElementType tensorMemoryFactor(mlir::Type Element);

/// The type behind a fragment or a pending fragment.
FragmentType fragmentOf(mlir::Type Ty);

/// Whether a role is of whole warpgroups.
bool isOfWarpgroups(RoleOp Role);

/// Whether `Op` uses no fragment but those that an mma of wgmma leaves; else an
/// error.
mlir::LogicalResult verifyWgmmaLayout(mlir::Operation *Op);
/// Operands of a product with block scales: codes of the format in swizzled
/// tiles, with one number of bytes along K that fills whole words of scales.
mlir::LogicalResult verifyCodes(mlir::Operation *Op, SharedType A, SharedType B,
                                BlockFormat Format);

/// A factor of a product of tiles: M or N rows or columns, and K of the sum.
struct TileFactor {
  int64_t Outer, Sum;
  mlir::Type Element;
  bool Swizzled;
  bool SumContiguous; ///< elements of one sum lie side by side
};
/// Of tiles as they lie in shared memory: M × K, and K × N.
/// `A` in shared or tensor memory, or packed.
TileFactor leftFactor(mlir::Type A, bool Transposed);
/// What products of such factors are added up in: i32 for integers, else f32.
mlir::Type accumulatorOf(mlir::Type Factor);
TileFactor rightFactor(SharedType B, bool Transposed);
/// What every product on tensor cores asks of its factors.
mlir::LogicalResult verifyFactors(mlir::Operation *Op, const TileFactor &A,
                                  const TileFactor &B);

} // namespace kpc::tile

#endif // KPC_DIALECTS_TILE_TILE_H
