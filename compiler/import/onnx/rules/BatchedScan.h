//===- BatchedScan.h - Scan of opset 8 --------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_BATCHEDSCAN_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_BATCHEDSCAN_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

/// Of a `Scan` of opset 8, whose inputs have a batch in front, one of opset 9
/// over the batch with one over the steps inside; none after a report.
std::optional<Node> scanOverBatch(NodeImport &N);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_BATCHEDSCAN_H
