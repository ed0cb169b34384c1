//===- GemmSchedule.h - Tiles and stages of a GEMM --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of a GEMM on tensor cores: plain data, chosen by a
/// sum of costs whose parts can be printed. Nothing here knows a shape by name.
///
///   for (const GemmCost &One : rankGemmSchedules(Shape, T))
///     puts(One.str().c_str());  // gemm 128x256x64 stages 4 group_m 8: 41.2 us
///     = …
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_SCHEDULE_GEMMSCHEDULE_H
#define KPC_PASSES_SCHEDULE_GEMMSCHEDULE_H

#include "compiler/target/Target.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kpc::schedule {

/// Sizes to choose for; where they are dynamic, their optimum.
struct GemmShape {
  int64_t Batch = 1, M = 0, N = 0, K = 0;
  int64_t ElementBytes = 2; ///< of the operands; 4: tf32, 1: FP8, integers
  int64_t ResultBytes = 2;
  int64_t MinK = 0; ///< the smallest K that may come
  /// GEMMs of one A whose results meet element by element: a gated MLP has two.
  /// `N` and `TileN` are those of all together, in equal shares.
  int64_t Products = 1;
  /// RoPE: element j also reads column j ± RotateHalf. 0: no RoPE.
  int64_t RotateHalf = 0;
  /// Lines of the second cache that 128 bytes of a row of A and B touch: 2
  /// where rows do not begin at lines, else 1.
  int64_t LinesOfA = 1, LinesOfB = 1;
  /// Instructions that the epilogue has for each element of the result, and the
  /// bytes that it reads at the element's place: a residual's.
  double EpilogueOperations = 0;
  int64_t EpilogueBytes = 0;
  /// Those that may be copied to shared memory as operands are, else 0.
  int64_t StagedBytes = 0;
  /// Bytes of codes that share a scale; 0: no block scales. With them K is in
  /// bytes, of two codes each where they are of FP4.
  int64_t BytesOfScale = 0;
  bool IsFp4 = false;
  bool Promotes = false; ///< sums of FP8 are added up in registers
  /// Threads load scales of each stage through the first cache, which has what
  /// stages leave of a multiprocessor's memory.
  bool LoadsScales = false;
  /// Each stage also has one f32 for each column.
  bool StagesColumnScales = false;
};

/// Whether sums of FP8 are added up in registers: wgmma adds up in about 14
/// bits, so those of stages are, where there are several.
inline bool promotesFp8(int64_t LongestK) { return LongestK > 128; }

/// Most columns of the output that one store moves; buffers of each warpgroup.
inline constexpr int64_t StagingColumns = 64, StagingBuffers = 2;
/// Tiles whose residual is in shared memory at once, at most.
inline constexpr int64_t MostResidualTiles = 2;

struct GemmSchedule {
  int64_t TileM = 128, TileN = 256;
  int64_t TileK = 64; ///< elements of K in one stage
  int64_t Stages = 4;
  /// Tiles along M that are walked before the next tile along N. Blocks that
  /// run together then share what they read in the second cache.
  int64_t GroupM = 8;
  /// Blocks of a cluster that share the K of one tile. They add up their
  /// partial accumulators through distributed shared memory.
  int64_t SplitK = 1;
  /// Blocks of a cluster with neighbouring tiles along M, which share one B by
  /// multicast; or along N, which share one A.
  int64_t ClusterM = 1, ClusterN = 1;

  /// Two warpgroups multiply a tile each, in turn: while one begins products,
  /// the other finishes the tile before (ping-pong). Else they share a tile.
  bool PingPong = false;
  /// The producer copies the residual to shared memory, ahead of the epilogue.
  bool StagesResidual = false;

  /// Blocks that a copy is multicast to; all blocks of a cluster.
  int64_t multicast() const { return ClusterM * ClusterN; }
  int64_t blocks() const { return SplitK * multicast(); }
  /// The most columns of one store.
  int64_t MostPartColumns = StagingColumns;
  /// Columns of the tile that one block stores, and of one store.
  int64_t storedColumns() const { return TileN / SplitK; }
  int64_t partColumns() const;
  /// Whether a row of what one store moves is one that copies swizzle.
  bool storesWholeLines(int64_t ResultBytes) const;
  /// Warpgroups that multiply, and the rows of a tile that each has.
  int64_t consumers() const { return PingPong ? 2 : TileM / 64; }
  int64_t consumerRows() const { return PingPong ? TileM : 64; }
  /// Sums of a tile that a thread has.
  int64_t sumsOfThread() const { return consumerRows() * TileN / 128; }
  /// Whether a thread has registers for sums of FP8 twice: those of all stages,
  /// and of the one under way.
  bool hasRoomToPromote() const;
  /// Cycles of a step of FP8 for one warpgroup: its own products, the wait for
  /// them, and its additions. `AllCycles`: the products of all warpgroups,
  /// which share the tensor cores.
  double promotedCycles(double AllCycles) const;
  /// One warpgroup more is the producer.
  int64_t threads() const { return 128 * (1 + consumers()); }
  /// Bytes of a stage, and of all shared memory without barriers.
  int64_t stageBytes(int64_t ElementBytes) const;
  int64_t sharedBytes(int64_t ElementBytes, int64_t ResultBytes = 2) const;
  /// Bytes that are staged of the residual of what a block stores of a tile.
  int64_t residualBytes(int64_t StagedBytes, int64_t Products = 1) const {
    return StagesResidual ? TileM * storedColumns() / Products * StagedBytes
                          : 0;
  }
  /// Bytes that the epilogue reads from memory for each result, of as many.
  int64_t epilogueReads(int64_t Bytes) const {
    return StagesResidual ? 0 : Bytes;
  }
  /// Residuals that are in shared memory at once, at least. Of warpgroups that
  /// take turns each has its own: one that waits for a copy to a stage which
  /// the other has not read would see the phase of the stage's first copy.
  int64_t leastResidualTiles() const { return PingPong ? 2 : 1; }
  /// Stages, where there is room for `OfMost` with as many residuals as help,
  /// and for `OfFewest` with the fewest; 0: too few are left for one.
  int64_t stagesBeside(int64_t OfMost, int64_t OfFewest) const;
  /// Bytes of a tile's accumulators, which split-K keeps in the stages.
  int64_t accumulatorBytes() const { return TileM * TileN * 4; }
  std::string str() const;
  /// Reads what `str()` prints of split-K and of the residual.
  void takeTile(std::string_view &Rest);

protected:
  /// What a family's text begins with, behind its name.
  std::string tileText() const;
};

/// Microseconds that a tiled kernel on tensor cores is expected to take, by its
/// parts.
struct TensorCoreCostParts {
  double Waves = 0;    ///< tiles that a multiprocessor computes in turn
  double Mma = 0;      ///< a tile's mainloop on the tensor cores
  double Load = 0;     ///< a tile's operands from the second cache
  double Epilogue = 0; ///< a tile's start and end; its own warpgroups idle
  double Reduce = 0;   ///< the reduction of split-K
  /// With warpgroups in turn, half of what one takes for a tile; 0: without.
  double Turn = 0;
  double Launch = 0; ///< a launch, and the barrier of a cluster
  double Total = 0;
  std::string partsText() const;
};

/// The parts, of one schedule.
template <typename ScheduleT> struct TensorCoreCost : TensorCoreCostParts {
  ScheduleT Schedule;
  std::string str() const { return Schedule.str() + partsText(); }
};

using GemmCost = TensorCoreCost<GemmSchedule>;

/// The largest TileN that leaves registers for what an epilogue reads: a
/// residual, the angles of RoPE.
inline constexpr int64_t MaxNWithEpilogueReads = 128;
/// Rows and sums of a thread of a tile where warpgroups take turns: 192×128 was
/// 3 % slower than without at 6304×3072×768.
inline constexpr int64_t MostRowsInTurn = 128;
inline constexpr int64_t MostSumsInTurn = 192;
/// With 64 columns, one store, ptxas serialises the products (C7514).
inline constexpr int64_t FewestColumnsInTurn = 128;
/// The same where whole heads of the tile exchange their halves.
inline constexpr int64_t MostSumsOfHeadsInTurn = 64;
/// The largest half of a head with RoPE: of heads of 256, both halves and their
/// angles spill 744 bytes a thread (ptxas 13.0).
inline constexpr int64_t MaxRotateHalf = 64;
/// Registers of a thread for the sums of FP8, which it has twice; of three
/// warpgroups, which have 160 registers a thread, fewer.
inline constexpr int64_t MostPromotedSums = 192, MostPromotedOfThree = 64;
/// A line of the second cache.
inline constexpr int64_t CacheLineBytes = 128;
/// The shortest line of shared memory that copies swizzle.
inline constexpr int64_t ShortLineBytes = 32;

/// Legal schedules, the best first; none where the target has no tensor cores
/// of this kind or no memory for any.
std::vector<GemmCost> rankGemmSchedules(const GemmShape &Shape,
                                        const target::Target &T);

/// The cost of the schedule that `Text` prints (GemmSchedule::str), which may
/// be one that is not ranked: fewer stages, another group. None where it is no
/// schedule or the target has no room for it.
std::optional<GemmCost> readGemmSchedule(const std::string &Text,
                                         const GemmShape &Shape,
                                         const target::Target &T);

} // namespace kpc::schedule

#endif // KPC_PASSES_SCHEDULE_GEMMSCHEDULE_H
