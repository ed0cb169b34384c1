//===- SinkFp8Scales.cpp - GEMMs multiply FP8 codes -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %x = graph.mul (graph.cast %a to f32), %sx     %a, %b : f8E4M3FN
///   %w = graph.mul (graph.cast %b to f32), %sw
///   %y = graph.matmul %x, %w
///     →  %p = graph.matmul %a, %b        (f32)
///        %y = graph.mul %p, (graph.mul %sx, %sw)
///
/// A scale that does not change along K is a factor of the whole sum. So what
/// is dequantised in front of a GEMM, by one scale or by one a row of A or a
/// column of B, is multiplied as it is, by tensor cores for FP8, and the scales
/// are part of the epilogue. Transposes between stay in front of the GEMM.
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/Fp8Gemm.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_SINKFP8SCALES
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// An operand of a GEMM: codes of FP8 times a scale.
struct Scaled {
  Value Codes; ///< in the operand's order of dims
  /// A scalar, or a vector along the operand's dim that is not summed up; null:
  /// there is none.
  Value Scale;
};

/// Reads operands, and writes what stands in their place in front of `Op`.
class Reader {
public:
  explicit Reader(MatmulOp Op) : Op(Op), B(Op), Loc(Op.getLoc()) {}

  /// None where the operand is something else; `Kept` is its dim of M or N.
  std::optional<Scaled> read(Value Operand, int64_t Kept);

private:
  /// Through casts between wide floats and transposes; `Perm`: dim I of what is
  /// read is dim Perm[I] of the result.
  static Value behind(Value V, SmallVector<int64_t> &Perm);
  static Value codesOf(Value V);
  /// `Scale`, whose dim `Dim` may vary alone, as Scaled has it.
  std::optional<Scaled> take(Value Codes, Value Scale, int64_t Dim);
  Value constant(Attribute Element, Type Ty);

  MatmulOp Op;
  OpBuilder B;
  Location Loc;
};

bool isWideFloat(Type Ty) { return isFloat(Ty) && !isNarrowFloat(Ty); }

Value Reader::behind(Value V, SmallVector<int64_t> &Perm) {
  while (Operation *Def = V.getDefiningOp()) {
    auto Cast = dyn_cast<CastOp>(Def);
    if (Cast && isWideFloat(typeOf(Cast.getX()).getElementType())) {
      V = Cast.getX();
    } else if (auto Turn = dyn_cast<TransposeOp>(Def)) {
      for (int64_t &Dim : Perm)
        Dim = Turn.getPerm()[Dim];
      V = Turn.getX();
    } else {
      break;
    }
  }
  return V;
}

/// What a cast widens from FP8; null: it is none.
Value Reader::codesOf(Value V) {
  auto Cast = V.getDefiningOp<CastOp>();
  return Cast && isFp8(typeOf(Cast.getX()).getElementType()) ? Cast.getX()
                                                             : Value();
}

Value Reader::constant(Attribute Element, Type Ty) {
  return ConstantOp::create(
      B, Loc, DenseElementsAttr::get(RankedTensorType::get({}, Ty), Element));
}

std::optional<Scaled> Reader::take(Value Codes, Value Scale, int64_t Dim) {
  if (auto Constant = Scale.getDefiningOp<ConstantOp>()) {
    auto Elements = dyn_cast<DenseElementsAttr>(Constant.getValue());
    if (!Elements || !Elements.isSplat())
      return std::nullopt;
    return Scaled{Codes, constant(Elements.getSplatValue<Attribute>(),
                                  Elements.getElementType())};
  }
  SymbolicTensorType Ty = typeOf(Scale);
  int64_t Missing = 0;
  if (auto Broadcast = Scale.getDefiningOp<BroadcastOp>()) {
    Missing = Ty.getRank() - typeOf(Broadcast.getX()).getRank();
    Scale = Broadcast.getX();
  }
  SymbolicTensorType Own = typeOf(Scale);
  bool IsVector = false;
  for (auto [I, Size] : llvm::enumerate(Own.getDims())) {
    if (Size == Expr(1))
      continue;
    if (int64_t(I) + Missing != Dim)
      return std::nullopt;
    IsVector = true;
  }
  SmallVector<Expr> Sizes;
  if (IsVector)
    Sizes.push_back(Ty.getDims()[Dim]);
  return Scaled{Codes,
                B.createOrFold<ReshapeOp>(Loc, Own.withDims(Sizes), Scale)};
}

std::optional<Scaled> Reader::read(Value Operand, int64_t Kept) {
  SmallVector<int64_t> Perm =
      llvm::to_vector(llvm::seq<int64_t>(0, typeOf(Operand).getRank()));
  Value V = behind(Operand, Perm);
  Scaled Found;
  Found.Codes = codesOf(V);
  if (!Found.Codes) {
    auto Product = V.getDefiningOp<MulOp>();
    if (!Product)
      return std::nullopt;
    Value Factor = Product.getA(), Scale = Product.getB();
    if (!codesOf(Factor))
      std::swap(Factor, Scale);
    Value Codes = codesOf(Factor);
    std::optional<Scaled> Read =
        Codes ? take(Codes, Scale, Perm[Kept]) : std::nullopt;
    if (!Read)
      return std::nullopt;
    Found = *Read;
  }
  if (!isIdentityPermutation(Perm))
    Found.Codes = TransposeOp::create(B, Loc, Found.Codes, Perm);
  return Found;
}

struct SinkFp8ScalesPass : graph::impl::SinkFp8ScalesBase<SinkFp8ScalesPass> {
  using SinkFp8ScalesBase::SinkFp8ScalesBase;

  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    shape::Facts Facts = symbolFacts(Func->getParentOfType<ModuleOp>());
    SmallVector<MatmulOp> Products;
    Func.walk([&](MatmulOp Op) { Products.push_back(Op); });
    for (MatmulOp Op : Products) {
      int64_t Rank = typeOf(Op.getY()).getRank();
      Type Stored = typeOf(Op.getY()).getElementType();
      if (!isFloat(Stored) || Stored.isF64() ||
          isFp8(typeOf(Op.getA()).getElementType()))
        continue;
      Reader Read(Op);
      std::optional<Scaled> A = Read.read(Op.getA(), Rank - 2),
                            W = Read.read(Op.getB(), Rank - 1);
      if (!A || !W)
        continue;
      StringRef Why = refusalOfFp8(Op, Facts);
      tell(Op, Why);
      if (Why.empty())
        rewrite(Op, *A, *W);
    }
  }

private:
  static void rewrite(MatmulOp Op, const Scaled &A, const Scaled &W) {
    OpBuilder B(Op);
    Location Loc = Op.getLoc();
    SymbolicTensorType To = typeOf(Op.getY());
    Value Y = MatmulOp::create(B, Loc, A.Codes, W.Codes);
    Y = scaled(B, Y, A.Scale, W.Scale);
    if (!To.getElementType().isF32())
      Y = CastOp::create(B, Loc, Y, To.getElementType());
    Op.replaceAllUsesWith(Y);
    Op.erase();
  }

  static void tell(MatmulOp Op, StringRef Why) {
    if (Why.empty())
      remark::passed(Op.getLoc(),
                     remark::RemarkOpts::name("fp8").category("quantisation"))
          << "Codes of FP8 are multiplied, and scaled behind the GEMM.";
    else
      remark::missed(Op.getLoc(), remark::RemarkOpts::name("refused").category(
                                      "quantisation"))
          << "Operands of FP8 are dequantised in front of the GEMM, because "
          << Why.str() << ".";
  }
};

} // namespace
