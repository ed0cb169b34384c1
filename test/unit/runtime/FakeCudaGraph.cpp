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
#include <map>
#include <random>
#include <set>

using kpc::test::Kernel;

namespace kpc::rt::cuda::fake {

namespace {

/// A parameter's bytes: a number, or a tensor map.
struct alignas(64) ParamBytes {
  unsigned char Bytes[128];
};

struct FakeGraph;
struct Node {
  enum { Launch, Copy, Fill, Conditional } Kind;
  const Kernel *Function = nullptr;
  std::vector<ParamBytes> Params;
  Copy3D CopyOf{};
  MemsetNodeParams FillOf{};
  std::vector<const void *> After; ///< nodes of the graph
  FakeGraph *Body = nullptr;       ///< of conditional nodes
  const unsigned *Condition = nullptr;
  bool IsLoop = false;

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
  std::vector<std::unique_ptr<FakeGraph>> Bodies;
  std::vector<std::unique_ptr<unsigned>> Conditions;
};
/// By node of the graph.
using FakeNodes = std::vector<std::pair<const void *, Node>>;
struct FakeExec {
  const FakeGraph *Whole = nullptr;
  std::map<const FakeGraph *, FakeNodes> Graphs; ///< bodies, too
  void take(const FakeGraph &G) {
    for (const auto &N : G.Nodes) {
      Graphs[&G].emplace_back(N.get(), *N);
      if (N->Body)
        take(*N->Body);
    }
  }
  void run(const FakeGraph &G, std::mt19937 &Random);
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
Outcome GraphConditionalHandleCreate(Condition *Out, Graph G, Context, unsigned,
                                     unsigned) {
  ENTER(GraphConditionalHandleCreate);
  *Out = uint64_t(reinterpret_cast<FakeGraph *>(G)
                      ->Conditions.emplace_back(std::make_unique<unsigned>())
                      .get());
  return Success;
}
Outcome GraphAddNode(GraphNode *Out, Graph G, const GraphNode *After,
                     const GraphEdge *, size_t Count,
                     ConditionalNodeParams *P) {
  ENTER(GraphAddNode);
  // Of this very graph, and of a kind that there is.
  const auto &Own = reinterpret_cast<FakeGraph *>(G)->Conditions;
  bool IsOwn = std::any_of(Own.begin(), Own.end(), [&](const auto &C) {
    return uint64_t(C.get()) == P->Handle;
  });
  if (P->Type != 13 || P->Size != 1 || P->Kind > 1 || !P->On || !IsOwn)
    return InvalidValue;
  Node *N = addNode(Out, G, After, Count);
  N->Kind = Node::Conditional;
  N->Condition = reinterpret_cast<const unsigned *>(P->Handle);
  N->IsLoop = P->Kind == 1;
  N->Body = reinterpret_cast<FakeGraph *>(G)
                ->Bodies.emplace_back(std::make_unique<FakeGraph>())
                .get();
  static thread_local Graph Bodies[1];
  Bodies[0] = reinterpret_cast<Graph>(N->Body);
  P->Bodies = Bodies;
  return Success;
}
Outcome GraphInstantiateWithFlags(GraphExec *Out, Graph G, unsigned long long) {
  ENTER(GraphInstantiateWithFlags, 1);
  auto *Exec = new FakeExec;
  Exec->Whole = reinterpret_cast<FakeGraph *>(G);
  Exec->take(*Exec->Whole);
  *Out = reinterpret_cast<GraphExec>(Exec);
  return Success;
}
Outcome GraphExecDestroy(GraphExec E) {
  Outcome Answer = enter("GraphExecDestroy", -1);
  delete reinterpret_cast<FakeExec *>(E);
  return Answer;
}
static Node &nodeOf(GraphExec E, GraphNode Of) {
  for (auto &[G, Nodes] : reinterpret_cast<FakeExec *>(E)->Graphs)
    for (auto &[Key, N] : Nodes)
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
void FakeExec::run(const FakeGraph &G, std::mt19937 &Random) {
  const FakeNodes &Nodes = Graphs[&G];
  std::set<const void *> Done;
  while (Done.size() < Nodes.size()) {
    std::vector<const std::pair<const void *, Node> *> Ready;
    for (const auto &Entry : Nodes)
      if (!Done.count(Entry.first) &&
          std::all_of(Entry.second.After.begin(), Entry.second.After.end(),
                      [&](const void *A) { return Done.count(A) != 0; }))
        Ready.push_back(&Entry);
    const auto *Next = Ready[Random() % Ready.size()];
    const Node &N = Next->second;
    if (N.Kind != Node::Conditional)
      N.run();
    else
      while (*N.Condition) {
        count("body");
        run(*N.Body, Random);
        if (!N.IsLoop)
          break;
      }
    Done.insert(Next->first);
  }
}

Outcome GraphLaunch(GraphExec E, Stream) {
  ENTER(GraphLaunch);
  auto *Exec = reinterpret_cast<FakeExec *>(E);
  std::mt19937 Random(state().Seed);
  Exec->run(*Exec->Whole, Random);
  return Success;
}

} // namespace kpc::rt::cuda::fake
