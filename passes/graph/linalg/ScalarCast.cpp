//===- ScalarCast.cpp - Conversions between element types -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/linalg/ScalarCast.h"
#include "dialects/graph/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

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
  auto IsBeyond = [&](double V, arith::CmpFPredicate P) -> Value {
    Value End = arith::ConstantOp::create(B, Loc, FloatAttr::get(Float, V));
    return arith::CmpFOp::create(B, Loc, P, X, End);
  };
  Value None = Limit(APInt::getZero(Width)),
        Low = Limit(Unsigned ? APInt::getMinValue(Width)
                             : APInt::getSignedMinValue(Width)),
        High = Limit(Unsigned ? APInt::getMaxValue(Width)
                              : APInt::getSignedMaxValue(Width));
  // Both ends are powers of two, or zero: every float type here holds them.
  double End = std::ldexp(1.0, static_cast<int>(Unsigned ? Width : Width - 1));
  Value IsLow = IsBeyond(Unsigned ? 0 : -End, arith::CmpFPredicate::OLE),
        IsHigh = IsBeyond(End, arith::CmpFPredicate::OGE),
        IsNan = arith::CmpFOp::create(B, Loc, arith::CmpFPredicate::UNO, X, X);
  Value Y = Unsigned ? arith::FPToUIOp::create(B, Loc, Signless, X).getResult()
                     : arith::FPToSIOp::create(B, Loc, Signless, X).getResult();
  Y = arith::SelectOp::create(B, Loc, IsLow, Low, Y);
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

Value graph::castScalar(OpBuilder &B, Location Loc, Value X, Type From,
                        Type To) {
  if (isBool(To))
    return isBool(From) ? X : toBool(B, Loc, X);
  if (isFloat(From))
    return isFloat(To) ? castFloat(B, Loc, X, To) : floatToInt(B, Loc, X, To);
  if (isFloat(To))
    return intToFloat(B, Loc, X, isUnsigned(From), To);
  return resizeInt(B, Loc, X, isUnsigned(From), To.getIntOrFloatBitWidth());
}
