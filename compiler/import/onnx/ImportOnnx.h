//===- ImportOnnx.h - From an ONNX file to the graph dialect ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_IMPORTONNX_H
#define KPC_COMPILER_IMPORT_ONNX_IMPORTONNX_H

#include "compiler/diagnostics/Diagnostics.h"
#include "compiler/import/WeightStore.h"
#include "compiler/import/custom/Manifest.h"
#include "compiler/import/onnx/Operators.h"
#include "compiler/import/onnx/model/Model.h"
#include "dialects/shape/Facts.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace kpc::onnx {

/// A dim of an input that the model gives no name, and the name it got.
struct NamedDim {
  std::string Name, Input;
  size_t Axis = 0;
};

struct ImportOptions {
  /// What a user says of symbolic dims, by name (`--dim`). One whose range is
  /// a single value becomes a number.
  std::map<std::string, shape::SymbolFacts, std::less<>> Dims;
  /// The same by place: an entry for each dim of an input (`--dim x=1,3,?,?`).
  std::map<std::string, std::vector<shape::SymbolFacts>, std::less<>> Places;
  /// Values of inputs as a user writes them (`--value sr=16000`); these inputs
  /// leave the signature.
  std::map<std::string, std::string, std::less<>> Values;
  /// Inputs whose value is fixed when compiling (`--bind`); they leave the
  /// signature.
  std::map<std::string, Tensor, std::less<>> Bound;
  /// The name weights are referred to by; empty: the file's last part.
  std::string ModelName;
  /// Where external data is looked for; empty: in the model's folder.
  std::string DataFolder;
  /// Nodes that unrolled loops and taken branches may add.
  uint64_t MostInlined = 200'000;
  /// Where the model's metadata goes; null: nowhere.
  std::vector<std::pair<std::string, std::string>> *Metadata = nullptr;
  /// Where types of the main graph's values are put down; null: nowhere.
  std::map<std::string, ValueInfo> *Types = nullptr;
  /// Operators that the user brings; null: none.
  const custom::Operators *Custom = nullptr;
  /// Where dims that were named here are put down; null: nowhere.
  std::vector<NamedDim> *Named = nullptr;
};

/// Reads the model at `Path` into a module with one function `main`; weights
/// go to `Weights`. Null if there are errors.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &Context,
                                              const std::string &Path,
                                              const ImportOptions &Options,
                                              WeightStore &Weights,
                                              Diagnostics &Diags);

/// The same for a model that was read.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &Context,
                                              Model &TheModel,
                                              const ImportOptions &Options,
                                              WeightStore &Weights,
                                              Diagnostics &Diags);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_IMPORTONNX_H
