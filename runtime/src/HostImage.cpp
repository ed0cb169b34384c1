//===- HostImage.cpp - Native code of an artifact, made executable --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/HostImage.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace kpc::rt {

Result<std::shared_ptr<const HostImage>>
HostImage::load(std::span<const uint8_t> Code,
                const format::DigestBytes &Digest) {
  auto Image = std::make_shared<HostImage>();
  size_t Size =
      (Code.size() + format::PageAlignment - 1) & ~(format::PageAlignment - 1);
  void *Address = ::mmap(nullptr, Size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (Address == MAP_FAILED)
    return failure(ErrorCode::System, "cannot map %zu bytes of code: %s", Size,
                   std::strerror(errno));
  Image->Base = static_cast<uint8_t *>(Address);
  Image->Size = Size;
  std::memcpy(Image->Base, Code.data(), Code.size());
  if (format::Sha256::of(Image->Base, Code.size()) != Digest)
    return failure(ErrorCode::Damaged,
                   "the digest of the host code does not match");
  if (::mprotect(Image->Base, Size, PROT_READ | PROT_EXEC) != 0) {
    Error E = failure(ErrorCode::System, "cannot make code executable: %s",
                      std::strerror(errno));
    E.Hint = "the system's security policy forbids executable mappings";
    return E;
  }
  __builtin___clear_cache(reinterpret_cast<char *>(Image->Base),
                          reinterpret_cast<char *>(Image->Base) + Size);
  return std::shared_ptr<const HostImage>(std::move(Image));
}

HostImage::~HostImage() {
  if (Base)
    ::munmap(Base, Size);
}

} // namespace kpc::rt
