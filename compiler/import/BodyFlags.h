//===- BodyFlags.h - What bodies compute and runs refuse --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Numbers of a model become its sizes outside of loops and branches alone.
/// What must not be inside of them is a flag that they hand on to what is
/// around, until it can be a size that a run requires to be 0.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_BODYFLAGS_H
#define KPC_COMPILER_IMPORT_BODYFLAGS_H

#include "compiler/import/Emitter.h"

namespace kpc::frontend {

/// An i64 scalar that must be 0, and what the message says if it is not.
struct Forbidden {
  Value Flag;
  std::string What;
};

/// Lets each iteration hand on whether a flag of the body was set yet.
void carryFlags(Emitter &E, graph::LoopOp Draft, ArrayRef<Forbidden> Flags);

/// Both sides of a branch give its flags after their results.
void yieldFlags(Emitter &E, graph::IfOp Draft, ArrayRef<Forbidden> Then,
                ArrayRef<Forbidden> Else);

/// Takes the flags out of the results of a loop or branch, the first at
/// `First`: what is around has them now.
std::vector<Forbidden> takeFlags(SmallVector<Value> &Results, size_t First,
                                 ArrayRef<Forbidden> Flags);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_BODYFLAGS_H
