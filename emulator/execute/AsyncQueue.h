//===- AsyncQueue.h - What was started and is not done ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Asynchronous instructions are checked when they are issued, and done later:
/// when something waits for them, when nothing else can go on, or now and then,
/// by a seeded choice. So data that nobody waited for is old data.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_ASYNCQUEUE_H
#define KPC_EMULATOR_EXECUTE_ASYNCQUEUE_H

#include "emulator/execute/Agents.h"

#include <memory>

namespace kpc::emulator {

/// Something that happens in one step or several.
class AsyncOperation {
public:
  /// `Chain`: those of one chain happen in the order of issue; NoAgent: none.
  AsyncOperation(unsigned Steps, AgentId Chain) : Steps(Steps), Chain(Chain) {}
  virtual ~AsyncOperation() = default;
  /// Does the next step.
  void advance() { step(Done++); }
  bool isOver() const { return Done == Steps; }
  unsigned done() const { return Done; }
  AgentId chain() const { return Chain; }
  uint64_t Id = 0;

protected:
  virtual void step(unsigned Number) = 0;

private:
  unsigned Done = 0, Steps;
  AgentId Chain;
};

/// A sequence that a seed decides (splitmix64: Steele, Lea, Flood, "Fast
/// Splittable Pseudorandom Number Generators").
class Choices {
public:
  explicit Choices(uint64_t Seed = 0) : State(Seed) {}
  uint32_t below(uint32_t Limit) {
    uint64_t Z = State += 0x9E3779B97F4A7C15;
    Z = (Z ^ (Z >> 30)) * 0xBF58476D1CE4E5B9;
    Z = (Z ^ (Z >> 27)) * 0x94D049BB133111EB;
    return static_cast<uint32_t>((Z ^ (Z >> 31)) % Limit);
  }

private:
  uint64_t State;
};

class AsyncQueue {
public:
  void clear() { All.clear(); }
  bool empty() const { return All.empty(); }
  /// Its number, for finish().
  uint64_t add(std::unique_ptr<AsyncOperation> Op);
  /// Does this many steps of an operation, after what is before it in its
  /// chain; one that is over is not known any more.
  void finish(uint64_t Id, unsigned Steps = ~0u);
  /// One step of any.
  void advanceOne(Choices &Choose);
  void finishAll();

private:
  void advanceAt(size_t At);
  std::vector<std::unique_ptr<AsyncOperation>> All; ///< in order of issue
  uint64_t Next = 0;
};

/// Operations of a thread by commit groups: cp.async, bulk stores, wgmma.
class CommitGroups {
public:
  void clear() { Groups.assign(1, {}); }
  void add(uint64_t Id, uint32_t Clock) {
    Groups.back().push_back({Id, Clock});
  }
  void commit() { Groups.emplace_back(); }
  bool empty() const { return Groups.size() == 1 && Groups[0].empty(); }
  struct Member {
    uint64_t Id;
    uint32_t Clock;
  };
  /// What a wait that leaves the newest `Left` groups covers. `Forget`: they
  /// are done.
  std::vector<Member> covered(uint64_t Left, bool Forget);
  /// The same of everything, committed or not.
  std::vector<Member> all();

private:
  /// Committed groups, oldest first, and the open one.
  std::vector<std::vector<Member>> Groups = {{}};
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_ASYNCQUEUE_H
