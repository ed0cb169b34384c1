//===- Version.h - What kpc calls itself ------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_VERSION_H
#define KPC_TOOLS_KPC_VERSION_H

#include <string>

namespace kpc::cli {

/// "kpc 0.1.0"
inline std::string versionText() { return "kpc " KPC_VERSION; }

/// The same, with a line each for the commit, LLVM and the ptxas that a
/// compilation would use.
std::string versionDetails();

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_VERSION_H
