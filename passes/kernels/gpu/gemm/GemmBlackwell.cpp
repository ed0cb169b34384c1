//===- GemmBlackwell.cpp - Which GEMMs tcgen05 multiplies -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/gemm/BlackwellGemm.h"

using namespace mlir;

namespace kpc::kernels {

FamilyAnswer queryGemmBlackwell(FusedKernel &Form, const target::Target &T) {
  if (!T.Can.Tcgen05)
    return FamilyAnswer::refuse(RefusalKind::Target,
                                "the target has no tcgen05");
  auto Own = std::make_shared<GemmMatch::Forms>();
  std::optional<GemmMatch> P = GemmMatch::readAny(Form, *Own);
  if (!P)
    return FamilyAnswer::refuse(RefusalKind::Form, NoGemm);
  if (std::optional<schedule::Refusal> No = refusalByTma(*P))
    return FamilyAnswer::refuse(*No);
  if (!multipliesByTcgen05(*P))
    return FamilyAnswer::refuse(RefusalKind::ElementType, NotOfTcgen05);
  std::optional<schedule::GemmShape> Shape = gemmShapeOf(*P);
  if (!Shape)
    return FamilyAnswer::refuse(RefusalKind::Size, TooFewForMma);
  return FamilyAnswer::offer(
      schedule::rankBlackwellSchedules(*Shape, T),
      [Own, P = std::make_shared<GemmMatch>(std::move(*P))](
          const schedule::BlackwellSchedule &S, GpuLaunch &Launch) {
        return BlackwellOperands(Own->First, *P, S).emit(Launch);
      },
      [Shape = *Shape, &T](StringRef Text) {
        return schedule::readBlackwellSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels
