//===- ExpandMathQuantise.cpp - Numbers of 8 bits by a scale --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// QuantizeLinear by a scale that is known, as kernels end with it:
///
///   clamp(roundeven(x / c) + zero, least, most) as an integer; NaN gives 0
///
/// is, with M = 1.5 * 2^23, whose sum with a number has its whole part in the
/// low bits, ties to even:
///
///   bits(clamp(x, A, B) * (1/c) + M) + zero
///
/// A division of f32 and its rounding, four comparisons and a conversion take
/// some thirty instructions on a GPU; these are six to eight.
///
/// Both are the same for each x. They never fall as x grows, so it is enough
/// that they agree on both sides of each step, and there are at most 255:
/// `Product::find` looks at them, and takes the shortest product that does.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/math/ExpandMathFunctions.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>
#include <optional>

using namespace mlir;

namespace kpc::expand {

namespace {

constexpr float Magic = 0x1.8p23f;
/// What `Magic` leaves room for, by far.
constexpr double MostSteps = 1024;

//===----------------------------------------------------------------------===//
// Products that stand for a division
//===----------------------------------------------------------------------===//

/// A division by a positive number whose result is rounded to whole numbers.
struct Product {
  enum Kind { Fused, Once, Twice, Division };

  Kind Is;
  float Divisor;
  float High, Low = 0; ///< 1 / Divisor, to 24 or 48 bits

  Product(Kind Is, float C) : Is(Is), Divisor(C), High(1 / C) {
    // What is left of 1 after C * High, exactly.
    Low = std::fma(-C, High, 1.0f) / C;
  }

  /// roundeven(X / Divisor) as this product has it.
  int64_t round(float X) const {
    float Sum = 0;
    switch (Is) {
    case Fused:
      Sum = std::fma(X, High, Magic);
      break;
    case Once:
      Sum = X * High;
      Sum += Magic;
      break;
    case Twice:
      Sum = std::fma(X, High, X * Low);
      Sum += Magic;
      break;
    case Division:
      Sum = X / Divisor;
      Sum += Magic;
      break;
    }
    return int64_t(llvm::bit_cast<int32_t>(Sum)) -
           llvm::bit_cast<int32_t>(Magic);
  }

  /// The sum whose low bits are the whole number.
  Real emit(Real X) const {
    switch (Is) {
    case Fused:
      return fma(X, double(High), double(Magic));
    case Once:
      return X * double(High) + double(Magic);
    case Twice:
      return fma(X, double(High), X * double(Low)) + double(Magic);
    case Division:
      return X / X.like(Divisor) + double(Magic);
    }
    llvm_unreachable("no other kind");
  }

  /// The shortest for numbers from `Least` to `Most`.
  static Product find(float C, float Least, float Most);
};

/// What a product stands for.
int64_t exactly(float X, float C) {
  float Quotient = X / C;
  return int64_t(std::nearbyint(Quotient));
}

float after(float X) { return std::nextafter(X, HUGE_VALF); }
float before(float X) { return std::nextafter(X, -HUGE_VALF); }

/// The last number that gives `N`; none where it is not near (N + 0.5) * C.
std::optional<float> endOfStep(int64_t N, float C) {
  auto X = float((double(N) + 0.5) * double(C));
  for (int Tries = 0; Tries < 8; ++Tries)
    if (exactly(X, C) > N)
      X = before(X);
    else if (exactly(after(X), C) <= N)
      X = after(X);
    else
      return X;
  return std::nullopt;
}

Product Product::find(float C, float Least, float Most) {
  SmallVector<float> Places = {Least, Most};
  for (int64_t N = exactly(Least, C); N < exactly(Most, C); ++N) {
    std::optional<float> End = endOfStep(N, C);
    if (!End)
      return {Division, C};
    Places.append({*End, after(*End)});
  }
  for (Kind One : {Fused, Once, Twice}) {
    Product P(One, C);
    if (llvm::all_of(Places,
                     [&](float X) { return P.round(X) == exactly(X, C); }))
      return P;
  }
  return {Division, C};
}

//===----------------------------------------------------------------------===//
// What is matched
//===----------------------------------------------------------------------===//

std::optional<double> constantOf(Value V) {
  APFloat Number(0.0f);
  if (!matchPattern(V, m_ConstantFloat(&Number)))
    return std::nullopt;
  double Got = Number.convertToDouble();
  return std::isnan(Got) ? std::nullopt : std::optional(Got);
}

/// Bounds that a number is brought within.
struct Bounds {
  double Low, High;

  /// These, of numbers that were brought within others before.
  void followOn(double OtherLow, double OtherHigh) {
    Low = std::clamp(OtherLow, Low, High);
    High = std::clamp(OtherHigh, Low, High);
  }

  /// `V`, or what it is brought within bounds from; these become stricter.
  Value through(Value V) {
    while (Operation *Op = V.getDefiningOp()) {
      bool IsMax = isa<arith::MaximumFOp>(Op);
      if (!IsMax && !isa<arith::MinimumFOp>(Op))
        break;
      std::optional<double> End = constantOf(Op->getOperand(1));
      Value Next = Op->getOperand(0);
      if (!End) {
        End = constantOf(Next);
        Next = Op->getOperand(1);
      }
      if (!End)
        break;
      if (IsMax)
        followOn(*End, std::max(*End, High));
      else
        followOn(std::min(*End, Low), *End);
      V = Next;
    }
    return V;
  }
};

/// select(isnan(v), 0, int(min(max(v, Low), High))): floatToInt writes it.
struct Saturated {
  Value Number;
  Bounds Ends;
  unsigned Width;

  static std::optional<Saturated> read(arith::SelectOp Op) {
    Type To = getElementTypeOrSelf(Op.getType());
    auto IsNan = Op.getCondition().getDefiningOp<arith::CmpFOp>();
    Operation *Cast = Op.getFalseValue().getDefiningOp();
    if (!To.isInteger() || To.getIntOrFloatBitWidth() > 8 || !IsNan || !Cast ||
        IsNan.getPredicate() != arith::CmpFPredicate::UNO ||
        IsNan.getLhs() != IsNan.getRhs() ||
        !matchPattern(Op.getTrueValue(), m_Zero()) ||
        !isa<arith::FPToSIOp, arith::FPToUIOp>(Cast))
      return std::nullopt;
    auto Least = Cast->getOperand(0).getDefiningOp<arith::MinNumFOp>();
    auto Most =
        Least ? Least.getLhs().getDefiningOp<arith::MaxNumFOp>() : nullptr;
    if (!Most || Most.getLhs() != IsNan.getLhs() ||
        !getElementTypeOrSelf(Most.getType()).isF32())
      return std::nullopt;
    std::optional<double> Low = constantOf(Most.getRhs()),
                          High = constantOf(Least.getRhs());
    if (!Low || !High || *Low > *High)
      return std::nullopt;
    return Saturated{Most.getLhs(), {*Low, *High}, To.getIntOrFloatBitWidth()};
  }
};

/// `V`, or what a whole number was added to; `Zero` is that number.
Value withoutZero(Value V, double &Zero) {
  Zero = 0;
  auto Add = V.getDefiningOp<arith::AddFOp>();
  if (!Add)
    return V;
  std::optional<double> Number = constantOf(Add.getRhs());
  if (!Number || std::abs(*Number) > MostSteps ||
      *Number != std::nearbyint(*Number))
    return V;
  Zero = *Number;
  return Add.getLhs();
}

/// The bounds of x that give bounds of round(x / C).
std::optional<Bounds> boundsBehind(const Bounds &Ends, float C) {
  Bounds Of{double(float(Ends.Low * double(C))),
            double(float(Ends.High * double(C)))};
  bool AreSame = exactly(float(Of.Low), C) == int64_t(Ends.Low) &&
                 exactly(float(Of.High), C) == int64_t(Ends.High);
  return AreSame ? std::optional(Of) : std::nullopt;
}

struct ExpandQuantise : OpRewritePattern<arith::SelectOp> {
  // Before the operands are taken apart.
  explicit ExpandQuantise(MLIRContext *Ctx)
      : OpRewritePattern(Ctx, /*benefit=*/4) {}

  LogicalResult matchAndRewrite(arith::SelectOp Op,
                                PatternRewriter &R) const override {
    std::optional<Saturated> To = Saturated::read(Op);
    if (!To)
      return failure();
    Value V = To->Ends.through(To->Number);
    double Zero;
    auto Round = withoutZero(V, Zero).getDefiningOp<math::RoundEvenOp>();
    Bounds Ends{To->Ends.Low - Zero, To->Ends.High - Zero};
    if (!Round || Ends.Low != std::nearbyint(Ends.Low) ||
        Ends.High != std::nearbyint(Ends.High) || Ends.Low < -MostSteps ||
        Ends.High > MostSteps)
      return failure();
    V = Round.getOperand();
    float C = 1;
    if (auto Divide = V.getDefiningOp<arith::DivFOp>()) {
      std::optional<double> By = constantOf(Divide.getRhs());
      // Far from the ends of the format, so that no product loses bits there.
      bool IsPlain = By && *By > 0x1p-60 && *By < 0x1p60;
      if (IsPlain && boundsBehind(Ends, float(*By))) {
        C = float(*By);
        Ends = *boundsBehind(Ends, C);
        V = Ends.through(Divide.getLhs());
      }
    }
    ImplicitLocOpBuilder B(Op.getLoc(), R);
    Real X{V, &B};
    Real Inside{arith::MaxNumFOp::create(B, V, X.like(Ends.Low).V), &B};
    Inside.V = arith::MinNumFOp::create(B, Inside.V, X.like(Ends.High).V);
    Product By = C == 1 ? Product(Product::Fused, 1)
                        : Product::find(C, float(Ends.Low), float(Ends.High));
    Real Sum = C == 1 ? Inside + double(Magic) : By.emit(Inside);
    Int Code = resize(bitsOf(Sum), To->Width);
    if (Zero != 0)
      Code = Code + uint64_t(int64_t(Zero));
    // The lower bound was taken in place of NaN.
    if (double(exactly(float(Ends.Low), C)) + Zero != 0)
      Code = select(isNaN(X), Code.like(0), Code);
    R.replaceOp(Op, Code.V);
    return success();
  }
};

} // namespace

void addQuantise(RewritePatternSet &Patterns) {
  Patterns.add<ExpandQuantise>(Patterns.getContext());
}

} // namespace kpc::expand
