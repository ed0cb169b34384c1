//===- Source.h - The source that TorchScript saves -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The files under `code/` of a TorchScript archive: what PyTorch's printer
/// writes, which is a small part of Python. Operators are calls already
/// (`torch.add(a, b)`), so expressions have no infix forms.
///
///   std::string Why;
///   auto File = parseSource(Text, Why);
///   if (!File) …                          // `Why` starts with the line
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCHSCRIPT_SOURCE_H
#define KPC_COMPILER_IMPORT_TORCHSCRIPT_SOURCE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kpc::torchscript {

/// An expression, or a type: both are written alike.
struct Node {
  enum class Kind {
    None,
    Bool,
    Int,
    Float,
    Text,
    Name,      ///< `Text`
    Attribute, ///< `Text` of Items[0]
    Call,      ///< Items[0] of the others; `Keywords` has a name for each Item;
               ///< `a[1:3]` is slice(a, 1, 3)
    Subscript, ///< Items[0] at the others
    Tuple,
    List,
    Dict, ///< keys and values in turn
  };
  Kind Is = Kind::None;
  int64_t Int = 0;
  double Float = 0;
  std::string Text;
  std::vector<Node> Items;
  std::vector<std::string> Keywords; ///< empty: by place
  unsigned Line = 0;
};

struct Statement {
  enum class Kind {
    Expression, ///< `Value`
    Assign,     ///< `Value` to `Targets`
    Declare,    ///< `Targets[0]` of type `Type`, perhaps with `Value`
    If,         ///< `Value`, `Body`, `Else`
    For,        ///< `Targets` in `Value`
    While,
    With,   ///< `Value`, perhaps as `Targets`
    Define, ///< `Body` is called `Targets[0]`; it reads the names around it
    Return,
    Pass,
  };
  Kind Is = Kind::Pass;
  std::vector<Node> Targets;
  std::optional<Node> Value, Type;
  std::vector<Statement> Body, Else;
  bool TakesApart = false; ///< Assign: `a, = v` and `a, b = v`
  unsigned Line = 0;
};

struct Parameter {
  std::string Name;
  std::optional<Node> Type, Default;
};

struct Function {
  std::string Name;
  std::vector<Parameter> Parameters;
  std::optional<Node> Result;
  std::vector<Statement> Body;
  unsigned Line = 0;
};

struct Class {
  std::string Name, Base;
  std::vector<Statement> Attributes;
  std::vector<Function> Methods;
};

struct SourceFile {
  std::vector<Class> Classes;
  std::vector<Function> Functions;
};

/// Levels of expressions or blocks in each other.
inline constexpr unsigned DeepestSource = 200;

/// None with the reason in `Why`.
std::optional<SourceFile> parseSource(std::string_view Text, std::string &Why);

} // namespace kpc::torchscript

#endif // KPC_COMPILER_IMPORT_TORCHSCRIPT_SOURCE_H
