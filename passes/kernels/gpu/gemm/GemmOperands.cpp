//===- GemmOperands.cpp - Operands in memory ------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/GemmOperands.h"
#include "passes/kernels/form/SizeFacts.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

namespace {

/// Dimensions of a tensor map besides rows and columns.
constexpr size_t MostBatchDims = 3;

/// Copies of `M` can be made: it is contiguous along the columns, or, with
/// `RowsToo`, along either.
bool isReadable(const GemmMatch &P, const Matrix &M, bool RowsToo) {
  int64_t Elements = TmaStrideBytes * 8 / M.Element.getIntOrFloatBitWidth();
  auto Whole = [&](const Expr &Stride) {
    int64_t Divisor = P.Facts.divisor(Stride);
    return Divisor % Elements == 0; // 0 divides as all do
  };
  bool ByRow = M.ColumnStride == Expr(1) && Whole(M.RowStride);
  bool ByColumn = M.RowStride == Expr(1) && Whole(M.ColumnStride);
  return (ByRow || (RowsToo && ByColumn)) &&
         llvm::all_of(M.Batches,
                      [&](const BatchDim &Dim) { return Whole(Dim.Stride); });
}

/// Lines of the second cache that each line of a copy touches: rows that do
/// not begin at one take two.
int64_t linesPerLine(const GemmMatch &P, const Matrix &M) {
  int64_t Elements =
      schedule::CacheLineBytes * 8 / M.Element.getIntOrFloatBitWidth();
  Expr Stride = M.ColumnStride == Expr(1) ? M.RowStride : M.ColumnStride;
  return P.Facts.divisor(Stride) % Elements == 0 ? 1 : 2;
}

/// "rows of A do not begin at multiples of 16 bytes"
schedule::Refusal unreadable(const char *Matrix) {
  return {"", RefusalKind::Layout,
          std::string("rows of ") + Matrix +
              " do not begin at multiples of 16 bytes"};
}

} // namespace

std::optional<schedule::Refusal> refusalByTma(GemmMatch &P) {
  auto Refuse = [](RefusalKind Kind, std::string Reason) {
    return schedule::Refusal{"", Kind, std::move(Reason)};
  };
  if (!P.hasTensorTypes())
    return Refuse(RefusalKind::ElementType, P.multipliedTypes());
  if (!P.hasStoredType())
    return Refuse(RefusalKind::ElementType,
                  "the result is neither of f16, bf16, f32, i32 nor 8 bits");
  if (P.Facts.range(P.K).Min < 1)
    return Refuse(RefusalKind::Size, "K may be 0");
  // But for 16 bits, wgmma takes operands that are contiguous along K alone.
  bool AlongK = P.A.ColumnStride == Expr(1) && P.B.RowStride == Expr(1);
  if ((P.isTf32() || P.isFp8() || P.isInt8()) && !AlongK)
    return Refuse(RefusalKind::Layout,
                  std::string("in ") +
                      (P.isTf32()  ? "tf32"
                       : P.isFp8() ? "FP8"
                                   : "8 bits") +
                      ", wgmma needs K contiguous in A and in B");
  if (!isReadable(P, P.A, true))
    return unreadable("A");
  if (!isReadable(P, P.B, true)) // a second B lies as the first
    return unreadable("B");
  if (!isReadable(P, P.D, false))
    return unreadable("the result");
  if (llvm::any_of(std::array{&P.A, &P.B, &P.D}, [](const Matrix *M) {
        return M->Batches.size() > MostBatchDims;
      }))
    return Refuse(RefusalKind::Layout,
                  "a batch has more than three strides, and copies by TMA have "
                  "five dimensions");
  return std::nullopt;
}

int64_t GemmMatch::stagedBytes() const {
  if (!Residual || RotateHalf || !isReadable(*this, Residual->M, false) ||
      Residual->M.Batches.size() > MostBatchDims)
    return 0;
  unsigned Bits = Residual->M.storedElement().getIntOrFloatBitWidth();
  return Bits == 8 || Bits == 16 || Bits == 32 ? Bits / 8 : 0;
}

/// Instructions of an op on the tensors' elements, about: how long the
/// polynomials of ExpandMathApproximate.cpp are, and divisions. Of erf, what
/// GELU has beyond its other four ops (ExpandMathGelu.cpp).
static double instructionsOf(Operation &Op) {
  // Casts are part of every tile's end.
  bool IsFloat = llvm::any_of(Op.getResultTypes(),
                              [](Type Ty) { return isa<FloatType>(Ty); });
  if (!IsFloat || isa<arith::ExtFOp, arith::TruncFOp>(Op))
    return 0;
  if (isa<math::ErfOp>(Op))
    return 6;
  if (isa<math::TanhOp, math::LogOp, math::SinOp, math::CosOp, math::PowFOp>(
          Op))
    return 8;
  if (isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(Op))
    return 4;
  return isa<math::ExpOp, math::Exp2Op, tensor::ExtractOp>(Op) ? 2 : 1;
}

/// Whether a value of a generic's body is the same constant for all elements,
/// or, with `OtherThanZero`, one of these.
static bool isConstant(linalg::GenericOp Op, Value V,
                       bool OtherThanZero = false) {
  if (auto Element = dyn_cast<BlockArgument>(V);
      Element && Element.getArgNumber() < Op.getNumDpsInputs()) {
    auto Fill = Op.getDpsInputOperand(Element.getArgNumber())
                    ->get()
                    .getDefiningOp<linalg::FillOp>();
    if (!Fill)
      return false;
    V = Fill.getInputs().front();
  }
  return matchPattern(V, m_Constant()) &&
         !(OtherThanZero && matchPattern(V, m_AnyZeroFloat()));
}

/// What makes codes of 8 bits by a constant scale: one product in place of the
/// division, and bounds that the conversion has (ExpandMathFp8.cpp,
/// ExpandMathQuantise.cpp). GELU of FP8 has eight instructions, and by tanh no
/// more than its other eight ops. Integers take an exact one.
static double instructionsToCodes(linalg::GenericOp Of, Operation &Op,
                                  bool OfFp8) {
  if (isa<arith::DivFOp>(Op) && isConstant(Of, Op.getOperand(1)))
    return 1;
  if (isa<math::ErfOp, math::TanhOp>(Op))
    return isa<math::ErfOp>(Op) ? (OfFp8 ? 4 : 24) : (OfFp8 ? 0 : 16);
  bool IsBound = isa<arith::MinimumFOp, arith::MaximumFOp>(Op) &&
                 isConstant(Of, Op.getOperand(1), /*OtherThanZero=*/true);
  return isa<arith::SelectOp>(Op) || IsBound ? 0 : instructionsOf(Op);
}

/// Whether codes of FP8 are made there.
static bool makesFp8(func::FuncOp Func) {
  return Func
      .walk([](arith::TruncFOp Op) {
        Type To = Op.getType();
        return isa<FloatType>(To) && To.getIntOrFloatBitWidth() == 8
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

double epilogueOperations(const GemmMatch &P) {
  double Count = 0;
  bool ToCodes = P.D.Element.getIntOrFloatBitWidth() == 8;
  auto Func = P.C.R.Op->getParentOfType<func::FuncOp>();
  bool OfFp8 = ToCodes && makesFp8(Func);
  for (auto Op : Func.getOps<linalg::GenericOp>())
    if (Op.getNumReductionLoops() == 0)
      for (Operation &One : Op.getBody()->without_terminator())
        Count +=
            ToCodes ? instructionsToCodes(Op, One, OfFp8) : instructionsOf(One);
  return Count;
}

std::optional<schedule::GemmShape> gemmShapeOf(GemmMatch &P) {
  // No family of reductions has two GEMMs in one kernel, or RoPE.
  int64_t FewestRows = P.Second || P.RotateHalf ? 1 : FewestForMma;
  auto Typical = [&](const LoopGroup &Group) {
    return typicalProduct(Group.Sizes, UnknownExtent);
  };
  schedule::GemmShape Shape;
  Shape.M = Typical(P.C.M);
  Shape.Products = P.Second ? 2 : 1;
  Shape.N = Typical(P.C.N) * Shape.Products;
  Shape.K = Typical(P.C.K);
  Shape.Batch = Typical(P.C.Batch);
  Shape.ElementBytes = P.A.Element.getIntOrFloatBitWidth() / 8;
  Shape.Promotes = P.promotes();
  Shape.ResultBytes = P.D.Element.getIntOrFloatBitWidth() / 8;
  Shape.MinK = P.Facts.range(P.K).Min;
  Shape.RotateHalf = P.RotateHalf;
  Shape.EpilogueOperations = epilogueOperations(P);
  Shape.EpilogueBytes = P.ReadsAtResult ? Shape.ResultBytes : 0;
  Shape.LinesOfA = linesPerLine(P, P.A);
  Shape.LinesOfB = linesPerLine(P, P.B);
  if (Shape.M < FewestRows || Shape.N < FewestForMma)
    return std::nullopt;
  return Shape;
}

} // namespace kpc::kernels
