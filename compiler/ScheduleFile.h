//===- ScheduleFile.h - Schedules that the user asks for --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The file of `kpc compile --schedule FILE`. It has a rule on each line, and
/// the last rule that fits a kernel counts. A kernel has the name that `kpc
/// inspect` and `--explain` print, or matches a regular expression for the
/// whole name. The schedule is the text that they print. Empty lines and those
/// that begin with # are ignored.
///
///   fc1 = gemm 128x192x64 stages 5 group_m 8
///   layer[0-9]+_.* on sm_90a = gemm 128x128x64 stages 6 group_m 8
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_SCHEDULEFILE_H
#define KPC_COMPILER_SCHEDULEFILE_H

#include "compiler/diagnostics/Diagnostics.h"
#include "compiler/target/Target.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kpc {

class ScheduleFile {
public:
  /// Reads a file; no path, no rules. None after an error.
  static std::optional<ScheduleFile> read(const std::string &Path,
                                          Diagnostics &Diags);
  /// Reads its text. `Name` is for errors.
  static std::optional<ScheduleFile>
  parse(std::string_view Text, const std::string &Name, Diagnostics &Diags);

  /// The schedule for a kernel on a target; empty if no rule fits.
  std::string find(const target::Target &T, std::string_view Kernel) const;

  /// Rules for a kernel by the name that `kpc inspect` prints, or for a variant
  /// of it, become ones for its symbol.
  void useSymbols(const std::map<std::string, std::string> &SymbolOf);

  /// Whether every rule fits one of `Kernels`; errors go to `Diags`.
  bool checkNames(std::span<const std::string> Kernels,
                  Diagnostics &Diags) const;

private:
  struct Rule {
    size_t Line = 0;
    std::string Pattern;
    std::string Target; ///< empty: every GPU
    std::string Schedule;
  };
  static std::string reasonAgainst(std::string_view Line, Rule &Into);
  static bool fits(const Rule &R, std::string_view Kernel);

  std::string Name;
  std::vector<Rule> Rules;
};

} // namespace kpc

#endif // KPC_COMPILER_SCHEDULEFILE_H
