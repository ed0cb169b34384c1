//===- LoopKernel.h - All steps of a loop -----------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One kernel of a loop whose body does not mix what blocks have: each block
/// keeps the carried values of its own indices in shared memory and runs all
/// steps (docs/kernels/loops.md).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_LOOPS_LOOPKERNEL_H
#define KPC_PASSES_KERNELS_GPU_LOOPS_LOOPKERNEL_H

#include "passes/kernels/form/LoopForm.h"
#include "passes/kernels/gpu/GpuThreads.h"

namespace kpc::kernels {

class LoopKernel {
public:
  LoopKernel(FusedKernel &Form, const LoopForm &F,
             const schedule::LoopSchedule &S)
      : W(Form), Form(Form), F(F), S(S) {}

  mlir::LogicalResult emit(GpuLaunch &Launch);

private:
  using Value = mlir::Value;
  using Indices = llvm::SmallVector<Value>;

  /// Shared memory of a value: of a carried one twice, in turn.
  struct Memory {
    const LoopValue *Of = nullptr;
    Value Memref;
    int64_t Elements = 0;
  };
  /// One element of a thread.
  struct Element {
    Indices At;    ///< of the whole tensor; some place where there is none
    Value IsThere; ///< i1; null: always
  };

  mlir::LogicalResult place(GpuLaunch &Launch);
  Memory keep(const LoopValue &V, int64_t Times);
  Value begin();
  void step(Value Number);
  void finish();
  void computeStage(const LoopForm::Stage &Stage, Value Number);
  /// Body for each element of `V` that the thread has, where `Lanes` threads
  /// have one together.
  void eachElement(const LoopValue &V, int64_t Lanes,
                   llvm::function_ref<void(const Element &)> Body);
  void storeResults(const LoopForm::Stage &Stage, const Element &E, Value V,
                    Value Number);
  void store(unsigned Output, mlir::ValueRange At);
  /// Of the blocks that compute the same elements of `V`, the first.
  Value isFirst(const LoopValue &V);
  Value read(const Memory &M, mlir::ValueRange At, Value Offset);
  void write(const Memory &M, mlir::ValueRange At, Value Offset, Value V);
  Value readNext(int Number, mlir::ValueRange At) {
    return read(Carried[Number], At, partOf(Carried[Number], Next));
  }
  Value partOf(const Memory &M, Value Which) const;
  Value placeIn(const Memory &M, mlir::ValueRange At, Value Offset);
  Value hook(Value Tensor, mlir::ValueRange At);
  llvm::SmallVector<Value> reduce(mlir::linalg::LinalgOp Op, Value Upper,
                                  mlir::ValueRange Accumulators, LoopBody Body);
  llvm::SmallVector<Value> terms(Value First, Value Upper, int64_t Step,
                                 mlir::ValueRange Accumulators, LoopBody Body);
  using Parts = llvm::SmallVector<Value>;
  Parts join(mlir::linalg::LinalgOp Op, mlir::ValueRange A, mlir::ValueRange B);
  Parts better(mlir::linalg::LinalgOp Op, mlir::ValueRange A,
               mlir::ValueRange B);
  Parts joinLanes(mlir::linalg::LinalgOp Op, Parts Part);
  Value loadShared(mlir::Type Of, Value Memory, Value At);
  void storeShared(Value V, Value Memory, Value At);
  Value choose(Value Condition, Value A, Value B);
  Value both(Value A, Value B) { return A ? W.both(A, B) : B; }
  void when(Value Condition, llvm::function_ref<void()> Body);
  bool isTiled(int Axis) const { return Axis >= 0 && Axis == S.Axis; }
  int64_t extent(const LoopValue &V, unsigned Dim) const;
  void fail(bool Failed) {
    if (Failed)
      Result = mlir::failure();
  }

  GpuWriter W;
  FusedKernel &Form;
  const LoopForm &F;
  const schedule::LoopSchedule &S;
  mlir::LogicalResult Result = mlir::success();
  Value Thread, Dynamic; ///< index; all shared memory
  int64_t SharedBytes = 0;
  llvm::SmallVector<Value> Base; ///< of each axis, the block's first index
  llvm::SmallVector<Memory> Carried, Kept; ///< Kept: of each stage, or none
  // While a step is computed.
  Value Current, Next; ///< 0 or 1: which of the two
  int64_t Lanes = 1;
  Value Lane;
  bool IsInSum = false;
  /// Branches for elements that are there.
  llvm::SmallPtrSet<mlir::Operation *, 16> Clamped;
  /// A part of a collected result, while it is stored.
  std::optional<unsigned> GivenResult;
  Value Given;
};

FamilyQuery queryLoop;

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_LOOPS_LOOPKERNEL_H
