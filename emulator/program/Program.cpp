//===- Program.cpp - Kernels by name, instructions by source --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/program/Program.h"

namespace kpc::emulator {

std::string Kernel::pointOf(uint32_t Statement) const {
  if (Statement == NoStatement)
    return "after the last line";
  const ptx::Statement &S = Source.Body[Statement];
  return S.text() + ", line " + std::to_string(S.Line);
}

std::string Kernel::sourceOf(uint32_t Statement) const {
  const ptx::Statement &S = Source.Body[Statement];
  auto It = Files.find(S.SourceFile);
  if (S.SourceLine == 0 || It == Files.end())
    return {};
  return It->second + ":" + std::to_string(S.SourceLine);
}

const Kernel *Program::find(const std::string &Name) const {
  for (const auto &K : Kernels)
    if (K->Name == Name)
      return K.get();
  return nullptr;
}

} // namespace kpc::emulator
