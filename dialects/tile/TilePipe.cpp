//===- TilePipe.cpp - Verifiers of pipes, roles and copies ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/tile/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace kpc::tile;

/// Barriers and memory are set up once, by all threads.
static LogicalResult verifyInEntryBlock(Operation *Op) {
  auto Kernel = dyn_cast<gpu::GPUFuncOp>(Op->getParentOp());
  if (Kernel && Op->getBlock() == &Kernel.getBody().front())
    return success();
  return Op->emitOpError("stands in the entry block of a kernel");
}

static LogicalResult verifyBeforeStart(Operation *Op) {
  if (failed(verifyInEntryBlock(Op)))
    return failure();
  for (Operation *Next = Op->getNextNode(); Next; Next = Next->getNextNode())
    if (isa<BarrierInitOp>(Next))
      return success();
  return Op->emitOpError("needs a 'tile.barrier_init' behind it");
}

/// A token that is dropped leaves others waiting for ever; one that is used
/// twice gives a stage away under a reader.
static LogicalResult verifyEndedOnce(Operation *Op, Value Stage) {
  unsigned Ends = 0;
  for (Operation *User : Stage.getUsers())
    Ends += !isa<TilesOp, TmaLoadOp, TmaLoadIm2colOp, TmaMulticastOp>(User);
  if (Ends == 1)
    return success();
  return Op->emitOpError() << "gives a stage that is handed on " << Ends
                           << " times, not once";
}

static LogicalResult verifyState(Operation *Op, Value Stage, StageState State) {
  if (cast<StageType>(Stage.getType()).getState() == State)
    return success();
  return Op->emitOpError() << "needs a " << stringifyStageState(State)
                           << " stage";
}

LogicalResult PipeOp::verify() {
  if (int32_t(getConsumers()) < 1 || int32_t(getProducers()) < 1)
    return emitOpError("has at least one producing and one consuming warp");
  if (getPipe().getType().isInTensorMemory() !=
      (getCompletion() == Completion::Mma))
    return emitOpError("is filled by 'mma' in tensor memory, and there alone");
  if (getPair() && getCompletion() == Completion::Threads)
    return emitOpError("of a pair is filled by copies or products");
  return verifyBeforeStart(*this);
}

LogicalResult AllocOp::verify() {
  if (getTile().getType().getPitch() != getTile().getType().getRows())
    return emitOpError("allocates a whole tile");
  return verifyBeforeStart(*this);
}

LogicalResult BarrierInitOp::verify() {
  for (Operation *Next = (*this)->getNextNode(); Next;
       Next = Next->getNextNode())
    if (isa<BarrierInitOp>(Next))
      return emitOpError("comes once in a kernel");
  return verifyInEntryBlock(*this);
}

LogicalResult AcquireOp::verify() {
  if (failed(verifyState(*this, getStage(), StageState::Free)))
    return failure();
  return verifyEndedOnce(*this, getStage());
}

LogicalResult WaitOp::verify() {
  if (failed(verifyState(*this, getStage(), StageState::Full)))
    return failure();
  return verifyEndedOnce(*this, getStage());
}

LogicalResult CommitOp::verify() {
  return verifyState(*this, getStage(), StageState::Free);
}

LogicalResult ReleaseOp::verify() {
  if (int32_t(getBlocks()) < 1 || getBlocks() > MostClusterBlocks)
    return emitOpError() << "tells 1 to " << MostClusterBlocks << " blocks";
  if (getAfterMma() &&
      (getBlocks() != 1 || !(*this)->getParentOfType<ElectOp>()))
    return emitOpError("after_mma is said by one thread, which stands in "
                       "'tile.elect', to its own block or pair");
  return verifyState(*this, getStage(), StageState::Full);
}

LogicalResult TilesOp::verify() {
  PipeType Pipe = getPipe().getType();
  if (!llvm::equal(getResultTypes(), Pipe.getTiles()))
    return emitOpError("does not give the tiles of the pipe's stages");
  if (Pipe.isInTensorMemory() != bool(getMemory()))
    return emitOpError("names the tensor memory that stages are in, where they "
                       "are in it");
  if (getMemory() && getMemory().getType().getColumns() <
                         Pipe.getStages() * Pipe.getStageColumns())
    return emitOpError() << "has stages of "
                         << Pipe.getStages() * Pipe.getStageColumns()
                         << " columns in tensor memory of "
                         << getMemory().getType().getColumns();
  return success();
}

LogicalResult TmaStoreWaitOp::verify() {
  if (int32_t(getInFlight()) < 0)
    return emitOpError("keeps no less than no group");
  return success();
}

LogicalResult SubviewRowsOp::verify() {
  SharedType From = getTile().getType(), To = getPart().getType();
  if (From.getColumns() != To.getColumns() ||
      From.getElement() != To.getElement() ||
      From.getSwizzle() != To.getSwizzle() || From.getPitch() != To.getPitch())
    return emitOpError("keeps columns, element, swizzle and pitch");
  if (To.getRows() > From.getRows() || To.getRows() % 8)
    return emitOpError("takes a multiple of 8 rows of those that are there");
  return success();
}

/// Copies move whole boxes between a tile and a view of the same elements.
static LogicalResult verifyCopy(Operation *Op, ViewType View, SharedType Tile,
                                size_t Coordinates) {
  ArrayRef<int64_t> Box = View.getBox();
  if (Coordinates != Box.size())
    return Op->emitOpError()
           << "needs " << Box.size() << " coordinates, not " << Coordinates;
  if (View.getElement() != Tile.getElement() ||
      View.getSwizzle() != Tile.getSwizzle())
    return Op->emitOpError("joins a view and a tile of different elements or "
                           "swizzles");
  int64_t Rows = 1;
  for (int64_t Size : Box.drop_back())
    Rows *= Size;
  if (Box.back() != Tile.getLineElements() || Tile.getColumns() % Box.back())
    return Op->emitOpError()
           << "moves boxes of " << Box.back()
           << " columns; the tile's lines have " << Tile.getLineElements();
  if (Tile.getRows() % Rows)
    return Op->emitOpError() << "moves boxes of " << Rows
                             << " rows into a tile of " << Tile.getRows();
  bool OneBox = Tile.getRows() == Rows;
  for (int64_t Size : Box.drop_back().drop_back(Box.size() > 1))
    if (!OneBox && Size != 1)
      return Op->emitOpError("takes several boxes of more than rows");
  return success();
}

LogicalResult TmaLoadOp::verify() {
  if (failed(verifyState(*this, getStage(), StageState::Free)))
    return failure();
  return verifyCopy(*this, getView().getType(), getTile().getType(),
                    getAt().size());
}

LogicalResult TmaLoadIm2colOp::verify() {
  if (failed(verifyState(*this, getStage(), StageState::Free)))
    return failure();
  ViewType View = getView().getType();
  SharedType Tile = getTile().getType();
  // Images, one to three spatial dimensions, channels.
  if (getAt().size() < 3 || getAt().size() > 5 ||
      getOffsets().size() + 2 != getAt().size())
    return emitOpError("has three to five coordinates, and an offset for all "
                       "but the first and the last");
  if (View.getElement() != Tile.getElement() ||
      View.getSwizzle() != Tile.getSwizzle())
    return emitOpError("joins a view and a tile of different elements or "
                       "swizzles");
  ArrayRef<int64_t> Box = View.getBox();
  if (Box.size() != 2 || Box[0] != Tile.getRows() ||
      Box[1] != Tile.getLineElements() || Tile.getColumns() % Box[1])
    return emitOpError() << "moves boxes of pixels and channels: "
                         << Tile.getRows() << " and " << Tile.getLineElements();
  return success();
}

LogicalResult TmaMulticastOp::verify() {
  if (failed(verifyState(*this, getStage(), StageState::Free)))
    return failure();
  if (int32_t(getBlocks()) < 2 || getBlocks() > MostClusterBlocks)
    return emitOpError() << "copies into 2 to " << MostClusterBlocks
                         << " blocks";
  return verifyCopy(*this, getView().getType(), getTile().getType(),
                    getAt().size());
}

LogicalResult TmaStoreOp::verify() {
  return verifyCopy(*this, getView().getType(), getTile().getType(),
                    getAt().size());
}

LogicalResult RoleOp::verify() {
  if (!getRegisters()) {
    if (int32_t(getFirst()) < 0 || int32_t(getFirst()) >= int32_t(getEnd()))
      return emitOpError("takes some warps, from one to a later one");
  } else if (getFirst() % 4 || getEnd() % 4 || getFirst() >= getEnd()) {
    return emitOpError("takes whole warpgroups: warps from a multiple of 4 to "
                       "a larger one");
  }
  if (getRegisters() &&
      (getRegisters() % 8 || getRegisters() < 24 || getRegisters() > 256))
    return emitOpError("gives each thread 24 to 256 registers, a multiple of "
                       "8");
  Block &Body = getBody().front();
  if (Body.getNumArguments() != 1 || !Body.getArgument(0).getType().isIndex())
    return emitOpError("has one argument, the warpgroup's number, an index");
  return verifyInEntryBlock(*this);
}

bool kpc::tile::isOfWarpgroups(RoleOp Role) {
  return Role.getFirst() % 4 == 0 && Role.getEnd() % 4 == 0;
}

LogicalResult ElectOp::verify() {
  if (getScope() == Scope::Block)
    return emitOpError("elects a thread of a warpgroup or a role");
  auto Role = (*this)->getParentOfType<RoleOp>();
  if (Role && getScope() == Scope::Warpgroup && !isOfWarpgroups(Role))
    return emitOpError("of a warpgroup stands in a role of whole warpgroups");
  if (Role)
    return success();
  return emitOpError("stands in a role");
}

/// Two or three warpgroups of one role take turns.
static LogicalResult verifyTurn(Operation *Op) {
  auto Role = Op->getParentOfType<RoleOp>();
  int64_t Warps = Role ? int64_t(Role.getEnd()) - Role.getFirst() : 0;
  if (Role && isOfWarpgroups(Role) && (Warps == 8 || Warps == 12))
    return success();
  return Op->emitOpError("stands in a role of two or three whole warpgroups");
}

LogicalResult WaitTurnOp::verify() { return verifyTurn(*this); }
LogicalResult PassTurnOp::verify() { return verifyTurn(*this); }

LogicalResult SyncOp::verify() {
  auto Role = (*this)->getParentOfType<RoleOp>();
  bool InRole = Role != nullptr;
  if (Role && !isOfWarpgroups(Role))
    return emitOpError("stands in a role of whole warpgroups");
  if (InRole != (getScope() == Scope::Block))
    return success();
  return emitOpError(InRole ? "of the block cannot stand in a role"
                            : "of a part of the block stands in a role");
}
