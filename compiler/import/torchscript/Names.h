//===- Names.h - What statements read and assign ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCHSCRIPT_NAMES_H
#define KPC_COMPILER_IMPORT_TORCHSCRIPT_NAMES_H

#include "compiler/import/torchscript/Source.h"

#include <set>

namespace kpc::torchscript {

using Names = std::set<std::string>;

/// Names that statements read, except in the blocks of `Without`.
void collectReads(const std::vector<Statement> &Block, const Statement *Without,
                  Names &Into);

/// Names that statements read before they assign them, where `Assigned` were
/// assigned in front. What all statements assign is added to `Assigned`.
void collectReadFirst(const std::vector<Statement> &Block, Names &Assigned,
                      Names &Into);

/// Names that statements assign; false where one leaves the function.
bool collectAssigned(const std::vector<Statement> &Block, Names &Into);

} // namespace kpc::torchscript

#endif // KPC_COMPILER_IMPORT_TORCHSCRIPT_NAMES_H
