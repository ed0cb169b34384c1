//===- GemmSchedule.h - How a product is cut and piped ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a matrix product on tensor cores: plain data, chosen by a
/// sum of costs whose parts can be printed. Nothing here knows a shape by name.
///
///   for (const GemmCost &One : rankGemmSchedules(Shape, T))
///     puts(One.str().c_str());  // gemm 128x256x64 slots 4 group 8: 41.2 us =
///     …
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_GEMMSCHEDULE_H
#define KPC_PASSES_SCHEDULE_GEMMSCHEDULE_H

#include "compiler/target/Target.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kpc::schedule {

/// Sizes to choose for; where they are dynamic, their optimum.
struct GemmShape {
  int64_t Batch = 1, Rows = 0, Columns = 0, Sum = 0;
  int64_t ElementBytes = 2; ///< of the operands; 4: tf32
  int64_t ResultBytes = 2;
  int64_t LeastSum = 0; ///< what the sum is at least, whatever is optimal
  /// Products of one A whose results meet; `Columns` and a tile's columns are
  /// those of all, in equal shares.
  int64_t Products = 1;
  /// Elements are made of that so many columns beside them as well, pairs of
  /// such runs having changed places; 0: none is.
  int64_t Exchanged = 0;
  /// Lines of the second cache that 128 bytes of a row of A and B touch: 2
  /// where rows do not begin at lines, else 1.
  int64_t LinesOfA = 1, LinesOfB = 1;
  /// Instructions that the epilogue has for each element of the result, and the
  /// bytes that it reads at the element's place: a residual's.
  double EpilogueOperations = 0;
  int64_t EpilogueBytes = 0;
};

struct GemmSchedule {
  int64_t TileRows = 128, TileColumns = 256;
  int64_t TileSum = 64; ///< elements of the sum in one slot
  int64_t Slots = 4;
  /// Row tiles that are walked before the next column tile: blocks that run
  /// together then share what they read.
  int64_t GroupRows = 8;
  /// Blocks (a cluster) that have a part of one tile's sum each, and add their
  /// parts up through each other's shared memory.
  int64_t Split = 1;
  /// Blocks (a cluster) with tiles below each other, which need the same of B
  /// and copy a part of it to all; or side by side, with the same of A.
  int64_t ClusterRows = 1, ClusterColumns = 1;

  /// Two warpgroups multiply a tile each, in turn: while one begins products,
  /// the other finishes the tile before (ping-pong). Else they share a tile.
  bool PingPong = false;

  /// Blocks of a cluster that share copies; of a cluster.
  int64_t sharers() const { return ClusterRows * ClusterColumns; }
  int64_t blocks() const { return Split * sharers(); }
  /// Columns of the tile that one block stores, and of one store.
  int64_t storedColumns() const { return TileColumns / Split; }
  int64_t partColumns() const;
  /// Warpgroups that multiply, and the rows of a tile that each has.
  int64_t consumers() const { return PingPong ? 2 : TileRows / 64; }
  int64_t consumerRows() const { return PingPong ? TileRows : 64; }
  /// Sums of a tile that a thread has.
  int64_t sumsOfThread() const { return consumerRows() * TileColumns / 128; }
  /// One warpgroup more brings the data.
  int64_t threads() const { return 128 * (1 + consumers()); }
  /// Bytes of a slot, and of all shared memory without barriers.
  int64_t slotBytes(int64_t ElementBytes) const;
  int64_t sharedBytes(int64_t ElementBytes, int64_t ResultBytes = 2) const;
  /// Bytes of a tile's sums, which a split sum keeps in the slots.
  int64_t keptBytes() const { return TileRows * TileColumns * 4; }
  std::string str() const;

protected:
  /// What a family's text begins with, behind its name.
  std::string tileText() const;
};

/// Microseconds that a product of tiles is expected to take, by its parts.
struct ProductCostParts {
  double Waves = 0;    ///< tiles that a multiprocessor computes in turn
  double Multiply = 0; ///< a tile's products on the tensor cores
  double Bring = 0;    ///< a tile's operands from the second cache
  double Finish = 0;   ///< a tile's start and end; its own warpgroups idle
  double Join = 0;     ///< the parts of a split sum
  /// With warpgroups in turn, half of what one takes for a tile; 0: without.
  double Turn = 0;
  double Start = 0; ///< a launch, and the meeting of blocks that share
  double Total = 0;
  std::string partsText() const;
};

/// The parts, of one schedule.
template <typename ScheduleT> struct ProductCost : ProductCostParts {
  ScheduleT Schedule;
  std::string str() const { return Schedule.str() + partsText(); }
};

using GemmCost = ProductCost<GemmSchedule>;

/// Most columns of the output that one store moves; buffers of each warpgroup.
inline constexpr int64_t StagingColumns = 64, StagingBuffers = 2;
/// Columns of a tile whose sums leave registers for what the result's elements
/// read beside them.
inline constexpr int64_t MostColumnsBesideReads = 128;
/// Rows and sums of a thread of a tile where warpgroups take turns: 192×128 was
/// 3 % slower than without at 6304×3072×768.
inline constexpr int64_t MostRowsInTurn = 128;
inline constexpr int64_t MostSumsInTurn = 192;
/// With 64 columns, one store, ptxas serialises the products (C7514).
inline constexpr int64_t FewestColumnsInTurn = 128;
/// The same where whole heads of the tile exchange their halves.
inline constexpr int64_t MostSumsOfHeadsInTurn = 64;
/// Most columns of half a head that changes places with the other: of heads of
/// 256 both halves and their angles spill 744 bytes a thread (ptxas 13.0).
inline constexpr int64_t MostExchanged = 64;
/// A line of the second cache.
inline constexpr int64_t CacheLineBytes = 128;

/// Legal schedules, the best first; none where the target has no tensor cores
/// of this kind or no memory for any.
std::vector<GemmCost> rankGemmSchedules(const GemmShape &Shape,
                                        const target::Target &T);

/// The cost of the schedule that `Text` prints (GemmSchedule::str), which may
/// be one that is not ranked: fewer slots, another group. None where it is no
/// schedule or the target has no room for it.
std::optional<GemmCost> readGemmSchedule(const std::string &Text,
                                         const GemmShape &Shape,
                                         const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_GEMMSCHEDULE_H
