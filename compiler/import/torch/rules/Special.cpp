//===- Special.cpp - Import of special functions --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The graph has no such functions. They are series and fractions in f64, so
/// that results in f32 are rounded and nothing more.
///
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Importer.h"
#include "compiler/import/torch/Rules.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

static Value f64(NodeImport &N, Value X) {
  return X ? N.cast(X, N.builder().getF64Type()) : X;
}

/// c[0] + x (c[1] + x (c[2] + ...))
static Value polynomial(NodeImport &N, Value X, ArrayRef<double> Coefficients) {
  Value Sum = N.like(Coefficients.back(), X);
  for (double C : llvm::reverse(Coefficients.drop_back()))
    Sum = N.addScalar(N.mul(Sum, X), C);
  return Sum;
}

static Value isEqual(NodeImport &N, Value X, double C) {
  return N.compare(Predicate::eq, X, N.like(C, X));
}
static Value isLess(NodeImport &N, Value X, double C) {
  return N.compare(Predicate::lt, X, N.like(C, X));
}

/// A function of one real that is computed in f64.
template <Value (*Function)(NodeImport &, Value)>
static void inDouble(NodeImport &N) {
  Value X = N.asFloat(N.tensor("self"));
  if (X)
    N.result(N.cast(Function(N, f64(N, X)), N.element(X)));
}

//===----------------------------------------------------------------------===//
// Gamma
//===----------------------------------------------------------------------===//

/// What is above the whole number below: for sin and tan of pi x.
static Value fraction(NodeImport &N, Value X) {
  return N.sub(X, N.unary<FloorOp>(X));
}

/// log |gamma(x)| by Lanczos' sum (g = 7, 9 terms), mirrored below 1/2.
static Value logGamma(NodeImport &N, Value X) {
  static constexpr double Terms[] = {
      0.99999999999980993,  676.5203681218851,     -1259.1392167224028,
      771.32342877765313,   -176.61502916214059,   12.507343278686905,
      -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7};
  Value Left = isLess(N, X, 0.5);
  Value Z = N.addScalar(N.select(Left, N.sub(N.like(1, X), X), X), -1);
  Value Sum = N.like(Terms[0], Z);
  for (int I = 1; I < 9; ++I)
    Sum = N.add(Sum, N.div(N.like(Terms[I], Z), N.addScalar(Z, I)));
  Value T = N.addScalar(Z, 7.5);
  Value Right = N.add(N.sub(N.mul(N.addScalar(Z, 0.5), N.log(T)), T),
                      N.addScalar(N.log(Sum), 0.5 * std::log(2 * M_PI)));
  Value Sine =
      N.unary<AbsOp>(N.unary<SinOp>(N.mulScalar(fraction(N, X), M_PI)));
  Value Mirrored = N.sub(N.log(N.div(N.like(M_PI, X), Sine)), Right);
  return N.select(isEqual(N, N.unary<AbsOp>(X), INFINITY), N.like(INFINITY, X),
                  N.select(Left, Mirrored, Right));
}

/// The derivative of it: ten steps up, then the asymptotic series.
static Value digamma(NodeImport &N, Value X) {
  Value Left = isLess(N, X, 0.5);
  Value Z = N.select(Left, N.sub(N.like(1, X), X), X);
  Value Steps;
  for (int I = 0; I < 10; ++I) {
    Value One = N.unary<ReciprocalOp>(N.addScalar(Z, I));
    Steps = Steps ? N.add(Steps, One) : One;
  }
  Z = N.addScalar(Z, 10);
  Value R = N.unary<ReciprocalOp>(Z);
  Value Series = N.mul(N.mul(R, R),
                       polynomial(N, N.mul(R, R),
                                  {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240,
                                   1.0 / 132, -691.0 / 32760, 1.0 / 12}));
  Value Right =
      N.sub(N.log(Z), N.add(N.mulScalar(R, 0.5), N.add(Series, Steps)));
  Value Part = fraction(N, X);
  Value Mirrored = N.sub(
      Right, N.div(N.like(M_PI, X), N.unary<TanOp>(N.mulScalar(Part, M_PI))));
  // Poles below 0 are no numbers; the one at 0 has the other sign of 0's.
  Value Pole = isEqual(N, Part, 0);
  Mirrored = N.select(Pole, N.like(NAN, X), Mirrored);
  Mirrored =
      N.select(isEqual(N, X, 0), N.neg(N.unary<ReciprocalOp>(X)), Mirrored);
  return N.select(Left, Mirrored, Right);
}

//===----------------------------------------------------------------------===//
// The error function's kin
//===----------------------------------------------------------------------===//

/// exp(x²) erfc(x) from 3 on, as Laplace's continued fraction.
static Value scaledTail(NodeImport &N, Value X) {
  X = N.max(X, N.like(3, X));
  Value Below = X;
  for (int K = 14; K > 0; --K)
    Below = N.add(X, N.div(N.like(0.5 * K, X), Below));
  return N.div(N.like(1 / std::sqrt(M_PI), X), Below);
}

static Value scaledErfc(NodeImport &N, Value X) {
  Value Near =
      N.mul(N.exp(N.mul(X, X)), N.sub(N.like(1, X), N.unary<ErfOp>(X)));
  return N.select(isLess(N, X, 3), Near, scaledTail(N, X));
}

static Value erfcOf(NodeImport &N, Value X) {
  Value Far = N.mul(N.exp(N.neg(N.mul(X, X))), scaledTail(N, X));
  return N.select(isLess(N, X, 3), N.sub(N.like(1, X), N.unary<ErfOp>(X)), Far);
}

/// The logarithm of the normal distribution's integral.
static Value logNormal(NodeImport &N, Value X) {
  Value Z = N.mulScalar(X, -M_SQRT1_2);
  Value Low = N.sub(N.log(N.mulScalar(scaledErfc(N, Z), 0.5)), N.mul(Z, Z));
  Value High = N.unary<Log1pOp>(N.mulScalar(erfcOf(N, N.neg(Z)), -0.5));
  return N.select(isLess(N, X, -1), Low, High);
}

/// Giles' polynomials in log(1 - x²), and two steps of Newton's.
static Value inverseErf(NodeImport &N, Value X) {
  Value W = N.neg(N.log(N.mul(N.sub(N.like(1, X), X), N.addScalar(X, 1))));
  Value Near = polynomial(N, N.addScalar(W, -2.5),
                          {1.50140941, 0.246640727, -0.00417768164,
                           -0.00125372503, 0.00021858087, -4.39150654e-06,
                           -3.5233877e-06, 3.43273939e-07, 2.81022636e-08});
  Value Far = polynomial(N, N.addScalar(N.sqrt(W), -3),
                         {2.83297682, 1.00167406, 0.00943887047, -0.0076224613,
                          0.00573950773, -0.00367342844, 0.00134934322,
                          0.000100950558, -0.000200214257});
  Value Y = N.mul(N.select(isLess(N, W, 5), Near, Far), X);
  for (int I = 0; I < 2; ++I) {
    Value Slope = N.mulScalar(N.exp(N.neg(N.mul(Y, Y))), 2 / std::sqrt(M_PI));
    Y = N.sub(Y, N.div(N.sub(N.unary<ErfOp>(Y), X), Slope));
  }
  Value Size = N.unary<AbsOp>(X);
  return N.select(isEqual(N, Size, 1), N.mul(X, N.like(INFINITY, X)), Y);
}

//===----------------------------------------------------------------------===//
// Bessel
//===----------------------------------------------------------------------===//

/// The modified Bessel function of order 0: its series up to 15, then the
/// asymptotic one. `Scaled`: times exp(-|x|).
static Value besselOfSize(NodeImport &N, Value X, int Order, bool Scaled) {
  Value Low = N.min(X, N.like(15, X)), High = N.max(X, N.like(15, X));
  std::vector<double> Series = {Order ? 0.5 : 1}, Tail = {1};
  for (int K = 1; K < 36; ++K)
    Series.push_back(Series.back() / (double(K) * double(K + Order)));
  for (int K = 1; K < 14; ++K)
    Tail.push_back(Tail.back() *
                   double((2 * K - 1) * (2 * K - 1) - 4 * Order * Order) /
                   double(8 * K));
  Value Near = polynomial(N, N.mulScalar(N.mul(Low, Low), 0.25), Series);
  if (Order)
    Near = N.mul(Low, Near);
  Value Far = N.mul(polynomial(N, N.unary<ReciprocalOp>(High), Tail),
                    N.unary<RsqrtOp>(N.mulScalar(High, 2 * M_PI)));
  if (Scaled)
    Near = N.mul(Near, N.exp(N.neg(Low)));
  else
    Far = N.mul(Far, N.exp(High));
  return N.select(isLess(N, X, 15), Near, Far);
}

/// The one of order 0 is even, that of order 1 odd.
template <int Order, bool Scaled> static Value bessel(NodeImport &N, Value X) {
  Value Y = besselOfSize(N, N.unary<AbsOp>(X), Order, Scaled);
  if (Order)
    Y = N.select(isLess(N, X, 0), N.neg(Y), Y);
  Value Nan = N.build(IsNanOp::getOperationName(), {X}, {});
  return N.select(Nan, X, Y);
}

//===----------------------------------------------------------------------===//
// Hurwitz's zeta
//===----------------------------------------------------------------------===//

/// The sum of (q + k)^-s over k: 12 terms, and the rest by Euler and Maclaurin.
/// For q > 0; other q have no finite sum here.
static Value hurwitz(NodeImport &N, Value S, Value Q) {
  constexpr int Terms = 12;
  // (2 j)! / B(2 j), as in Cephes.
  static constexpr double Divisors[] = {12.0,
                                        -720.0,
                                        30240.0,
                                        -1209600.0,
                                        47900160.0,
                                        -1.8924375803183791606e9,
                                        7.47242496e10,
                                        -2.950130727918164224e12,
                                        1.1646782814350067249e14,
                                        -4.5979787224074726105e15,
                                        1.8152105401943546773e17,
                                        -7.1661652561756670113e18};
  Value Minus = N.neg(S), Sum;
  for (int K = 0; K < Terms; ++K) {
    Value Term = N.binary<PowOp>(N.addScalar(Q, K), Minus);
    Sum = Sum ? N.add(Sum, Term) : Term;
  }
  Value A = N.addScalar(Q, Terms);
  // The rest is 0 for s of some hundreds, whose products with it would be inf.
  S = N.min(S, N.like(1000, S));
  Value Power = N.binary<PowOp>(A, N.neg(S));
  Sum = N.add(Sum, N.div(N.mul(Power, A), N.addScalar(S, -1)));
  Sum = N.add(Sum, N.mulScalar(Power, 0.5));
  Value Factor = S;
  Power = N.div(Power, A);
  int Next = 1;
  for (double D : Divisors) {
    Sum = N.add(Sum, N.mulScalar(N.mul(Factor, Power), 1 / D));
    Factor =
        N.mul(Factor, N.mul(N.addScalar(S, Next), N.addScalar(S, Next + 1)));
    Power = N.div(Power, N.mul(A, A));
    Next += 2;
  }
  Value Nan = N.like(NAN, Sum);
  // What is no number, or a pole: 0 and below, and s = 1.
  Value Whole = N.compare(Predicate::eq, Q, N.unary<FloorOp>(Q));
  Value Outside = N.select(Whole, N.like(INFINITY, Sum), Nan);
  Sum = N.select(N.compare(Predicate::gt, Q, N.like(0, Q)), Sum, Outside);
  Sum = N.select(isEqual(N, S, 1), N.like(INFINITY, Sum), Sum);
  return N.select(isLess(N, S, 1), Nan, Sum);
}

static void zeta(NodeImport &N) {
  Type T = N.promoted("self", "other");
  if (!T)
    return N.give();
  T = isFloat(T) ? T : N.f32();
  Value S = N.operand("self", T), Q = N.operand("other", T);
  N.result(N.cast(hurwitz(N, f64(N, S), f64(N, Q)), T));
}

/// The n-th derivative of digamma: (-1)^(n + 1) n! zeta(n + 1, x).
static void polygamma(NodeImport &N) {
  Value X = N.asFloat(N.tensor("self"));
  int64_t Order = N.integer("n", 0);
  if (!X || N.bad())
    return N.give();
  constexpr int64_t Most = 20;
  if (Order < 0 || Order > Most)
    return (void)N.unsupported("polygamma of the order " +
                               std::to_string(Order) + "; kpc takes 0 to " +
                               std::to_string(Most));
  Value Z = f64(N, X);
  if (Order == 0)
    return N.result(N.cast(digamma(N, Z), N.element(X)));
  double Factor = Order % 2 ? 1 : -1;
  for (int64_t I = 2; I <= Order; ++I)
    Factor *= double(I);
  auto Above = [&](Value V) {
    return N.mulScalar(hurwitz(N, N.like(double(Order + 1), V), V), Factor);
  };
  Value Y = Above(Z);
  if (Order == 1) {
    // Mirrored: pi² / sin² (pi x) - trigamma(1 - x).
    Value Sine = N.unary<SinOp>(N.mulScalar(fraction(N, Z), M_PI));
    Value Turn = N.div(N.like(M_PI * M_PI, Z), N.mul(Sine, Sine));
    Value Left = isLess(N, Z, 0.5);
    Value Mirrored = N.sub(Turn, Above(N.sub(N.like(1, Z), Z)));
    Mirrored =
        N.select(isEqual(N, fraction(N, Z), 0), N.like(INFINITY, Z), Mirrored);
    Y = N.select(Left, Mirrored, Y);
  }
  N.result(N.cast(Y, N.element(X)));
}

//===----------------------------------------------------------------------===//
// Short ones
//===----------------------------------------------------------------------===//

static void sinc(NodeImport &N) {
  Value X = N.asFloat(N.tensor("self"));
  if (!X)
    return;
  Value Turn = N.mulScalar(N.cast(X, N.wide(X)), M_PI);
  Value Y = N.div(N.unary<SinOp>(Turn), Turn);
  N.result(
      N.cast(N.select(isEqual(N, Turn, 0), N.like(1, Y), Y), N.element(X)));
}

/// -x log x, and 0 at 0.
static void entropy(NodeImport &N) {
  Value X = N.asFloat(N.tensor("self"));
  if (!X)
    return;
  Value Y = N.neg(N.mul(X, N.log(X)));
  Y = N.select(isEqual(N, X, 0), N.like(0, Y), Y);
  N.result(N.select(isLess(N, X, 0), N.like(-INFINITY, Y), Y));
}

/// x log(1 + y), and 0 where x is 0.
static void xLog1p(NodeImport &N) {
  Type T = N.promoted("self", "other");
  if (!T)
    return N.give();
  T = isFloat(T) ? T : N.f32();
  Value A = N.operand("self", T), C = N.operand("other", T);
  Value Y = N.mul(A, N.unary<Log1pOp>(C));
  if (!Y)
    return;
  Value Nan = N.build(IsNanOp::getOperationName(), {C}, {});
  Value Zero = N.binary<AndOp>(isEqual(N, A, 0), N.notOf(Nan));
  N.result(N.select(Zero, N.like(0, Y), Y));
}

template <bool ToRadians> static void turned(NodeImport &N) {
  Value X = N.asFloat(N.tensor("self"));
  if (X)
    N.result(N.mulScalar(X, ToRadians ? M_PI / 180 : 180 / M_PI));
}

static void floatPower(NodeImport &N) {
  Type T = N.builder().getF64Type();
  N.result(N.binary<PowOp>(N.operand("self", T), N.operand("exponent", T)));
}

static void copySign(NodeImport &N) {
  Type T = N.promoted("self", "other");
  if (!T)
    return N.give();
  T = isFloat(T) ? T : N.f32();
  Value A = N.unary<AbsOp>(N.operand("self", T)), C = N.operand("other", T);
  if (!A || !C)
    return N.give();
  // The sign of -0 as well: bits below 0.
  unsigned Width = T.getIntOrFloatBitWidth();
  Value Bits = N.bitcast(C, N.builder().getIntegerType(Width));
  Value Minus = N.compare(Predicate::lt, Bits, N.scalarInt(0, N.element(Bits)));
  N.result(N.select(Minus, N.neg(A), A));
}

static void signBit(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  if (isBool(N.element(X)) || isUnsigned(N.element(X)))
    return N.result(N.full(0, N.dims(X), N.i1()));
  if (N.isFloat(X))
    X = N.bitcast(
        X, N.builder().getIntegerType(N.element(X).getIntOrFloatBitWidth()));
  N.result(N.compare(Predicate::lt, X, N.scalarInt(0, N.element(X))));
}

/// 0 below 0, `values` at 0, 1 above.
static void heaviside(NodeImport &N) {
  Value X = N.tensor("self"), At = N.tensor("values");
  if (!X || !At)
    return;
  Value Zero = N.scalarInt(0, N.element(X)), One = N.scalarInt(1, N.element(X));
  Value Y = N.select(N.compare(Predicate::gt, X, Zero), One, Zero);
  if (N.isFloat(X))
    Y = N.select(N.build(IsNanOp::getOperationName(), {X}, {}), X, Y);
  N.result(N.select(N.compare(Predicate::eq, X, Zero), At, Y));
}

/// x 2^other
static void scaleByPower(NodeImport &N) {
  Type T = N.promoted("self", "other");
  if (!T)
    return N.give();
  T = isFloat(T) ? T : N.f32();
  Value C = N.operand("other", T);
  if (C)
    N.result(N.mul(N.operand("self", T), N.binary<PowOp>(N.like(2, C), C)));
}

/// The next number from `self` on towards `other`: one bit more or less.
static void nextAfter(NodeImport &N) {
  Type T = N.promoted("self", "other");
  if (!T || !isFloat(T))
    return N.give();
  Value X = N.operand("self", T), Y = N.operand("other", T);
  if (!X || !Y)
    return N.give();
  std::optional<Dims> Sizes = N.broadcastSizes(N.dims(X), N.dims(Y));
  if (!Sizes)
    return;
  X = N.broadcast(X, *Sizes);
  Y = N.broadcast(Y, *Sizes);
  Type Whole = N.builder().getIntegerType(T.getIntOrFloatBitWidth());
  Value Bits = N.bitcast(X, Whole), Zero = N.like(0, X);
  Value Up = N.compare(Predicate::lt, X, Y);
  Value Positive = N.compare(Predicate::gt, X, Zero);
  Value Grows = N.notOf(N.binary<XorOp>(Up, Positive));
  Value Next = N.bitcast(N.add(Bits, N.select(Grows, N.scalarInt(1, Whole),
                                              N.scalarInt(-1, Whole))),
                         T);
  Value Least =
      N.bitcast(N.select(Up, N.scalarInt(1, Whole),
                         N.binary<OrOp>(N.scalarInt(1, Whole),
                                        N.bitcast(N.like(-0.0, X), Whole))),
                T);
  Next = N.select(N.compare(Predicate::eq, X, Zero), Least, Next);
  Next = N.select(N.compare(Predicate::eq, X, Y), Y, Next);
  for (Value V : {X, Y})
    Next = N.select(N.build(IsNanOp::getOperationName(), {V}, {}), V, Next);
  N.result(Next);
}

//===----------------------------------------------------------------------===//
// Divisors
//===----------------------------------------------------------------------===//

/// Euclid's steps, as long as one pair has a rest. 93 suffice for 64 bits:
/// Fibonacci's numbers take the most.
static Value greatestDivisor(NodeImport &N, Value A, Value C) {
  Type T = N.element(A);
  Value Zero = N.scalarInt(0, T), One = N.scalarInt(1, T);
  auto HasRest = [&](Value V) {
    Ints Axes = llvm::to_vector<6>(llvm::seq<int64_t>(0, N.rank(V)));
    Value Flags = N.cast(N.compare(Predicate::ne, V, Zero), N.i32());
    return N.cast(N.reduce(ReduceKind::max, Flags, Axes), N.i1());
  };
  auto Step = [&](const Expr &,
                  ArrayRef<Value> Now) -> std::optional<SmallVector<Value>> {
    Value IsZero = N.compare(Predicate::eq, Now[1], Zero);
    Value Rest = N.binary<RemOp>(Now[0], N.select(IsZero, One, Now[1]));
    Value First = N.select(IsZero, Now[0], Now[1]);
    Value Second = N.select(IsZero, Now[1], Rest);
    if (!First || !Second)
      return std::nullopt;
    return SmallVector<Value>{HasRest(Second), First, Second};
  };
  auto Results = N.loop(Expr(93), {A, C}, {}, Step, HasRest(C));
  return Results ? Results->front() : Value();
}

template <bool Multiple> static void divisor(NodeImport &N) {
  Type T = N.promoted("self", "other");
  if (!T || isFloat(T) || isBool(T))
    return N.give();
  Value A = N.operand("self", T), C = N.operand("other", T);
  if (!A || !C)
    return N.give();
  std::optional<Dims> Sizes = N.broadcastSizes(N.dims(A), N.dims(C));
  if (!Sizes)
    return;
  if (!isUnsigned(T)) {
    A = N.unary<AbsOp>(A);
    C = N.unary<AbsOp>(C);
  }
  A = N.broadcast(A, *Sizes);
  C = N.broadcast(C, *Sizes);
  Value Common = greatestDivisor(N, A, C);
  if (!Multiple || !Common)
    return N.result(Common);
  Value Zero = N.scalarInt(0, T);
  Value Safe = N.select(N.compare(Predicate::eq, Common, Zero),
                        N.scalarInt(1, T), Common);
  N.result(N.mul(N.div(A, Safe), C));
}

/// The normal distribution up to x.
static Value normalShare(NodeImport &N, Value X) {
  return N.mulScalar(erfcOf(N, N.mulScalar(X, -M_SQRT1_2)), 0.5);
}

ArrayRef<Rule> specialRules() {
  constexpr InPlace Too = InPlace::Yes;
  static constexpr std::string_view Double = "computed in f64";
  static const Rule Rows[] = {
      {"copysign.Scalar", copySign, Too},
      {"copysign.Tensor", copySign, Too},
      {"deg2rad.default", turned<true>, Too},
      {"digamma.default", inDouble<digamma>, Too, Double},
      {"erfc.default", inDouble<erfcOf>, Too, Double},
      {"erfinv.default", inDouble<inverseErf>, Too, Double},
      {"float_power.Scalar", floatPower},
      {"float_power.Tensor_Scalar", floatPower},
      {"float_power.Tensor_Tensor", floatPower},
      {"gcd.default", divisor<false>, Too, "not inside of 16 loops"},
      {"heaviside.default", heaviside, Too},
      {"i0.default", inDouble<bessel<0, false>>, Too, Double},
      {"lcm.default", divisor<true>, Too, "not inside of 16 loops"},
      {"ldexp.Tensor", scaleByPower, Too},
      {"lgamma.default", inDouble<logGamma>, Too, Double},
      {"nextafter.default", nextAfter, Too},
      {"polygamma.default", polygamma, InPlace::No,
       "computed in f64; orders up to 20, above 1 for x > 0"},
      {"rad2deg.default", turned<false>, Too},
      {"signbit.default", signBit},
      {"sinc.default", sinc, Too},
      {"special_digamma.default", inDouble<digamma>, InPlace::No, Double},
      {"special_entr.default", entropy},
      {"special_erfc.default", inDouble<erfcOf>, InPlace::No, Double},
      {"special_erfcx.default", inDouble<scaledErfc>, InPlace::No, Double},
      {"special_erfinv.default", inDouble<inverseErf>, InPlace::No, Double},
      {"special_gammaln.default", inDouble<logGamma>, InPlace::No, Double},
      {"special_i0.default", inDouble<bessel<0, false>>, InPlace::No, Double},
      {"special_i0e.default", inDouble<bessel<0, true>>, InPlace::No, Double},
      {"special_i1.default", inDouble<bessel<1, false>>, InPlace::No, Double},
      {"special_i1e.default", inDouble<bessel<1, true>>, InPlace::No, Double},
      {"special_log_ndtr.default", inDouble<logNormal>, InPlace::No, Double},
      {"special_ndtr.default", inDouble<normalShare>, InPlace::No, Double},
      {"special_psi.default", inDouble<digamma>, InPlace::No, Double},
      {"special_sinc.default", sinc},
      {"special_polygamma.default", polygamma, InPlace::No,
       "computed in f64; orders up to 20, above 1 for x > 0"},
      {"special_xlog1py.default", xLog1p},
      {"special_zeta.default", zeta, InPlace::No, "computed in f64; q > 0"},
      {"special_zeta.other_scalar", zeta, InPlace::No,
       "computed in f64; q > 0"},
      {"special_zeta.self_scalar", zeta, InPlace::No, "computed in f64; q > 0"},
  };
  return Rows;
}

} // namespace kpc::torch
