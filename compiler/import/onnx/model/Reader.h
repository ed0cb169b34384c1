//===- Reader.h - Reads an ONNX file ----------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From bytes to a `Model`. Every fault is a diagnostic; reading goes on where
/// it can, so that one run shows all of them. No input makes it crash, recurse
/// without bound or allocate more than a small multiple of the file.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_MODEL_READER_H
#define KPC_COMPILER_IMPORT_ONNX_MODEL_READER_H

#include "compiler/import/onnx/model/Model.h"

namespace kpc::onnx {

/// Reads, decodes, inlines functions, orders the nodes and rewrites the forms
/// of old opsets. None if there are errors.
/// External data is looked for in `DataFolder`; empty: the model's folder.
std::optional<Model> readModel(const std::string &Path, Diagnostics &Diags,
                               const std::string &DataFolder = {});

/// The same from memory; external data is looked for in `Folder` ("" refuses
/// all of it).
std::optional<Model> readModel(std::span<const uint8_t> Bytes,
                               const std::string &Folder, Diagnostics &Diags);

/// The files, relative to the model's folder, that it says its tensors' data
/// lies in; those that the reader would refuse are left out. Looks at the
/// fields on the way alone, so it takes any file, a damaged one too.
std::vector<std::string> dataFiles(const std::string &Path);

/// A file that holds one TensorProto, as ONNX's backend tests have them.
std::optional<Tensor> readTensorFile(const std::string &Path,
                                     Diagnostics &Diags);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_MODEL_READER_H
