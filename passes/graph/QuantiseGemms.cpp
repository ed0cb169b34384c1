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
/// What is made of %w is constant and found when compiling. What is made of %x
/// is a kernel of rows, or part of the one that makes %x (a norm's, say).
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeProducts.h"
#include "passes/graph/ConstantValues.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/StoredValues.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_QUANTISEGEMMS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// The greatest number of E4M3, and of integers that have a negative each.
constexpr double GreatestFp8 = 448, GreatestInt8 = 127;
/// What is taken for the greatest magnitude of zeros: its quotients are finite.
constexpr double Least = 1e-30;

struct Codes {
  Value Of, Scale; ///< the scale in the dims of `Of`, 1 along the summed one
};

/// Codes of f32 values, with a scale for each line along dim `K`.
Codes quantise(OpBuilder &B, Location Loc, Value X, int64_t K, bool Int8) {
  double Greatest = Int8 ? GreatestInt8 : GreatestFp8;
  Type To =
      Int8 ? Type(B.getI8Type()) : Type(Float8E4M3FNType::get(B.getContext()));
  SymbolicTensorType Ty = typeOf(X);
  SmallVector<Expr> Ones(Ty.getDims());
  Ones[K] = Expr(1);
  SymbolicTensorType Lines = Ty.withDims(Ones);
  auto All = [&](double V) -> Value {
    return BroadcastOp::create(B, Loc, Lines, scalar(B, Loc, V));
  };
  Value Most = ReduceOp::create(B, Loc, ReduceKind::max,
                                AbsOp::create(B, Loc, X), ArrayRef<int64_t>{K});
  Most =
      MaxOp::create(B, Loc, ReshapeOp::create(B, Loc, Lines, Most), All(Least));
  Value Factor = DivOp::create(B, Loc, All(Greatest), Most);
  Value Q = MulOp::create(B, Loc, X, BroadcastOp::create(B, Loc, Ty, Factor));
  // FP8 is rounded by its cast.
  if (Int8)
    Q = RoundOp::create(B, Loc, Q);
  return {CastOp::create(B, Loc, Q, To),
          MulOp::create(B, Loc, Most, All(1 / Greatest))};
}

struct QuantiseGemmsPass : graph::impl::QuantiseGemmsBase<QuantiseGemmsPass> {
  using QuantiseGemmsBase::QuantiseGemmsBase;

  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    FailureOr<NodePatterns> Kept =
        NodePatterns::read(llvm::to_vector(Keep), Func);
    if (failed(Kept))
      return signalPassFailure();
    shape::Facts Facts = symbolFacts(Func->getParentOfType<ModuleOp>());
    SmallVector<MatmulOp> Products;
    Func.walk([&](MatmulOp Op) {
      Type Element = typeOf(Op.getA()).getElementType();
      bool IsWide = Element.isF32() || Element.isF16() || Element.isBF16();
      if (IsWide && isConstant(Op.getB()) && !isOfCodes(Op.getB()))
        Products.push_back(Op);
    });
    for (MatmulOp Op : Products) {
      StringRef Why = Kept->match(Op) ? "it is to stay as it is"
                      : Int8          ? refusalOfInt8(Op, Facts)
                                      : refusalOfFp8(Op, Facts, Wgmma);
      tell(Op, Why);
      if (Why.empty())
        rewrite(Op);
    }
  }

private:
  void rewrite(MatmulOp Op) {
    OpBuilder B(Op);
    Location Loc = Op.getLoc();
    SymbolicTensorType To = typeOf(Op.getY());
    int64_t Rank = To.getRank();
    auto Wide = [&](Value V) -> Value {
      Type F32 = B.getF32Type();
      return typeOf(V).getElementType() == F32 ? V
                                               : CastOp::create(B, Loc, V, F32);
    };
    Codes A = quantise(B, Loc, Wide(Op.getA()), Rank - 1, Int8),
          W = quantise(B, Loc, Wide(Op.getB()), Rank - 2, Int8);
    Value Y = Wide(MatmulOp::create(B, Loc, A.Of, W.Of));
    Y = scaled(B, Y, A.Scale, W.Scale);
    if (!To.getElementType().isF32())
      Y = CastOp::create(B, Loc, Y, To.getElementType());
    Op.replaceAllUsesWith(Y);
    Op.erase();
  }

  void tell(MatmulOp Op, StringRef Why) {
    if (Why.empty())
      remark::passed(Op.getLoc(),
                     remark::RemarkOpts::name(Int8 ? "int8" : "fp8")
                         .category("quantisation"))
          << "A GEMM multiplies " << (Int8 ? "8-bit integers" : "FP8")
          << ", with a scale for each row and column.";
    else
      remark::missed(Op.getLoc(), remark::RemarkOpts::name("refused").category(
                                      "quantisation"))
          << "A GEMM is not quantised, because " << Why.str() << ".";
  }
};

} // namespace
