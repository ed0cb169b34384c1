//===- ArtifactWriter.h - Writes artifacts ----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Contents → the bytes of an artifact. Equal contents give equal bytes on any
/// machine and with any number of threads. Weights stream through: memory use
/// does not grow with them.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_ARTIFACT_ARTIFACTWRITER_H
#define KPC_CODEGEN_ARTIFACT_ARTIFACTWRITER_H

#include "codegen/artifact/Contents.h"

namespace kpc::artifact {

/// Writes to a temporary file beside `Path` and renames it, so that `Path`
/// holds either what it held before or the whole artifact. Weights are prepared
/// by `Threads` threads. Returns what went wrong (naming the path), none on
/// success.
std::optional<std::string> write(const Contents &What, const std::string &Path,
                                 int Threads = 1);

/// The same bytes in memory.
std::optional<std::string> writeToMemory(const Contents &What, Bytes &Out,
                                         int Threads = 1);

} // namespace kpc::artifact

#endif // KPC_CODEGEN_ARTIFACT_ARTIFACTWRITER_H
