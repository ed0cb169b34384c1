//===- RowNest.h - A row in the registers of some threads -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The code of threads that hold a row: loads, reductions, and what is stored.
/// GpuRows.cpp says how it goes. A kernel that needs rows for something else
/// than its results says itself which row a thread is in and where elements go.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_ROWS_ROWNEST_H
#define KPC_PASSES_KERNELS_GPU_ROWS_ROWNEST_H

#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/GpuThreads.h"
#include "passes/kernels/gpu/rows/RowKernel.h"
#include "passes/schedule/RowSchedule.h"

namespace kpc::kernels {

/// How the elements of a row are reached.
struct RowWay {
  int64_t Lanes = 1, Accesses = 1;
  bool Aligned = false; ///< strides were checked when the kernel runs
  bool Exact = false;   ///< the row fills all threads
  /// Vectors begin where alignment allows: see RowChoice::Strides.
  llvm::ArrayRef<mlir::OpFoldResult> Strides = {};

  /// Whether the first aligned element may not be the row's first.
  bool startsAnywhere() const {
    return llvm::any_of(Strides, [&](mlir::OpFoldResult Stride) {
      return divisorOf(Stride) % Lanes != 0;
    });
  }
};

class RowNest {
public:
  RowNest(GpuWriter &W, RowKernel &K, const schedule::RowSchedule &S)
      : W(W), K(K), S(S) {}
  virtual ~RowNest() = default;

  /// Each thread's row, by its block.
  void placeThread();
  /// The row in registers.
  void keep(const RowWay &How);
  /// The row from memory, again for each reduction.
  void walk(const RowWay &How);
  mlir::Value length() { return Length; }

  mlir::LogicalResult Result = mlir::success();

protected:
  using Values = llvm::SmallVector<mlir::Value>;

  /// The block's threads in rows of S.Threads: `Lane` and `RowInBlock`.
  void placeInBlock(mlir::Value InBlock);
  /// The row that this thread is in, of all; `Is`: it is there (null: always).
  void placeRow(mlir::Value Row, mlir::Value Is);
  /// Writes what one access has of an output of the whole shape, at `At` in
  /// the shape.
  virtual void store(const KernelOutput &Out, llvm::ArrayRef<mlir::Value> Lanes,
                     mlir::ValueRange At);

  GpuWriter &W;
  RowKernel &K;
  const schedule::RowSchedule &S;
  mlir::Value Thread, Lane, RowInBlock;

private:
  /// Neighbours that one access loads.
  struct Part {
    mlir::Value First;  ///< index in the row
    mlir::Value Inside; ///< null: always
    int64_t Lanes = 1;
  };

  void forgetReductions() { Known.clear(); }
  llvm::SmallVector<Part> partsFrom(mlir::Value Base, const RowWay &How);
  llvm::SmallVector<Part> edges(const RowWay &How);
  mlir::Value elementsBefore(const RowWay &How);
  void startLoads(LaneLoads &Loads, mlir::Value First, const RowWay &How);
  Values fold(const RowReduction &R, llvm::ArrayRef<Part> Parts,
              const RowWay &How);
  Values at(mlir::Value InRow);
  Values foldPart(const RowReduction &R, const Part &P, const RowWay &How,
                  Values Start);
  Values neutrals(const RowReduction &R);
  void finish(const RowReduction &R, Values Partial);
  mlir::Value reduceThreads(mlir::Operation *Combiner, mlir::Value V);
  void storeWide(const Part &P, const RowWay &How);
  void storeNarrow();
  void hookReductions();

  mlir::Value IsRow, Length;
  llvm::SmallVector<mlir::Value> Outer;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> Known;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>>
      Places; ///< see at()
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_ROWS_ROWNEST_H
