//===- Random.h - Random numbers as graph arithmetic ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_RANDOM_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_RANDOM_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

/// The node's seed as a generator's key; without one, a number of the node's
/// own, which its first output's name gives.
uint32_t seedOf(NodeImport &N);

/// Numbers of [0, 1), uniform, of a float type: the same on every target and
/// in every run.
Value uniformNumbers(NodeImport &N, ArrayRef<Expr> Sizes, Type Element,
                     uint32_t Seed);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_RANDOM_H
