//===- ViewSizes.h - Views in other sizes -----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_RULES_VIEWSIZES_H
#define KPC_COMPILER_IMPORT_TORCH_RULES_VIEWSIZES_H

#include "compiler/import/torch/NodeImport.h"

namespace kpc::torch {

/// view, reshape, flatten and their kin: the same elements in the sizes that
/// the archive declares or the arguments say.
void viewAsDeclared(NodeImport &N);
/// A view of as many elements in the sizes given.
void reshaped(NodeImport &N, const Dims &Sizes);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_RULES_VIEWSIZES_H
