//===- LaunchName.h - What people call a launch -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_REPORT_LAUNCHNAME_H
#define KPC_TOOLS_KPC_REPORT_LAUNCHNAME_H

#include "tools/kpc/ArtifactTable.h"

namespace kpc::cli {

/// "GEMM 1024×3072×768 + bias + GELU" of "GEMM {batch*8}x3072x768 + bias +
/// GELU": the sizes for these dims, and signs as they are printed.
std::string titleAt(const std::string &Title, const shape::Bindings &Dims);

/// The last numbered part of a module's path is its layer: "layer 3" and
/// "attention.self" of "encoder.layer.3.attention.self". Without a number the
/// first is empty.
struct ModulePlace {
  std::string Layer, Rest;
};
ModulePlace placeOfScope(const std::string &Scope);

/// "layer 3 · GEMM 1024×3072×768 + bias". Where the artifact has no title, the
/// name that it has.
std::string nameOfLaunch(const LaunchFacts &L, const shape::Bindings &Dims);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_REPORT_LAUNCHNAME_H
