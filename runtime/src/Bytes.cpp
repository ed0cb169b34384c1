//===- Bytes.cpp - Where an artifact's bytes are --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/Bytes.h"
#include "runtime/format/Container.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kpc::rt {

static constexpr std::align_val_t PageSize{format::PageAlignment};

void AlignedBytes::Free::operator()(uint8_t *P) const {
  ::operator delete(P, PageSize);
}

AlignedBytes AlignedBytes::copyOf(std::span<const uint8_t> Bytes) {
  AlignedBytes Out;
  Out.Data.reset(
      static_cast<uint8_t *>(::operator new(Bytes.size() + 1, PageSize)));
  Out.Size = Bytes.size();
  if (!Bytes.empty())
    std::memcpy(Out.Data.get(), Bytes.data(), Bytes.size());
  return Out;
}

namespace {
struct Descriptor {
  int Number;
  ~Descriptor() {
    if (Number >= 0)
      ::close(Number);
  }
};
} // namespace

static Error cannotRead(const char *Path) {
  return failure(ErrorCode::Io, "cannot read '%s': %s", Path,
                 std::strerror(errno));
}

Result<std::unique_ptr<ArtifactBytes>>
ArtifactBytes::fromFile(const char *Path) {
  Descriptor File{::open(Path, O_RDONLY | O_CLOEXEC)};
  if (File.Number < 0)
    return cannotRead(Path);
  struct stat Info;
  if (::fstat(File.Number, &Info) != 0)
    return cannotRead(Path);
  if (!S_ISREG(Info.st_mode))
    return failure(ErrorCode::Io, "cannot read '%s': it is not a regular file",
                   Path);
  auto Out = std::make_unique<ArtifactBytes>();
  if (Info.st_size == 0)
    return Out;
  void *Address = ::mmap(nullptr, size_t(Info.st_size), PROT_READ, MAP_PRIVATE,
                         File.Number, 0);
  if (Address == MAP_FAILED)
    return failure(ErrorCode::System, "cannot map '%s': %s", Path,
                   std::strerror(errno));
  Out->Mapping = Address;
  Out->View = {static_cast<const uint8_t *>(Address), size_t(Info.st_size)};
  return Out;
}

std::unique_ptr<ArtifactBytes>
ArtifactBytes::fromMemory(std::span<const uint8_t> Bytes, bool Copy) {
  auto Out = std::make_unique<ArtifactBytes>();
  if (Copy || uintptr_t(Bytes.data()) % format::WeightAlignment) {
    Out->Own = AlignedBytes::copyOf(Bytes);
    Out->View = Out->Own.bytes();
  } else {
    Out->View = Bytes;
  }
  return Out;
}

ArtifactBytes::~ArtifactBytes() {
  if (Mapping)
    ::munmap(Mapping, View.size());
}

} // namespace kpc::rt
