//===- ScaledGemm.h - A GEMM of codes with block scales ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The operands of a GEMM of codes with block scales, for all instructions.
/// They are generics that dequantise codes, and say where their scales are.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_SCALEDGEMM_H
#define KPC_PASSES_KERNELS_GPU_GEMM_SCALEDGEMM_H

#include "dialects/tile/Tile.h"
#include "passes/kernels/gpu/gemm/GemmMatch.h"

namespace kpc::kernels {

/// Bytes of a word of scales.
inline constexpr int64_t WordBytes = 4;
/// Why families of scaled GEMMs refuse a kernel.
inline constexpr const char *NoScaledGemm =
    "it is no GEMM of codes with block scales";

/// Bytes of codes that share a scale.
int64_t bytesOfScale(tile::BlockFormat Format);

struct ScaledGemm {
  /// A and B are bytes of codes, both contiguous along K: B as it lies, a row
  /// of it for each column of the product.
  GemmMatch P;
  tile::BlockFormat Format;
  shape::Expr KBytes; ///< of a row of codes
  unsigned ScalesOfA; ///< arguments
  unsigned ScalesOfB;
  shape::Expr
      StrideOfA; ///< bytes from scales of one word, or panel, to the next
  shape::Expr StrideOfB;
  /// Words of scales lie in panels of 128 rows: [rows / 128, words, 32, 16].
  /// Else they are [words, rows, 4].
  bool InPanels;

  static std::optional<ScaledGemm> read(FusedKernel &Form);
  bool isFp8() const { return Format == tile::BlockFormat::Mxfp8; }
};

/// A GEMM of FP8 whose blocks of 128 elements of K have scales of f32: each row
/// of A, and each column of B or each 128.
struct BlockFp8Gemm {
  GemmMatch P;
  /// Arguments: [M, K/128], and [N/128, K/128] or, of each column, [K/128, N].
  unsigned ScalesOfA, ScalesOfB;
  shape::Expr StrideOfA, StrideOfB; ///< elements from line to line
  bool HasColumnScales;

  static std::optional<BlockFp8Gemm> read(FusedKernel &Form);
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_SCALEDGEMM_H
