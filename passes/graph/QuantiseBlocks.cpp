//===- QuantiseBlocks.cpp - GEMMs of MXFP8, MXFP4 and NVFP4 numbers -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.matmul %x, %w              %w constant
///     →  %cw, %sw = codes of %w and a scale for each block of K
///        %wd = graph.dequantise %cw scales %sw blocks [32, 1]
///        %cx, %sx = the same of %x, made in each run
///        %y  = graph.matmul (%cx * %sx), %wd
///
/// The factors are numbers of 16 bits exactly: what is multiplied are the codes
/// with their scales, on every target. NVFP4 has a second scale for each row
/// of x and each column of w, which is a factor of the result; without it,
/// codes and scales reach 2688, so both are made less by a power of two.
///
//===----------------------------------------------------------------------===//

#include "dialects/graph/BlockCodes.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/Calibration.h"
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
#define GEN_PASS_DEF_QUANTISEBLOCKS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// What is taken for the greatest magnitude of zeros.
constexpr double Least = 1e-30;
/// The greatest scale of E4M3, and the power of two that brings codes times
/// scales below 2: sums of them fit in 16 bits.
constexpr double GreatestScale = 448, Less = 0x1p-11;

/// Numbers that a GEMM reads, and what its result is multiplied by; null:
/// nothing.
struct Factor {
  Value Of, Scale;
};

struct QuantiseBlocksPass
    : graph::impl::QuantiseBlocksBase<QuantiseBlocksPass> {
  QuantiseBlocksPass() = default;
  QuantiseBlocksPass(const QuantiseBlocksOptions &Options)
      : QuantiseBlocksBase(Options) {}

  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    FailureOr<NodePatterns> Kept =
        NodePatterns::read(llvm::to_vector(Keep), Func);
    if (Format != "none" && !BlockFormat::named(Format, &getContext())) {
      Func.emitError()
          << "expected the format mxfp8, mxfp4, nvfp4 or none, got '" << Format
          << "'";
      return signalPassFailure();
    }
    FailureOr<TypesByName> Types =
        TypesByName::read(llvm::to_vector(For), Func);
    if (failed(Kept) || failed(Types))
      return signalPassFailure();
    shape::Facts Facts = symbolFacts(Func->getParentOfType<ModuleOp>());
    SmallVector<MatmulOp> Products;
    Func.walk([&](MatmulOp Op) {
      if (multipliesWeight(Op) && !isOfCodes(Op.getB()))
        Products.push_back(Op);
    });
    for (MatmulOp Op : Products) {
      StringRef Name = Types->typeOf(Op, Format);
      std::optional<BlockFormat> F = BlockFormat::named(Name, &getContext());
      if (!F)
        continue;
      const Expr &K = typeOf(Op.getA()).getDims().back();
      bool Fits = Facts.divisor(K) % F->Block == 0 && Facts.range(K).Min >= 1;
      bool Stays = Kept->match(Op);
      tell(Op, Name, *F, Stays, Fits);
      if (!Stays && Fits)
        rewrite(Op, *F);
    }
  }

private:
  static void rewrite(MatmulOp Op, const BlockFormat &F) {
    OpBuilder B(Op);
    Location Loc = Op.getLoc();
    SymbolicTensorType To = typeOf(Op.getY());
    int64_t RankA = typeOf(Op.getA()).getRank(),
            RankB = typeOf(Op.getB()).getRank();
    auto Wide = [&](Value V) -> Value {
      Type F32 = B.getF32Type();
      return typeOf(V).getElementType() == F32 ? V
                                               : CastOp::create(B, Loc, V, F32);
    };
    Factor A = quantised(B, Loc, Wide(Op.getA()), RankA - 1, F),
           W = quantised(B, Loc, Wide(Op.getB()), RankB - 2, F);
    Value Y = MatmulOp::create(B, Loc, A.Of, W.Of);
    Y = scaled(B, Y, A.Scale, W.Scale);
    if (!To.getElementType().isF32())
      Y = CastOp::create(B, Loc, Y, To.getElementType());
    Op.replaceAllUsesWith(Y);
    Op.erase();
  }

  static Factor quantised(OpBuilder &B, Location Loc, Value X, int64_t K,
                          const BlockFormat &F) {
    Factor Made;
    Value Second;
    if (F.HasSecond) {
      Value Most = greatestAlong(B, Loc, X, K);
      SymbolicTensorType Lines = typeOf(Most);
      Most = MaxOp::create(B, Loc, Most, filled(B, Loc, Least, Lines));
      double Part = 1 / (GreatestScale * F.Greatest);
      Second = MulOp::create(B, Loc, Most, filled(B, Loc, Part, Lines));
      Made.Scale =
          MulOp::create(B, Loc, Second, filled(B, Loc, 1 / Less, Lines));
    }
    BlockCodes Codes = quantiseInBlocks(B, Loc, X, K, F, Second);
    // An artifact holds the bytes that unpacked codes are made of.
    if (isSubByte(F.Code) && isConstant(X)) {
      Type Ty = Codes.Codes.getType();
      Codes.Codes =
          UnpackOp::create(B, Loc, Ty, PackOp::create(B, Loc, Codes.Codes));
    }
    SmallVector<int64_t> Blocks(typeOf(X).getRank(), 1);
    Blocks[K] = F.Block;
    Made.Of = DequantiseOp::create(B, Loc, typeOf(X), Codes.Codes, Codes.Scales,
                                   Value(), Blocks);
    if (F.HasSecond)
      Made.Of =
          MulOp::create(B, Loc, Made.Of, filled(B, Loc, Less, typeOf(Made.Of)));
    return Made;
  }

  static void tell(MatmulOp Op, StringRef Name, const BlockFormat &F,
                   bool Stays, bool Fits) {
    if (!Stays && Fits)
      remark::passed(Op.getLoc(), remark::RemarkOpts::name("blocks").category(
                                      "quantisation"))
          << "A GEMM multiplies numbers of " << Name.str()
          << ", with a scale for each " << std::to_string(F.Block) << " of K.";
    else
      remark::missed(Op.getLoc(), remark::RemarkOpts::name("refused").category(
                                      "quantisation"))
          << "A GEMM is not quantised, because "
          << (Stays ? std::string("it is to stay as it is")
                    : "K is no multiple of " + std::to_string(F.Block))
          << ".";
  }
};

} // namespace
