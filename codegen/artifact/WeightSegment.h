//===- WeightSegment.h - The weights of an artifact -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The segment that holds all weights, each at a multiple of WeightAlignment.
/// Where each lies is known before any is read, so the segment is made in
/// pieces that do not depend on each other: threads fill pieces and write them,
/// and the caller's thread digests them in their order. A piece's memory is
/// used again once it is digested, and no thread is further ahead than there
/// are pieces: memory use does not grow with the weights.
///
///   thread 1   fill 0, write 0 | fill 2, write 2 | ...
///   thread 2   fill 1, write 1 | fill 3, write 3 | ...
///   caller                       digest 0, digest 1, ...
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_ARTIFACT_WEIGHTSEGMENT_H
#define KPC_CODEGEN_ARTIFACT_WEIGHTSEGMENT_H

#include "codegen/artifact/OutputFile.h"
#include "runtime/format/Sha256.h"

namespace kpc::artifact {

class WeightSegment {
public:
  explicit WeightSegment(const std::vector<Weight> &Weights);

  /// Of each weight, in the segment.
  const std::vector<uint64_t> &offsets() const { return Offsets; }
  uint64_t length() const { return Length; }

  /// Writes the segment, whose bytes `Out` skipped, at `Position`, and digests
  /// it. The first piece that fails, in their order, is the error.
  MaybeError write(Output &Out, uint64_t Position, int Threads,
                   format::Sha256 &Hash) const;

private:
  class Pipeline;
  MaybeError fill(uint64_t Begin, Bytes &Piece) const;

  const std::vector<Weight> &Weights;
  std::vector<uint64_t> Offsets;
  uint64_t Length = 0;
};

} // namespace kpc::artifact

#endif // KPC_CODEGEN_ARTIFACT_WEIGHTSEGMENT_H
