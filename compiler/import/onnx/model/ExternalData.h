//===- ExternalData.h - Tensor data in files beside the model ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_MODEL_EXTERNALDATA_H
#define KPC_COMPILER_IMPORT_ONNX_MODEL_EXTERNALDATA_H

#include "compiler/import/onnx/model/MappedFile.h"
#include "compiler/import/onnx/model/Model.h"

namespace kpc::onnx {

/// Why a location may not be opened at all; empty if it may.
std::string reasonAgainstLocation(const std::string &Location);

/// Opens each data file once. A location must name a plain file in the model's
/// folder or below; absolute paths, `..` and links on the way are refused (a
/// model from a stranger must not read this machine's files).
class ExternalData {
public:
  explicit ExternalData(std::string Folder) : Folder(std::move(Folder)) {}

  /// The key-value list of a TensorProto.
  using Entries = std::vector<std::pair<std::string, std::string>>;

  /// Points `T` (dims and type are set) at its bytes; false after a report. A
  /// file that cannot be opened is reported once, with how many tensors need
  /// it.
  bool attach(Tensor &T, const Entries &List, Diagnostics &Diags);

private:
  struct Opened {
    std::shared_ptr<const MappedFile> File;
    Code Fault = Code::ImportExternalMissing;
    std::string Why;
    // Where it cannot be opened:
    Diagnostic *Report = nullptr;
    std::string FirstTensor;
    size_t Tensors = 0;
  };
  Opened &open(const std::string &Location);
  /// Adds to the report of a file the tensor that cannot have it.
  static void reportUnopened(Opened &Source, const std::string &Location,
                             const std::string &Tensor, Diagnostics &Diags);

  std::string Folder;
  std::map<std::string, Opened> Files;
};

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_MODEL_EXTERNALDATA_H
