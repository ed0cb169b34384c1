//===- GemmRegion.h - Regions of one GEMM -----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What passes share that put more than one region's work into the kernel of a
/// GEMM on tensor cores.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_GEMMREGION_H
#define KPC_PASSES_GRAPH_GEMMREGION_H

#include "dialects/graph/Graph.h"
#include "mlir/IR/IRMapping.h"
#include "passes/graph/FusionCosts.h"

#include <optional>

namespace kpc::graph {

/// The argument of its region that `V` is, widened to f32 at most; null where
/// it is none.
mlir::BlockArgument argumentBehind(mlir::Value V);

/// A region of one product, and of ops that work on its result element by
/// element.
struct GemmRegion {
  RegionOp Region;
  MatmulOp Matmul;
  mlir::BlockArgument A, B;
  /// What makes the right operand of codes, where `B` is null.
  DequantiseTilesOp Tiles;

  static std::optional<GemmRegion> read(RegionOp Region);
  /// The same where codes that few rows read may be the right operand.
  static std::optional<GemmRegion> readAny(RegionOp Region);
  mlir::Value input(mlir::BlockArgument Argument) {
    return Region.getInputs()[Argument.getArgNumber()];
  }
  /// Why its operands do not fit the builders, and what to change. Empty: they
  /// fit. `TakesFp8`: codes of FP8 do, too.
  llvm::StringRef refusal(bool TakesFp8 = false) const;
  /// The GEMM's sizes, of operands that are not refused.
  FusedGemmSize size() const;

private:
  llvm::StringRef refusalOfTiles() const;
};

/// Whether all that is made of `V` has its sizes and is made of its elements at
/// the same place.
bool isUsedInPlace(mlir::Value V);

/// Puts the ops of several regions into one, which has each input once.
class RegionMerger {
public:
  RegionMerger(mlir::OpBuilder &B, mlir::Location Loc, llvm::StringRef Name,
               mlir::TypeRange Results);

  /// The argument that stands for `Input`.
  mlir::BlockArgument argument(mlir::Value Input);
  /// All arguments are there.
  RegionOp finish();

private:
  RegionOp Region;
  mlir::Block *Body;
  llvm::SmallVector<mlir::Value> Inputs;
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_GEMMREGION_H
