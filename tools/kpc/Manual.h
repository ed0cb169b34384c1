//===- Manual.h - Text that is made of the tables of options ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What shells and `man` know of kpc's commands. All of it is written from the
/// tables that the command line is read by, so that it cannot grow old.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_MANUAL_H
#define KPC_TOOLS_KPC_MANUAL_H

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace kpc::cli {

/// Lines that are run in a test; each begins with `kpc`. Empty for a command
/// that has none.
std::string_view examplesOf(std::string_view Command);

/// A page for `man`, of one command or, where that is `Main`, of kpc itself.
std::string manualPage(const CLI::App &Main, const CLI::App &Command);

/// What a shell reads to complete command lines: bash, zsh or fish.
std::string completionFor(std::string_view Shell, const CLI::App &Main);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_MANUAL_H
