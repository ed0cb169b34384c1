//===- InferTypes.cpp - Result types that are checked first --------------===//
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

LogicalResult graph::checkTensors(std::optional<Location> Loc,
                                  ValueRange Operands) {
  for (auto [I, V] : llvm::enumerate(Operands))
    if (!isa<SymbolicTensorType>(V.getType()))
      return emitOptionalError(Loc, "operand #", I,
                               " must be symbolic tensor, but got ",
                               V.getType());
  return success();
}

LogicalResult graph::appendTensor(std::optional<Location> Loc,
                                  ArrayRef<shape::Expr> Dims, Type Element,
                                  SmallVectorImpl<Type> &Types) {
  MLIRContext *Context = Element.getContext();
  auto emit = [&] { return emitError(Loc.value_or(UnknownLoc::get(Context))); };
  auto Ty = SymbolicTensorType::getChecked(emit, Context, Dims, Element);
  if (!Ty)
    return failure();
  Types.push_back(Ty);
  return success();
}
