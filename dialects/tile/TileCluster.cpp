//===- TileCluster.cpp - Verifiers of what blocks do together -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/tile/Tile.h"

using namespace mlir;
using namespace kpc::tile;

LogicalResult SubviewColumnsOp::verify() {
  SharedType From = getTile().getType(), To = getPart().getType();
  if (From.getRows() != To.getRows() || From.getElement() != To.getElement() ||
      From.getSwizzle() != To.getSwizzle() || From.getPitch() != To.getPitch())
    return emitOpError("keeps rows, element, swizzle and pitch");
  if (To.getColumns() > From.getColumns() || !From.getSwizzle() ||
      To.getColumns() % From.getLineElements())
    return emitOpError("takes whole lines of those that are there");
  return success();
}

LogicalResult ReuseOp::verify() {
  SharedType Tile = getTile().getType();
  auto Pipe = dyn_cast<PipeType>(getMemory().getType());
  auto From = dyn_cast<SharedType>(getMemory().getType());
  if (From && (From.getPitch() != From.getRows() ||
               From.getAlignment() < Tile.getAlignment()))
    return emitOpError("takes the memory of a whole tile, aligned as the other "
                       "is");
  int64_t Bytes =
      Pipe ? Pipe.getStages() * Pipe.getStageBytes() : From.getBytes();
  if (Tile.getPitch() == Tile.getRows() && Tile.getBytes() <= Bytes)
    return success();
  return emitOpError() << "gives a whole tile of at most " << Bytes
                       << " bytes, those of the "
                       << (Pipe ? "pipe's stages" : "other tile");
}

/// Kept fragments are not in rows: the tile only says how large they are.
static LogicalResult verifyKept(Operation *Op, SharedType Tile, int64_t Rows,
                                Type Element) {
  if (Tile.getElement().isF32() && Element.isF32() && !Tile.getSwizzle() &&
      Tile.getRows() == Rows)
    return success();
  return Op->emitOpError("is of f32, and of a tile of the fragment's rows "
                         "without swizzle");
}

LogicalResult ClusterStoreOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  FragmentType From = getFragment().getType();
  if (failed(verifyKept(*this, getTile().getType(), From.getRows(),
                        From.getElement())))
    return failure();
  if (From.getColumns() == getTile().getType().getColumns())
    return success();
  return emitOpError("keeps all columns");
}

LogicalResult ClusterReduceOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  FragmentType To = getSum().getType();
  if (failed(verifyKept(*this, getTile().getType(), To.getRows(),
                        To.getElement())))
    return failure();
  if (int32_t(getBlocks()) < 2 || getBlocks() > MostClusterBlocks)
    return emitOpError() << "adds up what 2 to " << MostClusterBlocks
                         << " blocks have kept";
  if (To.getRows() != 64)
    return emitOpError("gives 64 rows");
  if (To.getColumns() <= getTile().getType().getColumns())
    return success();
  return emitOpError("gives columns that were kept");
}
