//===- Reduce.cpp - The smallest model that still fails -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools/kpc/Reduce.h"

#include "tools/kpc/ReduceData.h"

#include <algorithm>

namespace kpc::cli {

using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;

namespace {
class Reducer {
public:
  Reducer(ModelProto Model, const Reduction &How)
      : Best(std::move(Model)), How(How) {}
  ModelProto run();

private:
  bool take(ModelProto Candidate);
  bool dropDescriptions();
  bool dropNodes();
  bool dropOutputs();
  bool dropNodeInputs();
  bool shrinkData();
  bool shrinkSizes();
  bool shrinkSize(int64_t Size);
  OnnxParts::Values types() const;

  ModelProto Best;
  const Reduction &How;
  /// Data that was tried: its name and what was done.
  std::set<std::string> Tried;
};
} // namespace

bool Reducer::take(ModelProto Candidate) {
  if (How.Stop() || !How.Fails(Candidate))
    return false;
  Best = std::move(Candidate);
  return true;
}

OnnxParts::Values Reducer::types() const {
  OnnxParts::Values Known = How.TypesOf(Best);
  for (auto &[Name, V] : OnnxParts(Best).declared())
    Known.try_emplace(Name, V);
  return Known;
}

//===----------------------------------------------------------------------===//
// Nodes and values
//===----------------------------------------------------------------------===//

/// What is for people, and what nobody reads.
bool Reducer::dropDescriptions() {
  ModelProto Bare = Best;
  Bare.clear_doc_string();
  Bare.clear_metadata_props();
  Bare.clear_training_info();
  Bare.clear_producer_name();
  Bare.clear_producer_version();
  GraphProto &Graph = *Bare.mutable_graph();
  Graph.clear_doc_string();
  Graph.clear_quantization_annotation();
  for (NodeProto &Node : *Graph.mutable_node())
    Node.clear_doc_string();
  std::set<std::string, std::less<>> Called;
  for (const NodeProto &Node : Graph.node())
    Called.insert(Node.op_type());
  // A body may call another function: all stay where one is called.
  bool Calls = std::any_of(
      Bare.functions().begin(), Bare.functions().end(),
      [&](const auto &Function) { return Called.count(Function.name()); });
  if (!Calls)
    Bare.clear_functions();
  ModelProto Plain = Bare;
  Plain.mutable_graph()->clear_value_info();
  if (Plain.ByteSizeLong() == Best.ByteSizeLong())
    return false;
  return take(std::move(Plain)) || take(std::move(Bare));
}

/// Delta debugging: halves alone, then all but one of ever smaller chunks.
bool Reducer::dropNodes() {
  bool Any = false;
  for (size_t Chunks = 2; !How.Stop();) {
    OnnxParts Parts(Best);
    std::vector<int> All = Parts.order();
    if (All.size() < 2)
      break;
    OnnxParts::Values Known = types();
    Chunks = std::min(Chunks, All.size());
    auto Chunk = [&](size_t I) {
      return std::pair(All.begin() + ptrdiff_t(All.size() * I / Chunks),
                       All.begin() + ptrdiff_t(All.size() * (I + 1) / Chunks));
    };
    bool Smaller = false;
    auto TryNodes = [&](const std::set<int> &Kept) {
      std::optional<ModelProto> Part = Parts.of(Kept, Known);
      // `Parts` shows `Best`, which is another one then.
      Smaller = Part && Part->graph().output_size() && take(std::move(*Part));
    };
    for (size_t I = 0; I < Chunks && !Smaller && Chunks == 2; ++I) {
      auto [First, Last] = Chunk(I);
      TryNodes({First, Last});
    }
    // The last ones first: what a fault is in needs what is in front of it.
    for (size_t I = Chunks; I-- > 0 && !Smaller && Chunks > 2;) {
      auto [First, Last] = Chunk(I);
      std::set<int> Kept(All.begin(), First);
      Kept.insert(Last, All.end());
      TryNodes(Kept);
    }
    Any |= Smaller;
    if (Smaller)
      Chunks = Chunks > 2 ? Chunks - 1 : 2;
    else if (Chunks == All.size())
      break;
    else
      Chunks *= 2;
  }
  return Any;
}

bool Reducer::dropOutputs() {
  bool Any = false;
  for (int I = Best.graph().output_size();
       I-- > 0 && Best.graph().output_size() > 1;) {
    std::vector<std::string> Left;
    for (int K = 0; K < Best.graph().output_size(); ++K)
      if (K != I)
        Left.push_back(Best.graph().output(K).name());
    OnnxParts Parts(Best);
    ModelProto Fewer = Parts.computing(Left);
    // Inputs that nobody reads go with it.
    std::set<std::string> Read;
    for (const NodeProto &Node : Fewer.graph().node())
      for (const std::string &Name : readsOf(Node))
        Read.insert(Name);
    auto &Inputs = *Fewer.mutable_graph()->mutable_input();
    for (int K = Inputs.size(); K-- > 0;)
      if (!Read.count(Inputs[K].name()))
        Inputs.DeleteSubrange(K, 1);
    Any |= take(std::move(Fewer));
  }
  return Any;
}

/// Inputs that a node may do without.
bool Reducer::dropNodeInputs() {
  constexpr int Most = 64; // nodes, so that time is bounded
  bool Any = false;
  for (int N = 0; N < std::min(Best.graph().node_size(), Most); ++N)
    for (int I = Best.graph().node(N).input_size(); I-- > 0;) {
      const NodeProto &Node = Best.graph().node(N);
      if (I >= Node.input_size() || Node.input(I).empty())
        continue;
      ModelProto Without = Best;
      NodeProto &Its = *Without.mutable_graph()->mutable_node(N);
      if (I + 1 == Its.input_size())
        Its.mutable_input()->RemoveLast();
      else
        Its.set_input(I, "");
      std::optional<ModelProto> Part;
      {
        OnnxParts Parts(Without);
        std::set<int> All(Parts.order().begin(), Parts.order().end());
        Part = Parts.of(All, Parts.declared());
      }
      Any |= Part && take(std::move(*Part));
    }
  return Any;
}

//===----------------------------------------------------------------------===//
// Data and sizes
//===----------------------------------------------------------------------===//

bool Reducer::shrinkData() {
  bool Any = false;
  std::vector<std::pair<size_t, std::string>> Largest;
  for (const auto &Data : Best.graph().initializer())
    Largest.emplace_back(Data.ByteSizeLong(), Data.name());
  std::sort(Largest.begin(), Largest.end(), std::greater<>());
  using Step = bool (*)(GraphProto &, const std::string &);
  constexpr std::pair<const char *, Step> Steps[] = {
      {"input", becomeInput}, {"zeros", becomeZeros}, {"splat", becomeSplat}};
  for (const auto &[Bytes, Name] : Largest)
    for (auto [What, Change] : Steps) {
      if (!Tried.insert(Name + "/" + What).second)
        continue;
      ModelProto Simpler = Best;
      if (!Change(*Simpler.mutable_graph(), Name) || !take(std::move(Simpler)))
        continue;
      Any = true;
      break;
    }
  return Any;
}

/// All sizes of one number become another, wherever they stand.
bool Reducer::shrinkSize(int64_t Size) {
  for (int64_t Less : {int64_t(1), int64_t(2), Size / 4, Size / 2}) {
    if (Less < 1 || Less >= Size)
      continue;
    ModelProto Small = Best;
    if (replaceSize(*Small.mutable_graph(), Size, Less) &&
        take(std::move(Small)))
      return true;
  }
  return false;
}

bool Reducer::shrinkSizes() {
  bool Any = false;
  for (const std::string &Name : dimNames(Best.graph())) {
    ModelProto Fixed = Best;
    fixDim(*Fixed.mutable_graph(), Name);
    Any |= take(std::move(Fixed));
  }
  for (int64_t Size : sizesOf(Best.graph()))
    while (!How.Stop() && shrinkSize(Size)) {
      Any = true;
      std::vector<int64_t> Left = sizesOf(Best.graph());
      if (std::find(Left.begin(), Left.end(), Size) == Left.end())
        break;
    }
  return Any;
}

ModelProto Reducer::run() {
  dropDescriptions();
  for (bool Any = true; Any && !How.Stop();) {
    Any = dropNodes();
    Any |= dropOutputs();
    Any |= dropNodeInputs();
    Any |= shrinkData();
    Any |= shrinkSizes();
  }
  dropDescriptions();
  return std::move(Best);
}

ModelProto reduced(ModelProto Model, const Reduction &How) {
  return Reducer(std::move(Model), How).run();
}

} // namespace kpc::cli
