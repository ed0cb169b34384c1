//===- VectorEmitter.h - Computes neighbouring elements at once -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Pull evaluation of several elements that are neighbours along one dim (the
/// lanes), as vectors. A value in a body is one of three kinds: the same for
/// all lanes (a scalar), an index that counts up with the lanes (kept as its
/// first value), or a vector. What all lanes share is left to ElementEmitter.
///
/// Not everything has such a form (gathers, strided reads, branches on a lane's
/// value): `vectorises` says so beforehand, and builders take a scalar loop.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_VECTOREMITTER_H
#define KPC_PASSES_KERNELS_FORM_VECTOREMITTER_H

#include "passes/kernels/form/ElementEmitter.h"

#include "llvm/ADT/DenseSet.h"

#include <map>

namespace kpc::kernels {

class VectorEmitter {
public:
  /// As ElementEmitter's; the answer may be a scalar or a vector.
  using ElementHook = std::function<mlir::Value(
      mlir::OpBuilder &, mlir::Value Tensor, mlir::ValueRange Indices)>;

  VectorEmitter(ElementEmitter &Scalars, unsigned Lanes, bool Fma)
      : Scalars(Scalars), Lanes(Lanes), Fma(Fma) {}

  void setElementHook(ElementHook Hook) { OnElement = std::move(Hook); }

  /// Lanes that exist, a vector of i1; null: all. Others are not loaded.
  void setMask(mlir::Value NewMask) { Mask = NewMask; }
  mlir::Value mask() const { return Mask; }

  /// Elements of `Tensor` at `Indices` and up along dim `LaneDim`. A negative
  /// LaneDim asks for one element. The result is a scalar where all lanes are
  /// equal. Null if there is no such form.
  mlir::Value element(mlir::OpBuilder &B, mlir::Value Tensor,
                      mlir::ValueRange Indices, int LaneDim);

  /// The body of `Op` with what `Map` gives for block arguments and values of
  /// the body; other block arguments are pulled. `LaneLoop` counts up with the
  /// lanes (negative: none does).
  mlir::LogicalResult body(mlir::OpBuilder &B, mlir::linalg::LinalgOp Op,
                           mlir::ValueRange Loops, int LaneLoop,
                           mlir::IRMapping Map,
                           llvm::SmallVectorImpl<mlir::Value> &Yielded);

  /// A vector of equal lanes, unless it is one already.
  mlir::Value broadcast(mlir::OpBuilder &B, mlir::Value V);
  mlir::VectorType vectorOf(mlir::Type Element) const {
    return mlir::VectorType::get({int64_t(Lanes)}, Element);
  }

  /// 0, 1, 2, … as a vector of index.
  mlir::Value laneNumbers(mlir::OpBuilder &B, mlir::Location Loc);

  /// Reads and writes under the mask.
  mlir::Value load(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value Memref,
                   mlir::ValueRange Indices);
  void store(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value V,
             mlir::Value Memref, mlir::ValueRange Indices);

  /// Whether `element` has a form for `Tensor`. Results of `Given` are taken
  /// from registers: they must be reached at the root's own indices.
  static bool vectorises(mlir::Value Tensor, int LaneDim,
                         mlir::Operation *Given);
  /// The same for the body alone of a generic whose inputs are given.
  static bool bodyVectorises(mlir::linalg::LinalgOp Op, int LaneLoop);

private:
  using Key = std::vector<const void *>;

  mlir::Value compute(mlir::OpBuilder &B, mlir::Value Tensor,
                      mlir::ValueRange Indices, int LaneDim);
  mlir::LogicalResult cloneOp(mlir::OpBuilder &B, mlir::Operation &Op,
                              mlir::IRMapping &Map, mlir::ValueRange Loops,
                              int LaneLoop);
  mlir::LogicalResult cloneBranch(mlir::OpBuilder &B, mlir::Operation &Op,
                                  mlir::IRMapping &Map, mlir::ValueRange Loops,
                                  int LaneLoop);
  mlir::Value fusedMultiplyAdd(mlir::OpBuilder &B, mlir::Operation &Op,
                               mlir::IRMapping &Map);
  /// The vector of an index that counts up from `Base`.
  mlir::Value counting(mlir::OpBuilder &B, mlir::Location Loc,
                       mlir::Value Base);
  mlir::Value mapped(mlir::OpBuilder &B, mlir::Value Original,
                     mlir::IRMapping &Map, bool AsVector);

  ElementEmitter &Scalars;
  unsigned Lanes;
  bool Fma;
  mlir::Value Mask;
  ElementHook OnElement;
  /// Values of bodies that count up with the lanes; mapped to lane 0's.
  llvm::DenseSet<mlir::Value> Counting;
  std::map<Key, mlir::Value> Known;
};

/// Where `Expr` counts up by one with dim `Lane`: true; does not depend on it:
/// false; none otherwise.
std::optional<bool> countsWith(mlir::AffineExpr Expr, int Lane);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_VECTOREMITTER_H
