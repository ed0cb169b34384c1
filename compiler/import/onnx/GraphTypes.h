//===- GraphTypes.h - ONNX's types in the graph dialect ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_GRAPHTYPES_H
#define KPC_COMPILER_IMPORT_ONNX_GRAPHTYPES_H

#include "compiler/import/Emitter.h"
#include "compiler/import/onnx/model/ElementType.h"

namespace kpc::onnx {

using frontend::ArrayRef;
using frontend::checkedType;
using frontend::Dims;
using frontend::dimsText;
using frontend::Emitter;
using frontend::Expr;
using frontend::Ints;
using frontend::Predicate;
using frontend::ReduceKind;
using frontend::SmallVector;
using frontend::Type;
using frontend::typeText;
using frontend::Value;

/// The graph's element type; null for one it has not.
Type graphType(mlir::MLIRContext *Context, ElementType T);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_GRAPHTYPES_H
