//===- Copies.h - What asynchronous copies share ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The parts of the copies' files: Copies.cpp (cp.async, bulk) and
/// TensorCopies.cpp.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_INSTRUCTIONS_COPIES_H
#define KPC_EMULATOR_INSTRUCTIONS_COPIES_H

#include "emulator/execute/Cta.h"
#include "emulator/instructions/Lanes.h"

namespace kpc::emulator {

inline const AddressOperand *addresses(Warp &W, const Instruction &I) {
  return &W.kernel().Addresses[I.Jump];
}

/// A global address of a copy; the instruction's space is of no account.
uint8_t *locateGlobal(Warp &W, const Instruction &I, uint64_t Address,
                      unsigned Bytes, MemoryUse Use, unsigned Lane);

/// The clock that the async agent writes with; the issuing warp alone does not
/// know of it afterwards.
class AgentWrites {
public:
  AgentWrites(Warp &W, Cta &Block) : W(W), Before(W.Known[AsyncAgent]) {
    W.Known[AsyncAgent] = Clock = Block.nextAsyncClock();
  }
  ~AgentWrites() { W.Known[AsyncAgent] = Before; }
  AgentWrites(const AgentWrites &) = delete;
  AgentWrites &operator=(const AgentWrites &) = delete;
  uint32_t clock() const { return Clock; }

private:
  Warp &W;
  uint32_t Before, Clock = 0;
};

/// Bytes arrive at an mbarrier.
void complete(Warp &W, const Instruction &I, unsigned Lane, uint64_t Barrier,
              uint64_t Bytes, uint32_t Clock);

/// cp.async.bulk.tensor, whose words before the dims were taken.
bool decodeTensorCopy(Decoder &D, const ptx::Statement &S, Modifiers &M,
                      Instruction &I, bool Stores);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_INSTRUCTIONS_COPIES_H
