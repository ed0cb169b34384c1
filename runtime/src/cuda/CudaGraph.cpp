//===- CudaGraph.cpp - Bound steps as an executable CUDA graph ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/cuda/CudaGraph.h"
#include "runtime/src/cuda/Dependencies.h"

#include <algorithm>

namespace kpc::rt::cuda {

void StepParams::reserve(const BoundSteps &B) {
  size_t Most = Values.size();
  for (const BoundStep &S : B.Steps)
    Most = std::max<size_t>(Most, S.ParamCount);
  if (Most == Values.size())
    return;
  Values.resize(Most);
  Pointers.resize(Most);
}

bool isKnown(const Place &P, const Addresses &A) {
  if (P.Where == Base::Input)
    return A.Inputs[P.Index] != nullptr;
  if (P.Where == Base::Output)
    return A.Outputs[P.Index] != nullptr;
  return true;
}

KernelNodeParams kernelParams(const CudaModel &M, const BoundStep &S,
                              StepParams &Params) {
  KernelNodeParams Out{};
  Out.Kernel = S.Kind == StepKind::Launch ? M.function(S.Kernel)
                                          : M.function(OwnKernel(S.Kernel));
  Out.GridX = S.Grid[0];
  Out.GridY = S.Grid[1];
  Out.GridZ = S.Grid[2];
  Out.BlockX = S.Block[0];
  Out.BlockY = S.Block[1];
  Out.BlockZ = S.Block[2];
  Out.SharedBytes = S.Shared;
  Out.Params = Params.pointers();
  return Out;
}

Copy3D copyParams(uint64_t To, uint64_t From, uint64_t Bytes) {
  Copy3D Out{};
  Out.FromType = Out.ToType = MemoryTypeDevice;
  Out.From = From;
  Out.To = To;
  Out.Width = Bytes;
  Out.Height = Out.Depth = 1;
  return Out;
}

MemsetNodeParams fillParams(const BoundStep &S, uint64_t To) {
  MemsetNodeParams Out{};
  Out.To = To;
  Out.ElementSize = S.PatternBytes;
  Out.Value = S.PatternBytes == 4
                  ? S.Pattern
                  : S.Pattern & ((1u << (8 * S.PatternBytes)) - 1);
  Out.Width = size_t(S.Work) / S.PatternBytes;
  Out.Height = 1;
  return Out;
}

CudaGraph::~CudaGraph() {
  if (IsBody)
    return;
  const DeviceContext &C = *TheModel->context();
  Current Guard(C);
  if (Exec)
    (void)C.driver()->GraphExecDestroy(Exec);
  if (TheGraph)
    (void)C.driver()->GraphDestroy(TheGraph);
}

Status CudaGraph::create() {
  return driver().check(driver()->GraphCreate(&TheGraph, 0), "create a graph");
}

Status CudaGraph::start(const BoundSteps &B, const Addresses &A,
                        std::span<const int32_t> Aliases,
                        std::vector<Condition> &Handles) {
  Nodes.assign(B.Steps.size(), nullptr);
  Updated.assign(B.Steps.size(), 0);
  Inputs.assign(A.Inputs.size(), nullptr);
  Outputs.assign(A.Outputs.size(), nullptr);
  InputUsers.resize(A.Inputs.size());
  OutputUsers.resize(A.Outputs.size());
  Waits = Options.OneChain ? oneChain(B)
                           : findDependencies(B, A.Inputs.size(), Aliases);
  auto Add = [](std::vector<uint32_t> &Users, uint32_t Step) {
    if (Users.empty() || Users.back() != Step)
      Users.push_back(Step);
  };
  for (uint32_t Step = 0; Step < B.Steps.size(); ++Step) {
    if (B.Steps[Step].Empty)
      continue;
    for (const BoundParam &P : B.params(B.Steps[Step])) {
      if (P.IsSize)
        continue;
      if (P.At.Where == Base::Input)
        Add(InputUsers[P.At.Index], Step);
      else if (P.At.Where == Base::Output)
        Add(OutputUsers[P.At.Index], Step);
      else if (P.At.Where == Base::Arena)
        Add(ArenaUsers, Step);
    }
  }
  // Kernels set a node's condition before the node is there.
  for (const BoundStep &S : B.Steps) {
    if (S.Kind != StepKind::If && S.Kind != StepKind::While)
      continue;
    if (Handles.size() <= size_t(S.Work))
      Handles.resize(size_t(S.Work) + 1);
    if (Status Made = driver().check(driver()->GraphConditionalHandleCreate(
                                         &Handles[size_t(S.Work)], TheGraph,
                                         TheModel->context()->handle(), 0, 0),
                                     "make a conditional node's handle");
        !Made)
      return Made;
  }
  return success();
}

// Parameters 4 and 5 are numbers of handles until there are any.
void CudaGraph::setHandles(BoundSteps &B, const BoundStep &S,
                           const std::vector<Condition> &Handles) {
  for (uint32_t I : {4u, 5u}) {
    uint64_t &Handle = B.Params[S.FirstParam + I].Size;
    Handle = Handle < Handles.size() ? Handles[Handle] : 0;
  }
}

Status CudaGraph::addConditional(const BoundSteps &B, uint32_t Step,
                                 const std::vector<Condition> &Handles) {
  const BoundStep &S = B.Steps[Step];
  std::vector<GraphNode> After;
  for (uint32_t I : Waits[Step])
    After.push_back(Nodes[I]);
  ConditionalNodeParams P;
  P.Handle = Handles[size_t(S.Work)];
  P.Kind = S.Kind == StepKind::While;
  P.On = TheModel->context()->handle();
  if (Status Done = driver().check(
          driver()->GraphAddNode(&Nodes[Step], TheGraph, After.data(), nullptr,
                                 After.size(), &P),
          "add a conditional node to the graph");
      !Done)
    return Done;
  GraphOptions Inside = Options;
  Inside.NoEarlyLaunch = true; // no driver's documentation says that it may
  Bodies.push_back({S.Kernel, std::make_unique<CudaGraph>(
                                  TheModel, Target, Inside, P.Bodies[0])});
  return success();
}

// Whether kernels that depend on the step may begin before its end.
bool CudaGraph::maySignalEarly(const BoundStep &S) const {
  return S.Kind == StepKind::Launch &&
         // Blocks that wait for each other want the device to themselves.
         !Target.kernels()->Get(S.Kernel)->cooperative();
}

bool CudaGraph::launchesEarly(const BoundStep &S) const {
  return !Options.NoEarlyLaunch && driver()->GraphAddDependencies &&
         maySignalEarly(S) && Target.kernels()->Get(S.Kernel)->early_launch();
}

// The programmatic edges of a kernel: from kernels that let it begin early, for
// it waits for their end itself.
Status CudaGraph::addEarlyLaunches(uint32_t Step,
                                   std::span<const uint32_t> Earlier) {
  std::vector<GraphNode> From, To(Earlier.size(), Nodes[Step]);
  for (uint32_t I : Earlier)
    From.push_back(Nodes[I]);
  std::vector<GraphEdge> Edges(
      Earlier.size(), {.FromPort = PortProgrammatic, .Type = EdgeProgrammatic});
  return driver().check(driver()->GraphAddDependencies(TheGraph, From.data(),
                                                       To.data(), Edges.data(),
                                                       Edges.size()),
                        "add edges to the graph");
}

Status CudaGraph::addNode(const BoundSteps &B, uint32_t Step,
                          StepParams &Params) {
  const BoundStep &S = B.Steps[Step];
  std::span<const uint32_t> Earlier = Waits[Step];
  // All or none: what a kernel that waits for copies as well gains is little.
  // A kernel that itself began late may let others begin early.
  bool Early = !Earlier.empty() && launchesEarly(S) &&
               std::all_of(Earlier.begin(), Earlier.end(), [&](uint32_t I) {
                 return maySignalEarly(B.Steps[I]);
               });
  std::vector<GraphNode> After;
  if (!Early)
    for (uint32_t I : Earlier)
      After.push_back(Nodes[I]);
  Status Done = addNode(S, Nodes[Step], After, Params);
  if (Done && Early)
    Done = addEarlyLaunches(Step, Earlier);
  return Done;
}

Status CudaGraph::addNode(const BoundStep &S, GraphNode &Node,
                          std::span<const GraphNode> After,
                          StepParams &Params) {
  const DeviceContext &C = *TheModel->context();
  const Driver &D = C.driver();
  switch (S.Kind) {
  case StepKind::Launch:
  case StepKind::Decide:
  case StepKind::Move: {
    KernelNodeParams P = kernelParams(*TheModel, S, Params);
    Status Done = D.check(
        D->GraphAddKernelNode(&Node, TheGraph, After.data(), After.size(), &P),
        "add a kernel to the graph");
    if (!Done || S.Kind != StepKind::Launch ||
        !Target.kernels()->Get(S.Kernel)->cooperative())
      return Done;
    constexpr Outcome NotSupported = 801;
    if (!D->GraphKernelNodeSetAttribute)
      return D.check(NotSupported, "have all blocks of a kernel run at once");
    const NodeAttribute Yes = {.Switch = 1};
    return D.check(
        D->GraphKernelNodeSetAttribute(Node, CooperativeAttribute, &Yes),
        "have all blocks of a kernel run at once");
  }
  case StepKind::Copy: {
    Copy3D P = copyParams(Params[0], Params[1], uint64_t(S.Work));
    return D.check(D->GraphAddMemcpyNode(&Node, TheGraph, After.data(),
                                         After.size(), &P, C.handle()),
                   "add a copy to the graph");
  }
  default:
    break;
  }
  MemsetNodeParams P = fillParams(S, Params[0]);
  return D.check(D->GraphAddMemsetNode(&Node, TheGraph, After.data(),
                                       After.size(), &P, C.handle()),
                 "add a fill to the graph");
}

Status CudaGraph::updateNode(const BoundSteps &B, uint32_t Step,
                             StepParams &Params) {
  const DeviceContext &C = *TheModel->context();
  const Driver &D = C.driver();
  const BoundStep &S = B.Steps[Step];
  switch (S.Kind) {
  case StepKind::If:
  case StepKind::While:
    return success(); // its body has the addresses
  case StepKind::Launch:
  case StepKind::Decide:
  case StepKind::Move: {
    KernelNodeParams P = kernelParams(*TheModel, S, Params);
    return D.check(D->GraphExecKernelNodeSetParams(Exec, Nodes[Step], &P),
                   "update a kernel of the graph");
  }
  case StepKind::Copy: {
    Copy3D P = copyParams(Params[0], Params[1], uint64_t(S.Work));
    return D.check(
        D->GraphExecMemcpyNodeSetParams(Exec, Nodes[Step], &P, C.handle()),
        "update a copy of the graph");
  }
  case StepKind::Fill:
    break;
  }
  MemsetNodeParams P = fillParams(S, Params[0]);
  return D.check(
      D->GraphExecMemsetNodeSetParams(Exec, Nodes[Step], &P, C.handle()),
      "update a fill of the graph");
}

Status CudaGraph::instantiate(const Addresses &A) {
  const Driver &D = TheModel->context()->driver();
  Status S = D.check(D->GraphInstantiateWithFlags(&Exec, TheGraph, 0),
                     "instantiate the graph");
  if (S)
    rememberAll(A, Exec);
  return S;
}

void CudaGraph::rememberAll(const Addresses &A, GraphExec Of) {
  Exec = Of;
  remember(A);
  for (const Held &Node : Bodies)
    Node.Body->rememberAll(A, Of);
}

void CudaGraph::remember(const Addresses &A) {
  std::copy(A.Inputs.begin(), A.Inputs.end(), Inputs.begin());
  std::copy(A.Outputs.begin(), A.Outputs.end(), Outputs.begin());
  Arena = A.Arena;
}

} // namespace kpc::rt::cuda
