//===- BlackwellGemm.h - GEMMs on tcgen05 -----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GEMM of matrices of 16 bits, or of FP8, on chips with tensor memory. One
/// warp of a block copies slices of both operands into a ring in shared memory
/// (TMA); one thread of another begins MMAs on them (tcgen05.mma), whose
/// accumulators grow in tensor memory; a warpgroup reads the accumulators of
/// the tile before, does in registers what the kernel does with each element,
/// and stores through shared memory (TMA).
///
///   global A,B ──TMA──▶ stages ─tcgen05──▶ tensor memory: two tiles of sums
///                        ▲ full/empty         │ full/empty
///   global D ◀──TMA── staging ◀── registers ◀─┘ epilogue
///
/// In a pair, two blocks multiply as one: 256 rows, of which each has 128, by
/// columns of which each has half in its shared memory. The even block's thread
/// begins the MMAs of both.
///
/// Sums of FP8 stay in tensor memory as those of 16 bits do: tcgen05 adds them
/// up in f32, not in 14 bits as wgmma. Scales of a tensor, of rows and of
/// columns are part of what happens in registers.
///
/// Not for: a K that may be 0, rows of memory that do not start at
/// multiples of 16 bytes. Never run on hardware by this project.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_BLACKWELLGEMM_H
#define KPC_PASSES_KERNELS_GPU_GEMM_BLACKWELLGEMM_H

#include "passes/kernels/gpu/gemm/GemmOperands.h"
#include "passes/schedule/BlackwellSchedule.h"

namespace kpc::kernels {

class BlackwellGemm : public TmaGemm {
public:
  BlackwellGemm(FusedKernel &Form, GemmMatch &P,
                const schedule::BlackwellSchedule &S)
      : TmaGemm(Form, P, S), Cut(S) {}

  mlir::LogicalResult emit(GpuLaunch &Launch);

protected:
  /// What the thread that multiplies carries from stage to stage beside its
  /// place in the ring.
  virtual Values firstPlaces() { return {}; }
  virtual Values nextPlaces(mlir::ValueRange) { return {}; }
  /// The products of a stage, whose tiles these are.
  virtual void multiply(mlir::ValueRange Tiles, mlir::Value D, mlir::Value Add,
                        mlir::ValueRange Places);

  const schedule::BlackwellSchedule &Cut;
  mlir::Value Memory; ///< all tensor memory of a block, accumulators first

private:
  void declare();
  void mma();
  void epilogue(mlir::Value Group);
  /// `Places`: in the ring of stages, in that of accumulators, and what
  /// nextPlaces() gives.
  Values mainloop(mlir::ValueRange Places);
  void epilogueTile(const TileCoord &Where, mlir::Value Group,
                    mlir::Value Stage);
  mlir::Value tileOf(mlir::Value Stage);

  tile::TensorMemoryType AccTy;
  mlir::Value AccPipe;
};

/// The same with its operands in memory: blocks of a pair have half of the
/// columns of B each.
class BlackwellOperands : public GemmOperands<BlackwellGemm> {
public:
  using GemmOperands::GemmOperands;

private:
  int64_t columnsOfB() override { return Cut.ownColumns(); }
  mlir::Value firstColumnOfB(const TileCoord &Where) override {
    if (!Cut.isPair())
      return Where.Column;
    return W.add(Where.Column, W.mul(Rank, W.index(Cut.ownColumns())));
  }
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_BLACKWELLGEMM_H
