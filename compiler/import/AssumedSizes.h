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

#include "compiler/diagnostics/Diagnostics.h"
#include "compiler/import/Emitter.h"
#include "dialects/graph/Requirements.h"

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

/// What an importer hands to an assumption, and what that changes.
struct Assumption {
  const ModelPlace &Place; ///< of the node that needs it
  std::string Node;        ///< "'Concat_5' (Concat)"
  Diagnostics &Diags;
  shape::Facts &Facts;
  std::vector<graph::Requirement> &Required; ///< what runs check
  /// Parts of sizes and what they are taken to be, in order.
  std::vector<std::pair<Expr, Expr>> &Replaced;
  /// Why what is known of a symbol must hold.
  std::map<std::string, std::string, std::less<>> &Reasons;
  /// Changes all sizes that the importer holds; false as changeSizes() has it.
  llvm::function_ref<bool(llvm::function_ref<Expr(const Expr &)>)> Change;
  /// Takes a symbol to be an expression, of which these facts then hold.
  llvm::function_ref<bool(const std::string &, const Expr &,
                          const shape::Facts &)>
      Replace;
};

/// Takes symbols to be multiples of what makes two sizes equal. False: nothing
/// does.
bool assumeMultiples(const Expr &A, const Expr &C, const Assumption &For);

/// Takes parts of two sizes to be what makes them equal; runs check it. False:
/// nothing does.
bool assumeParts(const Expr &A, const Expr &C, const Assumption &For);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_ASSUMEDSIZES_H
