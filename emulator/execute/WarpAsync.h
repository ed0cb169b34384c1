//===- WarpAsync.h - What a warp has started --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The commit groups of a warp's cp.async, bulk stores and wgmma, and the
/// registers that a wgmma still uses. A wait makes the warp know of what it
/// covers; nothing else does.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_WARPASYNC_H
#define KPC_EMULATOR_EXECUTE_WARPASYNC_H

#include "emulator/execute/AsyncQueue.h"
#include "emulator/program/Program.h"

#include <map>
#include <set>

namespace kpc::emulator {

class Warp;

class WarpAsync {
public:
  explicit WarpAsync(Warp &W) : W(W) {}
  void start();

  // cp.async: for the warp as a whole.
  void addSmall(uint64_t Id, uint32_t Clock) { Small.add(Id, Clock); }
  void commitSmall() { Small.commit(); }
  void waitSmall(uint64_t Left) { finishSmall(Small.covered(Left, true)); }
  void waitAllSmall() { finishSmall(Small.all()); }
  /// What is not waited for, for an mbarrier to follow.
  std::vector<CommitGroups::Member> pendingSmall() const;

  // Bulk stores: for each lane.
  void addStore(unsigned Lane, uint64_t Id, uint32_t Clock);
  void commitStores(uint32_t Lanes);
  /// `ReadOnly`: until the shared memory was read.
  void waitStores(uint32_t Lanes, uint64_t Left, bool ReadOnly);

  // wgmma. D and A are rows of registers.
  struct MatrixRows {
    const uint32_t *D;
    unsigned CountD;
    const uint32_t *A;
    unsigned CountA;
  };
  /// False: a register is not free for it; reported.
  bool mayIssue(const Instruction &I, const MatrixRows &Rows, bool Adds);
  void addMatrix(const Instruction &I, const MatrixRows &Rows, uint64_t Id,
                 uint32_t Clock);
  void fenceMatrix();
  void commitMatrix();
  void waitMatrix(uint64_t Left);
  /// An ordinary instruction with registers that wgmma uses. False: reported.
  bool touch(const Instruction &I, uint32_t Mask);

private:
  void finishSmall(const std::vector<CommitGroups::Member> &Members);
  struct PendingRow {
    uint32_t Row, Statement;
    bool IsResult;
  };
  const PendingRow *pendingOf(uint32_t Row) const;
  bool objectTo(const Instruction &I, const PendingRow &P);
  uint8_t &stateOf(uint32_t Row);

  Warp &W;
  CommitGroups Small, Matrix;
  std::map<unsigned, CommitGroups> Stores; ///< by lane
  std::set<uint32_t> StoresToRead;         ///< clocks of those not read yet
  uint32_t LastSmall = 0, LastStore = 0;
  /// Of committed groups of wgmma, oldest first, and the open one.
  std::vector<std::vector<PendingRow>> PendingGroups = {{}};
  std::vector<PendingRow> Pending; ///< all of them, by row
  /// Of Kernel::MatrixRows: what was done since the last wgmma.fence.
  enum : uint8_t { Written = 1, Touched = 2, IsResult = 4 };
  std::vector<uint8_t> RowStates;
  bool Fenced = false;
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_WARPASYNC_H
