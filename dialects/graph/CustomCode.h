//===- CustomCode.h - Code that a user's operator brings --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The dictionaries of `graph.custom` and `kernel.custom` as a struct. They are
/// the same in both: what a worker gets is what the manifest said.
///
///   {function = "silu", file = "silu.cu", source = "…", arguments = ["i64"],
///    sizes = #graph.dims<["n*c", "ceildiv(n*c, 256)", 1, 1, 0]>,
///    block = array<i64: 256, 1, 1>}
///
/// `sizes` are the arguments' values (bits of floats), then for CUDA the grid
/// and the bytes of dynamic shared memory.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_GRAPH_CUSTOMCODE_H
#define KPC_DIALECTS_GRAPH_CUSTOMCODE_H

#include "dialects/shape/Expr.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kpc::graph {

struct CustomCode {
  bool IsCuda = false;
  std::string Function; ///< CUDA: an expression such as "silu<float>"
  /// Of the source or the shared object, as messages name it.
  std::string File;
  std::string Source;  ///< empty: `Library` has the code
  std::string Library; ///< host: a name or path for the system's loader
  /// "i32", "i64", "f32" or "f64", after the pointers.
  std::vector<std::string> Arguments;
  std::vector<shape::Expr> Sizes;
  std::array<int64_t, 3> Block = {1, 1, 1};
  std::vector<std::pair<std::string, std::string>> Macros, Headers;
  std::vector<std::string> Options;
  /// In a kernel: the element type and the rank of each operand and result.
  std::vector<std::pair<std::string, std::string>> Tensors;

  /// Without `WithSizes` as `kernel.custom` has it, whose operands they are.
  mlir::DictionaryAttr toAttr(mlir::MLIRContext *Context,
                              bool WithSizes = true) const;
  /// None where a field is missing or of another type; says which.
  static std::optional<CustomCode> read(mlir::DictionaryAttr From, bool IsCuda,
                                        bool WithSizes, std::string &Problem);
};

/// Sizes after the arguments of CUDA code: the grid and shared memory.
inline constexpr size_t CustomLaunchSizes = 4;
/// Bytes of an argument; 0: no such type.
unsigned customArgumentBytes(const std::string &Type);

} // namespace kpc::graph

#endif // KPC_DIALECTS_GRAPH_CUSTOMCODE_H
