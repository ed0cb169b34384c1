//===- DecodeAttribute.cpp - AttributeProto to plain data -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/Decode.h"

namespace kpc::onnx {

using Kind = Attribute::Kind;

/// The kinds whose fields are there.
static std::vector<Kind> presentKinds(const ::onnx::AttributeProto &P) {
  std::vector<Kind> Present;
  auto Add = [&](bool There, Kind K) {
    if (There)
      Present.push_back(K);
  };
  Add(P.has_f(), Kind::Float);
  Add(P.has_i(), Kind::Int);
  Add(P.has_s(), Kind::String);
  Add(P.has_t(), Kind::Tensor);
  Add(P.has_g(), Kind::Graph);
  Add(P.floats_size() > 0, Kind::Floats);
  Add(P.ints_size() > 0, Kind::Ints);
  Add(P.strings_size() > 0, Kind::Strings);
  Add(P.tensors_size() > 0, Kind::Tensors);
  Add(P.graphs_size() > 0, Kind::Graphs);
  Add(P.has_sparse_tensor() || P.has_tp() || P.sparse_tensors_size() > 0 ||
          P.type_protos_size() > 0,
      Kind::Other);
  return Present;
}

static Kind declaredKind(::onnx::AttributeProto::AttributeType Type) {
  switch (Type) {
  case ::onnx::AttributeProto::FLOAT:
    return Kind::Float;
  case ::onnx::AttributeProto::INT:
    return Kind::Int;
  case ::onnx::AttributeProto::STRING:
    return Kind::String;
  case ::onnx::AttributeProto::TENSOR:
    return Kind::Tensor;
  case ::onnx::AttributeProto::GRAPH:
    return Kind::Graph;
  case ::onnx::AttributeProto::FLOATS:
    return Kind::Floats;
  case ::onnx::AttributeProto::INTS:
    return Kind::Ints;
  case ::onnx::AttributeProto::STRINGS:
    return Kind::Strings;
  case ::onnx::AttributeProto::TENSORS:
    return Kind::Tensors;
  case ::onnx::AttributeProto::GRAPHS:
    return Kind::Graphs;
  case ::onnx::AttributeProto::UNDEFINED:
    return Kind::Undefined;
  default:
    return Kind::Other;
  }
}

void Decoder::attribute(::onnx::AttributeProto &Proto, const OpsetMap &Opsets,
                        const ModelPlace &Where, Attribute &Result) {
  std::string Who = "attribute '" + printable(Proto.name()) + "'";
  Result.Reference = Proto.ref_attr_name();
  std::vector<Kind> Present = presentKinds(Proto);
  Result.Is = declaredKind(Proto.type());
  if (!Result.Reference.empty())
    return;
  // IR 1 wrote no type: the one field that is there tells.
  if (Result.Is == Kind::Undefined)
    Result.Is = Present.empty() ? Kind::EmptyList : Present.front();
  bool Matches =
      Present.empty() || (Present.size() == 1 && Present.front() == Result.Is);
  if (!Matches) {
    Kind Found = Present.front() == Result.Is ? Present[1] : Present.front();
    Diags.error(Code::ImportAttributeType)
        .at(Where)
        .message(Who + " says it is " + std::string(kindName(Result.Is)) +
                 ", but holds " + std::string(kindName(Found)));
    Result.Is = Kind::Undefined;
    return;
  }
  Result.Float = Proto.f();
  Result.Int = Proto.i();
  Result.String = Proto.s();
  Result.Floats.assign(Proto.floats().begin(), Proto.floats().end());
  Result.Ints.assign(Proto.ints().begin(), Proto.ints().end());
  Result.Strings.assign(Proto.strings().begin(), Proto.strings().end());
  if (Result.Is == Kind::Tensor)
    tensor(*Proto.mutable_t(), Who, Where, Result.Tensors.emplace_back());
  // Constant's, with its zeros; nothing else has one.
  if (Proto.has_sparse_tensor() && Proto.name() == "sparse_value") {
    sparse(*Proto.mutable_sparse_tensor(), Who, Where,
           Result.Tensors.emplace_back());
    Result.Is = Kind::Tensor;
  }
  for (::onnx::TensorProto &T : *Proto.mutable_tensors())
    tensor(T, Who, Where, Result.Tensors.emplace_back());
  auto AddGraph = [&](::onnx::GraphProto &G) {
    Result.Graphs.push_back(std::make_shared<Graph>());
    graph(G, Opsets, *Result.Graphs.back());
  };
  if (Result.Is == Kind::Graph)
    AddGraph(*Proto.mutable_g());
  for (::onnx::GraphProto &G : *Proto.mutable_graphs())
    AddGraph(G);
}

} // namespace kpc::onnx
