//===- Loops.cpp - Loops as builders write them ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/Loops.h"

using namespace mlir;

namespace kpc::kernels {

scf::ForOp makeLoop(OpBuilder &B, Location Loc, Value Lower, Value Upper,
                    Value Step, ValueRange Carried, LoopBody Body) {
  auto For = scf::ForOp::create(B, Loc, Lower, Upper, Step, Carried);
  OpBuilder::InsertionGuard Guard(B);
  if (!For.getBody()->empty())
    For.getBody()->back().erase();
  B.setInsertionPointToEnd(For.getBody());
  SmallVector<Value> Next =
      Body(B, For.getInductionVar(), For.getRegionIterArgs());
  scf::YieldOp::create(B, Loc, Next);
  return For;
}

} // namespace kpc::kernels
