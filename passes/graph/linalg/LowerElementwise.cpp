//===- LowerElementwise.cpp - Elementwise ops as scalar bodies -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.add %a, %b      →   linalg.generic ins(%a, %b) { arith.addf }
///
/// One function a kind of op writes the scalar body. Integer division and
/// shifts are guarded: x86 traps where C leaves them undefined.
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/graph/linalg/KernelWriter.h"
#include "passes/graph/linalg/ScalarCast.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace {

/// Writes scalars of one op.
struct Scalars {
  OpBuilder &B;
  Location Loc;
  /// The graph's element type of the first operand.
  Type Element;

  bool isFloat() const { return graph::isFloat(Element); }
  bool isUnsigned() const { return graph::isUnsigned(Element); }

  Value constant(Type Ty, double V) {
    if (isa<FloatType>(Ty))
      return arith::ConstantOp::create(B, Loc, B.getFloatAttr(Ty, V));
    return arith::ConstantOp::create(
        B, Loc, B.getIntegerAttr(Ty, static_cast<int64_t>(V)));
  }
  Value like(Value X, double V) { return constant(X.getType(), V); }
  Value compare(arith::CmpFPredicate P, Value A, Value C) {
    return arith::CmpFOp::create(B, Loc, P, A, C);
  }
  Value compare(arith::CmpIPredicate P, Value A, Value C) {
    return arith::CmpIOp::create(B, Loc, P, A, C);
  }
  Value select(Value Condition, Value A, Value C) {
    return arith::SelectOp::create(B, Loc, Condition, A, C);
  }

  Value divide(Value A, Value C);
  Value remainder(Value A, Value C);
  Value floorModulus(Value A, Value C);
  Value sign(Value X);
  Value shift(Value A, Value C, bool Left);
  Value compareOp(Predicate P, Value A, Value C);
  Value sigmoid(Value X);

private:
  /// A divisor that x86 does not trap on: 1 in place of 0, and of -1 where
  /// signed (whose quotient is written as a negation).
  Value safeDivisor(Value C, Value &IsZero, Value &IsMinusOne);
};

Value Scalars::safeDivisor(Value C, Value &IsZero, Value &IsMinusOne) {
  Value One = like(C, 1);
  IsZero = compare(arith::CmpIPredicate::eq, C, like(C, 0));
  Value Safe = select(IsZero, One, C);
  if (!isUnsigned()) {
    IsMinusOne = compare(arith::CmpIPredicate::eq, C, like(C, -1));
    Safe = select(IsMinusOne, One, Safe);
  }
  return Safe;
}

Value Scalars::divide(Value A, Value C) {
  if (isFloat())
    return arith::DivFOp::create(B, Loc, A, C);
  Value IsZero, IsMinusOne;
  Value Safe = safeDivisor(C, IsZero, IsMinusOne);
  Value Zero = like(A, 0);
  if (isUnsigned())
    return select(IsZero, Zero, arith::DivUIOp::create(B, Loc, A, Safe));
  Value Quotient = arith::DivSIOp::create(B, Loc, A, Safe);
  Value Negated = arith::SubIOp::create(B, Loc, Zero, A);
  return select(IsZero, Zero, select(IsMinusOne, Negated, Quotient));
}

Value Scalars::remainder(Value A, Value C) {
  if (isFloat())
    return arith::RemFOp::create(B, Loc, A, C);
  Value IsZero, IsMinusOne;
  Value Safe = safeDivisor(C, IsZero, IsMinusOne);
  // x mod 1 is 0, so the stand-in for 0 and -1 gives 0 by itself.
  if (isUnsigned())
    return arith::RemUIOp::create(B, Loc, A, Safe);
  return arith::RemSIOp::create(B, Loc, A, Safe);
}

Value Scalars::floorModulus(Value A, Value C) {
  if (isFloat()) {
    Value Rem = arith::RemFOp::create(B, Loc, A, C);
    Value Zero = like(A, 0);
    Value Moved = arith::AddFOp::create(B, Loc, Rem, C);
    Value Nonzero = compare(arith::CmpFPredicate::UNE, Rem, Zero);
    Value SignsDiffer = arith::XOrIOp::create(
        B, Loc, compare(arith::CmpFPredicate::OLT, Rem, Zero),
        compare(arith::CmpFPredicate::OLT, C, Zero));
    return select(arith::AndIOp::create(B, Loc, Nonzero, SignsDiffer), Moved,
                  Rem);
  }
  Value Rem = remainder(A, C);
  if (isUnsigned())
    return Rem;
  Value Zero = like(A, 0);
  Value Nonzero = compare(arith::CmpIPredicate::ne, Rem, Zero);
  Value SignsDiffer = compare(arith::CmpIPredicate::slt,
                              arith::XOrIOp::create(B, Loc, Rem, C), Zero);
  Value Moved = arith::AddIOp::create(B, Loc, Rem, C);
  return select(arith::AndIOp::create(B, Loc, Nonzero, SignsDiffer), Moved,
                Rem);
}

Value Scalars::sign(Value X) {
  Value Zero = like(X, 0), One = like(X, 1);
  if (isUnsigned())
    return select(compare(arith::CmpIPredicate::eq, X, Zero), Zero, One);
  Value MinusOne = like(X, -1);
  if (!isFloat())
    return select(
        compare(arith::CmpIPredicate::sgt, X, Zero), One,
        select(compare(arith::CmpIPredicate::slt, X, Zero), MinusOne, Zero));
  // 0, -0 and NaN are returned as they are.
  return select(
      compare(arith::CmpFPredicate::OGT, X, Zero), One,
      select(compare(arith::CmpFPredicate::OLT, X, Zero), MinusOne, X));
}

Value Scalars::shift(Value A, Value C, bool Left) {
  Value InRange = compare(arith::CmpIPredicate::ult, C,
                          like(C, A.getType().getIntOrFloatBitWidth()));
  Value Zero = like(A, 0);
  Value Safe = select(InRange, C, Zero);
  Value Shifted = Left ? arith::ShLIOp::create(B, Loc, A, Safe).getResult()
                       : arith::ShRUIOp::create(B, Loc, A, Safe).getResult();
  return select(InRange, Shifted, Zero);
}

Value Scalars::compareOp(Predicate P, Value A, Value C) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr F Float[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  static constexpr I Signed[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static constexpr I Unsigned[] = {I::eq,  I::ne,  I::ult,
                                   I::ule, I::ugt, I::uge};
  unsigned Index = static_cast<unsigned>(P);
  if (isFloat())
    return compare(Float[Index], A, C);
  return compare(isUnsigned() ? Unsigned[Index] : Signed[Index], A, C);
}

Value Scalars::sigmoid(Value X) {
  Value One = like(X, 1);
  Value Exp = math::ExpOp::create(B, Loc, arith::NegFOp::create(B, Loc, X));
  return arith::DivFOp::create(B, Loc, One,
                               arith::AddFOp::create(B, Loc, One, Exp));
}

Value isInfinite(Scalars &S, IsInfOp Op, Value X) {
  double Inf = std::numeric_limits<double>::infinity();
  Value Yes = S.constant(IntegerType::get(S.B.getContext(), 1), 0);
  auto accept = [&](double V) {
    Value Is = S.compare(arith::CmpFPredicate::OEQ, X, S.like(X, V));
    Yes = arith::OrIOp::create(S.B, S.Loc, Yes, Is);
  };
  if (Op.getPositive())
    accept(Inf);
  if (Op.getNegative())
    accept(-Inf);
  return Yes;
}

/// Floats and integers by one op each.
template <typename FloatOp, typename IntOp>
Value arithmetic(Scalars &S, ValueRange X) {
  if (S.isFloat())
    return FloatOp::create(S.B, S.Loc, X[0], X[1]);
  return IntOp::create(S.B, S.Loc, X[0], X[1]);
}

Value unary(Operation *Op, Scalars &S, Value X) {
  OpBuilder &B = S.B;
  Location L = S.Loc;
  return llvm::TypeSwitch<Operation *, Value>(Op)
      .Case([&](AbsOp) -> Value {
        if (S.isFloat())
          return math::AbsFOp::create(B, L, X);
        return S.isUnsigned() ? X : math::AbsIOp::create(B, L, X).getResult();
      })
      .Case([&](NegOp) -> Value {
        if (S.isFloat())
          return arith::NegFOp::create(B, L, X);
        return arith::SubIOp::create(B, L, S.like(X, 0), X);
      })
      .Case([&](SignOp) { return S.sign(X); })
      .Case([&](CeilOp) { return math::CeilOp::create(B, L, X); })
      .Case([&](FloorOp) { return math::FloorOp::create(B, L, X); })
      .Case([&](RoundOp) { return math::RoundEvenOp::create(B, L, X); })
      .Case([&](SqrtOp) { return math::SqrtOp::create(B, L, X); })
      .Case([&](RsqrtOp) { return math::RsqrtOp::create(B, L, X); })
      .Case([&](ReciprocalOp) {
        return arith::DivFOp::create(B, L, S.like(X, 1), X);
      })
      .Case([&](ExpOp) { return math::ExpOp::create(B, L, X); })
      .Case([&](Expm1Op) { return math::ExpM1Op::create(B, L, X); })
      .Case([&](LogOp) { return math::LogOp::create(B, L, X); })
      .Case([&](Log1pOp) { return math::Log1pOp::create(B, L, X); })
      .Case([&](SinOp) { return math::SinOp::create(B, L, X); })
      .Case([&](CosOp) { return math::CosOp::create(B, L, X); })
      .Case([&](TanOp) { return math::TanOp::create(B, L, X); })
      .Case([&](AsinOp) { return math::AsinOp::create(B, L, X); })
      .Case([&](AcosOp) { return math::AcosOp::create(B, L, X); })
      .Case([&](AtanOp) { return math::AtanOp::create(B, L, X); })
      .Case([&](SinhOp) { return math::SinhOp::create(B, L, X); })
      .Case([&](CoshOp) { return math::CoshOp::create(B, L, X); })
      .Case([&](TanhOp) { return math::TanhOp::create(B, L, X); })
      .Case([&](AsinhOp) { return math::AsinhOp::create(B, L, X); })
      .Case([&](AcoshOp) { return math::AcoshOp::create(B, L, X); })
      .Case([&](AtanhOp) { return math::AtanhOp::create(B, L, X); })
      .Case([&](ErfOp) { return math::ErfOp::create(B, L, X); })
      .Case([&](SigmoidOp) { return S.sigmoid(X); })
      .Case([&](ReluOp) -> Value {
        if (S.isFloat())
          return arith::MaximumFOp::create(B, L, X, S.like(X, 0));
        return S.isUnsigned()
                   ? X
                   : arith::MaxSIOp::create(B, L, X, S.like(X, 0)).getResult();
      })
      .Case(
          [&](NotOp) { return arith::XOrIOp::create(B, L, X, S.like(X, -1)); })
      .Case([&](IsNanOp) { return S.compare(arith::CmpFPredicate::UNO, X, X); })
      .Case([&](IsInfOp IsInf) { return isInfinite(S, IsInf, X); })
      .Default(Value());
}

Value binary(Operation *Op, Scalars &S, ValueRange X) {
  OpBuilder &B = S.B;
  Location L = S.Loc;
  return llvm::TypeSwitch<Operation *, Value>(Op)
      .Case(
          [&](AddOp) { return arithmetic<arith::AddFOp, arith::AddIOp>(S, X); })
      .Case(
          [&](SubOp) { return arithmetic<arith::SubFOp, arith::SubIOp>(S, X); })
      .Case(
          [&](MulOp) { return arithmetic<arith::MulFOp, arith::MulIOp>(S, X); })
      .Case(
          [&](PowOp) { return arithmetic<math::PowFOp, math::IPowIOp>(S, X); })
      .Case([&](MinOp) {
        return combine(B, L, ReduceKind::min, X[0], X[1], S.isUnsigned());
      })
      .Case([&](MaxOp) {
        return combine(B, L, ReduceKind::max, X[0], X[1], S.isUnsigned());
      })
      .Case([&](DivOp) { return S.divide(X[0], X[1]); })
      .Case([&](RemOp) { return S.remainder(X[0], X[1]); })
      .Case([&](ModOp) { return S.floorModulus(X[0], X[1]); })
      .Case([&](AndOp) { return arith::AndIOp::create(B, L, X[0], X[1]); })
      .Case([&](OrOp) { return arith::OrIOp::create(B, L, X[0], X[1]); })
      .Case([&](XorOp) { return arith::XOrIOp::create(B, L, X[0], X[1]); })
      .Case([&](ShlOp) { return S.shift(X[0], X[1], true); })
      .Case([&](ShrOp) { return S.shift(X[0], X[1], false); })
      .Case([&](CompareOp Op) {
        return S.compareOp(Op.getPredicate(), X[0], X[1]);
      })
      .Default(Value());
}

Value scalarOf(Operation *Op, Scalars &S, ValueRange X) {
  if (auto Cast = dyn_cast<CastOp>(Op))
    return castScalar(S.B, S.Loc, X[0], S.Element, Cast.getTo());
  if (auto Bits = dyn_cast<BitcastOp>(Op))
    return bitcastScalar(S.B, S.Loc, X[0], S.Element, Bits.getTo());
  if (isa<SelectOp>(Op))
    return S.select(X[0], X[1], X[2]);
  return X.size() == 1 ? unary(Op, S, X[0]) : binary(Op, S, X);
}

} // namespace

/// Whether a cast does nothing here: inside a kernel 16-bit floats are f32
/// already, and what is only stored is rounded by the store.
static bool isFree(CastOp Cast) {
  Type From = typeOf(Cast.getX()).getElementType(), To = Cast.getTo();
  auto Is16Bits = [](Type T) { return T.isF16() || T.isBF16(); };
  if (To.isF32())
    return Is16Bits(From);
  return From.isF32() && Is16Bits(To) &&
         llvm::all_of(Cast->getUsers(), llvm::IsaPred<YieldOp>);
}

FailureOr<Value> graph::lowerElementwise(Operation *Op, KernelWriter &W) {
  if (!Op->hasTrait<ElementwiseTrait>())
    return failure();
  if (auto Cast = dyn_cast<CastOp>(Op); Cast && isFree(Cast))
    return W.tensor(Cast.getX());
  SymbolicTensorType Ty = typeOf(Op->getResult(0));
  SmallVector<Value> Operands;
  for (Value Operand : Op->getOperands())
    Operands.push_back(W.tensor(Operand));
  SmallVector<AffineMap> Maps(Operands.size(),
                              W.builder().getMultiDimIdentityMap(Ty.getRank()));
  Type Element = typeOf(Op->getOperand(0)).getElementType();
  bool Known = true;
  Value Result =
      W.map(Ty, Operands, Maps, [&](OpBuilder &B, Location L, ValueRange X) {
        Scalars S{B, L, Element};
        Value V = scalarOf(Op, S, X);
        Known = static_cast<bool>(V);
        return Known ? V : S.constant(W.computeType(Ty.getElementType()), 0);
      });
  if (!Known)
    return failure();
  return Result;
}
