//===- ControlFlow.h - Where diverged threads meet again --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A warp whose threads part at a branch runs the sides one after the other and
/// goes on together at the branch's immediate post-dominator: the first block
/// that every path to the kernel's end passes. That is where ptxas puts the
/// convergence barrier, and what instructions with .aligned rely on.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_PROGRAM_CONTROLFLOW_H
#define KPC_EMULATOR_PROGRAM_CONTROLFLOW_H

#include "emulator/program/Program.h"

namespace kpc::emulator {

/// Sets Reconverge of every branch of `K.Code`.
void findReconvergence(Kernel &K);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_PROGRAM_CONTROLFLOW_H
