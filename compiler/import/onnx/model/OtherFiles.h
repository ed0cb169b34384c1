//===- OtherFiles.h - Files that are taken for models -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_MODEL_OTHERFILES_H
#define KPC_COMPILER_IMPORT_ONNX_MODEL_OTHERFILES_H

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kpc::onnx {

/// What a file is instead of a model that kpc reads.
struct OtherFile {
  std::string_view Is;  ///< "a safetensors file, which holds weights and …"
  std::string_view Way; ///< what to do
};

/// Told by the first bytes of formats that people have beside their models;
/// none for bytes that are not known.
std::optional<OtherFile> otherFile(std::span<const uint8_t> Bytes);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_MODEL_OTHERFILES_H
