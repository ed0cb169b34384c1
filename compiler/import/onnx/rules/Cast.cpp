//===- Cast.cpp - Import of conversions -----------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/Rules.h"
#include "compiler/import/onnx/rules/Convert.h"

namespace kpc::onnx {

Rounding roundingOf(NodeImport &N) {
  Rounding How;
  How.Saturates = N.intAttribute("saturate", 1) != 0;
  std::string Mode = N.stringAttribute("round_mode", "up");
  if (Mode == "down")
    How.Of = Rounding::Mode::Down;
  else if (Mode == "nearest")
    How.Of = Rounding::Mode::Nearest;
  else if (Mode != "up")
    N.fail(Code::ImportAttributeValue, "attribute 'round_mode' is '" + Mode +
                                           "', expected up, down or nearest");
  return How;
}

/// The nearest power of two in the direction that is asked for, as bits of f32
/// whose mantissa is zero.
static Value toExponent(NodeImport &N, Value X, Rounding How) {
  constexpr int64_t Infinity = 0x7f800000, Greatest = 0x7f000000;
  Type Word = mlir::IntegerType::get(N.builder().getContext(), 32,
                                     mlir::IntegerType::Unsigned);
  auto Number = [&](int64_t V) { return N.scalarInt(V, Word); };
  Value Bits = N.bitAnd(N.bitcast(X, Word), Number(0x7fffffff));
  Value Added = Number(How.Of == Rounding::Mode::Up     ? 0x7fffff
                       : How.Of == Rounding::Mode::Down ? 0
                                                        : 0x400000);
  // ONNX leaves 2^-127, which is half way between zero and the least normal
  // number of f32, where it is.
  if (How.Of == Rounding::Mode::Nearest)
    Added = N.select(N.compare(Predicate::eq, Bits, Number(0x400000)),
                     Number(0), Added);
  Value Power = N.bitAnd(N.add(Bits, Added), Number(Infinity));
  if (How.Saturates)
    Power = N.min(Power, Number(Greatest));
  Power = N.select(N.compare(Predicate::ge, Bits, Number(Infinity)),
                   Number(Infinity), Power);
  return N.bitcast(Power, N.f32());
}

Value convert(NodeImport &N, Value X, Type To, Rounding How) {
  if (!X || !graph::isNarrowFloat(To) || N.element(X) == To)
    return N.cast(X, To);
  bool IsExponent = mlir::isa<mlir::Float8E8M0FNUType>(To);
  if (!N.isFloat(X) || IsExponent)
    X = N.cast(X, N.f32());
  if (IsExponent)
    return N.cast(toExponent(N, X, How), To);
  if (How.Saturates && !graph::isSubByte(To)) {
    double Most = llvm::APFloat::getLargest(
                      mlir::cast<mlir::FloatType>(To).getFloatSemantics())
                      .convertToDouble();
    // By selects, which leave the sign of a NaN alone; min and max of a GPU do
    // not.
    Value High = N.like(Most, X), Low = N.like(-Most, X);
    X = N.select(N.compare(Predicate::gt, X, High), High, X);
    X = N.select(N.compare(Predicate::lt, X, Low), Low, X);
  }
  return N.cast(X, To);
}

static void importCast(NodeImport &N) {
  N.expectInputs(1, 1);
  int64_t To = N.requiredInt("to");
  Rounding How = roundingOf(N);
  Value X = N.input(0);
  if (N.bad())
    return;
  std::optional<ElementType> Type = elementType(To);
  mlir::Type Element =
      Type ? graphType(N.builder().getContext(), *Type) : mlir::Type();
  if (!Element && Type == ElementType::String)
    N.fail(Code::ImportElementType,
           "makes texts of " + typeText(N.element(X)) +
               ", and kpc takes strings only where they select or label",
           "make the numbers an output, and format them outside");
  else if (!Element)
    N.fail(Code::ImportElementType,
           "casts to " + elementTypeName(static_cast<ElementType>(To)) +
               ", which kpc cannot compute with");
  else
    N.result(0, convert(N, X, Element, How));
}

static void importCastLike(NodeImport &N) {
  N.expectInputs(2, 2);
  Rounding How = roundingOf(N);
  Value X = N.input(0), Like = N.input(1);
  if (!N.bad())
    N.result(0, convert(N, X, N.element(Like), How));
}

/// The same bits as another type of as many bits. A bool is a byte of 0 or 1.
static void importBitCast(NodeImport &N) {
  N.expectInputs(1, 1);
  int64_t To = N.requiredInt("to");
  Value X = N.input(0);
  if (N.bad())
    return;
  std::optional<ElementType> Type = elementType(To);
  mlir::Type Element =
      Type ? graphType(N.builder().getContext(), *Type) : mlir::Type();
  if (!Element) {
    N.fail(Code::ImportElementType,
           "reads bits as " + elementTypeName(static_cast<ElementType>(To)) +
               ", which kpc cannot compute with");
    return;
  }
  mlir::Type From = N.element(X);
  auto Width = [](mlir::Type T) {
    return graph::isBool(T) ? 8u : T.getIntOrFloatBitWidth();
  };
  if (Width(From) != Width(Element)) {
    N.fail(Code::ImportElementType, "reads bits of " + typeText(From) + " as " +
                                        typeText(Element) +
                                        "; both types should be as wide");
    return;
  }
  if (From == Element)
    return N.result(0, X);
  if (Width(From) < 8) {
    N.unsupported("reads bits of " + typeText(From) + " as " +
                  typeText(Element) + "; kpc does so from 8 bits on");
    return;
  }
  mlir::Type Byte = N.builder().getIntegerType(8, /*isSigned=*/false);
  if (graph::isBool(From))
    X = N.cast(X, Byte);
  if (graph::isBool(Element)) {
    Value Bits = N.element(X) == Byte ? X : N.bitcast(X, Byte);
    return N.result(0, N.compare(Predicate::ne, Bits, N.like(0, Bits)));
  }
  N.result(0, N.element(X) == Element ? X : N.bitcast(X, Element));
}

ArrayRef<Rule> castRules() {
  static const Rule Rows[] = {
      {"", "Cast", 1, Newest, importCast,
       "no strings, complex numbers, float6"},
      {"", "CastLike", 15, Newest, importCastLike},
      {"", "BitCast", 26, Newest, importBitCast, "types of 8 bits and more"},
  };
  return Rows;
}

} // namespace kpc::onnx
