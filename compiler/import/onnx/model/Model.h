//===- Model.h - An ONNX model as plain data --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the reader makes of a ModelProto: checked, its tensors decoded, local
/// functions inlined, nodes in an order in which each follows what it reads.
/// Nothing here knows protobuf or MLIR.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_MODEL_MODEL_H
#define KPC_COMPILER_IMPORT_ONNX_MODEL_MODEL_H

#include "compiler/diagnostics/Diagnostics.h"
#include "compiler/import/onnx/model/ElementType.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kpc::onnx {

/// Dense data. `Bytes` is what ONNX calls raw data: little endian, row major,
/// elements of less than a byte packed; its length always fits dims and type.
struct Tensor {
  std::string Name;
  ElementType Type = ElementType::Undefined;
  std::vector<int64_t> Dims;
  std::span<const uint8_t> Bytes;
  /// Owns what `Bytes` shows: a buffer or a mapped file.
  std::shared_ptr<const void> Keep;
  /// External data: the file (relative to the model's folder) and the offset.
  std::string File;
  uint64_t Offset = 0;
  /// The elements of a string tensor; then `Bytes` is empty.
  std::vector<std::string> Strings;

  int64_t count() const;
  /// The elements as integers, for integer and bool tensors; none otherwise.
  std::optional<std::vector<int64_t>> integers() const;
  /// The elements as doubles, for every real type of at least a byte.
  std::optional<std::vector<double>> reals() const;

  static Tensor ofIntegers(std::string Name, std::vector<int64_t> Dims,
                           const std::vector<int64_t> &Values);
  static Tensor ofFloats(std::string Name, std::vector<int64_t> Dims,
                         const std::vector<float> &Values);
};

/// The number of elements; none if a dim is negative or the product of the
/// dims that are not 0 leaves int64_t.
std::optional<int64_t> elementCount(std::span<const int64_t> Dims);
/// "[2, 3]"
std::string dimsText(std::span<const int64_t> Dims);

struct Graph;

/// An attribute's value; which member counts says `Kind`.
struct Attribute {
  enum class Kind {
    Undefined,
    Float,
    Int,
    String,
    Tensor,
    Graph,
    Floats,
    Ints,
    Strings,
    Tensors,
    Graphs,
    EmptyList, ///< a list without elements and without a type
    Other,     ///< sparse tensors and type descriptions
  };
  Kind Is = Kind::Undefined;
  /// Inside a local function: the caller's attribute that gives the value.
  std::string Reference;
  float Float = 0;
  int64_t Int = 0;
  std::string String;
  std::vector<float> Floats;
  std::vector<int64_t> Ints;
  std::vector<std::string> Strings;
  std::vector<Tensor> Tensors;                ///< one for Kind::Tensor
  std::vector<std::shared_ptr<Graph>> Graphs; ///< one for Kind::Graph
};
/// "an int", "a list of floats", for messages.
std::string_view kindName(Attribute::Kind K);

/// An axis: a size, a name (dim_param), or nothing known.
using Dim = std::variant<std::monostate, int64_t, std::string>;

struct ValueInfo {
  enum class Kind { Unknown, Tensor, Sparse, Sequence, Map, Optional };
  std::string Name;
  Kind Is = Kind::Unknown;
  Kind Of = Kind::Unknown; ///< what an optional value holds, if it does
  /// Of a tensor, of a sequence's elements, or of a map's values.
  ElementType Type = ElementType::Undefined;
  std::optional<std::vector<Dim>> Shape;
};

struct Node {
  std::string Name;
  std::string Op;
  std::string Domain; ///< "" for ONNX's own (written "ai.onnx" too)
  std::string Overload;
  int64_t Opset = 0; ///< of its domain, where the node was written; 0: none
  std::vector<std::string> Inputs; ///< "" for one left out
  std::vector<std::string> Outputs;
  std::map<std::string, Attribute, std::less<>> Attributes;
  /// Names of the call nodes it was inlined through, outermost first, capped.
  std::string Path;
  /// The module that it is of, as PyTorch's exporter notes it:
  /// "encoder.layer.3.attention".
  std::string Scope;

  /// For diagnostics.
  ModelPlace place() const;
};

struct Graph {
  std::string Name;
  std::vector<Node> Nodes;
  std::vector<ValueInfo> Inputs;
  std::vector<ValueInfo> Outputs;
  std::map<std::string, Tensor, std::less<>> Initializers;
  /// What the model says of values between nodes.
  std::map<std::string, ValueInfo, std::less<>> Values;
};

/// The body of an operator that the model brings itself.
struct Function {
  std::string Domain, Name, Overload;
  std::vector<std::string> Inputs, Outputs;
  std::vector<std::string> Attributes; ///< without a default
  std::map<std::string, Attribute, std::less<>> Defaults;
  std::vector<Node> Nodes;
};

struct Model {
  int64_t IrVersion = 0;
  std::map<std::string, int64_t, std::less<>> Opsets; ///< by domain
  std::string Producer;
  /// What the maker says of the model: class names, dictionaries and the like.
  std::vector<std::pair<std::string, std::string>> Metadata;
  Graph Main;
  /// Empty after inlining.
  std::vector<Function> Functions;
};

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_MODEL_MODEL_H
