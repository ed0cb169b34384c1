//===- KernelWords.h - By what equal kernels are found ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_KERNELWORDS_H
#define KPC_PASSES_GRAPH_KERNELWORDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace kpc::graph {

/// What a kernel's text says, but its name and locations, as one machine word
/// for each name, type, attribute and operand, of which MLIR has each once.
/// The bytes are another's if and only if the kernels' texts would be equal.
/// Printing them was a fifth of compiling a graph of 10^5 nodes.
std::string wordsOf(mlir::func::FuncOp Kernel);

/// The same of a region's ops, without the attributes of those that `LeavesOut`
/// is true of: two regions may then differ in these attributes.
std::string wordsOf(mlir::Region &Body,
                    llvm::function_ref<bool(mlir::Operation *)> LeavesOut);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_KERNELWORDS_H
