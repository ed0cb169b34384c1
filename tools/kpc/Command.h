//===- Command.h - The commands of kpc --------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each command declares its options in a function of its own and leaves what
/// is to be done in `Chosen`, which main() calls when the command line has been
/// read. The result is the process's exit code.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_COMMAND_H
#define KPC_TOOLS_KPC_COMMAND_H

#include "compiler/diagnostics/Diagnostics.h"

#include <exception>
#include <functional>
#include <map>
#include <string>

namespace CLI {
class App;
}

namespace kpc::cli {

enum ExitCode : int {
  Done = 0,
  InputAtFault = 1,
  WrongUsage = 2,
  BenchRegression = 3,
  VerifyDrift = 4,
  InternalFault = 70,
  Interrupted = 130, // 128 + SIGINT, as shells count
};

/// A command line that means nothing: thrown while it is read, printed by main.
struct UsageError : std::exception {
  UsageError(Code Id, std::string Message, std::string Hint = {})
      : Id(Id), Message(std::move(Message)), Hint(std::move(Hint)) {}
  const char *what() const noexcept override { return Message.c_str(); }
  Code Id;
  std::string Message;
  std::string Hint; ///< empty: the code's own
};

using Action = std::function<int()>;

void addCompileCommand(CLI::App &Main, Action &Chosen);
void addCalibrateCommand(CLI::App &Main, Action &Chosen);
void addCheckCommand(CLI::App &Main, Action &Chosen);
void addRunCommand(CLI::App &Main, Action &Chosen);
void addBenchCommand(CLI::App &Main, Action &Chosen);
void addInspectCommand(CLI::App &Main, Action &Chosen);
void addVerifyCommand(CLI::App &Main, Action &Chosen);
void addReduceCommand(CLI::App &Main, Action &Chosen);
void addSignCommand(CLI::App &Main, Action &Chosen);
void addOpsCommand(CLI::App &Main, Action &Chosen);
void addTargetsCommand(CLI::App &Main, Action &Chosen);
void addCompletionCommand(CLI::App &Main, Action &Chosen);
void addManualCommand(CLI::App &Main, Action &Chosen);

/// The arguments of this process, quoted for a shell. Those that are a key of
/// `Instead` become its value, which is quoted already.
std::string
commandLineText(const std::map<std::string, std::string> &Instead = {});
/// As a shell takes it.
std::string shellQuoted(std::string_view Text);
void setCommandLine(int Count, char **Arguments);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_COMMAND_H
