//===- SizeAssumptions.h - What a model needs of its sizes ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_ARTIFACT_SIZEASSUMPTIONS_H
#define KPC_COMPILER_ARTIFACT_SIZEASSUMPTIONS_H

#include "codegen/artifact/Contents.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace kpc {

/// Gives symbols the reasons that the module has, and ports the dims that a
/// caller knows: where 32 divides h, `floordiv(h, 32)*32` is `h`. Adds the
/// sizes that are elements of inputs, and what is required of several sizes.
llvm::Error addSizeAssumptions(mlir::ModuleOp Module,
                               artifact::Contents &Contents);

} // namespace kpc

#endif // KPC_COMPILER_ARTIFACT_SIZEASSUMPTIONS_H
