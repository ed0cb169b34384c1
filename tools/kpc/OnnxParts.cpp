//===- OnnxParts.cpp - Parts of an ONNX model -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/OnnxParts.h"

#include "compiler/import/onnx/model/MappedFile.h"
#include "compiler/workers/Subprocess.h"

#include <climits>
#include <filesystem>
#include <google/protobuf/io/coded_stream.h>

namespace kpc::cli {

using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;

/// As deep as kpc's own reader takes messages.
static constexpr int MessageDepth = 128;

std::string folderOf(const std::string &Path) {
  std::string Folder = std::filesystem::path(Path).parent_path().string();
  return Folder.empty() ? "." : Folder;
}

std::optional<ModelProto> readOnnx(const std::string &Path,
                                   Diagnostics &Diags) {
  std::string Why;
  auto File = onnx::MappedFile::open(Path, Why);
  if (!File) {
    Diags.error(Code::ImportUnreadable)
        .message("the file '" + printable(Path) + "' cannot be read: " + Why);
    return std::nullopt;
  }
  ModelProto Model;
  size_t Size = File->bytes().size();
  google::protobuf::io::CodedInputStream Stream(
      File->bytes().data(), static_cast<int>(std::min<size_t>(Size, INT_MAX)));
  Stream.SetRecursionLimit(MessageDepth);
  if (Size > INT_MAX || !Model.ParseFromCodedStream(&Stream) ||
      !Stream.ConsumedEntireMessage() || !Model.has_graph()) {
    Diags.error(Code::ImportNotOnnx)
        .message("the file '" + printable(Path) + "' is not an ONNX model")
        .hint("`kpc check` says what is wrong with it");
    return std::nullopt;
  }
  return Model;
}

bool writeOnnx(const ModelProto &Model, const std::string &Path,
               std::string &Error) {
  std::string Bytes;
  if (!Model.SerializePartialToString(&Bytes)) {
    Error = "a model of more than 2 GiB cannot be written";
    return false;
  }
  return writeFile(Path, Bytes, Error);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Names that a graph reads from around it. A subgraph that nests deeper than
/// the reader takes is never here, so the recursion ends.
static void addOuterReads(const GraphProto &Graph,
                          std::set<std::string> &Reads);

static void addReads(const NodeProto &Node, std::set<std::string> &Reads) {
  for (const std::string &Name : Node.input())
    if (!Name.empty())
      Reads.insert(Name);
  for (const auto &Attribute : Node.attribute()) {
    if (Attribute.has_g())
      addOuterReads(Attribute.g(), Reads);
    for (const GraphProto &Graph : Attribute.graphs())
      addOuterReads(Graph, Reads);
  }
}

static void addOuterReads(const GraphProto &Graph,
                          std::set<std::string> &Reads) {
  std::set<std::string> All;
  for (const NodeProto &Node : Graph.node())
    addReads(Node, All);
  for (const auto &Output : Graph.output())
    All.insert(Output.name());
  for (const NodeProto &Node : Graph.node())
    for (const std::string &Name : Node.output())
      All.erase(Name);
  for (const auto &Input : Graph.input())
    All.erase(Input.name());
  for (const auto &Data : Graph.initializer())
    All.erase(Data.name());
  for (const auto &Data : Graph.sparse_initializer())
    All.erase(Data.values().name());
  Reads.merge(All);
}

std::vector<std::string> readsOf(const NodeProto &Node) {
  std::set<std::string> Reads;
  addReads(Node, Reads);
  return {Reads.begin(), Reads.end()};
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

OnnxParts::OnnxParts(const ModelProto &Model)
    : Model(Model), Graph(Model.graph()) {
  int Count = Graph.node_size();
  Reads.reserve(size_t(Count));
  for (int I = 0; I < Count; ++I) {
    Reads.push_back(readsOf(Graph.node(I)));
    for (const std::string &Name : Graph.node(I).output())
      if (!Name.empty())
        Makers.try_emplace(Name, I);
  }
  // Depth first, without recursion; nodes of a cycle come in any order.
  std::vector<char> State(size_t(Count), 0);
  Order.reserve(size_t(Count));
  for (int Root = 0; Root < Count; ++Root) {
    std::vector<std::pair<int, size_t>> Stack;
    if (!State[size_t(Root)])
      Stack.emplace_back(Root, 0);
    State[size_t(Root)] = 1;
    while (!Stack.empty()) {
      auto &[Node, Next] = Stack.back();
      const std::vector<std::string> &Own = Reads[size_t(Node)];
      int Before = -1;
      while (Next < Own.size() && Before < 0) {
        int Maker = maker(Own[Next++]);
        if (Maker >= 0 && !State[size_t(Maker)])
          Before = Maker;
      }
      if (Before >= 0) {
        State[size_t(Before)] = 1;
        Stack.emplace_back(Before, 0);
        continue;
      }
      Order.push_back(Node);
      Stack.pop_back();
    }
  }
}

int OnnxParts::maker(const std::string &Value) const {
  auto It = Makers.find(Value);
  return It == Makers.end() ? -1 : It->second;
}

std::set<int> OnnxParts::behind(const std::vector<std::string> &Wanted) const {
  std::set<int> Found;
  std::vector<std::string> Work = Wanted;
  while (!Work.empty()) {
    int Node = maker(Work.back());
    Work.pop_back();
    if (Node >= 0 && Found.insert(Node).second)
      Work.insert(Work.end(), Reads[size_t(Node)].begin(),
                  Reads[size_t(Node)].end());
  }
  return Found;
}

OnnxParts::Values OnnxParts::declared() const {
  Values Known;
  for (const auto *List :
       {&Graph.input(), &Graph.output(), &Graph.value_info()})
    for (const auto &V : *List)
      if (V.has_type())
        Known.try_emplace(V.name(), V);
  return Known;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Everything but the graph's nodes, values and data, which are large.
ModelProto OnnxParts::frame() const {
  ModelProto Out;
  Out.set_ir_version(Model.ir_version());
  Out.set_producer_name(Model.producer_name());
  *Out.mutable_opset_import() = Model.opset_import();
  *Out.mutable_functions() = Model.functions();
  Out.mutable_graph()->set_name(Graph.name());
  return Out;
}

void OnnxParts::addData(const std::set<std::string, std::less<>> &Names,
                        GraphProto &Into) const {
  for (const auto &Data : Graph.initializer())
    if (Names.count(Data.name()))
      *Into.add_initializer() = Data;
  for (const auto &Data : Graph.sparse_initializer())
    if (Names.count(Data.values().name()))
      *Into.add_sparse_initializer() = Data;
}

ModelProto OnnxParts::computing(const std::vector<std::string> &Outputs) const {
  ModelProto Out = frame();
  GraphProto &Into = *Out.mutable_graph();
  std::set<int> Needed = behind(Outputs);
  std::set<std::string, std::less<>> Used(Outputs.begin(), Outputs.end());
  for (int Node : Order)
    if (Needed.count(Node)) {
      *Into.add_node() = Graph.node(Node);
      Used.insert(Reads[size_t(Node)].begin(), Reads[size_t(Node)].end());
    }
  *Into.mutable_input() = Graph.input();
  addData(Used, Into);
  Values Known = declared();
  for (const std::string &Name : Outputs) {
    auto It = Known.find(Name);
    if (It != Known.end())
      *Into.add_output() = It->second;
    else
      Into.add_output()->set_name(Name);
  }
  return Out;
}

std::optional<ModelProto> OnnxParts::of(const std::set<int> &Nodes,
                                        const Values &Types) const {
  ModelProto Out = frame();
  GraphProto &Into = *Out.mutable_graph();
  std::set<std::string, std::less<>> Made, Read, ReadElsewhere, Given, Data;
  for (int Node : Order) {
    bool Kept = Nodes.count(Node);
    (Kept ? Read : ReadElsewhere)
        .insert(Reads[size_t(Node)].begin(), Reads[size_t(Node)].end());
    if (!Kept)
      continue;
    *Into.add_node() = Graph.node(Node);
    for (const std::string &Name : Graph.node(Node).output())
      if (!Name.empty())
        Made.insert(Name);
  }
  for (const auto &T : Graph.initializer())
    Data.insert(T.name());
  for (const auto &T : Graph.sparse_initializer())
    Data.insert(T.values().name());
  // The model's own inputs first, in their order.
  for (const auto &V : Graph.input())
    if (Read.count(V.name()) && Given.insert(V.name()).second)
      *Into.add_input() = V;
  for (const std::string &Name : Read) {
    if (Made.count(Name) || Given.count(Name) || Data.count(Name))
      continue;
    auto It = Types.find(Name);
    if (It == Types.end())
      return std::nullopt;
    *Into.add_input() = It->second;
  }
  addData(Read, Into);
  std::set<std::string, std::less<>> Listed;
  auto List = [&](const std::string &Name) {
    if (!Made.count(Name) || !Listed.insert(Name).second)
      return;
    auto It = Types.find(Name);
    if (It != Types.end())
      *Into.add_output() = It->second;
    else
      Into.add_output()->set_name(Name);
  };
  for (const auto &V : Graph.output())
    List(V.name());
  for (const NodeProto &Node : Into.node())
    for (const std::string &Name : Node.output())
      if (ReadElsewhere.count(Name) || !Read.count(Name))
        List(Name);
  return Out;
}

} // namespace kpc::cli
