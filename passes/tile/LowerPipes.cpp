//===- LowerPipes.cpp - Pipes as barriers ---------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A stage has two barriers: full, completed by who fills it, and empty, by who
/// reads it. Round r of a stage has parity r % 2; filling waits for the end of
/// the reads of the round before, which a fresh barrier takes for granted.
///
/// A warp's ring (cp_async) has none: its lanes wait for groups of copies and
/// meet (bar.warp.sync), and VerifyRings.cpp has proved that this is enough.
/// Its cursors and stages are bytes in the ring, which all lanes agree on.
///
/// Of a ring that copies with a cache policy fill, they are addresses, which
/// differ from warp to warp. What is the same in all threads would become a
/// uniform register, and ptxas 13.0 to 13.5 makes an illegal instruction of
/// `cp.async` with a cache hint and such a register in its address (sm_90a,
/// seen on an H200).
///
//===----------------------------------------------------------------------===//

#include "passes/tile/LowerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kpc::tile;

namespace {

constexpr int64_t ParityBit = 16;

Value stageOf(NvvmWriter &W, Value Cursor) {
  return W.bitAnd(Cursor, (1 << ParityBit) - 1);
}
Value parityOf(NvvmWriter &W, Value Cursor) {
  return W.shiftRight(Cursor, ParityBit);
}

/// How the pipe was declared; null after an error.
PipeOp declarationOf(Operation *Op, Value Pipe) {
  auto Declared = Pipe.getDefiningOp<PipeOp>();
  if (!Declared)
    Op->emitOpError("needs the pipe that a 'tile.pipe' declares");
  return Declared;
}

/// The pipe, if it is a ring of each warp; else null.
PipeOp ringOf(Value Pipe) {
  auto Declared = Pipe.getDefiningOp<PipeOp>();
  return Declared && Declared.isOfWarps() ? Declared : PipeOp();
}

bool hasAddresses(PipeOp Ring) { return Ring && Ring->hasAttr(AddressesName); }

/// What tcgen05 does behind a barrier stays behind it; what it did in front
/// stays in front (PTX ISA 9.7.16.6).
void fenceAfter(OpBuilder &B, Location Loc, PipeType Pipe) {
  if (Pipe.isInTensorMemory())
    NVVM::Tcgen05FenceOp::create(B, Loc,
                                 NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
}
void fenceBefore(OpBuilder &B, Location Loc, PipeType Pipe) {
  if (Pipe.isInTensorMemory())
    NVVM::Tcgen05FenceOp::create(B, Loc,
                                 NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
}

template <typename Op> struct LowerPlaced : TilePattern<Op> {
  using TilePattern<Op>::TilePattern;
  LogicalResult
  matchAndRewrite(Op O, typename Op::Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    auto Offset = O->template getAttrOfType<IntegerAttr>("offset");
    if (!Offset)
      return O.emitOpError("has no place in shared memory; kpc-place-shared "
                           "gives it one");
    Value Base = sharedMemory(Rewriter, O, Offset.getInt());
    if constexpr (std::is_same_v<Op, PipeOp>)
      if (O.isOfWarps()) {
        NvvmWriter W(Rewriter, O.getLoc());
        PipeType Pipe = O.getPipe().getType();
        Value Warp = hasAddresses(O) ? W.shiftRight(this->Place.Thread, 5)
                                     : this->Place.Warp;
        Base = W.pointer(Base,
                         W.mul(Warp, Pipe.getStages() * Pipe.getStageBytes()));
      }
    Rewriter.replaceOp(O, Base);
    return success();
  }
};

/// A pointer to shared memory as the word that instructions take.
Value addressOf(OpBuilder &B, Location Loc, Value Pointer) {
  return LLVM::PtrToIntOp::create(B, Loc, B.getI32Type(), Pointer);
}

struct LowerCursor : TilePattern<CursorOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(CursorOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    if (Op.getRing() && hasAddresses(ringOf(Op.getRing())))
      Rewriter.replaceOp(Op,
                         addressOf(Rewriter, Op.getLoc(), Adaptor.getRing()));
    else
      Rewriter.replaceOp(Op, NvvmWriter(Rewriter, Op.getLoc()).i32(0));
    return success();
  }
};

/// The place behind `Cursor`.
Value nextOf(OpBuilder &B, Location Loc, PipeType Pipe, Value Cursor) {
  NvvmWriter W(B, Loc);
  Value First =
      W.bitAnd(W.bitXor(Cursor, W.i32(1 << ParityBit)), 1 << ParityBit);
  Value IsLast = W.equal(stageOf(W, Cursor), Pipe.getStages() - 1);
  Value Next = W.add(Cursor, 1);
  return arith::SelectOp::create(B, Loc, IsLast, First, Next);
}

/// The byte of the stage behind that at `Byte` of a warp's ring.
Value nextInRing(OpBuilder &B, Location Loc, PipeType Pipe, Value Byte) {
  NvvmWriter W(B, Loc);
  Value IsLast = W.equal(Byte, Pipe.getStageBytes() * (Pipe.getStages() - 1));
  return arith::SelectOp::create(B, Loc, IsLast, W.i32(0),
                                 W.add(Byte, Pipe.getStageBytes()));
}

/// The same of addresses, in the ring that begins at `Ring`.
Value nextAddress(OpBuilder &B, Location Loc, PipeType Pipe, Value Ring,
                  Value Address) {
  NvvmWriter W(B, Loc);
  Value Begin = addressOf(B, Loc, Ring),
        Next = W.add(Address, Pipe.getStageBytes()),
        End = W.add(Begin, Pipe.getStageBytes() * Pipe.getStages());
  Value IsEnd =
      arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::eq, Next, End);
  return arith::SelectOp::create(B, Loc, IsEnd, Begin, Next);
}

struct LowerNext : TilePattern<NextOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(NextOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    PipeOp Ring = ringOf(Op.getPipe());
    if (hasAddresses(Ring)) {
      Rewriter.replaceOp(
          Op, nextAddress(Rewriter, Op.getLoc(), Op.getPipe().getType(),
                          Adaptor.getPipe(), Adaptor.getCursor()));
      return success();
    }
    if (Ring) {
      Rewriter.replaceOp(Op, nextInRing(Rewriter, Op.getLoc(),
                                        Op.getPipe().getType(),
                                        Adaptor.getCursor()));
      return success();
    }
    Rewriter.replaceOp(Op, nextOf(Rewriter, Op.getLoc(), Op.getPipe().getType(),
                                  Adaptor.getCursor()));
    return success();
  }
};

struct LowerSkip : TilePattern<SkipOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(SkipOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    Value Stages = W.i32(Op.getPipe().getType().getStages());
    Value Behind =
        W.add(stageOf(W, Adaptor.getCursor()), W.toI32(Adaptor.getCount()));
    Value Rounds = arith::DivUIOp::create(Rewriter, Loc, Behind, Stages);
    Value Stage = arith::RemUIOp::create(Rewriter, Loc, Behind, Stages);
    Value Parity =
        W.bitAnd(W.bitXor(parityOf(W, Adaptor.getCursor()), Rounds), 1);
    Rewriter.replaceOp(Op, W.add(Stage, W.shiftLeft(Parity, ParityBit)));
    return success();
  }
};

/// Waits until the round before the one at `Cursor` has been read.
void waitUntilFree(NvvmWriter &W, PipeType Pipe, Value Base, Value Cursor) {
  Value Parity = W.bitXor(parityOf(W, Cursor), W.i32(1));
  W.waitBarrier(emptyBarrier(W, Pipe, Base, stageOf(W, Cursor)), Parity);
}

struct LowerDrain : TilePattern<DrainOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(DrainOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    if (ringOf(Op.getPipe())) {
      Rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(Op, 0);
      return success();
    }
    NvvmWriter W(Rewriter, Op.getLoc());
    PipeType Pipe = Op.getPipe().getType();
    auto EachStage = [&](OpBuilder &B, Location Loc, Value, ValueRange In) {
      NvvmWriter W(B, Loc);
      waitUntilFree(W, Pipe, Adaptor.getPipe(), In[0]);
      scf::YieldOp::create(B, Loc, nextOf(B, Loc, Pipe, In[0]));
    };
    if (Op.getCount() == 1)
      waitUntilFree(W, Pipe, Adaptor.getPipe(), Adaptor.getCursor());
    else
      scf::ForOp::create(
          Rewriter, Op.getLoc(), W.i32(0),
          W.i32(Op.getCount() ? Op.getCount() : Pipe.getStages()), W.i32(1),
          Adaptor.getCursor(), EachStage);
    fenceAfter(Rewriter, Op.getLoc(), Pipe);
    Rewriter.eraseOp(Op);
    return success();
  }
};

struct LowerAcquire : TilePattern<AcquireOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(AcquireOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    if (ringOf(Op.getPipe())) { // free since the last wait
      Rewriter.replaceOp(Op, Adaptor.getCursor());
      return success();
    }
    NvvmWriter W(Rewriter, Op.getLoc());
    PipeType Pipe = Op.getPipe().getType();
    Value Stage = stageOf(W, Adaptor.getCursor());
    waitUntilFree(W, Pipe, Adaptor.getPipe(), Adaptor.getCursor());
    fenceAfter(Rewriter, Op.getLoc(), Pipe);
    PipeOp Declared = declarationOf(Op, Op.getPipe());
    if (!Declared)
      return failure();
    // The even block of a pair announces what both copy.
    bool Pair = Declared.getPair();
    if (Declared.getCompletion() == Completion::Tma)
      NVVM::MBarrierArriveExpectTxOp::create(
          Rewriter, Op.getLoc(), Type(),
          fullBarrier(W, Pipe, Adaptor.getPipe(), Stage),
          W.i32(Pipe.getFilledBytes() * (Pair ? 2 : 1)),
          NVVM::MemScopeKind::CTA,
          /*relaxed=*/false, Pair ? W.isLeader() : Value());
    Rewriter.replaceOp(Op, Stage);
    return success();
  }
};

struct LowerCommit : TilePattern<CommitOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(CommitOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    PipeOp Declared = declarationOf(Op, Op.getPipe());
    if (!Declared)
      return failure();
    NvvmWriter W(Rewriter, Op.getLoc());
    auto Full = [&] {
      return fullBarrier(W, Op.getPipe().getType(), Adaptor.getPipe(),
                         Adaptor.getStage());
    };
    if (Declared.getCompletion() == Completion::Threads) {
      fenceBefore(Rewriter, Op.getLoc(), Op.getPipe().getType());
      W.syncWarp();
      W.arriveOncePerWarp(Full(), Place);
    } else if (Declared.getCompletion() == Completion::Mma) {
      W.arriveAfterMma(Full(), Declared.getPair());
    } else if (Declared.isOfWarps()) {
      NVVM::CpAsyncCommitGroupOp::create(Rewriter, Op.getLoc());
    }
    Rewriter.eraseOp(Op); // copies that signal the stage complete by themselves
    return success();
  }
};

struct LowerWait : TilePattern<WaitOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(WaitOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    NvvmWriter W(Rewriter, Op.getLoc());
    if (ringOf(Op.getPipe())) {
      // A lane waits for its own copies; then all see those of the others, and
      // none still reads what was released.
      NVVM::CpAsyncWaitGroupOp::create(Rewriter, Op.getLoc(), Op.getInFlight());
      W.syncWarp();
      Rewriter.replaceOp(Op, Adaptor.getCursor());
      return success();
    }
    Value Stage = stageOf(W, Adaptor.getCursor());
    W.waitBarrier(
        fullBarrier(W, Op.getPipe().getType(), Adaptor.getPipe(), Stage),
        parityOf(W, Adaptor.getCursor()));
    fenceAfter(Rewriter, Op.getLoc(), Op.getPipe().getType());
    Rewriter.replaceOp(Op, Stage);
    return success();
  }
};

struct LowerRelease : TilePattern<ReleaseOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(ReleaseOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    if (ringOf(Op.getPipe())) { // the next wait tells
      Rewriter.eraseOp(Op);
      return success();
    }
    NvvmWriter W(Rewriter, Op.getLoc());
    Value Barrier = emptyBarrier(W, Op.getPipe().getType(), Adaptor.getPipe(),
                                 Adaptor.getStage());
    PipeOp Declared = declarationOf(Op, Op.getPipe());
    if (!Declared)
      return failure();
    bool InTensorMemory = Op.getPipe().getType().isInTensorMemory();
    if (InTensorMemory && !Op.getAfterMma()) { // all lanes have read
      fenceBefore(Rewriter, Op.getLoc(), Op.getPipe().getType());
      W.syncWarp();
    }
    if (Op.getAfterMma())
      W.arriveAfterMma(Barrier, Declared.getPair());
    else if (InTensorMemory && Declared.getPair())
      W.arriveAtLeader(Barrier, Place);
    else if (Op.getBlocks() > 1)
      W.arriveAtBlocks(Barrier, Op.getBlocks(), Place);
    else
      W.arriveOncePerWarp(Barrier, Place);
    Rewriter.eraseOp(Op);
    return success();
  }
};

struct LowerTiles : TilePattern<TilesOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TilesOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    NvvmWriter W(Rewriter, Op.getLoc());
    PipeType Pipe = Op.getPipe().getType();
    SmallVector<Value> Tiles;
    if (Pipe.isInTensorMemory()) {
      Value Stage =
          W.pointer(Adaptor.getMemory(),
                    W.mul(Adaptor.getStage(), Pipe.getStageColumns()));
      int64_t Column = 0;
      for (Type Tile : Pipe.getTiles()) {
        Tiles.push_back(W.pointer(Stage, Column));
        Column += cast<TensorMemoryType>(Tile).getWords();
      }
      Rewriter.replaceOp(Op, Tiles);
      return success();
    }
    PipeOp Ring = ringOf(Op.getPipe());
    int64_t Bytes = Ring ? 1 : Pipe.getStageBytes();
    Value Stage;
    if (hasAddresses(Ring))
      Stage = LLVM::IntToPtrOp::create(Rewriter, Op.getLoc(),
                                       Adaptor.getPipe().getType(),
                                       Adaptor.getStage());
    else
      Stage = W.pointer(Adaptor.getPipe(), W.mul(Adaptor.getStage(), Bytes));
    for (size_t I = 0; I < Pipe.getTiles().size(); ++I)
      Tiles.push_back(W.pointer(Stage, Pipe.getTileOffset(I)));
    Rewriter.replaceOp(Op, Tiles);
    return success();
  }
};

/// Thread 0 sets up the barriers of all pipes; then all meet.
struct LowerBarrierInit : TilePattern<BarrierInitOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(BarrierInitOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    auto HasBarriers = [](PipeOp Pipe) { return !Pipe.isOfWarps(); };
    auto Pipes =
        llvm::make_filter_range(Op->getBlock()->getOps<PipeOp>(), HasBarriers);
    if (!Pipes.empty()) {
      auto If = scf::IfOp::create(Rewriter, Loc, W.equal(Place.Thread, 0),
                                  /*withElseRegion=*/false);
      OpBuilder::InsertionGuard Guard(Rewriter);
      Rewriter.setInsertionPointToStart(If.thenBlock());
      for (PipeOp Pipe : Pipes)
        setUp(Rewriter, Pipe);
      NVVM::FenceMbarrierInitOp::create(Rewriter, Loc);
    }
    NVVM::BarrierOp::create(Rewriter, Loc);
    Rewriter.eraseOp(Op);
    return success();
  }

  static void setUp(ConversionPatternRewriter &Rewriter, PipeOp Op) {
    NvvmWriter W(Rewriter, Op.getLoc());
    PipeType Pipe = Op.getPipe().getType();
    Value Base = Rewriter.getRemappedValue(Op.getPipe());
    // Copies and products tell of themselves; one thread begins them.
    bool ByThreads = Op.getCompletion() == Completion::Threads;
    for (int64_t Stage = 0; Stage < Pipe.getStages(); ++Stage) {
      NVVM::MBarrierInitOp::create(
          Rewriter, Op.getLoc(), fullBarrier(W, Pipe, Base, W.i32(Stage)),
          W.i32(ByThreads ? Op.getProducers() : 1), Value());
      NVVM::MBarrierInitOp::create(Rewriter, Op.getLoc(),
                                   emptyBarrier(W, Pipe, Base, W.i32(Stage)),
                                   W.i32(Op.getConsumers()), Value());
    }
  }
};

} // namespace

void kpc::tile::keepAddressesOfRings(gpu::GPUFuncOp Kernel) {
  Kernel.walk([](CpAsyncVectorOp Op) {
    if (auto Ring = Op.getPipe().getDefiningOp<PipeOp>();
        Ring && Op.getPolicy())
      Ring->setAttr(AddressesName, UnitAttr::get(Op.getContext()));
  });
}

Value kpc::tile::sharedMemory(OpBuilder &B, Operation *At, int64_t Offset) {
  constexpr StringLiteral Name = "kpc_shared";
  auto Module = At->getParentOfType<gpu::GPUModuleOp>();
  if (!Module.lookupSymbol(Name)) {
    OpBuilder::InsertionGuard Guard(B);
    B.setInsertionPointToStart(Module.getBody());
    auto Type = LLVM::LLVMArrayType::get(B.getI8Type(), 0);
    LLVM::GlobalOp::create(B, At->getLoc(), Type, /*isConstant=*/false,
                           LLVM::Linkage::External, Name, Attribute(),
                           /*alignment=*/1024, /*addrSpace=*/3);
  }
  Value Base = LLVM::AddressOfOp::create(
      B, At->getLoc(), LLVM::LLVMPointerType::get(B.getContext(), 3), Name);
  return NvvmWriter(B, At->getLoc()).pointer(Base, Offset);
}

void kpc::tile::populatePipePatterns(const TypeConverter &Types,
                                     RewritePatternSet &Patterns,
                                     const ThreadPlace &Place) {
  Patterns.add<LowerPlaced<PipeOp>, LowerPlaced<AllocOp>, LowerCursor,
               LowerNext, LowerSkip, LowerDrain, LowerAcquire, LowerCommit,
               LowerWait, LowerRelease, LowerTiles, LowerBarrierInit>(
      Types, Patterns.getContext(), Place);
}
