//===- Runtime.h - Artifacts and devices for the commands -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_RUNTIME_H
#define KPC_TOOLS_KPC_RUNTIME_H

#include "compiler/diagnostics/Diagnostics.h"
#include "tools/kpc/Options.h"

#include "kpc/runtime.hpp"

namespace kpc::cli {

/// An error of the runtime as a diagnostic.
void report(const Error &E, Diagnostics &Diags);
/// WrongUsage where all that is wrong is the command line, as the model showed.
int exitCode(bool Good, const Diagnostics &Diags);
/// The diagnostics on standard error, and the exit code for them.
int finish(const Diagnostics &Diags);

/// `SignedBy`: a file with the public key that it must be signed with.
std::optional<Model> openModel(const std::string &Path, Diagnostics &Diags,
                               uint32_t LoadFlags = 0,
                               const std::string &SignedBy = {});

struct DeviceChoice {
  DeviceOption Device;
  int Threads = 0;
  int64_t MaxIterations = 0; ///< of loops that data ends; 0: the default
  bool KeepValues = false;
  bool Nvtx = false; ///< tell a profiler of ranges
  bool NoHostCode = false;
  bool CustomHostCode = false; ///< custom operators' shared objects
  bool Quiet = false;
};
/// `--nvtx`
void addNvtx(CLI::App &App, DeviceChoice &Choice);
/// `--allow-custom-code`
void addCustomCode(CLI::App &App, DeviceChoice &Choice);
/// What of the choice an artifact is loaded with: KPC_LOAD_….
uint32_t loadFlags(const DeviceChoice &Choice);
/// Where no device is asked for: a GPU that the artifact has code for, else
/// the host, which is said.
std::optional<Session> openSession(const Model &M, const DeviceChoice &Choice,
                                   Diagnostics &Diags);

/// Inputs, outputs and dims, a line each.
std::string signatureText(const Model &M);
/// "1..512, a multiple of 8, tuned for 64"
std::string factsText(const shape::SymbolFacts &F);
/// "f32[batch,4]"
std::string portText(const kpc_port &Port);

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_RUNTIME_H
