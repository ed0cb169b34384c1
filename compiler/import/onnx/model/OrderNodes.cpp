//===- OrderNodes.cpp - Nodes behind what they read -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/model/Passes.h"

#include <algorithm>
#include <queue>
#include <set>
#include <string_view>
#include <unordered_map>

namespace kpc::onnx {

namespace {

constexpr unsigned DeepestNesting = 64;

/// Names that can be seen at a place, innermost graph first.
struct Scope {
  const Scope *Outer = nullptr;
  /// Value -> the node of this graph that defines it; -1: an input or
  /// initializer.
  std::unordered_map<std::string_view, int> Defined;

  bool sees(std::string_view Name) const {
    for (const Scope *S = this; S; S = S->Outer)
      if (S->Defined.count(Name))
        return true;
    return false;
  }
};

class Orderer {
public:
  explicit Orderer(Diagnostics &Diags) : Diags(Diags) {}

  bool graph(Graph &G, const Scope *Outer, unsigned Depth) {
    Scope Here;
    Here.Outer = Outer;
    if (Depth > DeepestNesting) {
      Diags.error(Code::ImportTooDeep)
          .message("subgraphs nest deeper than " +
                   std::to_string(DeepestNesting));
      return false;
    }
    bool Good = define(G, Here);
    std::vector<std::vector<int>> Readers(G.Nodes.size());
    std::vector<int> Waits(G.Nodes.size(), 0);
    for (size_t I = 0; I < G.Nodes.size(); ++I) {
      std::set<int> From;
      Good &= needs(G.Nodes[I], Here, From);
      for (int F : From) {
        Readers[static_cast<size_t>(F)].push_back(static_cast<int>(I));
        ++Waits[I];
      }
    }
    for (const ValueInfo &V : G.Outputs) {
      if (!Here.sees(V.Name)) {
        Diags.error(Code::ImportUndefinedValue)
            .message("output '" + printable(V.Name) +
                     "' is defined by no node, input or initializer");
        Good = false;
      }
    }
    for (Node &N : G.Nodes)
      for (auto &[Name, A] : N.Attributes)
        for (auto &Sub : A.Graphs)
          Good &= graph(*Sub, &Here, Depth + 1);
    return sort(G, Readers, Waits) && Good;
  }

private:
  void twice(const ModelPlace &Where, std::string_view Name) {
    Diags.error(Code::ImportDuplicateValue)
        .at(Where)
        .message("value '" + printable(Name) + "' is defined twice");
  }

  /// Enters what a graph defines.
  bool define(const Graph &G, Scope &Here) {
    bool Good = true;
    for (const ValueInfo &V : G.Inputs) {
      if (V.Name.empty()) {
        Diags.error(Code::ImportMalformed).message("an input has no name");
        Good = false;
      } else if (!Here.Defined.emplace(V.Name, -1).second) {
        twice({}, V.Name);
        Good = false;
      }
    }
    for (const auto &[Name, T] : G.Initializers)
      Here.Defined.emplace(Name, -1);
    for (size_t I = 0; I < G.Nodes.size(); ++I)
      for (const std::string &Name : G.Nodes[I].Outputs)
        if (!Name.empty() &&
            !Here.Defined.emplace(Name, static_cast<int>(I)).second) {
          twice(G.Nodes[I].place(), Name);
          Good = false;
        }
    return Good;
  }

  /// Collects the nodes of this graph that `N` must follow.
  bool needs(const Node &N, const Scope &Here, std::set<int> &From) {
    bool Good = true;
    for (const std::string &Name : N.Inputs) {
      if (Name.empty())
        continue;
      if (auto It = Here.Defined.find(Name); It != Here.Defined.end()) {
        if (It->second >= 0)
          From.insert(It->second);
      } else if (!Here.sees(Name)) {
        Diags.error(Code::ImportUndefinedValue)
            .at(N.place())
            .message("input '" + printable(Name) +
                     "' is defined by no node, input or initializer");
        Good = false;
      }
    }
    for (const auto &[Name, A] : N.Attributes)
      for (const auto &Sub : A.Graphs)
        captured(*Sub, Here, From, 0);
    return Good;
  }

  /// What a subgraph reads from the graph around it. A name that the subgraph
  /// defines as well only adds an order that is not needed.
  void captured(const Graph &G, const Scope &Here, std::set<int> &From,
                unsigned Depth) {
    auto Add = [&](const std::string &Name) {
      auto It = Here.Defined.find(Name);
      if (It != Here.Defined.end() && It->second >= 0)
        From.insert(It->second);
    };
    std::set<std::string_view> Own;
    for (const Node &N : G.Nodes)
      Own.insert(N.Outputs.begin(), N.Outputs.end());
    for (const ValueInfo &V : G.Inputs)
      Own.insert(V.Name);
    for (const Node &N : G.Nodes) {
      for (const std::string &Name : N.Inputs)
        if (!Own.count(Name))
          Add(Name);
      if (Depth < DeepestNesting)
        for (const auto &[Name, A] : N.Attributes)
          for (const auto &Sub : A.Graphs)
            captured(*Sub, Here, From, Depth + 1);
    }
    for (const ValueInfo &V : G.Outputs)
      if (!Own.count(V.Name))
        Add(V.Name);
  }

  /// Kahn's algorithm; of several ready nodes the first in the file.
  bool sort(Graph &G, const std::vector<std::vector<int>> &Readers,
            std::vector<int> &Waits) {
    std::priority_queue<int, std::vector<int>, std::greater<>> Ready;
    for (size_t I = 0; I < Waits.size(); ++I)
      if (Waits[I] == 0)
        Ready.push(static_cast<int>(I));
    std::vector<int> Order;
    while (!Ready.empty()) {
      int I = Ready.top();
      Ready.pop();
      Order.push_back(I);
      for (int R : Readers[static_cast<size_t>(I)])
        if (--Waits[static_cast<size_t>(R)] == 0)
          Ready.push(R);
    }
    if (Order.size() != G.Nodes.size()) {
      reportCycle(G, Readers, Waits);
      return false;
    }
    if (!std::is_sorted(Order.begin(), Order.end())) {
      std::vector<Node> Sorted;
      Sorted.reserve(Order.size());
      for (int I : Order)
        Sorted.push_back(std::move(G.Nodes[static_cast<size_t>(I)]));
      G.Nodes = std::move(Sorted);
    }
    return true;
  }

  /// Names the nodes of one cycle. Every node that still waits has one before
  /// it that waits, so walking backwards must meet a node twice.
  void reportCycle(const Graph &G, const std::vector<std::vector<int>> &Readers,
                   const std::vector<int> &Waits) {
    std::vector<int> Before(G.Nodes.size(), -1);
    int At = -1;
    for (size_t I = 0; I < Readers.size(); ++I) {
      if (Waits[I] == 0)
        continue;
      for (int R : Readers[I])
        Before[static_cast<size_t>(R)] = static_cast<int>(I);
    }
    for (size_t I = 0; I < Waits.size() && At < 0; ++I)
      if (Waits[I] != 0)
        At = static_cast<int>(I);
    std::vector<bool> Seen(G.Nodes.size(), false);
    while (At >= 0 && !Seen[static_cast<size_t>(At)]) {
      Seen[static_cast<size_t>(At)] = true;
      At = Before[static_cast<size_t>(At)];
    }
    std::vector<std::string> Names;
    for (int I = At; I >= 0;) {
      Names.push_back(
          "'" + printable(G.Nodes[static_cast<size_t>(I)].place().Node, 60) +
          "'");
      I = Before[static_cast<size_t>(I)];
      if (I == At)
        break;
    }
    std::reverse(Names.begin(), Names.end());
    std::string Text;
    for (size_t I = 0; I < Names.size() && I < 8; ++I)
      Text += (I ? ", " : "") + Names[I];
    if (Names.size() > 8)
      Text += " and " + std::to_string(Names.size() - 8) + " more";
    ModelPlace Where;
    if (At >= 0)
      Where = G.Nodes[static_cast<size_t>(At)].place();
    Diags.error(Code::ImportCycle)
        .at(Where)
        .message("the nodes wait for one another: " + Text);
  }

  Diagnostics &Diags;
};

} // namespace

bool orderNodes(Graph &G, Diagnostics &Diags) {
  return Orderer(Diags).graph(G, nullptr, 0);
}

} // namespace kpc::onnx
