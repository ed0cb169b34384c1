//===- GemvRows.h - Rows that a product of few rows computes ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A norm in front of a GEMM of few rows, in its kernel. While the first
/// weights are on their way, each block computes all rows of A, with the code
/// of the family of rows, rounds them to A's type and holds them in shared
/// memory for all of its tiles.
///
///   shared memory: rings | partial sums | rows [MaxM][K, zeros, 64 bytes]
///
/// Rows begin 64 bytes behind a multiple of 128, so that the two rows that
/// eight lanes load from are in different banks.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_GEMVROWS_H
#define KPC_PASSES_KERNELS_GPU_GEMM_GEMVROWS_H

#include "passes/kernels/gpu/gemm/GemmMatch.h"
#include "passes/kernels/gpu/rows/RowNest.h"
#include "passes/schedule/GemvSchedule.h"

namespace kpc::kernels {

/// The rows of `ComputedA`.
struct ComputedRows {
  RowKernel K;
  int64_t Lanes = 1; ///< elements of one access
  int64_t Length = 0;

  /// None where they are no rows that threads can hold; `Why` says so.
  static std::optional<ComputedRows> read(FusedKernel &Form, const GemmMatch &P,
                                          std::string &Why);
  /// Which threads of `Threads` hold which part of typically `Rows` rows.
  schedule::RowSchedule scheduleFor(int64_t Threads, int64_t Rows) const;
};

/// Writes rows to shared memory.
class GemvRows : public RowNest {
public:
  /// `Held`: [rows, elements to the next row].
  GemvRows(GpuWriter &W, RowKernel &K, const schedule::RowSchedule &S,
           mlir::Value Held)
      : RowNest(W, K, S), Held(Held) {}

  /// `Count` rows from `First` on, at most `Most`. All threads of the block run
  /// this, and wait for one another behind it.
  void write(mlir::Value First, mlir::Value Count, int64_t Most, int64_t Lanes,
             int64_t Length);

private:
  void store(const KernelOutput &Out, llvm::ArrayRef<mlir::Value> Lanes,
             mlir::ValueRange At) override;

  mlir::Value Held, HeldRow;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_GEMVROWS_H
