//===- Tile.td - All ops of tile ------------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/tile/TileCluster.td"
include "dialects/tile/TileFragment.td"
include "dialects/tile/TileMemory.td"
include "dialects/tile/TileMma.td"
include "dialects/tile/TilePipe.td"
include "dialects/tile/TileRole.td"
include "dialects/tile/TileTensorMemory.td"
include "dialects/tile/TileThreads.td"
