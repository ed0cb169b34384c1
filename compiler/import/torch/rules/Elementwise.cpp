//===- Elementwise.cpp - Import of arithmetic and comparisons -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/torch/Rules.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::torch {

/// A function of reals.
template <typename Op> static void real(NodeImport &N) {
  N.result(N.unary<Op>(N.asFloat(N.tensor("self"))));
}

template <typename Op> static void number(NodeImport &N) {
  N.result(N.unary<Op>(N.tensor("self")));
}

/// Integers are whole already.
template <typename Op> static void rounding(NodeImport &N) {
  Value X = N.tensor("self");
  N.result(X && N.isFloat(X) ? N.unary<Op>(X) : X);
}

/// The operands in the type that aten computes in.
static std::pair<Value, Value> operands(NodeImport &N, bool Real = false) {
  Type T = N.promoted("self", "other");
  if (!T)
    return {};
  if (Real && !isFloat(T))
    T = N.f32();
  return {N.operand("self", T), N.operand("other", T)};
}

template <typename Op> static void binary(NodeImport &N) {
  auto [A, C] = operands(N);
  N.result(N.binary<Op>(A, C));
}

/// For bools the sum is "or".
template <typename Op, bool Reversed = false> static void sum(NodeImport &N) {
  auto [A, C] = operands(N);
  if (!A || !C)
    return N.give();
  if (isBool(N.element(A))) {
    N.result(N.binary<OrOp>(A, C));
    return;
  }
  if (Reversed)
    std::swap(A, C);
  if (N.has("alpha") && N.real("alpha", 1) != 1)
    C = N.mul(C, N.operand("alpha", N.element(C)));
  N.result(N.binary<Op>(A, C));
}

static void multiply(NodeImport &N) {
  auto [A, C] = operands(N);
  if (!A || !C)
    return N.give();
  N.result(isBool(N.element(A)) ? N.binary<AndOp>(A, C) : N.mul(A, C));
}

/// floor(a / c) of integers, whose division here truncates.
static Value floorDivide(NodeImport &N, Value A, Value C) {
  if (!A || !C)
    return {};
  if (N.isFloat(A))
    return N.unary<FloorOp>(N.div(A, C));
  return N.div(N.sub(A, N.binary<ModOp>(A, C)), C);
}

static Value truncated(NodeImport &N, Value X) {
  if (!X || !N.isFloat(X))
    return X;
  return N.select(N.compare(Predicate::lt, X, N.like(0, X)), N.unary<CeilOp>(X),
                  N.unary<FloorOp>(X));
}

static void divide(NodeImport &N) {
  std::string Mode = N.text("rounding_mode", "");
  auto [A, C] = operands(N, /*Real=*/Mode.empty());
  if (Mode.empty())
    N.result(N.div(A, C));
  else if (Mode == "floor")
    N.result(floorDivide(N, A, C));
  else
    N.result(truncated(N, N.div(A, C)));
}

static void floorDivision(NodeImport &N) {
  auto [A, C] = operands(N);
  N.result(floorDivide(N, A, C));
}

static void truncate(NodeImport &N) {
  N.result(truncated(N, N.tensor("self")));
}

static void fraction(NodeImport &N) {
  Value X = N.tensor("self");
  N.result(N.sub(X, truncated(N, X)));
}

template <Predicate P> static void compare(NodeImport &N) {
  auto [A, C] = operands(N);
  N.result(N.compare(P, A, C));
}

template <typename Op> static void logical(NodeImport &N) {
  auto Truth = [&](Value V) {
    return !V || isBool(N.element(V))
               ? V
               : N.compare(Predicate::ne, V, N.scalarInt(0, N.element(V)));
  };
  N.result(N.binary<Op>(Truth(N.operand("self")), Truth(N.operand("other"))));
}

static void logicalNot(NodeImport &N) {
  Value X = N.tensor("self");
  if (X)
    N.result(N.compare(Predicate::eq, X, N.scalarInt(0, N.element(X))));
}

static void power(NodeImport &N) {
  Type T;
  bool Base = N.isNumber("self");
  // The operands are called self and exponent.
  T = N.promoted("self", "exponent");
  if (!T)
    return N.give();
  Value A = N.operand("self", T);
  if (!Base && N.isNumber("exponent")) {
    double P = N.real("exponent", 1);
    if (P == 2)
      return N.result(N.mul(A, A));
    if (P == 1)
      return N.result(A);
    if (P == 3)
      return N.result(N.mul(N.mul(A, A), A));
    if (P == 0.5 && isFloat(T))
      return N.result(N.sqrt(A));
    if (P == -0.5 && isFloat(T))
      return N.result(N.unary<RsqrtOp>(A));
    if (P == -1 && isFloat(T))
      return N.result(N.unary<ReciprocalOp>(A));
  }
  N.result(N.binary<PowOp>(A, N.operand("exponent", T)));
}

static void square(NodeImport &N) {
  Value X = N.tensor("self");
  N.result(N.mul(X, X));
}

/// self + value * f(tensor1, tensor2)
template <bool Divides> static void addProduct(NodeImport &N) {
  Value X = N.tensor("self"), A = N.tensor("tensor1"), C = N.tensor("tensor2");
  if (N.bad())
    return;
  Value Y = Divides ? N.div(A, C) : N.mul(A, C);
  if (N.real("value", 1) != 1)
    Y = N.mul(Y, N.operand("value", N.element(A)));
  N.result(N.add(X, Y));
}

static void interpolate(NodeImport &N) {
  Value A = N.tensor("self"), C = N.tensor("end");
  if (A)
    N.result(N.add(A, N.mul(N.operand("weight", N.element(A)), N.sub(C, A))));
}

static void clamp(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  Type T = N.declaredType();
  if (!T)
    return;
  X = N.cast(X, T);
  if (N.has("min"))
    X = N.max(X, N.operand("min", T));
  if (N.has("max"))
    X = N.min(X, N.operand("max", T));
  N.result(X);
}

static void arcTangent2(NodeImport &N) {
  auto [Y, X] = operands(N, true);
  if (!X || !Y)
    return N.give();
  Value Zero = N.like(0, X);
  Value Left = N.compare(Predicate::lt, X, Zero);
  Value Down = N.compare(Predicate::lt, Y, Zero);
  Value Base = N.unary<AtanOp>(N.div(Y, X));
  Value Turned = N.add(Base, N.select(Down, N.like(-M_PI, X), N.like(M_PI, X)));
  Value Angle = N.select(Left, Turned, Base);
  // On the axis of x = 0, y = 0 the quotient is no number.
  Value Origin = N.binary<AndOp>(N.compare(Predicate::eq, X, Zero),
                                 N.compare(Predicate::eq, Y, Zero));
  N.result(N.select(Origin, Zero, Angle));
}

/// log(e^a + e^c), or to the base 2.
template <bool Base2> static void logAddExp(NodeImport &N) {
  auto [A, C] = operands(N, true);
  if (!A || !C)
    return N.give();
  double Unit = Base2 ? M_LN2 : 1;
  Value Top = N.max(A, C);
  Value Apart = N.neg(N.unary<AbsOp>(N.sub(A, C)));
  Value Rest = N.unary<Log1pOp>(N.exp(N.mulScalar(Apart, Unit)));
  N.result(N.add(Top, N.mulScalar(Rest, 1 / Unit)));
}

static void hypotenuse(NodeImport &N) {
  auto [A, C] = operands(N, true);
  N.result(N.sqrt(N.add(N.mul(A, A), N.mul(C, C))));
}

static Value logarithm(NodeImport &N, double Base) {
  Value X = N.log(N.asFloat(N.tensor("self")));
  return X ? N.mulScalar(X, 1 / std::log(Base)) : X;
}
static void log2(NodeImport &N) { N.result(logarithm(N, 2)); }
static void log10(NodeImport &N) { N.result(logarithm(N, 10)); }
static void exp2(NodeImport &N) {
  Value X = N.asFloat(N.tensor("self"));
  if (X)
    N.result(N.exp(N.mulScalar(X, M_LN2)));
}

static void logit(NodeImport &N) {
  Value X = N.asFloat(N.tensor("self"));
  if (!X)
    return;
  if (N.has("eps")) {
    double Eps = N.real("eps", 0);
    X = N.min(N.max(X, N.like(Eps, X)), N.like(1 - Eps, X));
  }
  N.result(N.log(N.div(X, N.sub(N.like(1, X), X))));
}

static void roundTo(NodeImport &N) {
  Value X = N.tensor("self");
  double Unit = std::pow(10.0, static_cast<double>(N.integer("decimals", 0)));
  if (X && N.isFloat(X))
    X = N.mulScalar(N.unary<RoundOp>(N.mulScalar(X, Unit)), 1 / Unit);
  N.result(X);
}

static void isNan(NodeImport &N) {
  Value X = N.tensor("self");
  N.result(X && !N.isFloat(X) ? N.full(0, N.dims(X), N.i1())
                              : N.build(IsNanOp::getOperationName(), {X}, {}));
}
/// The other operand where one is no number.
template <typename Op> static void beforeNan(NodeImport &N) {
  auto [A, C] = operands(N);
  Value Y = N.binary<Op>(A, C);
  if (!Y || !N.isFloat(Y))
    return N.result(Y);
  Y = N.select(N.build(IsNanOp::getOperationName(), {A}, {}), C, Y);
  N.result(N.select(N.build(IsNanOp::getOperationName(), {C}, {}), A, Y));
}

template <bool Negative> static void isInfOf(NodeImport &N) {
  Value X = N.tensor("self");
  N.result(X && !N.isFloat(X)
               ? N.full(0, N.dims(X), N.i1())
               : N.compare(Predicate::eq, X,
                           N.like(Negative ? -INFINITY : INFINITY, X)));
}

static void isReal(NodeImport &N) {
  if (Value X = N.tensor("self"))
    N.result(N.full(1, N.dims(X), N.i1()));
}

static void isInf(NodeImport &N) {
  Value X = N.tensor("self");
  N.result(X && !N.isFloat(X) ? N.full(0, N.dims(X), N.i1())
                              : N.build(IsInfOp::getOperationName(), {X}, {}));
}
static void isFinite(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X)
    return;
  if (!N.isFloat(X))
    return N.result(N.full(1, N.dims(X), N.i1()));
  // x - x is NaN for infinities and NaN.
  Value D = N.sub(X, X);
  N.result(N.compare(Predicate::eq, D, D));
}

static void nanToNum(NodeImport &N) {
  Value X = N.tensor("self");
  if (!X || !N.isFloat(X))
    return N.result(X);
  double Most = N.element(X).isF16()    ? 65504.0
                : N.element(X).isBF16() ? 3.3895313892515355e38
                : N.element(X).isF64()  ? 1.7976931348623157e308
                                        : 3.4028234663852886e38;
  Value Nan = N.build(IsNanOp::getOperationName(), {X}, {});
  Value Y = N.select(Nan, N.like(N.real("nan", 0), X), X);
  Value Inf = N.like(INFINITY, X), Low = N.like(-INFINITY, X);
  Y = N.select(N.compare(Predicate::eq, X, Inf),
               N.like(N.real("posinf", Most), X), Y);
  N.result(N.select(N.compare(Predicate::eq, X, Low),
                    N.like(N.real("neginf", -Most), X), Y));
}

static void choose(NodeImport &N) {
  Type T = N.promoted("self", "other");
  if (!T)
    return N.give();
  Value C = N.tensor("condition");
  N.result(
      N.select(N.cast(C, N.i1()), N.operand("self", T), N.operand("other", T)));
}

static void maskedFill(NodeImport &N) {
  Value X = N.tensor("self"), Mask = N.tensor("mask");
  if (X)
    N.result(
        N.select(N.cast(Mask, N.i1()), N.operand("value", N.element(X)), X));
}

template <bool Left> static void shift(NodeImport &N) {
  Value A = N.tensor("self");
  if (!A)
    return;
  Value C = N.operand("other", N.element(A));
  if (Left)
    return N.result(N.binary<ShlOp>(A, C));
  if (isUnsigned(N.element(A)))
    return N.result(N.binary<ShrOp>(A, C));
  // Of signed integers the sign comes in from the left: ~(~a >> c) below 0.
  Value Down = N.notOf(N.binary<ShrOp>(N.notOf(A), C));
  N.result(N.select(N.compare(Predicate::lt, A, N.scalarInt(0, N.element(A))),
                    Down, N.binary<ShrOp>(A, C)));
}

static void crossProductOfLogs(NodeImport &N) {
  auto [A, C] = operands(N, true);
  if (!A || !C)
    return N.give();
  Value Y = N.mul(A, N.log(C));
  N.result(
      N.select(N.compare(Predicate::eq, A, N.like(0, A)), N.like(0, Y), Y));
}

ArrayRef<Rule> elementwiseRules() {
  constexpr InPlace Too = InPlace::Yes;
  static const Rule Rows[] = {
      {"abs.default", number<AbsOp>, Too},
      {"absolute.default", number<AbsOp>, Too},
      {"acos.default", real<AcosOp>, Too},
      {"acosh.default", real<AcoshOp>, Too},
      {"add.Scalar", sum<AddOp>, Too},
      {"add.Tensor", sum<AddOp>, Too},
      {"addcdiv.default", addProduct<true>, Too},
      {"addcmul.default", addProduct<false>, Too},
      {"arccos.default", real<AcosOp>, Too},
      {"arcsin.default", real<AsinOp>, Too},
      {"arctan.default", real<AtanOp>, Too},
      {"arctan2.default", arcTangent2, Too},
      {"asin.default", real<AsinOp>, Too},
      {"asinh.default", real<AsinhOp>, Too},
      {"atan.default", real<AtanOp>, Too},
      {"atan2.default", arcTangent2, Too},
      {"atanh.default", real<AtanhOp>, Too},
      {"__and__.Scalar", binary<AndOp>},
      {"__and__.Tensor", binary<AndOp>},
      {"__lshift__.Scalar", shift<true>},
      {"__lshift__.Tensor", shift<true>},
      {"__or__.Scalar", binary<OrOp>},
      {"__or__.Tensor", binary<OrOp>},
      {"__rshift__.Scalar", shift<false>},
      {"__rshift__.Tensor", shift<false>},
      {"__xor__.Scalar", binary<XorOp>},
      {"__xor__.Tensor", binary<XorOp>},
      {"bitwise_and.Scalar", binary<AndOp>, Too},
      {"bitwise_and.Tensor", binary<AndOp>, Too},
      {"bitwise_left_shift.Tensor", shift<true>, Too},
      {"bitwise_left_shift.Tensor_Scalar", shift<true>, Too},
      {"bitwise_not.default", number<NotOp>, Too},
      {"bitwise_or.Scalar", binary<OrOp>, Too},
      {"bitwise_or.Tensor", binary<OrOp>, Too},
      {"bitwise_right_shift.Tensor", shift<false>, Too},
      {"bitwise_right_shift.Tensor_Scalar", shift<false>, Too},
      {"bitwise_xor.Scalar", binary<XorOp>, Too},
      {"bitwise_xor.Tensor", binary<XorOp>, Too},
      {"ceil.default", rounding<CeilOp>, Too},
      {"clamp.Tensor", clamp, Too},
      {"clamp.default", clamp, Too},
      {"clamp_max.Tensor", clamp, Too},
      {"clamp_max.default", clamp, Too},
      {"clamp_min.Tensor", clamp, Too},
      {"clamp_min.default", clamp, Too},
      {"clip.Tensor", clamp, Too},
      {"clip.default", clamp, Too},
      {"cos.default", real<CosOp>, Too},
      {"cosh.default", real<CoshOp>, Too},
      {"div.Scalar", divide, Too},
      {"div.Scalar_mode", divide, Too},
      {"div.Tensor", divide, Too},
      {"div.Tensor_mode", divide, Too},
      {"divide.Tensor", divide, Too},
      {"eq.Scalar", compare<Predicate::eq>},
      {"eq.Tensor", compare<Predicate::eq>},
      {"erf.default", real<ErfOp>, Too},
      {"exp.default", real<ExpOp>, Too},
      {"exp2.default", exp2, Too},
      {"expm1.default", real<Expm1Op>, Too},
      {"floor.default", rounding<FloorOp>, Too},
      {"floor_divide.Scalar", floorDivision, Too},
      {"floor_divide.default", floorDivision, Too},
      {"fmax.default", beforeNan<MaxOp>},
      {"fmin.default", beforeNan<MinOp>},
      {"fmod.Scalar", binary<RemOp>, Too},
      {"fmod.Tensor", binary<RemOp>, Too},
      {"frac.default", fraction, Too},
      {"ge.Scalar", compare<Predicate::ge>},
      {"ge.Tensor", compare<Predicate::ge>},
      {"greater.Tensor", compare<Predicate::gt>},
      {"greater_equal.Tensor", compare<Predicate::ge>},
      {"gt.Scalar", compare<Predicate::gt>},
      {"gt.Tensor", compare<Predicate::gt>},
      {"hypot.default", hypotenuse, Too},
      {"isfinite.default", isFinite},
      {"isinf.default", isInf},
      {"isnan.default", isNan},
      {"isneginf.default", isInfOf<true>},
      {"isposinf.default", isInfOf<false>},
      {"isreal.default", isReal},
      {"le.Scalar", compare<Predicate::le>},
      {"le.Tensor", compare<Predicate::le>},
      {"lerp.Scalar", interpolate, Too},
      {"lerp.Tensor", interpolate, Too},
      {"less.Tensor", compare<Predicate::lt>},
      {"less_equal.Tensor", compare<Predicate::le>},
      {"log.default", real<LogOp>, Too},
      {"log10.default", log10, Too},
      {"log1p.default", real<Log1pOp>, Too},
      {"log2.default", log2, Too},
      {"logaddexp.default", logAddExp<false>},
      {"logaddexp2.default", logAddExp<true>},
      {"logical_and.default", logical<AndOp>, Too},
      {"logical_not.default", logicalNot, Too},
      {"logical_or.default", logical<OrOp>, Too},
      {"logical_xor.default", logical<XorOp>, Too},
      {"logit.default", logit, Too},
      {"lt.Scalar", compare<Predicate::lt>},
      {"lt.Tensor", compare<Predicate::lt>},
      {"masked_fill.Scalar", maskedFill, Too},
      {"masked_fill.Tensor", maskedFill, Too},
      {"max.other", binary<MaxOp>},
      {"maximum.default", binary<MaxOp>},
      {"min.other", binary<MinOp>},
      {"minimum.default", binary<MinOp>},
      {"mul.Scalar", multiply, Too},
      {"mul.Tensor", multiply, Too},
      {"multiply.Tensor", multiply, Too},
      {"nan_to_num.default", nanToNum, Too},
      {"ne.Scalar", compare<Predicate::ne>},
      {"ne.Tensor", compare<Predicate::ne>},
      {"neg.default", number<NegOp>, Too},
      {"negative.default", number<NegOp>, Too},
      {"not_equal.Tensor", compare<Predicate::ne>},
      {"pow.Scalar", power},
      {"pow.Tensor_Scalar", power, Too},
      {"pow.Tensor_Tensor", power, Too},
      {"reciprocal.default", real<ReciprocalOp>, Too},
      {"remainder.Scalar", binary<ModOp>, Too},
      {"remainder.Scalar_Tensor", binary<ModOp>},
      {"remainder.Tensor", binary<ModOp>, Too},
      {"round.decimals", roundTo, Too},
      {"round.default", rounding<RoundOp>, Too},
      {"special_round.default", roundTo},
      {"special_xlogy.default", crossProductOfLogs},
      {"special_xlogy.other_scalar", crossProductOfLogs},
      {"special_xlogy.self_scalar", crossProductOfLogs},
      {"rsqrt.default", real<RsqrtOp>, Too},
      {"rsub.Scalar", sum<SubOp, true>},
      {"rsub.Tensor", sum<SubOp, true>},
      {"sgn.default", number<SignOp>, Too},
      {"sign.default", number<SignOp>, Too},
      {"sin.default", real<SinOp>, Too},
      {"sinh.default", real<SinhOp>, Too},
      {"sqrt.default", real<SqrtOp>, Too},
      {"square.default", square, Too},
      {"sub.Scalar", sum<SubOp>, Too},
      {"sub.Tensor", sum<SubOp>, Too},
      {"subtract.Tensor", sum<SubOp>, Too},
      {"tan.default", real<TanOp>, Too},
      {"true_divide.Tensor", divide, Too},
      {"trunc.default", truncate, Too},
      {"where.Scalar", choose},
      {"where.ScalarOther", choose},
      {"where.ScalarSelf", choose},
      {"where.self", choose},
      {"xlogy.Scalar_Other", crossProductOfLogs, Too},
      {"xlogy.Scalar_Self", crossProductOfLogs},
      {"xlogy.Tensor", crossProductOfLogs, Too},
  };
  return Rows;
}

} // namespace kpc::torch
