//===- MakeCodes.cpp - Codes of floats, and which ops get them ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/MakeCodes.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeCosts.h"
#include "passes/graph/CodeProducts.h"
#include "passes/graph/TargetNames.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

/// What is taken for the greatest magnitude of zeros: its quotients are finite.
static constexpr double Least = 1e-30;

std::optional<CodeType> graph::codeTypeNamed(StringRef Name) {
  return llvm::StringSwitch<std::optional<CodeType>>(Name)
      .Case("none", CodeType::None)
      .Case("int8", CodeType::Int8)
      .Case("fp8", CodeType::Fp8)
      .Default(std::nullopt);
}

StringRef graph::codeTypeName(CodeType Type) {
  return Type == CodeType::Int8  ? "int8"
         : Type == CodeType::Fp8 ? "fp8"
                                 : "none";
}

std::optional<CodeUse> graph::codeUseNamed(StringRef Name) {
  return llvm::StringSwitch<std::optional<CodeUse>>(Name)
      .Case("none", CodeUse::None)
      .Case("multiplied", CodeUse::Multiplied)
      .Case("rounded", CodeUse::Rounded)
      .Default(std::nullopt);
}

FailureOr<CodePolicy> CodePolicy::read(const Options &From, func::FuncOp Func) {
  CodePolicy Read;
  auto Base = codeTypeNamed(From.Base);
  auto Int8 = codeUseNamed(From.Int8), Fp8 = codeUseNamed(From.Fp8);
  if (!Base)
    return Func.emitError()
           << "expected none, int8 or fp8, got '" << From.Base << "'";
  if (!Int8 || !Fp8)
    return Func.emitError() << "expected none, multiplied or rounded, got '"
                            << (Int8 ? From.Fp8 : From.Int8) << "'";
  Read.Base = *Base;
  Read.Int8 = *Int8;
  Read.Fp8 = *Fp8;
  Read.Wgmma = From.Wgmma;
  Read.Facts = symbolFacts(Func->getParentOfType<ModuleOp>());
  FailureOr<TypesByName> For = TypesByName::read(From.For, Func);
  auto Targets = targetsNamed(From.Targets, Func);
  if (failed(For) || failed(Targets))
    return failure();
  Read.For = std::move(*For);
  Read.Targets = std::move(*Targets);
  return Read;
}

CodeType CodePolicy::typeOf(Operation *Product) const {
  return codeTypeNamed(For.typeOf(Product, codeTypeName(Base)))
      .value_or(CodeType::None);
}

CodeUse CodePolicy::useOf(CodeType Type) const {
  return Type == CodeType::Int8  ? Int8
         : Type == CodeType::Fp8 ? Fp8
                                 : CodeUse::None;
}

bool CodePolicy::isNamed(Operation *Product) const {
  return !For.typeOf(Product, "").empty();
}

std::string CodePolicy::refusal(Operation *Product) const {
  std::string Why = incapable(Product).str();
  if (!Why.empty() || typeOf(Product) != CodeType::Fp8 || isNamed(Product))
    return Why;
  return slowerAsFp8(Product, Facts, Targets);
}

std::string CodePolicy::refusalOfWeight(MatmulOp Product) const {
  // Fewer bytes are read in less than a quarter of a microsecond.
  constexpr int64_t LeastNumbers = 1 << 19;
  if (typeOf(Product) == CodeType::None)
    return "it is to stay as it is";
  if (StringRef Why = refusalOfTiles(Product, Facts); !Why.empty())
    return Why.str();
  std::optional<int64_t> Numbers =
      graph::typeOf(Product.getB()).getNumElements().asConstant();
  if (!Numbers || (*Numbers < LeastNumbers && !isNamed(Product)))
    return "its weight is small";
  return "";
}

StringRef CodePolicy::incapable(Operation *Product) const {
  CodeType Type = typeOf(Product);
  auto Conv = dyn_cast<ConvOp>(Product);
  if (Type == CodeType::None)
    return "it is to stay as it is";
  if (useOf(Type) == CodeUse::None)
    return "the target does not multiply such codes";
  if (Conv && !statisticsOf(Conv))
    return "no calibration has the range of its input";
  if (Conv)
    return Type == CodeType::Int8 ? refusalOfInt8(Conv, Facts)
                                  : refusalOfFp8(Conv, Facts);
  if (auto Attention = dyn_cast<AttentionOp>(Product))
    return Type == CodeType::Int8 ? "no kernel of attention has integers"
                                  : refusalOfFp8(Attention, Facts);
  auto Gemm = cast<MatmulOp>(Product);
  return Type == CodeType::Int8 ? refusalOfInt8(Gemm, Facts)
                                : refusalOfFp8(Gemm, Facts, Wgmma);
}

Value graph::asF32(OpBuilder &B, Location Loc, Value V) {
  Type F32 = B.getF32Type();
  return typeOf(V).getElementType() == F32 ? V : CastOp::create(B, Loc, V, F32);
}

Codes graph::codesOfLines(OpBuilder &B, Location Loc, Value X,
                          ArrayRef<int64_t> Summed, CodeType Type) {
  bool Int8 = Type == CodeType::Int8;
  double Greatest = Int8 ? GreatestInt8 : GreatestFp8;
  mlir::Type To = Int8 ? mlir::Type(B.getI8Type())
                       : mlir::Type(Float8E4M3FNType::get(B.getContext()));
  SymbolicTensorType Ty = typeOf(X);
  SmallVector<Expr> Ones(Ty.getDims());
  for (int64_t Dim : Summed)
    Ones[Dim] = Expr(1);
  SymbolicTensorType Lines = Ty.withDims(Ones);
  auto All = [&](double V) -> Value {
    return BroadcastOp::create(B, Loc, Lines, scalar(B, Loc, V));
  };
  Value Most = ReduceOp::create(B, Loc, ReduceKind::max,
                                AbsOp::create(B, Loc, X), Summed);
  Most =
      MaxOp::create(B, Loc, ReshapeOp::create(B, Loc, Lines, Most), All(Least));
  Value Factor = DivOp::create(B, Loc, All(Greatest), Most);
  Value Q = MulOp::create(B, Loc, X, BroadcastOp::create(B, Loc, Ty, Factor));
  // FP8 is rounded by its cast.
  if (Int8)
    Q = RoundOp::create(B, Loc, Q);
  return {CastOp::create(B, Loc, Q, To),
          MulOp::create(B, Loc, Most, All(1 / Greatest))};
}

ConstantScale ConstantScale::of(const OperandStatistics &Of, CodeType Type,
                                bool MayHaveZero) {
  // Steps of FP8 shrink with the values: to clip great ones gains nothing.
  if (Type == CodeType::Fp8)
    return {std::max(Of.magnitude(), Least) / GreatestFp8, 0, false};
  double Range = std::max(Of.Range, Least);
  if (Of.isUnsigned())
    return {Range / GreatestUInt8, 0, true};
  // A zero point costs a vector in the epilogue: it has to gain two bits in
  // five.
  constexpr double MostOfStep = 0.75;
  double Low = std::max(Of.Least, -Range),
         High = std::max(0.0, std::min(Of.Greatest, Range)),
         Step = std::max(High - Low, Least) / GreatestUInt8;
  if (!MayHaveZero || Step > MostOfStep * Range / GreatestInt8)
    return {Range / GreatestInt8, 0, false};
  return {Step, int64_t(std::nearbyint(-Low / Step)), true};
}

Codes graph::codesInRange(OpBuilder &B, Location Loc, Value X,
                          const ConstantScale &By, CodeType Type) {
  SymbolicTensorType Ty = typeOf(X);
  auto All = [&](double V) -> Value {
    return BroadcastOp::create(B, Loc, Ty, scalar(B, Loc, V));
  };
  Value Q = MulOp::create(B, Loc, X, All(1 / By.Step));
  mlir::Type To;
  if (Type == CodeType::Int8) {
    // The cast saturates.
    if (By.Zero)
      Q = AddOp::create(B, Loc, Q, All(double(By.Zero)));
    Q = RoundOp::create(B, Loc, Q);
    To =
        By.IsUnsigned ? B.getIntegerType(8, /*isSigned=*/false) : B.getI8Type();
  } else {
    Q = MinOp::create(B, Loc, Q, All(GreatestFp8));
    Q = MaxOp::create(B, Loc, Q, All(-GreatestFp8));
    To = Float8E4M3FNType::get(B.getContext());
  }
  return {CastOp::create(B, Loc, Q, To), scalar(B, Loc, By.Step)};
}

Value graph::scaledBoth(OpBuilder &B, Value Product, Value Scalar,
                        Value OfColumns) {
  Location Loc = Product.getLoc();
  Value All = BroadcastOp::create(B, Loc, typeOf(OfColumns), Scalar);
  return scaled(B, Product, Value(), MulOp::create(B, Loc, OfColumns, All));
}

static StringRef kindOf(Operation *Op) {
  return isa<ConvOp>(Op)        ? "A convolution"
         : isa<AttentionOp>(Op) ? "An attention"
                                : "A GEMM";
}

void graph::tellOfCodes(Operation *Op, CodeType Type, bool Known) {
  bool Int8 = Type == CodeType::Int8;
  remark::passed(
      Op->getLoc(),
      remark::RemarkOpts::name(codeTypeName(Type)).category("quantisation"))
      << kindOf(Op).str() << " multiplies " << (Int8 ? "8-bit integers" : "FP8")
      << (Known ? ", with a scale from calibration and one for each column."
                : ", with a scale for each row and column.");
}

void graph::tellOfRefusal(Operation *Op, StringRef Why) {
  remark::missed(Op->getLoc(),
                 remark::RemarkOpts::name("refused").category("quantisation"))
      << kindOf(Op).str() << " is not quantised, because " << Why.str() << ".";
}
