//===- KnownValues.h - Values that follow from constants and sizes *- C++ -*-=//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The evaluator of shape arithmetic. Every import rule emits graph ops, so
/// there is one evaluator, of these few ops, for whatever operators a model
/// computes its shapes, pads, axes and scales with. Elements of integers and
/// bools are expressions over the model's sizes. Elements of floats are numbers
/// or quotients of such an expression and a number, so that
/// `cast(floor(cast(height) * 0.5))` is a size again.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_KNOWNVALUES_H
#define KPC_COMPILER_IMPORT_ONNX_KNOWNVALUES_H

#include "compiler/import/WeightStore.h"
#include "compiler/import/onnx/Contents.h"
#include "compiler/import/onnx/Emitter.h"
#include "llvm/ADT/DenseMap.h"

namespace kpc::onnx {

/// One element.
struct KnownElement {
  Expr Whole;          ///< an integer or bool; or of a float the dividend
  int64_t Divisor = 1; ///< of a float whose value depends on sizes
  double Real = 0;     ///< any other float
};

/// All elements of a short tensor whose sizes are numbers.
struct KnownTensor {
  Type Element;
  Ints Dims;
  std::vector<KnownElement> Elements; ///< in row-major order

  bool isFloat() const { return graph::isFloat(Element); }
};

/// Arithmetic on single elements of type `Element`; none where the result is
/// not known, or leaves the type.
class KnownArithmetic {
public:
  KnownArithmetic(const shape::Facts &Facts, Type Element)
      : Facts(Facts), Element(Element), Float(graph::isFloat(Element)) {}

  using Result = std::optional<KnownElement>;
  /// `Op` is that of the graph dialect with this name, as "graph.add".
  Result unary(llvm::StringRef Op, const KnownElement &X) const;
  Result binary(llvm::StringRef Op, const KnownElement &A,
                const KnownElement &C) const;
  std::optional<bool> compare(Predicate P, const KnownElement &A,
                              const KnownElement &C) const;
  Result cast(const KnownElement &X, Type To) const;

private:
  Result whole(const Expr &E) const;
  Result real(double V) const;
  Result ratio(const Expr &Dividend, int64_t Divisor) const;
  Result wholeBinary(llvm::StringRef Op, const Expr &A, const Expr &C) const;
  Result floatBinary(llvm::StringRef Op, const KnownElement &A,
                     const KnownElement &C) const;
  Result ratioBinary(llvm::StringRef Op, const KnownElement &A,
                     const KnownElement &C) const;

  const shape::Facts &Facts;
  Type Element;
  bool Float;
};

class KnownValues {
public:
  KnownValues(const shape::Facts &Facts, const WeightStore &Weights)
      : Facts(Facts), Weights(Weights) {}

  /// The elements; none if they are not known when compiling, or too many.
  std::optional<Contents> contents(mlir::Value V);
  using InputFunction = llvm::function_ref<std::optional<KnownTensor>(Value)>;
  /// The same where `Elements` says what the elements of block arguments are.
  /// Whole floats that depend on sizes are given as integers.
  std::optional<Contents> contentsOfInputs(mlir::Value V,
                                           InputFunction Elements);
  /// Forgets all: ops were erased, or sizes replaced.
  void clear() {
    Seen.clear();
    SeenOfInputs.clear();
  }

private:
  using Result = std::optional<KnownTensor>;
  const Result &of(mlir::Value V, unsigned Depth);
  Result evaluate(mlir::Operation *Op, unsigned Depth);
  Result move(mlir::Operation *Op, ArrayRef<const KnownTensor *> In);
  Result pick(mlir::Operation *Op, ArrayRef<const KnownTensor *> In);
  Result compute(mlir::Operation *Op, ArrayRef<const KnownTensor *> In);
  Result reduce(mlir::Operation *Op, const KnownTensor &X);
  Result weight(graph::WeightOp Op);

  const shape::Facts &Facts;
  const WeightStore &Weights;
  using Memo = llvm::DenseMap<mlir::Value, std::unique_ptr<Result>>;
  Memo Seen, SeenOfInputs;
  const InputFunction *Inputs = nullptr; ///< null: arguments are not known
};

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_KNOWNVALUES_H
