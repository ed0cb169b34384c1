//===- Emitter.cpp - Builds graph ops, checking first ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Emitter.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include <cmath>

using namespace mlir;
using namespace kpc::graph;

namespace kpc::frontend {

std::string typeText(Type T) {
  std::string Text;
  llvm::raw_string_ostream(Text) << T;
  return Text;
}

std::string dimsText(ArrayRef<Expr> D) {
  std::string Text = "[";
  for (size_t I = 0; I < D.size() && I < 16; ++I)
    Text += (I ? ", " : "") + D[I].str();
  return Text + (D.size() > 16 ? ", ...]" : "]");
}

SymbolicTensorType checkedType(ArrayRef<Expr> Sizes, Type Element) {
  MLIRContext *Context = Element.getContext();
  ScopedDiagnosticHandler Quiet(Context,
                                [](mlir::Diagnostic &) { return success(); });
  auto Emit = [&] { return emitError(UnknownLoc::get(Context)); };
  return SymbolicTensorType::getChecked(Emit, Context, Sizes, Element);
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// "'graph.exp' op operand …" without the prefix MLIR puts in front.
static std::string plainMessage(mlir::Diagnostic &D) {
  std::string Text = D.str();
  size_t Op = Text.find("' op ");
  return Op == std::string::npos ? Text : Text.substr(Op + 5);
}

/// Whether a tensor's bytes, where they are a number, can be addressed.
static bool addressable(SymbolicTensorType Ty) {
  constexpr int64_t MostBytes = int64_t(1) << 47;
  Expr Bytes = Ty.getNumElements() * elementBytes(Ty.getElementType());
  return !Bytes.overflowed() && Bytes.asConstant().value_or(0) <= MostBytes;
}

Value Emitter::build(StringRef Name, ArrayRef<Value> Operands,
                     ArrayRef<NamedAttribute> Attributes, Type Result) {
  if (llvm::any_of(Operands, [](Value V) { return !V; }))
    return {};
  std::string Fault;
  ScopedDiagnosticHandler Handler(B.getContext(), [&](mlir::Diagnostic &D) {
    if (Fault.empty() && D.getSeverity() == DiagnosticSeverity::Error)
      Fault = plainMessage(D);
    return success();
  });
  Type Placeholder = Result ? Result : SymbolicTensorType::get({}, f32());
  Operation *Op = Operation::create(
      Loc, OperationName(Name, B.getContext()), {Placeholder}, Operands,
      DictionaryAttr::get(B.getContext(), Attributes),
      OpaqueProperties(nullptr), {}, 0);
  bool Good = true;
  if (!Result) {
    SmallVector<Type> Types;
    auto Infer = dyn_cast<InferTypeOpInterface>(Op);
    Good = Infer &&
           succeeded(Infer.inferReturnTypes(
               B.getContext(), Loc, Op->getOperands(), Op->getAttrDictionary(),
               Op->getPropertiesStorage(), Op->getRegions(), Types));
    if (Good)
      Op->getResult(0).setType(Types.front());
  }
  if (Good)
    Good = succeeded(mlir::verify(Op, /*verifyRecursively=*/false));
  Code Kind = Code::ImportShape;
  if (Good && !addressable(typeOf(Op->getResult(0)))) {
    Good = false;
    Kind = Code::ImportBadDims;
    Fault = "a tensor of " + dimsText(dims(Op->getResult(0))) +
            " is larger than any memory";
  }
  if (!Good) {
    Op->destroy();
    return fail(Kind, Fault.empty() ? "the operands do not fit" : Fault);
  }
  B.insert(Op);
  return Op->getResult(0);
}

Value Emitter::buildSized(StringRef Name, ArrayRef<Value> Operands,
                          ArrayRef<NamedAttribute> Attributes,
                          ArrayRef<Expr> Sizes, Type Element) {
  if (SymbolicTensorType Ty = checkedType(Sizes, Element))
    return build(Name, Operands, Attributes, Ty);
  return fail(Code::ImportBadDims,
              "a tensor of " + dimsText(Sizes) + " is larger than any memory");
}

NamedAttribute Emitter::intAttr(StringRef Name, int64_t V) {
  return B.getNamedAttr(Name, B.getI64IntegerAttr(V));
}

NamedAttribute Emitter::listAttr(StringRef Name, ArrayRef<int64_t> V) {
  return B.getNamedAttr(Name, B.getDenseI64ArrayAttr(V));
}

NamedAttribute Emitter::flagAttr(StringRef Name) {
  return B.getNamedAttr(Name, B.getUnitAttr());
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static Attribute numberAttr(double V, Type Element) {
  if (auto Float = dyn_cast<FloatType>(Element)) {
    APFloat Value(V);
    bool Inexact = false;
    Value.convert(Float.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &Inexact);
    return FloatAttr::get(Element, Value);
  }
  unsigned Bits = Element.getIntOrFloatBitWidth();
  // A range that the value always lies in where rules use it; what is outside
  // saturates rather than being undefined.
  double Limit = std::ldexp(1.0, 63);
  int64_t Whole = std::isnan(V) ? 0
                  : V >= Limit  ? INT64_MAX
                  : V <= -Limit ? INT64_MIN
                                : static_cast<int64_t>(V);
  return IntegerAttr::get(
      Element, APInt(64, static_cast<uint64_t>(Whole)).sextOrTrunc(Bits));
}

Value Emitter::constant(DenseElementsAttr Elements) {
  return build(ConstantOp::getOperationName(), {},
               {B.getNamedAttr("value", Elements)});
}

Value Emitter::scalar(double V, Type Element) {
  auto Ty = RankedTensorType::get({}, Element);
  return constant(DenseElementsAttr::get(Ty, numberAttr(V, Element)));
}

Value Emitter::scalarInt(int64_t V, Type Element) {
  if (graph::isFloat(Element))
    return scalar(static_cast<double>(V), Element);
  auto Ty = RankedTensorType::get({}, Element);
  APInt Bits = APInt(64, static_cast<uint64_t>(V))
                   .sextOrTrunc(Element.getIntOrFloatBitWidth());
  return constant(DenseElementsAttr::get(Ty, IntegerAttr::get(Element, Bits)));
}

Value Emitter::full(double V, ArrayRef<Expr> Sizes, Type Element) {
  return broadcast(scalar(V, Element), Sizes);
}

Value Emitter::intVector(ArrayRef<int64_t> Values, Type Element) {
  SmallVector<Attribute> List;
  for (int64_t V : Values)
    List.push_back(IntegerAttr::get(
        Element, APInt(64, static_cast<uint64_t>(V))
                     .sextOrTrunc(Element.getIntOrFloatBitWidth())));
  auto Ty =
      RankedTensorType::get({static_cast<int64_t>(Values.size())}, Element);
  return constant(DenseElementsAttr::get(Ty, List));
}

Value Emitter::floatVector(ArrayRef<double> Values, Type Element) {
  SmallVector<Attribute> List;
  for (double V : Values)
    List.push_back(numberAttr(V, Element));
  auto Ty =
      RankedTensorType::get({static_cast<int64_t>(Values.size())}, Element);
  return constant(DenseElementsAttr::get(Ty, List));
}

Value Emitter::sizes(ArrayRef<Expr> Values) {
  return build(
      SizesOp::getOperationName(), {},
      {B.getNamedAttr("values", DimsAttr::get(B.getContext(), Values))});
}

Value Emitter::sizeScalar(const Expr &E, Type Element) {
  if (std::optional<int64_t> C = E.asConstant())
    return scalarInt(*C, Element);
  return cast(reshape(sizes({E}), {}), Element);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

Expr Emitter::leftOf(const Expr &A, const Expr &C) {
  std::optional<std::string> NameA = A.asSymbol(), NameC = C.asSymbol();
  return NameA && !(NameC && *NameC > *NameA) ? C : A;
}

/// Whether a size is 0 or 1 whatever its symbols are, as that of a slice of one
/// element is. Ranges do not show it of a difference such as that in x[1:2] of
/// 2*n rows, min(2*n, 2) - min(n, 1): sizes of one symbol are tried. What they
/// leave open a run checks.
static bool isAtMostOne(const Expr &E) {
  if (E.isConstant())
    return false;
  if (shape::Facts().range(E).Max <= 1)
    return true;
  std::set<std::string, std::less<>> Named;
  E.collectSymbols(Named);
  if (Named.size() != 1)
    return false;
  auto Fits = [&](int64_t Size) {
    std::map<std::string, Expr, std::less<>> At = {
        {*Named.begin(), Expr(Size)}};
    std::optional<int64_t> Value = E.substitute(At).asConstant();
    return Value && *Value <= 1;
  };
  constexpr int64_t Tried = 64, Largest = int64_t(1) << 30;
  for (int64_t Size = 1; Size <= Tried; ++Size)
    if (!Fits(Size))
      return false;
  for (int64_t Size = Tried; Size <= Largest; Size *= 2)
    if (!Fits(Size))
      return false;
  return true;
}

bool Emitter::unifyDims(Value A, int64_t I, Value C, int64_t J) {
  const Expr P = dims(A)[static_cast<size_t>(I)],
             Q = dims(C)[static_cast<size_t>(J)];
  return P == Q || unify(P, Q);
}

bool Emitter::unifyBroadcast(const Expr &A, const Expr &C) {
  // A size that may be 0 or 1 nearly always is 1 where it meets another size:
  // it is broadcast, and not taken for an equal one.
  return (isAtMostOne(A) && unify(A, Expr(1))) ||
         (isAtMostOne(C) && unify(C, Expr(1))) || unify(A, C);
}

std::optional<Dims> Emitter::broadcastSizes(ArrayRef<Expr> SizesA,
                                            ArrayRef<Expr> SizesC) {
  Dims A(SizesA), C(SizesC);
  size_t Rank = std::max(A.size(), C.size());
  Dims Result(Rank, Expr(1));
  for (size_t I = 0; I < Rank; ++I) {
    // Aligned at the end; missing sizes are 1.
    Expr SizeA = I + A.size() >= Rank ? A[I + A.size() - Rank] : Expr(1);
    Expr SizeC = I + C.size() >= Rank ? C[I + C.size() - Rank] : Expr(1);
    if (SizeA == SizeC || SizeC == Expr(1)) {
      Result[I] = SizeA;
    } else if (SizeA == Expr(1)) {
      Result[I] = SizeC;
    } else if (unifyBroadcast(SizeA, SizeC)) {
      SizeA = current(SizeA);
      SizeC = current(SizeC);
      Result[I] = SizeC == Expr(1)   ? SizeA
                  : SizeA == Expr(1) ? SizeC
                                     : leftOf(SizeA, SizeC);
      for (Dims *Sizes : {&A, &C, &Result})
        for (Expr &Size : *Sizes)
          Size = current(Size);
    } else {
      fail(Code::ImportShape, "sizes " + dimsText(SizesA) + " and " +
                                  dimsText(SizesC) +
                                  " cannot be broadcast together");
      return std::nullopt;
    }
  }
  return Result;
}

bool Emitter::broadcastAll(llvm::MutableArrayRef<Value> Xs) {
  if (llvm::any_of(Xs, [](Value V) { return !V; }))
    return false;
  Dims Sizes(dims(Xs[0]));
  // Twice: sizes made equal on the way are then seen by all.
  for (int Round = 0; Round < 2; ++Round)
    for (Value X : Xs) {
      std::optional<Dims> Both = broadcastSizes(Sizes, dims(X));
      if (!Both)
        return false;
      Sizes = *Both;
    }
  for (Value &X : Xs) {
    X = broadcast(X, Sizes);
    if (!X)
      return false;
  }
  return true;
}

Value Emitter::elementwise2(StringRef Name, Value A, Value C) {
  Value Xs[] = {A, C};
  if (!broadcastAll(Xs))
    return {};
  if (element(Xs[0]) != element(Xs[1]))
    return fail(Code::ImportElementType,
                "the operands have different element types: " +
                    typeText(element(Xs[0])) + " and " +
                    typeText(element(Xs[1])));
  return build(Name, Xs, {}, Xs[0].getType());
}

Value Emitter::compare(Predicate P, Value A, Value C) {
  Value Xs[] = {A, C};
  if (!broadcastAll(Xs))
    return {};
  return build(
      CompareOp::getOperationName(), Xs,
      {B.getNamedAttr("predicate", PredicateAttr::get(B.getContext(), P))});
}

Value Emitter::select(Value Condition, Value A, Value C) {
  Value Xs[] = {Condition, A, C};
  if (!broadcastAll(Xs))
    return {};
  return build(SelectOp::getOperationName(), Xs, {});
}

Value Emitter::bitcast(Value X, Type Element) {
  return build(BitcastOp::getOperationName(), {X},
               {B.getNamedAttr("to", TypeAttr::get(Element))});
}

Value Emitter::cast(Value X, Type Element) {
  if (!X || !Element)
    return {};
  if (element(X) == Element)
    return X;
  return build(CastOp::getOperationName(), {X},
               {B.getNamedAttr("to", TypeAttr::get(Element))});
}

} // namespace kpc::frontend
