//===- GemmMemory.cpp - Where a GEMM's operands lie in memory -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From the tensor that a contraction reads to memory: through what tensor
/// cores and copies to them do themselves.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/GemmMatch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace kpc::kernels {

/// What an integer of 32 bits is made of, one of 8 bits; null: it is not.
static Value widenedInteger(Value Yielded, Type &From) {
  Operation *Wide = Yielded.getDefiningOp();
  if (!isa_and_present<arith::ExtSIOp, arith::ExtUIOp>(Wide) ||
      !Yielded.getType().isInteger(32) ||
      !Wide->getOperand(0).getType().isInteger(8))
    return {};
  From = IntegerType::get(Wide->getContext(), 8,
                          isa<arith::ExtUIOp>(Wide) ? IntegerType::Unsigned
                                                    : IntegerType::Signless);
  return Wide->getOperand(0);
}

/// What `Yielded` widens, and the type of that: elements of 8 bits lie in
/// memory as integers without a sign. Null where nothing is widened.
static Value widenedElement(Value Yielded, Type &From) {
  if (Value Integer = widenedInteger(Yielded, From))
    return Integer;
  auto Wide = Yielded.getDefiningOp<arith::ExtFOp>();
  if (!Wide)
    return {};
  From = Wide.getIn().getType();
  if (auto Code = Wide.getIn().getDefiningOp<arith::BitcastOp>())
    return Code.getIn();
  return Wide.getIn();
}

/// What a generic reads that only widens each element; null if it does more.
static Value widenedBy(linalg::GenericOp Op) {
  if (!Op || Op.getNumDpsInputs() != 1 || Op->getNumResults() != 1 ||
      Op.getNumReductionLoops() ||
      !llvm::all_of(Op.getIndexingMapsArray(),
                    [](AffineMap Map) { return Map.isIdentity(); }))
    return {};
  Type From;
  if (widenedElement(Op.getBody()->getTerminator()->getOperand(0), From) !=
          Op.getBody()->getArgument(0) ||
      From.getIntOrFloatBitWidth() < 16)
    return {};
  return Op.getDpsInputOperand(0)->get();
}

Value memoryOf(Value Tensor) {
  while (true) {
    if (auto Cast = Tensor.getDefiningOp<tensor::CastOp>())
      Tensor = Cast.getSource();
    else if (Value From = widenedBy(Tensor.getDefiningOp<linalg::GenericOp>()))
      Tensor = From;
    else
      return viewOf(Tensor);
  }
}

/// What a generic hands on, at most widened, with dims in another order; null
/// if it does more. `Order`: where an element of the result is in it; `Stored`:
/// the type that it reads, where it widens.
static Value permutedBy(linalg::GenericOp Op, AffineMap &Order, Type &Stored) {
  if (!Op || Op.getNumDpsInputs() != 1 || Op->getNumResults() != 1 ||
      Op.getNumReductionLoops() ||
      !Op.getIndexingMapsArray().back().isIdentity() ||
      !Op.getIndexingMapsArray().front().isPermutation())
    return {};
  Value Yielded = Op.getBody()->getTerminator()->getOperand(0);
  Type From;
  if (Value Read = widenedElement(Yielded, From)) {
    Yielded = Read;
    Stored = From;
  }
  if (Yielded != Op.getBody()->getArgument(0))
    return {};
  Order = Op.getIndexingMapsArray().front();
  return Op.getDpsInputOperand(0)->get();
}

/// memoryOf, also through transposes; `Stored`: the type of its elements.
/// `Pick`, where given, takes how matrices are picked.
static Value memoryOf(Value Tensor, AffineMap &Map, Type &Stored,
                      std::optional<MatrixPick> *Pick) {
  Stored = getElementTypeOrSelf(Tensor);
  while (true) {
    AffineMap Order;
    Value Stack;
    if (auto Cast = Tensor.getDefiningOp<tensor::CastOp>()) {
      Tensor = Cast.getSource();
    } else if (Value From = permutedBy(
                   Tensor.getDefiningOp<linalg::GenericOp>(), Order, Stored)) {
      // The stack's first dimension is what is picked along.
      if (Pick && *Pick && !Order.isIdentity())
        return {};
      Tensor = From;
      Map = Order.compose(Map);
    } else if (std::optional<MatrixPick> One =
                   Pick && !*Pick ? MatrixPick::read(Tensor, Stack)
                                  : std::nullopt) {
      *Pick = One;
      Tensor = Stack;
    } else {
      return viewOf(Tensor);
    }
  }
}

bool placeMatrix(Matrix &M, Value Memref) {
  auto View = Memref ? Memref.getDefiningOp<memref::ReinterpretCastOp>()
                     : memref::ReinterpretCastOp();
  auto Base =
      View ? dyn_cast<BlockArgument>(View.getSource()) : BlockArgument();
  if (!Base || constantOf(View.getMixedOffsets()[0]) != 0)
    return false;
  M.Memref = Memref;
  M.Argument = Base.getArgNumber();
  M.Element = cast<MemRefType>(Memref.getType()).getElementType();
  return true;
}

bool placeOperand(Matrix &M, Value Tensor, AffineMap &Map, bool Picked) {
  Type Stored;
  if (!placeMatrix(M,
                   memoryOf(Tensor, Map, Stored, Picked ? &M.Pick : nullptr)))
    return false;
  M.Element = Stored;
  return true;
}

} // namespace kpc::kernels
