//===- QuantiseGemms.cpp - GEMMs of codes from those of floats ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.matmul %x, %w              %w constant
///     →  %sx = max |%x| of each row / 448
///        %qx = graph.cast (%x / %sx) to f8E4M3FN     the same of %w's columns
///        %p  = graph.matmul %qx, %qw                 f32
///        %y  = graph.mul (graph.mul %p, %sx), %sw
///
/// Of integers, 127 stands for 448, and codes are rounded first.
///
/// With few rows weights alone become codes:
///
///   %y = graph.matmul %x, (graph.dequantise %qw scales %sw)
///
/// What is made of %w is constant and found when compiling. What is made of %x
/// is a kernel of rows, or part of the one that makes %x (a norm's, say). Where
/// calibration knows the range of %x, %sx is one number, and the codes are made
/// by the epilogue of whatever makes %x.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeOperand.h"
#include "passes/graph/CodeProducts.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/QuantiseAttention.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_QUANTISEGEMMS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

struct QuantiseGemmsPass : graph::impl::QuantiseGemmsBase<QuantiseGemmsPass> {
  using QuantiseGemmsBase::QuantiseGemmsBase;

  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    FailureOr<CodePolicy> Policy =
        CodePolicy::read({TypeName, For, Int8, Fp8, Wgmma, Targets}, Func);
    if (failed(Policy))
      return signalPassFailure();
    // Targets that have a kernel of it are those whose costs are asked.
    quantiseAttentions(Func, *Policy, /*HaveKernel=*/!Targets.empty());
    SmallVector<MatmulOp> Products;
    Func.walk([&](MatmulOp Op) {
      if (multipliesWeight(Op))
        Products.push_back(Op);
    });
    // Of all, before scales of one look like the rows of the next.
    std::vector<std::string> Refusals;
    for (MatmulOp Op : Products)
      Refusals.push_back(Policy->refusal(Op));
    auto OfWeights = codeUseNamed(FewRows);
    if (!OfWeights) {
      Func.emitError() << "expected none, multiplied or rounded, got '"
                       << FewRows << "'";
      return signalPassFailure();
    }
    for (auto [Op, Why] : llvm::zip_equal(Products, Refusals)) {
      if (!Why.empty() && *OfWeights != CodeUse::None &&
          Policy->refusalOfWeight(Op).empty() && !hasCodes(Op))
        rewriteWeight(Op, Policy->typeOf(Op), *OfWeights);
      else if (!Why.empty())
        tellOfRefusal(Op, Why);
      else
        rewrite(Op, Policy->typeOf(Op), Policy->useOf(Policy->typeOf(Op)));
    }
  }

private:
  /// Whether the model's own weight is of FP8 or of integers of 8 bits.
  static bool hasCodes(MatmulOp Op) {
    std::optional<CodeOperand> W =
        CodeOperand::read(Op->getOpOperand(1), /*Kept=*/1);
    return W.has_value();
  }

  /// The weight as codes with a scale for each column, or as what they stand
  /// for.
  static void rewriteWeight(MatmulOp Op, CodeType Type, CodeUse Use) {
    OpBuilder B(Op);
    Location Loc = Op.getLoc();
    SymbolicTensorType To = typeOf(Op.getB());
    Codes W = codesOfLines(B, Loc, asF32(B, Loc, Op.getB()), 0, Type);
    Value Y;
    if (Use == CodeUse::Rounded) {
      Y = asF32(B, Loc, W.Of);
      Y = MulOp::create(B, Loc, Y,
                        BroadcastOp::create(B, Loc, typeOf(Y), W.Scale));
      if (!To.getElementType().isF32())
        Y = CastOp::create(B, Loc, Y, To.getElementType());
    } else {
      Y = DequantiseOp::create(B, Loc, To, W.Of, W.Scale, Value(),
                               ArrayRef<int64_t>{*To.getStaticDim(0), 1});
    }
    bool IsFp8 = Type == CodeType::Fp8;
    remark::passed(
        Loc,
        remark::RemarkOpts::name(codeTypeName(Type)).category("quantisation"))
        << "A weight that few rows are multiplied with has codes of "
        << (IsFp8 ? "FP8" : "8-bit integers")
        << ", and a scale for each column.";
    Op.getBMutable().assign(Y);
  }

  /// A sum of codes less what the zero point of A adds to it: a constant for
  /// each column.
  static Value withoutZero(OpBuilder &B, Value Sum, Value W, int64_t Zero) {
    Location Loc = Sum.getLoc();
    Type I32 = B.getI32Type();
    SymbolicTensorType OfW = typeOf(W);
    SmallVector<shape::Expr> Line(OfW.getDims());
    Line[OfW.getRank() - 2] = shape::Expr(1);
    Value Wide = CastOp::create(B, Loc, W, I32);
    Value Sums = ReduceOp::create(B, Loc, ReduceKind::sum, Wide,
                                  ArrayRef<int64_t>{OfW.getRank() - 2});
    Sums = ReshapeOp::create(B, Loc, typeOf(Wide).withDims(Line), Sums);
    Value One = ConstantOp::create(
        B, Loc,
        DenseElementsAttr::get(RankedTensorType::get({}, I32),
                               B.getI32IntegerAttr(int32_t(Zero))));
    Sums = MulOp::create(B, Loc, Sums,
                         BroadcastOp::create(B, Loc, typeOf(Sums), One));
    return SubOp::create(B, Loc, Sum,
                         BroadcastOp::create(B, Loc, typeOf(Sum), Sums));
  }

  static void rewrite(MatmulOp Op, CodeType Type, CodeUse Use) {
    OpBuilder B(Op);
    Location Loc = Op.getLoc();
    SymbolicTensorType To = typeOf(Op.getY());
    int64_t Rank = To.getRank();
    std::optional<OperandStatistics> Known = statisticsOf(Op);
    if (Known && Known->ScalesOfRows)
      Known.reset();
    ConstantScale By;
    if (Known)
      By = ConstantScale::of(*Known, Type, /*MayHaveZero=*/true);
    Value X = asF32(B, Loc, Op.getA());
    Codes A = Known ? codesInRange(B, Loc, X, By, Type)
                    : codesOfLines(B, Loc, X, Rank - 1, Type),
          W = codesOfLines(B, Loc, asF32(B, Loc, Op.getB()), Rank - 2, Type);
    Value Y;
    if (Use == CodeUse::Rounded) {
      A.Of = asF32(B, Loc, A.Of);
      if (By.Zero)
        A.Of = SubOp::create(
            B, Loc, A.Of,
            BroadcastOp::create(B, Loc, typeOf(A.Of), scalar(B, Loc, By.Zero)));
      Y = MatmulOp::create(B, Loc, A.Of, asF32(B, Loc, W.Of));
    } else {
      Y = MatmulOp::create(B, Loc, A.Of, W.Of);
      if (By.Zero)
        Y = withoutZero(B, Y, W.Of, By.Zero);
      Y = asF32(B, Loc, Y);
    }
    Y = Known ? scaledBoth(B, Y, A.Scale, W.Scale)
              : scaled(B, Y, A.Scale, W.Scale);
    if (!To.getElementType().isF32())
      Y = CastOp::create(B, Loc, Y, To.getElementType());
    tellOfCodes(Op, Type, Known.has_value());
    Op.replaceAllUsesWith(Y);
    Op.erase();
  }
};

} // namespace
