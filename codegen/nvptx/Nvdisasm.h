//===- Nvdisasm.h - NVIDIA's disassembler -----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A cubin as text (SASS), by the `nvdisasm` program of the CUDA toolkit. Only
/// `--emit sass` runs it. Plain C++.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_NVPTX_NVDISASM_H
#define KPC_CODEGEN_NVPTX_NVDISASM_H

#include <string>
#include <string_view>

namespace kpc::nvptx {

struct Nvdisasm {
  /// The program; empty when there is none.
  std::string Path;
  /// What it says of its version; empty where it says nothing.
  std::string Release;
  /// Why there is none, where it was looked for and what to install.
  std::string Missing;
  explicit operator bool() const { return !Path.empty(); }
};

/// Looks beside `Ptxas` (the path of the assembler; may be empty), then at
/// CUDA_HOME and CUDA_PATH, along PATH, and at /usr/local/cuda.
Nvdisasm findNvdisasm(std::string_view Ptxas);

struct Disassembly {
  /// Not empty: it failed; the lines that nvdisasm printed.
  std::string Error;
  std::string Text;
  bool ok() const { return Error.empty(); }
};

/// The code of all kernels in the cubin.
Disassembly disassemble(const Nvdisasm &Program, std::string_view Cubin,
                        double LimitSeconds = 120);

} // namespace kpc::nvptx

#endif // KPC_CODEGEN_NVPTX_NVDISASM_H
