//===- BoolStorage.h - Bools in memory are bytes ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_BOOLSTORAGE_H
#define KPC_PASSES_KERNELS_FORM_BOOLSTORAGE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kpc::kernels {

/// Rewrites the memory accesses of a built kernel so that its i1 buffers are
/// buffers of bytes, 0 or 1: `memref<i1>` becomes `memref<i8>`. Any byte but 0
/// is read as true.
mlir::LogicalResult storeBoolsAsBytes(mlir::func::FuncOp Func);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_BOOLSTORAGE_H
