//===- PlaceShared.cpp - Places in shared memory --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In: a gpu.module with tile ops. Out: the same, every `tile.pipe`,
/// `tile.alloc` and `tile.tmem_alloc` (for its address) with its offset in
/// bytes (attribute `offset`), and the kernel with the sum (`shared` of
/// `kernel.launch`). Largest alignment first, so that little is lost between
/// them; one lives as long as the other.
///
///   %p = tile.pipe tma consumers 4 : !pipe
///   %p = tile.pipe tma consumers 4 {offset = 0 : i64} : !pipe
///
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "passes/tile/LowerTile.h"
#include "passes/tile/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace kpc::tile;

namespace {
struct Room {
  Operation *Op;
  int64_t Alignment, Bytes;
};

struct PlaceShared : PassWrapper<PlaceShared, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceShared)
  StringRef getArgument() const override { return "kpc-place-shared"; }
  StringRef getDescription() const override {
    return "Gives every pipe and tile its place in shared memory";
  }

  /// An address of tensor memory.
  static constexpr int64_t AddressBytes = 8;

  /// A pipe's, or of the largest tile that uses the memory of warps' rings
  /// again.
  static int64_t bytesOf(PipeOp Pipe) {
    int64_t Bytes = pipeBytes(Pipe);
    if (Pipe.isOfWarps())
      for (Operation *User : Pipe.getPipe().getUsers())
        if (auto Reuse = dyn_cast<ReuseOp>(User))
          Bytes = std::max(Bytes, Reuse.getTile().getType().getBytes());
    return Bytes;
  }

  static void place(gpu::GPUFuncOp Kernel) {
    SmallVector<Room> Rooms;
    Kernel.walk([&](Operation *Op) {
      if (auto Pipe = dyn_cast<PipeOp>(Op)) {
        int64_t Alignment = 128;
        for (Type Tile : Pipe.getPipe().getType().getTiles())
          if (auto Shared = dyn_cast<SharedType>(Tile))
            Alignment = std::max(Alignment, Shared.getAlignment());
        Rooms.push_back({Op, Alignment, bytesOf(Pipe)});
      } else if (auto Alloc = dyn_cast<AllocOp>(Op)) {
        SharedType Tile = Alloc.getTile().getType();
        Rooms.push_back({Op, Tile.getAlignment(), Tile.getBytes()});
      } else if (isa<TmemAllocOp>(Op)) {
        Rooms.push_back({Op, AddressBytes, AddressBytes}); // where it is
      }
    });
    if (Rooms.empty())
      return;
    // Tiles have whole multiples of their alignment; pipes end in barriers.
    llvm::stable_sort(Rooms, [](const Room &A, const Room &B) {
      return std::pair(A.Bytes % A.Alignment != 0, -A.Alignment) <
             std::pair(B.Bytes % B.Alignment != 0, -B.Alignment);
    });
    Builder B(Kernel.getContext());
    int64_t End = 0;
    for (const Room &R : Rooms) {
      End = llvm::alignTo(End, R.Alignment);
      R.Op->setAttr("offset", B.getI64IntegerAttr(End));
      End += R.Bytes;
    }
    if (kpc::kernel::LaunchAttr Launch = kpc::kernel::launchOf(Kernel))
      Kernel->setAttr(
          kpc::kernel::KernelDialect::LaunchAttrHelper::getNameStr(),
          Launch.withShared(End));
  }

  void runOnOperation() override {
    for (auto Kernel : getOperation().getOps<gpu::GPUFuncOp>())
      place(Kernel);
  }
};
} // namespace

std::unique_ptr<Pass> kpc::tile::createPlaceSharedPass() {
  return std::make_unique<PlaceShared>();
}
