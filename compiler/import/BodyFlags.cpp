//===- BodyFlags.cpp - What bodies compute and runs refuse ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/BodyFlags.h"

using namespace mlir;
using namespace kpc::graph;

namespace kpc::frontend {

void carryFlags(Emitter &E, LoopOp Draft, ArrayRef<Forbidden> Flags) {
  OpBuilder &B = E.builder();
  OpBuilder::InsertionGuard Guard(B);
  Operation *Yield = Draft.getBody().front().getTerminator();
  for (const Forbidden &F : Flags) {
    B.setInsertionPoint(Draft);
    Value None = E.scalarInt(0, E.i64());
    auto At = static_cast<unsigned>(Draft.getInits().size() +
                                    (Draft.endsByData() ? 1 : 0));
    Draft.getInitsMutable().append(None);
    Value Before =
        Draft.getBody().front().addArgument(None.getType(), Draft.getLoc());
    B.setInsertionPoint(Yield);
    Yield->insertOperands(At, E.max(Before, F.Flag));
  }
}

void yieldFlags(Emitter &E, IfOp Draft, ArrayRef<Forbidden> Then,
                ArrayRef<Forbidden> Else) {
  OpBuilder &B = E.builder();
  OpBuilder::InsertionGuard Guard(B);
  Operation *Sides[] = {Draft.getThen().front().getTerminator(),
                        Draft.getOtherwise().front().getTerminator()};
  ArrayRef<Forbidden> Flags[] = {Then, Else};
  for (size_t Of : {0, 1})
    for (const Forbidden &F : Flags[Of])
      for (size_t Side : {0, 1}) {
        B.setInsertionPoint(Sides[Side]);
        Value Own = Side == Of ? F.Flag : E.scalarInt(0, E.i64());
        Sides[Side]->insertOperands(Sides[Side]->getNumOperands(), Own);
      }
}

std::vector<Forbidden> takeFlags(SmallVector<Value> &Results, size_t First,
                                 ArrayRef<Forbidden> Flags) {
  std::vector<Forbidden> Taken;
  for (auto [I, F] : llvm::enumerate(Flags))
    Taken.push_back({Results[First + I], F.What});
  Results.erase(Results.begin() + First,
                Results.begin() + First + Flags.size());
  return Taken;
}

} // namespace kpc::frontend
