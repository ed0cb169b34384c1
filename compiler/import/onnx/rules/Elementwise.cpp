//===- Elementwise.cpp - Import of arithmetic -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"

using namespace kpc::graph;

namespace kpc::onnx {

template <typename Op> static void importBinary(NodeImport &N) {
  auto [A, C] = N.operands();
  if (!N.bad())
    N.result(0, N.binary<Op>(A, C));
}

template <typename Op> static void importUnary(NodeImport &N) {
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (!N.bad())
    N.result(0, N.unary<Op>(X));
}

/// Operations that floats round, floor and so on, and integers do not need.
template <typename Op> static void importRounding(NodeImport &N) {
  N.expectInputs(1, 1);
  Value X = N.input(0);
  if (!N.bad())
    N.result(0, N.isFloat(X) ? N.unary<Op>(X) : X);
}

static void importAbs(NodeImport &N) {
  Value X = N.input(0);
  if (!N.bad())
    N.result(0, isUnsigned(N.element(X)) ? X : N.unary<AbsOp>(X));
}

/// A power that products give, as norms and GELU are spelled with; null for
/// others. pow itself takes ten times as long.
static Value plainPower(NodeImport &N, Value X, Value Power) {
  std::optional<double> P = graph::splatValue(Power);
  if (!P || !N.isFloat(X) || N.rank(Power) > N.rank(X) ||
      !llvm::all_of(N.dims(Power), [](const Expr &E) { return E == Expr(1); }))
    return {};
  if (*P == 2)
    return N.mul(X, X);
  if (*P == 3)
    return N.mul(N.mul(X, X), X);
  return {};
}

static void importPow(NodeImport &N) {
  auto [A, C] = N.operands();
  if (N.bad())
    return;
  Type Base = N.element(A), Power = N.element(C);
  // The result has the base's type; a float power of an integer is computed
  // in float.
  if (!isFloat(Base) && isFloat(Power))
    N.result(0, N.cast(N.binary<PowOp>(N.cast(A, Power), C), Base));
  else if (Value Plain = plainPower(N, A, C))
    N.result(0, Plain);
  else
    N.result(0, N.binary<PowOp>(A, N.cast(C, Base)));
}

/// The remainder with the divisor's sign, exact: the quotient is not rounded.
static Value floorMod(NodeImport &N, Value A, Value C) {
  Value Rest = N.binary<RemOp>(A, C);
  if (!Rest)
    return {};
  Value Zero = N.like(0, Rest);
  Value Below = N.compare(Predicate::lt, C, Zero);
  Value Signs = N.binary<XorOp>(N.compare(Predicate::lt, Rest, Zero), Below);
  Value Moved = N.select(Signs, N.add(Rest, C), Rest);
  Value SignedZero = N.select(Below, N.like(-0.0, Rest), Zero);
  return N.select(N.compare(Predicate::eq, Rest, Zero), SignedZero, Moved);
}

static void importMod(NodeImport &N) {
  bool Fmod = N.flagAttribute("fmod");
  auto [A, C] = N.operands();
  if (N.bad())
    return;
  if (Fmod)
    N.result(0, N.binary<RemOp>(A, C));
  else if (!N.isFloat(A))
    N.result(0, N.binary<ModOp>(A, C));
  else if (N.opset() >= 28)
    N.result(0, floorMod(N, A, C));
  else
    N.fail(Code::ImportAttributeValue,
           "attribute 'fmod' must be 1 for floating point operands");
}

/// Signed integers keep their sign: of a negative number the complement, which
/// is not negative, is shifted.
static Value shiftRight(NodeImport &N, Value A, Value C) {
  Value Shifted = N.binary<ShrOp>(A, C);
  if (isUnsigned(N.element(A)))
    return Shifted;
  Value Kept = N.unary<NotOp>(N.binary<ShrOp>(N.unary<NotOp>(A), C));
  return N.select(N.compare(Predicate::lt, A, N.like(0, A)), Kept, Shifted);
}

static void importBitShift(NodeImport &N) {
  std::string Direction = N.stringAttribute("direction", "");
  auto [A, C] = N.operands();
  if (N.bad())
    return;
  if (Direction == "LEFT")
    N.result(0, N.binary<ShlOp>(A, C));
  else if (Direction == "RIGHT")
    N.result(0, shiftRight(N, A, C));
  else
    N.fail(Code::ImportAttributeValue, "attribute 'direction' is '" +
                                           printable(Direction) +
                                           "', but should be LEFT or RIGHT");
}

/// Max, Min, Sum, Mean of any number of operands.
template <typename Op> static Value variadic(NodeImport &N) {
  N.expectInputs(1, 1 << 20);
  Value Result;
  for (size_t I = 0; I < N.inputCount() && !N.bad(); ++I) {
    Value X = N.input(I);
    Result = I == 0 ? X : N.binary<Op>(Result, X);
  }
  return Result;
}

template <typename Op> static void importVariadic(NodeImport &N) {
  Value Result = variadic<Op>(N);
  if (!N.bad())
    N.result(0, Result);
}

static void importMean(NodeImport &N) {
  Value Sum = variadic<AddOp>(N);
  if (!N.bad())
    N.result(0, N.div(Sum, N.like(static_cast<double>(N.inputCount()), Sum)));
}

static void importIsNan(NodeImport &N) {
  Value X = N.input(0);
  if (!N.bad())
    N.result(0, N.build(IsNanOp::getOperationName(), {X}, {}));
}

static void importIsInf(NodeImport &N) {
  bool Negative = N.flagAttribute("detect_negative", true);
  bool Positive = N.flagAttribute("detect_positive", true);
  Value X = N.input(0);
  if (N.bad())
    return;
  mlir::OpBuilder &B = N.builder();
  N.result(0, N.build(IsInfOp::getOperationName(), {X},
                      {B.getNamedAttr("negative", B.getBoolAttr(Negative)),
                       B.getNamedAttr("positive", B.getBoolAttr(Positive))}));
}

ArrayRef<Rule> elementwiseRules() {
  static const Rule Rows[] = {
      {"", "Add", 1, Newest, importBinary<AddOp>},
      {"", "Sub", 1, Newest, importBinary<SubOp>},
      {"", "Mul", 1, Newest, importBinary<MulOp>},
      {"", "Div", 1, Newest, importBinary<DivOp>},
      {"", "Pow", 1, Newest, importPow},
      {"", "Mod", 10, Newest, importMod},
      {"", "Max", 1, Newest, importVariadic<MaxOp>},
      {"", "Min", 1, Newest, importVariadic<MinOp>},
      {"", "Sum", 1, Newest, importVariadic<AddOp>},
      {"", "Mean", 1, Newest, importMean},
      {"", "And", 1, Newest, importBinary<AndOp>},
      {"", "Or", 1, Newest, importBinary<OrOp>},
      {"", "Xor", 1, Newest, importBinary<XorOp>},
      {"", "BitwiseAnd", 18, Newest, importBinary<AndOp>},
      {"", "BitwiseOr", 18, Newest, importBinary<OrOp>},
      {"", "BitwiseXor", 18, Newest, importBinary<XorOp>},
      {"", "BitwiseNot", 18, Newest, importUnary<NotOp>},
      {"", "BitShift", 11, Newest, importBitShift},
      {"", "Not", 1, Newest, importUnary<NotOp>},
      {"", "Abs", 1, Newest, importAbs},
      {"", "Neg", 1, Newest, importUnary<NegOp>},
      {"", "Sign", 9, Newest, importUnary<SignOp>},
      {"", "Ceil", 1, Newest, importRounding<CeilOp>},
      {"", "Floor", 1, Newest, importRounding<FloorOp>},
      {"", "Round", 11, Newest, importRounding<RoundOp>},
      {"", "Sqrt", 1, Newest, importUnary<SqrtOp>},
      {"", "Reciprocal", 1, Newest, importUnary<ReciprocalOp>},
      {"", "Exp", 1, Newest, importUnary<ExpOp>},
      {"", "Log", 1, Newest, importUnary<LogOp>},
      {"", "Sin", 7, Newest, importUnary<SinOp>},
      {"", "Cos", 7, Newest, importUnary<CosOp>},
      {"", "Tan", 7, Newest, importUnary<TanOp>},
      {"", "Asin", 7, Newest, importUnary<AsinOp>},
      {"", "Acos", 7, Newest, importUnary<AcosOp>},
      {"", "Atan", 7, Newest, importUnary<AtanOp>},
      {"", "Sinh", 9, Newest, importUnary<SinhOp>},
      {"", "Cosh", 9, Newest, importUnary<CoshOp>},
      {"", "Tanh", 1, Newest, importUnary<TanhOp>},
      {"", "Asinh", 9, Newest, importUnary<AsinhOp>},
      {"", "Acosh", 9, Newest, importUnary<AcoshOp>},
      {"", "Atanh", 9, Newest, importUnary<AtanhOp>},
      {"", "Erf", 9, Newest, importUnary<ErfOp>},
      {"", "IsNaN", 9, Newest, importIsNan},
      {"", "IsInf", 10, Newest, importIsInf},
  };
  return Rows;
}

} // namespace kpc::onnx
