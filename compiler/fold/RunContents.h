//===- RunContents.h - Runs an artifact's contents in this process -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_FOLD_RUNCONTENTS_H
#define KPC_COMPILER_FOLD_RUNCONTENTS_H

#include "codegen/artifact/Contents.h"
#include "llvm/Support/Error.h"

namespace kpc {

/// Runs the first target, made for this host, of contents without inputs and
/// symbols; returns the bytes of each output. The compiler does not use the
/// runtime, so this is all there is to run: steps in order, on one thread.
llvm::Expected<std::vector<std::vector<uint8_t>>>
runContents(const artifact::Contents &Contents);

} // namespace kpc

#endif // KPC_COMPILER_FOLD_RUNCONTENTS_H
