//===- Models.h - Builds small ONNX models for tests ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_ONNX_MODELS_H
#define KPC_TEST_UNIT_ONNX_MODELS_H

#include "onnx.pb.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

namespace kpc::onnx::test {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

/// An empty model of IR 8 and the given opset.
inline ModelProto model(int64_t Opset = 17) {
  ModelProto M;
  M.set_ir_version(8);
  auto *Import = M.add_opset_import();
  Import->set_domain("");
  Import->set_version(Opset);
  M.mutable_graph()->set_name("g");
  return M;
}

/// Dims below 0 get the name "d0", "d1", ….
inline void describe(::onnx::ValueInfoProto *V, const std::string &Name,
                     const std::vector<int64_t> &Dims, int Type = 1) {
  V->set_name(Name);
  auto *T = V->mutable_type()->mutable_tensor_type();
  T->set_elem_type(Type);
  auto *Shape = T->mutable_shape();
  for (size_t I = 0; I < Dims.size(); ++I) {
    auto *D = Shape->add_dim();
    if (Dims[I] < 0)
      D->set_dim_param("d" + std::to_string(I));
    else
      D->set_dim_value(Dims[I]);
  }
}

inline void input(ModelProto &M, const std::string &Name,
                  const std::vector<int64_t> &Dims, int Type = 1) {
  describe(M.mutable_graph()->add_input(), Name, Dims, Type);
}

inline void output(ModelProto &M, const std::string &Name,
                   const std::vector<int64_t> &Dims, int Type = 1) {
  describe(M.mutable_graph()->add_output(), Name, Dims, Type);
}

/// An output of which the model says nothing.
inline void output(ModelProto &M, const std::string &Name) {
  M.mutable_graph()->add_output()->set_name(Name);
}

inline void output(GraphProto &G, const std::string &Name) {
  describe(G.add_output(), Name, {});
}

inline NodeProto *fill(NodeProto *N, const std::string &Op,
                       const std::vector<std::string> &Inputs,
                       const std::vector<std::string> &Outputs,
                       const std::string &Name = "") {
  N->set_op_type(Op);
  N->set_name(Name);
  for (const std::string &I : Inputs)
    N->add_input(I);
  for (const std::string &O : Outputs)
    N->add_output(O);
  return N;
}

inline NodeProto *node(ModelProto &M, const std::string &Op,
                       const std::vector<std::string> &Inputs,
                       const std::vector<std::string> &Outputs,
                       const std::string &Name = "") {
  return fill(M.mutable_graph()->add_node(), Op, Inputs, Outputs, Name);
}

inline AttributeProto *attribute(NodeProto *N, const std::string &Name,
                                 AttributeProto::AttributeType Type) {
  AttributeProto *A = N->add_attribute();
  A->set_name(Name);
  A->set_type(Type);
  return A;
}

inline void intAttribute(NodeProto *N, const std::string &Name, int64_t V) {
  attribute(N, Name, AttributeProto::INT)->set_i(V);
}

inline void intsAttribute(NodeProto *N, const std::string &Name,
                          const std::vector<int64_t> &V) {
  AttributeProto *A = attribute(N, Name, AttributeProto::INTS);
  for (int64_t I : V)
    A->add_ints(I);
}

inline TensorProto *initializer(ModelProto &M, const std::string &Name,
                                const std::vector<int64_t> &Dims,
                                int Type = 1) {
  TensorProto *T = M.mutable_graph()->add_initializer();
  T->set_name(Name);
  T->set_data_type(Type);
  for (int64_t D : Dims)
    T->add_dims(D);
  return T;
}

inline void int64s(ModelProto &M, const std::string &Name,
                   const std::vector<int64_t> &Dims,
                   const std::vector<int64_t> &Values) {
  TensorProto *T = initializer(M, Name, Dims, TensorProto::INT64);
  for (int64_t V : Values)
    T->add_int64_data(V);
}

inline std::span<const uint8_t> bytes(const std::string &Text) {
  return {reinterpret_cast<const uint8_t *>(Text.data()), Text.size()};
}

/// A folder of its own for a test, removed afterwards.
class Folder {
public:
  Folder() {
    std::string Pattern =
        (std::filesystem::temp_directory_path() / "kpc-onnx-XXXXXX").string();
    Path = ::mkdtemp(Pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(Path); }
  std::string file(const std::string &Name, const std::string &Content) const {
    std::ofstream(Path / Name, std::ios::binary) << Content;
    return (Path / Name).string();
  }
  std::filesystem::path Path;
};

} // namespace kpc::onnx::test

#endif // KPC_TEST_UNIT_ONNX_MODELS_H
