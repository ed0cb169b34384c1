//===- ExpandMathTrigonometric.cpp - Sine, cosine and tangent -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/math/ExpandMathFunctions.h"

#include "mlir/IR/TypeUtilities.h"

#include "passes/kernels/math/MathCoefficients.inc"

namespace kpc::expand {

/// Up to here k * pi/2 is taken off in parts (Cody and Waite): x - k * p0 is
/// exact by fma, since p0's last place times k is that of x.
static constexpr double MaxCodyWaite = 0x1p+25;

static Angle reduceSmall(Real X) {
  constexpr double Magic = 0x1.8p+52; // see ExpandMathExp.cpp
  Real Shifted = fma(X, 1 / PiOver2[0], Magic);
  Real K = Shifted - Magic;
  Real A = fma(K, -PiOver2[0], X);
  Real R = fma(K, -PiOver2[1], A);
  Real Low = fma(K, -PiOver2[1], A - R);
  return {R, fma(K, -PiOver2[2], Low), bitsOf(Shifted)};
}

llvm::SmallVector<Int> wordsFrom(llvm::SmallVector<Int> Words, Int Position,
                                 unsigned Count) {
  // Shift by whole words, then by bits: a barrel shifter of selects.
  unsigned Bits =
      mlir::getElementTypeOrSelf(Position.V).getIntOrFloatBitWidth();
  Int Index = shiftRight(Position, llvm::Log2_32(Bits));
  for (unsigned Step = llvm::PowerOf2Ceil(Words.size() - Count) / 2; Step;
       Step /= 2) {
    Mask Move = notEqual(Index & uint64_t(Step), 0);
    size_t Kept = std::min<size_t>(Words.size(), Count + Step);
    llvm::SmallVector<Int> Moved;
    for (size_t I = 0; I != Kept; ++I)
      Moved.push_back(I + Step < Words.size()
                          ? select(Move, Words[I + Step], Words[I])
                          : Words[I]);
    Words = std::move(Moved);
  }
  Int Bit = Position & (Bits - 1);
  Int Back = Bit ^ Bit.like(Bits - 1);
  llvm::SmallVector<Int> Window;
  for (unsigned I = 0; I != Count; ++I)
    Window.push_back((Words[I] << Bit) |
                     shiftRight(shiftRight(Words[I + 1], 1), Back));
  return Window;
}

std::pair<Int, Int> multiplyWide(Int X, Int Y) {
  auto Op = mlir::arith::MulUIExtendedOp::create(*X.B, X.V, Y.V);
  return {{Op.getLow(), X.B}, {Op.getHigh(), X.B}};
}

/// X = m * 2^e with an integer m; m * (2^e * 2/pi mod 4) needs only the bits
/// of 2/pi from 2^(1-e) on (Payne and Hanek, 1983). The product's top two bits
/// are the quadrant, the others the part of pi/2 beyond it.
static Angle reduceLarge(Real X) {
  Int Bits = bitsOf(X);
  Int Field = shiftRight(Bits, 52) & 0x7FF;
  Int M = (Bits & ((uint64_t(1) << 52) - 1)) | (uint64_t(1) << 52);
  // e = Field - 1075, and the table starts with 64 zeros; 25 is the least
  // exponent here, all below it belong to reduceSmall.
  Int Position = Field - (1075 + 2 - 64);
  Int Zero = M.like(0);
  Position = select(lessSigned(Position, Zero), Zero, Position);
  llvm::SmallVector<Int> Table; // as many words as may be needed
  for (uint64_t Word : llvm::ArrayRef(TwoOverPi).take_front(21))
    Table.push_back(Position.like(Word));
  auto W = wordsFrom(std::move(Table), Position, 3);
  auto [L1, H1] = multiplyWide(M, W[1]);
  auto H2 = multiplyWide(M, W[2]).second;
  Int Last = M * W[2];
  Int Middle = L1 + H2;
  Int Carry = select(lessUnsigned(Middle, L1), M.like(1), Zero);
  Int High = M * W[0] + H1 + Carry;
  Int Quadrant = shiftRight(High + (uint64_t(1) << 61), 62);
  Int Fraction = (High << 2) | shiftRight(Middle, 62); // of 2^64, signed
  Int Rest = (Middle << 2) | shiftRight(Last, 62);
  Real Top = signedToF64(shiftRightSigned(Fraction, 32)) * 0x1p-32;
  Real Next = signedToF64(Fraction & 0xFFFFFFFFull) * 0x1p-64;
  Real Sum = Top + Next;
  Real SumLow = (Top - Sum) + Next;
  SumLow = fma(signedToF64(shiftRight(Rest, 11)), 0x1p-117, SumLow);
  Real R = Sum * PiOver2[0];
  Real Low = fma(Sum, PiOver2[0], -R);
  Low = fma(SumLow, PiOver2[0], fma(Sum, PiOver2[1], Low));
  // All this was done for |X|.
  Mask Negative = lessSigned(Bits, Zero);
  return {select(Negative, -R, R), select(Negative, -Low, Low),
          select(Negative, Zero - Quadrant, Quadrant)};
}

static Angle reduce(Real X) {
  Angle S = reduceSmall(X), L = reduceLarge(X);
  Mask Small = abs(X) < MaxCodyWaite;
  return {select(Small, S.R, L.R), select(Small, S.Low, L.Low),
          select(Small, S.Quadrant, L.Quadrant)};
}

static Real sinOf(const Angle &A) {
  Real Z = A.R * A.R;
  Real Tail = fma(A.R * Z, polynomial(Z, SinF64), A.Low);
  return A.R + fma(Z * A.Low, -0.5, Tail);
}

static Real cosOf(const Angle &A) {
  Real Z = A.R * A.R;
  Real Half = Z * 0.5;
  Real Top = 1.0 - Half;
  Real Tail = fma(Z * Z, polynomial(Z, CosF64), -(A.R * A.Low));
  return Top + ((1.0 - Top) - Half + Tail);
}

/// +0 stays as it is by any of the formulas, -0 does not; infinity is no angle.
static Real finishOdd(Real X, Real Y) {
  return select(X == 0.0, X, select(abs(X) < X.infinity(), Y, X - X));
}

Real sin(Real X) {
  Angle A = reduce(X);
  Real Y = select(notEqual(A.Quadrant & 1, 0), cosOf(A), sinOf(A));
  Int Sign = (A.Quadrant & 2) << 62;
  return finishOdd(X, fromBits(bitsOf(Y) ^ Sign));
}

Real cos(Real X) {
  Angle A = reduce(X);
  Real Y = select(notEqual(A.Quadrant & 1, 0), sinOf(A), cosOf(A));
  Int Sign = ((A.Quadrant + 1) & 2) << 62;
  return select(abs(X) < X.infinity(), fromBits(bitsOf(Y) ^ Sign), X - X);
}

Real tan(Real X) {
  Angle A = reduce(X);
  Real S = sinOf(A), C = cosOf(A);
  Mask Odd = notEqual(A.Quadrant & 1, 0);
  return finishOdd(X, select(Odd, -C, S) / select(Odd, S, C));
}

} // namespace kpc::expand
