//===- HostImage.h - Runs a host image in this process ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_HOST_HOSTIMAGE_H
#define KPC_CODEGEN_HOST_HOSTIMAGE_H

#include "codegen/host/HostLinker.h"

namespace kpc::codegen {

/// A linked image mapped into this process, for constant folding and tests.
/// Code for another CPU than this one's must not be called.
class HostImage {
public:
  using Entry = void (*)(const uint64_t *Params, int64_t Begin, int64_t End);

  static llvm::Expected<HostImage> map(const LinkedImage &Image);

  HostImage(HostImage &&Other) noexcept;
  HostImage &operator=(HostImage &&Other) noexcept;
  HostImage(const HostImage &) = delete;
  ~HostImage();

  /// Null if there is no such kernel.
  Entry lookup(llvm::StringRef Symbol) const;

  /// Does work units [Begin, End) of `Symbol`.
  llvm::Error call(llvm::StringRef Symbol, llvm::ArrayRef<uint64_t> Params,
                   int64_t Begin, int64_t End) const;

private:
  HostImage() = default;
  void *Base = nullptr;
  size_t Size = 0;
  std::map<std::string, uint64_t, std::less<>> Symbols;
};

} // namespace kpc::codegen

#endif // KPC_CODEGEN_HOST_HOSTIMAGE_H
