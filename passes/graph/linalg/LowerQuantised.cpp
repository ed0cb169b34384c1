//===- LowerQuantised.cpp - Quantised weights in kernels -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   graph.dequantise_tiles  →  linalg.generic (k, n) {kernel.tiles = …}
///                              (code - zero) * scale
///     its columns c…       →   linalg.generic (k, c…)
///   graph.dequantise_blocks →  linalg.generic {kernel.block_scales = …}
///                              code * scale
///
/// What the codes mean stands in the body, so that every builder can compute
/// it; who reads tiles as they lie in memory asks for the attribute, and for
/// the tensors that the body extracts from: tiles, scales, zero points.
///
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/graph/linalg/IndexMath.h"
#include "passes/graph/linalg/NarrowFloat.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace {

/// Index arithmetic by constants.
struct ByConstants : IndexMath {
  Value div(Value X, int64_t C) { return floorDiv(X, constant(C)); }
  Value rem(Value X, int64_t C) { return sub(X, times(div(X, C), C)); }
  Value times(Value X, int64_t C) { return mul(X, constant(C)); }
};

} // namespace

/// The code of element (k, n), as an i8 whose bits above are zero.
static Value codeAt(OpBuilder &B, Location L, DequantiseTilesOp Op, Value Tiles,
                    Value K, Value N) {
  ByConstants M{{B, L}};
  int64_t Bits = Op.getBits(), Depth = 512 / Bits, PerByte = 8 / Bits;
  Value InTile = M.rem(K, Depth), Element = M.rem(K, 8);
  // Pairs of elements are 16 bits apart in a word.
  int64_t InWord = 32 / Bits;
  Value Pair = M.add(M.div(M.rem(Element, InWord), 2),
                     M.times(M.rem(Element, 2), InWord / 2));
  Element = M.add(M.times(M.div(Element, InWord), InWord), Pair);
  Value Lane = M.add(M.times(M.rem(N, 8), 4), M.rem(M.div(InTile, 8), 4));
  Value Code = M.add(M.times(M.div(InTile, 32), 8), Element);
  Value Byte = M.add(M.times(Lane, 16), M.div(Code, PerByte));
  Value At[] = {M.div(N, 8), M.div(K, Depth), Byte};
  Value Loaded = tensor::ExtractOp::create(B, L, Tiles, At);
  if (Bits == 8)
    return Loaded;
  Value Shift = arith::IndexCastOp::create(B, L, B.getI8Type(),
                                           M.times(M.rem(Code, PerByte), Bits));
  Value Low = arith::ShRUIOp::create(B, L, Loaded, Shift);
  Value Mask = arith::ConstantOp::create(B, L, B.getI8IntegerAttr(15));
  return arith::AndIOp::create(B, L, Low, Mask);
}

Value graph::lowerTiles(DequantiseTilesOp Op, ArrayRef<shape::Expr> Columns,
                        KernelWriter &W) {
  Value Tiles = W.tensor(Op.getTiles()), Scales = W.tensor(Op.getScales()),
        Zeros = Op.getZeros() ? W.tensor(Op.getZeros()) : Value();
  SmallVector<shape::Expr> Dims = {typeOf(Op.getY()).getDims()[0]};
  llvm::append_range(Dims, Columns);
  SymbolicTensorType To = typeOf(Op.getY()).withDims(Dims);
  SmallVector<Value> Sizes;
  for (const shape::Expr &Size : Columns)
    Sizes.push_back(W.size(Size));
  Value Y = W.produce(To, [&](OpBuilder &B, Location L, ValueRange I) -> Value {
    ByConstants M{{B, L}};
    Type Number = W.computeType(To.getElementType());
    Value Column = Sizes.size() > 1 ? M.linearize(I.drop_front(), Sizes) : I[1];
    Value Code = codeAt(B, L, Op, Tiles, I[0], Column);
    Value At[] = {M.div(I[0], Op.getBlock()), Column};
    Value Scale = tensor::ExtractOp::create(B, L, Scales, At), Zero;
    if (std::optional<Type> Float = Op.getNumber())
      return arith::MulFOp::create(B, L, decodeNarrow(B, L, Code, *Float),
                                   Scale);
    Code = arith::UIToFPOp::create(B, L, Number, Code);
    if (Zeros)
      Zero = tensor::ExtractOp::create(B, L, Zeros, At);
    else
      Zero = arith::ConstantOp::create(
          B, L, B.getFloatAttr(Number, double(Op.getOffset())));
    Value Centred = arith::SubFOp::create(B, L, Code, Zero);
    return arith::MulFOp::create(B, L, Centred, Scale);
  });
  auto Generic = Y.getDefiningOp<linalg::GenericOp>();
  kernel::KernelDialect::TilesAttrHelper(Op.getContext())
      .setAttr(Generic, kernel::TilesAttr::get(
                            Op.getContext(), Op.getBits(), Op.getBlock(),
                            Op.getOffset(), Op.getNumber().value_or(Type())));
  return Y;
}

/// The scale of a row's block, as it is stored.
static Value scaleOf(OpBuilder &B, Location L, DequantiseBlocksOp Op,
                     Value Scales, Value Row, Value Block) {
  ByConstants M{{B, L}};
  SmallVector<Value> Place;
  if (Op.getKind() == BlockKind::fp8) {
    int64_t Rows = Op.getRowsOfScale();
    Place = {Rows > 1 ? M.div(Row, Rows) : Row, Block};
    if (Rows == 1 && Op.getTurned())
      std::swap(Place[0], Place[1]);
  } else if (typeOf(Op.getScales()).getRank() == 4) { // in panels of 128 rows
    Value InPanel = M.rem(Row, 128), InWord = M.rem(Block, 4);
    Place = {M.div(Row, 128), M.div(Block, 4), M.rem(InPanel, 32),
             M.add(M.times(M.div(InPanel, 32), 4), InWord)};
  } else {
    Place = {M.div(Block, 4), Row, M.rem(Block, 4)};
  }
  return tensor::ExtractOp::create(B, L, Scales, Place);
}

static Value lowerBlocks(DequantiseBlocksOp Op, KernelWriter &W) {
  Value Codes = W.tensor(Op.getCodes()), Scales = W.tensor(Op.getScales());
  MLIRContext *Context = Op.getContext();
  bool IsFp8 = Op.hasFp8();
  Type Code = IsFp8 ? typeOf(Op.getCodes()).getElementType()
                    : Type(Float4E2M1FNType::get(Context)),
       Scale = Op.getKind() == BlockKind::nvfp4
                   ? Type(Float8E4M3FNType::get(Context))
                   : Type(Float8E8M0FNUType::get(Context));
  Value Y = W.produce(
      typeOf(Op.getY()), [&](OpBuilder &B, Location L, ValueRange I) -> Value {
        ByConstants M{{B, L}};
        Value Row = I[Op.getTurned() ? 1 : 0], K = I[Op.getTurned() ? 0 : 1];
        Value Byte = tensor::ExtractOp::create(
            B, L, Codes, ValueRange{Row, IsFp8 ? K : M.div(K, 2)});
        if (!IsFp8) {
          Value Shift = arith::IndexCastOp::create(B, L, B.getI8Type(),
                                                   M.times(M.rem(K, 2), 4));
          Byte = arith::ShRUIOp::create(B, L, Byte, Shift);
        }
        Value Block = M.div(K, Op.getBlock());
        Value Factor = scaleOf(B, L, Op, Scales, Row, Block);
        if (Op.getKind() != BlockKind::fp8)
          Factor = decodeNarrow(B, L, Factor, Scale);
        Value X =
            arith::MulFOp::create(B, L, decodeNarrow(B, L, Byte, Code), Factor);
        Type Number = W.computeType(typeOf(Op.getY()).getElementType());
        return Number.isF32()
                   ? X
                   : arith::TruncFOp::create(B, L, Number, X).getResult();
      });
  auto Generic = Y.getDefiningOp<linalg::GenericOp>();
  kernel::KernelDialect::BlockScalesAttrHelper(Context).setAttr(
      Generic, StringAttr::get(Context, stringifyBlockKind(Op.getKind())));
  return Y;
}

FailureOr<Value> graph::lowerQuantised(Operation *Op, KernelWriter &W) {
  if (auto Tiles = dyn_cast<DequantiseTilesOp>(Op)) {
    bool IsLate = !Op->use_empty() && llvm::all_of(Op->getUsers(), [](auto *U) {
      auto Product = dyn_cast<MatmulOp>(U);
      return Product && isSplitLater(Product);
    });
    return IsLate ? Value()
                  : lowerTiles(Tiles, typeOf(Tiles.getY()).getDims()[1], W);
  }
  if (auto Blocks = dyn_cast<DequantiseBlocksOp>(Op))
    return lowerBlocks(Blocks, W);
  return failure();
}
