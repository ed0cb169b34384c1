//===- TilePipe.cpp - Verifiers of pipes, roles and copies ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/tile/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kpc::tile;

/// Barriers and memory are set up once, by all threads.
static LogicalResult verifyInEntryBlock(Operation *Op) {
  auto Kernel = dyn_cast<gpu::GPUFuncOp>(Op->getParentOp());
  if (Kernel && Op->getBlock() == &Kernel.getBody().front())
    return success();
  return Op->emitOpError("expected in the entry block of a kernel");
}

static LogicalResult verifyBeforeStart(Operation *Op) {
  if (failed(verifyInEntryBlock(Op)))
    return failure();
  for (Operation *Next = Op->getNextNode(); Next; Next = Next->getNextNode())
    if (isa<BarrierInitOp>(Next))
      return success();
  return Op->emitOpError("expected in front of a 'tile.barrier_init'");
}

/// A token that is dropped leaves others waiting for ever; one that is used
/// twice gives a stage away under a reader.
static LogicalResult verifyEndedOnce(Operation *Op, Value Stage) {
  unsigned Ends = 0;
  for (Operation *User : Stage.getUsers())
    Ends += !isa<TilesOp, TmaLoadOp, TmaLoadIm2colOp, TmaMulticastOp,
                 CpAsyncRowsOp, CpAsyncVectorOp>(User);
  if (Ends == 1)
    return success();
  return Op->emitOpError() << "expected exactly one op that commits, releases "
                              "or carries its stage, got "
                           << Ends;
}

static LogicalResult verifyState(Operation *Op, Value Stage, StageState State) {
  if (cast<StageType>(Stage.getType()).getState() == State)
    return success();
  return Op->emitOpError() << "expected a " << stringifyStageState(State)
                           << " stage, got a "
                           << stringifyStageState(
                                  cast<StageType>(Stage.getType()).getState())
                           << " one";
}

/// A ring of each warp has neither barriers nor other warps that arrive there.
static LogicalResult verifyRing(PipeOp Op) {
  if (int32_t(Op.getWarps()) < 1 || Op.getProducers() != 1 ||
      Op.getConsumers() != 0 || Op.getPair())
    return Op.emitOpError("with 'cp_async' expected 'warps', whose lanes fill "
                          "and read their own stages, and nobody else");
  if (Op.getPipe().getType().isInTensorMemory())
    return Op.emitOpError("with 'cp_async' expected stages in shared memory");
  return verifyInEntryBlock(Op);
}

LogicalResult PipeOp::verify() {
  if (isOfWarps())
    return verifyRing(*this);
  if (getWarps() != 0)
    return emitOpError("expected 'warps' only with 'cp_async'");
  if (int32_t(getConsumers()) < 1 || int32_t(getProducers()) < 1)
    return emitOpError(
        "expected at least one producer warp and one consumer warp");
  bool InTensorMemory = getPipe().getType().isInTensorMemory();
  if (InTensorMemory ? getCompletion() == Completion::Tma
                     : getCompletion() == Completion::Mma)
    return emitOpError("expected completion 'mma' or 'threads' for stages in "
                       "tensor memory, and 'mma' for no others");
  if (getPair() && getCompletion() == Completion::Threads)
    return emitOpError(
        "expected completion 'tma' or 'mma' for a pair, got 'threads'");
  return verifyBeforeStart(*this);
}

LogicalResult AllocOp::verify() {
  if (getTile().getType().getPitch() != getTile().getType().getRows())
    return emitOpError(
        "expected a whole tile, whose pitch is its number of rows");
  if (failed(verifyInEntryBlock(*this)))
    return failure();
  // A kernel whose pipes are warps' rings has no barriers to set up.
  bool HasPipes = false;
  for (auto Pipe : (*this)->getBlock()->getOps<PipeOp>()) {
    if (!Pipe.isOfWarps())
      return verifyBeforeStart(*this);
    HasPipes = true;
  }
  return HasPipes ? success() : verifyBeforeStart(*this);
}

LogicalResult CursorOp::verify() {
  auto Declared = getRing() ? getRing().getDefiningOp<PipeOp>() : PipeOp();
  if (!Declared || Declared.isOfWarps())
    return success();
  return emitOpError("with 'of' expected a warp's ring, a pipe with "
                     "'cp_async'");
}

LogicalResult BarrierInitOp::verify() {
  for (Operation *Next = (*this)->getNextNode(); Next;
       Next = Next->getNextNode())
    if (isa<BarrierInitOp>(Next))
      return emitOpError("expected once in a kernel");
  return verifyInEntryBlock(*this);
}

LogicalResult AcquireOp::verify() {
  if (failed(verifyState(*this, getStage(), StageState::Free)))
    return failure();
  return verifyEndedOnce(*this, getStage());
}

LogicalResult WaitOp::verify() {
  auto Declared = getPipe().getDefiningOp<PipeOp>();
  if (getInFlight() != 0 && Declared && !Declared.isOfWarps())
    return emitOpError("expected 'in_flight' only with 'cp_async'");
  if (failed(verifyState(*this, getStage(), StageState::Full)))
    return failure();
  return verifyEndedOnce(*this, getStage());
}

/// A copy from plain memory into a free stage of a warp's ring.
template <typename Copy> static LogicalResult verifyRingCopy(Copy Op) {
  auto Declared = Op.getPipe().template getDefiningOp<PipeOp>();
  if (Declared && !Declared.isOfWarps())
    return Op.emitOpError("expected a pipe with 'cp_async', each warp's ring");
  if (failed(verifyState(Op, Op.getStage(), StageState::Free)))
    return failure();
  auto Memory = cast<MemRefType>(Op.getMemory().getType());
  if (Memory.getRank() == 1 && Memory.getElementTypeBitWidth() ==
                                   Op.getTile().getType().getElementBits())
    return success();
  return Op.emitOpError(
      "expected a memref of one dimension and of the tile's element type");
}

LogicalResult CpAsyncRowsOp::verify() {
  if (failed(verifyRingCopy(*this)))
    return failure();
  SharedType Tile = getTile().getType();
  constexpr int64_t Lanes = 32;
  int64_t Units = Tile.getRowBytes() / 16;
  if (Tile.getSwizzle() || Tile.getRowBytes() % 16 || Units > Lanes ||
      !llvm::isPowerOf2_64(uint64_t(Units)) || Tile.getRows() * Units % Lanes)
    return emitOpError("expected plain rows of a power of two units of 16 "
                       "bytes, which the 32 lanes of a warp share");
  int64_t Columns = int32_t(getColumns());
  if (Columns >= 1 && Columns <= Tile.getColumns() &&
      Columns * int64_t(Tile.getElementBits()) % 128 == 0)
    return success();
  return emitOpError() << "expected whole units of 16 bytes among the tile's "
                       << Tile.getColumns() << " columns, got " << Columns;
}

LogicalResult CpAsyncVectorOp::verify() {
  if (failed(verifyRingCopy(*this)))
    return failure();
  SharedType Tile = getTile().getType();
  int32_t Bytes = int32_t(getBytes());
  if (!llvm::is_contained({4, 8, 16}, Bytes) || Tile.getSwizzle() ||
      Tile.getRowBytes() % Bytes)
    return emitOpError("expected 4, 8 or 16 bytes and a tile of plain rows of "
                       "whole pieces of them");
  auto Policy = getPolicy() ? getPolicy().getDefiningOp() : nullptr;
  if (Policy && !isa<CachePolicyOp>(Policy))
    return emitOpError("expected a policy of 'tile.cache_policy'");
  return success();
}

/// A vector of a row: whole elements, as many bytes as one access has.
static LogicalResult verifyVector(Operation *Op, SharedType Tile,
                                  VectorType Vector, StageState State) {
  int64_t Bits = Vector.getNumElements() * Vector.getElementTypeBitWidth();
  if (Vector.getRank() != 1 || !llvm::is_contained({16, 32, 64, 128}, Bits) ||
      Tile.getSwizzle() || Tile.getRowBytes() * 8 % Bits)
    return Op->emitOpError("expected a vector of 2, 4, 8 or 16 bytes and a "
                           "tile of plain rows of whole vectors");
  auto Of =
      Op->getOperand(isa<StoreVectorOp>(Op) ? 1 : 0).getDefiningOp<TilesOp>();
  if (!Of)
    return success();
  return verifyState(Op, Of.getStage(), State);
}

template <typename Access>
static LogicalResult verifyAccess(Access Op, StageState State) {
  if (int32_t(Op.getRowOffset()) < 0 || int32_t(Op.getColumnOffset()) < 0)
    return Op.emitOpError("expected offsets of 0 or more");
  return verifyVector(Op, Op.getTile().getType(),
                      cast<VectorType>(Op.getVector().getType()), State);
}

LogicalResult LoadVectorOp::verify() {
  return verifyAccess(*this, StageState::Full);
}

LogicalResult LoadMatrixOp::verify() {
  if (getTile().getType().getElementBits() != 16 ||
      cast<VectorType>(getVector().getType()) !=
          VectorType::get({4}, IntegerType::get(getContext(), 32)))
    return emitOpError("expected elements of 16 bits, and vector<4xi32>: two "
                       "elements of each of the four matrices");
  return verifyAccess(*this, StageState::Full);
}

LogicalResult StoreVectorOp::verify() {
  return verifyAccess(*this, StageState::Free);
}

LogicalResult CommitOp::verify() {
  return verifyState(*this, getStage(), StageState::Free);
}

LogicalResult ReleaseOp::verify() {
  if (int32_t(getBlocks()) < 1 || getBlocks() > MostClusterBlocks)
    return emitOpError() << "expected 1 to " << MostClusterBlocks
                         << " blocks, got " << int32_t(getBlocks());
  if (getAfterMma() &&
      (getBlocks() != 1 || !(*this)->getParentOfType<ElectOp>()))
    return emitOpError(
        "with 'after_mma' expected in 'tile.elect' and without 'to'");
  return verifyState(*this, getStage(), StageState::Full);
}

LogicalResult DrainOp::verify() {
  int64_t Stages = getPipe().getType().getStages();
  if (int32_t(getCount()) >= 0 && int64_t(getCount()) <= Stages)
    return success();
  return emitOpError() << "expected at most the " << Stages
                       << " stages of the pipe, got " << int32_t(getCount());
}

LogicalResult TilesOp::verify() {
  PipeType Pipe = getPipe().getType();
  if (!llvm::equal(getResultTypes(), Pipe.getTiles()))
    return emitOpError("expected the types of the pipe's tiles as results");
  if (Pipe.isInTensorMemory() != bool(getMemory()))
    return emitOpError("expected 'in' with tensor memory for stages in tensor "
                       "memory, and for no others");
  if (getMemory() && getMemory().getType().getWords() <
                         Pipe.getStages() * Pipe.getStageColumns())
    return emitOpError() << "expected tensor memory of at least "
                         << Pipe.getStages() * Pipe.getStageColumns()
                         << " columns for the stages, got "
                         << getMemory().getType().getWords();
  return success();
}

LogicalResult TmaStoreWaitOp::verify() {
  if (int32_t(getInFlight()) < 0)
    return emitOpError() << "expected 0 or more groups in flight, got "
                         << int32_t(getInFlight());
  return success();
}

LogicalResult SubviewRowsOp::verify() {
  SharedType From = getTile().getType(), To = getPart().getType();
  if (From.getColumns() != To.getColumns() ||
      From.getElement() != To.getElement() ||
      From.getSwizzle() != To.getSwizzle() ||
      From.getPitch() != To.getPitch() || !From.getRowSwizzle().empty() ||
      !To.getRowSwizzle().empty())
    return emitOpError("expected a part with the tile's columns, element type, "
                       "swizzle and pitch");
  bool HasPattern = From.getSwizzle() != 0;
  if (To.getRows() > From.getRows() || (HasPattern && To.getRows() % 8))
    return emitOpError() << "expected a multiple of 8 rows within the tile's "
                         << From.getRows() << ", got " << To.getRows();
  return success();
}

/// Copies move whole boxes between a tile and a view of the same elements.
static LogicalResult verifyCopy(Operation *Op, ViewType View, SharedType Tile,
                                size_t Coordinates) {
  ArrayRef<int64_t> Box = View.getBox();
  if (Coordinates != Box.size())
    return Op->emitOpError()
           << "expected " << Box.size() << " coordinates, got " << Coordinates;
  if (View.getElement() != Tile.getElement() ||
      View.getSwizzle() != Tile.getSwizzle() || !Tile.getRowSwizzle().empty())
    return Op->emitOpError(
        "expected a tile with the view's element type and swizzle");
  int64_t Rows = 1;
  for (int64_t Size : Box.drop_back())
    Rows *= Size;
  if (Box.back() != Tile.getLineElements() || Tile.getColumns() % Box.back())
    return Op->emitOpError()
           << "expected boxes of " << Tile.getLineElements()
           << " columns, a line of the tile, got " << Box.back();
  if (Tile.getRows() % Rows)
    return Op->emitOpError() << "expected a tile of a multiple of the box's "
                             << Rows << " rows, got " << Tile.getRows();
  bool OneBox = Tile.getRows() == Rows;
  for (int64_t Size : Box.drop_back().drop_back(Box.size() > 1))
    if (!OneBox && Size != 1)
      return Op->emitOpError(
          "expected boxes of rows alone where a tile takes several");
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
    return emitOpError("expected three to five coordinates, and an offset for "
                       "all but the first and the last");
  if (View.getElement() != Tile.getElement() ||
      View.getSwizzle() != Tile.getSwizzle() || !Tile.getRowSwizzle().empty())
    return emitOpError(
        "expected a tile with the view's element type and swizzle");
  ArrayRef<int64_t> Box = View.getBox();
  if (Box.size() != 2 || Box[0] != Tile.getRows() ||
      Box[1] != Tile.getLineElements() || Tile.getColumns() % Box[1])
    return emitOpError() << "expected boxes of " << Tile.getRows()
                         << " pixels and " << Tile.getLineElements()
                         << " channels";
  return success();
}

LogicalResult TmaMulticastOp::verify() {
  if (failed(verifyState(*this, getStage(), StageState::Free)))
    return failure();
  if (int32_t(getBlocks()) < 2 || getBlocks() > MostClusterBlocks)
    return emitOpError() << "expected 2 to " << MostClusterBlocks
                         << " blocks, got " << int32_t(getBlocks());
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
      return emitOpError() << "expected a range of warps, got "
                           << int32_t(getFirst()) << " to "
                           << int32_t(getEnd());
  } else if (getFirst() % 4 || getEnd() % 4 || getFirst() >= getEnd()) {
    return emitOpError() << "with 'registers' expected whole warpgroups, warps "
                            "from a multiple of 4 to a larger one, got "
                         << int32_t(getFirst()) << " to " << int32_t(getEnd());
  }
  if (getRegisters() &&
      (getRegisters() % 8 || getRegisters() < 24 || getRegisters() > 256))
    return emitOpError()
           << "expected 24 to 256 registers a thread, a multiple of 8, got "
           << int32_t(getRegisters());
  Block &Body = getBody().front();
  if (Body.getNumArguments() != 1 || !Body.getArgument(0).getType().isIndex())
    return emitOpError(
        "expected one block argument, the warpgroup's number, an index");
  auto Outer = dyn_cast<RoleOp>((*this)->getParentOp());
  if (!Outer)
    return verifyInEntryBlock(*this);
  if (!getRegisters() && Outer.getRegisters() &&
      getFirst() >= Outer.getFirst() && getEnd() <= Outer.getEnd())
    return success();
  return emitOpError("in a role expected some of its warps, whose registers "
                     "that role sets");
}

bool kpc::tile::isOfWarpgroups(RoleOp Role) {
  return Role.getFirst() % 4 == 0 && Role.getEnd() % 4 == 0;
}

LogicalResult ElectOp::verify() {
  if (getScope() == Scope::Block)
    return emitOpError("expected scope 'warpgroup' or 'role', got 'block'");
  auto Role = (*this)->getParentOfType<RoleOp>();
  if (Role && getScope() == Scope::Warpgroup && !isOfWarpgroups(Role))
    return emitOpError("of a warpgroup expected in a role of whole warpgroups");
  if (Role)
    return success();
  return emitOpError("expected in a 'tile.role'");
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
    return emitOpError("expected in a role of whole warpgroups");
  if (InRole != (getScope() == Scope::Block))
    return success();
  return emitOpError(InRole ? "of the block expected outside of roles"
                            : "of a part of the block expected in a role");
}
