//===- Bytes.h - Where an artifact's bytes are ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A mapped file or a caller's memory, read-only, with the checks that depend
/// on neither. What is verified is copied first (AlignedBytes): a file can
/// change under its mapping.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_BYTES_H
#define KPC_RUNTIME_SRC_BYTES_H

#include "runtime/src/Errors.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace kpc::rt {

/// Memory of its own, aligned to a page.
class AlignedBytes {
public:
  AlignedBytes() = default;
  static AlignedBytes copyOf(std::span<const uint8_t> Bytes);
  std::span<const uint8_t> bytes() const { return {Data.get(), Size}; }

private:
  struct Free {
    void operator()(uint8_t *P) const;
  };
  std::unique_ptr<uint8_t, Free> Data;
  size_t Size = 0;
};

class ArtifactBytes {
public:
  static Result<std::unique_ptr<ArtifactBytes>> fromFile(const char *Path);
  /// Copies if asked to, or if the memory is not aligned as weights must be.
  static std::unique_ptr<ArtifactBytes>
  fromMemory(std::span<const uint8_t> Bytes, bool Copy);

  ArtifactBytes() = default;
  ArtifactBytes(const ArtifactBytes &) = delete;
  ArtifactBytes &operator=(const ArtifactBytes &) = delete;
  ~ArtifactBytes();

  std::span<const uint8_t> all() const { return View; }

private:
  std::span<const uint8_t> View;
  AlignedBytes Own;
  void *Mapping = nullptr;
};

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_BYTES_H
