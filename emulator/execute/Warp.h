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
#include "emulator/execute/SharedShadow.h"
#include "emulator/program/Program.h"

#include <vector>

namespace kpc::emulator {

class Cta;

enum class MemoryUse : uint8_t { Read, Write, Atomic };

class Warp {
public:
  enum class State : uint8_t { Ready, Waiting, Done };

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
  /// Shared memory by a proxy or for the async agent; nullptr: reported.
  uint8_t *locateAsync(const Instruction &I, uint64_t Offset, unsigned Bytes,
                       MemoryUse Use, unsigned Lane);
  /// Host memory of an access; nullptr: a finding was reported.
  uint8_t *locate(const Instruction &I, uint64_t Address, unsigned Bytes,
                  MemoryUse Use, unsigned Lane);
  /// The same of a global address, of any size and alignment.
  uint8_t *locateDevice(const Instruction &I, uint64_t Address, unsigned Bytes,
                        MemoryUse Use, unsigned Lane);
  void report(FindingKind Kind, const Instruction &I, unsigned Lane,
              std::string Detail);
  /// Registers of an asynchronous matrix instruction: nobody else may touch
  /// them before its group was waited for.
  void pend(const uint32_t *Rows, unsigned Count);
  void commitPending();
  /// At most `Groups` of the newest groups stay pending.
  void waitPending(uint64_t Groups);
  void wait() { Now = State::Waiting; }
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
  /// Where it stands, for findings.
  const Instruction *current() const;

  Clocks Known{}; ///< SharedShadow.h
  unsigned WaitingAt = 0;
  /// The mbarrier that the warp waits for; NoAddress: none.
  static constexpr uint64_t NoAddress = ~uint64_t{0};
  uint64_t WaitingFor = NoAddress;

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
                        MemoryUse Use, unsigned Lane, bool Async = false);
  uint8_t *object(const Instruction &I, uint64_t Offset, unsigned Lane,
                  const Conflict &C);
  uint8_t *outside(const Instruction &I, uint64_t Address, unsigned Bytes,
                   unsigned Lane, const char *What);

  bool touchesPending(const Instruction &I) const;
  void refreshPending();

  /// Committed groups, oldest first, and the open one at the end.
  std::vector<std::vector<uint32_t>> Pending = {{}};
  std::vector<uint32_t> PendingRows; ///< all of them, sorted; empty: none

  const Kernel *K = nullptr;
  Cta *Block = nullptr;
  std::vector<uint8_t> Registers, Locals;
  size_t Base = 0; ///< to the first aligned register
  std::vector<Frame> Stack;
  State Now = State::Done;
  bool Again = false;
  unsigned Number = 0;
  uint32_t Live = 0, Started = 0;
  uint64_t Steps = 0;
  MemoryRange Recent{0, 0, false, false}; ///< where the last access was
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_WARP_H
