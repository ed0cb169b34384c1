//===- ApproximateMath.cpp - Math of which 16 bits are stored -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/ApproximateMath.h"

#include "dialects/kernel/StoredBits.h"
#include "dialects/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

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

/// Bits of the significand that are stored of a number, the first one counted:
/// of codes the most that a conversion to FP8 leaves.
static unsigned storedBits(const FusedKernel &Form, unsigned OfFp8) {
  unsigned Most = 0;
  for (const KernelOutput &Out : Form.Outputs) {
    Type Element = cast<MemRefType>(Out.Memref.getType()).getElementType();
    auto Float = dyn_cast<FloatType>(Element);
    Most = std::max(Most, Float ? Float.getFPMantissaWidth() : OfFp8);
  }
  return Most;
}

/// One element of each row: the scale of its codes.
static bool isOfRows(const KernelOutput &Out) {
  auto Ty = cast<MemRefType>(Out.Memref.getType());
  return Ty.getRank() > 0 && Ty.getShape().back() == 1;
}

/// Whether a comparison only chooses the lesser or the greater operand, which
/// both are about the same where it turns.
static bool isOfClamp(Operation *Op) {
  return isa<arith::CmpFOp>(Op) && llvm::all_of(Op->getUsers(), [&](auto *By) {
           auto Select = dyn_cast<arith::SelectOp>(By);
           Value A = Op->getOperand(0), B = Op->getOperand(1);
           return Select && Select.getCondition() == Op->getResult(0) &&
                  ((Select.getTrueValue() == A &&
                    Select.getFalseValue() == B) ||
                   (Select.getTrueValue() == B && Select.getFalseValue() == A));
         });
}

/// Whether a small change of an operand may change the result by far.
static bool isStep(Operation *Op) {
  if (isOfClamp(Op))
    return false;
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

/// QuantizeLinear has the codes of its quotient, which are found without a
/// division where the scale is known (ExpandMathFp8.cpp).
static void keepQuotients(func::FuncOp Func,
                          llvm::SmallPtrSetImpl<Operation *> &Exact) {
  Func.walk([&](arith::TruncFOp Narrow) {
    if (!isFp8(Narrow))
      return;
    Operation *Op = Narrow.getIn().getDefiningOp();
    while (
        isa_and_present<arith::MinimumFOp, arith::MaximumFOp, arith::SelectOp>(
            Op)) {
      Value Of = Op->getOperands().back();
      if (matchPattern(Of, m_Constant()))
        Of = Op->getOperand(Op->getNumOperands() - 2);
      Op = Of.getDefiningOp();
    }
    if (isa_and_present<arith::DivFOp>(Op))
      Exact.insert(Op);
  });
}

static void addFlag(arith::ArithFastMathInterface Op,
                    arith::FastMathFlags Flag) {
  auto Flags = Op.getFastMathFlagsAttr() ? Op.getFastMathFlagsAttr().getValue()
                                         : arith::FastMathFlags::none;
  Op->setAttr(Op.getFastMathAttrName(),
              arith::FastMathFlagsAttr::get(Op->getContext(), Flags | Flag));
}

/// Products and sums of a tile's epilogue may be rounded once: nothing overlaps
/// an epilogue, and most of it is factors and biases.
static void markContraction(func::FuncOp Func,
                            const llvm::SmallPtrSetImpl<Operation *> &Exact) {
  Func.walk([&](tile::MapOp Map) {
    Map->walk([&](arith::ArithFastMathInterface Op) {
      if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(Op) &&
          Op->getResult(0).getType().isF32() && !Exact.contains(Op))
        addFlag(Op, arith::FastMathFlags::contract);
    });
  });
}

void markApproximateMath(const FusedKernel &Form) {
  func::FuncOp Func = Form.Func;
  unsigned OfFp8 = 0;
  Func.walk([&](Operation *Op) {
    if (isFp8(Op))
      OfFp8 = std::max(
          OfFp8,
          cast<FloatType>(Op->getResult(0).getType()).getFPMantissaWidth());
  });
  bool MakesFp8 = OfFp8 != 0;
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
  keepQuotients(Func, *Exact);
  unsigned Bits = storedBits(Form, OfFp8);
  Func.walk([&](arith::ArithFastMathInterface Op) {
    if (!isa<math::ExpOp, math::ErfOp, math::TanhOp, math::PowFOp,
             arith::DivFOp>(Op) ||
        !Op->getResult(0).getType().isF32() || Exact->contains(Op))
      return;
    addFlag(Op, arith::FastMathFlags::afn);
    if (Bits < kernel::StoredBitsOfF16 && isa<math::ErfOp, math::TanhOp>(Op))
      Op->setAttr(
          kernel::StoredBitsName,
          IntegerAttr::get(IntegerType::get(Op->getContext(), 32), Bits));
  });
  markContraction(Func, *Exact);
}

} // namespace kpc::kernels
