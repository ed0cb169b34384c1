//===- BuildId.h - Which build of kpc this is -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_BUILDID_H
#define KPC_COMPILER_BUILDID_H

#include <string>

namespace kpc {

/// The linker's build ID of the running program in hexadecimal. Different code
/// has a different ID, so that cached kernels of another build of the same
/// version are not used. Empty if the program has none.
std::string buildId();

} // namespace kpc

#endif // KPC_COMPILER_BUILDID_H
