//===- main.cpp - The kpc command -----------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Program.h"

int main(int Count, char **Arguments) {
  return kpc::cli::runProgram(Count, Arguments);
}
