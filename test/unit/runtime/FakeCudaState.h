//===- FakeCudaState.h - What the fake CUDA driver knows --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Shared by the files of the fake driver: its state, which tests set and ask,
/// and its functions for graphs.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_RUNTIME_FAKECUDASTATE_H
#define KPC_TEST_UNIT_RUNTIME_FAKECUDASTATE_H

#include "runtime/src/cuda/Driver.h"
#include "test/unit/runtime/FakeTensorMap.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace kpc::rt::cuda::fake {

struct FakeState {
  std::mutex Lock;
  long Calls = 0, FailAt = -1, Live = 0;
  int FailWith = 0;
  std::map<std::string, long> Counts;
  int Version = 12040, Major = 9, Minor = 0, Devices = 1;
  unsigned Images = TakesCubin | TakesPtx;
  unsigned Seed = 1;
  std::string LastImage;
  int Multiprocessors = 132, Shared = 0;
  bool Inert = false;   ///< kernels do nothing
  std::string FailName; ///< the function whose next call fails
  std::vector<test::FakeTensorMap> Encoded;
};
FakeState &state();

void count(const char *Name, long Times = 1);

/// The answer that a call must give; Live changes by `Born` if it succeeds.
Outcome enter(const char *Name, long Born = 0);

#define ENTER(Name, ...)                                                       \
  if (Outcome Answer = enter(#Name __VA_OPT__(, ) __VA_ARGS__))                \
  return Answer

Outcome GraphCreate(Graph *Out, unsigned);
Outcome GraphDestroy(Graph G);
Outcome GraphAddKernelNode(GraphNode *Out, Graph G, const GraphNode *After,
                           size_t Count, const KernelNodeParams *P);
Outcome GraphAddMemcpyNode(GraphNode *Out, Graph G, const GraphNode *After,
                           size_t Count, const Copy3D *P, Context);
Outcome GraphAddMemsetNode(GraphNode *Out, Graph G, const GraphNode *After,
                           size_t Count, const MemsetNodeParams *P, Context);
Outcome GraphAddDependencies(Graph, const GraphNode *From, const GraphNode *To,
                             const GraphEdge *Edges, size_t Count);
Outcome GraphConditionalHandleCreate(Condition *Out, Graph G, Context, unsigned,
                                     unsigned);
Outcome GraphAddNode(GraphNode *Out, Graph G, const GraphNode *After,
                     const GraphEdge *, size_t Count, ConditionalNodeParams *P);
Outcome GraphInstantiateWithFlags(GraphExec *Out, Graph G, unsigned long long);
Outcome GraphExecDestroy(GraphExec E);
Outcome GraphExecKernelNodeSetParams(GraphExec E, GraphNode N,
                                     const KernelNodeParams *P);
Outcome GraphExecMemcpyNodeSetParams(GraphExec E, GraphNode N, const Copy3D *P,
                                     Context);
Outcome GraphExecMemsetNodeSetParams(GraphExec E, GraphNode N,
                                     const MemsetNodeParams *P, Context);
Outcome GraphLaunch(GraphExec E, Stream);

} // namespace kpc::rt::cuda::fake

#endif // KPC_TEST_UNIT_RUNTIME_FAKECUDASTATE_H
