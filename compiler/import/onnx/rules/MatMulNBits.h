//===- MatMulNBits.h - Products with weights of a few bits ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_MATMULNBITS_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_MATMULNBITS_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

struct NBits {
  int64_t K = 0, N = 0, Bits = 4, Block = 0;

  int64_t blocks() const { return (K + Block - 1) / Block; }
  int64_t blockBytes() const { return Block * Bits / 8; }
  /// Bytes of a row of zero points.
  int64_t zeroBytes() const { return (blocks() * Bits + 7) / 8; }
  /// Reports what no weights can have.
  bool isSane(NodeImport &N) const;
};

/// What may be missing is null.
struct CodedWeights {
  Value Codes, Scales, Zeros, Groups, Bias;
};
/// A times the turned weights, and the bias; null after a report.
Value matMulNBits(NodeImport &N, const NBits &P, Value A,
                  const CodedWeights &W);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_MATMULNBITS_H
