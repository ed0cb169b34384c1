//===- LoopReads.h - What stages of a loop read -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which values of a loop's body are worth to be kept, and where pull
/// evaluation of one reads others, as functions of its indices.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_LOOPREADS_H
#define KPC_PASSES_KERNELS_FORM_LOOPREADS_H

#include "dialects/kernel/KernelLoop.h"
#include "passes/kernels/form/FusedKernel.h"

#include "llvm/ADT/DenseSet.h"

namespace kpc::kernels {

/// The choice of stages. A value is one of its own where several stages read
/// it, or one reads it more than once, and it is more than a few operations.
/// What is a sum must not be computed within a sum or under a condition.
class LoopPlan {
public:
  explicit LoopPlan(kernel::LoopOp Op);
  /// In the order of the body; without what is yielded alone.
  llvm::ArrayRef<mlir::Value> kept() const { return Kept; }

private:
  void choose();
  int64_t costOf(mlir::Operation *Op);
  int64_t costOfRead(mlir::Value Operand);
  void visit(mlir::linalg::LinalgOp Op);

  struct Use {
    llvm::SmallVector<mlir::Operation *> Stages; ///< where it is computed
    bool IsRepeated = false, IsInSum = false, IsExtracted = false;
  };

  kernel::LoopOp Loop;
  llvm::DenseMap<mlir::Operation *, int64_t> Costs;
  llvm::DenseMap<mlir::Operation *, Use> Uses;
  llvm::DenseSet<mlir::Operation *> IsStage, Known; ///< Known: of the last time
  llvm::SmallVector<mlir::Value> Kept;
};

/// Whether `Op` finds the best value along its one reduced loop, and the index
/// of it: two results, of which indices grow where values are equal.
bool findsIndex(mlir::linalg::LinalgOp Op);

/// The walk of pull evaluation from one stage.
class LoopReads {
public:
  struct Read {
    mlir::Value Tensor;
    /// Of each dim, as a function of the stage's dims; what is no plain dim is
    /// another place.
    llvm::SmallVector<mlir::AffineExpr> At;
  };

  explicit LoopReads(std::function<bool(mlir::Value)> IsKept)
      : IsKept(std::move(IsKept)) {}

  /// An element of a generic, which is computed even if it is kept.
  void readStage(mlir::Value Tensor);
  void readCopy(mlir::Value Tensor);

  llvm::ArrayRef<Read> all() const { return All; }
  /// Of one element, or of a term of its sum: operations and loads.
  int64_t operations() const { return Operations; }
  int64_t loads() const { return Loads; }
  int64_t terms() const { return Terms; }
  /// Whether lanes can share the sum.
  bool splits() const { return Splits; }

private:
  void visit(mlir::Value Tensor, llvm::ArrayRef<mlir::AffineExpr> At);
  void compute(mlir::Value Tensor, llvm::ArrayRef<mlir::AffineExpr> At);
  mlir::AffineExpr indexOf(mlir::Value Index,
                           llvm::ArrayRef<mlir::AffineExpr> Loops);
  mlir::AffineExpr unknown(mlir::MLIRContext *Context) {
    return mlir::getAffineSymbolExpr(Symbols++, Context);
  }

  std::function<bool(mlir::Value)> IsKept;
  llvm::SmallVector<Read> All;
  llvm::DenseSet<std::pair<mlir::Value, mlir::AffineMap>> Seen;
  unsigned Symbols = 0;
  int64_t Operations = 0, Loads = 0, Terms = 1;
  bool Splits = false;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_LOOPREADS_H
