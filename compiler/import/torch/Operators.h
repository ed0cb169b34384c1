//===- Operators.h - The aten operators that import -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_OPERATORS_H
#define KPC_COMPILER_IMPORT_TORCH_OPERATORS_H

#include <string>
#include <string_view>
#include <vector>

namespace kpc::torch {

struct OperatorInfo {
  std::string Name;        ///< with its overload: "aten.add.Tensor"
  std::string_view Limits; ///< what of it does not compile; may be empty
  /// "aten", "torchvision"
  std::string domain() const { return Name.substr(0, Name.find('.')); }
  /// Nothing of it compiles: it has a rule that says what to do instead.
  bool isRefused() const { return Limits.starts_with("refused: "); }
};
/// By name, in-place forms included.
std::vector<OperatorInfo> supportedOperators();

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_OPERATORS_H
