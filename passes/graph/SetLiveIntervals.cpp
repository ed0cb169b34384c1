//===- SetLiveIntervals.cpp - When memory of the plan is needed -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In:  a plan.
/// Out: the same, each buffer with its live interval and arena class.
///
///   %h = plan.buffer "h" : !t          %h = plan.buffer "h" live [0, 1]
///   plan.launch @a (%x) -> (%h) …  →                        arena fixed : !t
///   plan.launch @b (%h) -> (%y) …      …
///
/// Steps are launches and copies, counted from 0. Buffers that have an interval
/// keep it: it may be longer than needed.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;

namespace kpc::graph {
#define GEN_PASS_DEF_SETLIVEINTERVALS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

struct SetLiveIntervalsPass
    : graph::impl::SetLiveIntervalsBase<SetLiveIntervalsPass> {
  void runOnOperation() override {
    for (auto Program : getOperation().getOps<plan::ProgramOp>())
      setIntervals(Program);
  }

  void setIntervals(plan::ProgramOp Program) {
    auto Touched = plan::touchedIntervals(Program);
    Program.walk([&](plan::BufferOp Buffer) {
      bool Fixed =
          plan::byteSize(graph::typeOf(Buffer.getBuffer())).isConstant();
      Buffer.setArena(Fixed ? plan::ArenaClass::fixed
                            : plan::ArenaClass::dynamic);
      auto Found = Touched.find(Buffer.getBuffer());
      if (!Buffer.getLive() && Found != Touched.end())
        Buffer.setLive({{Found->second.First, Found->second.Last}});
    });
  }
};

} // namespace
