//===- InlineCalls.h - Calls replaced by what they call ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A direct call becomes the callee's statements, in scopes of their own; its
/// parameters are names for the caller's .param variables. Recursion and calls
/// through pointers are errors, and so are functions that neither the module
/// nor the driver defines.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_PROGRAM_INLINECALLS_H
#define KPC_EMULATOR_PROGRAM_INLINECALLS_H

#include "emulator/program/Program.h"

namespace kpc::emulator {

/// The kernels of the module, without calls.
std::vector<ptx::Function> inlineCalls(const ptx::Module &Text,
                                       std::vector<LoadError> &Errors);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_PROGRAM_INLINECALLS_H
