//===- Files.cpp - Several files that appear together ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Files.h"

#include <filesystem>

namespace kpc::cli {

bool FileSet::failed(const artifact::MaybeError &E) {
  if (E)
    Diags.error(Code::OutputUnwritable).message(*E);
  return E.has_value();
}

bool FileSet::makeFolder(const std::string &Path) {
  std::error_code Code;
  std::filesystem::create_directories(Path, Code);
  if (!Code)
    return true;
  Diags.error(kpc::Code::OutputUnwritable)
      .message("cannot make the folder '" + printable(Path) +
               "': " + Code.message());
  return false;
}

bool FileSet::add(const std::string &Path, std::string_view Head,
                  std::span<const uint8_t> Body) {
  auto File = std::make_unique<artifact::OutputFile>(Path);
  if (failed(File->open()) || failed(File->append(Head.data(), Head.size())) ||
      failed(File->append(Body.data(), Body.size())))
    return false;
  Files.push_back(std::move(File));
  return true;
}

bool FileSet::keep() {
  for (const auto &File : Files)
    if (failed(File->keep()))
      return false;
  return true;
}

} // namespace kpc::cli
