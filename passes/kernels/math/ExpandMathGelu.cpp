//===- ExpandMathGelu.cpp - GELU by one exponential -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// x/2 (1 + erf(x √½)) and x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))), where erf
/// and tanh may be approximated:
///
///   max(x, 0) - a 2^p(a)    a = |x|, 2^p(a) the factor of x = -a
///
/// Neither side of 0 loses digits, so p is as short as the significand that is
/// stored allows: the error is at most 1/16 of half its last place. erf needs
/// six products for 11 bits, five for 8 and four for FP8. tanh needs four for
/// FP8; more bits take x / (1 + 2^-(c x + d x³)).
///
/// A large a is taken as 8: 2^p(8) is less than 2^-31, and infinity times 0
/// is nowhere.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/math/ExpandMathFunctions.h"

#include "dialects/kernel/StoredBits.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

#include <array>
#include <cmath>
#include <optional>

using namespace mlir;

#include "passes/kernels/math/MathCoefficients.inc"

namespace kpc::expand {

namespace {

constexpr double Greatest = 8;
constexpr double Log2E = 0x1.71547652b82fep+0;
/// The factor of x³ in GELU's tanh.
constexpr double OfCube = 0.044715;

std::optional<double> numberOf(Value V) {
  APFloat Number(0.0f);
  if (!matchPattern(V, m_ConstantFloat(&Number)))
    return std::nullopt;
  return Number.convertToDouble();
}

//===----------------------------------------------------------------------===//
// What is matched
//===----------------------------------------------------------------------===//

/// c[0] + c[1] x + c[2] x² + c[3] x³
using Cubic = std::array<double, 4>;

std::optional<Cubic> product(const Cubic &A, const Cubic &B) {
  Cubic C = {};
  for (size_t I = 0; I < A.size(); ++I)
    for (size_t J = 0; J < B.size(); ++J)
      if (double Term = A[I] * B[J]; Term != 0) {
        if (I + J >= C.size())
          return std::nullopt;
        C[I + J] += Term;
      }
  return C;
}

/// `V` as a polynomial of `X`, which few ops compute; none where it is not.
std::optional<Cubic> cubicOf(Value V, Value X, unsigned Depth = 6) {
  if (V == X)
    return Cubic{0, 1};
  if (std::optional<double> Number = numberOf(V))
    return Cubic{*Number};
  Operation *Op = V.getDefiningOp();
  if (!Depth || !isa_and_present<arith::MulFOp, arith::AddFOp>(Op))
    return std::nullopt;
  std::optional<Cubic> A = cubicOf(Op->getOperand(0), X, Depth - 1);
  std::optional<Cubic> B =
      A ? cubicOf(Op->getOperand(1), X, Depth - 1) : std::nullopt;
  if (!B)
    return std::nullopt;
  if (isa<arith::MulFOp>(Op))
    return product(*A, *B);
  for (size_t I = 0; I < A->size(); ++I)
    (*A)[I] += (*B)[I];
  return A;
}

/// As f32 rounds the constants of either.
bool isAbout(const Cubic &A, const Cubic &B) {
  for (size_t I = 0; I < A.size(); ++I)
    if (std::abs(A[I] - B[I]) > 1e-6 * std::abs(B[I]))
      return false;
  return true;
}

bool isArgument(math::ErfOp Op, Value X) {
  std::optional<Cubic> Of = cubicOf(Op.getOperand(), X);
  return Of && isAbout(*Of, {0, M_SQRT1_2});
}
bool isArgument(math::TanhOp Op, Value X) {
  const double Slope = M_2_SQRTPI * M_SQRT1_2; // √(2/π)
  std::optional<Cubic> Of = cubicOf(Op.getOperand(), X);
  return Of && isAbout(*Of, {0, Slope, 0, Slope * OfCube});
}

/// Where a value may be x: itself, and what a constant multiplies there.
SmallVector<Value, 2> mayBeX(Value V) {
  SmallVector<Value, 2> All = {V};
  if (auto Mul = V.getDefiningOp<arith::MulFOp>())
    for (unsigned I : {0, 1})
      if (numberOf(Mul.getOperand(I)))
        All.push_back(Mul.getOperand(1 - I));
  return All;
}

/// The product of `Sum` by x/2 in one or two ops; null where there is none.
arith::MulFOp halfProduct(arith::AddFOp Sum, Value X) {
  Cubic Factor = {1};
  Value V = Sum.getResult();
  for (int Products = 0; Products < 2; ++Products) {
    auto Mul = V.hasOneUse() ? dyn_cast<arith::MulFOp>(*V.user_begin())
                             : arith::MulFOp();
    if (!Mul)
      return {};
    Value Other = Mul.getLhs() == V ? Mul.getRhs() : Mul.getLhs();
    std::optional<Cubic> By = cubicOf(Other, X, /*Depth=*/1);
    By = By ? product(Factor, *By) : std::nullopt;
    if (!By)
      return {};
    if (*By == Cubic{0, 0.5})
      return Mul;
    Factor = *By;
    V = Mul.getResult();
  }
  return {};
}

/// Candidates for x: factors of the sum, or of its product by a constant.
SmallVector<Value, 4> candidates(arith::AddFOp Sum) {
  SmallVector<Value, 4> All;
  Value V = Sum.getResult();
  for (int Products = 0; Products < 2 && V.hasOneUse(); ++Products) {
    auto Mul = dyn_cast<arith::MulFOp>(*V.user_begin());
    if (!Mul)
      break;
    llvm::append_range(All,
                       mayBeX(Mul.getLhs() == V ? Mul.getRhs() : Mul.getLhs()));
    V = Mul.getResult();
  }
  return All;
}

//===----------------------------------------------------------------------===//
// What is written
//===----------------------------------------------------------------------===//

/// max(X, 0) - |X| 2^Power(|X|). NaN stays: a maximum of it is NaN.
Real byOneExponential(Real X, ArrayRef<double> Power) {
  Real A = binary<arith::MinNumFOp>(abs(X), X.like(Greatest));
  Real Share = exp2Approx(polynomial(A, Power));
  Real Positive = binary<arith::MaximumFOp>(X, X.like(0));
  return fma(-A, Share, Positive);
}

Real gelu(math::ErfOp, Real X, unsigned Bits) {
  return byOneExponential(X, Bits <= 4   ? ArrayRef(GeluOf4Bits)
                             : Bits <= 8 ? ArrayRef(GeluOf8Bits)
                                         : ArrayRef(GeluOf11Bits));
}

Real gelu(math::TanhOp, Real X, unsigned Bits) {
  if (Bits <= 4)
    return byOneExponential(X, TanhGeluOf4Bits);
  const double Slope = -2 * M_2_SQRTPI * M_SQRT1_2 * Log2E;
  Real Power = X * fma(X * X, Slope * OfCube, Slope);
  return X * reciprocalApprox(exp2Approx(Power) + 1.0);
}

template <typename Op> struct ApproximateGelu : OpRewritePattern<Op> {
  explicit ApproximateGelu(MLIRContext *Ctx)
      : OpRewritePattern<Op>(Ctx, /*benefit=*/4) {}

  LogicalResult matchAndRewrite(Op O, PatternRewriter &R) const override {
    arith::AddFOp Sum = mayApproximate(O) ? plusOne(O) : arith::AddFOp();
    if (!Sum)
      return failure();
    for (Value X : candidates(Sum)) {
      arith::MulFOp Result =
          isArgument(O, X) ? halfProduct(Sum, X) : arith::MulFOp();
      if (!Result)
        continue;
      auto Bits =
          O->template getAttrOfType<IntegerAttr>(kernel::StoredBitsName);
      R.setInsertionPoint(Result);
      ImplicitLocOpBuilder B(O.getLoc(), R);
      Real Y = gelu(O, {X, &B},
                    Bits ? unsigned(Bits.getInt()) : kernel::StoredBitsOfF16);
      R.replaceOp(Result, Y.V);
      return success();
    }
    return failure();
  }
};

} // namespace

void addGelu(RewritePatternSet &P) {
  P.add<ApproximateGelu<math::ErfOp>, ApproximateGelu<math::TanhOp>>(
      P.getContext());
}

} // namespace kpc::expand
