//===- SystemCompiler.h - The system's C++ compiler -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For the host code of custom operators alone: kpc's own kernels are compiled
/// in the process.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_HOST_SYSTEMCOMPILER_H
#define KPC_CODEGEN_HOST_SYSTEMCOMPILER_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kpc::codegen {

struct SystemCompiler {
  std::string Path;    ///< empty when there is none
  std::string Release; ///< what it says of its version
  /// Why there is none, where it was looked for and what to install.
  std::string Missing;
  explicit operator bool() const { return !Path.empty(); }
};

/// Looks at `Option` (where given, nothing else is looked at), at $CXX, and for
/// c++, g++ and clang++ along PATH.
SystemCompiler findSystemCompiler(std::string_view Option = {});

struct HostSource {
  std::string File, Text;
  std::vector<std::pair<std::string, std::string>> Macros, Headers;
  std::vector<std::string> Options;
};

struct SharedObject {
  std::string Error; ///< not empty: what the compiler printed
  std::string Bytes;
  bool ok() const { return Error.empty(); }
};

/// A shared object for `Chip`, as in "x86-64-v3". <kpc/operator.h> is found.
SharedObject compileSharedObject(const SystemCompiler &Compiler,
                                 const HostSource &Source,
                                 std::string_view Chip);

} // namespace kpc::codegen

#endif // KPC_CODEGEN_HOST_SYSTEMCOMPILER_H
