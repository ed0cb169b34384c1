//===- Emitter.h - Builds graph ops, checking first -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Import rules build graph ops through this. Every method takes null values
/// and then returns null, so that a rule can be written straight through: the
/// first fault is reported, what follows from it is not. Nothing is built that
/// the dialect's own checks refuse; then their text becomes the diagnostic.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_EMITTER_H
#define KPC_COMPILER_IMPORT_EMITTER_H

#include "compiler/diagnostics/Diagnostics.h"
#include "dialects/graph/Graph.h"

namespace kpc::frontend {

using graph::Predicate;
using graph::ReduceKind;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Type;
using mlir::Value;
using shape::Expr;
using Dims = SmallVector<Expr>;
using Ints = SmallVector<int64_t>;

/// "f32", "ui8"
std::string typeText(Type T);
/// "[batch, 3]"
std::string dimsText(ArrayRef<Expr> D);
/// The type, or null where the dialect's verifier would refuse it.
graph::SymbolicTensorType checkedType(ArrayRef<Expr> Sizes, Type Element);

class Emitter {
public:
  Emitter(mlir::OpBuilder &B, mlir::Location Loc) : B(B), Loc(Loc) {}
  virtual ~Emitter() = default;

  //===--- what a value is ------------------------------------------------===//
  static ArrayRef<Expr> dims(Value V) { return graph::typeOf(V).getDims(); }
  static int64_t rank(Value V) { return graph::typeOf(V).getRank(); }
  static Type element(Value V) { return graph::typeOf(V).getElementType(); }
  static bool isFloat(Value V) { return graph::isFloat(element(V)); }
  Type f32() { return B.getF32Type(); }
  Type i64() { return B.getI64Type(); }
  Type i32() { return B.getI32Type(); }
  Type i1() { return B.getI1Type(); }

  //===--- constants ------------------------------------------------------===//
  /// A rank-0 constant, rounded to the type.
  Value scalar(double V, Type Element);
  Value scalarInt(int64_t V, Type Element);
  /// `V` repeated.
  Value full(double V, ArrayRef<Expr> Sizes, Type Element);
  /// `V` as a scalar of x's element type.
  Value like(double V, Value X) { return X ? scalar(V, element(X)) : X; }
  Value constant(mlir::DenseElementsAttr Elements);
  Value intVector(ArrayRef<int64_t> Values, Type Element);
  Value floatVector(ArrayRef<double> Values, Type Element);

  //===--- elementwise; operands are broadcast as numpy does --------------===//
  template <typename Op> Value unary(Value X) {
    return build(Op::getOperationName(), {X}, {}, X ? X.getType() : Type());
  }
  template <typename Op> Value binary(Value A, Value C) {
    return elementwise2(Op::getOperationName(), A, C);
  }
  Value add(Value A, Value C) { return binary<graph::AddOp>(A, C); }
  Value sub(Value A, Value C) { return binary<graph::SubOp>(A, C); }
  Value mul(Value A, Value C) { return binary<graph::MulOp>(A, C); }
  Value div(Value A, Value C) { return binary<graph::DivOp>(A, C); }
  Value min(Value A, Value C) { return binary<graph::MinOp>(A, C); }
  Value max(Value A, Value C) { return binary<graph::MaxOp>(A, C); }
  Value bitAnd(Value A, Value C) { return binary<graph::AndOp>(A, C); }
  Value exp(Value X) { return unary<graph::ExpOp>(X); }
  Value log(Value X) { return unary<graph::LogOp>(X); }
  Value sqrt(Value X) { return unary<graph::SqrtOp>(X); }
  Value neg(Value X) { return unary<graph::NegOp>(X); }
  Value notOf(Value X) { return unary<graph::NotOp>(X); }
  Value compare(Predicate P, Value A, Value C);
  Value select(Value Condition, Value A, Value C);
  Value cast(Value X, Type Element);
  Value bitcast(Value X, Type Element);
  Value addScalar(Value X, double V) { return add(X, like(V, X)); }
  Value mulScalar(Value X, double V) { return mul(X, like(V, X)); }

  //===--- movement -------------------------------------------------------===//
  Value broadcast(Value X, ArrayRef<Expr> Sizes);
  /// The sizes numpy's rules give; empty optional after a report.
  std::optional<Dims> broadcastSizes(ArrayRef<Expr> A, ArrayRef<Expr> C);
  Value reshape(Value X, ArrayRef<Expr> Sizes);
  Value transpose(Value X, ArrayRef<int64_t> Perm);
  /// Inserts sizes of 1 so that they stand at `Axes` of the result.
  Value unsqueeze(Value X, ArrayRef<int64_t> Axes);
  Value slice(Value X, ArrayRef<Expr> Starts, ArrayRef<int64_t> Steps,
              ArrayRef<Expr> Sizes);
  /// `Count` elements from `Start` of one axis.
  Value sliceAxis(Value X, int64_t Axis, const Expr &Start, const Expr &Count,
                  int64_t Step = 1);
  Value reverse(Value X, int64_t Axis);
  Value concat(ArrayRef<Value> Xs, int64_t Axis);
  Value pad(Value X, Value Filler, ArrayRef<int64_t> Low,
            ArrayRef<int64_t> High, ArrayRef<int64_t> Interior);
  Value gather(Value X, Value Indices, int64_t Axis);
  Value gatherElements(Value X, Value Indices, int64_t Axis);
  Value gatherNd(Value X, Value Indices, int64_t BatchDims);
  Value scatterElements(graph::ScatterKind K, Value X, Value Indices,
                        Value Updates, int64_t Axis);
  Value scatterNd(graph::ScatterKind K, Value X, Value Indices, Value Updates);
  Value iota(ArrayRef<Expr> Sizes, int64_t Axis, Type Element);
  /// The sizes as an i64 vector.
  Value sizes(ArrayRef<Expr> Values);

  //===--- reductions -----------------------------------------------------===//
  Value reduce(ReduceKind K, Value X, ArrayRef<int64_t> Axes,
               bool KeepDims = false);
  Value mean(Value X, ArrayRef<int64_t> Axes, bool KeepDims = false);
  Value argReduce(ReduceKind K, Value X, int64_t Axis, bool SelectLast);
  Value cumsum(Value X, int64_t Axis, bool Exclusive, bool Reverse);
  /// The first `Count` elements along an axis in order, and the i64 indices
  /// that they had: as graph.sort. Null values after a report.
  struct Order {
    Value Elements, Indices;
  };
  Order sort(Value X, int64_t Axis, bool Descending, const Expr &Count);
  /// How many elements of an ascending vector are less than each value, or with
  /// `Right` not greater.
  Value searchSorted(Value Sorted, Value Values, bool Right = false);
  Value window(ReduceKind K, Value X, ArrayRef<int64_t> Window,
               ArrayRef<int64_t> Stride, ArrayRef<int64_t> Dilation,
               ArrayRef<int64_t> Low, ArrayRef<int64_t> High);
  /// With numpy's rules for ranks and batch sizes.
  Value matmul(Value A, Value C);
  /// Channels last, as graph.conv.
  Value conv(Value X, Value W, ArrayRef<int64_t> Stride,
             ArrayRef<int64_t> Dilation, ArrayRef<int64_t> Low,
             ArrayRef<int64_t> High, int64_t Groups);
  /// X is [N, spatial..., C], W is [spatial..., C, O/Groups]; `Low` and `High`
  /// are cut off the full result.
  Value convTranspose(Value X, Value W, ArrayRef<int64_t> Stride,
                      ArrayRef<int64_t> Dilation, ArrayRef<int64_t> Low,
                      ArrayRef<int64_t> High, int64_t Groups);
  /// exp(x - max) / sum, or its logarithm, along axes.
  Value softmax(Value X, ArrayRef<int64_t> Axes, bool Logarithm);
  /// A size as a scalar.
  Value sizeScalar(const Expr &E, Type Element);

  /// Builds and checks any op; the result type is inferred where none is given.
  Value build(llvm::StringRef Name, ArrayRef<Value> Operands,
              ArrayRef<mlir::NamedAttribute> Attributes, Type Result = {});
  mlir::NamedAttribute intAttr(llvm::StringRef Name, int64_t V);
  mlir::NamedAttribute listAttr(llvm::StringRef Name, ArrayRef<int64_t> V);
  mlir::NamedAttribute flagAttr(llvm::StringRef Name);

  /// The same for a type made of sizes; reports those that no tensor can have.
  Value buildSized(llvm::StringRef Name, ArrayRef<Value> Operands,
                   ArrayRef<mlir::NamedAttribute> Attributes,
                   ArrayRef<Expr> Sizes, Type Element);

  /// Reports a fault of the node; returns null for use in a return.
  virtual Value fail(Code C, std::string Message) = 0;
  /// Two sizes that must be equal but are not known to be. True if they may be
  /// taken as equal from here on.
  virtual bool unify(const Expr &A, const Expr &C) = 0;
  /// The same of dim `I` of one value and dim `J` of another.
  bool unifyDims(Value A, int64_t I, Value C, int64_t J);
  /// A size as it is after all that unify() replaced.
  virtual Expr current(const Expr &E) const = 0;
  /// The one of two such sizes that stands for both from then on: of two names
  /// the earlier, else what is no name.
  static Expr leftOf(const Expr &A, const Expr &C);

  mlir::OpBuilder &builder() { return B; }
  mlir::Location loc() const { return Loc; }

protected:
  mlir::OpBuilder &B;
  mlir::Location Loc;

private:
  /// For two sizes that broadcast: one that is 0 or 1 is taken to be 1.
  bool unifyBroadcast(const Expr &A, const Expr &C);
  Value inTypeOf(Value Factor, Value Sum);
  Value elementwise2(llvm::StringRef Name, Value A, Value C);
  bool broadcastAll(llvm::MutableArrayRef<Value> Xs);
};

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_EMITTER_H
