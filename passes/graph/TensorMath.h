//===- TensorMath.h - Arithmetic on tensors of integers ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_TENSORMATH_H
#define KPC_PASSES_GRAPH_TENSORMATH_H

#include "dialects/graph/Graph.h"

namespace kpc::graph {

/// Writes graph ops at a builder's position. A number or a size as an operand
/// is spread to what it meets; other operands are of one type.
class TensorMath {
public:
  using Value = mlir::Value;
  using Expr = shape::Expr;

  TensorMath(mlir::OpBuilder &B, mlir::Location Loc) : B(B), Loc(Loc) {}

  mlir::OpBuilder &builder() { return B; }
  mlir::Location loc() const { return Loc; }
  static llvm::ArrayRef<Expr> dims(Value V) { return typeOf(V).getDims(); }

  /// A number, or a size, as a tensor of the type of `As`.
  Value number(int64_t V, Value As);
  Value size(const Expr &E, Value As);
  Value spread(Value V, llvm::ArrayRef<Expr> Dims);

  template <typename Op> Value binary(Value X, Value Y) {
    return Op::create(B, Loc, X, Y);
  }
  Value add(Value X, Value Y) { return binary<AddOp>(X, Y); }
  Value mul(Value X, Value Y) { return binary<MulOp>(X, Y); }
  Value bitAnd(Value X, Value Y) { return binary<AndOp>(X, Y); }
  Value bitOr(Value X, Value Y) { return binary<OrOp>(X, Y); }
  Value bitXor(Value X, Value Y) { return binary<XorOp>(X, Y); }
  /// Of powers of two: of numbers that are not negative.
  Value dividedBy(Value X, int64_t Power);
  Value restOf(Value X, int64_t Power);
  Value compare(Predicate P, Value X, Value Y);
  Value select(Value Condition, Value X, Value Y);
  Value cast(Value X, mlir::Type To);
  Value bitcast(Value X, mlir::Type To);
  Value iota(llvm::ArrayRef<Expr> Dims, int64_t Axis, mlir::Type Element);
  Value reshape(Value X, llvm::ArrayRef<Expr> Dims);
  /// X with the axis and the last one swapped: the way there and back.
  Value swappedWithLast(Value X, int64_t Axis);
  Value gatherElements(Value X, Value Indices, int64_t Axis);
  /// The first `Count` elements of each row.
  Value firstOfRows(Value X, const Expr &Count);
  Value sum(Value X, int64_t Axis);

private:
  mlir::OpBuilder &B;
  mlir::Location Loc;
};

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_TENSORMATH_H
