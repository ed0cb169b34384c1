//===- FuseCodesIntoAttention.cpp - Attention that writes codes -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.attention %q, %k, %v                     [b, h, s, d]
///   %t = graph.transpose %y [0, 2, 1, 3]
///   %r = graph.reshape %t                               [b·s, h·d]
///   %c = graph.cast (max (min (%r · 20), 448), -448) to f8E4M3FN
///     →  %y = graph.attention %q, %k, %v {graph.result_codes}
///        %c = graph.cast (max (min (%y · 20), 448), -448) to f8E4M3FN
///        %t = graph.transpose %c [0, 2, 1, 3]
///        %r = graph.reshape %t
///
/// form-regions then leaves all of it but the reshape to the attention's
/// kernel: what the next GEMM multiplies is written once, in 8 bits, by a
/// constant scale.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeHeads.h"
#include "passes/graph/CodeProducts.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/MakeCodes.h"
#include "passes/graph/Passes.h"
#include "passes/graph/TargetNames.h"
#include "passes/schedule/AttentionSchedule.h"
#include "passes/schedule/DecodeSchedule.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_FUSECODESINTOATTENTION
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// What a store takes of a row is a multiple of the narrowest swizzle of shared
/// memory.
constexpr int64_t NarrowestSwizzle = 32;

/// What stands between an attention and its codes.
struct CodesOfHeads {
  SmallVector<Operation *> Moves;    ///< transposes and reshapes
  SmallVector<Operation *> Computed; ///< factors, limits and the cast
};

/// The operand of `Op` that is no constant, where the other is one number.
Value besideConstant(Operation *Op) {
  if (!isa<MulOp, MinOp, MaxOp>(Op))
    return {};
  for (unsigned I = 0; I < 2; ++I)
    if (splatValue(Op->getOperand(1 - I)))
      return Op->getOperand(I);
  return {};
}

/// Follows the only uses of `V` to a cast to E4M3.
std::optional<CodesOfHeads> codesOf(Value V) {
  CodesOfHeads Found;
  bool IsLimited[] = {false, false};
  while (V.hasOneUse()) {
    Operation *User = *V.user_begin();
    if (isa<TransposeOp, ReshapeOp>(User)) {
      Found.Moves.push_back(User);
    } else if (besideConstant(User) == V) {
      // A factor of what has been limited already is another scale's.
      bool IsFactor = isa<MulOp>(User);
      double By = *splatValue(User->getOperand(User->getOperand(0) == V));
      if (IsFactor ? IsLimited[0] || IsLimited[1] || !(By > 0)
                   : By != (isa<MinOp>(User) ? GreatestFp8 : -GreatestFp8))
        return std::nullopt;
      if (!IsFactor)
        IsLimited[isa<MaxOp>(User)] = true;
      Found.Computed.push_back(User);
    } else if (auto Cast = dyn_cast<CastOp>(User)) {
      Found.Computed.push_back(User);
      if (isa<Float8E4M3FNType>(typeOf(Cast.getY()).getElementType()) &&
          IsLimited[0] && IsLimited[1])
        return Found;
      return std::nullopt;
    } else {
      return std::nullopt;
    }
    V = User->getResult(0);
  }
  return std::nullopt;
}

struct FuseCodesIntoAttentionPass
    : graph::impl::FuseCodesIntoAttentionBase<FuseCodesIntoAttentionPass> {
  using FuseCodesIntoAttentionBase::FuseCodesIntoAttentionBase;

  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    auto All = targetsNamed(Targets, Func);
    if (failed(All))
      return signalPassFailure();
    shape::Facts Facts = symbolFacts(Func->getParentOfType<ModuleOp>());
    SmallVector<AttentionOp> Attentions;
    Func.walk([&](AttentionOp Op) { Attentions.push_back(Op); });
    for (AttentionOp Op : Attentions) {
      std::optional<CodesOfHeads> Codes = codesOf(Op.getY());
      if (!Codes)
        continue;
      auto Named = remark::RemarkOpts::name("codes").category("fusion");
      if (StringRef Why = refusal(Op, Facts, *All); !Why.empty()) {
        remark::missed(Op.getLoc(), Named)
            << "A kernel after the attention makes its codes, because " +
                   Why.str() + ".";
        continue;
      }
      rewrite(Op, *Codes);
      remark::passed(Op.getLoc(), Named)
          << "Attention writes the codes that the next product multiplies.";
    }
  }

private:
  /// Why no kernel of attention writes codes there; empty: one does.
  static StringRef refusal(AttentionOp Op, const shape::Facts &Facts,
                           ArrayRef<const target::Target *> Targets) {
    SymbolicTensorType Y = typeOf(Op.getY());
    schedule::AttentionShape Shape;
    std::optional<int64_t> Depth = typeOf(Op.getQ()).getStaticDim(3),
                           Width = Y.getStaticDim(3);
    if (!Y.getElementType().isF32() || Op->hasAttr(CodesAttr))
      return "it reads codes";
    if (!Depth || !Width || *Width > 256 ||
        schedule::stagedColumns(*Width) % NarrowestSwizzle ||
        *Width % NarrowestSwizzle)
      return "its heads are not stored in multiples of 32 elements";
    if (hasFewQueries(Y.getDims()[2], Facts))
      return "it has few queries";
    if (Facts.range(typeOf(Op.getK()).getDims()[2]).Min < 1)
      return "its number of keys may be 0";
    Shape.Depth = *Depth;
    Shape.Width = *Width;
    Shape.Queries = Shape.Keys = schedule::MostDecodeQueries + 1;
    if (!llvm::all_of(Targets, [&](const target::Target *T) {
          return !schedule::rankAttentionSchedules(Shape, *T).empty();
        }))
      return "the kernel has no schedule for such heads";
    return "";
  }

  static void rewrite(AttentionOp Op, const CodesOfHeads &Codes) {
    OpBuilder B(Op->getContext());
    B.setInsertionPointAfter(Op);
    SymbolicTensorType Heads = typeOf(Op.getY());
    Op->setAttr(ResultCodesAttr, B.getUnitAttr());
    Value V = Op.getY();
    for (Operation *Computed : Codes.Computed) {
      Location Loc = Computed->getLoc();
      if (auto Cast = dyn_cast<CastOp>(Computed)) {
        V = CastOp::create(B, Loc, V, typeOf(Cast.getY()).getElementType());
        continue;
      }
      IRMapping Map;
      for (Value Operand : Computed->getOperands()) {
        std::optional<double> Number = splatValue(Operand);
        Map.map(Operand, Number ? Value(BroadcastOp::create(
                                      B, Loc, Heads, scalar(B, Loc, *Number)))
                                : V);
      }
      Operation *New = B.clone(*Computed, Map);
      V = New->getResult(0);
      V.setType(Heads);
    }
    Type Code = typeOf(V).getElementType();
    for (Operation *Move : Codes.Moves) {
      IRMapping Map;
      Map.map(Move->getOperand(0), V);
      Value Moved = B.clone(*Move, Map)->getResult(0);
      Moved.setType(typeOf(Moved).withElementType(Code));
      V = Moved;
    }
    Codes.Computed.back()->getResult(0).replaceAllUsesWith(V);
    // The last of them first: each uses those in front of it.
    SmallVector<Operation *> Old(Codes.Computed);
    llvm::append_range(Old, Codes.Moves);
    llvm::sort(
        Old, [](Operation *X, Operation *Y) { return Y->isBeforeInBlock(X); });
    for (Operation *One : Old)
      One->erase();
  }
};

} // namespace
