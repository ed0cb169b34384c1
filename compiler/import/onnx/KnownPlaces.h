//===- KnownPlaces.h - Elements of known tensors by place -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_KNOWNPLACES_H
#define KPC_COMPILER_IMPORT_ONNX_KNOWNPLACES_H

#include "compiler/import/onnx/KnownValues.h"

namespace kpc::onnx {

/// The sizes, if they are numbers and make a short tensor.
std::optional<Ints> shortDims(mlir::Value V);

size_t countOf(llvm::ArrayRef<int64_t> Dims);

/// The position `Flat` of row-major `Dims`, as an index for each dimension.
Ints indexOf(size_t Flat, llvm::ArrayRef<int64_t> Dims);

/// The other way around; none outside.
std::optional<size_t> flatOf(llvm::ArrayRef<int64_t> Index,
                             llvm::ArrayRef<int64_t> Dims);

/// A tensor of `Dims` whose element at an index is that of `X` at `From` of it;
/// none where one of them is outside.
std::optional<KnownTensor>
gathered(const KnownTensor &X, llvm::ArrayRef<int64_t> Dims,
         llvm::function_ref<std::optional<Ints>(const Ints &)> From);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_KNOWNPLACES_H
