//===- QuantisedPairs.cpp - Quantising and dequantising, read -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/QuantisedPairs.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace {

Type elementOf(Value V) { return typeOf(V).getElementType(); }

bool isWideFloat(Type Ty) {
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(Ty);
}

/// Integers that are codes here: narrower ones are weights.
bool isIntegerCode(Type Ty) {
  return isInteger(Ty) &&
         (Ty.getIntOrFloatBitWidth() == 8 || Ty.getIntOrFloatBitWidth() == 16);
}

int64_t leastOf(Type Ty) {
  return isUnsigned(Ty) ? 0 : -(int64_t(1) << (Ty.getIntOrFloatBitWidth() - 1));
}

int64_t mostOf(Type Ty) {
  return leastOf(Ty) + (int64_t(1) << Ty.getIntOrFloatBitWidth()) - 1;
}

const llvm::fltSemantics &semantics(Type Ty) {
  return cast<FloatType>(Ty).getFloatSemantics();
}

/// `X` rounded to a float type.
double rounded(double X, Type To) {
  llvm::APFloat Number(X);
  bool Loses = false;
  Number.convert(semantics(To), llvm::APFloat::rmNearestTiesToEven, &Loses);
  return Number.convertToDouble();
}

/// Whether a type has exactly this number.
bool has(Type Ty, double X) {
  if (isWideFloat(Ty))
    return rounded(X, Ty) == X;
  return isInteger(Ty) && !isBool(Ty) && X == std::floor(X) &&
         std::abs(X) < 0x1p53 &&
         (Ty.getIntOrFloatBitWidth() > 32 ||
          (X >= double(leastOf(Ty)) && X <= double(mostOf(Ty))));
}

/// The greatest relative error of a number that is rounded to a type.
double errorOf(Type Ty) {
  return std::ldexp(1.0,
                    -int(llvm::APFloat::semanticsPrecision(semantics(Ty))));
}

/// Takes a number that all elements have off a commutative op.
template <typename OpTy> std::optional<double> takeRepeated(Value &V) {
  auto Op = V.getDefiningOp<OpTy>();
  if (!Op)
    return std::nullopt;
  for (auto [Number, Rest] :
       {std::pair(Op.getB(), Op.getA()), std::pair(Op.getA(), Op.getB())})
    if (std::optional<double> Found = repeatedNumber(Number)) {
      V = Rest;
      return Found;
    }
  return std::nullopt;
}

/// Takes casts between wide floats off; `Found` gets what they round to.
void takeRoundings(Value &V, Quantised &Found) {
  while (auto Cast = V.getDefiningOp<CastOp>()) {
    Type From = elementOf(Cast.getX()), To = elementOf(Cast.getY());
    if (!isWideFloat(From) || !isWideFloat(To))
      return;
    Found.Error += errorOf(To);
    if (errorOf(To) > errorOf(Found.Narrowest))
      Found.Narrowest = To;
    V = Cast.getX();
  }
}

/// A number for each element.
Value repeated(OpBuilder &B, Location Loc, TypedAttr Number,
               SymbolicTensorType To) {
  Value One = ConstantOp::create(
      B, Loc,
      DenseElementsAttr::get(RankedTensorType::get({}, Number.getType()),
                             Attribute(Number)));
  return To.getRank() == 0 ? One
                           : BroadcastOp::create(B, Loc, To, One).getResult();
}

} // namespace

std::optional<double> graph::repeatedNumber(Value V) {
  SmallVector<Type> Through;
  while (Operation *Def = V.getDefiningOp()) {
    if (auto Cast = dyn_cast<CastOp>(Def))
      Through.push_back(elementOf(V));
    else if (!isa<BroadcastOp, ReshapeOp>(Def))
      break;
    V = Def->getOperand(0);
  }
  std::optional<double> Number = splatValue(V);
  if (!Number ||
      !llvm::all_of(Through, [&](Type Ty) { return has(Ty, *Number); }))
    return std::nullopt;
  return Number;
}

int64_t CodeScale::least() const { return leastOf(Code); }
int64_t CodeScale::most() const { return mostOf(Code); }

double CodeScale::numberOf(int64_t C) const {
  // The difference has 17 bits and the scale 24: a double holds it exactly, and
  // it is rounded once to f32.
  return rounded(
      rounded(double(C - Zero) * Scale, Float32Type::get(Code.getContext())),
      Number);
}

std::optional<int64_t> CodeScale::codeOf(double X) const {
  double Near = std::nearbyint(X / Scale) + double(Zero);
  if (!(Near >= double(least()) && Near <= double(most())) ||
      numberOf(int64_t(Near)) != X)
    return std::nullopt;
  return int64_t(Near);
}

std::optional<Dequantised> Dequantised::read(Value V) {
  Dequantised Found;
  Found.Number = elementOf(V);
  if (!isWideFloat(Found.Number))
    return std::nullopt;
  if (auto Cast = V.getDefiningOp<CastOp>(); Cast && !Found.Number.isF32())
    V = Cast.getX();
  if (!elementOf(V).isF32())
    return std::nullopt;
  std::optional<double> Scale = takeRepeated<MulOp>(V);
  auto ToFloat = V.getDefiningOp<CastOp>();
  if (!Scale || !(*Scale > 0) || !std::isfinite(*Scale) || !ToFloat)
    return std::nullopt;
  Found.Scale = *Scale;
  V = ToFloat.getX();
  if (elementOf(V).isSignlessInteger(32)) {
    if (auto Less = V.getDefiningOp<SubOp>()) {
      std::optional<double> Zero = repeatedNumber(Less.getB());
      if (!Zero)
        return std::nullopt;
      Found.Zero = int64_t(*Zero);
      V = Less.getA();
    }
    auto Widened = V.getDefiningOp<CastOp>();
    if (!Widened)
      return std::nullopt;
    V = Widened.getX();
  }
  Found.Code = elementOf(V);
  Found.Codes = V;
  // Differences are exact in i32 and f32.
  if (!isIntegerCode(Found.Code) || std::abs(Found.Zero) > 0xffff)
    return std::nullopt;
  return Found;
}

std::optional<Quantised> Quantised::read(Operation *Op) {
  auto Root = dyn_cast<CastOp>(Op);
  if (!Root || !isIntegerCode(elementOf(Root.getY())) ||
      !isWideFloat(elementOf(Root.getX())))
    return std::nullopt;
  Quantised Found;
  Found.Code = elementOf(Root.getY());
  Value V = Root.getX();
  std::optional<double> Highest = takeRepeated<MinOp>(V),
                        Lowest = takeRepeated<MaxOp>(V);
  if (!Highest || !Lowest)
    return std::nullopt;
  Found.Highest = *Highest;
  Found.Lowest = *Lowest;
  if (std::optional<double> Zero = takeRepeated<AddOp>(V)) {
    if (*Zero != std::floor(*Zero) || std::abs(*Zero) > 0xffff)
      return std::nullopt;
    Found.Zero = int64_t(*Zero);
  }
  auto Round = V.getDefiningOp<RoundOp>();
  // Sums of whole numbers of 17 bits are exact.
  if (!Round || errorOf(elementOf(V)) > 0x1p-24)
    return std::nullopt;
  V = Round.getX();
  Found.Narrowest = elementOf(V);
  takeRoundings(V, Found);
  auto Quotient = V.getDefiningOp<DivOp>();
  std::optional<double> Scale =
      Quotient ? repeatedNumber(Quotient.getB()) : std::nullopt;
  if (!Scale || !(*Scale > 0) || !std::isfinite(*Scale))
    return std::nullopt;
  Found.Scale = *Scale;
  Found.Error += errorOf(elementOf(V));
  V = Quotient.getA();
  takeRoundings(V, Found);
  if (repeatedNumber(V))
    return std::nullopt;
  Found.X = V;
  Found.Number = elementOf(V);
  for (Value At = Root.getY(); At != V;) {
    Found.Steps.push_back(At.getDefiningOp());
    At = *llvm::find_if(At.getDefiningOp()->getOperands(),
                        [](Value Operand) { return !repeatedNumber(Operand); });
  }
  return Found;
}

/// With d = code - zero, of at most D in size, all roundings from d * scale to
/// the quotient give d * (1 + e), |e| < E, so `round` gives d where D * E is
/// less than a half. This wants numbers that are not subnormal and do not
/// overflow, as d * scale then has its relative error. d = 0 stays 0, and the
/// sum with the zero point, which is exact, is the code, a number of the type.
/// GPUs divide with an error of two units in the last place: the margin is
/// more than that.
bool Quantised::undoes(const Dequantised &From) const {
  if (!hasCodesOf(From))
    return false;
  double Most = double(std::max(most() - Zero, Zero - least()));
  double E = Error + errorOf(From.Number) + 0x1p-22;
  Type Least =
      errorOf(From.Number) > errorOf(Narrowest) ? From.Number : Narrowest;
  if (Least.isF64())
    Least = Float32Type::get(Code.getContext());
  double Smallest = llvm::APFloat::getSmallestNormalized(semantics(Least))
                        .convertToDouble(),
         Greatest =
             llvm::APFloat::getLargest(semantics(Least)).convertToDouble();
  return Most * E < 0.49 && Scale >= Smallest * 2 &&
         Scale * Most < Greatest / 2 && Most < Greatest / 2 && Scale < 0x1p100;
}

Operation *Quantised::cloneFor(Value Other, OpBuilder &B) const {
  ArrayRef<Expr> Sizes = typeOf(Other).getDims();
  Operation *Last = nullptr;
  for (Operation *Step : llvm::reverse(Steps)) {
    OperationState State(Step->getLoc(), Step->getName());
    for (Value Operand : Step->getOperands()) {
      std::optional<double> Number = repeatedNumber(Operand);
      State.operands.push_back(
          Number ? repeated(B, Step->getLoc(),
                            FloatAttr::get(elementOf(Operand), *Number),
                            typeOf(Operand).withDims(Sizes))
                 : Other);
    }
    State.addTypes(typeOf(Step->getResult(0)).withDims(Sizes));
    State.addAttributes(Step->getAttrs());
    Last = B.create(State);
    Other = Last->getResult(0);
  }
  return Last;
}

Value graph::dequantised(OpBuilder &B, Location Loc, Value Codes,
                         const CodeScale &By) {
  Value Y = CastOp::create(B, Loc, Codes, B.getI32Type());
  if (By.Zero)
    Y = SubOp::create(
        B, Loc, Y,
        repeated(B, Loc, B.getI32IntegerAttr(int32_t(By.Zero)), typeOf(Y)));
  Y = CastOp::create(B, Loc, Y, B.getF32Type());
  Y = MulOp::create(
      B, Loc, Y,
      repeated(B, Loc, B.getF32FloatAttr(float(By.Scale)), typeOf(Y)));
  return By.Number.isF32() ? Y
                           : CastOp::create(B, Loc, Y, By.Number).getResult();
}
