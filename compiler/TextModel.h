//===- TextModel.h - Models that are read from text -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A graph or a plan that --emit wrote may have been edited by hand. After
/// reading it, kpc checks the assumptions of the later phases.
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

/// Why kpc cannot compile a text although it may be valid IR; empty if it may
/// be a graph or a plan.
std::string reasonAgainstText(llvm::StringRef Text);

/// Whether a module holds one graph or one plan whose signature and sizes fit
/// together. Faults go to `Diags`.
bool checkTextModel(mlir::ModuleOp Module, Diagnostics &Diags);

/// The models whose weights a module names, by file name.
std::set<std::string> namedModels(mlir::ModuleOp Module);

/// Reads the weights of these models, which are in the folder of `File`, the
/// text that the module was read from. Faults go to `Diags`.
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
/// The recorded digest; empty if there is none.
std::string notedDigest(mlir::ModuleOp Module, llvm::StringRef Name);

/// The text that --emit writes. A graph keeps the names of the model's nodes as
/// locations; a plan has them in its launches.
std::string moduleText(mlir::ModuleOp Module, bool Locations);
/// The module's kernels as a module of their own, which kpc-opt reads.
std::string kernelsText(mlir::ModuleOp Module);

/// Removes everything from locations but the names of the model's nodes. Lines
/// of the file that a module was read from mean nothing in the next text.
void keepNodeNamesOnly(mlir::ModuleOp Module);

} // namespace kpc

#endif // KPC_COMPILER_TEXTMODEL_H
