//===- BoolStorage.cpp - Bools in memory are bytes ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/BoolStorage.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

static bool isBoolMemref(Type T) {
  auto Memref = dyn_cast<MemRefType>(T);
  return Memref && Memref.getElementType().isInteger(1);
}

static Type bytesOf(Type T) {
  Type Byte = IntegerType::get(T.getContext(), 8);
  if (auto Memref = dyn_cast<MemRefType>(T))
    return MemRefType::Builder(Memref).setElementType(Byte);
  if (auto Vector = dyn_cast<VectorType>(T))
    return Vector.clone(Byte);
  return Byte;
}

/// A load now reads bytes: gives its users bools.
static void convertLoaded(Operation *Load) {
  Value Loaded = Load->getResult(0);
  Loaded.setType(bytesOf(Loaded.getType()));
  OpBuilder B(Load->getContext());
  B.setInsertionPointAfter(Load);
  Location Loc = Load->getLoc();
  Value Zero =
      arith::ConstantOp::create(B, Loc, B.getZeroAttr(Loaded.getType()));
  Operation *Bool =
      arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::ne, Loaded, Zero);
  Loaded.replaceAllUsesExcept(Bool->getResult(0), Bool);
}

static void convertStored(Operation *Store, unsigned Operand) {
  OpBuilder B(Store);
  Value Bool = Store->getOperand(Operand);
  Store->setOperand(Operand,
                    arith::ExtUIOp::create(B, Store->getLoc(),
                                           bytesOf(Bool.getType()), Bool));
}

LogicalResult storeBoolsAsBytes(func::FuncOp Func) {
  SmallVector<Value> Worklist;
  for (BlockArgument Arg : Func.getArguments())
    if (isBoolMemref(Arg.getType()))
      Worklist.push_back(Arg);
  if (Worklist.empty())
    return success();
  while (!Worklist.empty()) {
    Value Memref = Worklist.pop_back_val();
    Memref.setType(bytesOf(Memref.getType()));
    for (Operation *User : llvm::to_vector(Memref.getUsers())) {
      if (isa<memref::ReinterpretCastOp, memref::CastOp, memref::SubViewOp>(
              User))
        Worklist.push_back(User->getResult(0));
      else if (isa<memref::LoadOp, vector::LoadOp>(User))
        convertLoaded(User);
      else if (isa<memref::StoreOp, vector::StoreOp>(User))
        convertStored(User, 0);
      else if (isa<vector::MaskedStoreOp>(User))
        convertStored(User, User->getNumOperands() - 1);
      else if (isa<vector::MaskedLoadOp>(User)) {
        // The last operand is what lanes that are not read hold.
        convertStored(User, User->getNumOperands() - 1);
        convertLoaded(User);
      } else if (!isa<memref::PrefetchOp, memref::DimOp>(User))
        return User->emitOpError("reads or writes bools in a way that has no "
                                 "form in bytes");
    }
  }
  Func.setFunctionType(FunctionType::get(
      Func.getContext(), Func.getBody().front().getArgumentTypes(),
      Func.getFunctionType().getResults()));
  return success();
}

} // namespace kpc::kernels
