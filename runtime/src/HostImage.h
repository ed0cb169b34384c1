//===- HostImage.h - Native code of an artifact, made executable -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A host image is position-independent and free of relocations: it is copied
/// to fresh pages, its digest checked there, and the pages made read + execute.
/// They are never writable and executable at once.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_HOSTIMAGE_H
#define KPC_RUNTIME_SRC_HOSTIMAGE_H

#include "runtime/format/Container.h"
#include "runtime/src/Errors.h"

#include <memory>
#include <span>

namespace kpc::rt {

class HostImage {
public:
  static Result<std::shared_ptr<const HostImage>>
  load(std::span<const uint8_t> Code, const format::DigestBytes &Digest);

  HostImage() = default;
  HostImage(const HostImage &) = delete;
  HostImage &operator=(const HostImage &) = delete;
  ~HostImage();

  const uint8_t *base() const { return Base; }

private:
  uint8_t *Base = nullptr;
  size_t Size = 0;
};

/// A host kernel: params are pointers and sizes; units [Begin, End) of its
/// work.
using HostKernel = void (*)(const uint64_t *Params, int64_t Begin, int64_t End);

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_HOSTIMAGE_H
