//===- CompileJson.h - compile --json ---------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What came of a compilation, for programs that start kpc. The Python package
/// makes its exceptions of it, so diagnostics have all their parts.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_COMPILEJSON_H
#define KPC_TOOLS_KPC_COMPILEJSON_H

#include "compiler/CompileOptions.h"
#include "compiler/CompileReport.h"
#include "compiler/diagnostics/Diagnostics.h"

namespace kpc::cli {

/// Prints one JSON object on the standard output. Times are in seconds, sizes
/// in bytes; where the compilation failed, `targets` may be empty.
void printCompileJson(const CompileOptions &Options,
                      const CompileReport &Report, const Diagnostics &Diags,
                      double Seconds);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_COMPILEJSON_H
