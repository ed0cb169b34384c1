//===- LowerTensorMemory.cpp - Tensor memory and tcgen05 ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An address of tensor memory has the lane in its high half and the column in
/// its low half (PTX ISA 9.7.16.1). A tile.tmem_mma becomes one tcgen05.mma for
/// each step of 32 bytes of the sum: 8 columns of an `a` in tensor memory.
///
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "passes/tile/LowerTile.h"
#include "passes/tile/OperandDescriptors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

using namespace mlir;
using namespace kpc;
using namespace kpc::tile;

namespace {

NVVM::CTAGroupKind groupOf(bool Pair) {
  return Pair ? NVVM::CTAGroupKind::CTA_2 : NVVM::CTAGroupKind::CTA_1;
}

void fence(OpBuilder &B, Location Loc, NVVM::Tcgen05FenceKind Kind) {
  NVVM::Tcgen05FenceOp::create(B, Loc, Kind);
}

/// What the block's first warp does, all of it.
void byFirstWarp(OpBuilder &B, Location Loc, const ThreadPlace &Place,
                 function_ref<void()> Body) {
  NvvmWriter W(B, Loc);
  auto If = scf::IfOp::create(B, Loc, W.equal(Place.Warp, 0),
                              /*withElseRegion=*/false);
  OpBuilder::InsertionGuard Guard(B);
  B.setInsertionPointToStart(If.thenBlock());
  Body();
}

struct LowerTmemAlloc : TilePattern<TmemAllocOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmemAllocOp Op, OpAdaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    auto Offset = Op->getAttrOfType<IntegerAttr>("offset");
    if (!Offset)
      return Op.emitOpError("has no place in shared memory for its address; "
                            "kpc-place-shared gives it one");
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    Value Place = sharedMemory(Rewriter, Op, Offset.getInt());
    NVVM::CTAGroupKind Group = groupOf(Op.getPair());
    byFirstWarp(Rewriter, Loc, this->Place, [&] {
      NVVM::Tcgen05AllocOp::create(Rewriter, Loc, Place,
                                   W.i32(Op.getMemory().getType().getWords()),
                                   Group);
      if (!isFollowed(Op)) // other blocks may take theirs now
        NVVM::Tcgen05RelinquishAllocPermitOp::create(Rewriter, Loc, Group);
    });
    fence(Rewriter, Loc, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
    NVVM::BarrierOp::create(Rewriter, Loc);
    fence(Rewriter, Loc, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
    Value Address =
        LLVM::LoadOp::create(Rewriter, Loc, Rewriter.getI32Type(), Place);
    Rewriter.replaceOpWithNewOp<LLVM::IntToPtrOp>(
        Op, getTypeConverter()->convertType(Op.getMemory().getType()), Address);
    return success();
  }

  static bool isFollowed(TmemAllocOp Op) {
    for (Operation *Next = Op->getNextNode(); Next; Next = Next->getNextNode())
      if (isa<TmemAllocOp>(Next))
        return true;
    return false;
  }
};

struct LowerTmemFree : TilePattern<TmemFreeOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmemFreeOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    bool Pair = Op->hasAttr(PairName);
    fence(Rewriter, Loc, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
    if (Pair) {
      NVVM::ClusterArriveOp::create(Rewriter, Loc, UnitAttr());
      NVVM::ClusterWaitOp::create(Rewriter, Loc, UnitAttr());
    } else {
      NVVM::BarrierOp::create(Rewriter, Loc);
    }
    fence(Rewriter, Loc, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
    byFirstWarp(Rewriter, Loc, Place, [&] {
      NVVM::Tcgen05DeallocOp::create(Rewriter, Loc, Adaptor.getMemory(),
                                     W.i32(Op.getMemory().getType().getWords()),
                                     groupOf(Pair));
    });
    Rewriter.eraseOp(Op);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

struct LowerTmemMma : TilePattern<TmemMmaOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmemMmaOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    std::optional<OperandDescriptors> A;
    if (auto TileA = dyn_cast<SharedType>(Op.getA().getType()))
      A.emplace(Rewriter, Loc, layout::TensorEngine::Tcgen05, TileA,
                Adaptor.getA(), !Op.getATransposed());
    OperandDescriptors B(Rewriter, Loc, layout::TensorEngine::Tcgen05,
                         Op.getB().getType(), Adaptor.getB(),
                         Op.getBTransposed());
    layout::InstructionDescriptor Described = describe(Op);
    Value Instruction = W.i32(int64_t(Described.encode()));
    Value Add = Adaptor.getAdd();
    TileFactor Left = leftFactor(Op.getA().getType(), Op.getATransposed());
    int64_t Steps =
        Left.Sum * int64_t(Left.Element.getIntOrFloatBitWidth()) / 256;
    for (int64_t Step = 0; Step < Steps; ++Step) {
      constexpr int64_t StepColumns = 8; // of 32 bits: 32 bytes of a row
      Value OfA =
          A ? A->at(Step, 0) : W.pointer(Adaptor.getA(), Step * StepColumns);
      Value OfB = B.at(Step, 0);
      NVVM::Tcgen05MMAOp::create(
          Rewriter, Loc, kindOf(Described.Kind), groupOf(Op.getPair()),
          NVVM::Tcgen05MMACollectorOp::DISCARD,
          /*aShift=*/false, Adaptor.getD(), OfA, OfB, Instruction, Add,
          /*scaleInputD=*/Value(), /*disableOutputLane=*/Value());
      if (!Step)
        Add = arith::ConstantIntOp::create(Rewriter, Loc, 1, /*width=*/1);
    }
    Rewriter.eraseOp(Op);
    return success();
  }

  static NVVM::Tcgen05MMAKind kindOf(layout::Tcgen05Kind Kind) {
    switch (Kind) {
    case layout::Tcgen05Kind::F16:
      return NVVM::Tcgen05MMAKind::F16;
    case layout::Tcgen05Kind::TF32:
      return NVVM::Tcgen05MMAKind::TF32;
    case layout::Tcgen05Kind::F8F6F4:
      return NVVM::Tcgen05MMAKind::F8F6F4;
    case layout::Tcgen05Kind::I8:
      return NVVM::Tcgen05MMAKind::I8;
    }
    llvm_unreachable("all kinds are named");
  }

  /// M and N are those of the pair.
  static layout::InstructionDescriptor describe(TmemMmaOp Op) {
    layout::InstructionDescriptor I;
    Type OfA = leftFactor(Op.getA().getType(), Op.getATransposed()).Element,
         OfB = Op.getB().getType().getElement();
    I.Kind = OfA.isF32()                        ? layout::Tcgen05Kind::TF32
             : OfA.getIntOrFloatBitWidth() == 8 ? layout::Tcgen05Kind::F8F6F4
                                                : layout::Tcgen05Kind::F16;
    I.A = tensorMemoryFactor(OfA);
    I.B = tensorMemoryFactor(OfB);
    I.M = TensorMemoryRows * (Op.getPair() ? 2 : 1);
    I.N = Op.getD().getType().getColumns();
    I.AOrder = Op.getATransposed() ? layout::Major::MN : layout::Major::K;
    I.BOrder = Op.getBTransposed() ? layout::Major::K : layout::Major::MN;
    return I;
  }
};

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// Columns of one instruction: registers of a thread.
constexpr int64_t MostAtOnce = 32;

/// The largest power of two of columns that are left and that one instruction
/// moves.
int64_t columnsAtOnce(int64_t Left) {
  int64_t Columns = MostAtOnce;
  while (Columns > Left)
    Columns /= 2;
  return Columns;
}

/// Where this warp's rows are, from column `First` (i32) on: the lane is the
/// high half of the address.
Value placeOfWarp(NvvmWriter &W, Value Memory, Value First,
                  const ThreadPlace &Place) {
  Value Lane = W.shiftLeft(W.bitAnd(Place.Warp, 3), 5 + 16);
  return W.pointer(Memory, W.add(Lane, First));
}

auto laneShape() { return NVVM::Tcgen05LdStShape::SHAPE_32X32B; }

struct LowerTmemLoad : TilePattern<TmemLoadOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmemLoadOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    FragmentType To = Op.getFragment().getType().getFragment();
    Value From =
        placeOfWarp(W, Adaptor.getMemory(), W.toI32(Adaptor.getFirst()), Place);
    Value Result = LLVM::UndefOp::create(
        Rewriter, Loc,
        getTypeConverter()->convertType(Op.getFragment().getType()));
    for (int64_t Column = 0; Column < To.getColumns();) {
      int64_t Count = columnsAtOnce(To.getColumns() - Column);
      Value Words = NVVM::Tcgen05LdOp::create(
          Rewriter, Loc, VectorType::get(Count, Rewriter.getI32Type()),
          /*pack=*/false, laneShape(), W.pointer(From, Column),
          /*offset=*/Value());
      // As they come: even a cast would read them, in front of the wait.
      for (int64_t I = 0; I < Count; ++I)
        Result = LLVM::InsertValueOp::create(
            Rewriter, Loc, Result,
            LLVM::ExtractElementOp::create(Rewriter, Loc, Words, W.i32(I)),
            Column + I);
      Column += Count;
    }
    Rewriter.replaceOp(Op, Result);
    return success();
  }
};

struct LowerTmemStore : TilePattern<TmemStoreOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(TmemStoreOp Op, OpAdaptor Adaptor,
                  ConversionPatternRewriter &Rewriter) const override {
    Location Loc = Op.getLoc();
    NvvmWriter W(Rewriter, Loc);
    FragmentType From = Op.getFragment().getType();
    int64_t PerWord = 32 / int64_t(From.getElement().getIntOrFloatBitWidth());
    Value First = W.toI32(Adaptor.getFirst());
    Value To =
        placeOfWarp(W, Adaptor.getMemory(),
                    PerWord == 2 ? W.shiftRight(First, 1) : First, Place);
    int64_t Columns = From.getColumns() / PerWord;
    for (int64_t Column = 0; Column < Columns;) {
      int64_t Count = columnsAtOnce(Columns - Column);
      Value Numbers = LLVM::UndefOp::create(
          Rewriter, Loc, VectorType::get(Count * PerWord, From.getElement()));
      for (int64_t I = 0; I < Count * PerWord; ++I)
        Numbers = LLVM::InsertElementOp::create(
            Rewriter, Loc, Numbers,
            LLVM::ExtractValueOp::create(Rewriter, Loc, Adaptor.getFragment(),
                                         Column * PerWord + I),
            W.i32(I));
      Value Words = LLVM::BitcastOp::create(
          Rewriter, Loc, VectorType::get(Count, Rewriter.getI32Type()),
          Numbers);
      NVVM::Tcgen05StOp::create(Rewriter, Loc, /*unpack=*/false, laneShape(),
                                W.pointer(To, Column), Words,
                                /*offset=*/Value());
      Column += Count;
    }
    NVVM::Tcgen05WaitOp::create(Rewriter, Loc, NVVM::Tcgen05WaitKind::STORE);
    Rewriter.eraseOp(Op);
    return success();
  }
};

} // namespace

LogicalResult kpc::tile::verifyPairs(gpu::GPUFuncOp Kernel) {
  kpc::kernel::LaunchAttr Launch = kpc::kernel::launchOf(Kernel);
  if (Launch && Launch.getCluster() == 2)
    return success();
  auto Found = Kernel.walk([](Operation *Op) {
    bool Pair = false;
    if (auto Pipe = dyn_cast<PipeOp>(Op))
      Pair = Pipe.getPair();
    else if (auto Alloc = dyn_cast<TmemAllocOp>(Op))
      Pair = Alloc.getPair();
    else if (auto Mma = dyn_cast<TmemMmaOp>(Op))
      Pair = Mma.getPair();
    else if (auto Scaled = dyn_cast<TmemMmaScaledOp>(Op))
      Pair = Scaled.getPair();
    else if (auto Copy = dyn_cast<TmemCopyOp>(Op))
      Pair = Copy.getPair();
    return Pair ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!Found.wasInterrupted())
    return success();
  return Kernel.emitOpError(
      "works in pairs of blocks: the cluster of its kernel.launch is 2");
}

void kpc::tile::keepPairs(gpu::GPUFuncOp Kernel) {
  auto Yes = UnitAttr::get(Kernel.getContext());
  Kernel.walk([&](TmemFreeOp Free) {
    if (Free.getMemory().getDefiningOp<TmemAllocOp>().getPair())
      Free->setAttr(PairName, Yes);
  });
}

void kpc::tile::populateTensorMemoryPatterns(const TypeConverter &Types,
                                             RewritePatternSet &Patterns,
                                             const ThreadPlace &Place) {
  Patterns.add<LowerTmemAlloc, LowerTmemFree, LowerTmemMma, LowerTmemLoad,
               LowerTmemStore>(Types, Patterns.getContext(), Place);
}
