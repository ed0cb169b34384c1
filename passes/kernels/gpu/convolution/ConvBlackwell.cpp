//===- ConvBlackwell.cpp - Convolutions on tcgen05 -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A convolution of 16-bit values, of f32 as tf32 or of FP8 on chips with
/// tensor memory: its operands (ConvOperands.h) multiplied by tcgen05
/// (BlackwellGemm.h). In a pair each block brings pixels of its own rows, and
/// half of the outputs.
///
/// Never run on hardware by this project.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/convolution/ConvOperands.h"
#include "passes/kernels/gpu/gemm/BlackwellGemm.h"
#include "passes/schedule/BlackwellConvSchedule.h"

using namespace mlir;

namespace kpc::kernels {

FamilyAnswer queryConvBlackwell(FusedKernel &Form, const target::Target &T) {
  if (!T.Can.Tcgen05)
    return FamilyAnswer::refuse(RefusalKind::Target,
                                "the target has no tcgen05");
  schedule::Refusal Why;
  std::shared_ptr<ImplicitGemm> Conv = readForIm2col(Form, Why);
  if (!Conv)
    return FamilyAnswer::refuse(Why);
  if (!multipliesByTcgen05(Conv->P))
    return FamilyAnswer::refuse(RefusalKind::ElementType, NotOfTcgen05);
  if (std::optional<schedule::Refusal> No = refusalByIm2col(*Conv, "tcgen05"))
    return FamilyAnswer::refuse(*No);
  std::optional<schedule::ConvShape> Shape = convShapeOf(*Conv);
  if (!Shape)
    return FamilyAnswer::refuse(RefusalKind::Size, TooFewForMma);
  return FamilyAnswer::offer(
      schedule::rankBlackwellConvSchedules(*Shape, T),
      [&Form, Conv](const schedule::BlackwellSchedule &S, GpuLaunch &Launch) {
        return ColumnsOfPairs<ConvOperands<BlackwellGemm>>(Form, *Conv, S)
            .emit(Launch);
      },
      [Shape = *Shape, &T](StringRef Text) {
        return schedule::readBlackwellConvSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels
