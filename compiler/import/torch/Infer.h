//===- Infer.h - Results that a file does not declare -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A program of torch.export says what each result is; TorchScript does not.
/// For operators whose rules ask for it, sizes and types follow here from the
/// arguments, as aten has them.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_INFER_H
#define KPC_COMPILER_IMPORT_TORCH_INFER_H

#include "compiler/import/torch/NodeImport.h"

namespace kpc::torch {

/// The sizes of each result; none, with a report, where the arguments do not
/// say them.
std::optional<SmallVector<Dims>> inferSizes(NodeImport &N);
/// The type of the results; null after a report.
Type inferType(NodeImport &N);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_INFER_H
