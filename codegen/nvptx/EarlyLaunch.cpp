//===- EarlyLaunch.cpp - Kernels that begin before their turn -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Programmatic dependent launch (PTX ISA, griddepcontrol): blocks of a kernel
/// take free multiprocessors while the kernel in front still runs. They touch
/// memory only when all that they depend on is done. Until then they bring
/// weights, which no kernel writes, to the L2 cache.
///
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/EarlyLaunch.h"
#include "dialects/kernel/Kernel.h"
#include "dialects/kernel/LeastPrefetched.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;

namespace kpc::nvptx {

/// Kernels with more weights ask for none ahead, or for so much of them. This
/// is a third of the L2 cache of an H100 (50 MB): the kernel in front works on
/// what the rest holds.
static constexpr int64_t MostPrefetched = 16 << 20;

/// Pieces are lines of the L2 cache.
static constexpr int64_t LineBytes = 128;

/// The first version with cp.async.bulk.prefetch (PTX ISA).
static constexpr int32_t FirstPtxOfBulkPrefetch = 80;

namespace {

/// Writes the instructions by which the first thread of each block asks for
/// the block's share of the weights.
class WeightPrefetch {
public:
  WeightPrefetch(llvm::Function &Kernel, kernel::LaunchAttr Launch)
      : Kernel(Kernel), Launch(Launch),
        B(&*Kernel.getEntryBlock().getFirstInsertionPt()) {}

  void write(kernel::BuffersAttr Buffers) {
    SmallVector<std::pair<llvm::Argument *, int64_t>> Weights;
    int64_t Sum = 0;
    for (llvm::Argument &Argument : Kernel.args()) {
      int64_t Bytes = Buffers.getWeightBytesOf(Argument.getArgNo()) / 16 * 16;
      if (Bytes < kernel::LeastPrefetched || !Argument.getType()->isPointerTy())
        continue;
      Weights.emplace_back(&Argument, Bytes);
      Sum += Bytes;
    }
    if (Sum > MostPrefetched && Launch.getPrefetchesPart()) {
      for (auto &[Argument, Bytes] : Weights)
        Bytes = Bytes * MostPrefetched / Sum / LineBytes * LineBytes;
      Sum = MostPrefetched;
    }
    if (Sum <= MostPrefetched)
      for (auto [Argument, Bytes] : Weights)
        prefetch(*Argument, Bytes);
  }

private:
  llvm::Value *special(llvm::Intrinsic::ID Register) {
    return B.CreateIntrinsic(Register, {});
  }

  /// Whether the grid has more than one block along axis 1 or 2.
  bool isWide(unsigned Axis) const {
    return cast<StringAttr>(Launch.getGrid()[Axis]).getValue() != "1";
  }

  /// The block's place in the grid, the grid's blocks, and whether the thread
  /// is the block's first.
  void findPlace() {
    Block = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
    Blocks = special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
    llvm::Value *Thread = special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
    constexpr llvm::Intrinsic::ID Of[3][3] = {
        {},
        {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
         llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
         llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y},
        {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z,
         llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z,
         llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z}};
    for (unsigned Axis : {1, 2}) {
      if (isWide(Axis)) {
        Block = B.CreateAdd(Block, B.CreateMul(special(Of[Axis][0]), Blocks));
        Blocks = B.CreateMul(Blocks, special(Of[Axis][1]));
      }
      if (Launch.getBlock()[Axis] != 1)
        Thread = B.CreateOr(Thread, special(Of[Axis][2]));
    }
    IsFirst = B.CreateICmpEQ(Thread, B.getInt32(0));
  }

  /// Blocks bring `Bytes` in equal shares of whole lines.
  void prefetch(llvm::Argument &Weight, int64_t Bytes) {
    if (!Block)
      findPlace();
    llvm::Value *Share = B.CreateUDiv(B.getInt32(Bytes - 1), Blocks);
    Share = B.CreateAnd(B.CreateAdd(Share, B.getInt32(LineBytes)),
                        B.getInt32(-LineBytes));
    llvm::Value *Start = B.CreateMul(B.CreateZExt(Block, B.getInt64Ty()),
                                     B.CreateZExt(Share, B.getInt64Ty()));
    llvm::Value *End = B.getInt64(Bytes);
    llvm::Value *Rest = B.CreateTrunc(B.CreateSub(End, Start), B.getInt32Ty());
    llvm::Value *Size =
        B.CreateBinaryIntrinsic(llvm::Intrinsic::umin, Share, Rest);
    llvm::Value *Takes = B.CreateAnd(IsFirst, B.CreateICmpULT(Start, End));
    Size = B.CreateSelect(Takes, Size, B.getInt32(0));
    constexpr unsigned Global = 1;
    llvm::Value *Address = B.CreateAddrSpaceCast(
        &Weight, llvm::PointerType::get(B.getContext(), Global));
    Address = B.CreatePtrToInt(B.CreateGEP(B.getInt8Ty(), Address, Start),
                               B.getInt64Ty());
    auto *Type = llvm::FunctionType::get(
        B.getVoidTy(), {B.getInt64Ty(), B.getInt32Ty()}, false);
    // A predicate, not a branch: what comes before the wait is one block.
    B.CreateCall(Type,
                 llvm::InlineAsm::get(
                     Type,
                     "{\n\t.reg .pred %takes;\n\t"
                     "setp.ne.u32 %takes, $1, 0;\n\t"
                     "@%takes cp.async.bulk.prefetch.L2.global [$0], $1;\n\t}",
                     "l,r", /*hasSideEffects=*/true),
                 {Address, Size});
  }

  llvm::Function &Kernel;
  kernel::LaunchAttr Launch;
  llvm::IRBuilder<> B;
  llvm::Value *Block = nullptr, *Blocks = nullptr, *IsFirst = nullptr;
};

} // namespace

/// Whether the kernel has copies before its wait (tile.grid_dependency_wait).
static bool waitsItself(llvm::Function &Kernel) {
  return llvm::any_of(llvm::instructions(Kernel), [](llvm::Instruction &I) {
    auto *Call = dyn_cast<llvm::CallInst>(&I);
    auto *Asm =
        Call ? dyn_cast<llvm::InlineAsm>(Call->getCalledOperand()) : nullptr;
    return Asm && Asm->getAsmString().starts_with("griddepcontrol.wait");
  });
}

/// Inserted after the optimiser, which takes the intrinsic for one that memory
/// does not matter to, and would move loads across it. For the same reason
/// nothing is read through the read-only cache, whose lines may be older than
/// the kernel's wait.
///
/// A kernel says behind its wait that its dependents may be launched. Had it
/// said so before, blocks of many later kernels would take the places of those
/// that can work. A kernel that holds its dependents (GpuLaunch.h) does not say
/// so: they are launched when it has ended.
void launchEarly(gpu::GPUModuleOp Module, llvm::Module &Llvm,
                 int32_t PtxVersion) {
  for (llvm::Function &Kernel : Llvm) {
    if (Kernel.getCallingConv() != llvm::CallingConv::PTX_Kernel ||
        Kernel.isDeclaration())
      continue;
    for (llvm::Argument &Arg : Kernel.args())
      if (Arg.getType()->isPointerTy() && !Arg.hasByValAttr())
        for (llvm::Attribute::AttrKind Kind :
             {llvm::Attribute::ReadOnly, llvm::Attribute::ReadNone})
          Arg.removeAttr(Kind);
    Operation *Source = Module.lookupSymbol(Kernel.getName());
    kernel::LaunchAttr Launch =
        Source ? kernel::launchOf(Source) : kernel::LaunchAttr();
    bool Holds = Launch && Launch.getNoEarlyPdlTrigger();
    if (!waitsItself(Kernel)) {
      llvm::IRBuilder<> B(&*Kernel.getEntryBlock().getFirstInsertionPt());
      auto *Type = llvm::FunctionType::get(B.getVoidTy(), false);
      B.CreateCall(Type, llvm::InlineAsm::get(
                             Type,
                             Holds ? "griddepcontrol.wait;"
                                   : "griddepcontrol.wait;\n\t"
                                     "griddepcontrol.launch_dependents;",
                             "~{memory}", /*hasSideEffects=*/true));
    }
    kernel::BuffersAttr Buffers =
        Launch ? kernel::buffersOf(Source) : kernel::BuffersAttr();
    if (Buffers && Buffers.getWeightBytes() &&
        PtxVersion >= FirstPtxOfBulkPrefetch)
      WeightPrefetch(Kernel, Launch).write(Buffers);
  }
}

} // namespace kpc::nvptx
