//===- AttentionDecodeCopies.cpp - Keys and values on their way -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A step's keys and values are lines of shared memory, of a power of two
/// pieces of 16 bytes. As many lanes copy a line, so that each copy is of whole
/// lines of memory.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionDecode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace kpc::kernels {

AttentionDecode::Line AttentionDecode::lineOf(const HeadsInMemory &H,
                                              int64_t Lanes, int64_t Size) {
  Line L;
  L.Lanes = Lanes;
  L.Size = Size;
  Value Row = compute<arith::DivUIOp>(Lane, W.index(Lanes)),
        Piece = compute<arith::RemUIOp>(Lane, W.index(Lanes));
  L.From = globalPointer(
      H, {Batch, Group, Row, W.mul(Piece, W.index(pieceElements()))});
  L.Bytes = toI64(W.mul(W.size(H.StrideSizes[2]), W.index(Shape.ElementBytes)));
  return L;
}

void AttentionDecode::setSwizzles() {
  // The lanes that load together meet no bank twice: of keys they want 4 pieces
  // of 2 rows, of values 2 pieces of 4 rows, every other one.
  auto Bits = [this](Value Row, int64_t From, int64_t Mask, int64_t To) {
    Value Shifted = compute<arith::DivUIOp>(Row, W.index(From));
    return W.mul(compute<arith::AndIOp>(Shifted, W.index(Mask)), W.index(To));
  };
  bool IsShort = KeyLine.Lanes < 8;
  KeyLine.Swizzle = [=, this](Value Row) {
    return IsShort ? W.index(0) : Bits(Row, 1, 1, 4);
  };
  ValueLine.Swizzle = [=](Value Row) { return Bits(Row, 2, 3, 2); };
}

/// Byte in a step's keys or values of a row's 16 bytes `Piece`.
Value AttentionDecode::placeIn(const Line &L, Value Row, Value Piece) {
  Value Place = compute<arith::XOrIOp>(Piece, L.Swizzle(Row));
  return toI64(
      W.mul(W.add(W.mul(Row, W.index(L.Lanes)), Place), W.index(PieceBytes)));
}

/// 16 bytes; zeros, and nothing is read, where not `Inside`.
void AttentionDecode::copy(Value From, Value To, Value Inside) {
  Value Size = choose(Inside, i32(PieceBytes), i32(0));
  NVVM::CpAsyncOp::create(
      W.B, W.Loc, To, From, W.B.getI32IntegerAttr(PieceBytes),
      NVVM::LoadCacheModifierKindAttr::get(W.B.getContext(),
                                           NVVM::LoadCacheModifierKind::CG),
      Size);
}

/// Copies a step's rows, those of keys or those of values, line by line.
void AttentionDecode::fillLines(const Line &L, Value First, Value To) {
  int64_t RowsAtOnce = 32 / L.Lanes;
  Value Row = compute<arith::DivUIOp>(Lane, W.index(L.Lanes)),
        Piece = compute<arith::RemUIOp>(Lane, W.index(L.Lanes));
  Value From = bytesAt(L.From, compute<arith::MulIOp>(toI64(First), L.Bytes));
  Value InLine = L.Lanes * pieceElements() == L.Size
                     ? Value()
                     : W.less(Piece, W.index(L.Size / pieceElements()));
  for (int64_t Number = 0; Number < S.Keys; Number += RowsAtOnce) {
    Value Here = W.add(Row, W.index(Number));
    Value Inside = W.less(W.add(First, Here), End);
    if (InLine)
      Inside = W.both(Inside, InLine);
    Value Times = arith::ConstantIntOp::create(W.B, W.Loc, Number, 64);
    copy(bytesAt(From, compute<arith::MulIOp>(L.Bytes, Times)),
         bytesAt(To, placeIn(L, Here, Piece)), Inside);
  }
}

/// Starts the copies of the step whose first key is `First`, as one group.
void AttentionDecode::fill(Value First, Value Stage) {
  Value To = bytesAt(Ring, Stage);
  fillLines(KeyLine, First, To);
  fillLines(ValueLine, First, bytesAt(To, S.keyBytes(Shape)));
  NVVM::CpAsyncCommitGroupOp::create(W.B, W.Loc);
}

Value AttentionDecode::nextStage(Value Stage) {
  int64_t Bytes = S.stepBytes(Shape);
  Value IsLast = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                       Stage, i32(Bytes * (S.Stages - 1)));
  return choose(IsLast, i32(0), compute<arith::AddIOp>(Stage, i32(Bytes)));
}

} // namespace kpc::kernels
