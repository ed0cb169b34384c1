//===- ModelDigest.h - Which model a file holds -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_MODELDIGEST_H
#define KPC_COMPILER_MODELDIGEST_H

#include <string>

namespace kpc {

/// SHA-256 of a file, in hexadecimal; empty if it cannot be read.
std::string fileDigest(const std::string &Path);

/// SHA-256 of a model's file, in hexadecimal; empty if it cannot be read. Of a
/// zip archive, as PyTorch writes, not of all bytes: there may be gigabytes of
/// weights. Its directory has a CRC-32 of each entry; with it counts what small
/// entries hold, and both ends of large ones.
std::string modelDigest(const std::string &Path);

/// The same where files are compared: all bytes are read. It differs where a
/// large entry is not what its CRC-32 in the directory says.
std::string checkedModelDigest(const std::string &Path);

} // namespace kpc

#endif // KPC_COMPILER_MODELDIGEST_H
