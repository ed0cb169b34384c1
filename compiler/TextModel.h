//===- TextModel.h - Models that are read from text -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A graph or a plan that --emit wrote may have been edited by hand. What the
/// phases behind it take for granted is held against it right after reading.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_TEXTMODEL_H
#define KPC_COMPILER_TEXTMODEL_H

#include "compiler/diagnostics/Diagnostics.h"
#include "compiler/import/WeightStore.h"
#include "mlir/IR/BuiltinOps.h"

#include <set>
#include <string>

namespace kpc {

/// Why a text cannot be gone on from although it may be sound IR; empty: it
/// may be a graph or a plan.
std::string reasonAgainstText(llvm::StringRef Text);

/// Whether a module holds one graph or one plan whose signature and sizes fit
/// together. Faults go to `Diags`.
bool checkTextModel(mlir::ModuleOp Module, Diagnostics &Diags);

/// The models whose weights a module names, by file name.
std::set<std::string> namedModels(mlir::ModuleOp Module);

/// Reads the weights of these models, which lie beside `File`, the text that
/// the module was read from. Faults go to `Diags`.
bool reloadWeights(mlir::ModuleOp Module, const std::string &File,
                   WeightStore &Weights, Diagnostics &Diags);

/// Whether each weight that the module names is in the models, with the sizes
/// and the type that the module gives it. Faults go to `Diags`.
bool checkNamedWeights(mlir::ModuleOp Module, const WeightStore &Weights,
                       Diagnostics &Diags);

/// Writes down which model a text was made from: its name and the SHA-256 of
/// its file, in hexadecimal.
void noteModel(mlir::ModuleOp Module, llvm::StringRef Name,
               llvm::StringRef Digest);
/// The digest that is written down; empty: none is.
std::string notedDigest(mlir::ModuleOp Module, llvm::StringRef Name);

/// What --emit writes. A graph keeps the names of the model's nodes as
/// locations; a plan has them in its launches.
std::string moduleText(mlir::ModuleOp Module, bool Locations);
/// The module's kernels as a module of their own, which kpc-opt reads.
std::string kernelsText(mlir::ModuleOp Module);

/// Leaves of all locations the names of the model's nodes: lines of the file
/// that a module was read from say nothing in the next one.
void keepNodeNamesOnly(mlir::ModuleOp Module);

} // namespace kpc

#endif // KPC_COMPILER_TEXTMODEL_H
