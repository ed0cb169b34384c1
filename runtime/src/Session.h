//===- Session.h - A model on a device --------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Matches the caller's tensors with the model's ports, keeps bound shapes and
/// their memory, and hands addresses to the Device. Used by one thread at a
/// time.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_SESSION_H
#define KPC_RUNTIME_SRC_SESSION_H

#include "runtime/src/Device.h"
#include "runtime/src/Outputs.h"

#include <optional>

namespace kpc::rt {

struct SessionOptions {
  DeviceOptions Device;
  size_t MaxBoundShapes = 8;
  bool KeepValues = false;
  int64_t MostIterations = DefaultIterations; ///< of loops that only data ends
  void *Workspace = nullptr;
  uint64_t WorkspaceSize = 0;
};

using Tensors = std::span<const kpc_named_tensor>;

class Session {
public:
  static Result<std::unique_ptr<Session>> make(const std::shared_ptr<Model> &M,
                                               const SessionOptions &Options);
  ~Session();

  const Model &model() const { return *TheModel; }
  const char *targetName() const { return TheDevice->target().name()->c_str(); }

  Status prepare(std::span<const kpc_dim> Dims);
  Status run(Tensors Inputs, Tensors Outputs, void *Stream);
  Result<std::shared_ptr<OutputSet>> runOwned(Tensors Inputs, void *Stream);
  Status profile(Tensors Inputs, Tensors Outputs, Profile &Out);

  /// The dims of an output for the shape bound last.
  Result<std::span<const int64_t>> outputDims(size_t Index);
  kpc_memory memory() const;
  kpc_bind_times bindTimes() const {
    return Current ? Current->Plan->Times : kpc_bind_times{};
  }

  size_t valueCount() const {
    return format::count(TheDevice->target().values());
  }
  const format::Value &value(size_t Index) const {
    return *TheDevice->target().values()->Get(uint32_t(Index));
  }
  Result<std::span<const int64_t>> valueDims(size_t Index);
  Status readValue(size_t Index, void *Data, uint64_t Size);

private:
  /// A bound shape and its memory.
  struct Bound {
    std::unique_ptr<Binding> Plan;
    std::vector<Block> InputStaging, OutputStaging;
  };
  /// One port's tensor in the run at hand.
  struct Given {
    const kpc_tensor *Tensor = nullptr;
    bool Staged = false;
    bool Placed = false; ///< its address in this run is decided
  };

  explicit Session(std::shared_ptr<Model> M) : TheModel(std::move(M)) {}

  Status match(std::span<const PortInfo> Ports, Tensors From,
               std::vector<Given> &Out, const char *What);
  Status checkTensor(const PortInfo &P, const kpc_tensor &T) const;
  Status unifySymbols();
  Status readInputValues(void *Stream);
  Status unifyInputValues(bool &Progress, bool &Open);
  bool isReady(const format::Expr &E) const;
  Status unifyPort(const PortInfo &P, const kpc_tensor &T, bool &Progress,
                   bool &Open);
  void startSymbols();
  Status completeSymbols();
  Status bindInputs(Tensors Inputs, void *Stream);
  Status bind();
  Status bindOutputs(Tensors Outputs);
  Status ensureArena(uint64_t Bytes);
  Stage stageAtHand() const;
  Status placeOutputs();
  Status allocateOutputs();
  Status runStage(const Addresses &At, void *Stream, Profile *Timing);
  Status readDecided(void *Stream);
  Status decide(const DataSizeInfo &Size, int64_t Value);
  Status nextStage(void *Stream);
  Status makeDecided();
  Result<std::span<const int64_t>> greatestDims(size_t Index);
  void makeRoom();
  Status checkOutputs() const;
  Status checkRoom(const PortInfo &P, const kpc_tensor &T,
                   const Binding::PortShape &Shape) const;
  Status checkOverlap() const;
  Status stage(std::vector<Given> &Ports,
               const std::vector<Binding::PortShape> &Shapes,
               std::vector<Block> &Staging, std::vector<void *> &Addresses);
  Status execute(void *Stream, Profile *Timing);
  bool isLocal(const kpc_tensor &T) const;
  bool isReachable(const kpc_tensor &T) const;
  void forgetRun() { Ran = nullptr; }

  std::shared_ptr<Model> TheModel;
  std::unique_ptr<Device> TheDevice;
  SessionOptions Options;
  Block OwnArena;
  void *Arena = nullptr;
  uint64_t ArenaSize = 0;

  std::vector<std::unique_ptr<Bound>> Shapes;
  Bound *Current = nullptr; ///< the shape bound last
  Bound *Ran = nullptr;     ///< the shape of the last run
  uint64_t Uses = 0;
  bool SaidStaged = false;

  // Scratch that a run fills anew, sized once.
  std::vector<Given> Inputs, Outputs;
  std::vector<int64_t> Symbols;
  std::vector<uint8_t> Known;
  std::vector<int64_t> InputValues; ///< as the model's list of them
  std::vector<uint64_t> ValueBytes; ///< the same as they are in memory
  std::vector<std::optional<int64_t>> Prepared; ///< symbols given to prepare
  std::vector<void *> InputAddresses, OutputAddresses;

  // Sizes that data decides.
  std::vector<uint32_t> Borders; ///< the steps that begin a stage but the first
  uint32_t AtStage = 0;
  std::vector<uint8_t> Open; ///< for each symbol: to be decided in the run
  Block Decided;             ///< what the stages count, on the device
  std::vector<kpc_tensor> DecidedTensors;
  std::vector<int64_t> Greatest; ///< dims of the output asked for last
  OutputSet *Owned = nullptr;    ///< allocated as the sizes become known
  bool OwnedOnHost = false;
};

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_SESSION_H
