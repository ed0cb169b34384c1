//===- MmaSync.cpp - Products of one warp's registers ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/MmaSync.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace kpc::kernels {

SmallVector<Value> multiplyFragments(GpuWriter &W, Type Element,
                                     ArrayRef<Value> A, ArrayRef<Value> B,
                                     ArrayRef<Value> C) {
  bool IsBrain = Element.isBF16();
  // The op takes bf16 as words, and f16 as vectors.
  auto Operands = [&](ArrayRef<Value> Words) {
    SmallVector<Value> All(Words);
    if (!IsBrain)
      for (Value &Word : All)
        Word = LLVM::BitcastOp::create(
            W.B, W.Loc, VectorType::get({2}, W.B.getF16Type()), Word);
    return All;
  };
  Type F32 = W.B.getF32Type();
  auto Four =
      LLVM::LLVMStructType::getLiteral(W.B.getContext(), {F32, F32, F32, F32});
  NVVM::MMATypes Kind = IsBrain ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  auto Mma = NVVM::MmaOp::create(
      W.B, W.Loc, Four, Operands(A), Operands(B), C,
      ArrayRef<int64_t>{16, 8, 16}, std::nullopt, std::nullopt,
      std::array<NVVM::MMATypes, 2>{Kind, Kind},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  SmallVector<Value> Sums;
  for (int64_t I = 0; I < 4; ++I)
    Sums.push_back(LLVM::ExtractValueOp::create(W.B, W.Loc, Mma, I));
  return Sums;
}

} // namespace kpc::kernels
