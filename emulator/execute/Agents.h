//===- Agents.h - Who acts, and what they know of each other ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A warp is an agent, and so is what it starts and does not wait for: its
/// matrix instructions, its bulk stores, its cp.async, and the copies that
/// report to an mbarrier. Each agent has a clock, and each warp knows how far
/// it has seen every agent (vector clocks); barriers and waits join knowledge.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_AGENTS_H
#define KPC_EMULATOR_EXECUTE_AGENTS_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kpc::emulator {

inline constexpr unsigned MaxWarps = 32;
using AgentId = uint16_t;
inline constexpr AgentId NoAgent = 0xFFFF;

enum class AgentKind : uint8_t {
  Warp,
  Matrix,
  Store,
  Small,
  // Only in kernels with tcgen05.
  TensorMatrix,
  TensorCopy,
  TensorLoad,
  TensorStore,
  Barrier
};

/// Numbers of the agents of a cluster.
struct Agents {
  unsigned Warps = 1, Ranks = 1;
  bool HasTensor = false;
  /// mbarriers share these, in turn.
  static constexpr unsigned Barriers = 32;
  /// Kinds of which each warp has one.
  unsigned kinds() const { return HasTensor ? 8 : 4; }
  unsigned perCta() const { return kinds() * Warps + Barriers; }
  unsigned count() const { return Ranks * perCta(); }
  AgentId of(AgentKind Kind, unsigned Number, unsigned Rank) const {
    unsigned Row = Kind == AgentKind::Barrier ? kinds() : unsigned(Kind);
    return static_cast<AgentId>(Rank * perCta() + Row * Warps + Number);
  }
  AgentKind kindOf(AgentId Id) const {
    unsigned Row = Id % perCta() / Warps;
    return Row < kinds() ? static_cast<AgentKind>(Row) : AgentKind::Barrier;
  }
  static bool isTensor(AgentKind Kind) {
    return Kind >= AgentKind::TensorMatrix && Kind <= AgentKind::TensorStore;
  }
  unsigned warpOf(AgentId Id) const { return Id % perCta() % Warps; }
  unsigned rankOf(AgentId Id) const { return Id / perCta(); }
  /// "warp 3", "a wgmma of warp 3".
  std::string nameOf(AgentId Id) const;
};

/// How far the agents of other clusters have been seen, by the cluster's
/// number.
using ForeignMap = std::map<uint32_t, std::vector<uint32_t>>;
/// What either knows; both may be nullptr.
std::shared_ptr<const ForeignMap>
merged(const std::shared_ptr<const ForeignMap> &A,
       const std::shared_ptr<const ForeignMap> &B);

/// Of a warp, or what passes through a barrier: Known[A] is how far agent A has
/// been seen, Fenced[A] up to which clock A's writes are behind a fence.proxy;
/// of tcgen05's agents: behind a tcgen05.fence::before_thread_sync.
struct Knowledge {
  std::vector<uint32_t> Known, Fenced;
  /// Of other clusters; nullptr: nothing.
  std::shared_ptr<const ForeignMap> Foreign;

  void reset(unsigned Count) {
    Known.assign(Count, 0);
    Fenced.assign(Count, 0);
    Foreign.reset();
  }
  void join(const Knowledge &Other) {
    for (size_t N = 0; N < Other.Known.size(); ++N) {
      Known[N] = std::max(Known[N], Other.Known[N]);
      Fenced[N] = std::max(Fenced[N], Other.Fenced[N]);
    }
    if (Other.Foreign && Other.Foreign != Foreign)
      Foreign = merged(Foreign, Other.Foreign);
  }
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_AGENTS_H
