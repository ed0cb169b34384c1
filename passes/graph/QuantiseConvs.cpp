//===- QuantiseConvs.cpp - Convolutions of codes from those of floats -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.conv %x, %w              %w constant, the range of %x known
///     →  %qx = graph.cast (round (%x / s)) to i8        s constant
///        %sw = max |%w| of each output / 127
///        %qw = graph.cast (round (%w / %sw)) to i8
///        %p  = graph.conv %qx, %qw                      i32
///        %y  = graph.mul %p, (s * %sw)
///
/// An image that is never negative, as after a ReLU, becomes ui8, whose
/// greatest number is 255. The zeros around an image are zeros of codes, too.
/// FP8 (E4M3) has the greatest number 448; products are added up in f32.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/CodeProducts.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/MakeCodes.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_QUANTISECONVS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

struct QuantiseConvsPass : graph::impl::QuantiseConvsBase<QuantiseConvsPass> {
  using QuantiseConvsBase::QuantiseConvsBase;

  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    FailureOr<CodePolicy> Policy =
        CodePolicy::read({TypeName, For, Int8, Fp8, true, Targets}, Func);
    if (failed(Policy))
      return signalPassFailure();
    SmallVector<ConvOp> Products;
    Func.walk([&](ConvOp Op) {
      if (multipliesWeight(Op))
        Products.push_back(Op);
    });
    for (ConvOp Op : Products) {
      if (std::string Why = Policy->refusal(Op); !Why.empty())
        tellOfRefusal(Op, Why);
      else
        rewrite(Op, Policy->typeOf(Op), Policy->useOf(Policy->typeOf(Op)));
    }
  }

private:
  static void rewrite(ConvOp Op, CodeType Type, CodeUse Use) {
    OpBuilder B(Op);
    Location Loc = Op.getLoc();
    SymbolicTensorType To = typeOf(Op.getY());
    auto Summed = llvm::to_vector(llvm::seq<int64_t>(0, To.getRank() - 1));
    // The zeros around an image are codes, too: they have no zero point.
    ConstantScale By =
        ConstantScale::of(*statisticsOf(Op), Type, /*MayHaveZero=*/false);
    Codes X = codesInRange(B, Loc, asF32(B, Loc, Op.getX()), By, Type),
          W = codesOfLines(B, Loc, asF32(B, Loc, Op.getW()), Summed, Type);
    if (Use == CodeUse::Rounded) {
      X.Of = asF32(B, Loc, X.Of);
      W.Of = asF32(B, Loc, W.Of);
    }
    Value Y =
        ConvOp::create(B, Loc, X.Of, W.Of, Op.getStride(), Op.getDilation(),
                       Op.getLow(), Op.getHigh(), Op.getGroups());
    Y = scaledBoth(B, asF32(B, Loc, Y), X.Scale, W.Scale);
    if (!To.getElementType().isF32())
      Y = CastOp::create(B, Loc, Y, To.getElementType());
    tellOfCodes(Op, Type, /*Known=*/true);
    Op.replaceAllUsesWith(Y);
    Op.erase();
  }
};

} // namespace
