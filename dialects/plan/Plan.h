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
#define GET_OP_CLASSES
#include "dialects/plan/Plan.h.inc"

namespace kpc::plan {

/// The buffer whose memory `Buffer` is: views are followed.
mlir::Value storageOf(mlir::Value Buffer);

/// Bytes that a buffer of this type takes, rows packed.
shape::Expr byteSize(graph::SymbolicTensorType Ty);

} // namespace kpc::plan

#endif // KPC_DIALECTS_PLAN_PLAN_H
