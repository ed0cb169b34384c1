//===- Segments.h - A plan cut where it cannot be one graph -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A plan without branches is one segment and one graph; the steps of a loop
/// are in it as often as they run. What data decides is conditional nodes of
/// it, where the driver has them and they can do it (Unroll.h). Any other
/// branch ends a segment: its condition has to be read back. So does a loop
/// that is too long to be recorded, or that data ends without such nodes: its
/// steps are launched one by one.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_CUDA_SEGMENTS_H
#define KPC_RUNTIME_SRC_CUDA_SEGMENTS_H

#include "runtime/src/cuda/CudaGraph.h"
#include "runtime/src/cuda/Unroll.h"

namespace kpc::rt::cuda {

struct Segment {
  enum class Kind { Graph, OneByOne, Branch };
  Kind What = Kind::Graph;
  uint32_t First = 0, End = 0; ///< steps, for graphs
  uint32_t Control = 0;        ///< the first one, or the loop or branch it is
  int64_t LoopSteps = 0;       ///< for graphs: runs of steps in loops
  /// For graphs, if there are controls: steps as often as they run.
  UnrolledSteps Unrolled;
  std::unique_ptr<CudaGraph> Graph;
  std::vector<Segment> Then, Else; ///< of a branch
};

/// With `Conditions`: what data decides may be in graphs. The log hears why
/// something is not.
std::vector<Segment> cutIntoSegments(Binding &B, const format::Target &T,
                                     bool Conditions, const Log &TheLog);

/// What a session keeps of a bound plan.
class SegmentRecording : public Recording {
public:
  std::vector<Segment> Segments;
  /// Counters of conditional loops, and what moves with them.
  Block Scratch;
  /// What is said of a loop in a graph that data alone ends; empty: none.
  std::string MayNotEnd;
};

} // namespace kpc::rt::cuda

#endif // KPC_RUNTIME_SRC_CUDA_SEGMENTS_H
