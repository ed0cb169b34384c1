//===- OutputFile.h - A file that appears whole or not at all ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where the bytes of an artifact go: memory, or a file that has no name until
/// it is complete, so that neither an error nor a killed process leaves half
/// of it. Functions return an error text, none on success.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_ARTIFACT_OUTPUTFILE_H
#define KPC_CODEGEN_ARTIFACT_OUTPUTFILE_H

#include "codegen/artifact/Contents.h"

namespace kpc::artifact {

using MaybeError = std::optional<std::string>;

class Output {
public:
  virtual ~Output() = default;
  virtual MaybeError append(const void *Data, size_t Size) = 0;
  /// Leaves the next bytes to writeAt.
  virtual MaybeError skip(uint64_t Size) = 0;
  /// Writes skipped bytes; several threads may, each its own.
  virtual MaybeError writeAt(uint64_t Offset, const void *Data,
                             size_t Size) = 0;
  /// Replaces bytes at the start.
  virtual MaybeError overwriteStart(const void *Data, size_t Size) = 0;
};

class MemoryOutput : public Output {
public:
  explicit MemoryOutput(Bytes &Out) : Out(Out) { Out.clear(); }
  MaybeError append(const void *Data, size_t Size) override;
  MaybeError skip(uint64_t Size) override;
  MaybeError writeAt(uint64_t Offset, const void *Data, size_t Size) override;
  MaybeError overwriteStart(const void *Data, size_t Size) override;

private:
  Bytes &Out;
};

class OutputFile : public Output {
public:
  explicit OutputFile(std::string Path) : Path(std::move(Path)) {}
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  /// Discards what was not kept.
  ~OutputFile() override;

  MaybeError open();
  MaybeError append(const void *Data, size_t Size) override;
  MaybeError skip(uint64_t Size) override;
  MaybeError writeAt(uint64_t Offset, const void *Data, size_t Size) override;
  MaybeError overwriteStart(const void *Data, size_t Size) override;
  /// Flushes to the disk and gives the file its name.
  MaybeError keep();

private:
  MaybeError failed(const char *Doing) const;
  MaybeError flush();
  MaybeError nameTemporary();

  std::string Path;      ///< as the caller gave it, for messages
  std::string Resolved;  ///< the file to replace, links followed
  std::string Temporary; ///< the name that is to be renamed, if there is one
  int Descriptor = -1;
  uint64_t Position = 0; ///< of the first byte of Pending
  Bytes Pending;
};

} // namespace kpc::artifact

#endif // KPC_CODEGEN_ARTIFACT_OUTPUTFILE_H
