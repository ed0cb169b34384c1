//===- RowNetwork.cpp - Short rows sorted in registers --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/sort/RowNetwork.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

constexpr int64_t MostEach = 8;

/// Batcher's odd-even merge sort of eight.
constexpr std::pair<int, int> Eights[] = {
    {0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6},
    {5, 7}, {1, 2}, {5, 6}, {0, 4}, {1, 5}, {2, 6}, {3, 7},
    {2, 4}, {3, 5}, {1, 2}, {3, 4}, {5, 6}};

void putInOrder(GpuWriter &W, Value &First, Value &Second) {
  Value Least = arith::MinSIOp::create(W.B, W.Loc, First, Second);
  Second = arith::MaxSIOp::create(W.B, W.Loc, First, Second);
  First = Least;
}

class RowNetwork {
public:
  RowNetwork(GpuWriter &W, SortedRuns &Runs)
      : W(W), Runs(Runs), Each(std::min(Runs.to(), MostEach)),
        Lanes(Runs.to() / Each) {}

  LogicalResult emit() {
    SmallVector<OpFoldResult> Sizes(Runs.RowSizes);
    Sizes.push_back(W.ceilDiv(W.size(Runs.Size), Runs.to()));
    Value Number = W.add(W.mul(W.block(), W.index(NetworkThreads)), W.thread());
    Value Count = W.size(Sizes);
    Value Group =
        W.B.createOrFold<arith::DivUIOp>(W.Loc, Number, W.index(Lanes));
    Lane = W.B.createOrFold<arith::RemUIOp>(W.Loc, Number, W.index(Lanes));
    Value IsRow = W.less(Group, Count);
    // Lanes behind the last row take part in shuffles, with elements of it.
    Value LastRow = arith::SubIOp::create(W.B, W.Loc, Count, W.index(1));
    Row = W.split(arith::MinSIOp::create(W.B, W.Loc, Group, LastRow), Sizes);
    Begin = W.mul(Row.pop_back_val(), W.index(Runs.to()));
    if (failed(load()))
      return failure();
    sortOwn();
    for (int64_t Length = 2 * Each; Length <= Runs.to(); Length *= 2)
      merge(Length);
    W.when(IsRow, [&] { store(); });
    return success();
  }

private:
  /// In any order: lanes read neighbours.
  LogicalResult load() {
    SmallVector<Value> At(Row);
    At.push_back({});
    for (int64_t K = 0; K < Each; ++K) {
      At.back() = W.add(Begin, W.add(Lane, W.index(K * Lanes)));
      Own.push_back(W.Emitter.element(W.B, Runs.Op.getX(), At));
      if (!Own.back())
        return failure();
    }
    return success();
  }

  void sortOwn() {
    if (Each == MostEach)
      return sortEight(W, Own);
    for (int64_t Length = 2; Length <= Each; Length *= 2)
      mergeOwn(Length, /*Mirrored=*/true);
  }

  /// Pairs of elements of this lane, at halved distances; the first ones are
  /// mirrored where two runs meet.
  void mergeOwn(int64_t Length, bool Mirrored) {
    for (int64_t Distance = Length / 2; Distance > 0; Distance /= 2) {
      for (int64_t K = 0; K < Each; ++K) {
        int64_t Other = K ^ (Mirrored ? Length - 1 : Distance);
        if (K < Other)
          putInOrder(W, Own[K], Own[Other]);
      }
      Mirrored = false;
    }
  }

  void merge(int64_t Length) {
    exchange(Length / Each - 1, Length / Each / 2, /*Mirrored=*/true);
    for (int64_t Distance = Length / Each / 4; Distance > 0; Distance /= 2)
      exchange(Distance, Distance, /*Mirrored=*/false);
    mergeOwn(Each, /*Mirrored=*/false);
  }

  /// The lane without `Bit` in its number keeps the lesser of each pair.
  void exchange(int64_t Mask, int64_t Bit, bool Mirrored) {
    Value IsSecond = arith::CmpIOp::create(
        W.B, W.Loc, arith::CmpIPredicate::ne,
        arith::AndIOp::create(W.B, W.Loc, Lane, W.index(Bit)), W.index(0));
    SmallVector<Value> Others;
    for (int64_t K = 0; K < Each; ++K)
      Others.push_back(
          W.shuffleXor(Own[Mirrored ? Each - 1 - K : K], int32_t(Mask)));
    for (auto [Mine, Other] : llvm::zip_equal(Own, Others)) {
      Value IsLess = arith::CmpIOp::create(
          W.B, W.Loc, arith::CmpIPredicate::slt, Mine, Other);
      Value Keep = arith::XOrIOp::create(W.B, W.Loc, IsLess, IsSecond);
      Mine = arith::SelectOp::create(W.B, W.Loc, Keep, Mine, Other);
    }
  }

  void store() {
    SmallVector<Value> At(Row);
    At.push_back({});
    Value First = W.add(Begin, W.mul(Lane, W.index(Each)));
    for (int64_t K = 0; K < Each; ++K) {
      At.back() = W.add(First, W.index(K));
      auto Store = [&] {
        memref::StoreOp::create(W.B, W.Loc, Own[K], Runs.Memref, At);
      };
      // Vectors of 16 bytes where all of a row is written.
      if (!Runs.writesAll())
        W.when(W.less(At.back(), W.size(Runs.Written)), Store);
      else if (K % 2 == 0)
        storeLanes(W, ArrayRef<Value>(Own).slice(K, 2), Runs.Memref, At);
    }
  }

  GpuWriter &W;
  SortedRuns &Runs;
  int64_t Each, Lanes;
  Value Lane, Begin;
  SmallVector<Value> Row, Own;
};

} // namespace

int64_t rowsOfNetwork(int64_t Length) {
  return NetworkThreads * std::min(Length, MostEach) / Length;
}

void sortEight(GpuWriter &W, MutableArrayRef<Value> Eight) {
  for (auto [I, J] : Eights)
    putInOrder(W, Eight[I], Eight[J]);
}

LogicalResult emitRowNetwork(GpuWriter &W, SortedRuns &Runs) {
  return RowNetwork(W, Runs).emit();
}

} // namespace kpc::kernels
