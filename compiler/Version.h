//===- Version.h - The version of kpc -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_VERSION_H
#define KPC_COMPILER_VERSION_H

#include <string_view>

namespace kpc {

/// As CMakeLists.txt says; part of every cache key and artifact.
inline constexpr std::string_view Version = KPC_VERSION;

} // namespace kpc

#endif // KPC_COMPILER_VERSION_H
