//===- IndexPaths.cpp - How often a kernel computes an element ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/graph/IndexPaths.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/RegionRoles.h"

#include "llvm/ADT/Hashing.h"

using namespace mlir;
using namespace kpc::graph;

void IndexPaths::start(Operation *Op) {
  Paths &Own = PathsOf[Op];
  Own.clear();
  Own.insert(0);
}

bool IndexPaths::join(Operation *Op,
                      llvm::function_ref<bool(Operation *)> Inside,
                      llvm::function_ref<bool(Operation *)> Kept) {
  Paths All;
  forEachRealUser(Op, [&](Operation *User, bool ThroughBroadcast) {
    auto It = PathsOf.find(User);
    if (All.size() > Most || !Inside(User) || It == PathsOf.end())
      return;
    if (Kept(User)) {
      All.insert(0);
      return;
    }
    bool SameIndex = !ThroughBroadcast && User->hasTrait<ElementwiseTrait>();
    Operation *Movement = ThroughBroadcast ? Op : User;
    for (size_t Path : It->second)
      All.insert(SameIndex ? Path : size_t(llvm::hash_combine(Path, Movement)));
  });
  if (All.size() > Most)
    return false;
  PathsOf[Op] = std::move(All);
  return true;
}
