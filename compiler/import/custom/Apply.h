//===- Apply.h - A node of a user's operator --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_CUSTOM_APPLY_H
#define KPC_COMPILER_IMPORT_CUSTOM_APPLY_H

#include "compiler/import/Emitter.h"
#include "compiler/import/custom/Manifest.h"

namespace kpc::custom {

using AttributeValues = std::map<std::string, AttributeValue, std::less<>>;

/// The results of graph.custom for a node, whose inputs and attributes must be
/// as the manifest says. Attributes without an entry have their defaults. None
/// after a report.
std::optional<llvm::SmallVector<mlir::Value>>
applyOperator(const Operator &Op, frontend::Emitter &E,
              llvm::ArrayRef<mlir::Value> Inputs,
              const AttributeValues &Attributes);

} // namespace kpc::custom

#endif // KPC_COMPILER_IMPORT_CUSTOM_APPLY_H
