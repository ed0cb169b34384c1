//===- SyncProducts.cpp - Products by mma.sync ----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/tile/SyncProducts.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::tile;

static bool isFp8(Type Ty) { return isa<Float8E4M3FNType, Float8E5M2Type>(Ty); }

static NVVM::MMATypes elementOf(Type Ty) {
  if (Ty.isInteger(8))
    return Ty.isUnsignedInteger() ? NVVM::MMATypes::u8 : NVVM::MMATypes::s8;
  return Ty.isF16()    ? NVVM::MMATypes::f16
         : Ty.isBF16() ? NVVM::MMATypes::bf16
                       : NVVM::MMATypes::tf32;
}

void SyncProducts::multiply(ArrayRef<Value> Left, ArrayRef<Value> Right,
                            Values Sums) const {
  auto Turn = [&](ArrayRef<Value> Words) {
    SmallVector<Value, 4> All;
    for (Value Word : Words)
      All.push_back(Of.A.isF16() ? LLVM::BitcastOp::create(
                                       B, Loc, VectorType::get(2, Of.A), Word)
                                       .getResult()
                                 : Word); // all but f16 as they are
    return All;
  };
  auto Four = LLVM::LLVMStructType::getLiteral(
      B.getContext(), {Of.Sum, Of.Sum, Of.Sum, Of.Sum});
  SmallVector<Value, 4> OfA = Turn(Left), OfB = Turn(Right);
  if (isFp8(Of.A)) {
    multiplyFp8(Four, OfA, OfB, Sums);
    return;
  }
  std::optional<NVVM::MMAIntOverflow> Overflow;
  if (Of.Sum.isInteger())
    Overflow = NVVM::MMAIntOverflow::wrapped;
  constexpr int64_t WordsOfStep = 4;
  int64_t K = StepBytes * 8 / int64_t(Of.A.getIntOrFloatBitWidth()) *
              int64_t(OfA.size()) / WordsOfStep;
  auto Mma = NVVM::MmaOp::create(
      B, Loc, Four, OfA, OfB, SmallVector<Value, 4>(Sums),
      ArrayRef<int64_t>{16, 8, K}, std::nullopt, Overflow,
      std::array<NVVM::MMATypes, 2>{elementOf(Of.A), elementOf(Of.B)},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  for (auto [I, One] : llvm::enumerate(Sums))
    One = LLVM::ExtractValueOp::create(B, Loc, Mma, I);
}

void SyncProducts::multiplyColumns(ArrayRef<Value> Left, ArrayRef<Value> Right,
                                   int64_t Columns, int64_t Column,
                                   Values Sums) const {
  for (int64_t Block = 0; Block < int64_t(Left.size()) / 4; ++Block)
    for (int64_t Half = 0; Half < 2; ++Half)
      multiply(Left.slice(4 * Block, 4), Right.slice(2 * Half, 2),
               sumsOf(Sums, Columns, Block, Column + 8 * Half));
}

/// NVVM's op has no FP8, LLVM's intrinsics have.
void SyncProducts::multiplyFp8(Type Four, ArrayRef<Value> OfA,
                               ArrayRef<Value> OfB, Values Sums) const {
  auto Word = [](Type Ty) {
    return isa<Float8E4M3FNType>(Ty) ? "e4m3" : "e5m2";
  };
  SmallVector<Value> Operands(OfA);
  Operands.append(OfB.begin(), OfB.end());
  Operands.append(Sums.begin(), Sums.end());
  auto Mma = LLVM::CallIntrinsicOp::create(
      B, Loc, Four,
      B.getStringAttr(Twine("llvm.nvvm.mma.m16n8k32.row.col.f32.") +
                      Word(Of.A) + "." + Word(Of.B) + ".f32"),
      Operands);
  for (auto [I, One] : llvm::enumerate(Sums))
    One = LLVM::ExtractValueOp::create(B, Loc, Mma.getResult(0), I);
}
