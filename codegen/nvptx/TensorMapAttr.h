//===- TensorMapAttr.h - The tensor maps that a kernel asks for -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A builder says with an attribute of its gpu.func which tensor maps the
/// kernel takes after its other arguments, one parameter for each entry:
///
///   kpc.tensor_maps = [{buffer = 0 : i64,          // argument: the pointer
///                       element = bf16,
///                       dims = ["arg5", "arg4"],   // elements, innermost
///                       first strides = ["arg5*2"],      // bytes, of dims 1 …
///                       box = array<i64: 64, 128>, // elements
///                       swizzle = 128 : i64}]      // bytes: 0, 32, 64, 128
///
/// Optional: `l2 = 128 : i64` (promotion in bytes: 0, 64, 128, 256),
/// `traversal = array<i64: …>` (element strides), `fill = "nan"` (or "zero"),
/// and in place of the box, for im2col, `im2col = {lower = array<i64: …>,
/// upper = array<i64: …>, channels = 64 : i64, pixels = 128 : i64}`.
/// Expressions are those of dialects/shape, over `argN`. An element of tf32
/// reads f32 and rounds it.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_NVPTX_TENSORMAPATTR_H
#define KPC_CODEGEN_NVPTX_TENSORMAPATTR_H

#include "codegen/artifact/TensorMap.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace kpc::nvptx {

/// Reads the attribute; none is no tensor maps. Failure after a diagnostic
/// that says which entry is malformed and how.
mlir::FailureOr<std::vector<artifact::KernelTensorMap>>
readTensorMaps(mlir::gpu::GPUFuncOp Kernel);

} // namespace kpc::nvptx

#endif // KPC_CODEGEN_NVPTX_TENSORMAPATTR_H
