//===- HostImage.cpp - Runs a host image in this process ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/host/HostImage.h"

#include "llvm/Support/MathExtras.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace kpc::codegen {

llvm::Expected<HostImage> HostImage::map(const LinkedImage &Image) {
  HostImage Result;
  Result.Symbols = Image.Symbols;
  Result.Size = llvm::alignTo(std::max<size_t>(Image.Bytes.size(), 1),
                              LinkedImage::Alignment);
  void *Base = mmap(nullptr, Result.Size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (Base == MAP_FAILED)
    return llvm::createStringError("no memory for host code: %s",
                                   strerror(errno));
  Result.Base = Base;
  memcpy(Base, Image.Bytes.data(), Image.Bytes.size());
  if (mprotect(Base, Result.Size, PROT_READ | PROT_EXEC) != 0)
    return llvm::createStringError("host code cannot be made executable: %s",
                                   strerror(errno));
  return Result;
}

HostImage::HostImage(HostImage &&Other) noexcept { *this = std::move(Other); }

HostImage &HostImage::operator=(HostImage &&Other) noexcept {
  std::swap(Base, Other.Base);
  std::swap(Size, Other.Size);
  std::swap(Symbols, Other.Symbols);
  return *this;
}

HostImage::~HostImage() {
  if (Base)
    munmap(Base, Size);
}

HostImage::Entry HostImage::lookup(llvm::StringRef Symbol) const {
  auto It = Symbols.find(std::string_view(Symbol));
  if (It == Symbols.end())
    return nullptr;
  return reinterpret_cast<Entry>(static_cast<char *>(Base) + It->second);
}

llvm::Error HostImage::call(llvm::StringRef Symbol,
                            llvm::ArrayRef<uint64_t> Params, int64_t Begin,
                            int64_t End) const {
  Entry Function = lookup(Symbol);
  if (!Function)
    return llvm::createStringError("the host image has no kernel '%s'",
                                   Symbol.str().c_str());
  Function(Params.data(), Begin, End);
  return llvm::Error::success();
}

} // namespace kpc::codegen
