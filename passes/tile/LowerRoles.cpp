//===- LowerRoles.cpp - Roles as branches on the warp ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "passes/tile/LowerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace kpc::tile;

namespace {

/// Registers of a multiprocessor, shared by its threads in steps of 8.
constexpr int64_t Registers = 65536, RegisterStep = 8, MostRegisters = 255;

/// Threads of a block; 1 where nothing is said.
int64_t threadsOf(gpu::GPUFuncOp Kernel) {
  kpc::kernel::LaunchAttr Launch = kpc::kernel::launchOf(Kernel);
  return Launch ? Launch.getThreads() : 1;
}

/// What each thread has when the block starts: as many as fit.
int64_t launchRegisters(Operation *Op) {
  int64_t Threads = threadsOf(Op->getParentOfType<gpu::GPUFuncOp>());
  return std::min(Registers / Threads, MostRegisters) / RegisterStep *
         RegisterStep;
}

/// Moves the body of a region into the branch of a new `if`.
void intoBranch(ConversionPatternRewriter &Rewriter, Operation *Op,
                Region &Body, Value Condition, ValueRange Arguments) {
  auto If = scf::IfOp::create(Rewriter, Op->getLoc(), Condition,
                              /*withElseRegion=*/false);
  Block *Then = If.thenBlock();
  Rewriter.eraseOp(Body.front().getTerminator());
  Rewriter.inlineBlockBefore(&Body.front(), Then->getTerminator(), Arguments);
}

struct LowerRole : TilePattern<RoleOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(RoleOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    auto Compare = [&](arith::CmpIPredicate P, int64_t Bound) -> Value {
      return arith::CmpIOp::create(Rewriter, Loc, P, Place.Warp, W.i32(Bound));
    };
    Value From = Compare(arith::CmpIPredicate::sge, Op.getFirst());
    Value To = Compare(arith::CmpIPredicate::slt, Op.getEnd());
    Value Mine = arith::AndIOp::create(Rewriter, Loc, From, To);
    Value Group =
        W.toIndex(W.shiftRight(W.add(Place.Warp, -int64_t(Op.getFirst())), 2));
    {
      OpBuilder::InsertionGuard Guard(Rewriter);
      Rewriter.setInsertionPointToStart(&Op.getBody().front());
      int64_t Before = launchRegisters(Op), Now = Op.getRegisters();
      if (Now && Now != Before)
        NVVM::SetMaxRegisterOp::create(
            Rewriter, Loc, Now,
            Now > Before ? NVVM::SetMaxRegisterAction::increase
                         : NVVM::SetMaxRegisterAction::decrease);
    }
    intoBranch(Rewriter, Op, Op.getBody(), Mine, Group);
    Rewriter.eraseOp(Op);
    return success();
  }
};

/// Warps of a role, kept with the ops that ask for them: a role is a branch
/// before its body is lowered.
constexpr StringLiteral WarpsName = "warps";

struct Warps {
  int64_t First, End;
};

Warps warpsOf(Operation *Op) {
  auto Kept = Op->getAttrOfType<DenseI32ArrayAttr>(WarpsName);
  return {Kept[0], Kept[1]};
}

struct LowerElect : TilePattern<ElectOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(ElectOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    NvvmWriter W(Rewriter, Op.getLoc());
    // The hardware's choice, which ptxas knows to be one thread: what it does
    // then needs no loop over the threads that might be there with it.
    Value Chosen = NVVM::ElectSyncOp::create(Rewriter, Op.getLoc(),
                                             Rewriter.getI1Type(), Value());
    Value First = Op.getScope() == Scope::Warpgroup
                      ? W.equal(W.bitAnd(Place.Warp, 3), 0)
                      : W.equal(Place.Warp, warpsOf(Op).First);
    Chosen = arith::AndIOp::create(Rewriter, Op.getLoc(), First, Chosen);
    intoBranch(Rewriter, Op, Op.getBody(), Chosen, ValueRange());
    W.syncWarp();
    Rewriter.eraseOp(Op);
    return success();
  }
};

/// Named barriers: 0 is the block's, 1–8 the warpgroups', 9 and on the roles'.
/// Where warpgroups take turns, the last three are theirs, and blocks have so
/// few warpgroups that no role's is among them.
constexpr int64_t FirstOfWarpgroups = 1, FirstOfRoles = 9, FirstOfTurns = 13,
                  LastBarrier = 15;
constexpr int64_t MostThreadsOfTurns =
    (FirstOfTurns - FirstOfRoles) * WarpgroupThreads;

struct LowerSync : TilePattern<SyncOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(SyncOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    Value Id, Threads;
    if (Op.getScope() == Scope::Warpgroup) {
      Id = W.add(W.shiftRight(Place.Warp, 2), FirstOfWarpgroups);
      Threads = W.i32(WarpgroupThreads);
    } else if (Op.getScope() == Scope::Role) {
      Warps Role = warpsOf(Op);
      if (FirstOfRoles + Role.First / 4 > LastBarrier)
        return Op.emitOpError("of a role that begins with warp ")
               << Role.First << " has no barrier: there are 16";
      Id = W.i32(FirstOfRoles + Role.First / 4);
      Threads = W.i32((Role.End - Role.First) * 32);
    }
    Rewriter.replaceOpWithNewOp<NVVM::BarrierOp>(
        Op, Type(), Id, Threads, NVVM::BarrierReductionAttr(), Value());
    return success();
  }
};

struct LowerAnyNan : TilePattern<AnyNanOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(AnyNanOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    Value Any =
        LLVM::ConstantOp::create(Rewriter, Loc, Rewriter.getBoolAttr(false));
    for (int64_t I = 0; I < Op.getFragment().getType().getPerThread(); ++I) {
      Value X =
          LLVM::ExtractValueOp::create(Rewriter, Loc, Adaptor.getFragment(), I);
      Value Is =
          LLVM::FCmpOp::create(Rewriter, Loc, LLVM::FCmpPredicate::uno, X, X);
      Any = LLVM::OrOp::create(Rewriter, Loc, Any, Is);
    }
    Type I32 = Rewriter.getI32Type();
    Value Mine = LLVM::ZExtOp::create(Rewriter, Loc, I32, Any);
    Value All = NVVM::BarrierOp::create(
                    Rewriter, Loc, I32, Value(), Value(),
                    NVVM::BarrierReductionAttr::get(Rewriter.getContext(),
                                                    NVVM::BarrierReduction::OR),
                    Mine)
                    .getResult(0);
    Rewriter.replaceOpWithNewOp<LLVM::TruncOp>(Op, Rewriter.getI1Type(), All);
    return success();
  }
};

/// A warpgroup's barrier is over when its own threads and those of the one
/// before have arrived: its own wait there, the others go on.
struct Turns {
  Turns(OpBuilder &B, Operation *Op, const ThreadPlace &Place)
      : W(B, Op->getLoc()), First(warpsOf(Op).First / 4),
        Count(warpsOf(Op).End / 4 - First),
        Own(W.add(W.shiftRight(Place.Warp, 2), -First)) {}

  Value own() { return W.add(Own, FirstOfTurns); }
  Value next(OpBuilder &B, Location Loc) {
    Value IsLast = W.equal(Own, Count - 1);
    Value Next = W.add(Own, FirstOfTurns + 1);
    return arith::SelectOp::create(B, Loc, IsLast, W.i32(FirstOfTurns), Next);
  }

  NvvmWriter W;
  int64_t First, Count;
  Value Own; ///< the warpgroup's number in its role
};

struct LowerWaitTurn : TilePattern<WaitTurnOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(WaitTurnOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Turns T(Rewriter, Op, Place);
    Rewriter.replaceOpWithNewOp<NVVM::BarrierOp>(
        Op, Type(), T.own(), T.W.i32(2 * WarpgroupThreads),
        NVVM::BarrierReductionAttr(), Value());
    return success();
  }
};

struct LowerPassTurn : TilePattern<PassTurnOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(PassTurnOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Turns T(Rewriter, Op, Place);
    NVVM::BarrierArriveOp::create(Rewriter, Op.getLoc(),
                                  T.next(Rewriter, Op.getLoc()),
                                  T.W.i32(2 * WarpgroupThreads));
    Rewriter.eraseOp(Op);
    return success();
  }
};

} // namespace

LogicalResult kpc::tile::verifyRoles(gpu::GPUFuncOp Kernel) {
  int64_t Threads = threadsOf(Kernel);
  bool HasTurns = Kernel
                      .walk([](Operation *Op) {
                        return isa<WaitTurnOp, PassTurnOp>(Op)
                                   ? WalkResult::interrupt()
                                   : WalkResult::advance();
                      })
                      .wasInterrupted();
  if (HasTurns && Threads > MostThreadsOfTurns)
    return Kernel.emitOpError("has warpgroups that take turns; expected at "
                              "most ")
           << MostThreadsOfTurns << " threads, got " << Threads
           << ": there are 16 named barriers";
  // A warpgroup may have several roles, one after the other.
  SmallVector<int64_t> Most(llvm::divideCeil(Threads, WarpgroupThreads), 0);
  bool Inside = true;
  Kernel.walk([&](RoleOp Role) {
    if (isa<RoleOp>(Role->getParentOp())) // registers are the outer role's
      return;
    int64_t End = llvm::divideCeil(Role.getEnd(), 4);
    int64_t Own = Role.getRegisters() ? int64_t(Role.getRegisters())
                                      : launchRegisters(Role);
    for (int64_t Group = Role.getFirst() / 4; Group < End; ++Group) {
      Inside &= size_t(Group) < Most.size();
      if (Inside)
        Most[Group] = std::max(Most[Group], Own);
    }
  });
  if (!Inside)
    return Kernel.emitOpError("has a role for warps that the block of ")
           << Threads << " threads lacks";
  int64_t Sum = 0;
  for (int64_t Each : Most)
    Sum += Each * WarpgroupThreads;
  if (Sum > Registers)
    return Kernel.emitOpError("has roles with ")
           << Sum << " registers together; a block has " << Registers
           << ", and would wait for more for ever";
  return success();
}

void kpc::tile::keepWarpsOfRoles(gpu::GPUFuncOp Kernel) {
  // A role within another comes behind it, and its own warps count.
  Kernel.walk<WalkOrder::PreOrder>([](RoleOp Role) {
    auto Warps = DenseI32ArrayAttr::get(
        Role.getContext(), {int32_t(Role.getFirst()), int32_t(Role.getEnd())});
    Role.walk([&](Operation *Op) {
      if (isa<ElectOp, SyncOp, WaitTurnOp, PassTurnOp>(Op))
        Op->setAttr(WarpsName, Warps);
    });
  });
}

void kpc::tile::populateRolePatterns(const TypeConverter &Types,
                                     RewritePatternSet &Patterns,
                                     const ThreadPlace &Place) {
  Patterns.add<LowerRole, LowerElect, LowerSync, LowerAnyNan, LowerWaitTurn,
               LowerPassTurn>(Types, Patterns.getContext(), Place);
}
