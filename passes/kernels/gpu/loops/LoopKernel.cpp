//===- LoopKernel.cpp - All steps of a loop -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The family, and the kernel from step to step:
///
///   initial values -> carried[0]; barrier
///   for each step:
///     for each level: for each of its stages, all threads:
///       elements -> shared memory (carried[(step + 1) % 2], or its own), y
///       barrier
///   carried[steps % 2] -> results
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/loops/LoopKernel.h"

#include "passes/kernels/form/LoopReads.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/GpuReduction.h"
#include "passes/kernels/gpu/loops/ReadAhead.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::LoopCost;
using schedule::LoopSchedule;

namespace {
constexpr int64_t Alignment = 16;
/// Elements of a thread that are written out one after another.
constexpr int64_t MostUnrolled = LoopSchedule::MostRounds;
} // namespace

//===----------------------------------------------------------------------===//
// Where things are
//===----------------------------------------------------------------------===//

/// Elements that a block has along a dim.
int64_t LoopKernel::extent(const LoopValue &V, unsigned Dim) const {
  int Axis = V.Axes[Dim];
  if (Axis < 0)
    return *constantOf(V.Sizes[Dim]);
  return isTiled(Axis) ? S.Tile : 1;
}

LoopKernel::Memory LoopKernel::keep(const LoopValue &V, int64_t Times) {
  Memory M{&V};
  M.Elements = 1;
  for (unsigned Dim = 0; Dim < V.Sizes.size(); ++Dim)
    M.Elements *= extent(V, Dim);
  Type Of = cast<RankedTensorType>(V.Tensor.getType()).getElementType();
  if (Of.isInteger(1))
    Of = W.B.getI8Type();
  auto Ty =
      MemRefType::get({Times * M.Elements}, Of, MemRefLayoutAttrInterface(),
                      cast<MemRefType>(Dynamic.getType()).getMemorySpace());
  M.Memref = memref::ViewOp::create(W.B, W.Loc, Ty, Dynamic,
                                    W.index(SharedBytes), ValueRange());
  int64_t Bytes = Times * M.Elements * storageBytes(Of);
  SharedBytes += (Bytes + Alignment - 1) / Alignment * Alignment;
  return M;
}

LogicalResult LoopKernel::place(GpuLaunch &Launch) {
  Thread = W.thread();
  shape::Expr Blocks(1);
  SmallVector<OpFoldResult> Sizes;
  std::optional<int64_t> Bound = 1;
  for (auto [I, Size] : llvm::enumerate(F.Axes)) {
    shape::Expr Each = *sizeExpr(Size);
    int64_t Tile = isTiled(int(I)) ? S.Tile : 1;
    Each = Each.ceilDiv(shape::Expr(Tile));
    Blocks = Blocks * Each;
    std::optional<int64_t> Most = maxOf(Size);
    Bound = Bound && Most ? std::optional(saturatingMul(*Bound, *Most))
                          : std::nullopt;
    Sizes.push_back(
        Tile == 1 ? Size : getAsOpFoldResult(W.ceilDiv(W.size(Size), Tile)));
  }
  Launch.Block = {int32_t(S.Threads), 1, 1};
  Launch.Grid[0] = Blocks.str();
  // What follows would wait on multiprocessors for as long as all steps take.
  Launch.NoEarlyPdlTrigger = true;
  SmallVector<Value> At = W.split(W.block(), Sizes, Bound);
  for (auto [I, Number] : llvm::enumerate(At))
    Base.push_back(isTiled(int(I)) ? W.mul(Number, W.index(S.Tile)) : Number);
  auto Bytes = MemRefType::get(
      {ShapedType::kDynamic}, W.B.getI8Type(), MemRefLayoutAttrInterface(),
      gpu::AddressSpaceAttr::get(W.B.getContext(),
                                 gpu::GPUDialect::getWorkgroupAddressSpace()));
  Dynamic = gpu::DynamicSharedMemoryOp::create(W.B, W.Loc, Bytes);
  SharedBytes = LoopSchedule::PartialBytes;
  for (auto [I, V] : llvm::enumerate(F.Carried))
    Carried.push_back(keep(V, F.InPlace[I] ? 1 : 2));
  for (const LoopForm::Stage &Stage : F.Stages)
    Kept.push_back(Stage.IsKept ? keep(Stage, 1) : Memory());
  Launch.SharedBytes = SharedBytes;
  return success();
}

/// Which of the two parts of its memory, where it has two.
Value LoopKernel::partOf(const Memory &M, Value Which) const {
  return F.InPlace[&M - Carried.data()] ? Value() : Which;
}

Value LoopKernel::placeIn(const Memory &M, ValueRange At, Value Offset) {
  Value Place = W.index(0);
  for (unsigned Dim = 0; Dim < At.size(); ++Dim) {
    int64_t Extent = extent(*M.Of, Dim);
    if (Extent == 1)
      continue;
    Value Local = At[Dim];
    if (int Axis = M.Of->Axes[Dim]; Axis >= 0)
      Local = W.B.createOrFold<arith::SubIOp>(W.Loc, Local, Base[Axis]);
    Place = W.add(W.mul(Place, W.index(Extent)), Local);
  }
  return Offset ? W.add(W.mul(Offset, W.index(M.Elements)), Place) : Place;
}

Value LoopKernel::read(const Memory &M, ValueRange At, Value Offset) {
  Type Of = cast<RankedTensorType>(M.Of->Tensor.getType()).getElementType();
  return loadShared(Of, M.Memref, placeIn(M, At, Offset));
}

/// A bool is a byte in shared memory.
Value LoopKernel::loadShared(Type Of, Value Memory, Value At) {
  Value V = memref::LoadOp::create(W.B, W.Loc, Memory, At);
  if (!Of.isInteger(1))
    return V;
  Value Zero = arith::ConstantOp::create(W.B, W.Loc, W.B.getI8IntegerAttr(0));
  return arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::ne, V, Zero);
}

void LoopKernel::storeShared(Value V, Value Memory, Value At) {
  if (V.getType().isInteger(1))
    V = arith::ExtUIOp::create(W.B, W.Loc, W.B.getI8Type(), V);
  memref::StoreOp::create(W.B, W.Loc, V, Memory, At);
}

void LoopKernel::write(const Memory &M, ValueRange At, Value Offset, Value V) {
  storeShared(V, M.Memref, placeIn(M, At, Offset));
}

/// Elements that are there already.
Value LoopKernel::hook(Value Tensor, ValueRange At) {
  if (GivenResult && Tensor == F.Op->getResult(*GivenResult))
    return Given;
  for (const Memory &M : Carried)
    if (M.Of->Tensor == Tensor)
      return read(M, At, partOf(M, Current));
  const LoopForm::Stage *Stage = F.stageOf(Tensor);
  if (!Stage)
    return {};
  if (Stage->Next >= 0)
    return readNext(Stage->Next, At);
  const Memory &M = Kept[Stage - F.Stages.data()];
  return M.Memref ? read(M, At, Value()) : Value();
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

void LoopKernel::when(Value Condition, llvm::function_ref<void()> Body) {
  if (!Condition)
    return Body();
  W.when(Condition, Body);
  Clamped.insert(&*std::prev(W.B.getInsertionPoint()));
}

Value LoopKernel::choose(Value Condition, Value A, Value B) {
  return arith::SelectOp::create(W.B, W.Loc, Condition, A, B);
}

void LoopKernel::eachElement(const LoopValue &V, int64_t Shared,
                             llvm::function_ref<void(const Element &)> Body) {
  int64_t Count = 1, Groups = S.Threads / Shared;
  SmallVector<OpFoldResult> Extents;
  for (unsigned Dim = 0; Dim < V.Sizes.size(); ++Dim) {
    Extents.push_back(W.B.getIndexAttr(extent(V, Dim)));
    Count *= extent(V, Dim);
  }
  Value Group = Thread;
  if (Shared > 1)
    Group = W.B.createOrFold<arith::DivUIOp>(W.Loc, Thread, W.index(Shared));
  int64_t Rounds = (Count + Groups - 1) / Groups;
  auto Round = [&](Value Number) {
    Value Linear = W.add(W.mul(Number, W.index(Groups)), Group);
    Element E;
    if (Count % Groups != 0) {
      E.IsThere = W.less(Linear, W.index(Count));
      Linear = arith::MinUIOp::create(W.B, W.Loc, Linear, W.index(Count - 1));
    }
    E.At = W.split(Linear, Extents, Count);
    for (unsigned Dim = 0; Dim < V.Sizes.size(); ++Dim) {
      int Axis = V.Axes[Dim];
      if (Axis < 0)
        continue;
      if (!isTiled(Axis)) {
        E.At[Dim] = Base[Axis];
        continue;
      }
      E.At[Dim] = W.add(Base[Axis], E.At[Dim]);
      if (divisorOf(V.Sizes[Dim]) % S.Tile == 0)
        continue;
      Value Size = W.size(V.Sizes[Dim]);
      E.IsThere = both(E.IsThere, W.less(E.At[Dim], Size));
      Value Last = W.B.createOrFold<arith::SubIOp>(W.Loc, Size, W.index(1));
      E.At[Dim] = arith::MinSIOp::create(W.B, W.Loc, E.At[Dim], Last);
    }
    Body(E);
  };
  if (Rounds <= MostUnrolled) {
    for (int64_t I = 0; I < Rounds; ++I)
      Round(W.index(I));
    return;
  }
  W.loop(W.index(0), W.index(Rounds), W.index(1), {},
         [&](Value Number, ValueRange) {
           Round(Number);
           return SmallVector<Value>();
         });
}

Value LoopKernel::isFirst(const LoopValue &V) {
  Value Is;
  for (unsigned Axis = 0; Axis < F.Axes.size(); ++Axis)
    if (!llvm::is_contained(V.Axes, int(Axis)))
      Is = both(Is, W.less(Base[Axis], W.index(1)));
  return Is;
}

void LoopKernel::store(unsigned Output, ValueRange At) {
  const KernelOutput &Out = Form.Outputs[Output];
  Value V = W.Emitter.element(W.B, Out.Tensor, At);
  if (!V)
    return fail(true);
  memref::StoreOp::create(W.B, W.Loc, V, Out.Memref, At);
}

/// Few terms are written out: what they read is then read together, or ahead.
SmallVector<Value> LoopKernel::terms(Value First, Value Upper, int64_t Step,
                                     ValueRange Accumulators, LoopBody Body) {
  std::optional<int64_t> Count = getConstantIntValue(Upper);
  if (!Count || *Count % Step != 0 ||
      *Count / Step > LoopSchedule::MostTermsWritten) {
    auto For =
        makeLoop(W.B, W.Loc, First, Upper, W.index(Step), Accumulators, Body);
    return SmallVector<Value>(For.getResults());
  }
  SmallVector<Value> Sums(Accumulators);
  for (int64_t Term = 0; Term < *Count; Term += Step)
    Sums = Body(W.B, W.add(First, W.index(Term)), Sums);
  return Sums;
}

/// Two parts of a sum, or of a search.
SmallVector<Value> LoopKernel::join(linalg::LinalgOp Op, ValueRange A,
                                    ValueRange B) {
  if (findsIndex(Op))
    return better(Op, A, B);
  SmallVector<Value> Joined;
  for (unsigned I = 0; I < A.size(); ++I)
    Joined.push_back(combine(W, combinerOf(Op, I), A[I], B[I]));
  return Joined;
}

/// Of two parts of a search, the one whose index is smaller stands for what
/// came first. No index is -1, which is smaller than all, and which any value
/// replaces.
SmallVector<Value> LoopKernel::better(linalg::LinalgOp Op, ValueRange A,
                                      ValueRange B) {
  Value IsLeft =
      arith::CmpIOp::create(W.B, W.Loc, arith::CmpIPredicate::slt, A[1], B[1]);
  SmallVector<Value> Left, Right;
  for (auto [Mine, Theirs] : llvm::zip_equal(A, B)) {
    Left.push_back(choose(IsLeft, Mine, Theirs));
    Right.push_back(choose(IsLeft, Theirs, Mine));
  }
  Indices Loops(Op.getNumLoops(), W.index(0));
  for (auto [Loop, Kind] : llvm::enumerate(Op.getIteratorTypesArray()))
    if (Kind == utils::IteratorType::reduction)
      Loops[Loop] =
          arith::IndexCastOp::create(W.B, W.Loc, W.B.getIndexType(), Right[1]);
  SmallVector<Value> Inputs(Op.getNumDpsInputs()), Joined;
  Inputs.front() = Right[0];
  if (failed(W.Emitter.bodyWithInputs(W.B, Op, Loops, Inputs, Left, Joined))) {
    fail(true);
    return SmallVector<Value>(A);
  }
  return Joined;
}

/// What all lanes have together; each of them gets it.
SmallVector<Value> LoopKernel::joinLanes(linalg::LinalgOp Op,
                                         SmallVector<Value> Part) {
  for (int64_t Mask = std::min(Lanes, LoopSchedule::WarpLanes) / 2; Mask > 0;
       Mask /= 2) {
    SmallVector<Value> Other;
    for (Value V : Part)
      Other.push_back(W.shuffleXor(V, int32_t(Mask)));
    Part = join(Op, Part, Other);
  }
  if (Lanes <= LoopSchedule::WarpLanes)
    return Part;
  // Of the whole block: warps leave theirs in shared memory.
  int64_t Warps = Lanes / LoopSchedule::WarpLanes;
  SmallVector<Value> Memory;
  for (auto [I, V] : llvm::enumerate(Part)) {
    Type Of = V.getType().isInteger(1) ? W.B.getI8Type() : V.getType();
    auto Ty =
        MemRefType::get({Warps}, Of, MemRefLayoutAttrInterface(),
                        cast<MemRefType>(Dynamic.getType()).getMemorySpace());
    Memory.push_back(memref::ViewOp::create(
        W.B, W.Loc, Ty, Dynamic,
        W.index(int64_t(I) * LoopSchedule::PartialBytes / 2), ValueRange()));
  }
  Value PerWarp = W.index(LoopSchedule::WarpLanes),
        Warp = W.B.createOrFold<arith::DivUIOp>(W.Loc, Thread, PerWarp),
        InWarp = W.B.createOrFold<arith::RemUIOp>(W.Loc, Thread, PerWarp);
  // Who is late may still read those of the sum before.
  W.barrier();
  W.when(W.less(InWarp, W.index(1)), [&] {
    for (auto [V, To] : llvm::zip_equal(Part, Memory))
      storeShared(V, To, Warp);
  });
  W.barrier();
  for (int64_t I = 0; I < Warps; ++I) {
    SmallVector<Value> One;
    for (auto [V, From] : llvm::zip_equal(Part, Memory))
      One.push_back(loadShared(V.getType(), From, W.index(I)));
    Part = I == 0 ? One : join(Op, Part, One);
  }
  return Part;
}

/// Lanes share the outermost sum of what they compute together: each begins at
/// its own term, and partial sums meet in a fixed order.
SmallVector<Value> LoopKernel::reduce(linalg::LinalgOp Op, Value Upper,
                                      ValueRange Accumulators, LoopBody Body) {
  SmallVector<Operation *> Combiners;
  for (unsigned I = 0; I < Op->getNumResults(); ++I)
    Combiners.push_back(combinerOf(Op, I));
  bool IsIndex = findsIndex(Op);
  if (Lanes == 1 || IsInSum ||
      (!IsIndex && llvm::is_contained(Combiners, nullptr))) {
    bool Before = std::exchange(IsInSum, true);
    SmallVector<Value> Sums = terms(W.index(0), Upper, 1, Accumulators, Body);
    IsInSum = Before;
    return Sums;
  }
  // A search begins without an index in all lanes, a sum with what it is
  // added to in one.
  SmallVector<Value> Starts(Accumulators);
  Value IsFirstLane = W.less(Lane, W.index(1));
  for (auto [Start, Combiner] : llvm::zip_equal(Starts, Combiners)) {
    Attribute Known;
    if (!IsIndex && !(matchPattern(Start, m_Constant(&Known)) &&
                      Known == *arith::getNeutralElement(Combiner)))
      Start = choose(IsFirstLane, Start, neutral(W, Combiner));
  }
  IsInSum = true;
  SmallVector<Value> Part = terms(Lane, Upper, Lanes, Starts, Body);
  IsInSum = false;
  return joinLanes(Op, Part);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The initial values; whether there is a first step, or null.
Value LoopKernel::begin() {
  kernel::LoopOp Op = F.Op;
  Current = Next = W.index(0);
  for (auto [M, Init] : llvm::zip_equal(Carried, Op.getInits()))
    eachElement(*M.Of, 1, [&, To = M, From = Init](const Element &E) {
      when(E.IsThere, [&] {
        Value V = W.Emitter.element(W.B, From, E.At);
        if (!V)
          return fail(true);
        write(To, E.At, Value(), V);
      });
    });
  Value Begins;
  if (Value Tensor = Op.getBegins()) {
    unsigned Rank = cast<RankedTensorType>(Tensor.getType()).getRank();
    Begins = W.Emitter.element(W.B, Tensor, Indices(Rank, W.index(0)));
    fail(!Begins);
  }
  W.barrier();
  return Begins;
}

void LoopKernel::storeResults(const LoopForm::Stage &Stage, const Element &E,
                              Value V, Value Number) {
  kernel::LoopOp Op = F.Op;
  for (unsigned Collected : Stage.Collected) {
    Value At = Number;
    if (Op.getReversed()[Collected - Op.getNumCarried()]) {
      Value Last =
          W.B.createOrFold<arith::SubIOp>(W.Loc, Op.getSteps(), W.index(1));
      At = W.B.createOrFold<arith::SubIOp>(W.Loc, Last, Number);
    }
    Indices Place{At};
    llvm::append_range(Place, E.At);
    GivenResult = Collected;
    Given = V;
    for (auto [Output, Of] : llvm::enumerate(F.ResultOf))
      if (Of == Collected)
        when(isFirst(Stage), [&] { store(Output, Place); });
    GivenResult.reset();
  }
}

void LoopKernel::computeStage(const LoopForm::Stage &Stage, Value Number) {
  schedule::LoopStage Cost = Stage.Cost;
  Cost.Extent = F.extentOf(Stage);
  Lanes = S.lanes(Cost);
  if (Lanes > 1)
    Lane = W.B.createOrFold<arith::RemUIOp>(W.Loc, Thread, W.index(Lanes));
  eachElement(Stage, Lanes, [&](const Element &E) {
    auto Compute = [&]() -> Value {
      if (Stage.IsCopy)
        return W.Emitter.element(W.B, Stage.Tensor, E.At);
      linalg::LinalgOp Op = loopsBehind(Stage.Tensor);
      unsigned Of = cast<OpResult>(Stage.Tensor).getResultNumber();
      SmallVector<Value> Results;
      if (failed(W.Emitter.generic(W.B, Op, loopIndicesOfElement(Op, Of, E.At),
                                   Results)))
        return {};
      return Results[Of];
    };
    auto Store = [&](Value V) {
      if (!V)
        return fail(true);
      if (Stage.Next >= 0)
        write(Carried[Stage.Next], E.At, partOf(Carried[Stage.Next], Next), V);
      else if (Stage.IsKept)
        write(Kept[&Stage - F.Stages.data()], E.At, Value(), V);
      storeResults(Stage, E, V, Number);
    };
    // Lanes that exchange sums are all there.
    if (Lanes == 1)
      return when(E.IsThere, [&] { Store(Compute()); });
    Value V = Compute();
    when(both(E.IsThere, W.less(Lane, W.index(1))), [&] { Store(V); });
  });
  Lanes = 1;
}

void LoopKernel::step(Value Number) {
  kernel::LoopOp Op = F.Op;
  IRMapping &Outer = W.Emitter.outer();
  Outer.map(Op.getStep(), Number);
  // Constants and places that depend on the step.
  for (Operation &Inner : Op.getBody().front())
    if (isa_and_present<arith::ArithDialect>(Inner.getDialect()))
      W.B.clone(Inner, Outer);
  Current = W.B.createOrFold<arith::RemUIOp>(W.Loc, Number, W.index(2));
  Next = W.B.createOrFold<arith::SubIOp>(W.Loc, W.index(1), Current);
  for (auto [I, Stage] : llvm::enumerate(F.Stages)) {
    computeStage(Stage, Number);
    if (I + 1 == F.Stages.size() || F.Stages[I + 1].Level != Stage.Level)
      W.barrier();
  }
}

/// The last carried values; `Current` says which of the two they are.
void LoopKernel::finish() {
  kernel::LoopOp Op = F.Op;
  for (auto [Output, Of] : llvm::enumerate(F.ResultOf)) {
    if (Of >= Op.getNumCarried())
      continue;
    eachElement(F.Carried[Of], 1, [&](const Element &E) {
      Value IsMine = isFirst(F.Carried[Of]);
      if (E.IsThere)
        IsMine = both(IsMine, E.IsThere);
      when(IsMine, [&] {
        GivenResult = Of;
        Given = read(Carried[Of], E.At, partOf(Carried[Of], Current));
        store(Output, E.At);
        GivenResult.reset();
      });
    });
  }
}

LogicalResult LoopKernel::emit(GpuLaunch &Launch) {
  kernel::LoopOp Op = F.Op;
  if (failed(place(Launch)))
    return failure();
  W.Emitter.setElementHook([&](OpBuilder &, Location, Value Tensor,
                               ValueRange At) { return hook(Tensor, At); });
  W.Emitter.setReductionHook(
      [&](OpBuilder &, linalg::LinalgOp Of, unsigned, Value Upper,
          ValueRange Accumulators,
          LoopBody Body) { return reduce(Of, Upper, Accumulators, Body); });
  Value Begins = begin();
  Value Steps = Op.getSteps();
  Value Done = Steps;
  scf::ForOp Counted;
  if (!Begins) {
    Counted = makeLoop(W.B, W.Loc, W.index(0), Steps, W.index(1), {},
                       [&](OpBuilder &, Value Number, ValueRange) {
                         step(Number);
                         return SmallVector<Value>();
                       });
  } else {
    const LoopForm::Stage &Condition = F.Stages[F.Condition];
    auto While = scf::WhileOp::create(
        W.B, W.Loc, TypeRange{W.B.getIndexType()},
        ValueRange{W.index(0), Begins},
        [&](OpBuilder &B, Location L, ValueRange State) {
          Value Less = arith::CmpIOp::create(B, L, arith::CmpIPredicate::slt,
                                             State[0], Steps);
          Value Goes = arith::AndIOp::create(B, L, Less, State[1]);
          scf::ConditionOp::create(B, L, Goes, State[0]);
        },
        [&](OpBuilder &B, Location L, ValueRange State) {
          OpBuilder::InsertionGuard Guard(W.B);
          W.B.setInsertionPointToEnd(B.getInsertionBlock());
          step(State[0]);
          Indices Zero(Condition.Sizes.size(), W.index(0));
          Value More = Condition.Next >= 0
                           ? readNext(Condition.Next, Zero)
                           : read(Kept[F.Condition], Zero, Value());
          // The next step may write it.
          W.barrier();
          scf::YieldOp::create(W.B, L,
                               ValueRange{W.add(State[0], W.index(1)), More});
        });
    Done = While.getResult(0);
  }
  Current = W.B.createOrFold<arith::RemUIOp>(W.Loc, Done, W.index(2));
  finish();
  W.Emitter.setElementHook({});
  W.Emitter.setReductionHook({});
  // Last: the emitter knows the loop that this replaces.
  if (Counted && succeeded(Result))
    readAhead(Counted, Clamped);
  return Result;
}

//===----------------------------------------------------------------------===//
// The family
//===----------------------------------------------------------------------===//

FamilyAnswer queryLoop(FusedKernel &Form, const target::Target &T) {
  std::string Why;
  std::optional<LoopForm> Read = LoopForm::read(Form, Why);
  if (!Read)
    return FamilyAnswer::refuse(RefusalKind::Form, Why);
  auto F = std::make_shared<LoopForm>(std::move(*Read));
  std::vector<LoopCost> Ranked =
      schedule::rankLoopSchedules(F->shape(), T, &Why);
  if (Ranked.empty())
    return FamilyAnswer::refuse(RefusalKind::Target, Why);
  return FamilyAnswer::offer(
      std::move(Ranked), [&Form, F](const LoopSchedule &S, GpuLaunch &Launch) {
        return LoopKernel(Form, *F, S).emit(Launch);
      });
}

} // namespace kpc::kernels
