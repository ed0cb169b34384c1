//===- Ordering.h - Elements of rows in order -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_ORDERING_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_ORDERING_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

/// How the other of two elements stands to one's own.
struct PairOrder {
  Value Ahead, Equal;
};

/// The places of a row are a permutation only under a total order, and a
/// comparison with NaN is false: NaN is therefore the greatest, equal to NaN.
PairOrder comparePairs(NodeImport &N, Value Own, Value Other, bool Largest);

/// Each element's place in the order is the number of elements before it: all
/// pairs are compared, so rows must be short. Reports one that is not.
bool mayOrder(NodeImport &N, const Expr &Size);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_ORDERING_H
