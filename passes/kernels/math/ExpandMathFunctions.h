//===- ExpandMathFunctions.h - The expansions, one per function -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each function takes f64 unless its name ends in F32. What has no F32 form
/// is computed in f64 for f32 as well: it is rare in models, and right to the
/// last place that way. `Goal::Single` takes shorter polynomials, good for a
/// result that will be rounded to f32. Others need more digits than f32 has and
/// keep them as sums of two numbers (`Parts`): many GPUs have few units of f64.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_MATH_EXPANDMATHFUNCTIONS_H
#define KPC_PASSES_KERNELS_MATH_EXPANDMATHFUNCTIONS_H

#include "passes/kernels/math/ExpandMathValues.h"

#include <optional>

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace kpc::expand {

enum class Goal { Single, Double };

// ExpandMathExp.cpp
Real expF32(Real X);
/// e^X where |X| < 80 or X is NaN: the result is a normal number.
Real expNormalF32(Real X);
Real exp2F32(Real X);
Real expm1F32(Real X);
Real tanhF32(Real X);
Real exp(Real X);
Real exp2(Real X);
Real expm1(Real X);
Real sinh(Real X);
Real cosh(Real X);
Real tanh(Real X);
/// e^X * 2^Shift.
Real scaledExp(Real X, int64_t Shift, Goal G);

/// An unevaluated sum.
struct Parts {
  Real High, Low;
};
/// The sum of two numbers, the first the greater, and what its rounding lost.
inline Parts sumOf(Real X, Real Y) {
  Real Sum = X + Y;
  return {Sum, (X - Sum) + Y};
}

// ExpandMathPairs.cpp
Real sinhF32(Real X);
Real coshF32(Real X);
Real asinhF32(Real X);
Real acoshF32(Real X);
Real atanhF32(Real X);
/// A^Y for A >= 0.
Real powerOfMagnitudeF32(Real A, Real Y);

// ExpandMathLog.cpp
Real logF32(Real X);
Real log1pF32(Real X);
Real log(Real X);
Real logFor(Real X, Goal G);
/// log(X) to about 60 bits; Low has no meaning where High is not finite.
Parts logInParts(Real X);
Real log2(Real X);
Real log10(Real X);
Real log1p(Real X);
Real asinh(Real X);
Real acosh(Real X);
Real atanh(Real X);

// ExpandMathAngles.cpp
Real sinF32(Real X);
Real cosF32(Real X);
Real tanF32(Real X);
Real asinF32(Real X);
Real acosF32(Real X);
Real atanF32(Real X);

// ExpandMathTrigonometric.cpp
/// X = Quadrant * pi/2 + (R + Low), |R| <= about pi/4; the quadrant counts
/// modulo 4.
struct Angle {
  Real R, Low;
  Int Quadrant;
};
/// `Count` of the words from bit `Position` of `Words` on, highest first. All
/// have the width of `Position`.
llvm::SmallVector<Int> wordsFrom(llvm::SmallVector<Int> Words, Int Position,
                                 unsigned Count);
std::pair<Int, Int> multiplyWide(Int X, Int Y); ///< low, high
Real sin(Real X);
Real cos(Real X);
Real tan(Real X);

// ExpandMathInverse.cpp
Real asin(Real X);
Real acos(Real X);
Real atan(Real X);
Real atan2(Real Y, Real X);

// ExpandMathApproximate.cpp
/// X / Y rounded as ever, where the exponents of X, Y and the quotient are far
/// from the ends of the format.
Real divideNormalF32(Real X, Real Y);
// For results that are stored as 16 bits, on GPUs alone: see
// docs/math-accuracy.md.
/// Whether the op is on a scalar f32 of a GPU of which 16 bits will be stored
/// (see ApproximateMath.h).
bool mayApproximate(mlir::arith::ArithFastMathInterface Op);
Real exp2Approx(Real X);
Real reciprocalApprox(Real X);
Real approximateExp(Real X);
Real approximateErf(Real X);
Real approximateTanh(Real X);
Real approximateDivide(Real X, Real Y);
Real approximatePower(Real X, Real Y); // ExpandMathPower.cpp
Real approximateOnePlusErf(Real X);
Real approximateOnePlusTanh(Real X);
/// The addition of 1 that is all that the result of `Op` is for.
mlir::arith::AddFOp plusOne(mlir::Operation *Op);

// ExpandMathGelu.cpp
/// GELU where its erf or tanh may be approximated.
void addGelu(mlir::RewritePatternSet &Patterns);

// ExpandMathErf.cpp
Real erfF32(Real X);
Real erf(Real X);
Real erfc(Real X);

// ExpandMathPower.cpp
/// Whether a lane is set.
mlir::Value anyLane(Mask M);
Real pow(Real X, Real Y, Goal G);
Real cbrt(Real X);
Real rsqrt(Real X);         ///< any type
Real roundHalfAway(Real X); ///< any type
/// Squaring with wrap-around; a negative power is 0 but for bases 1 and -1.
Int integerPower(Int X, Int Y);

// ExpandMathRemainder.cpp
/// C's fmod, exact; any type.
Real remainder(Real X, Real Y);

// ExpandMathConversions.cpp
Real bf16ToF32(mlir::Value V, Builder &B);
/// Of floats of 8 and 4 bits, which f32 holds exactly.
Real narrowToF32(mlir::Value V, Builder &B);
/// The same of a scalar of FP8 by the instruction that chips have from sm_89
/// on. NaN has no sign.
Real convertFromFp8(mlir::Value V, Builder &B);
/// Codes (i8) of FP8, rounded to nearest, ties to even. What is beyond the
/// greatest number becomes NaN in E4M3 and infinity in E5M2.
Int f32ToFp8(Real X, mlir::FloatType To);
/// The same of a scalar by the instruction that chips have from sm_89 on.
Int convertToFp8(Real X, mlir::FloatType To);
mlir::Value f32ToBF16(Real X);
/// f32 whose rounding to fewer bits is the rounding of the f64: cut off, with
/// the last bit set where anything was lost.
Real narrowToOdd(Real X);

// ExpandMathFp8.cpp
/// The codes of a scalar that was brought within the greatest numbers of FP8,
/// by one instruction and without a division by a constant; none where it was
/// not, or where a NaN might have a sign.
std::optional<Int> saturateToFp8(Real X, mlir::FloatType To);

// ExpandMathQuantise.cpp
/// Numbers that a known scale makes integers of 8 bits of.
void addQuantise(mlir::RewritePatternSet &Patterns);

} // namespace kpc::expand

#endif // KPC_PASSES_KERNELS_MATH_EXPANDMATHFUNCTIONS_H
