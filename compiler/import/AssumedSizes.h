//===- AssumedSizes.h - Sizes that an import takes for equal ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an importer does to a module and to its facts when it takes two sizes
/// for equal that are so for some values of the dims alone.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ASSUMEDSIZES_H
#define KPC_COMPILER_IMPORT_ASSUMEDSIZES_H

#include "compiler/import/Emitter.h"

namespace kpc::frontend {

/// Changes every type and size list below `Root`. False if that makes a size
/// that no tensor can have; then all stays as it was.
bool changeSizes(mlir::Operation *Root,
                 llvm::function_ref<Expr(const Expr &)> Change);

/// The facts where a symbol is a multiple of `Divisor` as well; none where no
/// size in its range is.
std::optional<shape::Facts> withDivisor(const shape::Facts &Known,
                                        const std::string &Symbol,
                                        int64_t Divisor);

/// The facts once the symbol `Old` is taken to be `New`; none where it cannot
/// be that.
std::optional<shape::Facts> factsAfter(const shape::Facts &Known,
                                       const std::string &Old, const Expr &New);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_ASSUMEDSIZES_H
