//===- Decode.h - From protobuf messages to plain data ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_MODEL_DECODE_H
#define KPC_COMPILER_IMPORT_ONNX_MODEL_DECODE_H

#include "compiler/import/onnx/model/ExternalData.h"
#include "compiler/import/onnx/model/Model.h"

#include "onnx.pb.h"

namespace kpc::onnx {

/// The newest versions whose schema this reader knows (ONNX 1.22). A newer one
/// may mean something else by the same bytes.
constexpr int64_t NewestIrVersion = 14;
constexpr int64_t NewestOpset = 28;

/// As many dims as a tensor of an artifact may have (artifact::MaxRank). Code
/// that visits pairs of dims relies on there being few.
constexpr size_t HighestRank = 32;

/// Takes messages apart; large strings are moved out of them, not copied.
class Decoder {
public:
  Decoder(ExternalData &External, Diagnostics &Diags)
      : External(External), Diags(Diags) {}

  /// `Result` is filled as far as it goes; faults are in the diagnostics.
  void model(::onnx::ModelProto &Proto, Model &Result);

  /// `Who` names the tensor in messages: "initializer 'w'".
  bool tensor(::onnx::TensorProto &Proto, const std::string &Who,
              const ModelPlace &Where, Tensor &Result);

  /// A sparse tensor, filled with its zeros.
  bool sparse(::onnx::SparseTensorProto &Proto, const std::string &Who,
              const ModelPlace &Where, Tensor &Result);

private:
  using OpsetMap = std::map<std::string, int64_t, std::less<>>;

  void graph(::onnx::GraphProto &Proto, const OpsetMap &Opsets, Graph &Result);
  void node(::onnx::NodeProto &Proto, const OpsetMap &Opsets, Node &Result);
  void function(::onnx::FunctionProto &Proto, const OpsetMap &ModelOpsets,
                Function &Result);
  void attribute(::onnx::AttributeProto &Proto, const OpsetMap &Opsets,
                 const ModelPlace &Where, Attribute &Result);
  void valueInfo(const ::onnx::ValueInfoProto &Proto, ValueInfo &Result);
  /// The version of a set that the model does not list; 0 of others than are
  /// known.
  int64_t unlistedOpset(const std::string &Domain);
  template <typename List> OpsetMap opsets(const List &Imports);
  bool stored(::onnx::TensorProto &Proto, const std::string &Who,
              const ModelPlace &Where, Tensor &Result);
  bool strings(::onnx::TensorProto &Proto, const std::string &Who,
               const ModelPlace &Where, Tensor &Result);

  ExternalData &External;
  Diagnostics &Diags;
  std::set<std::string, std::less<>> Unlisted; ///< sets that were warned of
};

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_MODEL_DECODE_H
