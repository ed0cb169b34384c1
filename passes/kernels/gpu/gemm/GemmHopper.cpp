//===- GemmHopper.cpp - GEMMs on wgmma ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GEMM of 16-bit matrices, or of f32 as tf32, on sm_90a. One warp of a
/// block copies slices of both operands into a ring in shared memory (TMA);
/// one, two or three other warpgroups multiply them (wgmma), 64 rows each, with
/// one wgmma group in flight while the next slice is waited for; what the
/// kernel does with each element happens in registers; the result goes through
/// shared memory back by TMA. Blocks stay and take tile after tile, so that the
/// ring runs on over the end of a tile.
///
///      global A,B ──TMA──▶ stage 0 … stage S-1 ─wgmma──▶ registers
///                             ▲  full/empty barriers       │ epilogue
///      global D ◀──TMA── staging, two of 64×64 ◀──stmatrix─┘
///
/// Two warpgroups may have a tile each and take turns (ping-pong): one finishes
/// its tile while the other's products run.
///
/// Two GEMMs of one A whose results meet element by element (a gated MLP) are
/// one: a stage's B has columns of the one and, behind them, as many of the
/// other. Where elements meet those of the other half of a head (a rotary
/// embedding), tiles have whole heads, and a thread has both halves.
///
/// Not for: a K that may be 0, rows of memory that do not start at
/// multiples of 16 bytes.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/ScheduleChoice.h"
#include "passes/kernels/gpu/gemm/GemmOperands.h"
#include "passes/kernels/gpu/gemm/HopperGemm.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

class GemmHopper : public GemmOperands<HopperGemm> {
public:
  using GemmOperands::GemmOperands;

private:
  int64_t multicastOfA() override { return S.ClusterN; }
  int64_t multicastOfB() override { return S.ClusterM; }
};

} // namespace

FailureOr<bool> buildGemmHopper(FusedKernel &Form, const target::Target &T,
                                GpuLaunch &Launch) {
  if (!T.Can.Wgmma)
    return false;
  GemmMatch::Forms Own;
  std::optional<GemmMatch> P = GemmMatch::readAny(Form, Own);
  if (!P || !areGemmOperands(*P))
    return false;
  std::optional<schedule::GemmShape> Shape = gemmShapeOf(*P);
  if (!Shape)
    return false;
  std::vector<schedule::GemmCost> Ranked =
      schedule::rankGemmSchedules(*Shape, T);
  // Angles are the same for all heads of a tile; only where three warpgroups
  // multiply, there are no registers for them beside its accumulators.
  llvm::erase_if(Ranked, [&](const schedule::GemmCost &One) {
    // Whole heads and their angles beside 128 or 192 accumulators of a thread
    // spill.
    if (P->RotateHalf && One.Schedule.PingPong &&
        One.Schedule.sumsOfThread() > schedule::MostSumsOfHeadsInTurn)
      return true;
    bool KeepsReads =
        P->ReadsAtResult || (P->RotateHalf && One.Schedule.consumers() > 2);
    return KeepsReads && !One.Schedule.PingPong &&
           One.Schedule.TileN > schedule::MaxNWithEpilogueReads;
  });
  const schedule::GemmCost *Chosen =
      chooseSchedule(Form, Ranked, Launch, [&](StringRef Text) {
        return schedule::readGemmSchedule(Text.str(), *Shape, T);
      });
  if (!Chosen)
    return false;
  if (failed(GemmHopper(Own.First, *P, Chosen->Schedule).emit(Launch)))
    return failure();
  return true;
}

} // namespace kpc::kernels
