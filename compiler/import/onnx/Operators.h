//===- Operators.h - What imports -------------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The table of import rules as plain data, for `kpc ops`. No MLIR.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_OPERATORS_H
#define KPC_COMPILER_IMPORT_ONNX_OPERATORS_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace kpc::onnx {

/// One operator that imports, in a range of opsets.
struct OperatorInfo {
  std::string_view Domain; ///< "" for ONNX's own
  std::string_view Name;
  int64_t Since, Until;
  std::string_view Limits; ///< what of it does not compile; may be empty
  std::string_view Family; ///< of its rule: "reduction"
};
/// Sorted by domain and name.
std::vector<OperatorInfo> supportedOperators();

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_OPERATORS_H
