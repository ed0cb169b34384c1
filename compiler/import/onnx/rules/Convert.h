//===- Convert.h - Conversions as ONNX's Cast does them ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_CONVERT_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_CONVERT_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

/// What a conversion to a narrow float does with values between its own and
/// beyond them; other types do not ask.
struct Rounding {
  /// Beyond the greatest value is the greatest value, rather than infinity or
  /// NaN. f4E2M1FN has nothing else.
  bool Saturates = true;
  /// To f8E8M0FNU.
  enum class Mode { Up, Down, Nearest } Of = Mode::Up;
};

/// The node's attributes `saturate` and `round_mode`.
Rounding roundingOf(NodeImport &N);

/// The elements of `X` as `To`.
Value convert(NodeImport &N, Value X, Type To, Rounding How);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_CONVERT_H
