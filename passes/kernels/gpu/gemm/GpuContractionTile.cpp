//===- GpuContractionTile.cpp - One block's tile of a product -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/GpuContractionTile.h"
#include "passes/kernels/form/SizeFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

/// Neighbours that one access of shared memory takes.
static constexpr int64_t SharedLanes = 4;
/// Unused elements at the end of each line of a slice: threads that store down
/// a column then meet different banks.
static constexpr int64_t SharedPad = 4;

static int64_t lanesOf(int64_t PerThread) {
  return std::min(PerThread, SharedLanes);
}

Value ContractionTile::zero() {
  return arith::ConstantOp::create(W.B, W.Loc, W.B.getZeroAttr(C.A.Element));
}

/// Which tile this block computes: columns fastest, so that blocks that run
/// together share rows in the cache.
void ContractionTile::placeBlock() {
  Thread = W.thread();
  SmallVector<OpFoldResult> Sizes(C.Batch.Sizes);
  Sizes.push_back(W.ceilDiv(W.size(C.M.Sizes), Shape.M));
  Sizes.push_back(W.ceilDiv(W.size(C.N.Sizes), Shape.N));
  Values At = W.split(W.block(), Sizes);
  SliceB.First = W.mul(At.pop_back_val(), W.index(Shape.N));
  SliceA.First = W.mul(At.pop_back_val(), W.index(Shape.M));
  BatchIndices = At;
  int64_t AcrossColumns = Shape.N / Shape.ThreadN;
  ThreadColumn =
      W.B.createOrFold<arith::RemUIOp>(W.Loc, Thread, W.index(AcrossColumns));
  ThreadRow =
      W.B.createOrFold<arith::DivUIOp>(W.Loc, Thread, W.index(AcrossColumns));
  KSize = W.size(C.K.Sizes);
}

/// The loop (of more than one iteration) that the last index moves with.
static std::optional<unsigned> innermostLoop(const Contraction::Operand &From,
                                             linalg::LinalgOp Op) {
  if (From.Map.getNumResults() == 0)
    return std::nullopt;
  AffineExpr Last = From.Map.getResult(From.Map.getNumResults() - 1);
  for (unsigned D = From.Map.getNumDims(); D-- > 0;)
    if (Last.isFunctionOfDim(D) && constantOf(loopSize(Op, D)) != 1)
      return D;
  return std::nullopt;
}

void ContractionTile::plan(Slice &S) {
  auto Inner = innermostLoop(*S.From, C.R.Op);
  S.AlongK = Inner == C.K.Loops.back();
  bool AlongRows = !S.Group->Loops.empty() && Inner == S.Group->Loops.back();
  if (S.AlongK || AlongRows) {
    OpFoldResult Size = S.AlongK ? C.K.Sizes.back() : S.Group->Sizes.back();
    S.Lanes = SharedLanes;
    while (S.Lanes > 1 && divisorOf(Size) % S.Lanes)
      S.Lanes /= 2;
    // No more lanes than give every thread something to load.
    while (S.Lanes > 1 &&
           S.Extent * Shape.Depth < S.Lanes * int64_t(Tile::Threads))
      S.Lanes /= 2;
  }
  S.Shared = W.shared({Shape.Depth, S.Extent + SharedPad}, S.From->Element);
  // A pass: every thread loads one group of lanes.
  int64_t Across = (S.AlongK ? Shape.Depth : S.Extent) / S.Lanes;
  int64_t Passes = S.Extent * Shape.Depth / S.Lanes / Tile::Threads;
  Value Count = W.size(S.Group->Sizes);
  Value LastRow =
      arith::SubIOp::create(W.B, W.Loc, Count, W.index(S.AlongK ? 1 : S.Lanes));
  auto Bound = Reduction::boundOf(S.Group->Sizes);
  for (int64_t Pass = 0; Pass < Passes; ++Pass) {
    Value Slot = W.add(Thread, W.index(Pass * Tile::Threads));
    Value Fast =
        W.mul(W.B.createOrFold<arith::RemUIOp>(W.Loc, Slot, W.index(Across)),
              W.index(S.Lanes));
    Value Slow = W.B.createOrFold<arith::DivUIOp>(W.Loc, Slot, W.index(Across));
    S.Row.push_back(S.AlongK ? Slow : Fast);
    S.Depth.push_back(S.AlongK ? Fast : Slow);
    // Rows past the end are the last ones again: computed, never stored.
    Value Row = arith::MinSIOp::create(W.B, W.Loc, W.add(S.First, S.Row.back()),
                                       LastRow);
    S.RowIndices.push_back(W.split(Row, S.Group->Sizes, Bound));
  }
}

Value ContractionTile::cast(Value V, const Contraction::Operand &From) {
  for (Operation *Op : From.Casts) {
    IRMapping Map;
    Map.map(Op->getOperand(0), V);
    V = W.B.clone(*Op, Map)->getResult(0);
  }
  return V;
}

void ContractionTile::loadPass(Slice &S, unsigned Pass, Value Step,
                               Values &Loaded) {
  Value Place = W.add(Step, S.Depth[Pass]);
  // Past the end of the sum: some element, then zeros instead of it.
  bool IsExact = powerOfTwoDivisor(C.K.Sizes) % Shape.Depth == 0;
  Value Inside;
  if (!IsExact) {
    Inside = W.less(Place, KSize);
    Value Last = arith::SubIOp::create(W.B, W.Loc, KSize,
                                       W.index(S.AlongK ? S.Lanes : 1));
    Place = arith::MinSIOp::create(W.B, W.Loc, Place, Last);
  }
  Values Sum = W.split(Place, C.K.Sizes, Reduction::boundOf(C.K.Sizes));
  Values Rows = S.RowIndices[Pass];
  Value &Moving = S.AlongK ? Sum.back() : Rows.back();
  LaneLoads Loads(W, S.Lanes);
  if (S.Lanes > 1)
    Loads.begin(Moving);
  for (int64_t L = 0; L < S.Lanes; ++L) {
    if (S.Lanes > 1)
      Moving = Loads.at(L);
    Values All(C.R.Parallel.size() + C.R.Reduced.size());
    auto Put = [&](const LoopGroup &Group, ArrayRef<Value> Indices) {
      for (auto [Loop, Index] : llvm::zip_equal(Group.Loops, Indices))
        All[Loop] = Index;
    };
    Put(C.K, Sum);
    Put(C.Batch, BatchIndices);
    Put(*S.Group, Rows);
    Values At;
    for (AffineExpr Expr : S.From->Map.getResults())
      At.push_back(W.Emitter.apply(W.B, W.Loc, Expr, All));
    Value Element = W.Emitter.element(W.B, S.From->Tensor, At);
    if (!Element) {
      Result = failure();
      Element = zero();
    } else {
      Element = cast(Element, *S.From);
    }
    Loaded.push_back(Element);
  }
  if (S.Lanes > 1)
    Loads.end();
  if (Inside) {
    Value None = zero();
    for (Value &V : llvm::MutableArrayRef(Loaded).take_back(S.Lanes))
      V = arith::SelectOp::create(W.B, W.Loc, Inside, V, None);
  }
}

ContractionTile::Values ContractionTile::load(Slice &S, Value Step) {
  Values Loaded;
  for (unsigned Pass = 0; Pass < S.Row.size(); ++Pass)
    loadPass(S, Pass, Step, Loaded);
  return Loaded;
}

void ContractionTile::store(Slice &S, ValueRange Loaded) {
  for (unsigned Pass = 0; Pass < S.Row.size(); ++Pass) {
    ValueRange Lanes = Loaded.slice(Pass * S.Lanes, S.Lanes);
    if (!S.AlongK) {
      Values Group(Lanes);
      storeLanes(W, Group, S.Shared, {S.Depth[Pass], S.Row[Pass]});
      continue;
    }
    for (auto [L, V] : llvm::enumerate(Lanes))
      memref::StoreOp::create(
          W.B, W.Loc, V, S.Shared,
          ValueRange{W.add(S.Depth[Pass], W.index(L)), S.Row[Pass]});
  }
}

ContractionTile::Values ContractionTile::readShared(Slice &S, int64_t Depth,
                                                    Value Place,
                                                    int64_t PerThread) {
  int64_t Lanes = lanesOf(PerThread), Groups = PerThread / Lanes;
  Values Read;
  for (int64_t G = 0; G < Groups; ++G) {
    Value At =
        W.add(W.mul(Place, W.index(Lanes)), W.index(G * S.Extent / Groups));
    Values Indices = {W.index(Depth), At};
    if (Lanes == 1) {
      Read.push_back(memref::LoadOp::create(W.B, W.Loc, S.Shared, Indices));
      continue;
    }
    auto Load = vector::LoadOp::create(
        W.B, W.Loc, VectorType::get({Lanes}, S.From->Element), S.Shared,
        Indices);
    Load.setAlignment(Lanes * storageBytes(S.From->Element));
    for (int64_t L = 0; L < Lanes; ++L)
      Read.push_back(
          vector::ExtractOp::create(W.B, W.Loc, Load.getResult(), L));
  }
  return Read;
}

ContractionTile::Values ContractionTile::multiply(ValueRange Sums) {
  Values Next(Sums);
  bool IsFloat = isa<FloatType>(C.A.Element);
  for (int64_t Depth = 0; Depth < Shape.Depth; ++Depth) {
    Values A = readShared(SliceA, Depth, ThreadRow, Shape.ThreadM);
    Values B = readShared(SliceB, Depth, ThreadColumn, Shape.ThreadN);
    for (auto [I, Left] : llvm::enumerate(A))
      for (auto [J, Right] : llvm::enumerate(B)) {
        Value &Sum = Next[I * B.size() + J];
        if (IsFloat)
          Sum = math::FmaOp::create(W.B, W.Loc, Left, Right, Sum);
        else
          Sum = arith::AddIOp::create(
              W.B, W.Loc, Sum, arith::MulIOp::create(W.B, W.Loc, Left, Right));
      }
  }
  return Next;
}

ContractionTile::Values ContractionTile::mainloop() {
  Value Zero = W.index(0), Step = W.index(Shape.Depth);
  Values Carried(Shape.ThreadM * Shape.ThreadN, zero());
  unsigned Count = Carried.size();
  llvm::append_range(Carried, load(SliceA, Zero));
  unsigned CountA = Carried.size() - Count;
  llvm::append_range(Carried, load(SliceB, Zero));
  Values Done =
      W.loop(Zero, KSize, Step, Carried, [&](Value At, ValueRange Now) {
        store(SliceA, Now.slice(Count, CountA));
        store(SliceB, Now.drop_front(Count + CountA));
        W.barrier();
        // The next slices are on their way while these are multiplied. The
        // last step loads its own again, which costs less than a branch.
        Value Last = W.ceilDiv(KSize, Shape.Depth);
        Last = W.mul(arith::SubIOp::create(W.B, W.Loc, Last, W.index(1)), Step);
        Value NextStep =
            arith::MinSIOp::create(W.B, W.Loc, W.add(At, Step), Last);
        Values NextA = load(SliceA, NextStep), NextB = load(SliceB, NextStep);
        Values Next = multiply(Now.take_front(Count));
        W.barrier();
        llvm::append_range(Next, NextA);
        llvm::append_range(Next, NextB);
        return Next;
      });
  Done.resize(Count);
  return Done;
}

LogicalResult ContractionTile::emit() {
  SliceA.From = &C.A;
  SliceA.Group = &C.M;
  SliceA.Extent = Shape.M;
  SliceB.From = &C.B;
  SliceB.Group = &C.N;
  SliceB.Extent = Shape.N;
  placeBlock();
  plan(SliceA);
  plan(SliceB);
  auto Least = constantOf(OpFoldResult(KSize));
  if (Least && *Least > 0)
    return epilogue(mainloop());
  // An empty sum has nothing to load.
  Values None(Shape.ThreadM * Shape.ThreadN, zero());
  SmallVector<Type> Types(None.size(), C.A.Element);
  auto If = scf::IfOp::create(W.B, W.Loc, Types, W.less(W.index(0), KSize),
                              /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard Guard(W.B);
    W.B.setInsertionPointToStart(If.thenBlock());
    Values Sums = mainloop();
    scf::YieldOp::create(W.B, W.Loc, Sums);
    W.B.setInsertionPointToStart(If.elseBlock());
    scf::YieldOp::create(W.B, W.Loc, None);
  }
  return epilogue(If.getResults());
}

//===----------------------------------------------------------------------===//
// After the sums
//===----------------------------------------------------------------------===//

LogicalResult ContractionTile::epilogueRow(ValueRange RowIndices,
                                           ValueRange Sums) {
  int64_t Group = lanesOf(Shape.ThreadN);
  // Lanes that are stored together: along the output's last dim.
  int64_t Lanes = 1;
  unsigned Last = C.R.Parallel.size() - 1;
  if (C.N.Loops.back() == C.R.Parallel.back()) {
    Lanes = std::min<int64_t>(
        Group, storeLanesOf(C.R.Form.Outputs, Last, Last, T.Can.WidestAccess));
    while (divisorOf(C.N.Sizes.back()) % Lanes)
      Lanes /= 2;
  }
  Value Count = W.size(C.N.Sizes);
  auto Bound = Reduction::boundOf(C.N.Sizes);
  int64_t Groups = Shape.ThreadN / Group;
  for (int64_t J = 0; J < Shape.ThreadN; J += Lanes) {
    Value Column =
        W.add(W.add(SliceB.First, W.mul(ThreadColumn, W.index(Group))),
              W.index(J / Group * (Shape.N / Groups) + J % Group));
    W.when(W.less(Column, Count), [&] {
      Values Columns = W.split(Column, C.N.Sizes, Bound);
      Values All(C.R.Parallel.size() + C.R.Reduced.size()), At;
      auto Put = [&](const LoopGroup &G, ValueRange Indices) {
        for (auto [Loop, Index] : llvm::zip_equal(G.Loops, Indices))
          All[Loop] = Index;
      };
      Put(C.Batch, BatchIndices);
      Put(C.M, RowIndices);
      Put(C.N, Columns);
      for (unsigned Loop : C.R.Parallel)
        At.push_back(All[Loop]);
      SmallVector<Values> Results;
      Values Place(At);
      for (int64_t L = 0; L < Lanes; ++L) {
        if (Lanes > 1)
          Place.back() = W.add(At.back(), W.index(L));
        Results.push_back({Sums[J + L]});
        if (failed(combineInitial(W, C.R, Place, Results.back())))
          Result = failure();
      }
      if (succeeded(Result) && failed(storeOutputs(W, C.R, At, Results)))
        Result = failure();
    });
  }
  return Result;
}

LogicalResult ContractionTile::epilogue(ValueRange Sums) {
  int64_t Group = lanesOf(Shape.ThreadM), Groups = Shape.ThreadM / Group;
  Value Count = W.size(C.M.Sizes);
  auto Bound = Reduction::boundOf(C.M.Sizes);
  for (int64_t I = 0; I < Shape.ThreadM && succeeded(Result); ++I) {
    Value Row = W.add(W.add(SliceA.First, W.mul(ThreadRow, W.index(Group))),
                      W.index(I / Group * (Shape.M / Groups) + I % Group));
    W.when(W.less(Row, Count), [&] {
      Values Indices = W.split(Row, C.M.Sizes, Bound);
      Result =
          epilogueRow(Indices, Sums.slice(I * Shape.ThreadN, Shape.ThreadN));
    });
  }
  return Result;
}

} // namespace kpc::kernels
