//===- Factorizations.h - Norms by singular values --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_RULES_FACTORIZATIONS_H
#define KPC_COMPILER_IMPORT_TORCH_RULES_FACTORIZATIONS_H

#include "compiler/import/torch/NodeImport.h"

namespace kpc::torch {

/// The singular values of the matrices in the last two axes, in descending
/// order: [..., least side]. Null after a report.
Value singularValuesOf(NodeImport &N, Value X);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_RULES_FACTORIZATIONS_H
