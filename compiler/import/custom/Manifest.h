//===- Manifest.h - Operators that users bring ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A manifest is a JSON file next to the code of an operator: what it is
/// called, what it takes and gives, and how its code is run
/// (docs/custom-operators.md). Reading one checks all that can be known without
/// a model.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_CUSTOM_MANIFEST_H
#define KPC_COMPILER_IMPORT_CUSTOM_MANIFEST_H

#include "compiler/diagnostics/Diagnostics.h"
#include "dialects/shape/Expr.h"

#include <map>
#include <optional>
#include <variant>

namespace kpc::custom {

using shape::Expr;
using Texts = std::vector<std::string>;
using TextPairs = std::vector<std::pair<std::string, std::string>>;

using AttributeValue = std::variant<int64_t, double, std::string,
                                    std::vector<int64_t>, std::vector<double>>;

/// A dim of a shape: a size, or with `IsRest` any number of dims.
struct Dim {
  bool IsRest = false;
  std::string Name; ///< of a rest
  Expr Size;
};

struct Tensor {
  std::string Name;
  std::string Type; ///< "f32", or a name in Operator::Types
  std::vector<Dim> Shape;
};

struct Attribute {
  enum class Kind { Int, Float, Text, Ints, Floats };
  std::string Name;
  Kind Is = Kind::Int;
  std::optional<AttributeValue> Default;
};

/// What the function is given after the pointers.
struct Argument {
  std::string Type;      ///< "i32", "i64", "f32" or "f64"
  std::string Attribute; ///< of a float the attribute's name
  Expr Size;             ///< else
};

struct UserCode {
  std::string Function;
  std::string File; ///< as the manifest names it
  std::string Source;
  std::string Library; ///< host: in place of a source
  std::vector<Argument> Arguments;
  TextPairs Macros, Headers;
  Texts Options;
  std::vector<Expr> Grid, Block; ///< CUDA, each up to three
  Expr Shared;
};

struct Operator {
  std::string Manifest; ///< the file, as the user named it
  std::string Domain, Name;
  std::map<std::string, Texts, std::less<>> Types;
  std::vector<Tensor> Inputs, Outputs;
  std::vector<Attribute> Attributes;
  std::optional<UserCode> Cuda, Host;

  const Attribute *attribute(std::string_view Wanted) const;
  /// "my.ops::Silu"
  std::string fullName() const { return Domain + "::" + Name; }
};

/// None after errors.
std::optional<Operator> readManifest(const std::string &Path,
                                     Diagnostics &Diags);

/// "int", "floats".
std::string_view kindName(Attribute::Kind K);

class Operators {
public:
  /// False after errors; says all of them.
  bool read(const Texts &Paths, Diagnostics &Diags);
  const Operator *find(std::string_view Domain, std::string_view Name) const;
  bool empty() const { return All.empty(); }
  const std::vector<Operator> &all() const { return All; }

private:
  std::vector<Operator> All;
};

} // namespace kpc::custom

#endif // KPC_COMPILER_IMPORT_CUSTOM_MANIFEST_H
