//===- DecodeGraph.cpp - GraphProto and its parts to plain data -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/Decode.h"

#include "compiler/import/onnx/model/Wire.h"

#include <algorithm>
#include <utility>

namespace kpc::onnx {

// Fields newer than the packaged schema (onnx.proto of ONNX 1.22).
static constexpr uint64_t NodeOverload = 8;
static constexpr uint64_t NodeMetadata = 9;
static constexpr uint64_t FunctionAttributeProto = 11;
static constexpr uint64_t FunctionOverload = 13;

/// A string field that the generated classes do not name. The lite runtime,
/// which the schema asks for, keeps such fields as the bytes they came in.
static std::string unknownString(const std::string &Unknown, uint64_t Number) {
  std::string Value;
  forEachField(Unknown, [&](uint64_t N, std::string_view V) {
    if (N == Number)
      Value = V;
  });
  return Value;
}

/// The last but one of "['', 'encoder', 'encoder.layer.0', 'linear_3']": the
/// list goes from the whole model to the node itself.
static std::string scopeOfList(std::string_view List) {
  std::string Scope, Last;
  for (size_t At = 0; At < List.size(); ++At) {
    char Quote = List[At];
    if (Quote != '\'' && Quote != '"')
      continue;
    size_t End = std::min(List.find(Quote, At + 1), List.size());
    Scope = std::exchange(Last, List.substr(At + 1, End - At - 1));
    At = End;
  }
  return Scope;
}

/// What torch.onnx notes of a node, in the fields of ONNX 1.16 and later.
static std::string scopeOf(const std::string &Unknown) {
  std::string Scope;
  forEachField(Unknown, [&](uint64_t N, std::string_view V) {
    ::onnx::StringStringEntryProto Entry;
    if (N == NodeMetadata && Entry.ParseFromString(std::string(V)) &&
        Entry.key() == "pkg.torch.onnx.name_scopes")
      Scope = scopeOfList(Entry.value());
  });
  return Scope;
}

static std::string plainDomain(const std::string &Domain) {
  return Domain == "ai.onnx" ? "" : Domain;
}

template <typename List>
Decoder::OpsetMap Decoder::opsets(const List &Imports) {
  OpsetMap Result;
  for (const ::onnx::OperatorSetIdProto &Import : Imports) {
    std::string Domain = plainDomain(Import.domain());
    int64_t Version = Import.version();
    std::string Name = Domain.empty() ? "ai.onnx" : printable(Domain);
    if (Version < 1 || (Domain.empty() && Version > NewestOpset))
      Diags.error(Code::ImportOpset)
          .message("the model asks for version " + std::to_string(Version) +
                   " of operator set '" + Name + "'; kpc knows 1 to " +
                   std::to_string(NewestOpset));
    auto [It, New] = Result.emplace(Domain, Version);
    if (New || It->second == Version)
      continue;
    // As onnxruntime takes it.
    Diags.warning(Code::ImportTolerated)
        .message("the model asks for two versions of operator set '" + Name +
                 "', " + std::to_string(It->second) + " and " +
                 std::to_string(Version) + "; the last counts");
    It->second = Version;
  }
  return Result;
}

void Decoder::model(::onnx::ModelProto &Proto, Model &Result) {
  Result.IrVersion = Proto.ir_version();
  Result.Producer = Proto.producer_name();
  for (const ::onnx::StringStringEntryProto &Entry : Proto.metadata_props())
    Result.Metadata.emplace_back(Entry.key(), Entry.value());
  if (!Proto.has_graph()) {
    Diags.error(Code::ImportNoGraph).message("the model has no graph");
    return;
  }
  if (Result.IrVersion == 0 && !Proto.opset_import().empty())
    Diags.warning(Code::ImportTolerated)
        .message("the model has no IR version; its operator sets say enough");
  else if (Result.IrVersion < 1 || Result.IrVersion > NewestIrVersion)
    Diags.error(Code::ImportMalformed)
        .message("the model has IR version " +
                 std::to_string(Result.IrVersion) + "; kpc knows 1 to " +
                 std::to_string(NewestIrVersion))
        .hint("save the model with an IR version that kpc knows");
  Result.Opsets = opsets(Proto.opset_import());
  // Operator sets have versions since IR 3; before, there was only the first.
  if (Result.IrVersion < 3 && Result.Opsets.empty())
    Result.Opsets[""] = 1;
  if (Result.Opsets.empty())
    Diags.error(Code::ImportOpset)
        .message("the model does not say which operator sets it uses");
  auto IsPlain = [](const ::onnx::NodeProto &N) {
    return plainDomain(N.domain()).empty();
  };
  if (!Result.Opsets.empty() && !Result.Opsets.count("") &&
      std::any_of(Proto.graph().node().begin(), Proto.graph().node().end(),
                  IsPlain)) {
    Result.Opsets[""] = NewestOpset;
    Diags.warning(Code::ImportTolerated)
        .message("the model does not say which version of operator set "
                 "'ai.onnx' it uses; the newest is taken, " +
                 std::to_string(NewestOpset));
  }
  graph(*Proto.mutable_graph(), Result.Opsets, Result.Main);
  for (::onnx::FunctionProto &F : *Proto.mutable_functions())
    function(F, Result.Opsets, Result.Functions.emplace_back());
  if (Result.Main.Outputs.empty())
    Diags.error(Code::ImportNoGraph)
        .message("the model's graph has no outputs");
}

void Decoder::graph(::onnx::GraphProto &Proto, const OpsetMap &Opsets,
                    Graph &Result) {
  Result.Name = Proto.name();
  for (::onnx::TensorProto &T : *Proto.mutable_initializer()) {
    Tensor Value;
    std::string Name = T.name();
    bool Good = tensor(T, "initializer '" + printable(Name) + "'", {}, Value);
    // A damaged one still counts as defined: one fault, one message.
    if (Name.empty()) {
      Diags.warning(Code::ImportTolerated)
          .message("an initializer has no name; nothing can read it");
    } else if (!Result.Initializers.insert_or_assign(Name, std::move(Value))
                    .second) {
      Diags.warning(Code::ImportTolerated)
          .message("initializer '" + printable(Name) +
                   "' is defined twice; the last counts");
    }
    (void)Good;
  }
  for (::onnx::SparseTensorProto &T : *Proto.mutable_sparse_initializer()) {
    std::string Name = T.values().name();
    Tensor Value;
    // As above: a damaged one still counts as defined.
    (void)sparse(T, "initializer '" + printable(Name) + "'", {}, Value);
    Result.Initializers.try_emplace(Name, std::move(Value));
  }
  for (const ::onnx::ValueInfoProto &V : Proto.input()) {
    ValueInfo Info;
    valueInfo(V, Info);
    // Up to IR 3 initializers had to be inputs as well; later that makes a
    // default that a caller may replace. Here they are constants.
    if (!Result.Initializers.count(Info.Name))
      Result.Inputs.push_back(std::move(Info));
  }
  for (const ::onnx::ValueInfoProto &V : Proto.output())
    valueInfo(V, Result.Outputs.emplace_back());
  for (const ::onnx::ValueInfoProto &V : Proto.value_info()) {
    ValueInfo Info;
    valueInfo(V, Info);
    std::string Name = Info.Name;
    Result.Values.emplace(std::move(Name), std::move(Info));
  }
  Result.Nodes.resize(static_cast<size_t>(Proto.node_size()));
  for (int I = 0; I < Proto.node_size(); ++I)
    node(*Proto.mutable_node(I), Opsets, Result.Nodes[static_cast<size_t>(I)]);
}

int64_t Decoder::unlistedOpset(const std::string &Domain) {
  // Of ONNX Runtime's operators there is one version, which its optimiser uses
  // without listing it.
  static const std::map<std::string, int64_t, std::less<>> Newest = {
      {"com.microsoft", 1}, {"ai.onnx.ml", 5}, {"trt", 1}};
  auto It = Newest.find(Domain);
  if (It == Newest.end())
    return 0;
  if (Unlisted.insert(Domain).second)
    Diags.warning(Code::ImportTolerated)
        .message("the model does not say which version of operator set '" +
                 Domain + "' it uses; the newest is taken, " +
                 std::to_string(It->second));
  return It->second;
}

void Decoder::node(::onnx::NodeProto &Proto, const OpsetMap &Opsets,
                   Node &Result) {
  Result.Name = Proto.name();
  Result.Op = Proto.op_type();
  Result.Domain = plainDomain(Proto.domain());
  Result.Overload = unknownString(Proto.unknown_fields(), NodeOverload);
  Result.Scope = scopeOf(Proto.unknown_fields());
  auto Opset = Opsets.find(Result.Domain);
  Result.Opset =
      Opset == Opsets.end() ? unlistedOpset(Result.Domain) : Opset->second;
  for (std::string &Name : *Proto.mutable_input())
    Result.Inputs.push_back(std::move(Name));
  for (std::string &Name : *Proto.mutable_output())
    Result.Outputs.push_back(std::move(Name));
  ModelPlace Where = Result.place();
  if (Result.Op.empty())
    Diags.error(Code::ImportMalformed)
        .at(Where)
        .message("a node has no operator");
  for (::onnx::AttributeProto &A : *Proto.mutable_attribute()) {
    Attribute Value;
    std::string Name = A.name();
    attribute(A, Opsets, Where, Value);
    if (!Result.Attributes.emplace(Name, std::move(Value)).second)
      Diags.error(Code::ImportMalformed)
          .at(Where)
          .message("attribute '" + printable(Name) + "' is given twice");
  }
}

void Decoder::function(::onnx::FunctionProto &Proto,
                       const OpsetMap &ModelOpsets, Function &Result) {
  Result.Name = Proto.name();
  Result.Domain = plainDomain(Proto.domain());
  Result.Overload = unknownString(Proto.unknown_fields(), FunctionOverload);
  OpsetMap Opsets = opsets(Proto.opset_import());
  // What a function does not import it takes from the model.
  Opsets.insert(ModelOpsets.begin(), ModelOpsets.end());
  Result.Inputs.assign(Proto.input().begin(), Proto.input().end());
  Result.Outputs.assign(Proto.output().begin(), Proto.output().end());
  Result.Attributes.assign(Proto.attribute().begin(), Proto.attribute().end());
  ModelPlace Where;
  Where.Op =
      Result.Domain.empty() ? Result.Name : Result.Domain + "." + Result.Name;
  forEachField(Proto.unknown_fields(), [&](uint64_t N, std::string_view V) {
    ::onnx::AttributeProto Default;
    if (N != FunctionAttributeProto)
      return;
    if (!Default.ParseFromString(std::string(V))) {
      Diags.error(Code::ImportMalformed)
          .at(Where)
          .message("the default of a function's attribute is damaged");
      return;
    }
    Attribute Value;
    attribute(Default, Opsets, Where, Value);
    Result.Defaults.emplace(Default.name(), std::move(Value));
  });
  Result.Nodes.resize(static_cast<size_t>(Proto.node_size()));
  for (int I = 0; I < Proto.node_size(); ++I)
    node(*Proto.mutable_node(I), Opsets, Result.Nodes[static_cast<size_t>(I)]);
}

static ValueInfo::Kind kindOf(const ::onnx::TypeProto &Type) {
  switch (Type.value_case()) {
  case ::onnx::TypeProto::kSequenceType:
    return ValueInfo::Kind::Sequence;
  case ::onnx::TypeProto::kMapType:
    return ValueInfo::Kind::Map;
  case ::onnx::TypeProto::kOptionalType:
    return ValueInfo::Kind::Optional;
  case ::onnx::TypeProto::kSparseTensorType:
    return ValueInfo::Kind::Sparse;
  case ::onnx::TypeProto::kTensorType:
    return ValueInfo::Kind::Tensor;
  default:
    return ValueInfo::Kind::Unknown;
  }
}

void Decoder::valueInfo(const ::onnx::ValueInfoProto &Proto,
                        ValueInfo &Result) {
  Result.Name = Proto.name();
  if (!Proto.has_type())
    return;
  const ::onnx::TypeProto *Type = &Proto.type();
  Result.Is = kindOf(*Type);
  ValueInfo::Kind Inner = Result.Is;
  if (Inner == ValueInfo::Kind::Optional) {
    Type = &Type->optional_type().elem_type();
    Inner = Result.Of = kindOf(*Type);
  }
  if (Inner == ValueInfo::Kind::Sequence) {
    Type = &Type->sequence_type().elem_type();
    Inner = kindOf(*Type);
  }
  if (Inner == ValueInfo::Kind::Map) { // its values are the tensor
    bool IsMap = Result.Is == Inner || Result.Of == Inner;
    Type = &Type->map_type().value_type();
    if (IsMap && kindOf(*Type) == ValueInfo::Kind::Tensor)
      Result.Type = elementType(Type->tensor_type().elem_type())
                        .value_or(ElementType::Undefined);
    return;
  }
  if (Inner != ValueInfo::Kind::Tensor)
    return;
  const ::onnx::TypeProto::Tensor &T = Type->tensor_type();
  std::string Who = "value '" + printable(Result.Name) + "'";
  if (std::optional<ElementType> Element = elementType(T.elem_type()))
    Result.Type = *Element;
  else
    Diags.error(Code::ImportElementType)
        .message(Who + " has the element type number " +
                 std::to_string(T.elem_type()) + ", which ONNX does not define")
        .hint("export the model again");
  if (!T.has_shape())
    return;
  if (static_cast<size_t>(T.shape().dim_size()) > HighestRank) {
    Diags.error(Code::ImportRank)
        .message(Who + " has rank " + std::to_string(T.shape().dim_size()) +
                 "; kpc takes up to " + std::to_string(HighestRank));
    return;
  }
  Result.Shape.emplace();
  std::vector<int64_t> Known;
  for (const ::onnx::TensorShapeProto::Dimension &D : T.shape().dim()) {
    Dim &Axis = Result.Shape->emplace_back();
    // Some exporters write -1 for a size that is not known.
    if (D.has_dim_value() && D.dim_value() >= 0) {
      Axis = static_cast<int64_t>(D.dim_value());
      Known.push_back(D.dim_value());
    } else if (!D.has_dim_value() && !D.dim_param().empty()) {
      Axis = D.dim_param();
    }
  }
  if (!elementCount(Known))
    Diags.error(Code::ImportBadDims)
        .message(Who + " has the dims " + dimsText(Known) + ", which overflow")
        .hint("a dim that is not known is given by a name or left empty");
}

} // namespace kpc::onnx
