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
    return emitOpError("expected a part with the tile's rows, element type, "
                       "swizzle and pitch");
  if (To.getColumns() > From.getColumns() || !From.getSwizzle() ||
      To.getColumns() % From.getLineElements())
    return emitOpError()
           << "expected whole lines of the swizzle within the tile's "
           << From.getColumns() << " columns, got " << To.getColumns();
  return success();
}

LogicalResult ReuseOp::verify() {
  SharedType Tile = getTile().getType();
  auto Pipe = dyn_cast<PipeType>(getMemory().getType());
  auto From = dyn_cast<SharedType>(getMemory().getType());
  // Some rows of one line each are one piece of memory, too.
  bool IsWhole = From && (From.getPitch() == From.getRows() ||
                          From.getLineElements() == From.getColumns());
  if (From && (!IsWhole || From.getAlignment() < Tile.getAlignment()))
    return emitOpError(
        "expected the memory of a whole tile that is aligned as the result");
  // The rings of warps have no mbarriers.
  auto Declared = getMemory().getDefiningOp<PipeOp>();
  if (Declared && Declared.isOfWarps() && Tile.getPitch() == Tile.getRows())
    return success();
  int64_t Bytes =
      Pipe ? Pipe.getStages() * Pipe.getStageBytes() : From.getBytes();
  if (Tile.getPitch() == Tile.getRows() && Tile.getBytes() <= Bytes)
    return success();
  return emitOpError() << "expected a whole tile of at most " << Bytes
                       << " bytes, the size of the "
                       << (Pipe ? "pipe's stages" : "other tile");
}

/// Kept fragments are not in rows: the tile only says how large they are.
static LogicalResult verifyKept(Operation *Op, SharedType Tile, int64_t Rows,
                                Type Element) {
  if ((Element.isF32() || Element.isInteger(32)) &&
      Tile.getElement() == Element && Tile.isPlain() && Tile.getRows() == Rows)
    return success();
  return Op->emitOpError("expected a fragment of f32 or i32 and a tile of its "
                         "type and rows without swizzle");
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
  return emitOpError() << "expected a tile of the fragment's "
                       << From.getColumns() << " columns, got "
                       << getTile().getType().getColumns();
}

LogicalResult ClusterReduceOp::verify() {
  if (failed(verifyWgmmaLayout(*this)))
    return failure();
  FragmentType To = getSum().getType();
  if (failed(verifyKept(*this, getTile().getType(), To.getRows(),
                        To.getElement())))
    return failure();
  if (int32_t(getBlocks()) < 2 || getBlocks() > MostClusterBlocks)
    return emitOpError() << "expected 2 to " << MostClusterBlocks
                         << " blocks, got " << int32_t(getBlocks());
  if (To.getRows() != 64)
    return emitOpError() << "expected a fragment of 64 rows, got "
                         << To.getRows();
  if (To.getColumns() <= getTile().getType().getColumns())
    return success();
  return emitOpError() << "expected at most the tile's "
                       << getTile().getType().getColumns() << " columns, got "
                       << To.getColumns();
}
