//===- GpuThreads.h - What GPU builders write with --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Thread indices, shared memory, and vectors of neighbouring elements, for the
/// GPU builders.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GPUTHREADS_H
#define KPC_PASSES_KERNELS_GPU_GPUTHREADS_H

#include "passes/kernels/form/ElementEmitter.h"
#include "passes/kernels/gpu/KernelFamily.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace kpc::kernels {

/// Writes the code of one thread at the end of a kernel's function.
class GpuWriter {
public:
  explicit GpuWriter(FusedKernel &Form);

  mlir::OpBuilder B;
  mlir::Location Loc;
  ElementEmitter Emitter;

  mlir::Value index(int64_t V) { return Emitter.constantIndex(B, V); }
  mlir::Value size(mlir::OpFoldResult S) { return Emitter.materialize(B, S); }
  mlir::Value size(llvm::ArrayRef<mlir::OpFoldResult> Product);
  mlir::Value add(mlir::Value L, mlir::Value R) {
    return Emitter.add(B, Loc, L, R);
  }
  mlir::Value mul(mlir::Value L, mlir::Value R) {
    return Emitter.mul(B, Loc, L, R);
  }
  mlir::Value ceilDiv(mlir::Value L, int64_t R);
  mlir::Value less(mlir::Value L, mlir::Value R);
  mlir::Value both(mlir::Value L, mlir::Value R);

  mlir::Value thread(mlir::gpu::Dimension D = mlir::gpu::Dimension::x);
  mlir::Value block(mlir::gpu::Dimension D = mlir::gpu::Dimension::x);
  void barrier();
  /// All threads of the cluster meet; what they wrote to shared memory before
  /// is seen by all.
  void clusterBarrier();
  /// Its two halves. All threads arrive before any of them waits.
  void arriveInCluster();
  void waitForCluster();
  /// The one element of shared `Memory` of another block of the cluster.
  mlir::Value loadFromBlock(mlir::Value Memory, mlir::Value Block);

  /// Static shared memory.
  mlir::Value shared(llvm::ArrayRef<int64_t> Shape, mlir::Type Element);

  /// Splits a linear index, the last size the fastest. Division by constants
  /// is 32 bits wide where `Bound` (exclusive, of `Linear`) allows.
  llvm::SmallVector<mlir::Value>
  split(mlir::Value Linear, llvm::ArrayRef<mlir::OpFoldResult> Sizes,
        std::optional<int64_t> Bound = std::nullopt);

  /// An scf.if; `Then` and `Else` leave the builder's place as they found it.
  using Emit = llvm::function_ref<void()>;
  void when(mlir::Value Condition, Emit Then);
  void when(mlir::Value Condition, Emit Then, Emit Else);
  /// A loop from `Lower` to `Upper`; `Body` gets the index and carried values
  /// and returns the values carried on.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value Lower, mlir::Value Upper, mlir::Value Step,
       mlir::ValueRange Carried,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           Body);

  /// The same number of 32 bits, of which LLVM knows nothing: what is computed
  /// from it stays where it is computed.
  mlir::Value renewed(mlir::Value V);

  /// The value of another lane of the warp, by xor of the lane number.
  mlir::Value shuffleXor(mlir::Value V, int32_t Mask);
};

/// Lets neighbouring elements be computed together: loads that differ by the
/// lane alone become one vector load. Between begin() and end(), lane L's
/// elements are pulled after at(L), with what it returns as their last moving
/// index; lane 0 comes first.
class LaneLoads {
public:
  /// `Lanes` is a power of two; alignment of `Base` to it is the caller's word.
  LaneLoads(GpuWriter &W, unsigned Lanes) : W(W), Lanes(Lanes) {}

  void begin(mlir::Value Base);
  void end();
  /// Alignment of every row that is read is the caller's word too: the code
  /// runs under a check of strides.
  void assumeAligned() { RowsAligned = true; }
  /// So is that of `Base` in row `Row` of a view with the strides `Strides`,
  /// and of such rows alone.
  void assumeAlignedIn(mlir::ValueRange Row,
                       llvm::ArrayRef<mlir::OpFoldResult> Strides) {
    AlignedRow.assign(Row.begin(), Row.end());
    AlignedStrides = Strides;
  }
  mlir::Value at(unsigned L) {
    Current = L;
    return Indices[L];
  }

private:
  mlir::Value load(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value Memref,
                   mlir::ValueRange At);
  bool isAligned(mlir::Value Memref, mlir::ValueRange At) const;

  GpuWriter &W;
  unsigned Lanes, Current = 0;
  bool RowsAligned = false;
  llvm::SmallVector<mlir::Value> AlignedRow;
  llvm::ArrayRef<mlir::OpFoldResult> AlignedStrides;
  mlir::Block *Home = nullptr;
  llvm::SmallVector<mlir::Value> Indices;
  /// Memref and all indices but the last, to the vector.
  std::vector<std::pair<llvm::SmallVector<mlir::Value>, mlir::Value>> Loaded;
};

/// Sizes as the text of a shape expression over `argN`; empty where operations
/// stand behind them that have none.
std::string sizeText(mlir::OpFoldResult Size);
std::string productText(llvm::ArrayRef<mlir::OpFoldResult> Sizes);

/// A whole buffer as a row of elements.
mlir::Value flatView(GpuWriter &W, mlir::Value Base, mlir::Type Element);

/// Bytes of one element in memory.
int64_t storageBytes(mlir::Type Element);

/// Stores neighbouring elements as one vector.
void storeLanes(GpuWriter &W, llvm::ArrayRef<mlir::Value> Lanes,
                mlir::Value Memref, mlir::ValueRange At);

/// Most lanes (a power of two, at most `Widest` bytes of the smallest element)
/// that all outputs of a section can be stored in along `Dim`, given that the
/// indices of other dims are arbitrary and those of `Dim` multiples of it.
unsigned storeLanesOf(llvm::ArrayRef<KernelOutput> Outputs, unsigned Dim,
                      llvm::ArrayRef<unsigned> Run, int64_t WidestBytes);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GPUTHREADS_H
