//===- ScalarCast.cpp - Conversions between element types ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/linalg/ScalarCast.h"
#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/graph/linalg/NarrowFloat.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

/// Resizes a float; to a 16-bit type rounds there and comes back to f32.
static Value castFloat(OpBuilder &B, Location Loc, Value X, Type To) {
  if (To.isF16() || To.isBF16()) {
    Value Narrow = arith::TruncFOp::create(B, Loc, To, X);
    return arith::ExtFOp::create(B, Loc, B.getF32Type(), Narrow);
  }
  unsigned Have = X.getType().getIntOrFloatBitWidth();
  unsigned Want = To.getIntOrFloatBitWidth();
  if (Have == Want)
    return X;
  if (Have < Want)
    return arith::ExtFOp::create(B, Loc, To, X);
  return arith::TruncFOp::create(B, Loc, To, X);
}

static Value toBool(OpBuilder &B, Location Loc, Value X) {
  Value Zero = arith::ConstantOp::create(B, Loc, B.getZeroAttr(X.getType()));
  if (isa<FloatType>(X.getType()))
    return arith::CmpFOp::create(B, Loc, arith::CmpFPredicate::UNE, X, Zero);
  return arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::ne, X, Zero);
}

static Value intToFloat(OpBuilder &B, Location Loc, Value X, bool Unsigned,
                        Type To) {
  // 16-bit results round once from f32, which holds what they can.
  Type Wide = To.isF64() ? To : B.getF32Type();
  Value Float = Unsigned ? arith::UIToFPOp::create(B, Loc, Wide, X).getResult()
                         : arith::SIToFPOp::create(B, Loc, Wide, X).getResult();
  return castFloat(B, Loc, Float, To);
}

/// Rounds toward zero. What an integer cannot hold becomes its least or
/// greatest value, and NaN zero: the result of a conversion out of range is
/// poison, which would spread to whatever is fused with it.
static Value floatToInt(OpBuilder &B, Location Loc, Value X, Type To) {
  unsigned Width = To.getIntOrFloatBitWidth();
  bool Unsigned = To.isUnsignedInteger();
  Type Signless = B.getIntegerType(Width);
  auto Float = cast<FloatType>(X.getType());
  auto Limit = [&](const APInt &Bound) -> Value {
    return arith::ConstantOp::create(B, Loc, IntegerAttr::get(Signless, Bound));
  };
  auto Real = [&](double V) -> Value {
    return arith::ConstantOp::create(B, Loc, FloatAttr::get(Float, V));
  };
  auto Compare = [&](arith::CmpFPredicate P, Value Y) -> Value {
    return arith::CmpFOp::create(B, Loc, P, X, Y);
  };
  auto Convert = [&](Value V) -> Value {
    if (Unsigned)
      return arith::FPToUIOp::create(B, Loc, Signless, V);
    return arith::FPToSIOp::create(B, Loc, Signless, V);
  };
  // Both ends are powers of two, or zero: every float type here holds them.
  double Begin = Unsigned ? 0 : -std::ldexp(1.0, static_cast<int>(Width) - 1),
         End = std::ldexp(1.0, static_cast<int>(Unsigned ? Width : Width - 1));
  Value None = Limit(APInt::getZero(Width));
  // It holds all integers of 8 bits, too. ExpandMathQuantise.cpp reads this.
  if (Width <= 8) {
    Value In = arith::MaxNumFOp::create(B, Loc, X, Real(Begin));
    In = arith::MinNumFOp::create(B, Loc, In, Real(End - 1));
    Value IsNan = Compare(arith::CmpFPredicate::UNO, X);
    return arith::SelectOp::create(B, Loc, IsNan, None, Convert(In));
  }
  Value Low = Limit(Unsigned ? APInt::getMinValue(Width)
                             : APInt::getSignedMinValue(Width)),
        High = Limit(Unsigned ? APInt::getMaxValue(Width)
                              : APInt::getSignedMaxValue(Width));
  Value IsLow = Compare(arith::CmpFPredicate::OLE, Real(Begin)),
        IsHigh = Compare(arith::CmpFPredicate::OGE, Real(End)),
        IsNan = Compare(arith::CmpFPredicate::UNO, X);
  Value Y = arith::SelectOp::create(B, Loc, IsLow, Low, Convert(X));
  Y = arith::SelectOp::create(B, Loc, IsHigh, High, Y);
  return arith::SelectOp::create(B, Loc, IsNan, None, Y);
}

static Value resizeInt(OpBuilder &B, Location Loc, Value X, bool Unsigned,
                       unsigned Width) {
  unsigned Have = X.getType().getIntOrFloatBitWidth();
  Type To = B.getIntegerType(Width);
  if (Have == Width)
    return X;
  if (Have > Width)
    return arith::TruncIOp::create(B, Loc, To, X);
  if (Unsigned)
    return arith::ExtUIOp::create(B, Loc, To, X);
  return arith::ExtSIOp::create(B, Loc, To, X);
}

/// An integer of 2 or 4 bits lies in a byte, with its sign above it.
static Value wrapNarrow(OpBuilder &B, Location Loc, Value X, Type To) {
  unsigned Width = To.getIntOrFloatBitWidth();
  auto Byte = [&](unsigned V) -> Value {
    return arith::ConstantOp::create(B, Loc, B.getI8IntegerAttr(int8_t(V)));
  };
  if (To.isUnsignedInteger() || isa<FloatType>(To))
    return arith::AndIOp::create(B, Loc, X, Byte((1u << Width) - 1));
  Value Up = arith::ShLIOp::create(B, Loc, X, Byte(8 - Width));
  return arith::ShRSIOp::create(B, Loc, Up, Byte(8 - Width));
}

Value graph::castScalar(OpBuilder &B, Location Loc, Value X, Type From,
                        Type To) {
  if (From == To)
    return X;
  if (isNarrowFloat(From))
    return castScalar(B, Loc, decodeNarrow(B, Loc, X, From), B.getF32Type(),
                      To);
  if (isBool(To))
    return isBool(From) ? X : toBool(B, Loc, X);
  if (isNarrowFloat(To)) {
    // Whole numbers that f32 has to round are beyond what these types hold.
    if (!isFloat(From))
      X = intToFloat(B, Loc, X, isUnsigned(From), B.getF32Type());
    return encodeNarrow(B, Loc, X, To);
  }
  // To integers of 2 and 4 bits numbers wrap, whatever they come from.
  if (isNarrowInteger(To) && isFloat(From)) {
    X = floatToInt(B, Loc, X, B.getI32Type());
    From = B.getI32Type();
  }
  if (isFloat(From))
    return isFloat(To) ? castFloat(B, Loc, X, To) : floatToInt(B, Loc, X, To);
  if (isFloat(To))
    return intToFloat(B, Loc, X, isUnsigned(From), To);
  unsigned Width = std::max(To.getIntOrFloatBitWidth(), 8u);
  X = resizeInt(B, Loc, X, isUnsigned(From), Width);
  return isNarrowInteger(To) ? wrapNarrow(B, Loc, X, To) : X;
}

Value graph::bitcastScalar(OpBuilder &B, Location Loc, Value X, Type From,
                           Type To) {
  // Floats of 16 bits are held as f32.
  if (From.isF16() || From.isBF16())
    X = arith::TruncFOp::create(B, Loc, From, X);
  // What lies above an integer of 2 or 4 bits is its sign.
  if (isNarrowInteger(From) && From != To)
    X = arith::AndIOp::create(
        B, Loc, X,
        arith::ConstantOp::create(
            B, Loc,
            B.getI8IntegerAttr(
                int8_t((1u << From.getIntOrFloatBitWidth()) - 1))));
  Type Held = To;
  if (isNarrowFloat(To) || isa<IntegerType>(To))
    Held = B.getIntegerType(unsigned(elementBytes(To)) * 8);
  if (X.getType() != Held)
    X = arith::BitcastOp::create(B, Loc, Held, X);
  if (isSubByte(To))
    return wrapNarrow(B, Loc, X, To);
  if (To.isF16() || To.isBF16())
    return arith::ExtFOp::create(B, Loc, B.getF32Type(), X);
  return X;
}
