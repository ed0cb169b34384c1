//===- GraphFunction.h - Which functions are programs of graph --*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_GRAPHFUNCTION_H
#define KPC_PASSES_GRAPH_GRAPHFUNCTION_H

#include "dialects/graph/Graph.h"
#include "llvm/ADT/StringSet.h"

namespace kpc::graph {

/// On a region whose last result is counters that are zero before it.
inline constexpr llvm::StringLiteral CountersAttr = "graph.counters";

/// Of an argument or a result of @main: its type in the model's signature,
/// where the value is packed bytes (the pass pack-borders).
constexpr llvm::StringLiteral PortAttr = "graph.port";

/// Whether a function is one block of ops of graph between symbolic tensors.
/// Kernels stand beside a program and are none; passes leave them alone.
bool isGraphFunction(mlir::func::FuncOp Func);

/// The function's block and those of loops and branches in it, inner ones
/// first.
llvm::SmallVector<mlir::Block *> blocksOf(mlir::func::FuncOp Func);

/// Takes symbols out of the module's facts: counters of loops that are gone.
void forgetSymbols(mlir::ModuleOp Module, const llvm::StringSet<> &Gone);

/// Bytes at whose multiples every pointer begins that a kernel is given: a
/// vector of the widest kind.
constexpr int64_t KernelAlignment = 64;

/// Whether a slice is what an iteration sees of a tensor, one piece of memory
/// that a kernel may be given as it is: whole rows from the counter on.
bool isPartOfMemory(mlir::Operation *Op);

/// Whether an op outside all regions reads its operands from memory as they
/// are: it leaves its block, is a view or part, or holds blocks.
bool takesMemory(mlir::Operation *Op);

/// Whether it is a region of a user's operator: its buffers are the user's to
/// read and write, in the types and the order of the model.
bool holdsCustom(mlir::Operation *Op);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_GRAPHFUNCTION_H
