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
/// are in it as often as they run. A branch ends a segment: its condition has
/// to be read back. So does a loop that is too long to be recorded, that data
/// ends, or that has either inside: its steps are launched one by one.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_CUDA_SEGMENTS_H
#define KPC_RUNTIME_SRC_CUDA_SEGMENTS_H

#include "runtime/src/cuda/CudaGraph.h"

namespace kpc::rt::cuda {

/// Steps of loops that one graph has at most. 4,096 nodes take about 3 MB of
/// the driver's memory and 4 ms to be instantiated.
inline constexpr int64_t MostLoopSteps = 4096;

struct Segment {
  enum class Kind { Graph, OneByOne, Branch };
  Kind What = Kind::Graph;
  uint32_t First = 0, End = 0; ///< steps, for graphs
  uint32_t Control = 0;        ///< the first one, or the loop or branch it is
  int64_t LoopSteps = 0;       ///< for graphs: runs of steps in loops
  /// For graphs, if there are controls: steps as often as they run.
  std::unique_ptr<BoundSteps> Unrolled;
  std::unique_ptr<CudaGraph> Graph;
  std::vector<Segment> Then, Else; ///< of a branch
};

std::vector<Segment> cutIntoSegments(const Binding &B);

/// The steps of a segment that is a graph, with the parameters of each
/// iteration.
Result<std::unique_ptr<BoundSteps>> unroll(Binding &B, const Segment &S);

/// What a session keeps of a bound plan.
class SegmentRecording : public Recording {
public:
  std::vector<Segment> Segments;
};

} // namespace kpc::rt::cuda

#endif // KPC_RUNTIME_SRC_CUDA_SEGMENTS_H
