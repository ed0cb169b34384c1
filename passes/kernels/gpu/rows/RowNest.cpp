//===- RowNest.cpp - A row in the registers of some threads ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/rows/RowNest.h"
#include "passes/kernels/gpu/GpuReduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

static constexpr int64_t WarpThreads = 32;

void RowNest::placeInBlock(Value InBlock) {
  Thread = InBlock;
  auto Divide = [&](auto Kind, int64_t By) -> Value {
    return W.B.createOrFold<decltype(Kind)>(W.Loc, Thread, W.index(By));
  };
  Lane = Thread;
  RowInBlock = W.index(0);
  if (S.Rows > 1) {
    Lane = Divide(arith::RemUIOp(), S.Threads);
    RowInBlock = Divide(arith::DivUIOp(), S.Threads);
  }
}

void RowNest::placeRow(Value Row, Value Is) {
  IsRow = Is;
  Outer = W.split(Row, K.OuterSizes, Reduction::boundOf(K.OuterSizes));
  Length = W.size(K.RowSizes);
  Places.clear();
  hookReductions();
}

void RowNest::placeThread() {
  Value InBlock = W.thread(), Row = W.block(), Is;
  placeInBlock(InBlock);
  if (S.Rows > 1) {
    Row = W.add(W.mul(Row, W.index(S.Rows)), RowInBlock);
    // The last block's spare threads compute its last row again.
    Value Rows = W.size(K.OuterSizes);
    Is = W.less(Row, Rows);
    Value Last = W.B.createOrFold<arith::SubIOp>(W.Loc, Rows, W.index(1));
    Row = arith::MinSIOp::create(W.B, W.Loc, Row, Last);
  }
  placeRow(Row, Is);
}

void RowNest::store(const KernelOutput &Out, ArrayRef<Value> Lanes,
                    ValueRange At) {
  storeLanes(W, Lanes, Out.Memref, At);
}

/// Results of reductions that are done stand for their tensors wherever these
/// are read: RowKernel has made sure that it is at the row's own place.
void RowNest::hookReductions() {
  W.Emitter.setElementHook(
      [this](OpBuilder &, Location, Value Tensor, ValueRange) -> Value {
        auto It = Known.find(Tensor.getDefiningOp());
        if (It == Known.end())
          return {};
        return It->second[cast<OpResult>(Tensor).getResultNumber()];
      });
}

/// The place of an element, outer dimensions first. The same values each time,
/// by which the emitter knows an element that it has.
RowNest::Values RowNest::at(Value InRow) {
  Values &Known = Places[InRow];
  bool IsHere = !Known.empty() && llvm::all_of(Known, [&](Value V) {
    return dominatesInsertion(V, W.B);
  });
  if (IsHere)
    return Known;
  Known = Outer;
  llvm::append_range(
      Known, W.split(InRow, K.RowSizes, Reduction::boundOf(K.RowSizes)));
  return Known;
}

RowNest::Values RowNest::neutrals(const RowReduction &R) {
  return llvm::map_to_vector(
      R.Combiners, [&](Operation *Combiner) { return neutral(W, Combiner); });
}

/// Folds the elements of one access into `Start`.
RowNest::Values RowNest::foldPart(const RowReduction &R, const Part &P,
                                  const RowWay &How, Values Start) {
  Values Sum = Start;
  LaneLoads Loads(W, P.Lanes);
  Values Place = at(P.First);
  startLoads(Loads, Place.back(), How);
  for (int64_t L = 0; L < P.Lanes; ++L) {
    Place.back() = Loads.at(L);
    Values Next;
    if (failed(W.Emitter.body(W.B, R.Op, Place, Sum, Next))) {
      Result = failure();
      break;
    }
    Sum = Next;
  }
  Loads.end();
  if (P.Inside)
    for (auto [Into, Before] : llvm::zip_equal(Sum, Start))
      Into = arith::SelectOp::create(W.B, W.Loc, P.Inside, Into, Before);
  return Sum;
}

/// Every thread of the row gets the result.
Value RowNest::reduceThreads(Operation *Combiner, Value V) {
  V = reduceWarp(W, Combiner, V, std::min(S.Threads, WarpThreads));
  int64_t Warps = S.Threads / WarpThreads;
  if (Warps <= 1)
    return V;
  auto Of = [&](auto Kind, Value X, int64_t By) -> Value {
    return W.B.createOrFold<decltype(Kind)>(W.Loc, X, W.index(By));
  };
  Value Memory = W.shared({Warps * S.Rows}, V.getType());
  Value InWarp = Of(arith::RemUIOp(), Thread, WarpThreads);
  Value IsFirst = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                        InWarp, W.index(0));
  W.when(IsFirst, [&] {
    memref::StoreOp::create(W.B, W.Loc, V, Memory,
                            Of(arith::DivUIOp(), Thread, WarpThreads));
  });
  W.barrier();
  Value FirstOfRow = W.mul(RowInBlock, W.index(Warps));
  Value Place = W.add(FirstOfRow, Of(arith::RemUIOp(), Thread, Warps));
  V = memref::LoadOp::create(W.B, W.Loc, Memory, Place);
  return reduceWarp(W, Combiner, V, Warps);
}

void RowNest::finish(const RowReduction &R, Values Partial) {
  for (auto [V, Combiner] : llvm::zip_equal(Partial, R.Combiners))
    V = reduceThreads(Combiner, V);
  if (failed(combineInitial(W, R.Op, R.Combiners, Outer, Partial)))
    Result = failure();
  linalg::LinalgOp Op = R.Op;
  Known[Op] = Partial;
}

void RowNest::storeWide(const Part &P, const RowWay &How) {
  LaneLoads Loads(W, P.Lanes);
  Values Place = K.inShape(ArrayRef<Value>(at(P.First))), Start = Place;
  startLoads(Loads, Place.back(), How);
  SmallVector<Values> Elements;
  for (const KernelOutput &Out : K.Wide) {
    Elements.emplace_back();
    for (int64_t L = 0; L < P.Lanes && succeeded(Result); ++L) {
      Place.back() = Loads.at(L);
      Elements.back().push_back(W.Emitter.element(W.B, Out.Tensor, Place));
      if (!Elements.back().back())
        Result = failure();
    }
  }
  Loads.end();
  if (failed(Result))
    return;
  auto Store = [&] {
    for (auto [Out, Lanes] : llvm::zip_equal(K.Wide, Elements))
      store(Out, Lanes, Start);
  };
  Value Stored = P.Inside && IsRow ? W.both(P.Inside, IsRow)
                                   : (P.Inside ? P.Inside : IsRow);
  if (Stored)
    W.when(Stored, Store);
  else
    Store();
}

void RowNest::storeNarrow() {
  if (K.Narrow.empty() || failed(Result))
    return;
  Value First = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                      Lane, W.index(0));
  W.when(IsRow ? W.both(First, IsRow) : First, [&] {
    for (const KernelOutput &Out : K.Narrow) {
      Values Place;
      for (std::optional<unsigned> Loop : K.loopsOfNarrow(Out))
        Place.push_back(Loop ? Outer[*Loop] : W.index(0));
      Value V = W.Emitter.element(W.B, Out.Tensor, Place);
      if (!V) {
        Result = failure();
        return;
      }
      memref::StoreOp::create(W.B, W.Loc, V, Out.Memref, Place);
    }
  });
}

void RowNest::startLoads(LaneLoads &Loads, Value First, const RowWay &How) {
  if (How.Aligned)
    Loads.assumeAligned();
  if (How.startsAnywhere())
    Loads.assumeAlignedIn(Outer, How.Strides);
  Loads.begin(First);
}

/// Elements of the row in front of the first aligned one; null: none.
Value RowNest::elementsBefore(const RowWay &How) {
  if (!How.startsAnywhere())
    return {};
  Value Start = W.index(0);
  for (auto [Index, Stride] : llvm::zip_equal(Outer, How.Strides))
    Start = W.add(Start, W.mul(Index, W.size(Stride)));
  Value Back = W.B.createOrFold<arith::SubIOp>(W.Loc, W.index(0), Start);
  return W.B.createOrFold<arith::AndIOp>(W.Loc, Back, W.index(How.Lanes - 1));
}

/// What a thread does of the vectors from `Base` on; null: of the row.
SmallVector<RowNest::Part> RowNest::partsFrom(Value Base, const RowWay &How) {
  auto Minus = [&](Value A, Value C) {
    return W.B.createOrFold<arith::SubIOp>(W.Loc, A, C);
  };
  SmallVector<Part> Parts;
  Value Before = elementsBefore(How), Lanes = W.index(How.Lanes);
  Value Last = Minus(Length, Lanes), Mine = W.mul(Lane, Lanes);
  if (!How.Strides.empty()) {
    Value Inner = Before ? Minus(Length, Before) : Length;
    Value Behind =
        W.B.createOrFold<arith::AndIOp>(W.Loc, Inner, W.index(How.Lanes - 1));
    Last = Minus(Last, Behind);
  }
  if (Before)
    Mine = W.add(Before, Mine);
  if (Base)
    Mine = W.add(Base, Mine);
  for (int64_t A = 0; A < How.Accesses; ++A) {
    Part P;
    P.Lanes = How.Lanes;
    P.First = W.add(Mine, W.index(A * S.Threads * How.Lanes));
    if (!How.Exact) {
      P.Inside = How.Strides.empty() ? W.less(P.First, Length)
                                     : W.less(P.First, W.add(Last, W.index(1)));
      P.First = arith::MinSIOp::create(W.B, W.Loc, P.First, Last);
    }
    Parts.push_back(P);
  }
  return Parts;
}

/// The elements in front of the vectors and behind them, one a thread.
SmallVector<RowNest::Part> RowNest::edges(const RowWay &How) {
  if (How.Strides.empty())
    return {};
  Value Before = elementsBefore(How), Most = W.index(How.Lanes - 1);
  auto Minus = [&](Value A, Value C) {
    return W.B.createOrFold<arith::SubIOp>(W.Loc, A, C);
  };
  Value Inner = Before ? Minus(Length, Before) : Length;
  Value Behind = W.B.createOrFold<arith::AndIOp>(W.Loc, Inner, Most);
  Value Count = Before ? W.add(Before, Behind) : Behind;
  Value Skipped = Minus(Length, Count);
  int64_t Elements = (How.Lanes - 1) * (Before ? 2 : 1);
  SmallVector<Part> Parts;
  for (int64_t First = 0; First < Elements; First += S.Threads) {
    Value Number = W.add(Lane, W.index(First));
    Value Inside = W.less(Number, Count), Start = W.index(0);
    Value Place = W.add(Number, Skipped);
    if (Before)
      Place = arith::SelectOp::create(W.B, W.Loc, W.less(Number, Before),
                                      Number, Place);
    Place = arith::SelectOp::create(W.B, W.Loc, Inside, Place, Start);
    Parts.push_back({Place, Inside, 1});
  }
  return Parts;
}

/// A sum for each access, then pairs of these: short chains of additions.
RowNest::Values RowNest::fold(const RowReduction &R, ArrayRef<Part> Parts,
                              const RowWay &How) {
  SmallVector<Values> Sums;
  for (const Part &P : Parts) {
    Sums.push_back(foldPart(R, P, How, neutrals(R)));
    if (failed(Result))
      return {};
  }
  for (size_t Step = 1; Step < Sums.size(); Step *= 2)
    for (size_t I = 0; I + Step < Sums.size(); I += 2 * Step)
      for (auto [Number, Combiner] : llvm::enumerate(R.Combiners))
        Sums[I][Number] =
            combine(W, Combiner, Sums[I][Number], Sums[I + Step][Number]);
  return Sums[0];
}

void RowNest::keep(const RowWay &How) {
  forgetReductions();
  SmallVector<Part> Parts = partsFrom({}, How);
  llvm::append_range(Parts, edges(How));
  for (const RowReduction &R : K.Reductions) {
    Values Partial = fold(R, Parts, How);
    if (succeeded(Result))
      finish(R, Partial);
    if (failed(Result))
      return;
  }
  for (const Part &P : Parts)
    storeWide(P, How);
  storeNarrow();
}

void RowNest::walk(const RowWay &How) {
  forgetReductions();
  Value Step = W.index(S.Threads * How.Lanes * How.Accesses);
  for (const RowReduction &R : K.Reductions) {
    Values Partial = W.loop(W.index(0), Length, Step, neutrals(R),
                            [&](Value Base, ValueRange Carried) {
                              Values Sum = fold(R, partsFrom(Base, How), How);
                              if (failed(Result))
                                return Values(Carried);
                              for (auto [V, Before, Combiner] :
                                   llvm::zip_equal(Sum, Carried, R.Combiners))
                                V = combine(W, Combiner, Before, V);
                              return Sum;
                            });
    if (SmallVector<Part> Edges = edges(How);
        !Edges.empty() && succeeded(Result)) {
      Values Sum = fold(R, Edges, How);
      if (failed(Result))
        return;
      for (auto [V, More, Combiner] :
           llvm::zip_equal(Partial, Sum, R.Combiners))
        V = combine(W, Combiner, V, More);
    }
    if (succeeded(Result))
      finish(R, Partial);
    if (failed(Result))
      return;
  }
  if (!K.Wide.empty())
    W.loop(W.index(0), Length, Step, {}, [&](Value Base, ValueRange) {
      for (const Part &P : partsFrom(Base, How))
        storeWide(P, How);
      return Values();
    });
  if (!K.Wide.empty())
    for (const Part &P : edges(How))
      storeWide(P, How);
  storeNarrow();
}

} // namespace kpc::kernels
