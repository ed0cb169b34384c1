//===- GemmHopper.cpp - GEMMs on wgmma ------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A GEMM of 16-bit matrices, or of f32 as tf32, on sm_90a. One warp of a block
/// copies slices of both operands into a ring in shared memory (TMA). One, two
/// or three other warpgroups multiply them (wgmma), 64 rows each, with one
/// wgmma group in flight while they wait for the next slice. The epilogue works
/// in registers, and the result is stored through shared memory by TMA. Blocks
/// are persistent and take tile after tile, so that the ring continues from one
/// tile to the next.
///
///      global A,B ──TMA──▶ stage 0 … stage S-1 ─wgmma──▶ registers
///                             ▲  full/empty barriers       │ epilogue
///      global D ◀──TMA── staging, two of 64×64 ◀──stmatrix─┘
///
/// Two warpgroups may have a tile each and take turns (ping-pong): one finishes
/// its tile while the other's products run.
///
/// Two GEMMs that share A, whose results are combined element by element (a
/// gated MLP), are one kernel: a stage's B has columns of the first and then as
/// many of the second. For RoPE, which combines elements of the two halves of a
/// head, tiles have whole heads, and a thread has both halves.
///
/// The kernel does not fit a K that may be 0, or rows of memory that do not
/// start at multiples of 16 bytes.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/KernelFamily.h"
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

FamilyAnswer queryGemmHopper(FusedKernel &Form, const target::Target &T) {
  if (!T.Can.Wgmma)
    return FamilyAnswer::refuse(RefusalKind::Target, "the target has no wgmma");
  auto Own = std::make_shared<GemmMatch::Forms>();
  std::optional<GemmMatch> P = GemmMatch::readAny(Form, *Own);
  if (!P)
    return FamilyAnswer::refuse(RefusalKind::Form, NoGemm);
  if (std::optional<schedule::Refusal> No = refusalByTma(*P))
    return FamilyAnswer::refuse(*No);
  std::optional<schedule::GemmShape> Shape = gemmShapeOf(*P);
  if (!Shape)
    return FamilyAnswer::refuse(RefusalKind::Size, TooFewForMma);
  Shape->StagedBytes = P->stagedBytes();
  return FamilyAnswer::offer(
      schedule::rankGemmSchedules(*Shape, T),
      [Own, P = std::make_shared<GemmMatch>(std::move(*P)),
       Most = T.Limit.SharedPerBlock](const schedule::GemmSchedule &S,
                                      GpuLaunch &Launch) {
        return GemmHopper(Own->First, *P, S).emit(Launch, Most);
      },
      [Shape = *Shape, &T](StringRef Text) {
        return schedule::readGemmSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels
