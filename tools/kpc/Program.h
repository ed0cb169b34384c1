//===- Program.h - The kpc command ------------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_PROGRAM_H
#define KPC_TOOLS_KPC_PROGRAM_H

namespace kpc::cli {

/// All that the program does; its exit code. A test that starts it many times
/// calls it in children of one process, which has loaded LLVM already.
int runProgram(int Count, char **Arguments);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_PROGRAM_H
