//===- MakeCodes.h - Codes of floats, and which ops get them ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the passes share that quantise: the type that each GEMM or convolution
/// is to multiply, and the arithmetic that makes codes and scales.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_MAKECODES_H
#define KPC_PASSES_GRAPH_MAKECODES_H

#include "compiler/target/Target.h"
#include "passes/graph/Calibration.h"

namespace kpc::graph {

enum class CodeType { None, Int8, Fp8 };

/// The greatest number of E4M3, and of integers with a sign and without one.
constexpr double GreatestFp8 = 448, GreatestInt8 = 127, GreatestUInt8 = 255;

/// "int8", "fp8", or "none".
std::optional<CodeType> codeTypeNamed(llvm::StringRef Name);
llvm::StringRef codeTypeName(CodeType Type);

/// What a target does with codes.
enum class CodeUse {
  None,       ///< products stay as they are
  Multiplied, ///< Tensor Cores multiply them
  Rounded,    ///< values are rounded to codes, and multiplied as floats
};

/// "none", "multiplied" or "rounded".
std::optional<CodeUse> codeUseNamed(llvm::StringRef Name);

/// Which GEMMs and convolutions are quantised, and how.
class CodePolicy {
public:
  struct Options {
    llvm::StringRef Base;            ///< int8, fp8 or none
    llvm::ArrayRef<std::string> For; ///< REGEX=TYPE, the last that matches
    llvm::StringRef Int8, Fp8;       ///< none, multiplied or rounded
    bool Wgmma = true;               ///< multiplies FP8
    /// With wgmma, whose cost models are asked whether FP8 pays.
    llvm::ArrayRef<std::string> Targets = {};
  };
  /// An error at `Func` for what is none of these.
  static mlir::FailureOr<CodePolicy> read(const Options &From,
                                          mlir::func::FuncOp Func);

  /// The type that is asked for; the product's own `graph.precision` first.
  CodeType typeOf(mlir::Operation *Product) const;
  CodeUse useOf(CodeType Type) const;
  /// Why the product stays as it is, as a clause; empty: it gets codes.
  std::string refusal(mlir::Operation *Product) const;
  /// The same of a GEMM whose weight alone is to get codes, which a kernel of
  /// few rows reads.
  std::string refusalOfWeight(MatmulOp Product) const;

private:
  /// Whether `--precision-for`, or a type for each layer, names its type.
  bool isNamed(mlir::Operation *Product) const;
  /// The part that no cost model is asked for.
  llvm::StringRef incapable(mlir::Operation *Product) const;

  CodeType Base = CodeType::None;
  TypesByName For;
  CodeUse Int8 = CodeUse::None, Fp8 = CodeUse::None;
  bool Wgmma = true;
  llvm::SmallVector<const target::Target *> Targets;
  shape::Facts Facts;
};

struct Codes {
  /// The scale is a scalar, or in the dims of `Of`, 1 along those summed up.
  mlir::Value Of, Scale;
};

/// Codes of f32 values, with a scale for each line along `Summed`, found of
/// the values.
Codes codesOfLines(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value X,
                   llvm::ArrayRef<int64_t> Summed, CodeType Type);

/// How one constant scale spells values as codes: (code - Zero) * Step.
struct ConstantScale {
  double Step = 0;
  int64_t Zero = 0;
  bool IsUnsigned = false; ///< codes are 0 to 255, else -127 to 127

  /// `MayHaveZero`: the product takes a zero point. A range that reaches far
  /// to one side of 0 gets one.
  static ConstantScale of(const OperandStatistics &Of, CodeType Type,
                          bool MayHaveZero);
};

/// The same with one scale that is known. What is beyond is clipped.
Codes codesInRange(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value X,
                   const ConstantScale &By, CodeType Type);

/// `Product` times a scalar and the scales of a weight's columns, which are
/// multiplied when compiling.
mlir::Value scaledBoth(mlir::OpBuilder &B, mlir::Value Product,
                       mlir::Value Scalar, mlir::Value OfColumns);

/// Remarks on a GEMM or convolution. `Known`: by a scale of calibration.
void tellOfCodes(mlir::Operation *Op, CodeType Type, bool Known);
void tellOfRefusal(mlir::Operation *Op, llvm::StringRef Why);

mlir::Value asF32(mlir::OpBuilder &B, mlir::Location Loc, mlir::Value V);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_MAKECODES_H
