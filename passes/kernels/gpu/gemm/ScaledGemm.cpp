//===- ScaledGemm.cpp - A GEMM of codes with block scales -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/ScaledGemm.h"
#include "dialects/kernel/Kernel.h"
#include "passes/kernels/form/SizeFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

int64_t bytesOfScale(tile::BlockFormat Format) {
  switch (Format) {
  case tile::BlockFormat::Mxfp8:
    return 32;
  case tile::BlockFormat::Mxfp4:
    return 16;
  case tile::BlockFormat::Nvfp4:
    return 8;
  }
  return 0;
}

namespace {

/// A tensor that lies in memory row by row without gaps, but for those that the
/// outermost dimension may have.
struct Lines {
  unsigned Argument; ///< of the function
  Expr Count;        ///< the outermost dimension
  Expr Stride;       ///< elements of its step
  Expr Length;       ///< elements of what is inside of it
};

std::optional<Lines> linesOf(Value Tensor) {
  Matrix M;
  if (!placeMatrix(M, memoryOf(Tensor)))
    return std::nullopt;
  auto Ty = cast<MemRefType>(M.Memref.getType());
  auto View = M.Memref.getDefiningOp<memref::ReinterpretCastOp>();
  Expr Length = 1;
  for (unsigned Dim = Ty.getRank(); --Dim > 0;) {
    std::optional<Expr> Size = sizeExpr(View.getMixedSizes()[Dim]);
    if (!Size || sizeExpr(strideOf(M.Memref, Dim)) != Length)
      return std::nullopt;
    Length = Length * *Size;
  }
  std::optional<Expr> Stride = sizeExpr(strideOf(M.Memref, 0)),
                      Count = sizeExpr(View.getMixedSizes()[0]);
  if (!Stride || !Count)
    return std::nullopt;
  return Lines{M.Argument, *Count, *Stride, Length};
}

/// What a factor is made of: its codes as a matrix of bytes, and its scales.
struct Codes {
  Matrix Bytes;
  unsigned Scales = 0;
  Expr ScaleStride;             ///< elements of the outermost step of scales
  Expr ScaleLines, ScaleLength; ///< its size, and what is inside of it
  bool InPanels = false;
  StringRef Kind;
  Type Element;
};

std::optional<Codes> codesOf(const Contraction::Operand &Of, unsigned First,
                             unsigned Second) {
  auto Generic = Of.Tensor.getDefiningOp<linalg::GenericOp>();
  auto Kind =
      Generic ? Generic->getAttrOfType<StringAttr>(
                    kernel::KernelDialect::BlockScalesAttrHelper::getNameStr())
              : StringAttr();
  if (!Kind)
    return std::nullopt;
  MLIRContext *Context = Generic.getContext();
  AffineMap Wanted = AffineMap::get(
      Of.Map.getNumDims(), 0,
      {getAffineDimExpr(First, Context), getAffineDimExpr(Second, Context)},
      Context);
  SmallVector<tensor::ExtractOp> Reads(
      Generic.getBody()->getOps<tensor::ExtractOp>());
  if (Of.Map != Wanted || Reads.size() != 2)
    return std::nullopt;
  Codes Found;
  Found.Kind = Kind.getValue();
  std::optional<Lines> Scales = linesOf(Reads[1].getTensor());
  if (!Scales || !placeMatrix(Found.Bytes, memoryOf(Reads[0].getTensor())))
    return std::nullopt;
  Found.Scales = Scales->Argument;
  Found.ScaleStride = Scales->Stride;
  Found.ScaleLines = Scales->Count;
  Found.ScaleLength = Scales->Length;
  Found.InPanels =
      cast<RankedTensorType>(Reads[1].getTensor().getType()).getRank() == 4;
  if (Found.InPanels && Scales->Stride != Scales->Length)
    return std::nullopt;
  std::optional<Expr> Row = sizeExpr(strideOf(Found.Bytes.Memref, 0)),
                      Column = sizeExpr(strideOf(Found.Bytes.Memref, 1));
  if (!Row || Column != Expr(1))
    return std::nullopt;
  Found.Bytes.RowStride = *Row;
  Found.Bytes.ColumnStride = 1;
  Found.Element = Float4E2M1FNType::get(Context);
  for (auto Cast : Generic.getBody()->getOps<arith::BitcastOp>())
    if (isa<Float8E4M3FNType, Float8E5M2Type>(Cast.getType()) &&
        Found.Kind.ends_with("fp8"))
      Found.Element = Cast.getType();
  return Found;
}

/// A GEMM and the codes that its factors are made of.
struct GemmOfCodes {
  GemmMatch P;
  Codes A, W;

  static std::optional<GemmOfCodes> read(FusedKernel &Form);
};

std::optional<GemmOfCodes> GemmOfCodes::read(FusedKernel &Form) {
  std::optional<GemmMatch> P = GemmMatch::readResult(Form);
  if (!P || P->hasBatch() || P->C.M.Loops.size() != 1 ||
      P->C.N.Loops.size() != 1 || P->C.K.Loops.size() != 1)
    return std::nullopt;
  const Contraction &C = P->C;
  std::optional<Codes> A = codesOf(C.A, C.M.Loops[0], C.K.Loops[0]),
                       W = codesOf(C.B, C.K.Loops[0], C.N.Loops[0]);
  if (!A || !W || A->Kind != W->Kind || A->InPanels != W->InPanels)
    return std::nullopt;
  P->A = A->Bytes;
  P->B = W->Bytes;
  P->A.Element = A->Element;
  P->B.Element = W->Element;
  return GemmOfCodes{std::move(*P), std::move(*A), std::move(*W)};
}

} // namespace

std::optional<BlockFp8Gemm> BlockFp8Gemm::read(FusedKernel &Form) {
  std::optional<GemmOfCodes> G = GemmOfCodes::read(Form);
  if (!G || G->A.Kind != "fp8")
    return std::nullopt;
  GemmMatch &P = G->P;
  std::swap(P.B.RowStride, P.B.ColumnStride); // of B as it is multiplied
  bool HasColumnScales =
      G->W.ScaleLength == P.N && G->W.ScaleLines == P.K.ceilDiv(128);
  return BlockFp8Gemm{std::move(P),     G->A.Scales,      G->W.Scales,
                      G->A.ScaleStride, G->W.ScaleStride, HasColumnScales};
}

std::optional<ScaledGemm> ScaledGemm::read(FusedKernel &Form) {
  std::optional<GemmOfCodes> G = GemmOfCodes::read(Form);
  std::optional<tile::BlockFormat> Format =
      G ? tile::symbolizeBlockFormat(G->A.Kind) : std::nullopt;
  if (!Format)
    return std::nullopt;
  bool IsFp8 = *Format == tile::BlockFormat::Mxfp8;
  Expr Bytes = IsFp8 ? G->P.K : G->P.K.ceilDiv(2);
  return ScaledGemm{std::move(G->P),  *Format,      Bytes,
                    G->A.Scales,      G->W.Scales,  G->A.ScaleStride,
                    G->W.ScaleStride, G->A.InPanels};
}

} // namespace kpc::kernels
