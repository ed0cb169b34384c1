//===- AttentionDecodeCodes.cpp - Keys and values of FP8 ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A lane has a word of four codes of E4M3 and makes two words of numbers of
/// them, which mma.sync multiplies.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionDecode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

/// prmt: two bytes of the first word, each above a zero byte of the second.
static constexpr int64_t LowAboveZeros = 0x1404, HighAboveZeros = 0x3424;

/// prmt: four bytes of two words.
Value AttentionDecode::bytesOf(Value Low, Value High, int64_t Which) {
  return NVVM::PermuteOp::create(W.B, W.Loc, W.B.getI32Type(), Low, High,
                                 i32(Which), NVVM::PermuteMode::DEFAULT);
}

/// Two of a word's codes of E4M3 as numbers of q's type, exactly: the lower two
/// bytes, or the upper ones.
Value AttentionDecode::numbersOf(Value Codes, int64_t Half) {
  auto Two = VectorType::get({2}, Element);
  if (Element.isF16()) {
    auto Bytes = VectorType::get({2}, W.B.getI8Type()),
         Pairs = VectorType::get({2}, W.B.getI16Type());
    Value All = LLVM::BitcastOp::create(W.B, W.Loc, Pairs, Codes);
    Value Pair = vector::ExtractOp::create(W.B, W.Loc, All, Half);
    Value Wide = NVVM::ConvertF8x2ToF16x2Op::create(
        W.B, W.Loc, Two, LLVM::BitcastOp::create(W.B, W.Loc, Bytes, Pair),
        /*relu=*/W.B.getBoolAttr(false),
        TypeAttr::get(Float8E4M3FNType::get(W.B.getContext())));
    return LLVM::BitcastOp::create(W.B, W.Loc, W.B.getI32Type(), Wide);
  }
  // The code's exponent and mantissa in bf16's places are the number times
  // 2^-120, since exponents count from 7 and from 127.
  constexpr double Factor = 0x1p120;
  Value Above = bytesOf(Codes, i32(0), Half ? HighAboveZeros : LowAboveZeros);
  auto Of = [&](uint32_t Mask) {
    return compute<arith::AndIOp>(Above, i32(int32_t(Mask)));
  };
  Value Magnitude = compute<arith::ShRUIOp>(Of(0x7f007f00), i32(4));
  Value Bits = compute<arith::OrIOp>(Magnitude, Of(0x80008000));
  Value Small = LLVM::BitcastOp::create(W.B, W.Loc, Two, Bits);
  Value By = arith::ConstantOp::create(
      W.B, W.Loc,
      DenseElementsAttr::get(Two, W.B.getFloatAttr(Element, Factor)));
  return LLVM::BitcastOp::create(W.B, W.Loc, W.B.getI32Type(),
                                 compute<arith::MulFOp>(Small, By));
}

} // namespace kpc::kernels
