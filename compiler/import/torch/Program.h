//===- Program.h - An exported program, as plain data -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a .pt2 archive of torch.export holds. Sizes that depend on symbols stay
/// text here (sympy's srepr), which parseSize reads.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_PROGRAM_H
#define KPC_COMPILER_IMPORT_TORCH_PROGRAM_H

#include "compiler/diagnostics/Diagnostics.h"
#include "dialects/shape/Expr.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kpc::torch {

/// Numbers as torch/_export/serde/schema.py gives them.
enum class ScalarType : int {
  Unknown = 0,
  Byte = 1,
  Char = 2,
  Short = 3,
  Int = 4,
  Long = 5,
  Half = 6,
  Float = 7,
  Double = 8,
  ComplexHalf = 9,
  ComplexFloat = 10,
  ComplexDouble = 11,
  Bool = 12,
  BFloat16 = 13,
  Uint16 = 28,
  Float8E4M3FN = 29,
  Float8E5M2 = 30,
};
/// "float32"; "type 77" for a number that is no type.
std::string typeName(ScalarType T);
bool isComplexType(ScalarType T);
/// Of a complex type that of its parts; else the type itself.
ScalarType partsType(ScalarType T);
/// 0 for one that kpc cannot compute with.
unsigned bytesOf(ScalarType T);

/// A size: a number, an expression as text, or one of dims by their names.
struct Size {
  int64_t Number = 0;
  std::string Text;                                ///< empty: `Number` counts
  std::optional<shape::Expr> Known = std::nullopt; ///< counts before both
};

struct TensorMeta {
  ScalarType Type = ScalarType::Unknown;
  std::vector<Size> Sizes, Strides;
  Size Offset; ///< in elements
};

struct Graph;

struct Argument {
  enum class Kind {
    None,
    Tensor,
    Tensors, ///< some may be None: an empty name
    Int,     ///< a number, or a value's name
    Ints,
    Float,
    Floats,
    Bool,
    Bools,
    Text,
    ScalarType,
    Graph,
    Other, ///< devices, layouts, memory formats: no meaning here
  };
  Kind Is = Kind::None;
  std::string Name; ///< the parameter's name in the operator's schema
  /// Of values: tensors, and symbolic numbers where they are not empty.
  std::vector<std::string> Values;
  std::vector<int64_t> Ints; ///< as many as `Values` for Int and Ints
  std::vector<double> Floats;
  std::string Text;
  std::shared_ptr<Graph> Sub;
};

struct Node {
  std::string Target; ///< "aten.add.Tensor"
  std::string Name;
  std::vector<Argument> Inputs, Outputs;
  /// The innermost module, as "layers.0.attention"; empty at the top.
  std::string Module;
  /// "model.py:12: y = self.linear(x)"; empty if the archive has none.
  std::string Source;
};

struct Graph {
  std::vector<Argument> Inputs, Outputs;
  std::vector<Node> Nodes;
  std::map<std::string, TensorMeta, std::less<>> Tensors;
  /// Symbolic integers by name.
  std::map<std::string, Size, std::less<>> Numbers;
  /// Symbolic conditions by name: "GreaterThan(Symbol('s0'), Integer(2))".
  std::map<std::string, std::string, std::less<>> Conditions;
};

struct InputSpec {
  enum class Kind { User, Parameter, Buffer, Constant, CustomObject, Token };
  Kind Is = Kind::User;
  Argument Value;
  std::string Target; ///< a parameter's full name
};

struct OutputSpec {
  enum class Kind { User, BufferMutation, InputMutation, Other };
  Kind Is = Kind::User;
  Argument Value;
  std::string Target; ///< the buffer or the input
};

/// A parameter, a buffer or a constant. `Bytes` is a storage, which the strides
/// and the offset of `Meta` pick elements from.
struct Payload {
  TensorMeta Meta;
  std::span<const uint8_t> Bytes;
  std::shared_ptr<const void> Keep;
  std::string File; ///< in the archive; tied ones share it
};

struct Program {
  std::string TorchVersion;
  Graph Main;
  std::vector<InputSpec> Inputs;
  std::vector<OutputSpec> Outputs;
  std::map<std::string, Payload, std::less<>> Payloads;
  struct Range {
    int64_t Min = 0, Max = INT64_MAX;
  };
  std::map<std::string, Range, std::less<>> Ranges; ///< by symbol
  /// What PyTorch assumed of inputs' sizes, as Python.
  std::vector<std::string> Guards;
  /// Names of the user's inputs and outputs, by their places in the trees.
  std::vector<std::string> InputNames, OutputNames;
  /// Symbols that the user named; others are called by where they stand.
  std::map<std::string, std::string, std::less<>> DimNames;
  /// Whether all nodes are here, and every result is declared. Else nodes come
  /// one by one, and results are what their operators give.
  bool Complete = true;
};

/// The archive in a file. None after a report.
std::optional<Program> readProgram(const std::string &Path, Diagnostics &Diags);

/// A symbol of the program and the name it has for users.
struct NamedSymbol {
  std::string Symbol, Name;
  std::string Input; ///< where it is named; empty: nowhere
  size_t Axis = 0;
  bool ByData = false; ///< what the program computes decides it
};
std::vector<NamedSymbol> namedSymbols(const Program &P);

/// The symbol that a size is, and nothing else; empty if it is more.
std::string loneSymbol(const std::string &Text);

/// Letters, digits and '_' alone, the first no digit.
std::string plainName(const std::string &Wanted);
/// What the user calls the `Place`-th output.
std::string outputName(const Program &P, size_t Place);
/// Whether an input is a tensor that the user gives.
bool isTensorInput(const InputSpec &S);

/// Reads sympy's srepr; `Symbols` gives what each stands for. None if it holds
/// a symbol without an entry or an operator that no size has.
std::optional<shape::Expr>
parseSize(std::string_view Text,
          const std::map<std::string, shape::Expr, std::less<>> &Symbols);

/// A relation of two sizes: `Left < Right`, `Left <= Right`, or one of
/// equality.
struct Relation {
  enum class Kind { Less, LessOrEqual, Equal, NotEqual };
  Kind Is = Kind::Equal;
  shape::Expr Left, Right;
};
/// Reads what sympy writes of a condition; none for other ones.
std::optional<Relation>
parseRelation(std::string_view Text,
              const std::map<std::string, shape::Expr, std::less<>> &Symbols);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_PROGRAM_H
