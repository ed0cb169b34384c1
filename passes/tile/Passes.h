//===- Passes.h - Passes on the tile dialect --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_TILE_PASSES_H
#define KPC_PASSES_TILE_PASSES_H

#include <memory>

namespace mlir {
class Pass;
}

namespace kpc::tile {

/// `kpc-place-shared`, on gpu.module: every pipe and tile gets its place in
/// shared memory.
std::unique_ptr<mlir::Pass> createPlaceSharedPass();

/// `kpc-lower-tile`, on gpu.module: tile becomes nvvm and llvm.
std::unique_ptr<mlir::Pass> createLowerTilePass();

void registerTilePasses();

} // namespace kpc::tile

#endif // KPC_PASSES_TILE_PASSES_H
