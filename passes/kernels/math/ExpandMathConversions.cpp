//===- ExpandMathConversions.cpp - Conversions between float formats -----===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/math/ExpandMathFunctions.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <cmath>

namespace kpc::expand {

static constexpr uint64_t InfinityBits = 0x7f800000, QuietNanBits = 0x7fc00000;
static constexpr int MantissaOfF32 = 23, BiasOfF32 = 127;

/// A power of two without a sign; 255 is NaN.
static Real exponentToF32(Int Code) {
  constexpr uint64_t Least = 0x00400000; // 2^-127, subnormal in f32
  Int Bits =
      select(equal(Code, 0), Code.like(Least), Code << uint64_t(MantissaOfF32));
  return fromBits(select(equal(Code, 255), Code.like(QuietNanBits), Bits));
}

/// The bits of narrow floats, which LLVM has no type of.
static Int codeOf(mlir::Value V, Builder &B) {
  unsigned Width = mlir::getElementTypeOrSelf(V).getIntOrFloatBitWidth();
  mlir::Type Bits = shapedLike(V.getType(), B.getIntegerType(Width));
  auto Cast = V.getDefiningOp<mlir::arith::BitcastOp>();
  if (Cast && Cast.getIn().getType() == Bits)
    return {Cast.getIn(), &B};
  return {mlir::arith::BitcastOp::create(B, Bits, V), &B};
}

/// Sign, exponent and mantissa from high to low, as APFloat describes them:
/// without branches and without instructions that only some targets have, so
/// that the host and each GPU give the same bits.
Real narrowToF32(mlir::Value V, Builder &B) {
  auto Kind = mlir::cast<mlir::FloatType>(mlir::getElementTypeOrSelf(V));
  const llvm::fltSemantics &Format = Kind.getFloatSemantics();
  Int Code = resize(codeOf(V, B), 32);
  if (llvm::isa<mlir::Float8E8M0FNUType>(Kind))
    return exponentToF32(Code);
  int Bits = int(llvm::APFloat::semanticsSizeInBits(Format)) - 1,
      Mantissa = int(llvm::APFloat::semanticsPrecision(Format)) - 1,
      Bias = 1 - llvm::APFloat::semanticsMinExponent(Format);
  bool HasNegativeZero =
      !llvm::isa<mlir::Float8E4M3FNUZType, mlir::Float8E5M2FNUZType>(Kind);
  auto CodeOf = [](const llvm::APFloat &X) {
    return X.bitcastToAPInt().getZExtValue();
  };
  // Of codes without a sign, the first that stands for no number.
  uint64_t Beyond = CodeOf(llvm::APFloat::getLargest(Format)) + 1;
  Int Sign = shiftRight(Code, uint64_t(Bits)) & 1;
  Int Magnitude = Code & ((uint64_t(1) << Bits) - 1);
  Int Normal = (Magnitude << uint64_t(MantissaOfF32 - Mantissa)) +
               (uint64_t(BiasOfF32 - Bias) << MantissaOfF32);
  // Subnormal numbers count units; f32 has them as normal ones.
  Real Units{mlir::arith::UIToFPOp::create(
                 B, shapedLike(V.getType(), B.getF32Type()), Magnitude.V),
             &B};
  Units = Units * std::ldexp(1.0, 1 - Bias - Mantissa);
  auto Below = [&](uint64_t Limit) {
    return lessUnsigned(Magnitude, Magnitude.like(Limit));
  };
  Int Result = select(Below(uint64_t(1) << Mantissa), bitsOf(Units), Normal);
  bool HasNan = llvm::APFloat::semanticsHasNaN(Format);
  if (HasNan && HasNegativeZero)
    Result = select(Below(Beyond), Result, Result.like(QuietNanBits));
  if (llvm::APFloat::semanticsHasInf(Format))
    Result =
        select(equal(Magnitude, Beyond), Result.like(InfinityBits), Result);
  Result = Result | (Sign << uint64_t(31));
  if (HasNan && !HasNegativeZero)
    Result = select(equal(Code, CodeOf(llvm::APFloat::getQNaN(Format))),
                    Result.like(QuietNanBits), Result);
  return fromBits(Result);
}

Real bf16ToF32(mlir::Value V, Builder &B) {
  Int Bits{mlir::arith::BitcastOp::create(
               B, shapedLike(V.getType(), B.getIntegerType(16)), V),
           &B};
  return fromBits(resize(Bits, 32) << 16);
}

/// Rounds to nearest, ties to even; NaN keeps its sign and becomes quiet.
mlir::Value f32ToBF16(Real X) {
  Int Bits = bitsOf(X);
  Int Odd = shiftRight(Bits, 16) & 1;
  Int Rounded = Bits + 0x7FFF + Odd;
  Int Quiet = Bits | 0x400000;
  Int High = shiftRight(select(isNaN(X), Quiet, Rounded), 16);
  return fromBits(resize(High, 16)).V;
}

Real narrowToOdd(Real X) {
  Real Near = narrow(X);
  Real Back = widen(Near);
  Int Bits = bitsOf(Near);
  // The neighbour on X's side, if X was rounded to an even number.
  Mask Inexact = (Back < X) | (X < Back);
  Mask Fix = Inexact & Mask(equal(Bits & 1, 0));
  Int Neighbour = select(abs(Back) < abs(X), Bits + 1, Bits - 1);
  return fromBits(select(Fix, Neighbour, Bits));
}

namespace {

/// What rounding to FP8 needs to know, from APFloat's description.
struct Fp8Format {
  explicit Fp8Format(mlir::FloatType To) {
    const llvm::fltSemantics &Format = To.getFloatSemantics();
    auto CodeOf = [](const llvm::APFloat &X) {
      return X.bitcastToAPInt().getZExtValue();
    };
    Mantissa = int(llvm::APFloat::semanticsPrecision(Format)) - 1;
    Bias = 1 - llvm::APFloat::semanticsMinExponent(Format);
    llvm::APFloat Most = llvm::APFloat::getLargest(Format);
    Beyond = CodeOf(Most) + 1;
    Nan = CodeOf(llvm::APFloat::getQNaN(Format));
    // Half way to the number that would follow: of ties, the even one wins.
    double Unit =
        std::ldexp(1.0, std::ilogb(Most.convertToDouble()) - Mantissa);
    Limit = Most.convertToDouble() + Unit / 2;
    IsLimitBeyond = (Beyond & 1) == 0;
  }

  int Mantissa, Bias;
  uint64_t Beyond, Nan; ///< codes without a sign: infinity or NaN, and NaN
  double Limit;         ///< from here on, or above it, there is no number
  bool IsLimitBeyond;
};

constexpr int BitsOfFp8 = 7; // without the sign

} // namespace

Int f32ToFp8(Real X, mlir::FloatType To) {
  Fp8Format F(To);
  const int Dropped = MantissaOfF32 - F.Mantissa;
  const uint64_t Rebias = uint64_t(BiasOfF32 - F.Bias) << MantissaOfF32;
  Int Bits = bitsOf(X);
  Int Sign = shiftRight(Bits, uint64_t(31));
  Int Magnitude = Bits & uint64_t(0x7fffffff);
  // What is dropped rounds, a carry lands in the exponent.
  Int Odd = shiftRight(Magnitude, uint64_t(Dropped)) & uint64_t(1);
  Int Normal = Magnitude + Odd + ((uint64_t(1) << (Dropped - 1)) - 1 - Rebias);
  Normal = shiftRight(Normal, uint64_t(Dropped));
  // Below the least normal number: the sum's last bit is the unit.
  Real Ruler = X.like(std::ldexp(1.0, 1 - F.Bias + Dropped));
  Int Units = bitsOf(fromBits(Magnitude) + Ruler) - bitsOf(Ruler);
  auto Below = [&](uint64_t Limit) {
    return lessUnsigned(Magnitude, Magnitude.like(Limit));
  };
  Int Code =
      select(Below(Rebias + (uint64_t(1) << MantissaOfF32)), Units, Normal);
  Int Most = Code.like(F.Beyond);
  Code = select(lessUnsigned(Code, Most), Code, Most);
  Code = select(Below(InfinityBits + 1), Code, Code.like(F.Nan));
  return resize(Code | (Sign << uint64_t(BitsOfFp8)), 8);
}

Int convertToFp8(Real X, mlir::FloatType To) {
  Fp8Format F(To);
  Builder &B = *X.B;
  mlir::Value Two = mlir::NVVM::ConvertF32x2ToF8x2Op::create(
      B, B.getIntegerType(16), X.like(0).V, X.V, mlir::NVVM::FPRoundingMode::RN,
      mlir::NVVM::SaturationMode::SATFINITE, /*relu=*/false, To);
  Int Code = resize({Two, &B}, 8);
  // The instruction saturates; what it does with NaN has no sign.
  Real Magnitude = abs(X);
  Mask IsNumber = F.IsLimitBeyond ? Magnitude < X.like(F.Limit)
                                  : X.like(F.Limit) >= Magnitude;
  Int Sign = resize(shiftRight(bitsOf(X), uint64_t(31)), 8)
             << uint64_t(BitsOfFp8);
  Int Rest = Code.like(F.Beyond);
  if (F.Nan != F.Beyond)
    Rest = select(isNaN(X), Code.like(F.Nan), Rest);
  return select(IsNumber, Code, Rest | Sign);
}

Real convertFromFp8(mlir::Value V, Builder &B) {
  auto Kind = mlir::cast<mlir::FloatType>(V.getType());
  mlir::Type Half = B.getF16Type();
  Int Code = resize(codeOf(V, B), 16);
  mlir::Value Number;
  if (mlir::isa<mlir::Float8E5M2Type>(Kind)) { // the upper byte of f16
    Number = mlir::arith::BitcastOp::create(B, Half, (Code << uint64_t(8)).V);
  } else {
    auto Two = mlir::VectorType::get(2, Half),
         Bytes = mlir::VectorType::get(2, B.getI8Type());
    mlir::Value Both = mlir::NVVM::ConvertF8x2ToF16x2Op::create(
        B, Two, mlir::LLVM::BitcastOp::create(B, Bytes, Code.V),
        /*relu=*/B.getBoolAttr(false), mlir::TypeAttr::get(Kind));
    mlir::Value First =
        mlir::arith::ConstantOp::create(B, B.getI32IntegerAttr(0));
    Number = mlir::LLVM::ExtractElementOp::create(B, Both, First);
  }
  return {mlir::arith::ExtFOp::create(B, B.getF32Type(), Number), &B};
}

} // namespace kpc::expand
