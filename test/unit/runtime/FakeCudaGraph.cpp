//===- FakeCudaGraph.cpp - Graphs of the fake CUDA driver -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A graph runs its nodes in an order that only its edges restrain, chosen by a
// seed, so a missing edge shows as a wrong result.

#include "test/unit/runtime/FakeCudaState.h"
#include "test/unit/runtime/FakeKernels.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>

using kpc::test::Kernel;

namespace kpc::rt::cuda::fake {

namespace {

/// A parameter's bytes: a number, or a tensor map.
struct alignas(64) ParamBytes {
  unsigned char Bytes[128];
};

struct Node {
  enum { Launch, Copy, Fill } Kind;
  const Kernel *Function = nullptr;
  std::vector<ParamBytes> Params;
  Copy3D CopyOf{};
  MemsetNodeParams FillOf{};
  std::vector<const void *> After; ///< nodes of the graph

  void run() const {
    if (Kind == Launch) {
      if (state().Inert)
        return;
      std::vector<void *> Pointers;
      for (const ParamBytes &P : Params)
        Pointers.push_back(const_cast<unsigned char *>(P.Bytes));
      Function->Body(Pointers.data());
    } else if (Kind == Copy) {
      std::memcpy(reinterpret_cast<void *>(CopyOf.To),
                  reinterpret_cast<void *>(CopyOf.From), CopyOf.Width);
    } else {
      auto *To = reinterpret_cast<char *>(FillOf.To);
      for (size_t I = 0; I < FillOf.Width; ++I)
        std::memcpy(To + I * FillOf.ElementSize, &FillOf.Value,
                    FillOf.ElementSize);
    }
  }
};

struct FakeGraph {
  std::vector<std::unique_ptr<Node>> Nodes;
};
struct FakeExec {
  std::vector<std::pair<const void *, Node>> Nodes; ///< by node of the graph
};

} // namespace

static void setLaunch(Node &N, const KernelNodeParams &P) {
  N.Kind = Node::Launch;
  N.Function = reinterpret_cast<const Kernel *>(P.Kernel);
  if (state().Inert)
    return;
  N.Params.resize(size_t(N.Function->Params + N.Function->Maps));
  for (int I = 0; I < N.Function->Params; ++I)
    std::memcpy(N.Params[size_t(I)].Bytes, P.Params[I], 8);
  for (size_t I = size_t(N.Function->Params); I < N.Params.size(); ++I) {
    if (uintptr_t(P.Params[I]) % 64)
      std::abort();
    std::memcpy(N.Params[I].Bytes, P.Params[I], 128);
  }
}

Outcome GraphCreate(Graph *Out, unsigned) {
  ENTER(GraphCreate, 1);
  *Out = reinterpret_cast<Graph>(new FakeGraph);
  return Success;
}
Outcome GraphDestroy(Graph G) {
  Outcome Answer = enter("GraphDestroy", -1);
  delete reinterpret_cast<FakeGraph *>(G);
  return Answer;
}
static Node *addNode(GraphNode *Out, Graph G, const GraphNode *After,
                     size_t Count) {
  auto *Graph = reinterpret_cast<FakeGraph *>(G);
  Node *N = Graph->Nodes.emplace_back(std::make_unique<Node>()).get();
  for (size_t I = 0; I < Count; ++I)
    N->After.push_back(After[I]);
  count("edge", long(Count));
  *Out = reinterpret_cast<GraphNode>(N);
  return N;
}
Outcome GraphAddKernelNode(GraphNode *Out, Graph G, const GraphNode *After,
                           size_t Count, const KernelNodeParams *P) {
  ENTER(GraphAddKernelNode);
  setLaunch(*addNode(Out, G, After, Count), *P);
  return Success;
}
Outcome GraphAddMemcpyNode(GraphNode *Out, Graph G, const GraphNode *After,
                           size_t Count, const Copy3D *P, Context) {
  if (!P->To || !P->From) // as the driver, which looks at them
    return InvalidValue;
  ENTER(GraphAddMemcpyNode);
  Node *N = addNode(Out, G, After, Count);
  N->Kind = Node::Copy;
  N->CopyOf = *P;
  return Success;
}
Outcome GraphAddMemsetNode(GraphNode *Out, Graph G, const GraphNode *After,
                           size_t Count, const MemsetNodeParams *P, Context) {
  ENTER(GraphAddMemsetNode);
  Node *N = addNode(Out, G, After, Count);
  N->Kind = Node::Fill;
  N->FillOf = *P;
  return Success;
}
Outcome GraphAddDependencies(Graph, const GraphNode *From, const GraphNode *To,
                             const GraphEdge *Edges, size_t Count) {
  ENTER(GraphAddDependencies);
  for (size_t I = 0; I < Count; ++I) {
    if (Edges[I].FromPort != PortProgrammatic ||
        Edges[I].Type != EdgeProgrammatic)
      return InvalidValue;
    reinterpret_cast<Node *>(To[I])->After.push_back(From[I]);
    count("programmatic edge");
  }
  return Success;
}
Outcome GraphInstantiateWithFlags(GraphExec *Out, Graph G, unsigned long long) {
  ENTER(GraphInstantiateWithFlags, 1);
  auto *Exec = new FakeExec;
  for (const auto &N : reinterpret_cast<FakeGraph *>(G)->Nodes)
    Exec->Nodes.emplace_back(N.get(), *N);
  *Out = reinterpret_cast<GraphExec>(Exec);
  return Success;
}
Outcome GraphExecDestroy(GraphExec E) {
  Outcome Answer = enter("GraphExecDestroy", -1);
  delete reinterpret_cast<FakeExec *>(E);
  return Answer;
}
static Node &nodeOf(GraphExec E, GraphNode Of) {
  for (auto &[Key, N] : reinterpret_cast<FakeExec *>(E)->Nodes)
    if (Key == Of)
      return N;
  std::abort();
}
Outcome GraphExecKernelNodeSetParams(GraphExec E, GraphNode N,
                                     const KernelNodeParams *P) {
  ENTER(GraphExecKernelNodeSetParams);
  setLaunch(nodeOf(E, N), *P);
  return Success;
}
Outcome GraphExecMemcpyNodeSetParams(GraphExec E, GraphNode N, const Copy3D *P,
                                     Context) {
  ENTER(GraphExecMemcpyNodeSetParams);
  nodeOf(E, N).CopyOf = *P;
  return Success;
}
Outcome GraphExecMemsetNodeSetParams(GraphExec E, GraphNode N,
                                     const MemsetNodeParams *P, Context) {
  ENTER(GraphExecMemsetNodeSetParams);
  nodeOf(E, N).FillOf = *P;
  return Success;
}
Outcome GraphLaunch(GraphExec E, Stream) {
  ENTER(GraphLaunch);
  auto *Exec = reinterpret_cast<FakeExec *>(E);
  std::mt19937 Random(state().Seed);
  std::set<const void *> Done;
  while (Done.size() < Exec->Nodes.size()) {
    std::vector<const std::pair<const void *, Node> *> Ready;
    for (const auto &Entry : Exec->Nodes)
      if (!Done.count(Entry.first) &&
          std::all_of(Entry.second.After.begin(), Entry.second.After.end(),
                      [&](const void *A) { return Done.count(A) != 0; }))
        Ready.push_back(&Entry);
    const auto *Next = Ready[Random() % Ready.size()];
    Next->second.run();
    Done.insert(Next->first);
  }
  return Success;
}

} // namespace kpc::rt::cuda::fake
