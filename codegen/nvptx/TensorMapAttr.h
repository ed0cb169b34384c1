//===- TensorMapAttr.h - The tensor maps that a kernel asks for -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tensor maps that a kernel takes after its other arguments, one parameter
/// for each entry of its `kernel.tensor_maps` (dialects/kernel/KernelAttrs.td),
/// as the artifact holds them.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_NVPTX_TENSORMAPATTR_H
#define KPC_CODEGEN_NVPTX_TENSORMAPATTR_H

#include "codegen/artifact/TensorMap.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace kpc::nvptx {

/// Reads the attribute; none is no tensor maps. Failure after a diagnostic
/// where an element has a type that is not copied.
mlir::FailureOr<std::vector<artifact::KernelTensorMap>>
readTensorMaps(mlir::gpu::GPUFuncOp Kernel);

} // namespace kpc::nvptx

#endif // KPC_CODEGEN_NVPTX_TENSORMAPATTR_H
