//===- TiledCodes.cpp - A right operand of codes in tiles -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/kernel/Kernel.h"
#include "passes/kernels/gpu/gemm/GemmMatch.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

/// A tensor that a body extracts from, as a matrix of contiguous rows in
/// memory; none where it lies in no such.
static std::optional<Matrix> extractedMatrix(tensor::ExtractOp Op) {
  Matrix M;
  if (!placeMatrix(M, memoryOf(Op.getTensor())))
    return std::nullopt;
  unsigned Rank = cast<MemRefType>(M.Memref.getType()).getRank();
  std::optional<Expr> Row = sizeExpr(strideOf(M.Memref, Rank - 2)),
                      Column = sizeExpr(strideOf(M.Memref, Rank - 1));
  if (!Row || Column != Expr(1))
    return std::nullopt;
  M.RowStride = *Row;
  M.ColumnStride = *Column;
  return M;
}

std::optional<GemmMatch::TiledCodes>
GemmMatch::TiledCodes::read(const Contraction &C) {
  auto Generic = C.B.Tensor.getDefiningOp<linalg::GenericOp>();
  auto Tiles = Generic
                   ? Generic->getAttrOfType<kernel::TilesAttr>(
                         kernel::KernelDialect::TilesAttrHelper::getNameStr())
                   : kernel::TilesAttr();
  if (!Tiles || C.K.Loops.size() != 1)
    return std::nullopt;
  MLIRContext *Context = Generic.getContext();
  // Columns are one loop, or those of heads (RoPE).
  SmallVector<AffineExpr> Wanted = {getAffineDimExpr(C.K.Loops[0], Context)};
  for (unsigned Loop : C.N.Loops)
    Wanted.push_back(getAffineDimExpr(Loop, Context));
  if (C.B.Map != AffineMap::get(C.B.Map.getNumDims(), 0, Wanted, Context))
    return std::nullopt;
  SmallVector<Matrix> Read;
  for (auto Op : Generic.getBody()->getOps<tensor::ExtractOp>())
    if (std::optional<Matrix> M = extractedMatrix(Op))
      Read.push_back(*M);
  if (Read.size() != 2 && Read.size() != 3)
    return std::nullopt;
  TiledCodes Codes{Read[0], Read[1], {}};
  if (Read.size() == 3)
    Codes.Zeros = Read[2];
  Codes.Bits = Tiles.getBits();
  Codes.Block = Tiles.getBlock();
  Codes.Offset = Tiles.getOffset();
  Codes.Number = Tiles.getNumber();
  return Codes;
}

bool GemmMatch::TiledCodes::isLike(const TiledCodes &Other) const {
  return Bits == Other.Bits && Block == Other.Block && Number == Other.Number &&
         Scales.Element == Other.Scales.Element &&
         Scales.RowStride == Other.Scales.RowStride &&
         Zeros.has_value() == Other.Zeros.has_value() &&
         (!Zeros || Zeros->Element == Other.Zeros->Element);
}

} // namespace kpc::kernels
