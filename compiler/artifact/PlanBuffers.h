//===- PlanBuffers.h - A plan's buffers as the artifact's -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a plan declares: inputs, outputs, weights and memory between steps.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_ARTIFACT_PLANBUFFERS_H
#define KPC_COMPILER_ARTIFACT_PLANBUFFERS_H

#include "codegen/artifact/Contents.h"
#include "compiler/artifact/PlanWeights.h"
#include "dialects/plan/Plan.h"
#include "llvm/Support/Error.h"

namespace kpc {

class PlanBuffers {
public:
  /// Reads what `Program` declares; its ports go into `Ports`.
  static llvm::Expected<PlanBuffers> read(plan::ProgramOp Program,
                                          WeightTable &Weights,
                                          artifact::Contents &Ports);

  const std::vector<artifact::Buffer> &all() const { return Buffers; }
  /// The place in `all()` of the storage that `Buffer` is in.
  uint32_t indexOf(mlir::Value Buffer) const {
    return Index.lookup(plan::storageOf(Buffer));
  }
  /// A kernel's argument; of a part its own bytes.
  artifact::Param param(mlir::Value Buffer, artifact::Access Access) const;
  /// The arena's buffers: each is a value of the graph, valid once written.
  std::vector<artifact::Value> values(plan::ProgramOp Program) const;

private:
  llvm::Error declare(mlir::Operation *Op, WeightTable &Weights,
                      artifact::Contents &Ports);
  void add(mlir::Value Buffer, artifact::BufferKind Kind, uint32_t Position,
           std::string Name);
  void setLiveIntervals(plan::ProgramOp Program);

  std::vector<artifact::Buffer> Buffers;
  llvm::DenseMap<mlir::Value, uint32_t> Index;
};

} // namespace kpc

#endif // KPC_COMPILER_ARTIFACT_PLANBUFFERS_H
