//===- VerifyRings.cpp - Whether warps' rings are in step -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A warp's ring (tile.pipe cp_async) has no barriers that would hold up who
/// comes too early. So what barriers do elsewhere is proved here: the stages of
/// a ring are counted along the program, through loops and branches.
///
///              acquire           commit          wait             release
///   free stage ────────▶ acquired ─────▶ committed ───▶ held (full) ──────┐
///      ▲                                                                  ▼
///      └──────────────────────── the next wait, where lanes meet ──── released
///
/// Copies complete in the order of their commits, so that a wait for the oldest
/// committed stage may leave all younger ones in flight, and no more. Places
/// are followed too: stages are filled, and waited for, one behind the other.
///
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "passes/tile/LowerTile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kpc::tile;

namespace {

/// How many of a ring's stages are in which state.
struct Ring {
  int64_t Acquired = 0, Committed = 0, Held = 0;
  int64_t Released = 0; ///< since the last wait: a lane may still read them
  /// The place of the oldest committed stage, as far behind that of the last
  /// loop's begin, or of the ring's.
  int64_t Oldest = 0;
  bool Met = false; ///< all of the block have met since the last drain

  int64_t taken() const { return Acquired + Committed + Held + Released; }
  /// What loops and branches must leave alike.
  bool holdsAs(const Ring &R) const {
    return Acquired == R.Acquired && Committed == R.Committed && Held == R.Held;
  }
  /// Where either way may have been taken.
  void join(const Ring &R) {
    Released = std::max(Released, R.Released);
    Met = Met && R.Met;
  }
};

class RingWalk {
public:
  explicit RingWalk(PipeOp Pipe)
      : Pipe(Pipe), Stages(Pipe.getPipe().getType().getStages()) {}

  LogicalResult walk(Block &Body, Ring &Now) {
    for (Operation &Op : Body)
      if (failed(visit(Op, Now)))
        return failure();
    return success();
  }

private:
  bool isOfRing(Operation &Op) {
    return llvm::is_contained(Op.getOperands(), Pipe.getPipe());
  }
  bool holdsRing(Operation &Op) {
    return Op
        .walk([&](Operation *Inner) {
          bool Counts = isOfRing(*Inner) || isa<SyncOp>(Inner);
          return Counts ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  LogicalResult visit(Operation &Op, Ring &Now) {
    if (auto Cursor = dyn_cast<CursorOp>(Op);
        Cursor && Cursor.getRing() == Pipe.getPipe() && IsBeginning)
      Places[Op.getResult(0)] = 0;
    if (isa<CpAsyncCommitOp, CpAsyncWaitOp, CpAsyncOp>(Op))
      return Op.emitOpError("expected no other copies in a kernel with a ring "
                            "of warps, which counts the groups of each thread");
    if (auto Sync = dyn_cast<SyncOp>(Op)) {
      if (Sync.getScope() != Scope::Block)
        return success();
      Now.Met = true;
      Now.Released = 0; // the warp's lanes have met, too
      return success();
    }
    if (Op.getNumRegions() != 0 && holdsRing(Op))
      return visitRegions(Op, Now);
    return isOfRing(Op) ? step(Op, Now) : success();
  }

  LogicalResult step(Operation &Op, Ring &Now) {
    auto Release = dyn_cast<ReleaseOp>(Op);
    bool IsPlain =
        !Release || (Release.getBlocks() == 1 && !Release.getAfterMma());
    if (!IsPlain ||
        !isa<AcquireOp, CommitOp, WaitOp, ReleaseOp, DrainOp, CursorOp, NextOp,
             TilesOp, CpAsyncRowsOp, CpAsyncVectorOp, ReuseOp>(Op))
      return Op.emitOpError("is not for a ring of warps, which only the warp's "
                            "own lanes fill, read and release");
    if (isa<CommitOp, ReleaseOp>(Op) && failed(endUses(Op)))
      return failure();
    if (isa<AcquireOp>(Op)) {
      if (Now.taken() >= Stages)
        return Op.emitOpError()
               << "expected a stage that is free: of " << Stages << ", "
               << Now.Acquired + Now.Committed << " are being filled, "
               << Now.Held << " are read, and " << Now.Released
               << " are released but not free before the next 'tile.wait'";
      if (!isAt(Op.getOperand(1), Now.Oldest + Now.Committed + Now.Acquired))
        return Op.emitOpError("expected the place after the stage that was "
                              "acquired last");
      ++Now.Acquired;
    } else if (auto Commit = dyn_cast<CommitOp>(Op)) {
      if (Now.Acquired == 0)
        return Op.emitOpError("expected a stage that was acquired before");
      // A group has all copies since the one before: those of younger stages,
      // too, which only waits longer than it must.
      auto Acquire = Commit.getStage().getDefiningOp<AcquireOp>();
      if (!Acquire || !isAt(Acquire.getCursor(), Now.Oldest + Now.Committed))
        return Op.emitOpError("expected stages to be committed in the order "
                              "in which they were acquired");
      --Now.Acquired;
      ++Now.Committed;
    } else if (auto Wait = dyn_cast<WaitOp>(Op)) {
      int64_t Younger = Now.Committed - 1, Left = int32_t(Wait.getInFlight());
      if (Younger < 0)
        return Op.emitOpError("expected a stage that was committed before");
      if (Left < 0 || Left > Younger)
        return Op.emitOpError() << "expected at most the " << Younger
                                << " younger groups in flight, got " << Left
                                << ": the stage would not be full";
      if (Now.Held != 0)
        return Op.emitOpError(
            "expected the stage before to be released: stages "
            "are freed in their order");
      if (!isAt(Wait.getCursor(), Now.Oldest))
        return Op.emitOpError("expected the place of the oldest stage that is "
                              "committed");
      --Now.Committed;
      ++Now.Held;
      ++Now.Oldest;
      Now.Released = 0;
    } else if (isa<ReleaseOp>(Op)) {
      if (Now.Held-- == 0)
        return Op.emitOpError("expected a stage that was waited for before");
      ++Now.Released;
    } else if (isa<NextOp>(Op)) {
      if (auto At = Places.find(Op.getOperand(1)); At != Places.end())
        Places[Op.getResult(0)] = At->second + 1;
    } else if (isa<DrainOp>(Op)) {
      Now.Released += Now.Committed;
      Now.Oldest += Now.Committed;
      Now.Committed = 0;
      Now.Met = false;
    } else if (isa<ReuseOp>(Op)) {
      if (Now.Acquired + Now.Committed + Now.Held != 0 || !Now.Met)
        return Op.emitOpError("expected 'tile.drain' and then 'tile.sync "
                              "block' before the memory of a ring of warps");
    }
    return success();
  }

  /// A stage's tiles are nobody's behind the op that ends it.
  LogicalResult endUses(Operation &End) {
    Value Stage = End.getOperand(1);
    for (Operation *User : Stage.getUsers()) {
      auto Tiles = dyn_cast<TilesOp>(User);
      if (!Tiles)
        continue;
      for (Operation *Access : Tiles->getUsers()) {
        Operation *Here = End.getBlock()->findAncestorOpInBlock(*Access);
        if (!Here || !Here->isBeforeInBlock(&End))
          return Access->emitOpError("expected in front of the op that commits "
                                     "or releases its stage");
      }
    }
    return success();
  }

  LogicalResult visitRegions(Operation &Op, Ring &Now) {
    if (auto For = dyn_cast<scf::ForOp>(Op))
      return visitLoop(For, Now);
    if (auto If = dyn_cast<scf::IfOp>(Op))
      return visitBranches(If, Now);
    return Op.emitOpError("expected 'scf.for' or 'scf.if' around a ring of "
                          "warps, which all lanes execute together");
  }

  /// Whether a place is known, and is that of stage `Stage`.
  bool isAt(Value Cursor, int64_t Stage) {
    auto Place = Places.find(Cursor);
    return Place != Places.end() && (Place->second - Stage) % Stages == 0;
  }

  LogicalResult visitLoop(scf::ForOp For, Ring &Now) {
    // Of places, those are known that the loop carries: each as far from that
    // of the oldest stage in each round.
    DenseMap<Value, int64_t> Carried, After;
    for (auto [Init, Argument, Result] : llvm::zip_equal(
             For.getInitArgs(), For.getRegionIterArgs(), For.getResults()))
      if (auto Place = Places.find(Init); Place != Places.end()) {
        Carried[Argument] = Place->second;
        After[Result] = Place->second;
      }
    IsBeginning = false;
    // The second round begins with what the first has released.
    for (int Round = 0; Round < 2; ++Round) {
      Ring End = Now;
      Places = Carried;
      if (failed(walk(*For.getBody(), End)))
        return failure();
      if (!End.holdsAs(Now))
        return unlike(For, Now, End);
      for (auto [Argument, Yielded] :
           llvm::zip_equal(For.getRegionIterArgs(), For.getYieldedValues()))
        if (auto Place = Carried.find(Argument);
            Place != Carried.end() &&
            !isAt(Yielded, Place->second + End.Oldest - Now.Oldest))
          return For.emitOpError("expected a loop that carries the places of a "
                                 "ring of warps on by the stages it waits for");
      End.Oldest = Now.Oldest;
      Now.join(End);
    }
    Places = After;
    return success();
  }

  LogicalResult visitBranches(scf::IfOp If, Ring &Now) {
    Ring Then = Now, Else = Now;
    DenseMap<Value, int64_t> Before = Places;
    if (failed(walk(*If.thenBlock(), Then)))
      return failure();
    Places = Before;
    if (If.elseBlock() && failed(walk(*If.elseBlock(), Else)))
      return failure();
    if (!Then.holdsAs(Else) || Then.Oldest != Else.Oldest)
      return unlike(If, Else, Then);
    Places = Before;
    Now = Then;
    Now.join(Else);
    return success();
  }

  static LogicalResult unlike(Operation *Op, const Ring &A, const Ring &B) {
    return Op->emitOpError()
           << "expected as many stages of a ring of warps on each way: "
           << A.Committed << " committed and " << A.Held << " held, or "
           << B.Committed << " and " << B.Held;
  }

  PipeOp Pipe;
  int64_t Stages;
  DenseMap<Value, int64_t> Places; ///< of cursors, from a loop's begin on
  bool IsBeginning = true;         ///< in front of all loops
};

} // namespace

LogicalResult kpc::tile::verifyRings(gpu::GPUFuncOp Kernel) {
  SmallVector<PipeOp> Rings;
  Kernel.walk([&](PipeOp Pipe) {
    if (Pipe.isOfWarps())
      Rings.push_back(Pipe);
  });
  if (Rings.empty())
    return success();
  if (Rings.size() > 1)
    return Rings[1].emitOpError("expected one ring of warps in a kernel: a "
                                "thread counts the groups of its copies once");
  kpc::kernel::LaunchAttr Launch = kpc::kernel::launchOf(Kernel);
  int64_t Warps = Launch ? (Launch.getThreads() + 31) / 32 : 1;
  if (Warps > int64_t(Rings[0].getWarps()))
    return Rings[0].emitOpError() << "expected rings for the block's " << Warps
                                  << " warps, got " << Rings[0].getWarps();
  Ring Now;
  if (failed(RingWalk(Rings[0]).walk(Kernel.getBody().front(), Now)))
    return failure();
  if (Now.Acquired + Now.Committed + Now.Held == 0)
    return success();
  return Rings[0].emitOpError()
         << "expected all of a ring of warps to be released and drained at the "
            "kernel's end, got "
         << Now.Acquired + Now.Committed << " stages that are being filled and "
         << Now.Held << " held";
}
