//===- GraphEntries.cpp - Graphs ------------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A graph's nodes run in an order that its edges restrain and a seed chooses,
// so that a missing edge shows.

#include "emulator/driver/Device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <variant>

using namespace kpc::emulator;
using namespace kpc::emulator::driver;

namespace {

struct Copy {
  uint64_t To = 0, From = 0;
  size_t Bytes = 0;
};
struct Fill {
  uint64_t To = 0;
  unsigned Value = 0, Size = 1;
  size_t Count = 0;
};
struct Graph;
struct Conditional {
  uint64_t Handle = 0; ///< the address of its value
  bool IsLoop = false;
  const Graph *Body = nullptr;
};
struct Node {
  std::variant<Launch, Copy, Fill, Conditional> What;
  std::vector<const void *> After;
};
struct Graph {
  std::vector<std::unique_ptr<Node>> Nodes;
  std::vector<std::unique_ptr<Graph>> Bodies;
  std::vector<void *> BodyHandles; ///< as the driver gives them out
  std::vector<uint64_t> Handles;
  Graph() = default;
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;
  ~Graph() {
    for (uint64_t Handle : Handles)
      Device::get().memory().release(Handle);
  }
};
/// By the node's handle in the graph.
struct Executable {
  const Graph *Whole = nullptr;
  std::map<const void *, Node> Nodes; ///< those of bodies, too
  std::map<const Graph *, std::vector<const void *>>
      Order; ///< as they were added
  std::vector<uint64_t> Handles;

  void take(const Graph &G) {
    Handles.insert(Handles.end(), G.Handles.begin(), G.Handles.end());
    for (const auto &N : G.Nodes) {
      Nodes.emplace(N.get(), *N);
      Order[&G].push_back(N.get());
      if (auto *C = std::get_if<Conditional>(&N->What))
        take(*C->Body);
    }
  }
  Result run(const Graph &G, std::mt19937 &Random);
  Result run(const Conditional &C, std::mt19937 &Random);
};

/// What a handle holds before a kernel has set it in this launch.
constexpr uint32_t Unset = 0xdecade00;

} // namespace

/// Plain rows of bytes; arrays and pitches are not needed.
static Result read(Copy &Out, const Copy3D &P) {
  bool Plain = P.Height <= 1 && P.Depth <= 1 && !P.FromArray && !P.ToArray &&
               P.FromY == 0 && P.FromZ == 0 && P.ToY == 0 && P.ToZ == 0;
  if (!Plain)
    return NotSupported;
  auto Address = [](unsigned Type, uint64_t Device, const void *Host) {
    return Type == MemoryHost ? reinterpret_cast<uint64_t>(Host) : Device;
  };
  Out.From = Address(P.FromType, P.From, P.FromHost) + P.FromX;
  Out.To = Address(P.ToType, P.To, P.ToHost) + P.ToX;
  Out.Bytes = P.Width;
  return Out.From && Out.To ? Success : InvalidValue;
}

static Result read(Fill &Out, const MemsetNodeParams &P) {
  if (P.Height > 1)
    return NotSupported;
  if (P.ElementSize != 1 && P.ElementSize != 2 && P.ElementSize != 4)
    return InvalidValue;
  Out = {P.To, P.Value, P.ElementSize, P.Width};
  return Success;
}

static Result runNode(const Node &N) {
  Device &D = Device::get();
  if (auto *L = std::get_if<Launch>(&N.What))
    return D.run(*L);
  if (auto *C = std::get_if<Copy>(&N.What)) {
    if (!D.isAccessible(C->To, C->Bytes) || !D.isAccessible(C->From, C->Bytes))
      return InvalidValue;
    std::memmove(reinterpret_cast<void *>(C->To),
                 reinterpret_cast<const void *>(C->From), C->Bytes);
    return Success;
  }
  const Fill &F = std::get<Fill>(N.What);
  if (F.Count && !D.memory().covers(F.To, F.Count * F.Size))
    return InvalidValue;
  for (size_t I = 0; I < F.Count; ++I)
    std::memcpy(reinterpret_cast<char *>(F.To) + I * F.Size, &F.Value, F.Size);
  return Success;
}

KPC_EXPORT Result cuGraphCreate(void **Out, unsigned) try {
  KPC_RETURN_FAULT();
  *Out = new Graph;
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuGraphDestroy(void *G) try {
  delete static_cast<Graph *>(G);
  return Success;
}
KPC_CATCH

template <typename T>
static Result add(void **Out, void *G, void *const *After, size_t Count,
                  T What) {
  auto N = std::make_unique<Node>();
  N->What = std::move(What);
  N->After.assign(After, After + Count);
  *Out = N.get();
  static_cast<Graph *>(G)->Nodes.push_back(std::move(N));
  return Success;
}

KPC_EXPORT Result cuGraphAddKernelNode(void **Out, void *G, void *const *After,
                                       size_t Count,
                                       const KernelNodeParams *P) try {
  Launch L;
  Result Code = Device::get().prepare(L, *P);
  return Code ? Code : add(Out, G, After, Count, std::move(L));
}
KPC_CATCH
KPC_EXPORT Result cuGraphKernelNodeSetAttribute(void *N, int Which,
                                                const int *Value) try {
  constexpr int Cooperative = 2; // CU_LAUNCH_ATTRIBUTE_COOPERATIVE
  auto *L = std::get_if<Launch>(&static_cast<Node *>(N)->What);
  if (!L || Which != Cooperative || !Value)
    return InvalidValue;
  L->Shape.Cooperative = *Value != 0;
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuGraphAddMemcpyNode(void **Out, void *G, void *const *After,
                                       size_t Count, const Copy3D *P,
                                       void *) try {
  Copy C;
  Result Code = read(C, *P);
  return Code ? Code : add(Out, G, After, Count, C);
}
KPC_CATCH
KPC_EXPORT Result cuGraphAddMemsetNode(void **Out, void *G, void *const *After,
                                       size_t Count, const MemsetNodeParams *P,
                                       void *) try {
  Fill F;
  Result Code = read(F, *P);
  return Code ? Code : add(Out, G, After, Count, F);
}
KPC_CATCH

/// Whether a kernel waits for those that it depends on. What each warp does
/// before is checked when it runs (Warp::locateDevice).
static bool waitsForGrids(const Kernel &K) {
  return std::any_of(K.Code.begin(), K.Code.end(), [&](const Instruction &I) {
    return K.textOf(I).starts_with("griddepcontrol.wait");
  });
}

// Edges by which a kernel may begin before those in front have ended. It runs
// after them all the same; what it would do too early is refused.
KPC_EXPORT Result cuGraphAddDependencies_v2(void *, void *const *From,
                                            void *const *To,
                                            const GraphEdge *Edges,
                                            size_t Count) try {
  for (size_t I = 0; I < Count; ++I) {
    auto *Later = static_cast<Node *>(To[I]);
    if (Edges && Edges[I].Type == EdgeProgrammatic) {
      auto *L = std::get_if<Launch>(&Later->What);
      auto *Earlier = std::get_if<Launch>(&static_cast<Node *>(From[I])->What);
      if (!L || !Earlier)
        return InvalidValue;
      if (!waitsForGrids(*L->F->K)) {
        Device::get().setLastText(
            "kernel " + L->F->K->Name +
            " may begin before those that it depends on have ended, but does "
            "not wait for them (griddepcontrol.wait)");
        return InvalidValue;
      }
      L->Shape.BeginsEarly = true;
    }
    Later->After.push_back(From[I]);
  }
  return Success;
}
KPC_CATCH

// The value is in device memory: cudaGraphSetConditional is a store
// (InlineCalls.cpp).
KPC_EXPORT Result cuGraphConditionalHandleCreate(uint64_t *Out, void *G, void *,
                                                 unsigned Default,
                                                 unsigned Flags) try {
  KPC_RETURN_FAULT();
  if (!G || Flags || Default)
    return NotSupported;
  uint64_t Handle =
      Device::get().memory().allocate(4, false, "the value of a condition");
  if (!Handle)
    return OutOfMemory;
  static_cast<Graph *>(G)->Handles.push_back(Handle);
  *Out = Handle;
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuGraphAddNode_v2(void **Out, void *Handle,
                                    void *const *After, const GraphEdge *Edges,
                                    size_t Count,
                                    ConditionalNodeParams *P) try {
  if (!P || P->Type != ConditionalType || Edges)
    return NotSupported;
  auto *G = static_cast<Graph *>(Handle);
  bool IsOwn = std::count(G->Handles.begin(), G->Handles.end(), P->Handle) == 1;
  bool IsZero = P->Reserved2 == 0;
  for (uint64_t Word : P->Reserved1)
    IsZero &= Word == 0;
  if (!IsOwn || !IsZero || P->Size != 1 || !P->Context ||
      (P->Kind != ConditionalIf && P->Kind != ConditionalWhile)) {
    Device::get().setLastText("a conditional node is not as the driver API "
                              "wants it");
    return InvalidValue;
  }
  Graph *Body = G->Bodies.emplace_back(std::make_unique<Graph>()).get();
  Body->BodyHandles = {Body};
  P->Bodies = Body->BodyHandles.data();
  return add(Out, G, After, Count,
             Conditional{P->Handle, P->Kind == ConditionalWhile, Body});
}
KPC_CATCH

KPC_EXPORT Result cuGraphInstantiateWithFlags(void **Out, void *G,
                                              unsigned long long) try {
  KPC_RETURN_FAULT();
  auto E = std::make_unique<Executable>();
  E->Whole = static_cast<Graph *>(G);
  E->take(*E->Whole);
  *Out = E.release();
  return Success;
}
KPC_CATCH
KPC_EXPORT Result cuGraphExecDestroy(void *E) try {
  delete static_cast<Executable *>(E);
  return Success;
}
KPC_CATCH

template <typename T, typename P>
static Result change(void *E, void *N, const P &Params) {
  auto &Nodes = static_cast<Executable *>(E)->Nodes;
  auto It = Nodes.find(N);
  if (It == Nodes.end() || !std::holds_alternative<T>(It->second.What))
    return InvalidValue;
  T Fresh;
  Result Code;
  if constexpr (std::is_same_v<T, Launch>)
    Code = Device::get().prepare(Fresh, Params);
  else
    Code = read(Fresh, Params);
  if constexpr (std::is_same_v<T, Launch>) {
    const LaunchShape &Old = std::get<Launch>(It->second.What).Shape;
    Fresh.Shape.Cooperative = Old.Cooperative;
    Fresh.Shape.BeginsEarly = Old.BeginsEarly;
  }
  if (Code == Success)
    It->second.What = std::move(Fresh);
  return Code;
}

KPC_EXPORT Result cuGraphExecKernelNodeSetParams(
    void *E, void *N, const KernelNodeParams *P) try {
  return change<Launch>(E, N, *P);
}
KPC_CATCH
KPC_EXPORT Result cuGraphExecMemcpyNodeSetParams(void *E, void *N,
                                                 const Copy3D *P, void *) try {
  return change<Copy>(E, N, *P);
}
KPC_CATCH
KPC_EXPORT Result cuGraphExecMemsetNodeSetParams(void *E, void *N,
                                                 const MemsetNodeParams *P,
                                                 void *) try {
  return change<Fill>(E, N, *P);
}
KPC_CATCH

Result Executable::run(const Conditional &C, std::mt19937 &Random) {
  auto *Value = reinterpret_cast<const uint32_t *>(C.Handle);
  do {
    if (*Value == Unset) {
      Device::get().setLastText("no kernel has said whether a conditional "
                                "node of the graph runs");
      return InvalidValue;
    }
    if (*Value == 0)
      return Success;
    if (Result Code = run(*C.Body, Random))
      return Code;
  } while (C.IsLoop);
  return Success;
}

Result Executable::run(const Graph &G, std::mt19937 &Random) {
  std::map<const void *, size_t> Missing;
  std::map<const void *, std::vector<const void *>> Then;
  std::vector<const void *> Ready;
  for (const void *Key : Order[&G]) {
    const Node &N = Nodes.at(Key);
    Missing[Key] = N.After.size();
    for (const void *A : N.After)
      Then[A].push_back(Key);
    if (N.After.empty())
      Ready.push_back(Key);
  }
  while (!Ready.empty()) {
    size_t Pick = Random() % Ready.size();
    const void *Key = Ready[Pick];
    Ready.erase(Ready.begin() + std::ptrdiff_t(Pick));
    const Node &N = Nodes.at(Key);
    auto *C = std::get_if<Conditional>(&N.What);
    if (Result Code = C ? run(*C, Random) : runNode(N))
      return Code;
    for (const void *Next : Then[Key])
      if (--Missing[Next] == 0)
        Ready.push_back(Next);
  }
  return Success;
}

KPC_EXPORT Result cuGraphLaunch(void *Handle, void *) try {
  KPC_RETURN_FAULT();
  auto *E = static_cast<Executable *>(Handle);
  std::mt19937 Random(
      static_cast<unsigned>(Device::get().settings().Launch.Seed));
  for (uint64_t Cell : E->Handles)
    *reinterpret_cast<uint32_t *>(Cell) = Unset;
  return E->run(*E->Whole, Random);
}
KPC_CATCH
