//===- MappedFile.h - A file's bytes, mapped --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_MODEL_MAPPEDFILE_H
#define KPC_COMPILER_IMPORT_ONNX_MODEL_MAPPEDFILE_H

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace kpc::onnx {

/// A regular file, mapped for reading as long as the object lives.
class MappedFile {
public:
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  /// Null with the reason in `Why` if it cannot be.
  static std::shared_ptr<const MappedFile> open(const std::string &Path,
                                                std::string &Why);
  /// Maps an open descriptor and closes it.
  static std::shared_ptr<const MappedFile> adopt(int Descriptor,
                                                 std::string &Why);

  std::span<const uint8_t> bytes() const { return {Data, Size}; }

private:
  MappedFile(const uint8_t *D, size_t S) : Data(D), Size(S) {}
  const uint8_t *Data;
  size_t Size;
};

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_MODEL_MAPPEDFILE_H
