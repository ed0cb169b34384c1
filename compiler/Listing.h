//===- Listing.h - What --emit shows ----------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The levels by name, and those below the plan: texts that are made of each
/// kernel for each target, in worker processes. Plain C++.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_LISTING_H
#define KPC_COMPILER_LISTING_H

#include "compiler/CompileOptions.h"
#include "compiler/target/Target.h"

namespace kpc {

/// The name that `--emit` has for a phase.
std::string phaseName(Phase P);

/// KernelJob's word for the text of a kernel: "ptx"; empty where the phase is
/// none of a kernel's.
std::string listingWord(std::optional<Phase> Emit);

/// How the names of the files begin: "model" where the model is
/// "path/model.onnx".
std::string listingStem(const CompileOptions &Options);

/// The end of the file's name, with the target in front: ".sm_90a.ptx".
std::string listingSuffix(Phase Emit, const target::Target &T);

/// Puts the text of the next kernel behind those before it.
void appendListing(std::string &Listing, Phase Emit, const std::string &Kernel);

/// Why a target has no text of this kind, as a sentence; empty: it has.
std::string reasonAgainstListing(Phase Emit, const target::Target &T);

} // namespace kpc

#endif // KPC_COMPILER_LISTING_H
