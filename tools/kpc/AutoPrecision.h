//===- AutoPrecision.h - --precision auto -----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A search above the compiler: it asks for the times of plans, for the errors
/// of layers, and then for one compile with --precision and --precision-for.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_AUTOPRECISION_H
#define KPC_TOOLS_KPC_AUTOPRECISION_H

#include "tools/kpc/AccuracyBudget.h"
#include "tools/kpc/Options.h"

namespace kpc::cli {

struct AutoArguments {
  bool Asked = false; ///< --precision auto
  AccuracyBudget Budget;
  std::string Check; ///< a command for a shell
  std::string Data;
  std::string PlanOut, Plan; ///< files
  int64_t LayerSamples = 8;
};

/// --accuracy-budget, --accuracy-check, --data, --precision-plan …
void addAutoOptions(CLI::App &App, AutoArguments &Arguments);

/// Throws where options are missing or have nothing to apply to.
void needAutoOptions(const AutoArguments &Arguments,
                     const CompileOptions &Options);

/// Sets the precisions of `Options` and its table. False after an error;
/// `Fault` is set where kpc itself failed. What was found is printed, unless
/// `Quiet`, and goes to `Notes`.
bool chooseAuto(const AutoArguments &Arguments, CompileOptions &Options,
                bool Quiet, Diagnostics &Diags, std::vector<std::string> &Notes,
                bool &Fault);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_AUTOPRECISION_H
