//===- ImportScript.h - From TorchScript archives to the graph --*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The front end for programs that torch.jit.save wrote. Their files hold no
/// shapes: the user gives them.
///
///   kpc::torchscript::ScriptOptions Script;
///   Script.Shapes["x"] = {"batch", "3", "224", "224"};
///   auto Module = kpc::torchscript::importScript(
///       Context, "model.pt", Options, Script, Weights, Diags);
///   if (!Module) std::cerr << Diags.text();
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCHSCRIPT_IMPORTSCRIPT_H
#define KPC_COMPILER_IMPORT_TORCHSCRIPT_IMPORTSCRIPT_H

#include "compiler/import/torch/ImportProgram.h"

namespace kpc::torchscript {

struct ScriptOptions {
  /// By input: each size a number, a name, or "?" for a dim without one.
  std::map<std::string, std::vector<std::string>> Shapes;
  /// By input, as "f16" or "float16"; f32 where none is given.
  std::map<std::string, std::string> Types;
  /// Of inputs that are no tensors.
  std::map<std::string, std::string> Values;
  std::string Method = "forward";
  /// Options for the line to copy where shapes lack: " --arch host".
  std::string Others;
  /// What a module keeps between calls becomes inputs and outputs.
  bool ExplicitState = false;
};

/// Null after errors in `Diags`. Weights are spans of the mapped file.
mlir::OwningOpRef<mlir::ModuleOp>
importScript(mlir::MLIRContext &Context, const std::string &Path,
             const torch::ImportOptions &Options, const ScriptOptions &Script,
             WeightStore &Weights, Diagnostics &Diags);

/// The weights that `importScript` may name, without the program.
bool loadScriptWeights(mlir::MLIRContext &Context, const std::string &Path,
                       WeightStore &Weights, Diagnostics &Diags);

struct ScriptFacts {
  std::string Class; ///< of the module that was saved
  /// "forward(x: Tensor, sr: int) -> Tensor"
  std::vector<std::string> Methods;
};
/// Without compiling anything; none after a report.
std::optional<ScriptFacts> readFacts(const std::string &Path,
                                     Diagnostics &Diags);

} // namespace kpc::torchscript

#endif // KPC_COMPILER_IMPORT_TORCHSCRIPT_IMPORTSCRIPT_H
