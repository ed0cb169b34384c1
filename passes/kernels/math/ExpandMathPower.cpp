//===- ExpandMathPower.cpp - Powers, roots and rounding -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/math/ExpandMathFunctions.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kpc::expand {

/// A^Y for A >= 0. A product y log(a) of hundreds needs that many times the
/// precision of the result, hence the logarithm in two parts.
static Real powerOfMagnitude(Real A, Real Y, Goal G) {
  if (!A.isF64())
    return powerOfMagnitudeF32(A, Y);
  if (G == Goal::Single)
    return scaledExp(Y * logFor(A, G), 0, G);
  Parts L = logInParts(A);
  Real Product = Y * L.High;
  Real Low = fma(Y, L.Low, fma(Y, L.High, -Product));
  // Beyond this the result is 0 or infinite, and Low may be NaN.
  Low = select(abs(Product) < 800.0, Low, 0.0);
  Real E = scaledExp(Product, 0, G);
  return select(E < E.infinity(), fma(E, Low, E), E);
}

/// C99 F.9.4.4, of what the power of |X| is.
static Real powerBy(Real X, Real Y, Real Magnitude) {
  Real A = abs(X);
  // Infinite powers of 1 (and of -1) are 1.
  Magnitude = select(A == 1.0, 1.0, Magnitude);
  Real HalfY = Y * 0.5;
  Mask Whole = trunc(Y) == Y;
  Mask Odd = Whole & !(trunc(HalfY) == HalfY);
  Int SignBit = bitsOf(X) & (uint64_t(1) << (X.width() - 1));
  Real Signed =
      fromBits(bitsOf(Magnitude) | select(Odd, SignBit, SignBit.like(0)));
  // Finite negative numbers have real powers of whole exponents only.
  Mask Undefined = (X < 0.0) & (X > -X.infinity()) & !Whole;
  Real R = select(Undefined, X.nan(), Signed);
  R = select(isNaN(X) | isNaN(Y), X + Y, R);
  return select((Y == 0.0) | (X == 1.0), 1.0, R);
}

Real pow(Real X, Real Y, Goal G) {
  return powerBy(X, Y, powerOfMagnitude(abs(X), Y, G));
}

Real approximatePower(Real X, Real Y) {
  return powerBy(X, Y, approximateExp(Y * logF32(abs(X))));
}

Real cbrt(Real X) {
  Real A = abs(X);
  Real R = exp(log(A) * (1.0 / 3));
  R = R - (R - A / (R * R)) * (1.0 / 3); // Newton
  Mask Regular = (A > 0.0) & (A < A.infinity());
  return select(Regular, withSign(R, X), X);
}

Real rsqrt(Real X) { return 1.0 / sqrt(X); }

Real roundHalfAway(Real X) {
  // The number before 1/2: with 1/2 itself, 0.49999997 would become 1.
  double BelowHalf = X.isF64() ? 0x1.fffffffffffffp-2 : 0x1.fffffep-2;
  return trunc(X + withSign(X.like(BelowHalf), X));
}

mlir::Value anyLane(Mask M) {
  auto Ty = llvm::dyn_cast<mlir::VectorType>(M.V.getType());
  if (!Ty)
    return M.V;
  mlir::Value Flat = M.V;
  if (Ty.getRank() != 1) {
    auto FlatTy =
        mlir::VectorType::get({Ty.getNumElements()}, Ty.getElementType());
    Flat = mlir::vector::ShapeCastOp::create(*M.B, FlatTy, Flat);
  }
  return mlir::vector::ReductionOp::create(
      *M.B, mlir::vector::CombiningKind::OR, Flat);
}

/// Runs Step on State while any lane of Condition holds.
template <typename ConditionFn, typename StepFn>
static llvm::SmallVector<Int> whileAny(llvm::ArrayRef<Int> State,
                                       ConditionFn Condition, StepFn Step) {
  Builder &B = *State.front().B;
  llvm::SmallVector<mlir::Value> Initial;
  llvm::SmallVector<mlir::Type> Types;
  for (Int I : State) {
    Initial.push_back(I.V);
    Types.push_back(I.V.getType());
  }
  auto Wrap = [&](mlir::ValueRange Values) {
    llvm::SmallVector<Int> Ints;
    for (mlir::Value V : Values)
      Ints.push_back({V, &B});
    return Ints;
  };
  // The regions are built with B itself, which the values refer to.
  auto Loop = mlir::scf::WhileOp::create(
      B, Types, Initial,
      [&](mlir::OpBuilder &, mlir::Location, mlir::ValueRange Args) {
        mlir::scf::ConditionOp::create(B, anyLane(Condition(Wrap(Args))), Args);
      },
      [&](mlir::OpBuilder &, mlir::Location, mlir::ValueRange Args) {
        llvm::SmallVector<mlir::Value> Next;
        for (Int I : Step(Wrap(Args)))
          Next.push_back(I.V);
        mlir::scf::YieldOp::create(B, Next);
      });
  return Wrap(Loop.getResults());
}

Int integerPower(Int X, Int Y) {
  Int Zero = X.like(0), One = X.like(1);
  Mask Negative = lessSigned(Y, Zero);
  // State: result, base, what is left of the exponent.
  auto Final = whileAny(
      {One, X, select(Negative, Zero, Y)},
      [](llvm::ArrayRef<Int> S) { return notEqual(S[2], 0); },
      [&](llvm::ArrayRef<Int> S) {
        Mask Take = notEqual(S[2] & 1, 0);
        return llvm::SmallVector<Int>{select(Take, S[0] * S[1], S[0]),
                                      S[1] * S[1], shiftRight(S[2], 1)};
      });
  Int MinusOne = X.like(~uint64_t(0));
  Int Sign = select(equal(Y & 1, 0), One, MinusOne);
  Int Inverse =
      select(equal(X, One), One, select(equal(X, MinusOne), Sign, Zero));
  return select(Negative, Inverse, Final[0]);
}

namespace {

/// A float as Mantissa * 2^(Field - bias - fraction bits), in 64 bits.
struct Encoded {
  Int Mantissa, Field;
};

} // namespace

static Encoded partsOf(Int Magnitude, const Format &F) {
  Int Field = shiftRight(Magnitude, F.FractionBits);
  Int Fraction = Magnitude & ((uint64_t(1) << F.FractionBits) - 1);
  Mask Subnormal = equal(Field, 0);
  Int Mantissa =
      select(Subnormal, Fraction, Fraction | (uint64_t(1) << F.FractionBits));
  return {Mantissa, select(Subnormal, Field.like(1), Field)};
}

/// Long division of the mantissas, as many bits at a time as 64 allow: at
/// most 7 rounds for f32, 191 for f64, one or two for common quotients.
Real remainder(Real X, Real Y) {
  Format F = formatOf(X);
  Int AX = resize(bitsOf(abs(X)), 64), AY = resize(bitsOf(abs(Y)), 64);
  Encoded PX = partsOf(AX, F), PY = partsOf(AY, F);
  Int Zero = AX.like(0);
  Int Divisor = select(equal(PY.Mantissa, 0), AX.like(1), PY.Mantissa);
  Int Most = AX.like(63 - F.FractionBits);
  auto Rem = [&](Int A) { return binary<mlir::arith::RemUIOp>(A, Divisor); };
  // State: rest, and the bits still to bring down.
  auto Final = whileAny(
      {Rem(PX.Mantissa), PX.Field - PY.Field},
      [&](llvm::ArrayRef<Int> S) { return lessSigned(Zero, S[1]); },
      [&](llvm::ArrayRef<Int> S) {
        Int Bits = select(lessSigned(S[1], Most), S[1], Most);
        Bits = select(lessSigned(Bits, Zero), Zero, Bits);
        return llvm::SmallVector<Int>{Rem(S[0] << Bits), S[1] - Bits};
      });
  mlir::Type Element = mlir::getElementTypeOrSelf(X.V.getType());
  Real Rest{convertTo<mlir::arith::SIToFPOp>(*X.B, Final[0].V, Element), X.B};
  Int Exponent = PY.Field - uint64_t(F.Bias + F.FractionBits);
  Rest = scale(Rest, resize(Exponent, X.width()));
  Rest = select(lessUnsigned(AX, AY), abs(X), Rest);
  Mask Defined = (abs(X) < X.infinity()) & !(Y == 0.0);
  Rest = select(isNaN(X) | isNaN(Y), X + Y, withSign(Rest, X));
  return select(Defined | isNaN(X) | isNaN(Y), Rest, X.nan());
}

} // namespace kpc::expand
