//===- GpuScan.cpp - Running sums -----------------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads each element once. Along lines of memory a block walks one line in
/// tiles, each thread with a few neighbours:
///
///   thread 0     thread 1     …      sums of threads → of warps → before each
///   x0 x1 x2 x3  x4 x5 x6 x7  …      y4 = x4 + (of threads before + carry)
///
/// Across lines each thread walks one column. The order of additions follows
/// from sizes alone.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/RunningSum.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/GpuReduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

constexpr int64_t UnknownSize = 1024, WarpThreads = 32;
constexpr int64_t MostLanes = 8;
/// Lines of at most so many elements have a thread each.
constexpr int64_t ShortLine = 64;
constexpr int32_t ColumnThreads = 256;
/// Rows of a column that are on their way at once.
constexpr int64_t Ahead = 8;

/// What both forms know of their part of the axis: all of it, or a block.
class ScanWriter {
public:
  ScanWriter(Reduction &R, const RunningSum &Sum)
      : W(R.Form), R(R), Sum(Sum),
        Element(getElementTypeOrSelf(R.Op->getResultTypes()[0])) {}

protected:
  OpFoldResult axisSize() const { return R.ParallelSizes[Sum.Axis]; }
  Value sub(Value A, Value C) {
    return W.B.createOrFold<arith::SubIOp>(W.Loc, A, C);
  }
  Value zero() {
    return arith::ConstantOp::create(W.B, W.Loc, W.B.getZeroAttr(Element));
  }
  Value plus(Value A, Value C) {
    if (isa<FloatType>(Element))
      return arith::AddFOp::create(W.B, W.Loc, A, C);
    return arith::AddIOp::create(W.B, W.Loc, A, C);
  }
  Value select(Value If, Value A, Value C) {
    return arith::SelectOp::create(W.B, W.Loc, If, A, C);
  }
  /// The sizes of what is one part of the axis each.
  SmallVector<OpFoldResult> partSizes() {
    SmallVector<OpFoldResult> Sizes(R.ParallelSizes);
    Sizes[Sum.Axis] =
        Sum.Block ? OpFoldResult(W.ceilDiv(W.size(axisSize()), *Sum.Block))
                  : OpFoldResult(W.B.getIndexAttr(1));
    return Sizes;
  }
  /// The part of that number.
  void openPart(Value Number) {
    End = W.size(axisSize());
    First = W.index(0);
    if (Sum.Block) {
      First = W.mul(Number, W.index(*Sum.Block));
      End = W.B.createOrFold<arith::MinSIOp>(
          W.Loc, W.add(First, W.index(*Sum.Block)), End);
    }
    Count = sub(End, First);
  }
  /// Adds `X` to `Running`; the element's own result.
  Value step(Value &Running, Value X) {
    Value Before = Running;
    Running = plus(Running, X);
    return Sum.Exclusive ? Before : Running;
  }

  GpuWriter W;
  Reduction &R;
  const RunningSum &Sum;
  Type Element;
  Value First, End, Count;
};

class LineScan : ScanWriter {
public:
  LineScan(Reduction &R, const RunningSum &Sum, int64_t Threads, int64_t Lanes)
      : ScanWriter(R, Sum), Threads(Threads), Lanes(Lanes) {}

  LogicalResult emit() {
    At = W.split(W.block(), partSizes());
    openPart(At.back());
    // Of each warp of two tiles: of one while others still read the other.
    Totals = W.shared({2, warps()}, Element);
    Value Warp32 = W.index(WarpThreads);
    Lane = W.B.createOrFold<arith::RemUIOp>(W.Loc, W.thread(), Warp32);
    Warp = W.B.createOrFold<arith::DivUIOp>(W.Loc, W.thread(), Warp32);
    W.loop(W.index(0), W.ceilDiv(Count, Threads * Lanes), W.index(1), zero(),
           [&](Value Tile, ValueRange Carry) {
             return SmallVector<Value>{tile(Tile, Carry[0])};
           });
    return Result;
  }

private:
  int64_t warps() const { return Threads / WarpThreads; }
  /// Lane number `Number` in the order of the sum.
  int64_t inOrder(int64_t Number) const {
    return Sum.Reverse ? Lanes - 1 - Number : Number;
  }

  /// The neighbours of this thread, of which there are none behind the end.
  SmallVector<Value> load(Value Place, Value Inside) {
    LaneLoads Loads(W, unsigned(Lanes));
    SmallVector<Value> X, Index(At);
    Loads.begin(select(Inside, Place, First));
    for (int64_t L = 0; L < Lanes; ++L) {
      Index.back() = Loads.at(unsigned(L));
      X.push_back(W.Emitter.element(W.B, Sum.X, Index));
      if (!X.back()) {
        Result = failure();
        X.back() = zero();
      }
    }
    Loads.end();
    for (Value &V : X)
      V = select(Inside, V, zero());
    return X;
  }

  /// The sum of the lanes of the warp in front of this one; `Total` becomes
  /// that of all.
  Value beforeInWarp(Value &Total) {
    Value Before = zero();
    for (int32_t Mask = 1; Mask < WarpThreads; Mask *= 2) {
      Value Other = W.shuffleXor(Total, Mask);
      Value Bit = arith::AndIOp::create(W.B, W.Loc, Lane, W.index(Mask));
      Value IsBehind = arith::CmpIOp::create(
          W.B, W.Loc, arith::CmpIPredicate::ne, Bit, W.index(0));
      Before = select(IsBehind, plus(Other, Before), Before);
      Total = plus(Total, Other);
    }
    return Before;
  }

  /// The sum of all warps in front; `Carry` becomes that of all.
  Value beforeWarp(Value Tile, Value Total, Value &Carry) {
    Value Parity = arith::AndIOp::create(W.B, W.Loc, Tile, W.index(1));
    Value IsFirst = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                          Lane, W.index(0));
    W.when(IsFirst, [&] {
      memref::StoreOp::create(W.B, W.Loc, Total, Totals,
                              ValueRange{Parity, Warp});
    });
    W.barrier();
    Value Before = Carry;
    for (int64_t I = 0; I < warps(); ++I) {
      if (I > 0)
        Before =
            select(arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                         Warp, W.index(I)),
                   Carry, Before);
      Carry =
          plus(Carry, memref::LoadOp::create(W.B, W.Loc, Totals,
                                             ValueRange{Parity, W.index(I)}));
    }
    return Before;
  }

  Value tile(Value Tile, Value Carry) {
    Value Offset =
        W.mul(W.add(W.mul(Tile, W.index(Threads)), W.thread()), W.index(Lanes));
    Value Inside = W.less(Offset, Count);
    Value Place = Sum.Reverse ? sub(sub(End, W.index(Lanes)), Offset)
                              : W.add(First, Offset);
    SmallVector<Value> X = load(Place, Inside);
    Value Total = X[inOrder(0)];
    for (int64_t I = 1; I < Lanes; ++I)
      Total = plus(Total, X[inOrder(I)]);
    Value InWarp = beforeInWarp(Total);
    Value Running = plus(beforeWarp(Tile, Total, Carry), InWarp);
    SmallVector<SmallVector<Value>> Y(Lanes);
    for (int64_t I = 0; I < Lanes; ++I)
      Y[inOrder(I)] = {step(Running, X[inOrder(I)])};
    W.when(Inside, [&] {
      SmallVector<Value> Index(At);
      Index.back() = Place;
      if (failed(storeOutputs(W, R, Index, Y)))
        Result = failure();
    });
    return Carry;
  }

  int64_t Threads, Lanes;
  SmallVector<Value> At;
  Value Totals, Lane, Warp;
  LogicalResult Result = success();
};

class ColumnScan : ScanWriter {
public:
  using ScanWriter::ScanWriter;

  LogicalResult emit() {
    Value Number = W.add(W.mul(W.block(), W.index(ColumnThreads)), W.thread());
    SmallVector<OpFoldResult> Sizes = partSizes();
    W.when(W.less(Number, W.size(Sizes)), [&] {
      At = W.split(Number, Sizes);
      openPart(At[Sum.Axis]);
      Value Rest =
          W.B.createOrFold<arith::RemUIOp>(W.Loc, Count, W.index(Ahead));
      Value Whole = sub(Count, Rest);
      SmallVector<Value> Sums = walk(W.index(0), Whole, Ahead, {zero()});
      walk(Whole, Count, 1, Sums);
    });
    return Result;
  }

private:
  SmallVector<Value> walk(Value From, Value To, int64_t Rows,
                          ArrayRef<Value> Start) {
    return W.loop(From, To, W.index(Rows), Start,
                  [&](Value Offset, ValueRange Carry) {
                    return SmallVector<Value>{rows(Offset, Rows, Carry[0])};
                  });
  }

  /// All are loaded before one is stored: loads stay together.
  Value rows(Value Offset, int64_t Rows, Value Running) {
    SmallVector<SmallVector<Value>> Places;
    SmallVector<Value> X;
    for (int64_t I = 0; I < Rows; ++I) {
      Value Here = W.add(Offset, W.index(I));
      Places.push_back(At);
      Places.back()[Sum.Axis] =
          Sum.Reverse ? sub(sub(End, W.index(1)), Here) : W.add(First, Here);
      X.push_back(W.Emitter.element(W.B, Sum.X, Places.back()));
      if (!X.back()) {
        Result = failure();
        return Running;
      }
    }
    for (int64_t I = 0; I < Rows; ++I) {
      Value Y = step(Running, X[I]);
      if (failed(storeOutputs(W, R, Places[I], {{Y}})))
        Result = failure();
    }
    return Running;
  }

  SmallVector<Value> At;
  LogicalResult Result = success();
};

/// Lanes that divide a line and its blocks and are one vector of each output.
int64_t chooseLanes(const Reduction &R, const RunningSum &Sum,
                    const target::Target &T) {
  unsigned Last = R.Parallel.size() - 1;
  int64_t Lanes = storeLanesOf(R.Form.Outputs, Last, Last, T.Can.WidestAccess);
  Lanes = std::min(Lanes, MostLanes);
  while (Lanes > 1 && (divisorOf(R.ParallelSizes[Last]) % Lanes ||
                       Sum.Block.value_or(0) % Lanes))
    Lanes /= 2;
  return Lanes;
}

/// A warp for each eighth of a line; where there are fewer blocks than fill the
/// chip, more.
int64_t chooseThreads(int64_t Blocks, int64_t Length, int64_t Lanes,
                      const target::Target &T) {
  constexpr int64_t Few = 256, Many = 1024;
  int64_t Threads = Blocks * Few < T.Cost.SmCount * Many ? Many : Few;
  while (Threads > WarpThreads && Threads / 2 * Lanes >= Length)
    Threads /= 2;
  return Threads;
}

} // namespace

FamilyAnswer queryGpuScan(FusedKernel &Form, const target::Target &T) {
  std::optional<Reduction> Read = Reduction::read(Form);
  std::optional<RunningSum> Found =
      Read ? RunningSum::read(Read->Op) : std::nullopt;
  if (!Found)
    return FamilyAnswer::refuse(RefusalKind::Form, "it is no running sum");
  auto R = std::make_shared<Reduction>(std::move(*Read));
  auto Sum = std::make_shared<RunningSum>(*Found);
  SmallVector<OpFoldResult> Others(R->ParallelSizes);
  Others.erase(Others.begin() + Sum->Axis);
  std::optional<shape::Expr> Parts = productExpr(Others),
                             Size = sizeExpr(R->ParallelSizes[Sum->Axis]);
  if (!Parts || !Size)
    return FamilyAnswer::refuse(RefusalKind::Size,
                                "a size of its result is no expression");
  int64_t Length = typicalOf(R->ParallelSizes[Sum->Axis], UnknownSize);
  int64_t Blocks = typicalProduct(Others, UnknownSize);
  if (Sum->Block) {
    *Parts = *Parts * Size->ceilDiv(*Sum->Block);
    Blocks *= (Length + *Sum->Block - 1) / *Sum->Block;
    Length = std::min(Length, *Sum->Block);
  }
  bool IsLine = Sum->Axis + 1 == R->Parallel.size() && Length > ShortLine;
  if (!IsLine)
    return FamilyAnswer::offer(
        "scan columns x" + std::to_string(Ahead),
        [R, Sum, Grid = Parts->ceilDiv(int64_t(ColumnThreads)).str()](
            GpuLaunch &Launch) {
          Launch.Block = {ColumnThreads, 1, 1};
          Launch.Grid[0] = Grid;
          return ColumnScan(*R, *Sum).emit();
        });
  int64_t Lanes = chooseLanes(*R, *Sum, T);
  int64_t Threads = chooseThreads(Blocks, Length, Lanes, T);
  return FamilyAnswer::offer(
      "scan " + std::to_string(Threads) + " x" + std::to_string(Lanes),
      [R, Sum, Threads, Lanes, Grid = Parts->str()](GpuLaunch &Launch) {
        Launch.Block = {int32_t(Threads), 1, 1};
        Launch.Grid[0] = Grid;
        return LineScan(*R, *Sum, Threads, Lanes).emit();
      });
}

} // namespace kpc::kernels
