//===- Control.h - What loops and branches of front ends share --*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A front end builds a loop or a branch as a draft without results, imports
/// its bodies, and has it finished here: results follow from what bodies yield.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_CONTROL_H
#define KPC_COMPILER_IMPORT_CONTROL_H

#include "compiler/import/Emitter.h"

namespace kpc::frontend {

/// Emits an iteration: from its number and the carried values to the next ones,
/// and then what is collected. In a loop that data ends, whether there is
/// another iteration comes first. None after a fault.
using LoopFunction = llvm::function_ref<std::optional<SmallVector<Value>>(
    const Expr &Iteration, ArrayRef<Value> Carried)>;
/// Builds a graph.loop of a front end; its results, or none after a fault.
using LoopBuilder = llvm::function_ref<std::optional<SmallVector<Value>>(
    const Expr &Count, ArrayRef<Value> Inits, ArrayRef<bool> Reversed,
    LoopFunction Body)>;

/// The trip count of a loop that only data ends. A run fails where it has not
/// done so within the session's limit.
inline constexpr int64_t Endless = 0x7fffffff;

/// As deep as an artifact's plan may nest its controls.
inline constexpr size_t MostNested = 16;
/// Whether one more loop or branch may be opened; reports if not.
bool mayNest(Emitter &E);

/// The loop with the results that its body gives, in the draft's place. Null
/// after a report; then the draft is still there.
graph::LoopOp finishLoop(Emitter &E, graph::LoopOp Draft,
                         ArrayRef<bool> Reversed);

/// The first `Count` results of a branch: a graph.if, or where both sides are
/// little work a choice of two results. The draft goes. None after a report.
/// `Fit` may give both sides of a result one type.
std::optional<SmallVector<Value>>
finishBranches(Emitter &E, graph::IfOp Draft, size_t Count,
               llvm::function_ref<bool(unsigned Result)> Fit = {});

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_CONTROL_H
