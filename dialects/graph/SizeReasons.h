//===- SizeReasons.h - Why sizes must be as the module says -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a node of the model needs what the module's `graph.symbols` says of a
/// symbol, the attribute `graph.reasons` has the reason in words. The artifact
/// keeps it for the message that refuses another size.
///
///   graph.reasons = {height = "'Concat_5' (Concat) needs the sizes ..."}
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_GRAPH_SIZEREASONS_H
#define KPC_DIALECTS_GRAPH_SIZEREASONS_H

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace kpc::graph {

using SizeReasons = std::map<std::string, std::string, std::less<>>;
SizeReasons sizeReasons(mlir::ModuleOp Module);
void setSizeReasons(mlir::ModuleOp Module, const SizeReasons &Reasons);

} // namespace kpc::graph

#endif // KPC_DIALECTS_GRAPH_SIZEREASONS_H
