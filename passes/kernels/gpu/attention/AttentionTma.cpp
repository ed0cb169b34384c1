//===- AttentionTma.cpp - Heads that TMA copies ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionTma.h"
#include "dialects/kernel/Kernel.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

BlockArgument AttentionTma::addMap(const HeadsInMemory &H,
                                   tile::SharedType Tile, ArrayRef<int64_t> Box,
                                   ArrayRef<Expr> Dims,
                                   ArrayRef<Expr> Strides) {
  Builder B(W.B.getContext());
  auto View =
      tile::ViewType::get(W.B.getContext(), H.Element, Box, Tile.getSwizzle());
  SmallVector<Expr> Bytes;
  for (const Expr &Stride : Strides)
    Bytes.push_back(Stride * (H.Element.getIntOrFloatBitWidth() / 8));
  SmallVector<int64_t> Innermost(llvm::reverse(Box));
  TensorMaps.push_back(kernel::TensorMapAttr::get(
      B.getContext(), H.Argument, H.Element,
      kernel::textsOf(B.getContext(), Dims),
      kernel::textsOf(B.getContext(), Bytes), B.getDenseI64ArrayAttr(Innermost),
      View.getSwizzle(), kernel::DefaultL2, kernel::TensorMapFill::Zero,
      /*traversal=*/{}, /*im2col=*/{}));
  func::FuncOp Func = Form.Func;
  unsigned Position = Func.getNumArguments();
  (void)Func.insertArgument(Position, View, {}, Func.getLoc());
  return Func.getArgument(Position);
}

BlockArgument AttentionTma::addView(const HeadsInMemory &H,
                                    tile::SharedType Tile, const Expr &Heads,
                                    const Expr &Rows, const Expr &Columns) {
  int64_t BoxRows = std::min<int64_t>(Tile.getRows(), 256);
  return addMap(H, Tile, {1, 1, BoxRows, Tile.getLineElements()},
                {Columns, Rows, Heads + H.FirstHead, A.Batch},
                {H.Strides[2], H.Strides[1], H.Strides[0]});
}

BlockArgument AttentionTma::addKeysInOrder(const HeadsInMemory &H,
                                           tile::SharedType Tile,
                                           const Expr &Heads, const Expr &Rows,
                                           int64_t Columns) {
  int64_t Row = *H.Strides[2].asConstant();
  Expr Last =
      (A.Batch - 1) * H.Strides[0] + (Heads + H.FirstHead - 1) * H.Strides[1];
  Expr Blocks =
      Last.floorDiv(Expr(Row * KeysInOrder)) + Rows.floorDiv(Expr(KeysInOrder));
  return addMap(
      H, Tile, {Tile.getRows() / KeysInOrder, 2, 4, 2, Tile.getLineElements()},
      {Expr(Columns), Expr(2), Expr(4), Expr(2), Blocks},
      {Expr(Row), Expr(Row * 4), Expr(Row * 2), Expr(Row * KeysInOrder)});
}

void AttentionTma::describeViews() {
  Form.Func->setAttr(kernel::KernelDialect::TensorMapsAttrHelper::getNameStr(),
                     W.B.getArrayAttr(TensorMaps));
}

Value AttentionTma::headInMemory(Value Head, const HeadsInMemory &H) {
  return H.FirstHead ? compute<arith::AddIOp>(Head, W.index(H.FirstHead))
                     : Head;
}

Value AttentionTma::fill(Value Pipe, Value Cursor, Value View, ValueRange At) {
  auto Free = tile::StageType::get(W.B.getContext(), tile::StageState::Free);
  auto Ty = cast<tile::PipeType>(Pipe.getType());
  Value Stage = tile::AcquireOp::create(W.B, W.Loc, Free, Pipe, Cursor);
  Value Tile = tile::TilesOp::create(W.B, W.Loc, TypeRange{Ty.getTiles()[0]},
                                     Pipe, Stage)
                   .getResult(0);
  tile::TmaLoadOp::create(W.B, W.Loc, View, At, Tile, Pipe, Stage);
  tile::CommitOp::create(W.B, W.Loc, Pipe, Stage);
  return next(Pipe, Cursor);
}

std::pair<Value, Value> AttentionTma::waitFor(Value Pipe, Value Cursor) {
  auto Full = tile::StageType::get(W.B.getContext(), tile::StageState::Full);
  auto Ty = cast<tile::PipeType>(Pipe.getType());
  Value Stage = tile::WaitOp::create(W.B, W.Loc, Full, Pipe, Cursor);
  Value Tile = tile::TilesOp::create(W.B, W.Loc, TypeRange{Ty.getTiles()[0]},
                                     Pipe, Stage)
                   .getResult(0);
  return {Stage, Tile};
}

Value AttentionTma::rowsOf(Value Tile, Value First, int64_t Count) {
  auto Whole = cast<tile::SharedType>(Tile.getType());
  auto Part = tile::SharedType::get(
      W.B.getContext(), {Count, Whole.getColumns()}, Whole.getElement(),
      Whole.getSwizzle(), Whole.getPitch());
  return tile::SubviewRowsOp::create(W.B, W.Loc, Part, Tile, First);
}

} // namespace kpc::kernels
