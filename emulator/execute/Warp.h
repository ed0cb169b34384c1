//===- Warp.h - Thirty-two threads in step ----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs decoded instructions for the lanes of a mask. Diverged sides wait on a
/// stack of frames until they meet (program/ControlFlow.h).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_WARP_H
#define KPC_EMULATOR_EXECUTE_WARP_H

#include "emulator/execute/DeviceMemory.h"
#include "emulator/execute/Finding.h"
#include "emulator/execute/GlobalShadow.h"
#include "emulator/execute/SharedShadow.h"
#include "emulator/execute/WarpAsync.h"
#include "emulator/program/Program.h"

#include <vector>

namespace kpc::emulator {

class Cta;
class WarpTensor;

/// StrongRead: volatile, relaxed, acquire.
enum class MemoryUse : uint8_t { Read, Write, Atomic, StrongRead };

class Warp {
public:
  enum class State : uint8_t { Ready, Waiting, Done };
  Warp();
  ~Warp();
  Warp(const Warp &) = delete;
  Warp &operator=(const Warp &) = delete;

  /// Once for a launch: room for the registers, and what never changes.
  void prepare(const Kernel &K);
  /// For each CTA.
  void start(Cta &Block, unsigned Number, uint32_t Lanes);
  /// Until it waits, ends, or has done `Budget` instructions.
  void run(uint64_t Budget);

  template <typename T> T *row(uint32_t Offset) {
    return reinterpret_cast<T *>(Registers.data() + Base + Offset);
  }
  uint32_t &mask(uint32_t Row) { return *row<uint32_t>(Row); }
  void writeMask(uint32_t Row, uint32_t Lanes, uint32_t Value) {
    uint32_t &Bits = mask(Row);
    Bits = (Bits & ~Lanes) | (Value & Lanes);
  }

  /// A lane's address of a memory instruction.
  uint64_t addressOf(const Instruction &I, unsigned Lane) {
    if (I.AddressBytes == 8)
      return row<uint64_t>(I.Source[0])[Lane] + static_cast<uint64_t>(I.Offset);
    if (I.AddressBytes == 4)
      return row<uint32_t>(I.Source[0])[Lane] + static_cast<uint64_t>(I.Offset);
    return static_cast<uint64_t>(I.Offset);
  }
  /// The same of one of several addresses.
  uint64_t addressOf(const AddressOperand &A, unsigned Lane) {
    uint64_t Base = A.Bytes == 8   ? row<uint64_t>(A.Row)[Lane]
                    : A.Bytes == 4 ? row<uint32_t>(A.Row)[Lane]
                                   : 0;
    return Base + static_cast<uint64_t>(A.Offset);
  }
  /// Shared memory for an agent that the warp starts now, at its clock;
  /// `Proxy`: the async one. nullptr: reported.
  struct Agent {
    AgentId Id;
    uint32_t Clock;
    bool Proxy = true;
  };
  uint8_t *locateAsync(const Instruction &I, uint64_t Offset, unsigned Bytes,
                       MemoryUse Use, unsigned Lane, const Agent &By);
  /// False: an address that is no multiple of so many bytes was reported.
  bool isAligned(const Instruction &I, uint64_t Address, unsigned Bytes,
                 unsigned Lane);
  /// Host memory of an access; nullptr: a finding was reported.
  uint8_t *locate(const Instruction &I, uint64_t Address, unsigned Bytes,
                  MemoryUse Use, unsigned Lane);
  /// The same of a global address, of any size and alignment.
  uint8_t *locateDevice(const Instruction &I, uint64_t Address, unsigned Bytes,
                        MemoryUse Use, unsigned Lane,
                        const Agent *By = nullptr);
  void report(FindingKind Kind, const Instruction &I, unsigned Lane,
              std::string Detail);
  WarpAsync &async() { return Async; }
  /// Only in kernels with tcgen05.
  WarpTensor &tensor() { return *Tensor; }
  void wait() { Now = State::Waiting; }
  /// For the kernels that this one depends on.
  void waitForGrids() { HasWaited = true; }
  void wake() { Now = State::Ready; }
  /// Repeats the instruction when the warp runs again.
  void repeat() { Again = true; }

  State state() const { return Now; }
  unsigned number() const { return Number; }
  /// Lanes that have not ended.
  uint32_t live() const { return Live; }
  uint32_t started() const { return Started; }
  Cta &block() { return *Block; }
  const Kernel &kernel() const { return *K; }
  uint64_t steps() const { return Steps; }
  /// The statement that it comes to next, and the last one of a warp that has
  /// ended.
  uint32_t standsAt() const;
  /// The finding is at this statement and lane.
  void place(Finding &F, uint32_t Statement, unsigned Lane) const;

  Knowledge Mine; ///< Agents.h
  /// The warp's own clock goes on: what it does from here is not seen by who
  /// has seen it so far.
  void tick() { ++Mine.Known[Self]; }
  AgentId self() const { return Self; }
  /// All that the warp wrote, and what its cp.async wrote as far as it has
  /// waited, is behind a fence.
  void fenceProxy();
  /// fence.acq_rel and stronger, of the device's scope.
  void fenceDevice();
  /// Of a strong access to global memory, for blocks on other threads of the
  /// host: what a write makes known goes out before it and what a read finds
  /// comes in after it, so that whoever sees the value knows what was released
  /// with it.
  void publish(uint64_t Address, bool Releases);
  void observe(uint64_t Address, bool Acquires);
  unsigned WaitingAt = 0;
  /// The mbarrier that the warp waits for; NoAddress: none.
  static constexpr uint64_t NoAddress = ~uint64_t{0};
  uint64_t WaitingFor = NoAddress;
  /// As setmaxnreg left it.
  unsigned RegistersPerThread = 0;
  bool WaitsForRegisters = false;
  bool WaitsForTensor = false;
  // The cluster's barrier.
  bool WaitsForCluster = false;
  uint64_t ClusterArrivals = 0, ClusterWaits = 0;

private:
  struct Frame {
    uint32_t Pc, Reconverge, Mask;
  };
  void fillSpecials();
  void control(const Instruction &I, uint32_t Mask);
  void diverge(const Instruction &I, uint32_t Taken, uint32_t To);
  void table(const Instruction &I, uint32_t Mask);
  void end(uint32_t Lanes);
  uint8_t *locateShared(const Instruction &I, uint64_t Offset, unsigned Bytes,
                        MemoryUse Use, unsigned Lane, const Agent *By);
  uint8_t *object(const Instruction &I, uint64_t Offset, unsigned Lane,
                  const Conflict &C, const SharedAccess &A);
  uint8_t *outside(const Instruction &I, unsigned Bytes, unsigned Lane,
                   const std::string &What);

  bool checkGlobal(const Instruction &I, uint64_t Address, unsigned Bytes,
                   MemoryUse Use, unsigned Lane, const Agent *By);
  ForeignMap released() const;
  void acquire(const ForeignMap &What);

  bool check(const Instruction &I, uint32_t Reached, uint32_t Mask);
  bool checkUnset(const Instruction &I, uint32_t Reached, uint32_t Mask);

  WarpAsync Async{*this};
  std::unique_ptr<WarpTensor> Tensor;
  AgentId Self = 0;
  /// Of Kernel::DoubtfulRows: the lanes that were written.
  std::vector<uint32_t> SetLanes;

  const Kernel *K = nullptr;
  Cta *Block = nullptr;
  std::vector<uint8_t> Registers, Locals;
  size_t Base = 0; ///< to the first aligned register
  std::vector<Frame> Stack;
  State Now = State::Done;
  bool Again = false;
  uint32_t EndedAt = NoStatement;
  unsigned Number = 0;
  uint32_t Live = 0, Started = 0;
  uint64_t Steps = 0;
  MemoryRange Recent{}; ///< where the last access was
  size_t RecentNumber = 0;
  bool HasWaited = true; ///< griddepcontrol.wait, or it begins in its turn
  GlobalShadow::Cache Near;
  /// What the last fence of the device's scope put before later strong writes,
  /// and what strong reads found that no fence has followed yet.
  std::shared_ptr<const ForeignMap> FencedRelease, Found;
  uint32_t FenceClock = 0; ///< of FencedRelease, the warp's own
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_WARP_H
