//===- GemmMatch.h - A contraction as a GEMM --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What builders for tensor cores ask of a kernel: whether its root is a GEMM
/// of operands in memory, with one stride for each dimension. Several loops for
/// rows (such as a batch and a sequence) count as one if they are contiguous in
/// every operand.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_GEMMMATCH_H
#define KPC_PASSES_KERNELS_GPU_GEMM_GEMMMATCH_H

#include "passes/kernels/gpu/gemm/GpuContractionTile.h"
#include "passes/kernels/gpu/gemm/PickedMatrix.h"

#include "dialects/shape/Facts.h"

namespace kpc::kernels {

/// What TMA asks of strides, in bytes.
inline constexpr int64_t TmaStrideBytes = 16;
/// Rows or columns of the result; with fewer, instructions of matrices are
/// mostly idle, and families of reductions take the kernel.
inline constexpr int64_t FewestForMma = 8;
/// Why families of GEMMs refuse a kernel.
inline constexpr const char *NoGemm = "it is no GEMM of matrices in memory";
inline constexpr const char *TooFewForMma =
    "the result has too few rows or columns";

/// What some of the batch's loops step through in a matrix.
struct BatchDim {
  shape::Expr Stride, Size;
  /// Those loops, by their places in the batch; none: all of it.
  llvm::SmallVector<unsigned> Places;
  /// Not the batch index itself steps, but what it picks.
  std::optional<MatrixPick> Pick = {};
};

/// A matrix in memory, or one for each batch index. Strides in elements.
struct Matrix {
  mlir::Value Memref;
  unsigned Argument = 0; ///< the function's, the base pointer
  mlir::Type Element;    ///< as stored
  shape::Expr RowStride, ColumnStride;
  /// Where the matrix of a batch index is: dimensions in which it moves, from
  /// the outermost on. A matrix that serves a whole batch has none.
  llvm::SmallVector<BatchDim> Batches;
  /// Which matrix of a stack each batch index has; the stack is the memory.
  std::optional<MatrixPick> Pick = {};

  /// What loads give: integers without a sign.
  mlir::Type storedElement() const {
    return mlir::cast<mlir::MemRefType>(Memref.getType()).getElementType();
  }
};

/// The memory behind a tensor, through casts that tensor cores make themselves;
/// null where there is none.
mlir::Value memoryOf(mlir::Value Tensor);
/// Fills in where `Memref` is; false where it is no plain view of an argument.
bool placeMatrix(Matrix &M, mlir::Value Memref);
/// The same of an operand's memory, also through transposes: `Map`, from loops
/// to the tensor's indices, becomes that to the memory's. Elements of 8 bits,
/// which lie there as integers without a sign, have their own type. With
/// `Picked` the memory may be a stack that indices pick from.
bool placeOperand(Matrix &M, mlir::Value Tensor, mlir::AffineMap &Map,
                  bool Picked = false);

/// D = A·B, then what the kernel does with each element of it. Each matrix may
/// have a batch of its own, so that others serve it again: loops of rows or
/// columns that have no single stride with the others are part of the batch.
struct GemmMatch {
  Contraction C;
  shape::Facts Facts;
  shape::Expr M, N, K, Batch;
  Matrix A; ///< M × K
  Matrix B; ///< K × N
  Matrix D; ///< M × N
  /// Each element of D also reads the element of another matrix at its place: a
  /// residual.
  bool ReadsAtResult = false;
  /// The residual, where there is one alone that lies in memory as D does.
  struct ResidualMatrix {
    mlir::Value Tensor; ///< as the epilogue reads it
    Matrix M;
  };
  std::optional<ResidualMatrix> Residual = {};
  /// Bytes of its elements where TMA can copy it, else 0: its rows begin at
  /// multiples of 16 bytes.
  int64_t stagedBytes() const;
  /// A vector in memory with an element for each column of D, which all rows
  /// read: a bias, scales.
  struct ColumnVector {
    mlir::Value Tensor; ///< as the epilogue reads it
    unsigned Argument;  ///< the function's, the base pointer
    mlir::Type Element; ///< as stored
  };
  llvm::SmallVector<ColumnVector> ColumnVectors = {};
  /// Tensors of which all elements of D read the same one: a scale.
  llvm::SmallVector<mlir::Value> Scalars = {};
  /// B as codes in tiles, with scales and zero points of blocks along K; then
  /// `B` is not set.
  struct TiledCodes {
    Matrix Tiles, Scales; ///< scales are [blocks of K, N]
    std::optional<Matrix> Zeros;
    int64_t Bits = 0, Block = 0, Offset = 0;
    mlir::Type Number = {}; ///< of codes that are floats: E4M3 or E5M2

    /// The codes that make B, [K, N].
    static std::optional<TiledCodes> read(const Contraction &C);
    /// Whether both are copied and multiplied alike; offsets may differ.
    bool isLike(const TiledCodes &Other) const;
  };
  /// A second GEMM of the same A, whose elements meet those of the first at
  /// their places: a gated MLP.
  struct DualGemm {
    Contraction C;
    Matrix B;
    std::optional<TiledCodes> Codes; ///< like the first's
  };
  std::optional<DualGemm> Second = {};
  std::optional<TiledCodes> Codes = {};
  /// RoPE: element j of a row of D also reads accumulator j ± RotateHalf. 0: no
  /// RoPE.
  int64_t RotateHalf = 0;

  /// The sums of squares of A's rows, which the epilogue reads
  /// (`kernel.row_squares`); a kernel that has seen all of A may give its own.
  struct RowSquares {
    unsigned Argument;
    llvm::SmallVector<mlir::Value> Tensors; ///< views of it
    /// What is made of them with one element for each row, last; null where
    /// there are several views.
    mlir::Value factors() const;
  };
  std::optional<RowSquares> squares() const;

  /// None where the kernel is something else, has two GEMMs or RoPE.
  static std::optional<GemmMatch> read(FusedKernel &Form);
  /// The kernel as each of its GEMMs sees it; lives as long as what is read.
  struct Forms {
    FusedKernel First, Second;
  };
  /// The same for builders that know what to do with `Second` and `RotateHalf`.
  static std::optional<GemmMatch> readAny(FusedKernel &Form, Forms &Own);
  /// As `readAny` where B is `Codes` (kernel.tiles), and the second's, too.
  static std::optional<GemmMatch> readTiled(FusedKernel &Form, Forms &Own);
  /// As `read` without A and B, of which the caller knows more: a
  /// convolution's.
  static std::optional<GemmMatch> readResult(FusedKernel &Form);
  /// The same where columns are of groups that have channels of their own: the
  /// loop that both operands know is one of columns, not of a batch.
  static std::optional<GemmMatch> readGroupedResult(FusedKernel &Form);

  bool hasBatch() const { return Batch != shape::Expr(1); }
  /// Both factors are f32 that may be rounded to tf32: the op says so.
  bool isTf32() const;
  /// Both factors are f32 that may not be rounded, and summed up in f32.
  bool isExactF32() const;
  /// Both factors are of FP8: E4M3 or E5M2, each as it is.
  bool isFp8() const;
  /// Sums of FP8 are added up in registers on Hopper (`promotesFp8`).
  bool promotes() const;
  /// Both factors are integers of 8 bits, each with or without a sign.
  bool isInt8() const;
  /// i32 for integers, else f32.
  mlir::Type accumulatorType() const;
  /// Tensor cores multiply the factors: both f16, both bf16, tf32, FP8 or
  /// integers of 8 bits.
  bool hasTensorTypes() const;
  /// Kernels on tensor cores write elements of D: f16, bf16, f32, i32, or 8
  /// bits, quantised ones say.
  bool hasStoredType() const {
    mlir::Type To = D.Element;
    return To.isF16() || To.isBF16() || To.isF32() || To.isInteger(8) ||
           To.isInteger(32);
  }
  /// Types that hasTensorTypes() refuses, as a clause: "A is of f32 and B of
  /// f32, which is not rounded to tf32".
  std::string multipliedTypes() const;

private:
  /// What stands in columns beside rows, and in the batch.
  enum class Groups { Plain, Swapped, Split };
  static std::optional<GemmMatch> readD(FusedKernel &Form,
                                        Groups How = Groups::Plain);
  static std::optional<GemmMatch> readWithRotateHalf(FusedKernel &Form);
  static std::optional<GemmMatch>
  pairOf(FusedKernel &Form, Forms &Own,
         std::optional<GemmMatch> (*Read)(FusedKernel &));
  static std::optional<GemmMatch> readOneTiled(FusedKernel &Form);
};

/// What the distances between matrices of a batch are multiples of; 0: there is
/// one matrix.
int64_t divisorOfBatches(const GemmMatch &P, const Matrix &M);

/// Instructions that the kernel has for each element of the result, about: all
/// that does not reduce.
double epilogueOperations(const GemmMatch &P);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_GEMMMATCH_H
