//===- HostReduction.cpp - Reductions along contiguous memory -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A unit is an output element. Its innermost reduction loop runs in several
/// vectors of partial results, which are combined in one fixed order at the
/// end: the result depends on the vector width alone, not on threads or runs.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/RootShape.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/form/VectorEmitter.h"
#include "passes/kernels/host/HostBuilder.h"
#include "passes/kernels/host/HostPartialSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

struct ReductionPlan {
  RootShape Shape;
  unsigned Lane = 0; ///< the loop that vectors run along
  unsigned Lanes = 1;
  unsigned Partials = 1; ///< vectors in flight
  Combination Combine;
  SumBlocks LaneBlocks;
  SmallVector<SumBlocks> OuterBlocks; ///< of the other reduction loops
};

/// Whether all that the body reads runs along `Loop` in memory, or stands.
bool readsAlong(linalg::LinalgOp Root, unsigned Loop) {
  for (OpOperand *Operand : Root.getDpsInputOperands()) {
    if (!Root.payloadUsesValueFromOperand(Operand))
      continue;
    int Lane = -1;
    AffineMap Map = Root.getMatchingIndexingMap(Operand);
    for (auto [Position, Expr] : llvm::enumerate(Map.getResults())) {
      auto Counts = countsWith(Expr, Loop);
      if (!Counts || (*Counts && Lane >= 0))
        return false;
      if (*Counts)
        Lane = Position;
    }
    if (!VectorEmitter::vectorises(Operand->get(), Lane, nullptr))
      return false;
  }
  return VectorEmitter::bodyVectorises(Root, Loop);
}

/// The lane loop is walked by all partial vectors at once.
void chooseBlocks(ReductionPlan &Plan) {
  SmallVector<std::optional<int64_t>> Most;
  for (unsigned Loop : Plan.Shape.Reduction)
    if (Loop != Plan.Lane)
      Most.push_back(maxOf(Plan.Shape.LoopSizes[Loop]));
  std::optional<int64_t> Length = maxOf(Plan.Shape.LoopSizes[Plan.Lane]);
  if (Length)
    Length = llvm::divideCeil(*Length, int64_t(Plan.Partials) * Plan.Lanes);
  Most.push_back(Length);
  Plan.OuterBlocks.resize(Most.size() - 1);
  if (!Plan.Combine.addsReals())
    return;
  Plan.OuterBlocks = cutSums(Most);
  Plan.LaneBlocks = Plan.OuterBlocks.pop_back_val();
}

std::optional<ReductionPlan> planReduction(const FusedKernel &Form,
                                           const HostMachine &Machine) {
  ReductionPlan Plan;
  std::optional<RootShape> Shape = RootShape::read(Form);
  if (!Shape)
    return std::nullopt;
  Plan.Shape = std::move(*Shape);
  std::optional<unsigned> Lane;
  for (unsigned Loop : Plan.Shape.Reduction)
    if (constantOf(Plan.Shape.LoopSizes[Loop]) != 1)
      Lane = Loop;
  if (!Lane || !readsAlong(Plan.Shape.Root, *Lane))
    return std::nullopt;
  std::optional<Combination> Combine = Combination::read(Plan.Shape.Root);
  if (!Combine)
    return std::nullopt;
  Plan.Combine = std::move(*Combine);
  Plan.Lane = *Lane;
  unsigned Widest = 32;
  for (Operation *Op : Plan.Combine.Ops) {
    Type T = Op->getResult(0).getType();
    Widest = std::max(Widest, T.isIndex() ? 64 : T.getIntOrFloatBitWidth());
  }
  Plan.Lanes = Machine.VectorBits / Widest;
  int64_t Length =
      factsOf(Form.Func).optimum(Plan.Shape.size(Plan.Lane)).value_or(64);
  if (Plan.Lanes < 2 || Length < int64_t(Plan.Lanes) / 2)
    return std::nullopt;
  Plan.Partials = Length >= 4 * int64_t(Plan.Lanes)   ? 4
                  : Length >= 2 * int64_t(Plan.Lanes) ? 2
                                                      : 1;
  chooseBlocks(Plan);
  return Plan;
}

class ReductionNest {
public:
  ReductionNest(OpBuilder &B, FusedKernel &Form, const ReductionPlan &Plan,
                const HostMachine &Machine)
      : B(B), Loc(Form.Func.getLoc()), Form(Form), Plan(Plan),
        Root(Plan.Shape.Root), Vectors(Emitter, Plan.Lanes, Machine.HasFma) {}

  LogicalResult emit(Value Begin, Value End) {
    Zero = Emitter.constantIndex(B, 0);
    One = Emitter.constantIndex(B, 1);
    for (OpFoldResult Size : Plan.Shape.LoopSizes)
      Sizes.push_back(Emitter.materialize(B, Size));
    SmallVector<Value> Outer;
    for (unsigned Loop : Plan.Shape.Parallel)
      Outer.push_back(Sizes[Loop]);
    makeLoop(
        B, Loc, Begin, End, One, {}, [&](OpBuilder &, Value Unit, ValueRange) {
          SmallVector<Value> Loops(Sizes.size(), Zero);
          SmallVector<Value> At = delinearize(B, Loc, Unit, Outer);
          for (auto [Loop, Index] : llvm::zip_equal(Plan.Shape.Parallel, At))
            Loops[Loop] = Index;
          unit(Loops, At);
          return SmallVector<Value>();
        });
    return Result;
  }

private:
  void unit(SmallVector<Value> Loops, ArrayRef<Value> At) {
    SmallVector<Value> Partial;
    for (unsigned P = 0; P < Plan.Partials; ++P)
      for (TypedAttr Neutral : Plan.Combine.Neutral)
        Partial.push_back(arith::ConstantOp::create(
            B, Loc,
            SplatElementsAttr::get(Vectors.vectorOf(Neutral.getType()),
                                   cast<Attribute>(Neutral))));
    SmallVector<unsigned> Order;
    for (unsigned Loop : Plan.Shape.Reduction)
      if (Loop != Plan.Lane)
        Order.push_back(Loop);
    Partial = reduce(Order, Loops, Partial);
    SmallVector<Value> Final;
    for (unsigned N = 0; N < numResults(); ++N) {
      Value Start = Emitter.element(B, Root.getDpsInits()[N], At);
      if (!Start) {
        Result = failure();
        return;
      }
      Final.push_back(combine(N, Start, horizontal(N, Partial)));
    }
    Emitter.setElementHook(
        [&](OpBuilder &, Location, Value Tensor, ValueRange) -> Value {
          if (Tensor.getDefiningOp() != Root)
            return {};
          return Final[cast<OpResult>(Tensor).getResultNumber()];
        });
    for (const KernelOutput &Out : Form.Outputs) {
      Value V = Emitter.element(B, Out.Tensor, At);
      if (V)
        memref::StoreOp::create(B, Loc, V, Out.Memref, At);
      else
        Result = failure();
    }
    Emitter.setElementHook(nullptr);
  }

  SmallVector<Value> reduce(ArrayRef<unsigned> Order, SmallVector<Value> Loops,
                            SmallVector<Value> Partial) {
    if (Order.empty())
      return along(Loops, Partial);
    const SumBlocks &Blocks =
        Plan.OuterBlocks[Plan.OuterBlocks.size() - Order.size()];
    return sumLoop(Blocks, Zero, Sizes[Order.front()], 1, Partial,
                   [&](OpBuilder &, Value Index, ValueRange Carried) {
                     SmallVector<Value> Next(Loops);
                     Next[Order.front()] = Index;
                     return reduce(Order.drop_front(), Next,
                                   llvm::to_vector(Carried));
                   });
  }

  /// The lane loop: all partial vectors, one of them, and the rest in a mask.
  SmallVector<Value> along(SmallVector<Value> Loops,
                           SmallVector<Value> Partial) {
    Value From = Zero;
    for (unsigned Count : {Plan.Partials, 1u}) {
      if (Count == 1 && Plan.Partials == 1 && From != Zero)
        break;
      Value Step = Emitter.constantIndex(B, Count * Plan.Lanes);
      Value Rest = arith::SubIOp::create(B, Loc, Sizes[Plan.Lane], From);
      Value Whole = arith::MulIOp::create(
          B, Loc, arith::DivUIOp::create(B, Loc, Rest, Step), Step);
      Value Stop = Emitter.add(B, Loc, From, Whole);
      // What is left for single vectors is short.
      Partial = sumLoop(
          Count == Plan.Partials ? Plan.LaneBlocks : SumBlocks(), From, Stop,
          int64_t(Count) * Plan.Lanes, Partial,
          [&](OpBuilder &, Value Index, ValueRange Carried) {
            SmallVector<Value> Next = llvm::to_vector(Carried);
            for (unsigned P = 0; P < Count; ++P)
              step(Loops,
                   Emitter.add(B, Loc, Index,
                               Emitter.constantIndex(B, P * Plan.Lanes)),
                   P, Next);
            return Next;
          });
      From = Stop;
    }
    auto Size = Plan.Shape.size(Plan.Lane).asConstant();
    if (Size && *Size % Plan.Lanes == 0)
      return Partial;
    return masked(Loops, From, Partial);
  }

  SmallVector<Value> masked(SmallVector<Value> Loops, Value From,
                            SmallVector<Value> Partial) {
    Value Some = arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::slt, From,
                                       Sizes[Plan.Lane]);
    SmallVector<Value> First(ArrayRef(Partial).take_front(numResults()));
    auto If = scf::IfOp::create(B, Loc, ValueRange(First).getTypes(), Some,
                                /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard Guard(B);
      B.setInsertionPointToStart(If.thenBlock());
      Value Rest = arith::SubIOp::create(B, Loc, Sizes[Plan.Lane], From);
      Value Lanes = Vectors.laneNumbers(B, Loc);
      Value Mask = arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::slt,
                                         Lanes, Vectors.broadcast(B, Rest));
      SmallVector<Value> Next(Partial);
      Vectors.setMask(Mask);
      step(Loops, From, 0, Next);
      Vectors.setMask({});
      SmallVector<Value> Chosen;
      for (unsigned N = 0; N < First.size(); ++N)
        Chosen.push_back(
            arith::SelectOp::create(B, Loc, Mask, Next[N], Partial[N]));
      scf::YieldOp::create(B, Loc, Chosen);
      B.setInsertionPointToStart(If.elseBlock());
      scf::YieldOp::create(B, Loc, First);
    }
    for (unsigned N = 0; N < First.size(); ++N)
      Partial[N] = If.getResult(N);
    return Partial;
  }

  void step(SmallVector<Value> Loops, Value Index, unsigned P,
            SmallVector<Value> &Partial) {
    Loops[Plan.Lane] = Index;
    unsigned Results = numResults();
    IRMapping Map;
    for (auto [N, Arg] : llvm::enumerate(Root.getRegionOutputArgs()))
      Map.map(Arg, Partial[P * Results + N]);
    SmallVector<Value> Yielded;
    if (failed(Vectors.body(B, Root, Loops, Plan.Lane, Map, Yielded))) {
      Result = failure();
      return;
    }
    for (unsigned N = 0; N < Results; ++N)
      Partial[P * Results + N] = Vectors.broadcast(B, Yielded[N]);
  }

  unsigned numResults() const { return Plan.Combine.Ops.size(); }

  Value combine(unsigned N, Value X, Value Y) {
    return Plan.Combine.apply(B, Loc, N, X, Y);
  }

  SmallVector<Value> sumLoop(const SumBlocks &Blocks, Value Lower, Value Upper,
                             int64_t Step, ValueRange Sums, LoopBody Body) {
    return makeSumLoop(B, Loc, Emitter, Plan.Combine, Blocks, Lower, Upper,
                       Step, Sums, Body, [](scf::ForOp) {});
  }

  /// Partial vectors, then lanes, by halves.
  Value horizontal(unsigned N, ArrayRef<Value> Partial) {
    unsigned Results = numResults();
    SmallVector<Value> Left;
    for (unsigned P = 0; P < Plan.Partials; ++P)
      Left.push_back(Partial[P * Results + N]);
    while (Left.size() > 1) {
      unsigned Half = Left.size() / 2;
      for (unsigned I = 0; I < Half; ++I)
        Left[I] = combine(N, Left[I], Left[I + Half]);
      Left.resize(Half);
    }
    Value V = Left.front();
    for (int64_t Width = Plan.Lanes / 2; Width >= 1; Width /= 2) {
      auto Slice = [&](int64_t From) -> Value {
        SmallVector<int64_t> Take;
        for (int64_t I = 0; I < Width; ++I)
          Take.push_back(From + I);
        return vector::ShuffleOp::create(B, Loc, V, V, Take);
      };
      Value Low = Slice(0), High = Slice(Width);
      V = combine(N, Low, High);
    }
    return vector::ExtractOp::create(B, Loc, V, ArrayRef<int64_t>{0});
  }

  OpBuilder &B;
  Location Loc;
  FusedKernel &Form;
  const ReductionPlan &Plan;
  linalg::LinalgOp Root;
  ElementEmitter Emitter;
  VectorEmitter Vectors;
  Value Zero, One;
  SmallVector<Value> Sizes;
  LogicalResult Result = success();
};

} // namespace

FailureOr<bool> buildHostReduction(FusedKernel &Form,
                                   const HostMachine &Machine) {
  std::optional<ReductionPlan> Plan = planReduction(Form, Machine);
  if (!Plan)
    return false;
  shape::Facts Facts = factsOf(Form.Func);
  shape::Expr Work = 1;
  double Cost = 1;
  for (unsigned Loop : Plan->Shape.Parallel)
    Work = Work * Plan->Shape.size(Loop);
  for (unsigned Loop : Plan->Shape.Reduction)
    Cost *= double(std::max<int64_t>(
        Facts.optimum(Plan->Shape.size(Loop)).value_or(64), 1));
  UnitRange Range = addUnitRange(Form.Func);
  setLaunch(Form.Func, Work, int64_t(3e4 / Cost),
            llvm::formatv("reduction lanes={0} partials={1}", Plan->Lanes,
                          Plan->Partials)
                .str());
  OpBuilder B(Form.Func.getBody().front().getTerminator());
  if (failed(
          ReductionNest(B, Form, *Plan, Machine).emit(Range.Begin, Range.End)))
    return failure();
  eraseTensorOps(Form.Func);
  return true;
}

} // namespace kpc::kernels
