//===- SetIoType.cpp - Gives float inputs and outputs a type -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   func @main(%x : f32)            →   func @main(%x : f16)
///     … use of %x                         %0 = graph.cast %x to f32
///     return %y : f32                     … use of %0
///                                         %1 = graph.cast %y to f16
///                                         return %1 : f16
///
//===----------------------------------------------------------------------===//

#include "passes/graph/FloatTypeNames.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_SETIOTYPE
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Gives float inputs and outputs another type, with casts inside.
void setIoType(func::FuncOp Func, Type Io) {
  Block &Body = Func.getBody().front();
  OpBuilder B(&Body, Body.begin());
  for (BlockArgument Argument : Body.getArguments()) {
    SymbolicTensorType Ty = typeOf(Argument);
    if (!isFloat(Ty.getElementType()) || Ty.getElementType() == Io)
      continue;
    Argument.setType(Ty.withElementType(Io));
    Value Inside =
        CastOp::create(B, Argument.getLoc(), Argument, Ty.getElementType());
    Argument.replaceAllUsesExcept(Inside, Inside.getDefiningOp());
  }
  Operation *Return = Body.getTerminator();
  B.setInsertionPoint(Return);
  for (OpOperand &Operand : Return->getOpOperands()) {
    SymbolicTensorType Ty = typeOf(Operand.get());
    if (isFloat(Ty.getElementType()) && Ty.getElementType() != Io)
      Operand.set(CastOp::create(B, Return->getLoc(), Operand.get(), Io));
  }
  Func.setType(
      B.getFunctionType(Body.getArgumentTypes(), Return->getOperandTypes()));
}

/// Kernels that stand beside a program are left alone.
bool isProgram(func::FuncOp Func) {
  auto AreTensors = [](TypeRange Types) {
    return llvm::all_of(Types, llvm::IsaPred<SymbolicTensorType>);
  };
  return Func.getBody().hasOneBlock() && AreTensors(Func.getArgumentTypes()) &&
         AreTensors(Func.getResultTypes());
}

struct SetIoTypePass : graph::impl::SetIoTypeBase<SetIoTypePass> {
  using SetIoTypeBase::SetIoTypeBase;
  void runOnOperation() override {
    FailureOr<Type> Type = floatTypeNamed(To, getOperation());
    if (failed(Type))
      return signalPassFailure();
    if (*Type && isProgram(getOperation()))
      setIoType(getOperation(), *Type);
  }
};

} // namespace
