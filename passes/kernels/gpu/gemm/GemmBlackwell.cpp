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

namespace {

/// What products, and what is stored, are made for.
bool hasTypesOfTcgen05(const GemmMatch &P) {
  bool Multiplied = P.A.Element.getIntOrFloatBitWidth() == 16 || P.isFp8();
  return Multiplied && P.D.Element.getIntOrFloatBitWidth() == 16;
}

} // namespace

FamilyAnswer queryGemmBlackwell(FusedKernel &Form, const target::Target &T) {
  if (!T.Can.Tcgen05)
    return FamilyAnswer::refuse(RefusalKind::Target,
                                "the target has no tcgen05");
  std::optional<GemmMatch> P = GemmMatch::read(Form);
  if (!P)
    return FamilyAnswer::refuse(RefusalKind::Form, NoGemm);
  if (std::optional<schedule::Refusal> No = refusalByTma(*P))
    return FamilyAnswer::refuse(*No);
  if (!hasTypesOfTcgen05(*P))
    return FamilyAnswer::refuse(
        RefusalKind::ElementType,
        "operands are neither of 16 bits nor FP8, or the result is not of 16 "
        "bits");
  std::optional<schedule::GemmShape> Shape = gemmShapeOf(*P);
  if (!Shape)
    return FamilyAnswer::refuse(RefusalKind::Size, TooFewForMma);
  return FamilyAnswer::offer(
      schedule::rankBlackwellSchedules(*Shape, T),
      [&Form, P = std::make_shared<GemmMatch>(std::move(*P))](
          const schedule::BlackwellSchedule &S, GpuLaunch &Launch) {
        return BlackwellOperands(Form, *P, S).emit(Launch);
      },
      [Shape = *Shape, &T](StringRef Text) {
        return schedule::readBlackwellSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels
