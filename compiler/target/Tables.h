//===- Tables.h - The tables that allTargets joins --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_TARGET_TABLES_H
#define KPC_COMPILER_TARGET_TABLES_H

#include "compiler/target/Target.h"

namespace kpc::target {

std::span<const Target> gpuTargets();
std::span<const Target> hostTargets();

/// Number of insertions, deletions, substitutions and swaps of neighbours
/// that turn `A` into `B`.
unsigned editDistance(std::string_view A, std::string_view B);

} // namespace kpc::target

#endif // KPC_COMPILER_TARGET_TABLES_H
