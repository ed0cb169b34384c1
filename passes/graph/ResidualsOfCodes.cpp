//===- ResidualsOfCodes.cpp - Residuals are read as codes ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %q = graph.cast (clip (%x / s)) to f8E4M3FN      for the next convolution
///   %z = graph.add %y, %x                            the residual
///     →  %z = graph.add %y, (graph.cast %q) * s
///
/// Nothing else reads %x then, so the kernel that makes it writes its codes
/// alone, a byte for each element, and the residual is one byte to read. The
/// next convolution multiplies the rounded numbers in any case.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeProducts.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/MakeCodes.h"
#include "passes/graph/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_RESIDUALSOFCODES
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Codes that constant factors make of a value.
struct CodesOf {
  Value Of;
  CastOp Codes;
  /// The first op of the way from the value to the codes.
  Operation *First = nullptr;
  double Factor = 1;
  /// The factors of channels, where it is smoothed.
  DenseElementsAttr Channels;
};

Value withoutLimits(Value V) {
  while (isa_and_present<MinOp, MaxOp>(V.getDefiningOp()) &&
         splatValue(V.getDefiningOp()->getOperand(1)))
    V = V.getDefiningOp()->getOperand(0);
  return V;
}

/// What `Codes` are made of; none where a factor is known to the run alone.
std::optional<CodesOf> operandOf(CastOp Codes) {
  CodesOf Found;
  Found.Codes = Codes;
  Value V = withoutLimits(Codes.getX());
  while (auto Mul = V.getDefiningOp<MulOp>()) {
    if (std::optional<double> Number = splatValue(Mul.getB())) {
      Found.Factor *= *Number;
    } else {
      auto Spread = Mul.getB().getDefiningOp<BroadcastOp>();
      if (!Spread || Found.Channels ||
          !matchPattern(Spread.getX(), m_Constant(&Found.Channels)) ||
          !Found.Channels.getElementType().isF32() ||
          Found.Channels.getType().getRank() != typeOf(V).getRank())
        break;
    }
    Found.First = Mul;
    V = Mul.getA();
  }
  auto Wide = V.getDefiningOp<CastOp>();
  if (Wide && isa<FloatType>(typeOf(Wide.getX()).getElementType()) &&
      typeOf(Wide.getX()).getElementType().getIntOrFloatBitWidth() == 16) {
    Found.First = Wide;
    V = Wide.getX();
  }
  if (!Found.First || Found.Factor == 0 || isa<BlockArgument>(V))
    return std::nullopt;
  Found.Of = V;
  return Found;
}

/// Whether a convolution multiplies the codes, or the floats that they are
/// where the target rounds alone.
bool isMultipliedByConv(Value Codes) {
  return llvm::any_of(Codes.getUses(), [](OpOperand &Use) {
    if (isa<ConvOp>(Use.getOwner()))
      return Use.getOperandNumber() == 0;
    return isa<CastOp>(Use.getOwner()) &&
           isMultipliedByConv(Use.getOwner()->getResult(0));
  });
}

struct ResidualsOfCodesPass
    : graph::impl::ResidualsOfCodesBase<ResidualsOfCodesPass> {
  using ResidualsOfCodesBase::ResidualsOfCodesBase;

  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    llvm::MapVector<Value, SmallVector<CodesOf>> All;
    Func.walk([&](CastOp Op) {
      if (!isa<Float8E4M3FNType>(typeOf(Op.getY()).getElementType()))
        return;
      if (std::optional<CodesOf> Found = operandOf(Op))
        All[Found->Of].push_back(*Found);
    });
    DominanceInfo Dominance(Func);
    for (auto &[Of, Ways] : All)
      if (Ways.size() == 1 && isMultipliedByConv(Ways[0].Codes.getY()))
        rewrite(Ways[0], Dominance);
  }

private:
  static void rewrite(CodesOf Found, DominanceInfo &Dominance) {
    SmallVector<OpOperand *> Residuals;
    for (OpOperand &Use : Found.Of.getUses()) {
      Operation *User = Use.getOwner();
      if (User == Found.First)
        continue;
      // What needs the value itself has it stored, codes or not.
      if (!isa<AddOp>(User) || User->getBlock() != Found.Codes->getBlock())
        return;
      Residuals.push_back(&Use);
    }
    // Codes of two ways from one op (%x + %x) are two values, too.
    if (Residuals.empty() || !Found.First->hasOneUse())
      return;
    for (OpOperand *Use : Residuals) {
      if (!Dominance.properlyDominates(Found.Codes.getOperation(),
                                       Use->getOwner()))
        hoist(Found, Use->getOwner());
      OpBuilder B(Use->getOwner());
      Use->set(dequantised(B, Found));
    }
    remark::passed(
        Found.Codes.getLoc(),
        remark::RemarkOpts::name("residual").category("quantisation"))
        << "A residual is read as the codes that a convolution multiplies, so "
           "the value itself is not stored.";
  }

  /// The codes are made of constants and of what the residual reads: all of it
  /// may stand in front of `User`.
  static void hoist(CodesOf Found, Operation *User) {
    SmallVector<Operation *> Way{Found.Codes};
    for (size_t I = 0; I < Way.size(); ++I)
      for (Value Operand : Way[I]->getOperands())
        if (Operation *Def = Operand.getDefiningOp();
            Operand != Found.Of && Def && Def->getBlock() == User->getBlock() &&
            !Def->isBeforeInBlock(User))
          Way.push_back(Def);
    for (Operation *Op : Way)
      Op->moveBefore(User), User = Op;
  }

  static Value dequantised(OpBuilder &B, CodesOf Found) {
    Location Loc = Found.Codes.getLoc();
    Value V = CastOp::create(B, Loc, Found.Codes.getY(), B.getF32Type());
    SymbolicTensorType Ty = typeOf(V);
    Value Step;
    if (Found.Channels) {
      std::vector<float> Steps;
      for (float F : Found.Channels.getValues<float>())
        Steps.push_back(float(1 / (Found.Factor * F)));
      Step = ConstantOp::create(B, Loc,
                                DenseElementsAttr::get(Found.Channels.getType(),
                                                       ArrayRef<float>(Steps)));
    } else {
      Step = scalar(B, Loc, 1 / Found.Factor);
    }
    V = MulOp::create(B, Loc, V, BroadcastOp::create(B, Loc, Ty, Step));
    Type Element = typeOf(Found.Of).getElementType();
    return Element.isF32() ? V : CastOp::create(B, Loc, V, Element);
  }
};

} // namespace
