//===- ExpandMathFp8.cpp - Numbers of FP8 by a scale ----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// QuantizeLinear to FP8 as GPUs from sm_89 on do it:
///
///   clamp(x / c, -greatest, greatest) as FP8
///
/// is one instruction behind x * (1/c), as cvt with .satfinite brings numbers
/// and infinity within the greatest ones itself (PTX ISA 9.7.9.21). A division
/// by a constant is some ten instructions, the clamp four.
///
/// The codes of both never fall as x grows, and -x gives those of x with the
/// other sign. So it is enough that both agree on the last x before each step
/// and on the first behind it; there are at most 123, and `Product::find` looks
/// at all.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/math/ExpandMathFunctions.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <optional>

using namespace mlir;

namespace kpc::expand {

namespace {

float after(float X) { return std::nextafter(X, HUGE_VALF); }
float before(float X) { return std::nextafter(X, -HUGE_VALF); }

//===----------------------------------------------------------------------===//
// Products that stand for a division
//===----------------------------------------------------------------------===//

/// What cvt.rn.satfinite makes of numbers that are not negative.
struct Fp8Steps {
  explicit Fp8Steps(FloatType To) : Of(To.getFloatSemantics()) {
    Greatest = llvm::APFloat::getLargest(Of).convertToFloat();
    Last = int(llvm::APFloat::getLargest(Of).bitcastToAPInt().getZExtValue());
  }

  int codeOf(float X) const {
    llvm::APFloat Number(std::min(X, Greatest));
    bool Loses;
    Number.convert(Of, llvm::APFloat::rmNearestTiesToEven, &Loses);
    return int(Number.bitcastToAPInt().getZExtValue());
  }
  double numberOf(int Code) const {
    llvm::APFloat Number(
        Of, llvm::APInt(llvm::APFloat::getSizeInBits(Of), uint64_t(Code)));
    return Number.convertToDouble();
  }

  const llvm::fltSemantics &Of;
  float Greatest;
  int Last; ///< the greatest number's code
};

/// x / Divisor, as far as codes show it.
struct Product {
  enum Kind { Once, Twice, Division };

  Kind Is;
  float Divisor;
  float High, Low; ///< 1 / Divisor, to 24 bits and those that follow

  Product(Kind Is, float C) : Is(Is), Divisor(C), High(1 / C) {
    // What is left of 1 after C * High, exactly; of two parts with one sign the
    // products with infinity are infinity.
    if (Is == Twice && std::fma(-C, High, 1.0f) < 0)
      High = before(High);
    Low = std::fma(-C, High, 1.0f) / C;
  }

  float of(float X) const {
    if (Is == Division)
      return X / Divisor;
    return Is == Once ? X * High : std::fma(X, High, X * Low);
  }

  Real emit(Real X) const {
    if (Is == Division)
      return X / X.like(Divisor);
    return Is == Once ? X * double(High)
                      : fma(X, double(High), X * double(Low));
  }

  /// The shortest that gives the division's codes.
  static Product find(float C, const Fp8Steps &To);
};

/// The last number that, divided by `C`, gives `Code`; none where it is not
/// near the middle between this code's number and the next one's.
std::optional<float> endOfStep(int Code, float C, const Fp8Steps &To) {
  double Middle = (To.numberOf(Code) + To.numberOf(Code + 1)) / 2;
  auto X = float(Middle * double(C));
  for (int Tries = 0; Tries < 8; ++Tries)
    if (To.codeOf(X / C) > Code)
      X = before(X);
    else if (To.codeOf(after(X) / C) <= Code)
      X = after(X);
    else
      return X;
  return std::nullopt;
}

Product Product::find(float C, const Fp8Steps &To) {
  SmallVector<std::pair<float, int>> Places;
  for (int Code = 0; Code < To.Last; ++Code) {
    std::optional<float> End = endOfStep(Code, C, To);
    if (!End)
      return {Division, C};
    Places.emplace_back(*End, Code);
    Places.emplace_back(after(*End), Code + 1);
  }
  for (Kind One : {Once, Twice}) {
    Product P(One, C);
    if (llvm::all_of(Places, [&](auto Place) {
          return To.codeOf(P.of(Place.first)) == Place.second;
        }))
      return P;
  }
  return {Division, C};
}

//===----------------------------------------------------------------------===//
// What is matched
//===----------------------------------------------------------------------===//

std::optional<double> constantOf(Value V) {
  APFloat Number(0.0f);
  if (!matchPattern(V, m_ConstantFloat(&Number)) || Number.isNaN())
    return std::nullopt;
  return Number.convertToDouble();
}

/// A bound that `Op` brings a number within, by minimumf or maximumf, or by a
/// comparison and a select: NaN stays.
struct Bound {
  Value Number;
  double At;
  bool IsUpper;

  static std::optional<Bound> read(Operation *Op) {
    if (isa_and_present<arith::MinimumFOp, arith::MaximumFOp>(Op)) {
      std::optional<double> At = constantOf(Op->getOperand(1));
      if (!At)
        return std::nullopt;
      return Bound{Op->getOperand(0), *At, isa<arith::MinimumFOp>(Op)};
    }
    auto Select = dyn_cast_if_present<arith::SelectOp>(Op);
    auto Is = Select ? Select.getCondition().getDefiningOp<arith::CmpFOp>()
                     : arith::CmpFOp();
    if (!Is || Select.getFalseValue() != Is.getLhs() ||
        Select.getTrueValue() != Is.getRhs())
      return std::nullopt;
    bool IsUpper = Is.getPredicate() == arith::CmpFPredicate::OGT;
    std::optional<double> At = constantOf(Is.getRhs());
    if (!At || (!IsUpper && Is.getPredicate() != arith::CmpFPredicate::OLT))
      return std::nullopt;
    return Bound{Is.getLhs(), *At, IsUpper};
  }
};

/// What both ends of the format bound; none where a number may be beyond them,
/// which is then no number of the format.
Value withoutEnds(Value V, double Greatest) {
  bool HasUpper = false, HasLower = false;
  while (std::optional<Bound> One = Bound::read(V.getDefiningOp())) {
    if (One->IsUpper ? One->At != Greatest : One->At != -Greatest)
      break;
    (One->IsUpper ? HasUpper : HasLower) = true;
    V = One->Number;
  }
  return HasUpper && HasLower ? V : Value();
}

/// Whether a GPU's NaN of this has no sign: arithmetic gives one alone (PTX ISA
/// 9.7.3), where loads, selects and changes of sign keep what there is.
bool hasPlainNan(Value V) {
  return isa_and_present<arith::AddFOp, arith::SubFOp, arith::MulFOp,
                         arith::DivFOp, arith::MaximumFOp, arith::MinimumFOp,
                         math::FmaOp>(V.getDefiningOp());
}

} // namespace

std::optional<Int> saturateToFp8(Real X, FloatType To) {
  Fp8Steps Of(To);
  Value Inside = withoutEnds(X.V, double(Of.Greatest));
  if (!Inside)
    return std::nullopt;
  Builder &B = *X.B;
  Real Number{Inside, &B};
  if (auto Divide = Inside.getDefiningOp<arith::DivFOp>()) {
    std::optional<double> By = constantOf(Divide.getRhs());
    // Far from the ends of f32, so that no product loses bits there.
    if (By && *By > 0x1p-60 && *By < 0x1p60)
      Number = Product::find(float(*By), Of).emit({Divide.getLhs(), &B});
  }
  if (!hasPlainNan(Number.V))
    return std::nullopt;
  Value Two = NVVM::ConvertF32x2ToF8x2Op::create(
      B, B.getIntegerType(16), X.like(0).V, Number.V, NVVM::FPRoundingMode::RN,
      NVVM::SaturationMode::SATFINITE, /*relu=*/false, To);
  Int Code = resize({Two, &B}, 8);
  // The instruction's NaN has all bits, that of other targets the first one.
  uint64_t Nan = llvm::APFloat::getQNaN(Of.Of).bitcastToAPInt().getZExtValue();
  if (Nan != 0x7f)
    Code = select(isNaN(Number), Code.like(Nan), Code);
  return Code;
}

} // namespace kpc::expand
