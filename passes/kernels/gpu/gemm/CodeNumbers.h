//===- CodeNumbers.h - Codes of 4 and 8 bits as 16-bit numbers --*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a thread makes of the words of a tile of codes: words of two numbers of
/// 16 bits, exact. Such numbers are larger than their codes by a constant,
/// which who multiplies them takes off.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_GEMM_CODENUMBERS_H
#define KPC_PASSES_KERNELS_GPU_GEMM_CODENUMBERS_H

#include "passes/kernels/gpu/gemm/GemmMatch.h"

namespace kpc::kernels {

class CodeNumbers {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  /// `Element`: f16 or bf16. `ConvertsFp8`: the chip has cvt.rn.f16x2.e4m3x2.
  CodeNumbers(GpuWriter &W, mlir::Type Element,
              const GemmMatch::TiledCodes &Codes, bool ConvertsFp8)
      : W(W), Element(Element), Codes(Codes), ConvertsFp8(ConvertsFp8) {}

  /// What `pairsOf` gives is more than codes by so much.
  double shift() const;
  /// What numbers have to be multiplied by. Exponents of E4M3 count from 7,
  /// those of f16 from 15.
  double factor() const;
  /// A thread's 8 weights of a column and 32 elements of K as four pairs, out
  /// of their one word (4 bits) or two (8 bits).
  Values pairsOf(llvm::ArrayRef<mlir::Value> Words);

  /// One pair of a word: that whose lower code begins at the bit `First`, i32;
  /// null: at the lowest.
  mlir::Value pairAt(mlir::Value Word, mlir::Value First);
  /// Of two words with 8 codes of 8 bits, a word with one pair at its lowest
  /// bits. `Bytes`: as prmt takes them, the first in the lowest four bits, the
  /// second from bit 8 on; what else it takes is not looked at.
  mlir::Value pairOfBytes(mlir::Value Low, mlir::Value High, mlir::Value Bytes);
  /// `pairAt` is more than codes by so much.
  double shiftOfPair() const;

private:
  mlir::Value i32(int64_t V);
  mlir::Value selected(mlir::Value Word, int64_t Mask, int64_t Other,
                       int64_t Table);
  mlir::Value joined(mlir::Value Word, mlir::Value Mask, mlir::Value Other,
                     int64_t Table);
  mlir::Value shifted(mlir::Value Word, int64_t Right);
  mlir::Value permuted(mlir::Value Low, mlir::Value High, mlir::Value Bytes);
  mlir::Value permuted(mlir::Value Low, mlir::Value High, int64_t Bytes) {
    return permuted(Low, High, i32(Bytes));
  }
  mlir::Value bytesAsBf16(mlir::Value Two);
  mlir::Value floatsOf(mlir::Value Word, int64_t Pair);

  GpuWriter &W;
  mlir::Type Element;
  const GemmMatch::TiledCodes &Codes;
  const bool ConvertsFp8;
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_GEMM_CODENUMBERS_H
