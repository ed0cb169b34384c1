//===- LowerTile.h - What the patterns of the lowering share ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From the tile dialect to nvvm and llvm, op by op; LowerTile.cpp has the
/// pass, the other files the patterns of one family each.
///
///   tile            | becomes
///   ----------------|------------------------------------------------------
///   view            | !llvm.ptr, a parameter of 128 bytes by value
///   smem, pipe      | !llvm.ptr<3>
///   tmem            | !llvm.ptr<6>, the lane in its high half
///   stage           | i32, its number; of a warp's ring its byte there, or
///                   | its address
///   cursor          | i32: the stage's number, and in bit 16 the round's
///                   | parity; of a warp's ring as its stage
///   fragment        | !llvm.struct of what one thread holds
///   column          | the same, two values for each 64 rows
///   packed          | !llvm.struct of i32, two elements in each
///   pending         | as fragment, in lanes of i32; nothing but mma and await
///                   | touches it
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_TILE_LOWERTILE_H
#define KPC_PASSES_TILE_LOWERTILE_H

#include "dialects/tile/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace kpc::tile {

/// Who a thread is; made once, at the kernel's entry.
struct ThreadPlace {
  mlir::Value Thread; ///< i32, in the block
  mlir::Value Lane;   ///< i32, in the warp
  mlir::Value Warp;   ///< i32, in the block; the compiler knows it uniform
};

/// The values of a struct.
llvm::SmallVector<mlir::Value> unpack(mlir::OpBuilder &B, mlir::Location Loc,
                                      mlir::Value Struct);
/// A struct of values.
mlir::Value pack(mlir::OpBuilder &B, mlir::Location Loc, mlir::Type Ty,
                 llvm::ArrayRef<mlir::Value> Values);

/// Writes what patterns write often.
class NvvmWriter {
public:
  NvvmWriter(mlir::OpBuilder &B, mlir::Location Loc) : B(B), Loc(Loc) {}

  mlir::Value i32(int64_t V);
  mlir::Value add(mlir::Value A, mlir::Value C);
  mlir::Value add(mlir::Value A, int64_t C);
  mlir::Value mul(mlir::Value A, int64_t C);
  mlir::Value shiftLeft(mlir::Value A, int64_t C);
  mlir::Value shiftRight(mlir::Value A, int64_t C);
  mlir::Value bitAnd(mlir::Value A, int64_t C);
  mlir::Value bitXor(mlir::Value A, mlir::Value C);
  mlir::Value equal(mlir::Value A, int64_t C);
  /// Casts between index and i32.
  mlir::Value toI32(mlir::Value Index);
  mlir::Value toIndex(mlir::Value I32);
  /// `Offset` bytes behind `Base`, in shared memory.
  mlir::Value pointer(mlir::Value Base, mlir::Value Offset);
  mlir::Value pointer(mlir::Value Base, int64_t Offset);
  /// What a row's pattern of addresses (a tile's swizzle) swaps the bytes of a
  /// line with; rows 8 apart have the same.
  mlir::Value swizzleOfRow(SharedType Tile, mlir::Value Row);
  static int64_t swizzleOfRow(SharedType Tile, int64_t Row);
  /// Waits until the round of parity `Parity` of a barrier is over.
  void waitBarrier(mlir::Value Barrier, mlir::Value Parity);
  /// The threads of a warp arrive together, as one.
  void arriveOncePerWarp(mlir::Value Barrier, const ThreadPlace &Place);
  /// The same, at this barrier of each of the cluster's blocks.
  void arriveAtBlocks(mlir::Value Barrier, int64_t Blocks,
                      const ThreadPlace &Place);
  /// Of a pair of blocks, the even one.
  mlir::Value isLeader();
  /// The even block's barrier at this place.
  mlir::Value leaderBarrier(mlir::Value Barrier);
  void arriveAtLeader(mlir::Value Barrier, const ThreadPlace &Place);
  /// Tells a barrier, of a pair those of both blocks, when all tcgen05 products
  /// that this thread has begun are over.
  void arriveAfterMma(mlir::Value Barrier, bool Pair);
  /// A pointer to shared memory of any block of the cluster.
  static mlir::Type clusterPointer(mlir::MLIRContext *Context);
  /// All lanes of the warp meet; keeps the compiler from taking what follows a
  /// branch of one thread for divergent.
  void syncWarp();

private:
  mlir::OpBuilder &B;
  mlir::Location Loc;
};

/// Where the barriers of stage `Stage` are: behind all stages, full then empty.
mlir::Value fullBarrier(NvvmWriter &W, PipeType Pipe, mlir::Value Base,
                        mlir::Value Stage);
mlir::Value emptyBarrier(NvvmWriter &W, PipeType Pipe, mlir::Value Base,
                         mlir::Value Stage);
/// Bytes of a pipe with its barriers, or of all warps' rings.
int64_t pipeBytes(PipeOp Pipe);

template <typename Op> struct TilePattern : mlir::OpConversionPattern<Op> {
  TilePattern(const mlir::TypeConverter &Types, mlir::MLIRContext *Context,
              const ThreadPlace &Place)
      : mlir::OpConversionPattern<Op>(Types, Context), Place(Place) {}
  const ThreadPlace &Place;
};

/// `Offset` bytes behind the start of dynamic shared memory, whose symbol is
/// made where the module has none.
mlir::Value sharedMemory(mlir::OpBuilder &B, mlir::Operation *At,
                         int64_t Offset);

/// Marks ops that work in pairs of blocks, and are not told by their own text.
inline constexpr llvm::StringLiteral PairName = "pair";

/// Whether pairs of blocks are there.
mlir::LogicalResult verifyPairs(mlir::gpu::GPUFuncOp Kernel);
/// Before any pattern: ops that ask for theirs are marked.
void keepPairs(mlir::gpu::GPUFuncOp Kernel);

/// Whether the warps of all roles are there, and their registers fit the block.
mlir::LogicalResult verifyRoles(mlir::gpu::GPUFuncOp Kernel);

/// Whether each warp's ring is filled, waited for and freed in step.
mlir::LogicalResult verifyRings(mlir::gpu::GPUFuncOp Kernel);

/// Whether a kernel copies weights alone before it waits for other kernels.
mlir::LogicalResult verifyEarlyCopies(mlir::gpu::GPUFuncOp Kernel);

/// Marks rings whose cursors are addresses, and not bytes in the ring.
inline constexpr llvm::StringLiteral AddressesName = "addresses";

/// Before any pattern: rings that copies with a cache policy fill are marked.
void keepAddressesOfRings(mlir::gpu::GPUFuncOp Kernel);

/// Before any pattern: ops that ask for their role get its warps.
void keepWarpsOfRoles(mlir::gpu::GPUFuncOp Kernel);

void populateRolePatterns(const mlir::TypeConverter &Types,
                          mlir::RewritePatternSet &Patterns,
                          const ThreadPlace &Place);
void populatePipePatterns(const mlir::TypeConverter &Types,
                          mlir::RewritePatternSet &Patterns,
                          const ThreadPlace &Place);
void populateCopyPatterns(const mlir::TypeConverter &Types,
                          mlir::RewritePatternSet &Patterns,
                          const ThreadPlace &Place);
void populateClusterPatterns(const mlir::TypeConverter &Types,
                             mlir::RewritePatternSet &Patterns,
                             const ThreadPlace &Place);
void populateMmaPatterns(const mlir::TypeConverter &Types,
                         mlir::RewritePatternSet &Patterns,
                         const ThreadPlace &Place);
void populateFragmentPatterns(const mlir::TypeConverter &Types,
                              mlir::RewritePatternSet &Patterns,
                              const ThreadPlace &Place);
void populateFragmentMovePatterns(const mlir::TypeConverter &Types,
                                  mlir::RewritePatternSet &Patterns,
                                  const ThreadPlace &Place);
void populateApplyPatterns(const mlir::TypeConverter &Types,
                           mlir::RewritePatternSet &Patterns,
                           const ThreadPlace &Place);
void populateTensorMemoryPatterns(const mlir::TypeConverter &Types,
                                  mlir::RewritePatternSet &Patterns,
                                  const ThreadPlace &Place);
void populateTensorScalePatterns(const mlir::TypeConverter &Types,
                                 mlir::RewritePatternSet &Patterns,
                                 const ThreadPlace &Place);
void populateThreadCopyPatterns(const mlir::TypeConverter &Types,
                                mlir::RewritePatternSet &Patterns,
                                const ThreadPlace &Place);
void populateRingPatterns(const mlir::TypeConverter &Types,
                          mlir::RewritePatternSet &Patterns,
                          const ThreadPlace &Place);
void populateScaledPatterns(const mlir::TypeConverter &Types,
                            mlir::RewritePatternSet &Patterns,
                            const ThreadPlace &Place);
void populateWindowPatterns(const mlir::TypeConverter &Types,
                            mlir::RewritePatternSet &Patterns,
                            const ThreadPlace &Place);
void populateMultiplyPatterns(const mlir::TypeConverter &Types,
                              mlir::RewritePatternSet &Patterns,
                              const ThreadPlace &Place);

} // namespace kpc::tile

#endif // KPC_PASSES_TILE_LOWERTILE_H
