//===- GraphQuantised.cpp - Verifiers of quantised values -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/InferTypes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

/// Zero points have the scales' sizes.
static LogicalResult verifyZeros(Operation *Op, Value Scales, Value Zeros) {
  if (Zeros && typeOf(Zeros).getDims() != typeOf(Scales).getDims())
    return Op->emitOpError()
           << "has zero points " << Zeros.getType()
           << "; expected the sizes of the scales " << Scales.getType();
  return success();
}

LogicalResult DequantiseOp::verify() {
  SymbolicTensorType W = typeOf(getW()), S = typeOf(getScales());
  Type Code = W.getElementType();
  bool IsCode = isNarrowInteger(Code) || (isInteger(Code) && !isBool(Code)) ||
                isNarrowFloat(Code);
  if (!IsCode || Code.getIntOrFloatBitWidth() > 8)
    return emitOpError() << "takes elements of " << W.getElementType()
                         << "; expected integers of 2, 4 or 8 bits, or floats "
                            "of 4 or 8 bits";
  if (getZeros() && isNarrowFloat(Code))
    return emitOpError() << "has zero points beside codes of " << Code
                         << "; expected none";
  if (W.getDims() != typeOf(getY()).getDims())
    return emitOpError() << "gives " << getY().getType()
                         << "; expected the sizes of " << W;
  ArrayRef<int64_t> Blocks = getBlocks();
  if (int64_t(Blocks.size()) != W.getRank() ||
      llvm::any_of(Blocks, [](int64_t Block) { return Block < 1; }))
    return emitOpError() << "has the blocks [" << Blocks
                         << "]; expected a size of 1 or more for each "
                            "dimension of "
                         << W;
  SmallVector<Expr> Sizes;
  for (auto [Size, Block] : llvm::zip_equal(W.getDims(), Blocks))
    Sizes.push_back(Size.ceilDiv(Block));
  if (S.getDims() != ArrayRef<Expr>(Sizes))
    return emitOpError() << "has scales " << S << "; expected "
                         << S.withDims(Sizes);
  return verifyZeros(*this, getScales(), getZeros());
}

LogicalResult DequantiseBlocksOp::verify() {
  SymbolicTensorType To = typeOf(getY()), Codes = typeOf(getCodes());
  if (To.getRank() != 2)
    return emitOpError() << "gives " << To << "; expected a matrix";
  const Expr &Rows = To.getDims()[getTurned() ? 1 : 0],
             &K = To.getDims()[getTurned() ? 0 : 1];
  Type Byte = IntegerType::get(getContext(), 8, IntegerType::Unsigned);
  bool IsFp8 = hasFp8();
  bool HasType = IsFp8 ? graph::isFp8(Codes.getElementType())
                       : Codes.getElementType() == Byte;
  if (!HasType ||
      Codes.getDims() != ArrayRef<Expr>{Rows, IsFp8 ? K : K.ceilDiv(2)})
    return emitOpError() << "has codes " << Codes << "; expected "
                         << (IsFp8 ? "FP8" : "bytes of two")
                         << " of the rows of " << To;
  if (getKind() == BlockKind::fp8) {
    Expr Blocks = K.ceilDiv(getBlock());
    auto Shared = SymbolicTensorType::get({Rows.ceilDiv(getBlock()), Blocks},
                                          Float32Type::get(getContext())),
         OfRows = getTurned() ? Shared.withDims({Blocks, Rows})
                              : Shared.withDims({Rows, Blocks});
    if (typeOf(getScales()) != OfRows && typeOf(getScales()) != Shared)
      return emitOpError() << "has scales " << getScales().getType()
                           << "; expected " << OfRows << " or " << Shared;
    return success();
  }
  Expr Words = K.ceilDiv(getBlock() * 4);
  auto Wanted = SymbolicTensorType::get({Words, Rows, Expr(4)}, Byte),
       Panels = SymbolicTensorType::get(
           {Rows.ceilDiv(128), Words, Expr(32), Expr(16)}, Byte);
  if (typeOf(getScales()) != Wanted && typeOf(getScales()) != Panels)
    return emitOpError() << "has scales " << getScales().getType()
                         << "; expected " << Wanted << " or " << Panels;
  return success();
}

int64_t DequantiseBlocksOp::getRowsOfScale() {
  const Expr &Rows = typeOf(getCodes()).getDims()[0];
  return typeOf(getScales()).getDims()[getTurned() ? 1 : 0] == Rows
             ? 1
             : getBlock();
}

LogicalResult DequantiseTilesOp::verify() {
  if (getBits() != 4 && getBits() != 8)
    return emitOpError() << "has codes of " << getBits()
                         << " bits; expected 4 or 8";
  if (getBlock() < 1)
    return emitOpError() << "has blocks of " << getBlock()
                         << " elements; expected 1 or more";
  if (std::optional<Type> Number = getNumber();
      Number &&
      (!isFp8(*Number) || getBits() != 8 || getZeros() || getOffset() != 0))
    return emitOpError() << "has codes of " << *Number
                         << "; expected f8E4M3FN or f8E5M2 of 8 bits without "
                            "zero points";
  SymbolicTensorType To = typeOf(getY()), Tiles = typeOf(getTiles());
  if (To.getRank() != 2)
    return emitOpError() << "gives " << To << "; expected a matrix";
  const Expr &K = To.getDims()[0], &N = To.getDims()[1];
  Type Byte = IntegerType::get(getContext(), 8, IntegerType::Unsigned);
  auto Wanted = SymbolicTensorType::get(
      {N.ceilDiv(8), K.ceilDiv(512 / getBits()), Expr(512)}, Byte);
  if (Tiles != Wanted)
    return emitOpError() << "has tiles " << Tiles << "; expected " << Wanted;
  SymbolicTensorType S = typeOf(getScales()),
                     Scales =
                         S.withDims({K.ceilDiv(getBlock()), N.ceilDiv(8) * 8});
  if (S != Scales)
    return emitOpError() << "has scales " << S << "; expected " << Scales;
  return verifyZeros(*this, getScales(), getZeros());
}
