//===- ExpandMathApproximate.cpp - What GPUs approximate themselves -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Short forms from ex2.approx (2^-22.5 of the result) and rcp.approx (1 ulp),
/// for f32 on a GPU:
///
///   exp(x)  = 2^(x log2(e))
///   tanh(x) = 1 - 2 / (2^(2 |x| log2(e)) + 1)
///   erf(x)  = 1 - 2^polynomial(|x|)
///
/// The last two lose digits near zero, where a few terms of the series stand
/// for them; not where 1 is added, as in GELU.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/math/ExpandMathFunctions.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;

#include "passes/kernels/math/MathCoefficients.inc"

namespace kpc::expand {

static constexpr double Log2E = 0x1.71547652b82fep+0;

static bool isGpuScalar(Real X) {
  Operation *Parent = X.B->getInsertionBlock()->getParentOp();
  return X.V.getType().isF32() && Parent &&
         Parent->getParentOfType<gpu::GPUModuleOp>();
}

Real exp2Approx(Real X) {
  StringRef Name = "llvm.nvvm.ex2.approx.ftz.f32";
  return {LLVM::CallIntrinsicOp::create(
              *X.B, X.V.getType(), X.B->getStringAttr(Name), ValueRange{X.V})
              ->getResult(0),
          X.B};
}

Real reciprocalApprox(Real X) {
  return {NVVM::RcpApproxFtzF32Op::create(*X.B, X.V.getType(), X.V), X.B};
}

/// The steps that ptxas writes for div.rn.f32, without its branch for
/// exponents at the ends of the format: the same bits.
Real divideNormalF32(Real X, Real Y) {
  if (!isGpuScalar(X))
    return X / Y;
  Real R = reciprocalApprox(Y);
  R = fma(R, fma(-Y, R, 1.0), R);
  Real Q = X * R;
  return fma(R, fma(-Y, Q, X), Q);
}

bool mayApproximate(arith::ArithFastMathInterface Op) {
  return arith::bitEnumContainsAll(Op.getFastMathFlagsAttr().getValue(),
                                   arith::FastMathFlags::afn) &&
         Op->getResult(0).getType().isF32() &&
         Op->getParentOfType<gpu::GPUModuleOp>();
}

arith::AddFOp plusOne(Operation *Op) {
  auto Add = Op->hasOneUse() ? dyn_cast<arith::AddFOp>(*Op->user_begin())
                             : arith::AddFOp();
  if (Add && (matchPattern(Add.getLhs(), m_OneFloat()) ||
              matchPattern(Add.getRhs(), m_OneFloat())))
    return Add;
  return {};
}

Real approximateExp(Real X) { return exp2Approx(X * Log2E); }

Real approximateTanh(Real X) {
  Real A = abs(X);
  Real Small = fma(A * A, A * (-1.0 / 3), A);
  Real E = exp2Approx(A * (2 * Log2E));
  Real Large = fma(reciprocalApprox(E + 1.0), -2.0, 1.0);
  return withSign(select(A < 0.08, Small, Large), X);
}

Real approximateOnePlusTanh(Real X) {
  return reciprocalApprox(exp2Approx(X * (-2 * Log2E)) + 1.0) * 2.0;
}

/// erfc(A) for A >= 0.
static Real approximateErfc(Real A) {
  // Twice what GELU is at -√2 A as a factor of it.
  double Power[std::size(GeluOf11Bits)], Scale = 1;
  for (size_t I = 0; I < std::size(GeluOf11Bits); ++I, Scale *= M_SQRT2)
    Power[I] = GeluOf11Bits[I] * Scale;
  Power[0] += 1;
  // The polynomial falls until 5.6, where it is -49.
  Real T = select(A > 5.6, 5.6, A);
  return exp2Approx(polynomial(T, Power));
}

Real approximateErf(Real X) {
  Real A = abs(X);
  Real Z = A * A;
  // 2 / sqrt(pi) (x - x^3 / 3 + x^5 / 10)
  const double Slope = M_2_SQRTPI;
  Real Small = A * fma(Z, fma(Z, Slope / 10, -Slope / 3), Slope);
  Real Large = 1.0 - approximateErfc(A);
  return withSign(select(A < 0.2, Small, Large), X);
}

Real approximateOnePlusErf(Real X) {
  Real C = approximateErfc(abs(X));
  return select(X < 0.0, C, 2.0 - C);
}

/// Whether Y is 1 and an exponential: never small, and infinite where it is
/// large.
static bool isOnePlusExp(Real Y) {
  auto Add = Y.V.getDefiningOp<arith::AddFOp>();
  return Add &&
         llvm::any_of(Add->getOperands(),
                      [](Value V) { return matchPattern(V, m_OneFloat()); }) &&
         llvm::any_of(Add->getOperands(), [](Value V) {
           return isa_and_nonnull<math::ExpOp, LLVM::CallIntrinsicOp>(
               V.getDefiningOp());
         });
}

/// Y is brought near 1 before its reciprocal is taken. What depends on Y alone
/// is computed once where that is the same for many X.
Real approximateDivide(Real X, Real Y) {
  if (isOnePlusExp(Y))
    return X * reciprocalApprox(Y);
  Real A = abs(Y);
  Real Factor = select(A > 0x1p+64, X.like(0x1p-64), X.like(1.0));
  Factor = select(A < 0x1p-64, X.like(0x1p+64), Factor);
  return X * (reciprocalApprox(Y * Factor) * Factor);
}

} // namespace kpc::expand
