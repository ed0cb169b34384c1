//===- Device.h - What runs a bound plan ------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The border between a session and the machine: host threads or a CUDA device.
/// One Device belongs to one session.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_DEVICE_H
#define KPC_RUNTIME_SRC_DEVICE_H

#include "runtime/src/Binding.h"
#include "runtime/src/Memory.h"
#include "runtime/src/Nvtx.h"
#include "runtime/src/Profile.h"

namespace kpc::rt {

/// Base addresses of one run.
struct Addresses {
  std::span<void *const> Inputs, Outputs;
  void *Arena = nullptr, *Scratch = nullptr;
};

struct DeviceOptions {
  kpc_device Where{};
  std::string Target; ///< empty: the best that fits
  std::string Driver; ///< empty: the default
  int NumThreads = 0;
  int64_t MostRunMicroseconds = 0; ///< 0: no limit
  bool NoGraph = false;
  bool OneChain = false;
  bool NoEarlyLaunch = false;
  const Nvtx *Ranges = nullptr; ///< who hears of them; null: nobody
  kpc_allocator Allocator{};
  Log TheLog;
};

class Device {
public:
  virtual ~Device() = default;

  const format::Target &target() const { return *Target; }
  kpc_device where() const { return Where; }
  /// Memory that kernels reach; and the host's, which may be the same.
  const std::shared_ptr<Memory> &memory() const { return Local; }
  const std::shared_ptr<Memory> &hostMemory() const { return OnHost; }
  bool isHost() const { return Where.kind == KPC_DEVICE_HOST; }

  /// Records what can be before the ports' addresses are known.
  virtual Status prepare(Binding &B, void *Arena) = 0;
  /// Before and after the copies and steps of one run: orders it after the last
  /// run, which may have been on another stream.
  virtual Status begin(void *Stream) = 0;
  virtual Status end(void *Stream) = 0;
  /// Enqueues all steps. `Stream` null: the device's own.
  virtual Status run(Binding &B, const Addresses &A, void *Stream) = 0;
  /// Runs steps one by one and times them.
  virtual Status profile(Binding &B, const Addresses &A, Profile &Out) = 0;
  /// Copies within, to and from this device, in stream order.
  virtual Status copy(void *To, const void *From, uint64_t Bytes,
                      void *Stream) = 0;
  /// Waits for the stream.
  virtual Status wait(void *Stream) = 0;
  /// Waits for everything that was enqueued; errors come up again later.
  virtual void drain() = 0;
  virtual const void *weight(uint32_t Index) const = 0;
  virtual uint64_t weightBytes() const = 0;
  /// The value of symbols that a device gives; none: not this one.
  virtual std::optional<int64_t> fact(format::SymbolSource) const {
    return std::nullopt;
  }

protected:
  Device(const format::Target &T, kpc_device Where, const Nvtx *Ranges,
         std::shared_ptr<Memory> Local, std::shared_ptr<Memory> OnHost)
      : Target(&T), Where(Where), Ranges(Ranges), Local(std::move(Local)),
        OnHost(std::move(OnHost)) {}

  const Nvtx *ranges() const { return Ranges; }
  /// Name of a step, for people; lives as long as the model.
  const char *nameOf(const BoundStep &S) const;

  /// The address of a place in a run.
  uint8_t *address(const Place &P, const Addresses &A) const {
    switch (P.Where) {
    case Base::Input:
      return static_cast<uint8_t *>(A.Inputs[P.Index]) + P.Offset;
    case Base::Output:
      return static_cast<uint8_t *>(A.Outputs[P.Index]) + P.Offset;
    case Base::Weight:
      return static_cast<uint8_t *>(const_cast<void *>(weight(P.Index))) +
             P.Offset;
    case Base::Scratch:
      return static_cast<uint8_t *>(A.Scratch) + P.Offset;
    case Base::Arena:
      break;
    }
    return static_cast<uint8_t *>(A.Arena) + P.Offset;
  }

  /// Name, nodes and traffic of a step, for a profile.
  ProfileStep describeStep(const Binding &B, size_t Index) const;

private:
  const format::Target *Target;
  kpc_device Where;
  const Nvtx *Ranges;
  std::shared_ptr<Memory> Local, OnHost;
};

/// The nodes of a kernel, ", " between.
std::string sourceNodes(const format::Kernel &K);
std::string displayName(const format::Kernel &K);

Result<std::unique_ptr<Device>> makeHostDevice(const std::shared_ptr<Model> &M,
                                               const DeviceOptions &Options);
Result<std::unique_ptr<Device>> makeCudaDevice(const std::shared_ptr<Model> &M,
                                               const DeviceOptions &Options);

/// "host:x86-64-v3 (x86-64-v3 processors), sm_90a (…)": what an artifact holds,
/// for messages.
std::string targetList(const Model &M);
/// Error if options name a target that the artifact does not hold.
Status checkTargetName(const Model &M, const DeviceOptions &Options);

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_DEVICE_H
