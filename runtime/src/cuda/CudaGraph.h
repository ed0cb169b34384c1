//===- CudaGraph.h - Bound steps as an executable CUDA graph ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Built from the plan's data edges, not captured. When addresses change
/// between runs, only the nodes that touch them are updated, and only the
/// tensor maps of those addresses encoded again.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_CUDA_CUDAGRAPH_H
#define KPC_RUNTIME_SRC_CUDA_CUDAGRAPH_H

#include "runtime/src/Device.h"
#include "runtime/src/cuda/CudaModel.h"
#include "runtime/src/cuda/EncodeTensorMap.h"

namespace kpc::rt::cuda {

/// The parameters of one step, as the driver's functions take them.
class StepParams {
public:
  /// Room for the largest step of `B`.
  void reserve(const BoundSteps &B);
  void set(size_t Index, uint64_t Value) {
    Values[Index] = Value;
    Pointers[Index] = &Values[Index];
  }
  void set(size_t Index, BoundTensorMap &Map) {
    Pointers[Index] = Map.Descriptor.data();
  }
  void **pointers() { return Pointers.data(); }
  uint64_t operator[](size_t Index) const { return Values[Index]; }

private:
  std::vector<uint64_t> Values;
  std::vector<void *> Pointers; ///< &Values[i], or a tensor map
};

/// Whether a place's address is known: those of ports are not before a run.
bool isKnown(const Place &P, const Addresses &A);

/// Encodes the tensor maps of step `S` whose address is known, and another than
/// before. `AddressOf` is the device's rule for places.
template <class Function>
Status encodeTensorMaps(const Driver &D, BoundSteps &B, const BoundStep &S,
                        const Addresses &A, Function AddressOf) {
  for (const BoundParam &P : B.params(S)) {
    if (P.TensorMap < 0 || !isKnown(P.At, A))
      continue;
    BoundTensorMap &Map = B.TensorMaps[size_t(P.TensorMap)];
    if (Status Done = encodeTensorMap(D, Map, AddressOf(P.At, A)); !Done)
      return Done;
  }
  return success();
}

/// What step `S` takes in a run.
template <class Function>
Status setParams(const Driver &D, BoundSteps &B, const BoundStep &S,
                 const Addresses &A, StepParams &Params, Function AddressOf) {
  if (Status Done = encodeTensorMaps(D, B, S, A, AddressOf); !Done)
    return Done;
  size_t I = 0;
  for (const BoundParam &P : B.params(S))
    if (P.TensorMap < 0)
      Params.set(I++, P.IsSize ? P.Size : AddressOf(P.At, A));
    else
      Params.set(I++, B.TensorMaps[size_t(P.TensorMap)]);
  return success();
}

KernelNodeParams kernelParams(const CudaModel &M, const BoundStep &S,
                              StepParams &Params);
Copy3D copyParams(uint64_t To, uint64_t From, uint64_t Bytes);
MemsetNodeParams fillParams(const BoundStep &S, uint64_t To);

/// How much of a plan may run at once; less than all of it is for finding
/// faults and for measuring.
struct GraphOptions {
  bool OneChain = false;      ///< no two steps side by side
  bool NoEarlyLaunch = false; ///< kernels begin when those before have ended
};

class CudaGraph {
public:
  /// With `Body`: the graph of a conditional node, which is its driver's.
  CudaGraph(std::shared_ptr<CudaModel> M, const format::Target &T,
            GraphOptions Options, Graph Body = nullptr)
      : TheModel(std::move(M)), Target(T), Options(Options),
        IsBody(Body != nullptr), TheGraph(Body) {}
  CudaGraph(const CudaGraph &) = delete;
  CudaGraph &operator=(const CudaGraph &) = delete;
  ~CudaGraph();

  /// `AddressOf` is the device's rule for places.
  template <class Function>
  Status build(BoundSteps &B, std::span<const int32_t> Aliases,
               const Addresses &A, StepParams &Params, kpc_bind_times &Times,
               Function AddressOf) {
    {
      Lap Encoding(Times.descriptors_us);
      if (Status S = encode(B, A, AddressOf); !S)
        return S;
    }
    {
      Lap Recording(Times.record_us);
      std::vector<Condition> Handles;
      Status S = create();
      if (S)
        S = fill(B, Aliases, A, Params, Handles, AddressOf);
      if (!S)
        return S;
    }
    Lap Instantiating(Times.instantiate_us);
    return instantiate(A);
  }

  /// Brings the nodes whose addresses differ from those recorded up to date.
  template <class Function>
  Status update(BoundSteps &B, const Addresses &A, StepParams &Params,
                Function AddressOf) {
    ++Round;
    bool Changed = false;
    auto Visit = [&](std::span<const uint32_t> Steps) -> Status {
      for (uint32_t Step : Steps) {
        if (Updated[Step] == Round)
          continue;
        Updated[Step] = Round;
        Changed = true;
        Status S = setParams(driver(), B, B.Steps[Step], A, Params, AddressOf);
        if (S)
          S = updateNode(B, Step, Params);
        if (!S)
          return S;
      }
      return success();
    };
    for (size_t I = 0; I < Inputs.size(); ++I)
      if (Inputs[I] != A.Inputs[I])
        if (Status S = Visit(InputUsers[I]); !S)
          return S;
    for (size_t I = 0; I < Outputs.size(); ++I)
      if (Outputs[I] != A.Outputs[I])
        if (Status S = Visit(OutputUsers[I]); !S)
          return S;
    if (Arena != A.Arena)
      if (Status S = Visit(ArenaUsers); !S)
        return S;
    for (const Held &Node : Bodies)
      if (Status S =
              Node.Body->update(*B.Bodies[Node.Index], A, Params, AddressOf);
          !S)
        return S;
    if (Changed)
      remember(A);
    return success();
  }

  GraphExec executable() const { return Exec; }
  bool hasConditions() const { return !Bodies.empty(); }

private:
  struct Held {
    uint32_t Index; ///< of BoundSteps::Bodies
    std::unique_ptr<CudaGraph> Body;
  };

  template <class Function>
  Status encode(BoundSteps &B, const Addresses &A, Function AddressOf) {
    for (const BoundStep &Step : B.Steps)
      if (Status S = encodeTensorMaps(driver(), B, Step, A, AddressOf); !S)
        return S;
    for (const std::unique_ptr<BoundSteps> &Body : B.Bodies)
      if (Status S = encode(*Body, A, AddressOf); !S)
        return S;
    return success();
  }

  /// Adds the nodes. `Handles` are of this graph and of those around it.
  template <class Function>
  Status fill(BoundSteps &B, std::span<const int32_t> Aliases,
              const Addresses &A, StepParams &Params,
              std::vector<Condition> &Handles, Function AddressOf) {
    if (Status S = start(B, A, Aliases, Handles); !S)
      return S;
    for (uint32_t Step = 0; Step < B.Steps.size(); ++Step) {
      const BoundStep &S = B.Steps[Step];
      if (S.Empty)
        continue;
      Status Done = success();
      if (S.Kind == StepKind::If || S.Kind == StepKind::While) {
        Done = addConditional(B, Step, Handles);
        if (Done)
          Done = Bodies.back().Body->fill(*B.Bodies[S.Kernel], Aliases, A,
                                          Params, Handles, AddressOf);
      } else {
        if (S.Kind == StepKind::Decide)
          setHandles(B, S, Handles);
        Done = setParams(driver(), B, S, A, Params, AddressOf);
        if (Done)
          Done = addNode(B, Step, Params);
      }
      if (!Done)
        return Done;
    }
    return success();
  }

  const Driver &driver() const { return TheModel->context()->driver(); }
  Status create();
  Status start(const BoundSteps &B, const Addresses &A,
               std::span<const int32_t> Aliases,
               std::vector<Condition> &Handles);
  static void setHandles(BoundSteps &B, const BoundStep &S,
                         const std::vector<Condition> &Handles);
  Status addConditional(const BoundSteps &B, uint32_t Step,
                        const std::vector<Condition> &Handles);
  bool maySignalEarly(const BoundStep &S) const;
  bool launchesEarly(const BoundStep &S) const;
  Status addEarlyLaunches(uint32_t Step, std::span<const uint32_t> Earlier);
  Status addNode(const BoundSteps &B, uint32_t Step, StepParams &Params);
  Status addNode(const BoundStep &S, GraphNode &Node,
                 std::span<const GraphNode> After, StepParams &Params);
  Status updateNode(const BoundSteps &B, uint32_t Step, StepParams &Params);
  Status instantiate(const Addresses &A);
  void remember(const Addresses &A);
  void rememberAll(const Addresses &A, GraphExec Of);

  std::shared_ptr<CudaModel> TheModel;
  const format::Target &Target;
  GraphOptions Options;
  bool IsBody;
  Graph TheGraph;
  GraphExec Exec = nullptr; ///< a body's is that of the whole graph
  std::vector<Held> Bodies;
  std::vector<GraphNode> Nodes; ///< of each step; null: empty
  std::vector<std::vector<uint32_t>> Waits;
  std::vector<std::vector<uint32_t>> InputUsers, OutputUsers; ///< steps
  std::vector<uint32_t> ArenaUsers;
  std::vector<uint64_t> Updated; ///< the round in which a step was updated
  uint64_t Round = 0;
  // The addresses that the executable graph has.
  std::vector<void *> Inputs, Outputs;
  void *Arena = nullptr;
};

} // namespace kpc::rt::cuda

#endif // KPC_RUNTIME_SRC_CUDA_CUDAGRAPH_H
