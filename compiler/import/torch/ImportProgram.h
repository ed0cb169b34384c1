//===- ImportProgram.h - From .pt2 archives to the graph --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The front end for programs that torch.export saved. Python does not run, and
/// nothing is unpickled.
///
///   kpc::torch::ImportOptions Options;
///   kpc::WeightStore Weights;
///   auto Module = kpc::torch::importProgram(Context, "model.pt2", Options,
///                                           Weights, Diags);
///   if (!Module) std::cerr << Diags.text();
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_IMPORTPROGRAM_H
#define KPC_COMPILER_IMPORT_TORCH_IMPORTPROGRAM_H

#include "compiler/diagnostics/Diagnostics.h"
#include "compiler/import/WeightStore.h"
#include "compiler/import/custom/Manifest.h"
#include "dialects/shape/Facts.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace kpc::torch {

struct ImportOptions {
  /// What a user says of dims, by name (`--dim batch=1:64`).
  std::map<std::string, shape::SymbolFacts, std::less<>> Dims;
  /// The same by place: an entry for each dim of an input.
  std::map<std::string, std::vector<shape::SymbolFacts>, std::less<>> Places;
  /// The name weights are referred to by; empty: the file's last part.
  std::string ModelName;
  /// Operators that the user brings; null: none.
  const custom::Operators *Custom = nullptr;
  /// Where remarks for the user go; null: nowhere.
  std::vector<std::string> *Notes = nullptr;
};

/// Null after errors in `Diags`. Weights are spans of the mapped file.
mlir::OwningOpRef<mlir::ModuleOp> importProgram(mlir::MLIRContext &Context,
                                                const std::string &Path,
                                                const ImportOptions &Options,
                                                WeightStore &Weights,
                                                Diagnostics &Diags);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_IMPORTPROGRAM_H
