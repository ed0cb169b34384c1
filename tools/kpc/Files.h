//===- Files.h - Several files that appear together -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_FILES_H
#define KPC_TOOLS_KPC_FILES_H

#include "codegen/artifact/OutputFile.h"
#include "compiler/diagnostics/Diagnostics.h"

#include <memory>
#include <span>

namespace kpc::cli {

/// Files get their names in `keep`, when all of them have been written;
/// whatever fails before leaves none of them.
class FileSet {
public:
  explicit FileSet(Diagnostics &Diags) : Diags(Diags) {}
  /// Makes a folder (and those above) where there is none.
  bool makeFolder(const std::string &Path);
  bool add(const std::string &Path, std::string_view Head,
           std::span<const uint8_t> Body = {});
  bool keep();

private:
  bool failed(const artifact::MaybeError &E);
  Diagnostics &Diags;
  std::vector<std::unique_ptr<artifact::OutputFile>> Files;
};

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_FILES_H
