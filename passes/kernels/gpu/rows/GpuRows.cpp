//===- GpuRows.cpp - Rows that stay in registers --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Softmax, norms and similar kernels (see RowKernel.h) in one pass over
/// memory. A few threads, a warp, a block or a cluster of blocks hold a row in
/// registers. Each thread loads its part once, as vectors, computes in
/// registers, and stores once. Reductions are joined by shuffles, beyond a warp
/// through shared memory, and beyond a block through that of all its cluster.
///
///   row    |t0 t1 … t31|t0 t1 … t31|…    each t: one vector; Accesses of them
///   load ─▶ max ─▶ exp(x - max) ─▶ sum ─▶ exp / sum ─▶ store
///             └ lanes, warps         └ lanes, warps
///
/// A thread beyond the row's end loads the last vector again, which counts in
/// no reduction and is not stored. If rows begin anywhere, vectors begin at the
/// first aligned element. The elements before and after the vectors, fewer than
/// two vectors, are one more element of some threads. Dynamic lengths get code
/// for several cases, chosen by conditions that are the same for all threads:
/// rows whose vectors are aligned and others; rows that fit in registers and
/// longer ones, which are read once for each reduction, mostly from L2.
///
/// The row of a group in a channels-last image is some channels of each pixel.
/// Vectors are then those of a pixel; the rest is the same.
///
/// The code fixes the order of every join.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/GpuReduction.h"
#include "passes/kernels/gpu/rows/RowChoice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::RowSchedule;

namespace {

constexpr int64_t WarpThreads = 32;
/// Elements of a thread that are on the way at once where a row is walked.
constexpr int64_t LongElements = 16;
/// Threads of a multiprocessor that a kernel with several ways leaves room for.
/// Left to its own judgement ptxas 13.0 keeps such a kernel to 72 registers and
/// spills a word on sm_100a; with 640 threads it spills on sm_80, with 512
/// nowhere.
constexpr int64_t ResidentThreads = 512;
/// How the elements of a row are reached.
struct Way {
  int64_t Lanes = 1, Accesses = 1;
  bool Aligned = false; ///< strides were checked when the kernel runs
  bool Exact = false;   ///< the row fills all threads
  /// Vectors begin where alignment allows: see RowChoice::Strides.
  llvm::ArrayRef<OpFoldResult> Strides = {};

  /// Whether the first aligned element may not be the row's first.
  bool startsAnywhere() const {
    return llvm::any_of(Strides, [&](OpFoldResult Stride) {
      return divisorOf(Stride) % Lanes != 0;
    });
  }
};

class RowNest {
public:
  RowNest(GpuWriter &W, RowKernel &K, const RowSchedule &S)
      : W(W), K(K), S(S) {}

  void placeThread();
  /// The row in registers.
  void keep(const Way &How);
  /// The row from memory, again for each reduction.
  void walk(const Way &How);
  Value length() { return Length; }

  LogicalResult Result = success();

private:
  using Values = SmallVector<Value>;
  /// Neighbours that one access loads.
  struct Part {
    Value First;  ///< index in the row
    Value Inside; ///< null: always
    int64_t Lanes = 1;
  };

  void forgetReductions() { Known.clear(); }
  SmallVector<Part> partsFrom(Value Base, const Way &How);
  SmallVector<Part> edges(const Way &How);
  Value elementsBefore(const Way &How);
  void startLoads(LaneLoads &Loads, Value First, const Way &How);
  Values fold(const RowReduction &R, ArrayRef<Part> Parts, const Way &How);
  Values at(Value InRow);
  Values foldPart(const RowReduction &R, const Part &P, const Way &How,
                  Values Start);
  Values neutrals(const RowReduction &R);
  void finish(const RowReduction &R, Values Partial);
  Value reduceThreads(Operation *Combiner, Value V);
  void reduceBlocks(const RowReduction &R, Values &Partial);
  void storeWide(const Part &P, const Way &How);
  void storeNarrow();
  void hookReductions();

  GpuWriter &W;
  RowKernel &K;
  const RowSchedule &S;
  Value Thread, Lane, RowInBlock, IsRow, Length;
  SmallVector<Value> Outer;
  llvm::DenseMap<Operation *, SmallVector<Value>> Known;
  llvm::DenseMap<Value, SmallVector<Value>> Places; ///< see at()
};

void RowNest::placeThread() {
  Thread = W.thread();
  auto Divide = [&](auto Kind, int64_t By) -> Value {
    return W.B.createOrFold<decltype(Kind)>(W.Loc, Thread, W.index(By));
  };
  Value Row = W.block();
  Lane = Thread;
  RowInBlock = W.index(0);
  if (S.Rows > 1) {
    Lane = Divide(arith::RemUIOp(), S.Threads);
    RowInBlock = Divide(arith::DivUIOp(), S.Threads);
    Row = W.add(W.mul(Row, W.index(S.Rows)), RowInBlock);
    // The last block's spare threads compute its last row again.
    Value Rows = W.size(K.OuterSizes);
    IsRow = W.less(Row, Rows);
    Value Last = W.B.createOrFold<arith::SubIOp>(W.Loc, Rows, W.index(1));
    Row = arith::MinSIOp::create(W.B, W.Loc, Row, Last);
  } else if (S.Blocks > 1) {
    // A cluster's blocks follow one another in the grid.
    Value Blocks = W.index(S.Blocks),
          Rank = W.B.createOrFold<arith::RemUIOp>(W.Loc, Row, Blocks);
    Lane = W.add(W.mul(Rank, W.index(S.Threads)), Thread);
    Row = W.B.createOrFold<arith::DivUIOp>(W.Loc, Row, Blocks);
  }
  Outer = W.split(Row, K.OuterSizes, Reduction::boundOf(K.OuterSizes));
  Length = W.size(K.RowSizes);
  hookReductions();
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
                                  const Way &How, Values Start) {
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

/// Every thread of the cluster gets the results of its blocks, each of which
/// lies in its block's shared memory until the kernel ends.
void RowNest::reduceBlocks(const RowReduction &R, Values &Partial) {
  Values Memory;
  for (Value V : Partial)
    Memory.push_back(W.shared({1}, V.getType()));
  Value Zero = W.index(0);
  W.when(
      arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq, Thread, Zero),
      [&] {
        for (auto [V, M] : llvm::zip_equal(Partial, Memory))
          memref::StoreOp::create(W.B, W.Loc, V, M, Zero);
      });
  W.clusterBarrier();
  Value Block =
      W.B.createOrFold<arith::RemUIOp>(W.Loc, Thread, W.index(S.Blocks));
  for (auto [V, M, Combiner] : llvm::zip_equal(Partial, Memory, R.Combiners))
    V = reduceWarp(W, Combiner, W.loadFromBlock(M, Block), S.Blocks);
}

void RowNest::finish(const RowReduction &R, Values Partial) {
  for (auto [V, Combiner] : llvm::zip_equal(Partial, R.Combiners))
    V = reduceThreads(Combiner, V);
  if (S.Blocks > 1) {
    reduceBlocks(R, Partial);
    if (&R == &K.Reductions.back())
      W.arriveInCluster();
  }
  if (failed(combineInitial(W, R.Op, R.Combiners, Outer, Partial)))
    Result = failure();
  linalg::LinalgOp Op = R.Op;
  Known[Op] = Partial;
}

void RowNest::storeWide(const Part &P, const Way &How) {
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
      storeLanes(W, Lanes, Out.Memref, Start);
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

void RowNest::startLoads(LaneLoads &Loads, Value First, const Way &How) {
  if (How.Aligned)
    Loads.assumeAligned();
  if (How.startsAnywhere())
    Loads.assumeAlignedIn(Outer, How.Strides);
  Loads.begin(First);
}

/// Elements of the row in front of the first aligned one; null: none.
Value RowNest::elementsBefore(const Way &How) {
  if (!How.startsAnywhere())
    return {};
  Value Start = W.index(0);
  for (auto [Index, Stride] : llvm::zip_equal(Outer, How.Strides))
    Start = W.add(Start, W.mul(Index, W.size(Stride)));
  Value Back = W.B.createOrFold<arith::SubIOp>(W.Loc, W.index(0), Start);
  return W.B.createOrFold<arith::AndIOp>(W.Loc, Back, W.index(How.Lanes - 1));
}

/// What a thread does of the vectors from `Base` on; null: of the row.
SmallVector<RowNest::Part> RowNest::partsFrom(Value Base, const Way &How) {
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
    P.First = W.add(Mine, W.index(A * S.rowThreads() * How.Lanes));
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
SmallVector<RowNest::Part> RowNest::edges(const Way &How) {
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
  for (int64_t First = 0; First < Elements; First += S.rowThreads()) {
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
                              const Way &How) {
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

void RowNest::keep(const Way &How) {
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

void RowNest::walk(const Way &How) {
  forgetReductions();
  Value Step = W.index(S.rowThreads() * How.Lanes * How.Accesses);
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

} // namespace

/// Writes the kernel by the schedule `S` and what its sizes leave open.
static LogicalResult emitRows(RowKernel &K, const RowChoice &C,
                              const RowSchedule &S, const shape::Expr &Rows,
                              GpuLaunch &Launch) {
  Launch.Block = {int32_t(S.blockThreads()), 1, 1};
  Launch.Grid[0] = (Rows.ceilDiv(S.Rows) * S.Blocks).str();
  Launch.Cluster = int32_t(S.Blocks);
  bool MayBeLong = C.mayBeLong(S);

  GpuWriter W(K.Form);
  RowNest Nest(W, K, S);
  Nest.placeThread();
  auto ByAlignment = [&](llvm::function_ref<void(const Way &)> Emit, Way How) {
    if (!C.MayBeOdd)
      return Emit(How);
    Value Aligned;
    for (OpFoldResult Stride : C.Check) {
      Value Rest = W.B.createOrFold<arith::RemUIOp>(W.Loc, W.size(Stride),
                                                    W.index(How.Lanes));
      Value Is = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::eq,
                                       Rest, W.index(0));
      Aligned = Aligned ? W.both(Aligned, Is) : Is;
    }
    Way Single{1, How.Lanes * How.Accesses};
    How.Aligned = true;
    W.when(Aligned, [&] { Emit(How); }, [&] { Emit(Single); });
  };
  auto Keep = [&] {
    bool Exact = C.Strides.empty() && constantOf(Nest.length()) == S.capacity();
    ByAlignment([&](const Way &How) { Nest.keep(How); },
                {C.Lanes, S.Accesses, false, Exact, C.Strides});
  };
  auto Walk = [&] {
    ByAlignment([&](const Way &How) { Nest.walk(How); },
                {C.Lanes, std::max<int64_t>(LongElements / C.Lanes, 1), false,
                 false, C.Strides});
  };
  if (!MayBeLong) {
    Keep();
  } else if (!S.Accesses) {
    Walk();
  } else {
    Value Least = arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::sgt,
                                        Nest.length(), W.index(0));
    Value Fits =
        W.both(Least, W.less(Nest.length(), W.index(S.capacity() + 1)));
    W.when(Fits, Keep, Walk);
    Launch.ResidentBlocks =
        std::max(int32_t(ResidentThreads / S.blockThreads()), 1);
  }
  W.Emitter.setElementHook({});
  // A block's shared memory is gone when it ends. Others have arrived when they
  // had read it, before they stored results: to arrive with stores under way is
  // to wait for them.
  if (S.Blocks > 1)
    W.waitForCluster();
  return Nest.Result;
}

/// Bools have no place in shared memory, so no other block reads them.
static bool reducesBools(const RowKernel &K) {
  return llvm::any_of(K.Reductions, [](const RowReduction &R) {
    return llvm::any_of(R.Combiners, [](Operation *Combiner) {
      return Combiner->getResult(0).getType().isInteger(1);
    });
  });
}

FamilyAnswer queryGpuRows(FusedKernel &Form, const target::Target &T) {
  std::optional<RowKernel> Read = RowKernel::read(Form);
  // One reduction that nothing but the row's result is made of has families of
  // its own.
  if (!Read || (!Form.SeveralRoots && Read->Wide.empty()) ||
      Read->RowSizes.empty() || !Read->areRowsContiguous())
    return FamilyAnswer::refuse(RefusalKind::Form,
                                "it is no reduction of rows that are read "
                                "again");
  std::optional<shape::Expr> Rows = productExpr(Read->OuterSizes);
  if (!Rows || constantOf(Read->RowSizes.back()) == 0)
    return FamilyAnswer::refuse(RefusalKind::Size,
                                "rows are empty or their number is no "
                                "expression");
  auto K = std::make_shared<RowKernel>(std::move(*Read));
  auto C = std::make_shared<RowChoice>(readRowChoice(*K));
  std::vector<schedule::RowCost> Ranked =
      schedule::rankRowSchedules(C->Shape, T);
  auto Emit = [K, C, Rows = *Rows](const RowSchedule &S, GpuLaunch &Launch) {
    return emitRows(*K, *C, S, Rows, Launch);
  };
  bool IsOneBlock = reducesBools(*K);
  if (IsOneBlock)
    llvm::erase_if(Ranked, [](const schedule::RowCost &One) {
      return One.Schedule.Blocks > 1;
    });
  if (!Ranked.empty())
    return FamilyAnswer::offer(std::move(Ranked), Emit);
  int64_t Blocks = IsOneBlock ? 1 : schedule::blocksOfLongRow(C->Shape, T);
  std::string Text = "rows of any length";
  if (Blocks > 1)
    Text += " cluster " + std::to_string(Blocks);
  return FamilyAnswer::offer(
      Text, [Emit, Blocks, Lanes = C->Lanes](GpuLaunch &Launch) {
        return Emit({Lanes, 0, LongThreads, 1, Blocks}, Launch);
      });
}

} // namespace kpc::kernels
