//===- RunPair.cpp - Two ascending runs, merged ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/RunPair.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kpc::kernels {

RunPair::RunPair(OpBuilder &B, Location Loc, Value SizeA, Value SizeB,
                 Value BeginB, Read ReadAt)
    : B(B), Loc(Loc), SizeA(SizeA), SizeB(SizeB), BeginB(BeginB),
      ReadAt(std::move(ReadAt)) {
  // B begins where A ends, or is empty.
  Value Size = arith::AddIOp::create(B, Loc, SizeA, SizeB);
  Last = arith::SubIOp::create(B, Loc, Size, number(1));
}

Value RunPair::number(int64_t V) const {
  return arith::ConstantOp::create(B, Loc,
                                   B.getIntegerAttr(SizeA.getType(), V));
}

/// Behind a run's end any element will do: it is not taken.
Value RunPair::elementAt(Value Place) const {
  return ReadAt(B, arith::MinSIOp::create(B, Loc, Place, Last));
}

RunPair::Heads RunPair::headsAt(Value Place) const {
  Type T = Place.getType();
  Value Least = arith::MaxSIOp::create(
      B, Loc, arith::SubIOp::create(B, Loc, Place, SizeB), number(0));
  Value Most = arith::MinSIOp::create(B, Loc, Place, SizeA);
  Value BeforeB = arith::AddIOp::create(B, Loc, BeginB, Place);
  BeforeB = arith::SubIOp::create(B, Loc, BeforeB, number(1));
  auto Loop = scf::WhileOp::create(
      B, Loc, TypeRange{T, T}, ValueRange{Least, Most},
      [&](OpBuilder &B, Location L, ValueRange Ends) {
        Value More = arith::CmpIOp::create(B, L, arith::CmpIPredicate::slt,
                                           Ends[0], Ends[1]);
        scf::ConditionOp::create(B, L, More, Ends);
      },
      [&](OpBuilder &B, Location L, ValueRange Ends) {
        Value One = arith::ConstantOp::create(B, L, B.getIntegerAttr(T, 1));
        Value Middle = arith::ShRUIOp::create(
            B, L, arith::AddIOp::create(B, L, Ends[0], Ends[1]), One);
        Value OfA = ReadAt(B, Middle);
        Value OfB = ReadAt(B, arith::SubIOp::create(B, L, BeforeB, Middle));
        Value InFront =
            arith::CmpIOp::create(B, L, arith::CmpIPredicate::slt, OfA, OfB);
        Value Behind = arith::AddIOp::create(B, L, Middle, One);
        Value Low = arith::SelectOp::create(B, L, InFront, Behind, Ends[0]);
        Value High = arith::SelectOp::create(B, L, InFront, Ends[1], Middle);
        scf::YieldOp::create(B, L, ValueRange{Low, High});
      });
  Heads At;
  At.TakenA = Loop.getResult(0);
  At.TakenB = arith::SubIOp::create(B, Loc, Place, At.TakenA);
  At.NextA = elementAt(At.TakenA);
  At.NextB = elementAt(arith::AddIOp::create(B, Loc, BeginB, At.TakenB));
  return At;
}

std::pair<RunPair::Value, RunPair::Heads> RunPair::take(const Heads &At) const {
  auto Is = [&](arith::CmpIPredicate P, Value X, Value Y) -> Value {
    return arith::CmpIOp::create(B, Loc, P, X, Y);
  };
  using P = arith::CmpIPredicate;
  Value OnlyA = Is(P::sge, At.TakenB, SizeB);
  Value HasA = Is(P::slt, At.TakenA, SizeA);
  Value Less = Is(P::slt, At.NextA, At.NextB);
  Value FromA = arith::OrIOp::create(B, Loc, OnlyA,
                                     arith::AndIOp::create(B, Loc, HasA, Less));
  auto Pick = [&](Value X, Value Y) -> Value {
    return arith::SelectOp::create(B, Loc, FromA, X, Y);
  };
  Value One = number(1);
  Value AfterA = arith::AddIOp::create(B, Loc, At.TakenA, One),
        AfterB = arith::AddIOp::create(B, Loc, At.TakenB, One);
  Value Next =
      elementAt(Pick(AfterA, arith::AddIOp::create(B, Loc, BeginB, AfterB)));
  Heads Behind{Pick(AfterA, At.TakenA), Pick(At.TakenB, AfterB),
               Pick(Next, At.NextA), Pick(At.NextB, Next)};
  return {Pick(At.NextA, At.NextB), Behind};
}

} // namespace kpc::kernels
