//===- OnnxParts.h - Parts of an ONNX model ---------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Makes smaller models of a model: those that compute some of its values, or
/// that hold some of its nodes. Nodes are those of the main graph; what is in
/// their subgraphs goes with them.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TOOLS_KPC_ONNXPARTS_H
#define KPC_TOOLS_KPC_ONNXPARTS_H

#include "compiler/diagnostics/Diagnostics.h"

#include "onnx.pb.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace kpc::cli {

/// Reads a model as it is in the file, without its external data.
std::optional<::onnx::ModelProto> readOnnx(const std::string &Path,
                                           Diagnostics &Diags);
/// False, and why, where it cannot be written.
bool writeOnnx(const ::onnx::ModelProto &Model, const std::string &Path,
               std::string &Error);
/// The folder that a file is in.
std::string folderOf(const std::string &Path);

/// What a node reads, in its subgraphs too, each name once.
std::vector<std::string> readsOf(const ::onnx::NodeProto &Node);

/// How a model's nodes hang together. The model must outlive it, unchanged.
class OnnxParts {
public:
  using Values = std::map<std::string, ::onnx::ValueInfoProto, std::less<>>;

  explicit OnnxParts(const ::onnx::ModelProto &Model);

  /// The nodes, each behind what it reads.
  const std::vector<int> &order() const { return Order; }
  /// The node that makes a value; -1 where none does.
  int maker(const std::string &Value) const;
  /// The nodes that values are computed by, their own included.
  std::set<int> behind(const std::vector<std::string> &Wanted) const;

  /// The model that computes `Outputs` from the model's inputs.
  ::onnx::ModelProto computing(const std::vector<std::string> &Outputs) const;
  /// The model of some nodes. What they read and none of them makes becomes an
  /// input; outputs are those of the model that they make, and what other nodes
  /// or none read. None where `Types` lacks the type of an input.
  std::optional<::onnx::ModelProto> of(const std::set<int> &Nodes,
                                       const Values &Types) const;

  /// What the model says of its values.
  Values declared() const;

private:
  ::onnx::ModelProto frame() const;
  void addData(const std::set<std::string, std::less<>> &Names,
               ::onnx::GraphProto &Into) const;

  const ::onnx::ModelProto &Model;
  const ::onnx::GraphProto &Graph;
  std::vector<std::vector<std::string>> Reads; ///< by node
  std::map<std::string, int, std::less<>> Makers;
  std::vector<int> Order;
};

} // namespace kpc::cli

#endif // KPC_TOOLS_KPC_ONNXPARTS_H
