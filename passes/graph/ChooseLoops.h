//===- ChooseLoops.h - Loops whose state stays on the chip ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_CHOOSELOOPS_H
#define KPC_PASSES_GRAPH_CHOOSELOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace kpc::graph {

#define GEN_PASS_DECL
#include "passes/graph/ChooseLoops.h.inc"

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_CHOOSELOOPS_H
