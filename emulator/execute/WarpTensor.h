//===- WarpTensor.h - What a warp knows of tensor memory --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// tcgen05's instructions are ordered by their own fences: what the warp's own
/// see (Seen) is what it has waited for itself, and what others waited for or
/// committed, put behind tcgen05.fence::before_thread_sync, passed through a
/// barrier, and taken up by tcgen05.fence::after_thread_sync.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_WARPTENSOR_H
#define KPC_EMULATOR_EXECUTE_WARPTENSOR_H

#include "emulator/execute/TensorMemory.h"
#include "emulator/execute/Warp.h"

namespace kpc::emulator {

/// An access to tensor memory by what the warp starts now.
struct TensorUse {
  Cta *Of;
  TensorArea Area;
  bool Writes;
  /// Reads cells that must hold something (also of an accumulator).
  bool Needs;
  /// Lanes of the area that count; nullptr: all.
  const std::vector<bool> *Only = nullptr;
};

class WarpTensor {
public:
  explicit WarpTensor(Warp &W) : W(W) {}
  void start();

  void fenceBefore();
  void fenceAfter();
  /// tcgen05.wait::ld, ::st.
  void waitFor(AgentKind Kind);

  /// mma and cp, for the lane's next commit.
  void addIssued(unsigned Lane, const Warp::Agent &By);
  /// What others learn who wait for a commit of this lane.
  Knowledge commit(unsigned Lane);

  /// Checks and records an access; false: reported. `Now`: what orders it.
  bool access(const Instruction &I, unsigned Lane, const TensorUse &Use,
              const Warp::Agent &By, const Knowledge &Now);
  /// What is ordered before a plain access, one by an mma (behind the thread's
  /// cp), and one to an mma's accumulator.
  const Knowledge &plain() const { return Seen; }
  Knowledge behindCopies() const;
  Knowledge behindMatrix(const TensorArea &D, uint64_t Shape);
  /// An mma writes D from here on.
  void addAccumulator(const TensorArea &D, uint64_t Shape, uint32_t Clock);

private:
  AgentId agent(AgentKind Kind) const;
  void object(const Instruction &I, unsigned Lane, const TensorUse &Use,
              const Conflict &C, unsigned Group);

  Warp &W;
  Knowledge Seen; ///< Fenced is not used
  struct Issued {
    AgentId Agent;
    uint32_t Clock;
  };
  std::map<unsigned, std::vector<Issued>> Open; ///< by lane: not committed
  std::map<AgentId, uint32_t> Latest;           ///< clocks of what was issued
  struct Accumulator {
    TensorArea Area;
    uint64_t Shape;
    uint32_t Clock;
  };
  std::vector<Accumulator> Accumulators; ///< that may be written still
};

/// "lanes 0 to 31, columns 4 to 7".
std::string textOf(const TensorArea &Area);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_WARPTENSOR_H
