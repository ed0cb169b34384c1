//===- NarrowFloat.cpp - Floats of 8 and 4 bits as integers --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Codes become numbers by `arith.bitcast` and `arith.extf`, which kernels of
/// tensor cores read through and all others expand (ExpandMath). Numbers become
/// FP8 by `arith.truncf`, which is expanded as well or one instruction, and
/// other codes by arithmetic on the bits of f32, without branches and without
/// instructions that only some targets have, so that the host and each GPU
/// give the same bits. Formats are LLVM's descriptions of them (APFloat), which
/// the tests compare all codes with.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/linalg/NarrowFloat.h"
#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace kpc;

namespace {

constexpr uint32_t Infinity = 0x7f800000, QuietNan = 0x7fc00000;
constexpr int MantissaOfF32 = 23, BiasOfF32 = 127;

/// Sign, exponent, mantissa from high to low.
struct Format {
  explicit Format(Type Ty);

  /// Codes have so many bits below the sign.
  int Bits;
  int Mantissa, Bias;
  bool HasNegativeZero;
  /// Codes without a sign: the first that stands for no number, or one more
  /// than there are.
  uint32_t Beyond;
  /// With the sign, if it has one; none: there is no NaN.
  std::optional<uint32_t> Nan;
};

Format::Format(Type Ty) {
  const llvm::fltSemantics &Kind = cast<FloatType>(Ty).getFloatSemantics();
  Bits = int(llvm::APFloat::semanticsSizeInBits(Kind)) - 1;
  Mantissa = int(llvm::APFloat::semanticsPrecision(Kind)) - 1;
  Bias = 1 - llvm::APFloat::semanticsMinExponent(Kind);
  HasNegativeZero = !isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(Ty);
  uint64_t Largest =
      llvm::APFloat::getLargest(Kind).bitcastToAPInt().getZExtValue();
  Beyond = uint32_t(Largest) + 1;
  if (llvm::APFloat::semanticsHasNaN(Kind))
    Nan =
        uint32_t(llvm::APFloat::getQNaN(Kind).bitcastToAPInt().getZExtValue());
}

/// Scalars of i32 and f32.
struct Words {
  OpBuilder &B;
  Location Loc;

  Value word(uint32_t V) {
    return arith::ConstantOp::create(B, Loc, B.getI32IntegerAttr(int32_t(V)));
  }
  Value real(float V) {
    return arith::ConstantOp::create(B, Loc, B.getF32FloatAttr(V));
  }
  Value add(Value X, Value Y) { return arith::AddIOp::create(B, Loc, X, Y); }
  Value sub(Value X, Value Y) { return arith::SubIOp::create(B, Loc, X, Y); }
  Value both(Value X, Value Y) { return arith::AndIOp::create(B, Loc, X, Y); }
  Value either(Value X, Value Y) { return arith::OrIOp::create(B, Loc, X, Y); }
  Value up(Value X, int Places) {
    return arith::ShLIOp::create(B, Loc, X, word(uint32_t(Places)));
  }
  Value down(Value X, int Places) {
    return arith::ShRUIOp::create(B, Loc, X, word(uint32_t(Places)));
  }
  Value is(arith::CmpIPredicate P, Value X, uint32_t Y) {
    return arith::CmpIOp::create(B, Loc, P, X, word(Y));
  }
  Value select(Value Condition, Value X, Value Y) {
    return arith::SelectOp::create(B, Loc, Condition, X, Y);
  }
  Value bits(Value Real) {
    return arith::BitcastOp::create(B, Loc, B.getI32Type(), Real);
  }
  Value value(Value Bits) {
    return arith::BitcastOp::create(B, Loc, B.getF32Type(), Bits);
  }
  Value byte(Value Word) {
    return arith::TruncIOp::create(B, Loc, B.getI8Type(), Word);
  }
};

using P = arith::CmpIPredicate;

Value encodeExponent(Words &W, Value X) {
  constexpr uint32_t OfMantissa = 0x007fffff;
  Value Magnitude = W.both(W.bits(X), W.word(0x7fffffff));
  Value Exponent = W.down(Magnitude, MantissaOfF32);
  Value Rest = W.both(Magnitude, W.word(OfMantissa));
  // Half way goes up: 1.5 times a power of two, of 2^-127 as well, which is
  // subnormal in f32.
  Value Half = W.select(W.is(P::eq, Exponent, 0), W.word(0x00600000),
                        W.word(0x00400000));
  Value Up = arith::CmpIOp::create(W.B, W.Loc, P::uge, Rest, Half);
  Value Code =
      W.add(Exponent, arith::ExtUIOp::create(W.B, W.Loc, W.B.getI32Type(), Up));
  return W.select(W.is(P::uge, Magnitude, Infinity), W.word(255), Code);
}

/// f32 with the last bit set where bits were lost: rounds to fewer bits as the
/// f64 does.
Value roundedToOdd(Words &W, Value X) {
  constexpr uint64_t Lost = (uint64_t(1) << 29) - 1;
  auto Long = [&](uint64_t V) -> Value {
    return arith::ConstantOp::create(W.B, W.Loc,
                                     W.B.getI64IntegerAttr(int64_t(V)));
  };
  Value Bits = arith::BitcastOp::create(W.B, W.Loc, W.B.getI64Type(), X);
  Value Tail = arith::AndIOp::create(W.B, W.Loc, Bits, Long(Lost));
  // The tail's carry is the bit above it, wherever the tail is not zero.
  Value Sticky = arith::AddIOp::create(W.B, W.Loc, Tail, Long(Lost));
  Sticky = arith::AndIOp::create(W.B, W.Loc, Sticky, Long(Lost + 1));
  Bits = arith::AndIOp::create(W.B, W.Loc, Bits, Long(~Lost));
  Bits = arith::OrIOp::create(W.B, W.Loc, Bits, Sticky);
  Value Odd = arith::BitcastOp::create(W.B, W.Loc, W.B.getF64Type(), Bits);
  return arith::TruncFOp::create(W.B, W.Loc, W.B.getF32Type(), Odd);
}

/// The same of f64, whose numbers below the normal ones of f32 are compared
/// with what lies half way between the two least codes.
Value encodeExponentOfDouble(Words &W, Value X) {
  OpBuilder &B = W.B;
  auto Below = [&](double Limit) -> Value {
    constexpr int64_t WithoutSign = INT64_MAX;
    Value Bits = arith::BitcastOp::create(B, W.Loc, B.getI64Type(), X);
    Value Magnitude = arith::AndIOp::create(
        B, W.Loc, Bits,
        arith::ConstantOp::create(B, W.Loc, B.getI64IntegerAttr(WithoutSign)));
    return arith::CmpIOp::create(
        B, W.Loc, P::ult, Magnitude,
        arith::ConstantOp::create(
            B, W.Loc, B.getI64IntegerAttr(std::bit_cast<int64_t>(Limit))));
  };
  Value Code = encodeExponent(W, roundedToOdd(W, X));
  Value Small = W.select(Below(0x1.8p-127), W.word(0), W.word(1));
  return W.select(Below(0x1p-126), Small, Code);
}

} // namespace

Value graph::decodeNarrow(OpBuilder &B, Location Loc, Value X, Type From) {
  Type Code = B.getIntegerType(From.getIntOrFloatBitWidth());
  if (X.getType() != Code)
    X = arith::TruncIOp::create(B, Loc, Code, X);
  Value Number = arith::BitcastOp::create(B, Loc, From, X);
  return arith::ExtFOp::create(B, Loc, B.getF32Type(), Number);
}

Value graph::encodeNarrow(OpBuilder &B, Location Loc, Value X, Type To) {
  Words W{B, Loc};
  bool IsDouble = X.getType().isF64();
  if (isa<Float8E8M0FNUType>(To))
    return W.byte(IsDouble ? encodeExponentOfDouble(W, X)
                           : encodeExponent(W, X));
  if (IsDouble)
    X = roundedToOdd(W, X);
  if (isFp8(To)) {
    Value Number = arith::TruncFOp::create(B, Loc, To, X);
    return arith::BitcastOp::create(B, Loc, B.getI8Type(), Number);
  }
  Format F(To);
  const int Dropped = MantissaOfF32 - F.Mantissa;
  const uint32_t Rebias = uint32_t(BiasOfF32 - F.Bias) << MantissaOfF32;
  Value Bits = W.bits(X);
  Value Sign = W.down(Bits, 31);
  Value Magnitude = W.both(Bits, W.word(0x7fffffff));
  // To nearest even: what is dropped rounds, a carry lands in the exponent.
  Value Odd = W.both(W.down(Magnitude, Dropped), W.word(1));
  Value Normal =
      W.add(W.add(Magnitude, Odd), W.word((1u << (Dropped - 1)) - 1 - Rebias));
  Normal = W.down(Normal, Dropped);
  // Below the least normal number: the sum's last bit is the unit.
  float Ruler = std::ldexp(1.0f, 1 - F.Bias + Dropped);
  Value Sum = arith::AddFOp::create(B, Loc, W.value(Magnitude), W.real(Ruler));
  Value Units = W.sub(W.bits(Sum), W.bits(W.real(Ruler)));
  Value Code = W.select(W.is(P::ult, Magnitude, Rebias + (1u << MantissaOfF32)),
                        Units, Normal);
  // NaN or the greatest number is next to the greatest.
  uint32_t Most = F.Nan ? F.Beyond : F.Beyond - 1;
  Code = arith::MinUIOp::create(B, Loc, Code, W.word(Most));
  Value IsNan = W.is(P::ugt, Magnitude, Infinity);
  if (!F.Nan) {
    Code = W.select(IsNan, W.word(0), Code);
    Sign = W.select(IsNan, W.sub(W.word(1), Sign), Sign);
  }
  if (F.HasNegativeZero)
    return W.byte(W.either(Code, W.up(Sign, F.Bits)));
  Value Signed = W.either(Code, W.up(Sign, F.Bits));
  Signed = W.select(W.is(P::eq, Code, 0), W.word(0), Signed);
  Value Lost = W.either(IsNan, W.is(P::uge, Code, F.Beyond));
  return W.byte(W.select(Lost, W.word(*F.Nan), Signed));
}
