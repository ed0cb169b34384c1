//===- Version.cpp - What kpc is made of ----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Version.h"

#include "codegen/nvptx/Ptxas.h"

#include "llvm/Config/llvm-config.h"

namespace kpc::cli {

static constexpr char Commit[] =
#include "tools/kpc/Commit.inc"
    ;

std::string versionDetails() {
  std::string Text = versionText() + "\n";
  Text += std::string("commit ") + (*Commit ? Commit : "unknown") + "\n";
  Text += "LLVM " LLVM_VERSION_STRING "\n";
  nvptx::Ptxas Found = nvptx::findPtxas();
  if (!Found)
    return Text + "ptxas: none was found\n";
  return Text + "ptxas " + std::to_string(Found.Version / 1000) + "." +
         std::to_string(Found.Version % 1000 / 10) + ", " + Found.Path + "\n";
}

} // namespace kpc::cli
