//===- HostPartialSums.cpp - Long sums in blocks --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/host/HostPartialSums.h"

#include "passes/kernels/form/SizeFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kpc::kernels {

//===----------------------------------------------------------------------===//
// Combinations
//===----------------------------------------------------------------------===//

/// The value that changes nothing under `Combine`; null if it is no operation
/// that may be regrouped.
static TypedAttr neutralOf(Operation *Combine, Builder &B) {
  Type T = Combine->getResult(0).getType();
  auto Real = [&](double V) -> TypedAttr { return B.getFloatAttr(T, V); };
  auto Whole = [&](const APInt &V) -> TypedAttr {
    return B.getIntegerAttr(T, V);
  };
  unsigned Bits = T.isIntOrFloat() ? T.getIntOrFloatBitWidth() : 64;
  double Infinity = std::numeric_limits<double>::infinity();
  return TypeSwitch<Operation *, TypedAttr>(Combine)
      .Case<arith::AddFOp>([&](auto) { return Real(-0.0); })
      .Case<arith::MulFOp>([&](auto) { return Real(1.0); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return Real(-Infinity); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return Real(Infinity); })
      .Case<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(
          [&](auto) { return Whole(APInt::getZero(Bits)); })
      .Case<arith::MulIOp>([&](auto) { return Whole(APInt(Bits, 1)); })
      .Case<arith::AndIOp, arith::MinUIOp>(
          [&](auto) { return Whole(APInt::getAllOnes(Bits)); })
      .Case<arith::MaxSIOp>(
          [&](auto) { return Whole(APInt::getSignedMinValue(Bits)); })
      .Case<arith::MinSIOp>(
          [&](auto) { return Whole(APInt::getSignedMaxValue(Bits)); })
      .Default([](Operation *) { return TypedAttr(); });
}

std::optional<Combination> Combination::read(linalg::LinalgOp Root) {
  Combination Result;
  Builder B(Root.getContext());
  Operation *Yield = Root.getBlock()->getTerminator();
  for (auto [Arg, V] :
       llvm::zip_equal(Root.getRegionOutputArgs(), Yield->getOperands())) {
    Operation *Def = V.getDefiningOp();
    if (!Def || Def->getBlock() != Root.getBlock() || !Arg.hasOneUse() ||
        *Arg.user_begin() != Def || !V.hasOneUse())
      return std::nullopt;
    TypedAttr Neutral = neutralOf(Def, B);
    if (!Neutral)
      return std::nullopt;
    Result.Ops.push_back(Def);
    Result.Neutral.push_back(Neutral);
  }
  return Result;
}

bool Combination::addsReals() const {
  return llvm::all_of(Ops,
                      [](Operation *Op) { return isa<arith::AddFOp>(Op); });
}

Value Combination::apply(OpBuilder &B, Location Loc, unsigned Number, Value X,
                         Value Y) const {
  Operation *Op = Ops[Number];
  OperationState State(Loc, Op->getName());
  State.addOperands({X, Y});
  State.addTypes(X.getType());
  State.addAttributes(Op->getAttrs());
  return B.create(State)->getResult(0);
}

SmallVector<Value> Combination::neutral(OpBuilder &B, Location Loc,
                                        ValueRange Like) const {
  SmallVector<Value> Values;
  for (auto [I, V] : llvm::enumerate(Like)) {
    TypedAttr One = Neutral[I % Neutral.size()];
    if (auto Vector = dyn_cast<VectorType>(V.getType()))
      One = SplatElementsAttr::get(Vector, cast<Attribute>(One));
    Values.push_back(arith::ConstantOp::create(B, Loc, One));
  }
  return Values;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

SmallVector<SumBlocks> cutSums(ArrayRef<std::optional<int64_t>> Most,
                               int64_t Block) {
  SmallVector<SumBlocks> Result(Most.size());
  int64_t Added = 1; // by one iteration, to one accumulator
  for (auto [Blocks, Count] : llvm::reverse(llvm::zip_equal(Result, Most))) {
    if (Count && saturatingMul(*Count, Added) <= 2 * Block) {
      Added *= std::max<int64_t>(*Count, 1);
      continue;
    }
    Blocks.Block = std::max<int64_t>(Block / Added, 1);
    bool Long = !Count || *Count / Blocks.Block > 2 * SumBlock;
    Blocks.Levels = Long ? 2 : 1;
    Added = Count ? llvm::divideCeil(*Count, Long ? Blocks.Block * SumBlock
                                                  : Blocks.Block)
                  : SumBlock;
  }
  return Result;
}

SmallVector<Value>
makeSumLoop(OpBuilder &B, Location Loc, ElementEmitter &Emitter,
            const Combination &Combine, const SumBlocks &Blocks, Value Lower,
            Value Upper, int64_t Step, ValueRange Sums, LoopBody Body,
            llvm::function_ref<void(scf::ForOp)> Made) {
  if (Blocks.Levels == 0) {
    auto For = makeLoop(B, Loc, Lower, Upper, Emitter.constantIndex(B, Step),
                        Sums, Body);
    Made(For);
    return llvm::to_vector(ValueRange(For.getResults()));
  }
  SumBlocks Inner{Blocks.Block, Blocks.Levels - 1};
  int64_t Reach = Step * Blocks.Block * (Inner.Levels ? SumBlock : 1);
  Value By = Emitter.constantIndex(B, Reach);
  auto For = makeLoop(B, Loc, Lower, Upper, By, Sums,
                      [&](OpBuilder &, Value At, ValueRange Carried) {
                        Value Stop = arith::MinSIOp::create(
                            B, Loc, Upper, Emitter.add(B, Loc, At, By));
                        SmallVector<Value> Block = makeSumLoop(
                            B, Loc, Emitter, Combine, Inner, At, Stop, Step,
                            Combine.neutral(B, Loc, Carried), Body, Made);
                        unsigned Results = Combine.Ops.size();
                        for (auto [I, V] : llvm::enumerate(Block))
                          V = Combine.apply(B, Loc, I % Results, Carried[I], V);
                        return Block;
                      });
  return llvm::to_vector(ValueRange(For.getResults()));
}

void pullSumsInBlocks(ElementEmitter &Emitter) {
  Emitter.setReductionHook([&Emitter](OpBuilder &B, linalg::LinalgOp Op,
                                      unsigned Loop, Value Upper,
                                      ValueRange Sums, LoopBody Body) {
    SumBlocks Blocks;
    std::optional<Combination> Combine = Combination::read(Op);
    if (!Combine) {
      Combine.emplace();
    } else if (Combine->addsReals()) {
      SmallVector<unsigned> Loops;
      Op.getReductionDims(Loops);
      SmallVector<std::optional<int64_t>> Most;
      for (unsigned Each : Loops)
        Most.push_back(maxOf(loopSize(Op, Each)));
      Blocks = cutSums(Most)[llvm::find(Loops, Loop) - Loops.begin()];
    }
    return makeSumLoop(B, Op.getLoc(), Emitter, *Combine, Blocks,
                       Emitter.constantIndex(B, 0), Upper, 1, Sums, Body,
                       [](scf::ForOp) {});
  });
}

} // namespace kpc::kernels
