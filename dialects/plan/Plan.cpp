//===- Plan.cpp - The plan dialect -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::plan;

#include "dialects/plan/PlanDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/plan/Plan.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/plan/Plan.cpp.inc"
      >();
}

Value plan::storageOf(Value Buffer) {
  while (auto View = Buffer.getDefiningOp<ViewOp>())
    Buffer = View.getOf();
  return Buffer;
}

shape::Expr plan::byteSize(graph::SymbolicTensorType Ty) {
  return Ty.getNumElements() * graph::elementBytes(Ty.getElementType());
}

static LogicalResult checkSameBytes(Operation *Op, Value A, Value B) {
  auto TyA = graph::typeOf(A), TyB = graph::typeOf(B);
  if (byteSize(TyA) == byteSize(TyB))
    return success();
  return Op->emitOpError() << "joins buffers of " << byteSize(TyA).str()
                           << " and " << byteSize(TyB).str() << " bytes";
}

LogicalResult ViewOp::verify() {
  return checkSameBytes(*this, getOf(), getBuffer());
}

LogicalResult CopyOp::verify() {
  return checkSameBytes(*this, getSource(), getDestination());
}
