//===- ApproximateMath.cpp - Math of which 16 bits are stored -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/ApproximateMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace kpc::kernels {

/// Whether numbers become codes of FP8 there.
static bool isFp8(Operation *Op) {
  return isa<arith::TruncFOp>(Op) &&
         isa<FloatType>(Op->getResult(0).getType()) &&
         Op->getResult(0).getType().getIntOrFloatBitWidth() == 8;
}

/// Of 16 bits, or bytes of a kernel that `MakesFp8`. What becomes of integers
/// goes through steps.
static bool isNarrow(const KernelOutput &Out, bool MakesFp8) {
  Type Element = cast<MemRefType>(Out.Memref.getType()).getElementType();
  return Element.isF16() || Element.isBF16() ||
         (MakesFp8 && Element.isInteger(8));
}

/// One element of each row: the scale of its codes.
static bool isOfRows(const KernelOutput &Out) {
  auto Ty = cast<MemRefType>(Out.Memref.getType());
  return Ty.getRank() > 0 && Ty.getShape().back() == 1;
}

/// Whether a small change of an operand may change the result by far.
static bool isStep(Operation *Op) {
  if (isa<arith::BitcastOp>(Op)) {
    // The bits of FP8 are its code.
    Type From = Op->getOperand(0).getType();
    return isa<FloatType>(From) && From.getIntOrFloatBitWidth() > 8;
  }
  return isa<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
             math::TruncOp, arith::CmpFOp, arith::FPToSIOp, arith::FPToUIOp,
             arith::RemFOp>(Op) &&
         !Op->getOperand(0).getType().isIntOrIndex();
}

/// All that steps are computed from; none where that goes through loops or
/// branches, and is not seen.
static std::optional<llvm::SmallPtrSet<Operation *, 16>>
operandsOfSteps(func::FuncOp Func) {
  SmallVector<Value> Worklist;
  Func.walk([&](Operation *Op) {
    if (isStep(Op))
      llvm::append_range(Worklist, Op->getOperands());
  });
  llvm::SmallPtrSet<Operation *, 16> Found;
  while (!Worklist.empty()) {
    Value V = Worklist.pop_back_val();
    Operation *Def = V.getDefiningOp();
    if (!Def ? !isa<func::FuncOp>(V.getParentBlock()->getParentOp())
             : Def->getNumRegions() != 0)
      return std::nullopt;
    if (Def && Found.insert(Def).second)
      llvm::append_range(Worklist, Def->getOperands());
  }
  return Found;
}

void markApproximateMath(const FusedKernel &Form) {
  func::FuncOp Func = Form.Func;
  bool MakesFp8 = false;
  Func.walk([&](Operation *Op) { MakesFp8 |= isFp8(Op); });
  auto IsNarrow = [&](const KernelOutput &Out) {
    return isNarrow(Out, MakesFp8);
  };
  if (!llvm::any_of(Form.Outputs, IsNarrow) ||
      !llvm::all_of(Form.Outputs, [&](const KernelOutput &Out) {
        return IsNarrow(Out) || (MakesFp8 && isOfRows(Out));
      }))
    return;
  auto Exact = operandsOfSteps(Func);
  if (!Exact)
    return;
  Func.walk([&](arith::ArithFastMathInterface Op) {
    if (!isa<math::ExpOp, math::ErfOp, math::TanhOp, arith::DivFOp>(Op) ||
        !Op->getResult(0).getType().isF32() || Exact->contains(Op))
      return;
    auto Flags = Op.getFastMathFlagsAttr()
                     ? Op.getFastMathFlagsAttr().getValue()
                     : arith::FastMathFlags::none;
    Op->setAttr(Op.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(
                    Op->getContext(), Flags | arith::FastMathFlags::afn));
  });
}

} // namespace kpc::kernels
