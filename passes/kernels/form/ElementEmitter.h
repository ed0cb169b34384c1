//===- ElementEmitter.h - Computes one element of a tensor ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Pull evaluation of a kernel in its linalg form. Given a place inside the
/// loops that a builder has made, a tensor of the kernel and the indices of an
/// element, `ElementEmitter` emits the scalar operations that compute it: the
/// bodies of the generics on the way, loads where a tensor is a view of an
/// argument, and loops with carried scalars where a generic reduces. Nothing
/// but the kernel's outputs needs memory.
///
/// The loops are built in the kernel's own function, so sizes and views of
/// that function are used as they are; a builder that moves to another function
/// says what stands for them there (`outer`).
///
/// An element asked for twice, or index arithmetic emitted twice, is emitted
/// once where the first place dominates the second: shared sub-expressions do
/// not multiply. Operations that the emitter has made must therefore stay until
/// it is gone.
///
/// Where evaluation is impossible (an op that the form does not allow), a
/// diagnostic is reported on that op and null is returned.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_ELEMENTEMITTER_H
#define KPC_PASSES_KERNELS_FORM_ELEMENTEMITTER_H

#include "passes/kernels/form/Loops.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

#include <functional>
#include <unordered_map>
#include <vector>

namespace kpc::kernels {

class ElementEmitter {
public:
  /// Asked first for every element. A null answer leaves it to the emitter.
  /// Builders give the values of a root generic that they keep in registers.
  using ElementHook =
      std::function<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                mlir::Value Tensor, mlir::ValueRange Indices)>;
  /// Reads an element of a buffer; `memref.load` unless set.
  using LoadHook =
      std::function<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                mlir::Value Memref, mlir::ValueRange Indices)>;

  /// Makes a loop of a reduction, `Op`'s loop `Loop` from 0 to `Upper`; one
  /// loop that carries the accumulators unless set.
  using ReductionHook = std::function<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::linalg::LinalgOp Op, unsigned Loop,
      mlir::Value Upper, mlir::ValueRange Accumulators, LoopBody Body)>;

  void setElementHook(ElementHook Hook) { OnElement = std::move(Hook); }
  void setLoadHook(LoadHook Hook) { OnLoad = std::move(Hook); }
  void setReductionHook(ReductionHook Hook) { OnReduction = std::move(Hook); }

  /// What stands for the kernel function's values where loops are built in
  /// another function: sizes, views (memrefs) and scalars.
  mlir::IRMapping &outer() { return Outer; }

  /// The element of `Tensor` at `Indices` (index values).
  mlir::Value element(mlir::OpBuilder &B, mlir::Value Tensor,
                      mlir::ValueRange Indices);

  /// Emits the body of `Op` once, at iteration indices `Loops` (one for each
  /// loop), with `Accumulators` for the block arguments of its outs; the inputs
  /// are pulled. Fills `Yielded` with what the body yields. A null accumulator
  /// is pulled as well, at the result's indices.
  mlir::LogicalResult body(mlir::OpBuilder &B, mlir::linalg::LinalgOp Op,
                           mlir::ValueRange Loops,
                           mlir::ValueRange Accumulators,
                           llvm::SmallVectorImpl<mlir::Value> &Yielded);

  /// As `body`, with values for the inputs as well; a null input is pulled.
  mlir::LogicalResult
  bodyWithInputs(mlir::OpBuilder &B, mlir::linalg::LinalgOp Op,
                 mlir::ValueRange Loops, mlir::ValueRange Inputs,
                 mlir::ValueRange Accumulators,
                 llvm::SmallVectorImpl<mlir::Value> &Yielded);

  /// All results of a generic at parallel indices `Loops` (null for reduction
  /// loops, which become scf.for).
  mlir::LogicalResult generic(mlir::OpBuilder &B, mlir::linalg::LinalgOp Op,
                              mlir::ValueRange Loops,
                              llvm::SmallVectorImpl<mlir::Value> &Results);

  /// Index arithmetic, folded and shared.
  mlir::Value apply(mlir::OpBuilder &B, mlir::Location Loc,
                    mlir::AffineExpr Expr, mlir::ValueRange Dims);
  mlir::Value add(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value Lhs,
                  mlir::Value Rhs);
  mlir::Value mul(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value Lhs,
                  mlir::Value Rhs);
  mlir::Value constantIndex(mlir::OpBuilder &B, int64_t Value);
  /// A size or stride as a value.
  mlir::Value materialize(mlir::OpBuilder &B, mlir::OpFoldResult Size);

private:
  using Key = std::vector<const void *>;
  struct KeyHash {
    size_t operator()(const Key &K) const;
  };

  mlir::Value compute(mlir::OpBuilder &B, mlir::Value Tensor,
                      mlir::ValueRange Indices);
  mlir::LogicalResult reduce(mlir::OpBuilder &B, mlir::linalg::LinalgOp Op,
                             llvm::ArrayRef<unsigned> Order,
                             llvm::SmallVector<mlir::Value> Loops,
                             llvm::SmallVectorImpl<mlir::Value> &Accumulators);
  mlir::LogicalResult cloneBlock(mlir::OpBuilder &B, mlir::Block &From,
                                 mlir::IRMapping &Map, mlir::ValueRange Loops);
  mlir::LogicalResult cloneOp(mlir::OpBuilder &B, mlir::Operation &Op,
                              mlir::IRMapping &Map, mlir::ValueRange Loops);
  /// Folds `Op`, or finds its like; the results to use instead of it.
  llvm::SmallVector<mlir::Value> share(mlir::OpBuilder &B, mlir::Operation *Op);
  mlir::Value constant(mlir::OpBuilder &B, mlir::Location Loc,
                       mlir::TypedAttr Value);
  mlir::Value binary(mlir::OpBuilder &B, mlir::Location Loc,
                     llvm::StringRef Name, mlir::Value Lhs, mlir::Value Rhs);
  mlir::Value lookup(const Key &K, mlir::OpBuilder &B);

  ElementHook OnElement;
  LoadHook OnLoad;
  ReductionHook OnReduction;
  mlir::IRMapping Outer;
  std::unordered_map<Key, llvm::SmallVector<mlir::Value, 2>, KeyHash> Elements;
  llvm::DenseMap<unsigned, llvm::SmallVector<mlir::Operation *, 2>> Shared;
  llvm::DenseMap<mlir::Attribute, mlir::Value> Constants;
};

/// Whether code inserted at `B` may use `V`.
bool dominatesInsertion(mlir::Value V, mlir::OpBuilder &B);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_ELEMENTEMITTER_H
