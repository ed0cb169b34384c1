//===- Plan.h - The plan dialect -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the runtime does, record by record; see Plan.td and
/// docs/dialects/plan.md.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_PLAN_PLAN_H
#define KPC_DIALECTS_PLAN_PLAN_H

#include "dialects/graph/Graph.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/plan/PlanDialect.h.inc"
#include "dialects/plan/PlanEnums.h.inc"
#define GET_OP_CLASSES
#include "dialects/plan/Plan.h.inc"

namespace kpc::plan {

/// The buffer whose memory `Buffer` is: views and parts are followed.
mlir::Value storageOf(mlir::Value Buffer);
/// Where in the storage `Buffer` begins, in bytes; none where it is no part.
std::optional<shape::Expr> offsetInStorage(mlir::Value Buffer);

/// Bytes that a buffer of this type takes, rows packed.
shape::Expr byteSize(graph::SymbolicTensorType Ty);

/// Whether the op is a step of the plan: a launch or a copy.
bool isStep(mlir::Operation &Op);
/// The steps of a block, those of loops and branches among them.
int64_t countSteps(mlir::Block &Body);

struct LiveInterval {
  int64_t First = 0, Last = 0; ///< steps, both included
};
/// From the first step that touches a buffer's storage to the last; of a loop
/// that touches what is declared outside it, all steps. Buffers that no step
/// touches are not in it.
llvm::DenseMap<mlir::Value, LiveInterval> touchedIntervals(ProgramOp Program);

} // namespace kpc::plan

#endif // KPC_DIALECTS_PLAN_PLAN_H
