//===- Limits.h - What a compilation may take -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--limit NAME=VALUE`, for who compiles models of strangers. Memory and time
/// end the process with an error and exit code 1, wherever it is: what runs out
/// of memory cannot be relied on to say so itself.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_LIMITS_H
#define KPC_TOOLS_KPC_LIMITS_H

#include "compiler/CompileOptions.h"
#include "tools/kpc/Interrupt.h"

#include <optional>

namespace CLI {
class App;
}

namespace kpc::cli {

/// `--limit`, repeatable.
void addLimits(CLI::App &App, CompileLimits &Limits);

/// While it lives the process keeps to the limits of time and memory. Without a
/// limit of memory, running out of what there is ends it in the same way.
class EnforcedLimits {
public:
  explicit EnforcedLimits(const CompileLimits &Limits);
  EnforcedLimits(const EnforcedLimits &) = delete;
  EnforcedLimits &operator=(const EnforcedLimits &) = delete;
  ~EnforcedLimits();

private:
  std::optional<TimeLimit> Time;
};

/// For the handler of SIGSEGV: ends the process as above where memory is what
/// is missing. LLVM and MLIR do not look at all that malloc gives them, so that
/// they reach for an `Address` near null then.
void endIfWithoutMemory(const void *Address);

/// In a worker: running out of memory ends it with the exit code that the pool
/// knows.
void endWorkerWithoutMemory();

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_LIMITS_H
