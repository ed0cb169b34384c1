//===- UnsetRegisters.h - Reads that no write may come before ---*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Registers that are written on every path to each of their reads need no
/// watching; the others ("doubtful") are watched, lane by lane, while the
/// kernel runs. A mov of an unset register is none of its uses: it makes its
/// target unset.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_PROGRAM_UNSETREGISTERS_H
#define KPC_EMULATOR_PROGRAM_UNSETREGISTERS_H

#include "emulator/program/Program.h"

namespace kpc::emulator {

/// Sets DoubtfulRows and the bits of Checks for them.
void findDoubtfulRows(Kernel &K);

/// Whether an unset source makes the result unset, and nothing more.
bool passesUnset(const Kernel &K, const Instruction &I);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_PROGRAM_UNSETREGISTERS_H
