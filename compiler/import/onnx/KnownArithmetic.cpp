//===- KnownArithmetic.cpp - Arithmetic on elements that are known --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/KnownValues.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace kpc::graph;

namespace kpc::onnx {

using Result = KnownArithmetic::Result;

/// Sizes below this are exact in f32, and so are their multiples by the few
/// numbers that ratio() takes.
static constexpr int64_t LargestFactor = 1 << 12, LargestDivisor = 1 << 12;

static double roundTo(Type Element, double V) {
  if (Element.isF64())
    return V;
  llvm::APFloat F(V);
  bool Inexact = false;
  F.convert(cast<FloatType>(Element).getFloatSemantics(),
            llvm::APFloat::rmNearestTiesToEven, &Inexact);
  return F.convertToDouble();
}

static bool dependsOnSizes(const KnownElement &X) {
  return !X.Whole.isConstant();
}

/// Whether a number is in an integer type's range. A wider one wraps there,
/// which expressions do not model.
static bool fits(const Expr &E, Type Element) {
  std::optional<int64_t> V = E.asConstant();
  if (!V)
    return !E.overflowed();
  unsigned Bits = Element.getIntOrFloatBitWidth();
  if (graph::isUnsigned(Element))
    return *V >= 0 && (Bits >= 63 || *V < (int64_t(1) << Bits));
  return Bits >= 64 ||
         (*V >= -(int64_t(1) << (Bits - 1)) && *V < (int64_t(1) << (Bits - 1)));
}

Result KnownArithmetic::whole(const Expr &E) const {
  if (!fits(E, Element))
    return std::nullopt;
  KnownElement X;
  X.Whole = Facts.simplify(E);
  return X;
}

Result KnownArithmetic::real(double V) const {
  KnownElement X;
  X.Real = roundTo(Element, V);
  return X;
}

Result KnownArithmetic::ratio(const Expr &Dividend, int64_t Divisor) const {
  if (Dividend.overflowed() || Divisor > LargestDivisor)
    return std::nullopt;
  if (std::optional<int64_t> C = Dividend.asConstant())
    return real(static_cast<double>(*C) / static_cast<double>(Divisor));
  // f32 and f64 hold sizes; f16 and bf16 round them.
  if (!Element.isF32() && !Element.isF64())
    return std::nullopt;
  KnownElement X;
  X.Whole = Dividend;
  X.Divisor = Divisor;
  return X;
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

static std::optional<double> realUnary(llvm::StringRef Op, double X) {
  using Function = double (*)(double);
  static const std::map<llvm::StringRef, Function> Functions = {
      {"graph.abs", std::fabs},
      {"graph.ceil", std::ceil},
      {"graph.floor", std::floor},
      {"graph.round", std::nearbyint},
      {"graph.sqrt", std::sqrt},
      {"graph.exp", std::exp},
      {"graph.expm1", std::expm1},
      {"graph.log", std::log},
      {"graph.log1p", std::log1p},
      {"graph.sin", std::sin},
      {"graph.cos", std::cos},
      {"graph.tan", std::tan},
      {"graph.asin", std::asin},
      {"graph.acos", std::acos},
      {"graph.atan", std::atan},
      {"graph.sinh", std::sinh},
      {"graph.cosh", std::cosh},
      {"graph.tanh", std::tanh},
      {"graph.asinh", std::asinh},
      {"graph.acosh", std::acosh},
      {"graph.atanh", std::atanh},
      {"graph.erf", std::erf},
      {"graph.neg", [](double V) { return -V; }},
      {"graph.rsqrt", [](double V) { return 1 / std::sqrt(V); }},
      {"graph.reciprocal", [](double V) { return 1 / V; }},
      {"graph.sigmoid", [](double V) { return 1 / (1 + std::exp(-V)); }},
      {"graph.relu", [](double V) { return V < 0 ? 0 : V; }},
      {"graph.sign", [](double V) { return V > 0   ? 1.0
                                           : V < 0 ? -1.0
                                                   : V; }},
  };
  auto It = Functions.find(Op);
  if (It == Functions.end())
    return std::nullopt;
  return It->second(X);
}

Result KnownArithmetic::unary(llvm::StringRef Op, const KnownElement &X) const {
  bool Negative = Facts.range(X.Whole).Min < 0;
  if (Float && !dependsOnSizes(X)) {
    std::optional<double> V = realUnary(Op, X.Real);
    return V ? real(*V) : std::nullopt;
  }
  if (Float) {
    if (Op == "graph.neg")
      return ratio(Expr(0) - X.Whole, X.Divisor);
    if (Op == "graph.floor" || (X.Divisor == 1 && Op == "graph.round"))
      return ratio(Facts.simplify(X.Whole.floorDiv(X.Divisor)), 1);
    if (Op == "graph.ceil")
      return ratio(Facts.simplify(X.Whole.ceilDiv(X.Divisor)), 1);
    if (!Negative && (Op == "graph.abs" || Op == "graph.relu"))
      return X;
    return std::nullopt;
  }
  std::optional<int64_t> C = X.Whole.asConstant();
  if (Op == "graph.neg")
    return whole(Expr(0) - X.Whole);
  if (Op == "graph.abs")
    return !Negative ? Result(X)
           : C       ? whole(Expr(0) - X.Whole)
                     : whole(Expr::max(X.Whole, Expr(0) - X.Whole));
  if (Op == "graph.relu")
    return whole(Expr::max(X.Whole, 0));
  if (Op == "graph.sign" && C)
    return whole(Expr(*C > 0 ? 1 : *C < 0 ? -1 : 0));
  if (Op == "graph.sign" && Facts.range(X.Whole).Min > 0)
    return whole(Expr(1));
  if (Op == "graph.not" && C && isBool(Element))
    return whole(Expr(*C ? 0 : 1));
  if (Op == "graph.not" && C && !graph::isUnsigned(Element))
    return whole(Expr(~*C));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

/// Of numbers; the division of integers by 0 stays for when the model runs.
static std::optional<int64_t> numberBinary(llvm::StringRef Op, int64_t A,
                                           int64_t C) {
  if (Op == "graph.and")
    return A & C;
  if (Op == "graph.or")
    return A | C;
  if (Op == "graph.xor")
    return A ^ C;
  if (Op == "graph.shl" && A >= 0 && C >= 0 && C < 62 && A < (1LL << (62 - C)))
    return A << C;
  if (Op == "graph.shr" && A >= 0 && C >= 0)
    return C < 63 ? A >> C : 0;
  if (C == 0 || (A == INT64_MIN && C == -1))
    return std::nullopt;
  int64_t Rest = A % C;
  if (Op == "graph.div")
    return A / C;
  if (Op == "graph.rem")
    return Rest;
  if (Op == "graph.mod")
    return Rest != 0 && (Rest < 0) != (C < 0) ? Rest + C : Rest;
  return std::nullopt;
}

Result KnownArithmetic::wholeBinary(llvm::StringRef Op, const Expr &A,
                                    const Expr &C) const {
  if (Op == "graph.add")
    return whole(A + C);
  if (Op == "graph.sub")
    return whole(A - C);
  if (Op == "graph.mul")
    return whole(A * C);
  if (Op == "graph.min")
    return whole(Expr::min(A, C));
  if (Op == "graph.max")
    return whole(Expr::max(A, C));
  std::optional<int64_t> P = A.asConstant(), Q = C.asConstant();
  if (Op == "graph.pow" && Q && *Q >= 0 && *Q <= 62) {
    Expr Power(1);
    for (int64_t I = 0; I < *Q && !Power.overflowed(); ++I)
      Power = Power * A;
    return whole(Power);
  }
  if (P && Q) {
    std::optional<int64_t> V = numberBinary(Op, *P, *Q);
    return V ? whole(Expr(*V)) : std::nullopt;
  }
  if (Facts.range(C).Min < 1)
    return std::nullopt;
  // Toward zero: the magnitude is divided.
  if (Op == "graph.div" && Facts.range(A).Min < 0)
    return whole(Expr::max(A, 0).floorDiv(C) -
                 Expr::max(-1 * A, 0).floorDiv(C));
  if (Op == "graph.mod")
    return whole(A.mod(C));
  if (Facts.range(A).Min < 0)
    return std::nullopt;
  if (Op == "graph.div")
    return whole(A.floorDiv(C));
  if (Op == "graph.rem")
    return whole(A.mod(C));
  return std::nullopt;
}

/// `V` = Dividend / Divisor with few digits.
static std::optional<std::pair<int64_t, int64_t>> asRatio(double V) {
  for (int64_t Divisor = 1; Divisor <= 1024; Divisor *= 2) {
    double Scaled = V * static_cast<double>(Divisor);
    if (std::fabs(Scaled) <= LargestFactor && Scaled == std::floor(Scaled))
      return std::pair(static_cast<int64_t>(Scaled), Divisor);
  }
  return std::nullopt;
}

/// At least one depends on sizes.
Result KnownArithmetic::ratioBinary(llvm::StringRef Op, const KnownElement &A,
                                    const KnownElement &C) const {
  auto Of =
      [](const KnownElement &X) -> std::optional<std::pair<Expr, int64_t>> {
    if (dependsOnSizes(X))
      return std::pair(X.Whole, X.Divisor);
    if (auto R = asRatio(X.Real))
      return std::pair(Expr(R->first), R->second);
    return std::nullopt;
  };
  auto P = Of(A), Q = Of(C);
  if (!P || !Q)
    return std::nullopt;
  int64_t Common = std::lcm(P->second, Q->second);
  // A quotient that is rounded must not be multiplied: 3 * (size / 3) is not
  // the size where floats are divided.
  bool Exact = llvm::isPowerOf2_64(static_cast<uint64_t>(Common));
  bool BothOpen = dependsOnSizes(A) && dependsOnSizes(C);
  if ((Op == "graph.mul" || Op == "graph.div") && !Exact)
    return std::nullopt;
  // Products of two sizes may have more digits than f32.
  if (Op == "graph.mul")
    return BothOpen && !Element.isF64()
               ? std::nullopt
               : ratio(P->first * Q->first, P->second * Q->second);
  if (Op == "graph.div") {
    std::optional<int64_t> By = Q->first.asConstant();
    if (By && *By > 0 && *By <= LargestDivisor)
      return ratio(P->first * Q->second, P->second * *By);
    // A size over itself.
    if (P->first == Q->first && Facts.range(P->first).Min > 0)
      return real(static_cast<double>(Q->second) /
                  static_cast<double>(P->second));
    return std::nullopt;
  }
  if (Common > LargestDivisor)
    return std::nullopt;
  Expr Left = P->first * (Common / P->second),
       Right = Q->first * (Common / Q->second);
  if (Op == "graph.add")
    return ratio(Left + Right, Common);
  if (Op == "graph.sub")
    return ratio(Left - Right, Common);
  if (Op == "graph.min")
    return ratio(Facts.simplify(Expr::min(Left, Right)), Common);
  if (Op == "graph.max")
    return ratio(Facts.simplify(Expr::max(Left, Right)), Common);
  return std::nullopt;
}

Result KnownArithmetic::floatBinary(llvm::StringRef Op, const KnownElement &A,
                                    const KnownElement &C) const {
  if (dependsOnSizes(A) || dependsOnSizes(C))
    return ratioBinary(Op, A, C);
  double X = A.Real, Y = C.Real;
  bool NaN = std::isnan(X) || std::isnan(Y);
  if (Op == "graph.add")
    return real(X + Y);
  if (Op == "graph.sub")
    return real(X - Y);
  if (Op == "graph.mul")
    return real(X * Y);
  if (Op == "graph.div")
    return real(X / Y);
  if (Op == "graph.pow")
    return real(std::pow(X, Y));
  if (Op == "graph.min")
    return real(NaN ? std::nan("") : std::min(X, Y));
  if (Op == "graph.max")
    return real(NaN ? std::nan("") : std::max(X, Y));
  if (Op == "graph.rem")
    return real(std::fmod(X, Y));
  return std::nullopt;
}

Result KnownArithmetic::binary(llvm::StringRef Op, const KnownElement &A,
                               const KnownElement &C) const {
  return Float ? floatBinary(Op, A, C) : wholeBinary(Op, A.Whole, C.Whole);
}

std::optional<bool> KnownArithmetic::compare(Predicate P, const KnownElement &A,
                                             const KnownElement &C) const {
  if (Float && !dependsOnSizes(A) && !dependsOnSizes(C)) {
    double X = A.Real, Y = C.Real;
    switch (P) {
    case Predicate::eq:
      return X == Y;
    case Predicate::ne:
      return X != Y;
    case Predicate::lt:
      return X < Y;
    case Predicate::le:
      return X <= Y;
    case Predicate::gt:
      return X > Y;
    case Predicate::ge:
      return X >= Y;
    }
  }
  Expr X = A.Whole, Y = C.Whole;
  if (Float) {
    Result Difference = ratioBinary("graph.sub", A, C);
    if (!Difference)
      return std::nullopt;
    X = Difference->Whole;
    Y = Expr(0);
    if (!dependsOnSizes(*Difference)) {
      if (Difference->Real != std::floor(Difference->Real))
        X = Expr(Difference->Real < 0 ? -1 : 1);
      else
        X = Expr(static_cast<int64_t>(Difference->Real));
    }
  }
  auto Not = [](std::optional<bool> V) -> std::optional<bool> {
    return V ? std::optional(!*V) : std::nullopt;
  };
  switch (P) {
  case Predicate::eq:
    return Facts.isEqual(X, Y);
  case Predicate::ne:
    return Not(Facts.isEqual(X, Y));
  case Predicate::le:
    return Facts.isLessOrEqual(X, Y);
  case Predicate::ge:
    return Facts.isLessOrEqual(Y, X);
  case Predicate::lt:
    return Not(Facts.isLessOrEqual(Y, X));
  case Predicate::gt:
    return Not(Facts.isLessOrEqual(X, Y));
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

Result KnownArithmetic::cast(const KnownElement &X, Type To) const {
  KnownArithmetic Other(Facts, To);
  if (Float && graph::isFloat(To))
    return dependsOnSizes(X) ? Other.ratio(X.Whole, X.Divisor)
                             : Other.real(X.Real);
  if (Float) {
    if (dependsOnSizes(X)) {
      if (isBool(To) || (X.Divisor != 1 && Facts.range(X.Whole).Min < 0))
        return std::nullopt;
      return Other.whole(X.Whole.floorDiv(X.Divisor));
    }
    if (isBool(To))
      return Other.whole(Expr(X.Real != 0 ? 1 : 0));
    // What no integer holds is left to the run.
    if (!(std::fabs(X.Real) < 9e15))
      return std::nullopt;
    return Other.whole(Expr(static_cast<int64_t>(X.Real)));
  }
  if (graph::isFloat(To)) {
    std::optional<int64_t> C = X.Whole.asConstant();
    return C ? Other.real(static_cast<double>(*C)) : Other.ratio(X.Whole, 1);
  }
  if (!isBool(To))
    return Other.whole(X.Whole);
  std::optional<bool> Zero = Facts.isEqual(X.Whole, 0);
  return Zero ? Other.whole(Expr(*Zero ? 0 : 1)) : std::nullopt;
}

} // namespace kpc::onnx
