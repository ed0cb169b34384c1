//===- HostLinker.h - Objects to one position-independent image -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A host image is a flat run of bytes, code and constants, that works wherever
/// it is mapped: all references inside it are relative and resolved here, and
/// there are none to the outside. The runtime maps it read and execute and
/// calls into it at the offsets of its symbols.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_HOST_HOSTLINKER_H
#define KPC_CODEGEN_HOST_HOSTLINKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kpc::codegen {

struct LinkedImage {
  /// What an image's start must be aligned to, in bytes.
  static constexpr uint64_t Alignment = 4096;

  std::vector<uint8_t> Bytes;
  /// Offsets of global functions.
  std::map<std::string, uint64_t, std::less<>> Symbols;
  /// Offsets of the functions inside kernels, for profilers and debuggers.
  std::map<std::string, uint64_t, std::less<>> LocalSymbols;
};

/// Links ELF objects for x86-64. An undefined or doubly defined symbol, a
/// section that would have to be written, or a relocation that is not relative
/// is an error.
llvm::Expected<LinkedImage>
linkHostImage(llvm::ArrayRef<llvm::StringRef> Objects);

} // namespace kpc::codegen

#endif // KPC_CODEGEN_HOST_HOSTLINKER_H
