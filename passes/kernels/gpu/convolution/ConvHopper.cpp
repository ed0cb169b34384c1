//===- ConvHopper.cpp - Convolutions on wgmma -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A convolution of 16-bit values, of f32 as tf32, of FP8 or of 8-bit integers
/// on sm_90a: its operands (ConvOperands.h) multiplied by wgmma (HopperGemm.h).
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/KernelFamily.h"
#include "passes/kernels/gpu/convolution/ConvOperands.h"
#include "passes/kernels/gpu/gemm/HopperGemm.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

class ConvHopper : public ConvOperands<HopperGemm> {
public:
  using ConvOperands::ConvOperands;

private:
  int64_t multicastOfB() override { return S.ClusterM; }
};

} // namespace

FamilyAnswer queryConvHopper(FusedKernel &Form, const target::Target &T) {
  if (!T.Can.Wgmma)
    return FamilyAnswer::refuse(RefusalKind::Target, "the target has no wgmma");
  schedule::Refusal Why;
  std::shared_ptr<ImplicitGemm> Conv = readForIm2col(Form, Why);
  if (!Conv)
    return FamilyAnswer::refuse(Why);
  if (std::optional<schedule::Refusal> No = refusalByIm2col(*Conv, "wgmma"))
    return FamilyAnswer::refuse(*No);
  std::optional<schedule::ConvShape> Shape = convShapeOf(*Conv);
  if (!Shape)
    return FamilyAnswer::refuse(RefusalKind::Size, TooFewForMma);
  Shape->StagedBytes = Conv->P.stagedBytes();
  return FamilyAnswer::offer(
      schedule::rankConvSchedules(*Shape, T),
      [&Form, Conv, Most = T.Limit.SharedPerBlock](
          const schedule::GemmSchedule &S, GpuLaunch &Launch) {
        return ConvHopper(Form, *Conv, S).emit(Launch, Most);
      },
      [Shape = *Shape, &T](StringRef Text) {
        return schedule::readConvSchedule(Text.str(), Shape, T);
      });
}

} // namespace kpc::kernels
