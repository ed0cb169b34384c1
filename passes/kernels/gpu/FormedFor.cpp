//===- FormedFor.cpp - What fusion made a kernel for ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/FormedFor.h"

#include "dialects/kernel/Kernel.h"
#include "passes/kernels/form/RootShape.h"

#include <cstdlib>

using namespace mlir;

namespace kpc::kernels {

std::optional<FormedFor> FormedFor::read(const FusedKernel &Form) {
  auto OfAttention = Form.Func->walk(
      [](kernel::AttentionOp) { return WalkResult::interrupt(); });
  if (OfAttention.wasInterrupted())
    return FormedFor{"it has an attention", {FamilyClass::Attention}};
  auto OfTiles = Form.Func->walk([](Operation *Op) {
    bool IsTiled =
        Op->hasAttr(kernel::KernelDialect::TilesAttrHelper::getNameStr());
    return IsTiled ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (Form.Root && OfTiles.wasInterrupted())
    return FormedFor{"it reads a weight of codes in tiles",
                     {FamilyClass::FewRowGemm}};
  if (Form.SeveralRoots)
    return FormedFor{
        "it has several reductions",
        {FamilyClass::Rows, FamilyClass::FewRowGemm, FamilyClass::Gemm}};
  linalg::LinalgOp Root = Form.Root;
  if (!Root || !isa<kernel::GemmOp>(Root.getOperation()))
    return std::nullopt;
  std::optional<RootShape> Shape = RootShape::readWithRotateHalf(Form);
  if (Shape && Shape->RotateHalf)
    return FormedFor{"it has RoPE after a GEMM",
                     {FamilyClass::FewRowGemm, FamilyClass::Gemm}};
  return std::nullopt;
}

bool familiesAreStrict() {
  const char *Value = std::getenv("KPC_STRICT_FAMILIES");
  return Value && *Value;
}

LogicalResult checkFormedFor(const FusedKernel &Form,
                             const KernelOffers &Offers,
                             KernelOffers::Place Chosen) {
  std::optional<FormedFor> Made = FormedFor::read(Form);
  const KernelFamily &Family = Offers.family(Chosen);
  if (!Made || llvm::is_contained(Made->Classes, Family.Class))
    return success();
  func::FuncOp Func = Form.Func;
  InFlightDiagnostic Error =
      Func.emitOpError("expected a family that it was formed for, as ")
      << Made->What << ", got '" << Family.Name
      << "'; let fusion ask the registry first";
  for (const schedule::Refusal &No : Offers.refusals())
    for (const KernelFamily &One : gpuFamilies())
      if (One.Name == No.Family && llvm::is_contained(Made->Classes, One.Class))
        Error.attachNote() << "'" << No.Family << "' does not take it, because "
                           << No.Reason;
  return Error;
}

} // namespace kpc::kernels
