//===- RunningSum.cpp - A generic that is a running sum -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What graph.cumsum is lowered to:
///
///   tap  = index(rank)                 or (index(axis) / block) · block + tap
///   take = tap <= index(axis)          (<, >=, > of other directions)
///   yield select(take, acc + x[…, tap, …], acc)
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/RunningSum.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

std::optional<unsigned> loopOf(Value V) {
  auto Index = V.getDefiningOp<linalg::IndexOp>();
  return Index ? std::optional(unsigned(Index.getDim())) : std::nullopt;
}

/// Operands of a commutative op, the one that `IsFirst` in front.
template <typename OpT>
std::optional<std::pair<Value, Value>>
operandsOf(Value V, function_ref<bool(Value)> IsFirst) {
  auto Op = V.getDefiningOp<OpT>();
  if (!Op)
    return std::nullopt;
  if (IsFirst(Op.getLhs()))
    return std::pair(Op.getLhs(), Op.getRhs());
  if (IsFirst(Op.getRhs()))
    return std::pair(Op.getRhs(), Op.getLhs());
  return std::nullopt;
}

/// The size of the block that `First` is the first element of: `At / size ·
/// size`.
std::optional<int64_t> blockBegunAt(Value First, unsigned Axis) {
  auto Product = First.getDefiningOp<arith::MulIOp>();
  auto Number = Product ? Product.getLhs().getDefiningOp<arith::DivUIOp>()
                        : arith::DivUIOp();
  APInt By, Times;
  if (!Number || loopOf(Number.getLhs()) != Axis ||
      !matchPattern(Number.getRhs(), m_ConstantInt(&By)) ||
      !matchPattern(Product.getRhs(), m_ConstantInt(&Times)) || By != Times)
    return std::nullopt;
  return By.getSExtValue();
}

/// The comparison with the element's own place: the only one, or that beside
/// another with the size.
arith::CmpIOp comparisonOf(Value Taken) {
  SmallVector<Value> Parts{Taken};
  if (auto Both = Taken.getDefiningOp<arith::AndIOp>())
    Parts = {Both.getLhs(), Both.getRhs()};
  for (Value Part : Parts)
    if (auto Compare = Part.getDefiningOp<arith::CmpIOp>())
      if (loopOf(Compare.getRhs()))
        return Compare;
  return {};
}

} // namespace

std::optional<RunningSum> RunningSum::read(linalg::LinalgOp Op) {
  if (!isa<linalg::GenericOp>(Op.getOperation()) || Op->getNumResults() != 1 ||
      Op.getNumReductionLoops() != 1)
    return std::nullopt;
  unsigned Tap = Op.getNumLoops() - 1;
  Value Acc = Op.getBlock()->getArguments().back();
  auto Choice = Op.getBlock()
                    ->getTerminator()
                    ->getOperand(0)
                    .getDefiningOp<arith::SelectOp>();
  if (!Choice || Choice.getFalseValue() != Acc)
    return std::nullopt;
  auto IsAcc = [&](Value V) { return V == Acc; };
  auto Sum = operandsOf<arith::AddFOp>(Choice.getTrueValue(), IsAcc);
  if (!Sum)
    Sum = operandsOf<arith::AddIOp>(Choice.getTrueValue(), IsAcc);
  auto Element = Sum ? Sum->second.getDefiningOp<tensor::ExtractOp>()
                     : tensor::ExtractOp();
  arith::CmpIOp Order = comparisonOf(Choice.getCondition());
  if (!Element || !Order)
    return std::nullopt;
  RunningSum Read;
  Read.X = Element.getTensor();
  Read.Axis = *loopOf(Order.getRhs());
  using P = arith::CmpIPredicate;
  P Is = Order.getPredicate();
  if (Is != P::ult && Is != P::ule && Is != P::ugt && Is != P::uge)
    return std::nullopt;
  Read.Exclusive = Is == P::ult || Is == P::ugt;
  Read.Reverse = Is == P::ugt || Is == P::uge;
  Value Place = Order.getLhs();
  if (loopOf(Place) != Tap) {
    auto IsTap = [&](Value V) { return loopOf(V) == Tap; };
    auto InBlock = operandsOf<arith::AddIOp>(Place, IsTap);
    Read.Block =
        InBlock ? blockBegunAt(InBlock->second, Read.Axis) : std::nullopt;
    if (!Read.Block)
      return std::nullopt;
  }
  // All other indices are the element's own.
  for (auto [Dim, At] : llvm::enumerate(Element.getIndices())) {
    if (Dim != Read.Axis) {
      if (loopOf(At) != unsigned(Dim))
        return std::nullopt;
      continue;
    }
    auto Clamped = At.getDefiningOp<arith::MinUIOp>();
    if (At != Place &&
        !(Clamped && (Clamped.getLhs() == Place || Clamped.getRhs() == Place)))
      return std::nullopt;
  }
  return Read;
}

} // namespace kpc::kernels
