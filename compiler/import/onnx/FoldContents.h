//===- FoldContents.h - Shape arithmetic on contents ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parts of ImportByContents. A fold returns true if it gave the node's result
/// or reported a fault, false if the ordinary rule must run.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_FOLDCONTENTS_H
#define KPC_COMPILER_IMPORT_ONNX_FOLDCONTENTS_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

/// Index of an element of `Dims` under numpy's broadcasting, for the element
/// `Flat` of `Sizes`.
size_t broadcastIndex(size_t Flat, const std::vector<int64_t> &Sizes,
                      const std::vector<int64_t> &Dims);
/// None if the sizes do not fit.
std::optional<std::vector<int64_t>>
broadcastDims(const std::vector<int64_t> &A, const std::vector<int64_t> &B);

/// Makes `C` the node's result, if it is short and its values fit its type.
bool finishContents(NodeImport &N, Contents C);

/// Add, Sub, Mul, Div, Mod, Min, Max and comparisons of two operands.
bool foldBinary(NodeImport &N);
bool foldWhere(NodeImport &N);
bool foldNot(NodeImport &N);
/// ReduceProd, ReduceSum, ReduceMax, ReduceMin of a whole vector.
bool foldReduce(NodeImport &N);
/// Floor and Ceil of numbers.
bool foldRound(NodeImport &N);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_FOLDCONTENTS_H
