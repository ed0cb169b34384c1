//===- GpuSortRuns.cpp - Runs that blocks sort and merge ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A block sorts a run in shared memory: each thread sorts eight neighbours in
/// registers. Then runs are merged in pairs, and each thread computes eight
/// elements of the result. Longer runs are merged in pairs from memory, in the
/// same way. There are no atomics: an element's place follows from its value.
///
/// Short rows are sorted in registers (RowNetwork.cpp).
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/RunPair.h"
#include "passes/kernels/form/SortedRuns.h"
#include "passes/kernels/gpu/GpuThreads.h"
#include "passes/kernels/gpu/sort/RowNetwork.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

/// Elements of a thread.
constexpr int64_t Each = 8;
constexpr int32_t MergeThreads = 256;
/// Elements of a vector store, 16 bytes.
constexpr int64_t StoreLanes = 2;

class RunSorter {
public:
  RunSorter(GpuWriter &W, SortedRuns &Runs)
      : W(W), Runs(Runs), Threads(Runs.to() / Each) {}

  LogicalResult emit() {
    Type I64 = W.B.getI64Type();
    // Behind eight elements one is left out: those of neighbouring threads are
    // in different banks.
    Memory = W.shared({Runs.to() / Each * (Each + 1)}, I64);
    SmallVector<OpFoldResult> Sizes(Runs.RowSizes);
    Sizes.push_back(W.ceilDiv(W.size(Runs.Size), Runs.to()));
    Row = W.split(W.block(), Sizes);
    Begin = W.mul(Row.pop_back_val(), W.index(Runs.to()));
    Thread =
        arith::IndexCastOp::create(W.B, W.Loc, W.B.getI32Type(), W.thread());
    if (failed(load()))
      return failure();
    sortOwn();
    mergeAll();
    store();
    return success();
  }

private:
  Value number(int32_t V) {
    return arith::ConstantOp::create(W.B, W.Loc, W.B.getI32IntegerAttr(V));
  }
  Value asIndex(OpBuilder &B, Value V) {
    return arith::IndexCastOp::create(B, W.Loc, B.getIndexType(), V);
  }
  /// Where an element of the run lies in shared memory.
  Value slot(OpBuilder &B, Value Place) {
    Value Eights = arith::ShRUIOp::create(
        B, W.Loc, Place,
        arith::ConstantOp::create(B, W.Loc, B.getI32IntegerAttr(3)));
    return asIndex(B, arith::AddIOp::create(B, W.Loc, Place, Eights));
  }
  Value own(int64_t K) {
    Value First = arith::MulIOp::create(W.B, W.Loc, Thread, number(Each + 1));
    return asIndex(
        W.B, arith::AddIOp::create(W.B, W.Loc, First, number(int32_t(K))));
  }
  /// Element K of this thread where lanes have neighbours.
  Value spread(int64_t K) {
    return arith::AddIOp::create(W.B, W.Loc, Thread,
                                 number(int32_t(K * Threads)));
  }

  LogicalResult load() {
    SmallVector<Value> Loaded;
    SmallVector<Value> At(Row);
    At.push_back({});
    for (int64_t K = 0; K < Each; ++K) {
      At.back() = W.add(Begin, asIndex(W.B, spread(K)));
      Loaded.push_back(W.Emitter.element(W.B, Runs.Op.getX(), At));
      if (!Loaded.back())
        return failure();
    }
    for (auto [K, V] : llvm::enumerate(Loaded))
      memref::StoreOp::create(W.B, W.Loc, V, Memory, slot(W.B, spread(K)));
    W.barrier();
    return success();
  }

  void sortOwn() {
    SmallVector<Value> Own;
    for (int64_t K = 0; K < Each; ++K)
      Own.push_back(memref::LoadOp::create(W.B, W.Loc, Memory, own(K)));
    sortEight(W, Own);
    keep(Own);
  }

  void keep(ArrayRef<Value> Own) {
    for (int64_t K = 0; K < Each; ++K)
      memref::StoreOp::create(W.B, W.Loc, Own[K], Memory, own(K));
    W.barrier();
  }

  void mergeAll() {
    int64_t Levels = llvm::Log2_64(Runs.to() / Each);
    W.loop(W.index(0), W.index(Levels), W.index(1), {},
           [&](Value Level, ValueRange) {
             merge(Level);
             return SmallVector<Value>();
           });
  }

  /// Runs of 8 << Level elements become runs twice as long.
  void merge(Value Level) {
    OpBuilder &B = W.B;
    Value Shift = arith::IndexCastOp::create(B, W.Loc, B.getI32Type(), Level);
    Value Length = arith::ShLIOp::create(B, W.Loc, number(Each), Shift);
    Value Place = arith::MulIOp::create(B, W.Loc, Thread, number(Each));
    Value Both = arith::AddIOp::create(B, W.Loc, Length, Length);
    Value Inside = arith::AndIOp::create(
        B, W.Loc, Place, arith::SubIOp::create(B, W.Loc, Both, number(1)));
    Value First = arith::SubIOp::create(B, W.Loc, Place, Inside);
    RunPair Pair(
        B, W.Loc, Length, Length, Length, [&](OpBuilder &B, Value At) -> Value {
          Value Here = arith::AddIOp::create(B, W.Loc, First, At);
          return memref::LoadOp::create(B, W.Loc, Memory, slot(B, Here));
        });
    RunPair::Heads Heads = Pair.headsAt(Inside);
    SmallVector<Value> Merged(Each);
    for (Value &V : Merged)
      std::tie(V, Heads) = Pair.take(Heads);
    W.barrier();
    keep(Merged);
  }

  void store() {
    SmallVector<Value> At(Row);
    At.push_back({});
    for (int64_t K = 0; K < Each; ++K) {
      Value Place = spread(K);
      Value V = memref::LoadOp::create(W.B, W.Loc, Memory, slot(W.B, Place));
      At.back() = W.add(Begin, asIndex(W.B, Place));
      auto Store = [&] {
        memref::StoreOp::create(W.B, W.Loc, V, Runs.Memref, At);
      };
      if (Runs.writesAll())
        Store();
      else
        W.when(W.less(At.back(), W.size(Runs.Written)), Store);
    }
  }

  GpuWriter &W;
  SortedRuns &Runs;
  int64_t Threads;
  Value Memory, Begin, Thread;
  SmallVector<Value> Row;
};

class RunMerger {
public:
  RunMerger(GpuWriter &W, SortedRuns &Runs) : W(W), Runs(Runs) {}

  void emit() {
    Value Number = W.add(W.mul(W.block(), W.index(MergeThreads)), W.thread());
    // Rows are a multiple of 256 elements long.
    SmallVector<OpFoldResult> Sizes(Runs.RowSizes);
    Sizes.push_back(W.ceilDiv(W.size(Runs.Size), Each));
    W.when(W.less(Number, W.size(Sizes)), [&] {
      SmallVector<Value> Row = W.split(Number, Sizes);
      Value Part = Row.pop_back_val();
      merge(Row, W.mul(Part, W.index(Each)));
    });
  }

private:
  /// A number inside of a pair, of 32 bits where that is enough.
  Value inPair(Value V) {
    constexpr int64_t MostNarrow = int64_t(1) << 29;
    if (Runs.to() > MostNarrow)
      return V;
    return W.B.createOrFold<arith::IndexCastOp>(W.Loc, W.B.getI32Type(), V);
  }

  void merge(ArrayRef<Value> Row, Value Place) {
    OpBuilder &B = W.B;
    Value Length = W.index(Runs.from());
    Value Inside =
        arith::AndIOp::create(B, W.Loc, Place, W.index(2 * Runs.from() - 1));
    Value First = arith::SubIOp::create(B, W.Loc, Place, Inside);
    Value Rest = arith::SubIOp::create(B, W.Loc, W.size(Runs.Size), First);
    Value SizeA = arith::MinSIOp::create(B, W.Loc, Rest, Length);
    Value SizeB = arith::MinSIOp::create(
        B, W.Loc, arith::SubIOp::create(B, W.Loc, Rest, SizeA), Length);
    RunPair Pair(
        B, W.Loc, inPair(SizeA), inPair(SizeB), inPair(Length),
        [&](OpBuilder &B, Value At) {
          if (!At.getType().isIndex())
            At = arith::IndexCastUIOp::create(B, W.Loc, B.getIndexType(), At);
          SmallVector<Value> Index(Row);
          Index.push_back(arith::AddIOp::create(B, W.Loc, First, At));
          return memref::LoadOp::create(B, W.Loc, Runs.source(), Index);
        });
    Inside = inPair(Inside);
    RunPair::Heads Heads = Pair.headsAt(Inside);
    SmallVector<Value> Merged(Each);
    for (Value &V : Merged)
      std::tie(V, Heads) = Pair.take(Heads);
    SmallVector<Value> At(Row);
    At.push_back({});
    for (int64_t K = 0; K < Each; K += StoreLanes) {
      At.back() = W.add(Place, W.index(K));
      storeLanes(W, ArrayRef(Merged).slice(K, StoreLanes), Runs.Memref, At);
    }
  }

  GpuWriter &W;
  SortedRuns &Runs;
};

} // namespace

FamilyAnswer queryGpuSortRuns(FusedKernel &Form, const target::Target &) {
  std::optional<SortedRuns> Read = SortedRuns::read(Form);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, "it does not sort");
  auto Runs = std::make_shared<SortedRuns>(std::move(*Read));
  bool Merges = Runs->Op.merges();
  std::optional<shape::Expr> Parts = Runs->parts(Merges ? Each : Runs->to());
  if (!Parts)
    return FamilyAnswer::refuse(RefusalKind::Size,
                                "a size of its rows is no expression");
  if (Merges && !Runs->source())
    return FamilyAnswer::refuse(RefusalKind::Form,
                                "what it merges is not in memory");
  if (Merges)
    return FamilyAnswer::offer(
        "merge " + std::to_string(Runs->from()) + " x" + std::to_string(Each),
        [&Form, Runs,
         Grid = Parts->ceilDiv(MergeThreads).str()](GpuLaunch &Launch) {
          Launch.Block = {MergeThreads, 1, 1};
          Launch.Grid[0] = Grid;
          GpuWriter W(Form);
          RunMerger(W, *Runs).emit();
          return success();
        });
  constexpr int64_t WarpThreads = 32;
  if (Runs->to() < WarpThreads * Each)
    return FamilyAnswer::offer(
        "sort " + std::to_string(Runs->to()) + " in registers",
        [&Form, Runs, Grid = Parts->ceilDiv(rowsOfNetwork(Runs->to())).str()](
            GpuLaunch &Launch) {
          Launch.Block = {NetworkThreads, 1, 1};
          Launch.Grid[0] = Grid;
          GpuWriter W(Form);
          return emitRowNetwork(W, *Runs);
        });
  return FamilyAnswer::offer(
      "sort " + std::to_string(Runs->to()) + " x" + std::to_string(Each),
      [&Form, Runs, Grid = Parts->str()](GpuLaunch &Launch) {
        Launch.Block = {int32_t(Runs->to() / Each), 1, 1};
        Launch.Grid[0] = Grid;
        GpuWriter W(Form);
        return RunSorter(W, *Runs).emit();
      });
}

} // namespace kpc::kernels
