//===- WeightCodes.h - Weights as codes of 4 bits ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the passes share that quantise weights alone: which GEMMs they take,
/// codes with a scale and a zero point for each group of K and column, and the
/// ops that stand for them. MatMulNBits has the same form.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_WEIGHTCODES_H
#define KPC_PASSES_GRAPH_WEIGHTCODES_H

#include "passes/graph/ProductWeights.h"

namespace kpc::graph {

/// Of a product whose operand has been divided: the factor of each channel.
constexpr llvm::StringLiteral DividedAttr = "graph.divided";

/// Which GEMMs get weights of codes.
class WeightPolicy {
public:
  /// The GEMMs of a model's graph that are to have codes, in order; of another
  /// function none. Fails after an error at `Func` where the options are wrong.
  static mlir::FailureOr<llvm::SmallVector<MatmulOp>>
  productsOf(mlir::func::FuncOp Func, llvm::StringRef Base,
             llvm::ArrayRef<std::string> For, unsigned Group);

private:
  /// `Base` and the types of `For` are int4, or something else that leaves the
  /// weight as it is. An error at `Func` for what is no REGEX=TYPE, or for a
  /// group that kernels do not take.
  static mlir::FailureOr<WeightPolicy> read(llvm::StringRef Base,
                                            llvm::ArrayRef<std::string> For,
                                            unsigned Group,
                                            mlir::func::FuncOp Func);
  bool wants(mlir::Operation *Product) const;

  std::string Base;
  TypesByName For;
};

/// The power of a product, and of what codes of its weight add, where channels
/// of the operand are independent.
struct CodeError {
  double Signal = 0, Noise = 0;

  double decibels() const;
};

/// A weight as codes from 0 to 15, [N, K], which stand for
/// (code - zero) * scale. Threads share the columns, and the result is the same
/// for any number of them.
struct GroupCodes {
  int64_t K = 0, N = 0, Group = 0;
  std::vector<float> Scales;         ///< [N, groups]
  std::vector<uint8_t> Zeros, Codes; ///< [N, groups], [N, K]
  CodeError Error;                   ///< of the nearest codes

  /// Each number becomes the nearest code, where of each group's range the part
  /// is taken that has the least square error. `Power`: the mean square of what
  /// each row of K is multiplied by; all the same where it is empty.
  static GroupCodes of(const ProductWeights &W, int64_t Group,
                       llvm::ArrayRef<float> Power);

  /// The error of such codes of whole ranges, of rows times `Factors`.
  static CodeError errorOf(const ProductWeights &W, int64_t Group,
                           llvm::ArrayRef<float> Factors,
                           llvm::ArrayRef<float> Power);

  int64_t groups() const { return llvm::divideCeil(K, Group); }
  uint8_t nearest(int64_t Row, int64_t Column, float Number) const;
  float value(int64_t Row, int64_t Column) const;
};

/// The mean square of each channel as calibration knows it; empty: unknown.
std::vector<float> powerOf(mlir::Operation *Product, const ProductWeights &W);

/// The numbers of a GEMM's weight, which have to be finite: an error at the
/// GEMM else. None where they are not known, which is a remark.
mlir::FailureOr<std::optional<ProductWeights>>
finiteWeights(MatmulOp Product, const WeightReader &Read);

/// The GEMM reads the codes from now on.
void readCodes(MatmulOp Product, const GroupCodes &Codes,
               const WeightWriter &Write);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_WEIGHTCODES_H
