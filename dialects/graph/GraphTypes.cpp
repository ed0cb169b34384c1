//===- GraphTypes.cpp - Types and attributes of graph --------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using kpc::shape::Expr;

//===----------------------------------------------------------------------===//
// Storage: an Expr owns memory, so these are destroyed with the context.
//===----------------------------------------------------------------------===//

static llvm::hash_code hashDims(ArrayRef<Expr> Dims) {
  llvm::hash_code Hash = llvm::hash_value(Dims.size());
  for (const Expr &E : Dims)
    Hash = llvm::hash_combine(Hash, E.hash());
  return Hash;
}

namespace kpc::graph::detail {

struct SymbolicTensorTypeStorage : public TypeStorage {
  using KeyTy = std::pair<ArrayRef<Expr>, Type>;
  SymbolicTensorTypeStorage(ArrayRef<Expr> D, Type E)
      : dims(D.begin(), D.end()), elementType(E) {}
  bool operator==(const KeyTy &Key) const {
    return Key.second == elementType && Key.first == ArrayRef<Expr>(dims);
  }
  static llvm::hash_code hashKey(const KeyTy &Key) {
    return llvm::hash_combine(hashDims(Key.first), Key.second);
  }
  static SymbolicTensorTypeStorage *construct(TypeStorageAllocator &Allocator,
                                              const KeyTy &Key) {
    return new (Allocator.allocate<SymbolicTensorTypeStorage>())
        SymbolicTensorTypeStorage(Key.first, Key.second);
  }
  KeyTy getAsKey() const { return {dims, elementType}; }

  std::vector<Expr> dims;
  Type elementType;
};

struct DimsAttrStorage : public AttributeStorage {
  using KeyTy = ArrayRef<Expr>;
  explicit DimsAttrStorage(ArrayRef<Expr> D) : dims(D.begin(), D.end()) {}
  bool operator==(const KeyTy &Key) const {
    return Key == ArrayRef<Expr>(dims);
  }
  static llvm::hash_code hashKey(const KeyTy &Key) { return hashDims(Key); }
  static DimsAttrStorage *construct(AttributeStorageAllocator &Allocator,
                                    const KeyTy &Key) {
    return new (Allocator.allocate<DimsAttrStorage>()) DimsAttrStorage(Key);
  }
  KeyTy getAsKey() const { return dims; }

  std::vector<Expr> dims;
};

} // namespace kpc::graph::detail

#define GET_TYPEDEF_CLASSES
#include "dialects/graph/GraphTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/graph/GraphAttributes.cpp.inc"

namespace kpc::graph {

ArrayRef<Expr> SymbolicTensorType::getDims() const { return getImpl()->dims; }
Type SymbolicTensorType::getElementType() const {
  return getImpl()->elementType;
}
ArrayRef<Expr> DimsAttr::getDims() const { return getImpl()->dims; }

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// dims ::= `[` (integer | name | string) (`,` …)* `]`
static ParseResult parseDims(AsmParser &Parser, SmallVectorImpl<Expr> &Dims) {
  return Parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        int64_t Number;
        OptionalParseResult Parsed = Parser.parseOptionalInteger(Number);
        if (Parsed.has_value()) {
          Dims.push_back(Expr(Number));
          return *Parsed;
        }
        std::string Text;
        StringRef Keyword;
        SMLoc Loc = Parser.getCurrentLocation();
        if (succeeded(Parser.parseOptionalString(&Text))) {
          std::string Error;
          std::optional<Expr> E = Expr::parse(Text, &Error);
          if (!E)
            return Parser.emitError(Loc) << "bad size expression: " << Error;
          Dims.push_back(*E);
          return success();
        }
        if (failed(Parser.parseKeyword(&Keyword)))
          return Parser.emitError(Loc, "expected a size: a number, a symbol, "
                                       "or an expression in quotes");
        Dims.push_back(Expr::symbol(Keyword.str()));
        return success();
      });
}

static bool isPlainName(StringRef Text) {
  return !Text.empty() && !llvm::isDigit(Text.front()) &&
         llvm::all_of(Text,
                      [](char C) { return llvm::isAlnum(C) || C == '_'; });
}

static void printDims(AsmPrinter &Printer, ArrayRef<Expr> Dims) {
  Printer << '[';
  llvm::interleaveComma(Dims, Printer, [&](const Expr &E) {
    std::string Text = E.str();
    if (E.asConstant() || isPlainName(Text))
      Printer << Text;
    else
      Printer.printString(Text);
  });
  Printer << ']';
}

Type SymbolicTensorType::parse(AsmParser &Parser) {
  SmallVector<Expr> Dims;
  Type Element;
  if (Parser.parseLess() || parseDims(Parser, Dims) || Parser.parseComma() ||
      Parser.parseType(Element) || Parser.parseGreater())
    return {};
  return Parser.getChecked<SymbolicTensorType>(Parser.getContext(),
                                               ArrayRef<Expr>(Dims), Element);
}

void SymbolicTensorType::print(AsmPrinter &Printer) const {
  Printer << '<';
  printDims(Printer, getDims());
  Printer << ", " << getElementType() << '>';
}

Attribute DimsAttr::parse(AsmParser &Parser, Type) {
  SmallVector<Expr> Dims;
  if (Parser.parseLess() || parseDims(Parser, Dims) || Parser.parseGreater())
    return {};
  return get(Parser.getContext(), Dims);
}

void DimsAttr::print(AsmPrinter &Printer) const {
  Printer << '<';
  printDims(Printer, getDims());
  Printer << '>';
}

//===----------------------------------------------------------------------===//
// Meaning
//===----------------------------------------------------------------------===//

bool isFloat(Type Element) {
  return Element.isF32() || Element.isF64() || Element.isF16() ||
         Element.isBF16();
}

bool isInteger(Type Element) {
  auto Int = dyn_cast<IntegerType>(Element);
  return Int && llvm::is_contained({1u, 8u, 16u, 32u, 64u}, Int.getWidth()) &&
         !Int.isSigned();
}

bool isBool(Type Element) { return Element.isSignlessInteger(1); }

bool isNumber(Type Element) {
  return isFloat(Element) || (isInteger(Element) && !isBool(Element));
}

bool isUnsigned(Type Element) {
  return isBool(Element) || Element.isUnsignedInteger();
}

bool isFp8(Type Element) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(Element);
}

bool isInt8(Type Element) {
  return isInteger(Element) && Element.getIntOrFloatBitWidth() == 8;
}

bool isCode(Type Element) { return isFp8(Element) || isInt8(Element); }

bool isFactor(Type Element) { return isNumber(Element) || isFp8(Element); }

bool isScale(Type Element) {
  return isFloat(Element) || (isNarrowFloat(Element) && !isSubByte(Element));
}

bool isNarrowFloat(Type Element) {
  return isa<Float8E4M3FNType, Float8E4M3FNUZType, Float8E5M2Type,
             Float8E5M2FNUZType, Float8E8M0FNUType, Float4E2M1FNType>(Element);
}

bool isNarrowInteger(Type Element) {
  auto Int = dyn_cast<IntegerType>(Element);
  return Int && (Int.getWidth() == 4 || Int.getWidth() == 2) && !Int.isSigned();
}

bool isSubByte(Type Element) {
  return isa<Float4E2M1FNType>(Element) || isNarrowInteger(Element);
}

Type storedType(Type Element) {
  if (isNarrowFloat(Element) || isNarrowInteger(Element))
    return IntegerType::get(Element.getContext(), 8);
  if (auto Int = dyn_cast<IntegerType>(Element))
    return IntegerType::get(Int.getContext(), Int.getWidth());
  return Element;
}

int64_t elementBytes(Type Element) {
  return (Element.getIntOrFloatBitWidth() + 7) / 8;
}

bool SymbolicTensorType::hasStaticShape() const {
  return llvm::all_of(getDims(), [](const Expr &E) { return E.isConstant(); });
}

Expr SymbolicTensorType::getNumElements() const {
  Expr Product(1);
  for (const Expr &E : getDims())
    Product = Product * E;
  return Product;
}

/// Whether the bytes that the sizes known as numbers ask for can be counted. A
/// size of 0 does not excuse the others: strides are their products.
static bool fitsAddresses(ArrayRef<Expr> Dims, int64_t Bytes) {
  Expr Product(Bytes);
  for (const Expr &E : Dims) {
    std::optional<int64_t> N = E.asConstant();
    if (N && *N > 0 && llvm::MulOverflow(Bytes, *N, Bytes))
      return false;
    Product = Product * E;
  }
  return !Product.overflowed();
}

LogicalResult
SymbolicTensorType::verify(function_ref<InFlightDiagnostic()> EmitError,
                           ArrayRef<Expr> Dims, Type Element) {
  if (!graph::isFloat(Element) && !graph::isInteger(Element) &&
      !isNarrowFloat(Element) && !isNarrowInteger(Element))
    return EmitError() << "element type " << Element
                       << " is none of f16, bf16, f32, f64, i1, i8…i64, "
                          "ui8…ui64, i2, i4, ui2, ui4, f4E2M1FN, f8E4M3FN, "
                          "f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU";
  for (const Expr &E : Dims) {
    if (E.overflowed())
      return EmitError() << "a size leaves the range of 64-bit integers";
    if (std::optional<int64_t> N = E.asConstant(); N && *N < 0)
      return EmitError() << "size " << *N << " is negative";
  }
  if (!fitsAddresses(Dims, graph::elementBytes(Element)))
    return EmitError() << "a tensor of more than 2^63 bytes";
  return success();
}

void GraphDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/graph/GraphTypes.cpp.inc"
      >();
}

void GraphDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/graph/GraphAttributes.cpp.inc"
      >();
}

} // namespace kpc::graph
