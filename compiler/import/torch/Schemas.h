//===- Schemas.h - The arguments of aten operators --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// torch.export writes arguments with their names and the overload with the
/// operator. Source that TorchScript saves has neither: `torch.add(a, 2)`. The
/// schemas here say which overload takes the arguments, and what they are
/// called. Each operator of Rules.h has one.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_SCHEMAS_H
#define KPC_COMPILER_IMPORT_TORCH_SCHEMAS_H

#include <string>
#include <string_view>
#include <vector>

namespace kpc::torch {

struct SchemaArgument {
  enum class Kind {
    Tensor,
    Tensors,
    Number, ///< an integer, a float or a bool
    Int,
    Ints,
    Float,
    Floats,
    Bool,
    Text,
    ScalarType,
    Other, ///< devices, layouts, memory formats, generators
  };
  Kind Is = Kind::Tensor;
  std::string_view Name;
  bool Optional = false;    ///< takes None; of a list: elements may be None
  bool HasDefault = false;  ///< may be left out
  bool KeywordOnly = false; ///< is written with its name
};

struct Schema {
  std::string_view Overload; ///< "Tensor"; "default" where aten has no name
  std::vector<SchemaArgument> Arguments;
  /// Tensors that it gives; -1 for a list of them.
  int Results = 1;
};

/// The schemas of "add" in the order in which they are tried; empty for an
/// operator that is not known.
const std::vector<Schema> &schemasOf(std::string_view Operator);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_SCHEMAS_H
