//===- KernelWriter.h - Writes one kernel in linalg form -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the lowerings of graph ops share while a region becomes a kernel: the
/// builder, the kernel's sizes as SSA values, and short ways to write
/// linalg.generic ops.
///
/// Inside a kernel 16-bit floats are held as f32: they are widened where a
/// buffer is read and rounded where one is written, so a chain of ops rounds
/// once. Unsigned integers are signless; the ops know the sign from the graph
/// types.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_GRAPH_LINALG_KERNELWRITER_H
#define KPC_PASSES_GRAPH_LINALG_KERNELWRITER_H

#include "dialects/graph/Graph.h"
#include "passes/graph/LeadingDimensions.h"

namespace kpc::graph {

class KernelWriter {
public:
  /// Starts the kernel of `Region` in front of the builder's position.
  KernelWriter(mlir::OpBuilder &B, RegionOp Region, llvm::StringRef Symbol,
               const shape::Facts &Facts, const LeadingDimensions &Rows);

  /// Lowers the body; emits an error at the op that has no lowering.
  mlir::LogicalResult write();

  mlir::func::FuncOp kernel() const { return Kernel; }
  /// The size expression of each `index` argument, in order.
  llvm::ArrayRef<shape::Expr> sizes() const { return Sizes; }

  //===--------------------------------------------------------------------===//
  // For the lowerings
  //===--------------------------------------------------------------------===//

  mlir::OpBuilder &builder() { return B; }
  mlir::Location loc() const { return CurrentLoc; }

  /// The tensor that holds a graph value.
  mlir::Value tensor(mlir::Value GraphValue) const {
    return Tensors.lookup(GraphValue);
  }

  /// The region's argument seen with its columns, the last dimension, as
  /// several dimensions: those of `Ty` behind the first.
  mlir::Value inSplitColumns(mlir::BlockArgument Argument,
                             SymbolicTensorType Ty);

  /// A size as an `index` value: a constant or an argument of the kernel.
  mlir::Value size(const shape::Expr &E);
  /// Where a part of a tensor starts, at most `Most`: as `size`. Where the
  /// kernel is one of many that cut one tensor (`Split`), a constant is an
  /// argument as well, so that one kernel serves all.
  mlir::Value offset(const shape::Expr &Start, const shape::Expr &Most);
  /// Whether sizes that name the loop's counter can be computed from the step's
  /// number: those that grow by one number from step to step.
  static bool followsCounter(const shape::Expr &E, llvm::StringRef Counter);
  /// Until leaveLoop, sizes that name `Counter` are computed from `Step`.
  void enterLoop(llvm::StringRef Counter, mlir::Value Step);
  void leaveLoop() { Counter.clear(); }
  /// Lowers the ops of a block, but for its terminator.
  mlir::LogicalResult writeOps(mlir::Block &Body);
  void bind(mlir::Value GraphValue, mlir::Value Tensor) {
    Tensors[GraphValue] = Tensor;
  }
  /// From here on `E` is the size `E - More` and an addition rather than an
  /// argument of its own, so that who reads the kernel sees how they differ.
  void deriveSize(const shape::Expr &E, int64_t More);
  llvm::SmallVector<mlir::Value> sizes(SymbolicTensorType Ty);
  mlir::Value index(int64_t Value);

  /// The element type that stands for a graph element type inside a kernel.
  mlir::Type computeType(mlir::Type Element) const;
  mlir::RankedTensorType tensorType(SymbolicTensorType Ty) const;

  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                              mlir::ValueRange Elements)>;
  /// A generic whose every iterator is parallel and makes one element of `Ty`;
  /// operand i is read through Maps[i].
  mlir::Value map(SymbolicTensorType Ty, mlir::ValueRange Operands,
                  llvm::ArrayRef<mlir::AffineMap> Maps, Body Compute);
  /// The same without operands: the body is given the indices of its element.
  mlir::Value produce(SymbolicTensorType Ty, Body Compute);

  /// A generic that folds over `Loops`. The first rank(Ty) of its iterators are
  /// parallel and make the element, the others, with sizes `Reduced`, run over
  /// what is combined. `Combine` is given the operands' elements, then the
  /// accumulator.
  mlir::Value reduce(SymbolicTensorType Ty, llvm::ArrayRef<mlir::Value> Reduced,
                     mlir::ValueRange Operands,
                     llvm::ArrayRef<mlir::AffineMap> Maps, mlir::Value Initial,
                     Body Combine);
  /// `X` of type `Ty` with elements `Outside` in front of each dim and behind
  /// it; `Ty` becomes the type of that. `X` where there are none.
  mlir::Value surrounded(mlir::Value X, SymbolicTensorType &Ty,
                         llvm::ArrayRef<int64_t> Low,
                         llvm::ArrayRef<int64_t> High, mlir::TypedAttr Outside);
  /// A tensor of the sizes of `Ty`, to be written.
  mlir::Value empty(SymbolicTensorType Ty);
  /// The same, every element `Scalar`.
  mlir::Value filled(SymbolicTensorType Ty, mlir::Value Scalar);

  /// The indices of a generic's element; call inside a body.
  llvm::SmallVector<mlir::Value> indices(mlir::OpBuilder &B, int64_t Count);

private:
  mlir::LogicalResult writeCustom(CustomOp Op);
  /// An argument for `E`, also where it is a number or is there already.
  mlir::Value sizeArgument(const shape::Expr &E);
  bool isOneOfMany();
  void markRowSquares();
  void bindInput(mlir::Value Argument, SymbolicTensorType In,
                 mlir::Value Buffer);
  void storeOutput(mlir::Value Tensor, SymbolicTensorType Ty,
                   SymbolicTensorType In, mlir::Value Buffer);
  /// As deriveSize, of a product.
  void deriveProduct(const shape::Expr &E, mlir::OpFoldResult A,
                     mlir::OpFoldResult C);
  mlir::Value view(mlir::Value Base, SymbolicTensorType Ty,
                   SymbolicTensorType Stored, unsigned RowDims = 1);
  mlir::Value read(mlir::Value View, SymbolicTensorType Ty);

  mlir::OpBuilder &B;
  RegionOp Region;
  const shape::Facts &Facts;
  const LeadingDimensions &Rows;
  mlir::func::FuncOp Kernel;
  mlir::Location CurrentLoc;
  /// Of images, whose builders must see which strides are products of sizes.
  bool HasConv = false;
  std::string Counter; ///< of the loop that is written; empty: of none
  mlir::Value Step;
  llvm::DenseMap<mlir::Value, mlir::Value> Tensors;
  llvm::SmallVector<shape::Expr> Sizes;
  std::map<shape::Expr, mlir::Value> SizeArgument;
};

/// (d0, …, d(Loops-1)) -> (d0, …, d(Count-1)); Count may be 0.
mlir::AffineMap leadingDims(unsigned Loops, unsigned Count,
                            mlir::MLIRContext *Context);

/// Each lowers one op of its family; failure where the op is of another.
mlir::FailureOr<mlir::Value> lowerElementwise(mlir::Operation *Op,
                                              KernelWriter &W);
mlir::FailureOr<mlir::Value> lowerMovement(mlir::Operation *Op,
                                           KernelWriter &W);
mlir::FailureOr<mlir::Value> lowerScatter(mlir::Operation *Op, KernelWriter &W);
mlir::FailureOr<mlir::Value> lowerOrder(mlir::Operation *Op, KernelWriter &W);
mlir::FailureOr<mlir::Value> lowerReduction(mlir::Operation *Op,
                                            KernelWriter &W);
mlir::FailureOr<mlir::Value> lowerContraction(mlir::Operation *Op,
                                              KernelWriter &W);
mlir::FailureOr<mlir::Value> lowerAttention(mlir::Operation *Op,
                                            KernelWriter &W);
mlir::FailureOr<mlir::Value> lowerQuantised(mlir::Operation *Op,
                                            KernelWriter &W);

/// Whether a reshape splits a product's columns alone, whose right side is an
/// input or codes in tiles: then it is lowered with the GEMM, as one in its
/// loops.
bool splitsColumns(ReshapeOp Op);
/// Whether nothing but such reshapes reads the GEMM.
bool isSplitLater(MatmulOp Op);
/// What the tiles hold, [K, columns…]; their sizes make all columns.
mlir::Value lowerTiles(DequantiseTilesOp Op,
                       llvm::ArrayRef<shape::Expr> Columns, KernelWriter &W);

/// The element that changes nothing under `Kind`: 0, 1, or an end of the range.
mlir::Value neutral(mlir::OpBuilder &B, mlir::Location Loc, ReduceKind Kind,
                    mlir::Type Compute, bool Unsigned);
/// `A` combined with `B` under `Kind`; NaN wins.
mlir::Value combine(mlir::OpBuilder &B, mlir::Location Loc, ReduceKind Kind,
                    mlir::Value A, mlir::Value Other, bool Unsigned);

} // namespace kpc::graph

#endif // KPC_PASSES_GRAPH_LINALG_KERNELWRITER_H
