//===- Subprocess.h - Programs that kpc runs --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Starting other programs (ptxas, nvdisasm, workers), with limits. Each child
/// has a process group of its own, writes no core file, and is killed by the
/// kernel when the thread that started it ends, so nothing outlives kpc.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_WORKERS_SUBPROCESS_H
#define KPC_COMPILER_WORKERS_SUBPROCESS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace kpc {

struct ProcessLimits {
  /// Wall-clock seconds; 0: none.
  double Seconds = 0;
  /// Bytes of address space; 0: none.
  uint64_t MemoryBytes = 0;
  /// Whether the child is a compiler: its malloc takes memory in large pieces,
  /// where there is plenty, unless GLIBC_TUNABLES says what it should do.
  bool IsCompiler = false;
};

/// A running child with our ends of its standard streams. `In` is a socket (a
/// write to a child that is gone is an error, not a signal).
struct Child {
  pid_t Pid = -1;
  int In = -1, Out = -1, Err = -1;
};

/// Starts `Argv[0]` (a path; PATH is not searched). On failure returns none
/// and says why in `Error`.
std::optional<Child> spawn(const std::vector<std::string> &Argv,
                           const ProcessLimits &Limits, std::string &Error);

/// Kills the child's whole group, waits for the child, closes our ends.
/// Returns what waitpid told.
int killAndReap(Child &TheChild);

struct ProcessResult {
  /// Not empty: the program could not be started.
  std::string Failure;
  int ExitCode = -1; ///< -1 where it did not exit by itself
  int Signal = 0;
  bool TimedOut = false;
  std::string Out, Err;
  bool ok() const { return Failure.empty() && ExitCode == 0; }
  /// "exit code 3", "signal 11 (Segmentation fault)", "no answer in 5 s" ...
  std::string describe() const;
  double LimitSeconds = 0;
};

/// Runs a program to its end, with `Input` on its standard input.
ProcessResult runProcess(const std::vector<std::string> &Argv,
                         std::string_view Input = {},
                         const ProcessLimits &Limits = {});

/// Says what a status of waitpid means: "exit code 3", "signal 6 (Aborted)".
std::string describeWaitStatus(int Status);

/// A folder under TMPDIR that is removed with all its content.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  /// Empty when the folder could not be made; then see error().
  const std::string &path() const { return Path; }
  const std::string &error() const { return Error; }

private:
  std::string Path, Error;
};

/// Whole files as strings. On failure: none, or false, and why in `Error`.
std::optional<std::string> readFile(const std::string &Path,
                                    std::string &Error);
bool writeFile(const std::string &Path, std::string_view Content,
               std::string &Error);

} // namespace kpc

#endif // KPC_COMPILER_WORKERS_SUBPROCESS_H
