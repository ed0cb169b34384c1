//===- ExpandMathAngles.cpp - Functions of angles in f32 ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sine, cosine, tangent and their inverses of f32 without f64, of which many
/// GPUs have few units: what f32 does not hold is in a second number.
///
//===----------------------------------------------------------------------===//

#include "passes/kernels/math/ExpandMathFunctions.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/kernels/math/MathCoefficients.inc"

namespace kpc::expand {

/// Up to here k * pi/2 is taken off in three parts (Cody and Waite). k has 17
/// bits, so that the parts leave an error of 2^-58.
static constexpr double MaxCodyWaite = 0x1p+17;

static Angle reduceSmall(Real X) {
  constexpr double Magic = 0x1.8p+23; // see ExpandMathExp.cpp
  Real Shifted = fma(X, X.like(2 / M_PI), Magic);
  Real K = Shifted - Magic;
  // Exact: the last place of the first part times k is that of x.
  Real A = fma(K, -PiOver2F32[0], X);
  Real Second = K * PiOver2F32[1];
  Real Rest = fma(K, PiOver2F32[1], -Second);
  Real R = A - Second;
  Real Low = fma(K, -PiOver2F32[2], ((A - R) - Second) - Rest);
  return {R, Low, bitsOf(Shifted)};
}

static Real toF32(Int X) {
  return {convertTo<mlir::arith::SIToFPOp>(*X.B, X.V, X.B->getF32Type()), X.B};
}

/// X = m * 2^e with m of 24 bits; m * (2^e * 2/pi mod 4) needs only the bits of
/// 2/pi from 2^(1-e) on (Payne and Hanek, 1983). Of the product's 96 bits the
/// top two are the quadrant, and the next 64 the part of pi/2 beyond it.
static Angle reduceLarge(Real X) {
  Int Bits = bitsOf(X);
  Int M = (Bits & 0x7FFFFF) | 0x800000;
  // e = field - 150, and the table starts with 64 zeros, of which 32 are left
  // out; what is no large number gives an angle that nobody reads.
  Int Position = (shiftRight(Bits, 23) & 0xFF) - (150 + 2 - 64 + 32);
  Int Zero = M.like(0), Last = M.like(159);
  Position = select(lessSigned(Position, Zero), Zero, Position);
  Position = select(lessSigned(Position, Last), Position, Last);
  llvm::SmallVector<Int> Table; // halves of words, from the second word on
  for (unsigned I = 1; I <= 8; ++I)
    Table.push_back(Position.like(uint32_t(I % 2 ? TwoOverPi[I / 2] & 0xFFFFFFFF
                                                 : TwoOverPi[I / 2] >> 32)));
  auto W = wordsFrom(std::move(Table), Position, 3);
  auto [L2, H2] = multiplyWide(M, W[2]);
  auto [L1, H1] = multiplyWide(M, W[1]);
  Int Middle = L1 + H2;
  Int Carry = select(lessUnsigned(Middle, L1), M.like(1), Zero);
  Int High = M * W[0] + H1 + Carry;
  Int Quadrant = shiftRight(High + (uint64_t(1) << 29), 30);
  Int Top = (High << 2) | shiftRight(Middle, 30); // of 2^64, signed
  Int Next = (Middle << 2) | shiftRight(L2, 30);
  // 24, 24 and 16 bits of them, exact in f32.
  Real First = toF32(shiftRightSigned(Top, 8)) * 0x1p-24;
  Real Second = toF32(((Top & 0xFF) << 16) | shiftRight(Next, 16)) * 0x1p-48;
  Real Third = toF32(Next & 0xFFFF) * 0x1p-64;
  Real Sum = First + Second;
  Real SumLow = ((First - Sum) + Second) + Third;
  Real R = Sum * PiOver2F32[0];
  Real Low = fma(Sum, PiOver2F32[0], -R);
  Low = fma(SumLow, PiOver2F32[0], fma(Sum, PiOver2F32[1], Low));
  Parts Whole = sumOf(R, Low);
  // All this was done for |X|.
  Mask Negative = lessSigned(Bits, Zero);
  return {select(Negative, -Whole.High, Whole.High),
          select(Negative, -Whole.Low, Whole.Low),
          select(Negative, Zero - Quadrant, Quadrant)};
}

/// Whether X was f16, which ends at 65504.
static bool isFromF16(Real X) {
  auto Wide = X.V.getDefiningOp<mlir::arith::ExtFOp>();
  return Wide && mlir::getElementTypeOrSelf(Wide.getIn().getType()).isF16();
}

static Angle reduce(Real X) {
  Angle S = reduceSmall(X);
  if (isFromF16(X))
    return S;
  // Large numbers are rare: a branch takes less than both ways.
  Builder &B = *X.B;
  Mask Large = !(abs(X) < MaxCodyWaite);
  auto If = mlir::scf::IfOp::create(
      B, anyLane(Large),
      [&](mlir::OpBuilder &, mlir::Location) {
        Angle L = reduceLarge(X);
        mlir::scf::YieldOp::create(
            B, mlir::ValueRange{select(Large, L.R, S.R).V,
                                select(Large, L.Low, S.Low).V,
                                select(Large, L.Quadrant, S.Quadrant).V});
      },
      [&](mlir::OpBuilder &, mlir::Location) {
        mlir::scf::YieldOp::create(
            B, mlir::ValueRange{S.R.V, S.Low.V, S.Quadrant.V});
      });
  return {{If.getResult(0), &B}, {If.getResult(1), &B}, {If.getResult(2), &B}};
}

static Parts sineOf(const Angle &A) {
  Real Z = A.R * A.R;
  Real Low = fma(Z * -0.5, A.Low, A.Low);
  return sumOf(A.R, fma(A.R * Z, polynomial(Z, SinF32), Low));
}

static Parts cosineOf(const Angle &A) {
  Real Z = A.R * A.R;
  Real ZLow = fma(A.R, A.R, -Z);
  Parts Top = sumOf(Z.like(1), Z * -0.5);
  Real Tail =
      fma(Z * Z, polynomial(Z, CosF32), fma(ZLow, -0.5, -(A.R * A.Low)));
  Parts Sum = sumOf(Top.High, Top.Low + Tail);
  return Sum;
}

/// +0 stays as it is by any of the formulas, -0 does not; infinity is no angle.
static Real finishOdd(Real X, Real Y) {
  return select(X == 0.0, X, select(abs(X) < X.infinity(), Y, X - X));
}

Real sinF32(Real X) {
  Angle A = reduce(X);
  Real Y =
      select(notEqual(A.Quadrant & 1, 0), cosineOf(A).High, sineOf(A).High);
  Int Sign = (A.Quadrant & 2) << 30;
  return finishOdd(X, fromBits(bitsOf(Y) ^ Sign));
}

Real cosF32(Real X) {
  Angle A = reduce(X);
  Real Y =
      select(notEqual(A.Quadrant & 1, 0), sineOf(A).High, cosineOf(A).High);
  Int Sign = ((A.Quadrant + 1) & 2) << 30;
  return select(abs(X) < X.infinity(), fromBits(bitsOf(Y) ^ Sign), X - X);
}

/// N / D, rounded once more or less: both have second parts.
static Real quotientOf(const Parts &N, const Parts &D) {
  Real Inverse = divideNormalF32(D.High.like(1), D.High);
  Real Q = N.High * Inverse;
  Real Rest = fma(-Q, D.High, N.High) + fma(-Q, D.Low, N.Low);
  return fma(Rest, Inverse, Q);
}

Real tanF32(Real X) {
  Angle A = reduce(X);
  Parts S = sineOf(A), C = cosineOf(A);
  Mask Odd = notEqual(A.Quadrant & 1, 0);
  Parts N{select(Odd, -C.High, S.High), select(Odd, -C.Low, S.Low)};
  Parts D{select(Odd, S.High, C.High), select(Odd, S.Low, C.Low)};
  return finishOdd(X, quotientOf(N, D));
}

namespace {

/// asin of |X| where that is at most 1/2, else of sqrt((1 - |X|) / 2): of the
/// number `Of`, whose rest is `Low`, it is Of + Tail.
struct Arcsine {
  Mask Small;
  Real Of, Tail;
};

} // namespace

static Arcsine arcsineOf(Real A) {
  Mask Small = A < 0.5;
  Real Z = select(Small, A * A, (1.0 - A) * 0.5);
  Real Root = sqrt(Z);
  // What the root's rounding lost; 0 has none.
  Real RootLow = fma(-Root, Root, Z) * divideNormalF32(Z.like(0.5), Root);
  RootLow = select(Root > 0.0, RootLow, 0.0);
  Real Of = select(Small, A, Root);
  Real Low = select(Small, 0.0, RootLow);
  return {Small, Of, fma(Of * Z, polynomial(Z, AsinF32), Low)};
}

/// For |x| > 1/2 by asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
Real asinF32(Real X) {
  Arcsine S = arcsineOf(abs(X));
  Parts Large = sumOf(X.like(PiOver2F32[0]), S.Of * -2.0);
  Real Rest = fma(S.Tail, -2.0, Large.Low + PiOver2F32[1]);
  return withSign(select(S.Small, S.Of + S.Tail, Large.High + Rest), X);
}

Real acosF32(Real X) {
  Arcsine S = arcsineOf(abs(X));
  Real Of = withSign(S.Of, X), Tail = withSign(S.Tail, X);
  // pi/2 - asin(x), and pi - 2 asin(…) on the left.
  Parts Middle = sumOf(X.like(PiOver2F32[0]), -Of);
  Real InMiddle = Middle.High + ((Middle.Low + PiOver2F32[1]) - Tail);
  Parts Left = sumOf(X.like(2 * PiOver2F32[0]), S.Of * -2.0);
  Real OnLeft = Left.High + fma(S.Tail, -2.0, Left.Low + 2 * PiOver2F32[1]);
  Real OnRight = (S.Of + S.Tail) * 2.0;
  return select(S.Small, InMiddle, select(X < 0.0, OnLeft, OnRight));
}

/// By atan(x) = atan(b) + atan((x - b) / (1 + x b)), with b = 1 and infinity.
Real atanF32(Real X) {
  Real A = abs(X);
  constexpr double TanPiOver8 = 0x1.a8279ap-2, Tan3PiOver8 = 0x1.3504f4p+1;
  Mask Middle = A > TanPiOver8, Large = A > Tan3PiOver8;
  // Numbers beyond 2^40 have the angle of 2^40: the inverse stays normal.
  Real Inside = select(A > 0x1p+40, 0x1p+40, A);
  // Where 1 is not the greater, the difference is exact, and so is the sum's
  // rest.
  Parts Minus = sumOf(A.like(-1), Inside), Plus = sumOf(A.like(1), Inside);
  Parts N{select(Large, -1.0, Minus.High), select(Large, 0.0, Minus.Low)};
  Parts D{select(Large, Inside, Plus.High), select(Large, 0.0, Plus.Low)};
  Real Inverse = divideNormalF32(A.like(1), D.High);
  Real Q = N.High * Inverse;
  Real QLow = (fma(-Q, D.High, N.High) + fma(-Q, D.Low, N.Low)) * Inverse;
  Real R = select(Middle, Q, A), Low = select(Middle, QLow, 0.0);
  Real Z = R * R;
  Real Tail = fma(R * Z, polynomial(Z, AtanF32), fma(-Z, Low, Low));
  Real Base = select(Large, PiOver2F32[0], A.like(PiOver4F32[0]));
  Real BaseLow = select(Large, PiOver2F32[1], A.like(PiOver4F32[1]));
  Parts Sum = sumOf(Base, R);
  Real Far = Sum.High + (Sum.Low + (BaseLow + Tail));
  return withSign(select(Middle, Far, R + Tail), X);
}

} // namespace kpc::expand
