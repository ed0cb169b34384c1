//===- OperandDescriptors.cpp - Descriptors of tiles ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/tile/OperandDescriptors.h"
#include "passes/tile/LowerTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::tile;

/// The whole allocation that a tile is, or is some rows of, as an operand.
static layout::SharedTile wholeTile(SharedType Tile, bool KIsContiguous) {
  layout::SharedTile Whole;
  Whole.Order = KIsContiguous ? layout::Major::K : layout::Major::MN;
  Whole.Mn = KIsContiguous ? Tile.getPitch() : Tile.getColumns();
  Whole.K = KIsContiguous ? Tile.getColumns() : Tile.getPitch();
  Whole.ElementBits = Tile.getElementBits();
  Whole.Mode = *layout::swizzleOfSpan(Tile.getSwizzle());
  return Whole;
}

OperandDescriptors::OperandDescriptors(OpBuilder &B, Location Loc,
                                       layout::TensorEngine Engine,
                                       SharedType Tile, Value Pointer,
                                       bool KIsContiguous)
    : B(B), Loc(Loc), Engine(Engine), Whole(wholeTile(Tile, KIsContiguous)) {
  NvvmWriter W(B, Loc);
  Value Address =
      LLVM::PtrToIntOp::create(B, Loc, B.getI32Type(), Pointer).getResult();
  // Shared addresses have 18 bits; descriptors count 16 bytes.
  Start = W.shiftRight(W.bitAnd(Address, 0x3FFFF), 4);
}

Value OperandDescriptors::at(int64_t Step, int64_t Mn) {
  // Only the 14 low bits change: the high word is a constant.
  uint64_t Fixed = layout::describe(Engine, Whole, 0).encode();
  NvvmWriter W(B, Loc);
  Value Low = W.add(Start, int64_t(layout::encodedOffset(Whole, Step, Mn)));
  Value Wide = arith::ExtUIOp::create(B, Loc, B.getI64Type(), Low);
  Value High =
      arith::ConstantIntOp::create(B, Loc, int64_t(Fixed), /*width=*/64);
  return arith::OrIOp::create(B, Loc, Wide, High);
}
