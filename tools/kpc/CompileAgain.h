//===- CompileAgain.h - A model as an artifact's was compiled ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles a model, or a part of it, with the options that an artifact was
/// compiled with, which its provenance has.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_COMPILEAGAIN_H
#define KPC_TOOLS_KPC_COMPILEAGAIN_H

#include "compiler/Compiler.h"
#include "tools/kpc/Progress.h"
#include "tools/kpc/Runtime.h"

namespace kpc::cli {

/// The dims and values that an artifact was compiled with. What another version
/// spelled stays open.
void addCompiledInputs(const Model &M, CompileOptions &Options);
/// The types that it was compiled for.
void addCompiledTypes(const Model &M, CompileOptions &Options);

/// What is independent of the model: workers, reproducers, interrupts.
CompileOptions quietOptions(const std::string &CacheFolder);

/// Compiles into `Options.Output` with a progress bar, and loads it. `Fault` is
/// set where kpc itself failed; the diagnostic names the reproducer. `Report`,
/// if any, gets what the compiler reports.
std::optional<Model> compileAndOpen(CompileOptions Options, bool Quiet,
                                    Diagnostics &Diags, bool &Fault,
                                    uint32_t LoadFlags = 0,
                                    CompileReport *Report = nullptr);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_COMPILEAGAIN_H
