//===- Clocks.h - How fast the machine runs now -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_CLOCKS_H
#define KPC_TOOLS_KPC_CLOCKS_H

#include <optional>
#include <string>

namespace kpc::cli {

struct Clocks {
  std::string Device;              ///< "NVIDIA H200", "AMD EPYC …"
  std::optional<int> Core, Memory; ///< MHz
};
/// The CPU's, as the kernel tells it.
Clocks hostClocks();
/// A GPU's, asked of NVML where there is one.
Clocks gpuClocks(int Ordinal);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_CLOCKS_H
