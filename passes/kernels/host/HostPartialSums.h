//===- HostPartialSums.h - Long sums in blocks ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An accumulator that takes n elements one by one loses about sqrt(n) half
/// units in its last place, and n where all roundings go one way. A long sum is
/// therefore made of blocks of `SumBlock` elements: each block starts anew, and
/// its sum is one element of the next level. Blocks follow from the sizes
/// alone, so results are the same for any number of threads.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_HOST_HOSTPARTIALSUMS_H
#define KPC_PASSES_KERNELS_HOST_HOSTPARTIALSUMS_H

#include "passes/kernels/host/HostLoops.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kpc::kernels {

/// Additions to one accumulator before it is put aside: a block's start and end
/// cost under a hundredth of it.
inline constexpr int64_t SumBlock = 128;
/// The same where the accumulators fill the registers, so that those put aside
/// go through memory.
inline constexpr int64_t SharedSumBlock = 512;

/// The operations of a root generic that take its accumulators, one for each
/// result, and the values that change nothing under them.
struct Combination {
  llvm::SmallVector<mlir::Operation *> Ops;
  llvm::SmallVector<mlir::TypedAttr> Neutral;

  /// None if an accumulator is used by anything else, or by an operation that
  /// may not be regrouped.
  static std::optional<Combination> read(mlir::linalg::LinalgOp Root);

  /// Whether all results are sums of reals, for which the order counts.
  bool addsReals() const;
  mlir::Value apply(mlir::OpBuilder &B, mlir::Location Loc, unsigned Number,
                    mlir::Value X, mlir::Value Y) const;
  /// A neutral value for each of `Like`: accumulators, all results of one place
  /// after the other.
  llvm::SmallVector<mlir::Value> neutral(mlir::OpBuilder &B, mlir::Location Loc,
                                         mlir::ValueRange Like) const;
};

/// How one loop of a reduction is cut.
struct SumBlocks {
  int64_t Block = SumBlock; ///< iterations of the innermost level
  unsigned Levels = 0;      ///< of blocks; 0: all into one accumulator
};

/// Cuts for loops of at most so many iterations, the outermost first, into
/// blocks of about `Block` additions.
llvm::SmallVector<SumBlocks>
cutSums(llvm::ArrayRef<std::optional<int64_t>> Most, int64_t Block = SumBlock);

/// As `makeLoop` from `Lower` to `Upper`, in the blocks of `Blocks`. `Made` is
/// told of every innermost loop.
llvm::SmallVector<mlir::Value>
makeSumLoop(mlir::OpBuilder &B, mlir::Location Loc, ElementEmitter &Emitter,
            const Combination &Combine, const SumBlocks &Blocks,
            mlir::Value Lower, mlir::Value Upper, int64_t Step,
            mlir::ValueRange Sums, LoopBody Body,
            llvm::function_ref<void(mlir::scf::ForOp)> Made);

/// Lets `Emitter` make the sums that it pulls in blocks.
void pullSumsInBlocks(ElementEmitter &Emitter);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_HOST_HOSTPARTIALSUMS_H
