//===- Nvrtc.h - NVIDIA's compiler of CUDA C++ ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For the code of custom operators alone. The library is opened when it is
/// needed; kpc neither links it nor has its headers.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_NVPTX_NVRTC_H
#define KPC_CODEGEN_NVPTX_NVRTC_H

#include "compiler/target/Target.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kpc::nvptx {

struct Nvrtc {
  /// The library; empty when there is none.
  std::string Path;
  /// The toolkit's headers (cuda_fp16.h); empty: not found.
  std::string Headers;
  int32_t Version = 0; ///< 13000 is CUDA 13.0
  /// Why there is none, where it was looked for and what to install.
  std::string Missing;
  explicit operator bool() const { return !Path.empty(); }
};

/// Looks at `Option` (a library or a toolkit's folder; where given, nothing
/// else is looked at), at CUDA_HOME and CUDA_PATH, at /usr/local/cuda, and
/// where the system's loader looks.
Nvrtc findNvrtc(std::string_view Option = {});

struct CudaSource {
  std::string File, Text;
  /// A function, or an instance of a template: "silu<float>".
  std::string Function;
  std::vector<std::pair<std::string, std::string>> Macros, Headers;
  std::vector<std::string> Options;
};

struct CudaCode {
  std::string Error; ///< not empty: the lines that NVRTC printed
  std::string Ptx;
  std::string Entry; ///< the function's name in the PTX
  bool ok() const { return Error.empty(); }
};

CudaCode compileCuda(const Nvrtc &Library, const CudaSource &Source,
                     const target::Target &T);

/// Bytes of each parameter of an entry, as the PTX declares them; empty where
/// there is no such entry. `Found` says whether there is.
std::vector<unsigned> entryParameters(std::string_view Ptx,
                                      std::string_view Entry, bool &Found);

} // namespace kpc::nvptx

#endif // KPC_CODEGEN_NVPTX_NVRTC_H
