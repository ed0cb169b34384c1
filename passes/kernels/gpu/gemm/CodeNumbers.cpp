//===- CodeNumbers.cpp - Codes of 4 and 8 bits as 16-bit numbers ----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/gemm/CodeNumbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

/// Numbers whose last bit is worth 1, and their bits: 1024 in f16, 128 in bf16.
/// The last bit of 64 in f16 is worth 1/16.
static constexpr int64_t OneF16 = 1024, OneBf16 = 128, OneNibbleF16 = 64;
static constexpr int64_t BitsF16 = 0x6400, BitsBf16 = 0x4300,
                         BitsNibbleF16 = 0x5400;
/// Powers of two in bf16.
static constexpr int64_t BitsOfTwo120 = 0x7b80, BitsOfTwo112 = 0x7780;
/// Tables of lop3: (a and b) or c, (a and b) xor c.
static constexpr int64_t AndOr = 0xea, AndXor = 0x6a;
/// What the highest bit of a code of 8 bits is worth.
static constexpr int64_t SignBit = 128;

/// Numbers of bf16 and 8 bits are whole, -128 … 127.
double CodeNumbers::shift() const {
  if (Codes.Number)
    return 0;
  if (Element.isF16())
    return Codes.Bits == 4 ? OneNibbleF16 : OneF16;
  return Codes.Bits == 4 ? OneBf16 : -SignBit;
}

/// The bits of a pair begin anywhere: f16 has no place for codes in the middle
/// of its mantissa, and 64 is too small.
double CodeNumbers::shiftOfPair() const {
  return !Codes.Number && Element.isF16() ? OneF16 : shift();
}

Value CodeNumbers::pairAt(Value Word, Value First) {
  Value Low = First
                  ? arith::ShRUIOp::create(W.B, W.Loc, Word, First).getResult()
                  : Word;
  if (Codes.Number)
    return floatsOf(Low, 0);
  if (Codes.Bits == 8 && !Element.isF16())
    return bytesAsBf16(Low);
  return selected(Low, Codes.Bits == 4 ? 0x000f : 0x00ff,
                  Element.isF16() ? BitsF16 : BitsBf16, AndOr);
}

Value CodeNumbers::pairOfBytes(Value Low, Value High, Value Bytes) {
  return permuted(Low, High, Bytes);
}

Value CodeNumbers::i32(int64_t V) {
  return arith::ConstantIntOp::create(W.B, W.Loc, V, 32);
}

CodeNumbers::Values CodeNumbers::pairsOf(ArrayRef<Value> Words) {
  if (Codes.Number)
    return {floatsOf(Words[0], 0), floatsOf(Words[0], 1), floatsOf(Words[1], 0),
            floatsOf(Words[1], 1)};
  bool IsF16 = Element.isF16(), HasNibbles = Codes.Bits == 4;
  auto Both = [&](int64_t Bits) { return i32(Bits << 16 | Bits); };
  auto Taken = [&](Value Word, int64_t Mask, int64_t Large) {
    return selected(Word, Mask, Large, AndOr);
  };
  Values Pairs;
  for (int64_t I = 0; I < 4; ++I) {
    if (HasNibbles) {
      // The last bit of f16 is worth a sixteenth, so that 64 is large enough.
      Value Word = shifted(Words[0], IsF16 ? 4 * I - 4 : 4 * I);
      Pairs.push_back(IsF16 ? Taken(Word, 0x00f0, BitsNibbleF16)
                            : Taken(Word, 0x000f, BitsBf16));
    } else if (IsF16) {
      // Two bytes below the upper one of the large number.
      Pairs.push_back(permuted(Words[I / 2], Both(BitsF16),
                               int64_t(I % 2 ? 0x5351 : 0x5250)));
    } else {
      Pairs.push_back(bytesAsBf16(shifted(Words[I / 2], I % 2 * 8)));
    }
  }
  return Pairs;
}

/// In each half of a word the bits of `Mask`, then those of `Other`, joined as
/// the table of lop3 says. ptxas makes two operations of an `and` and an `or`
/// with constants.
Value CodeNumbers::selected(Value Word, int64_t Mask, int64_t Other,
                            int64_t Table) {
  auto Both = [&](int64_t Bits) { return i32(Bits << 16 | Bits); };
  return joined(Word, Both(Mask), Both(Other), Table);
}

/// lop3 of three words.
Value CodeNumbers::joined(Value Word, Value Mask, Value Other, int64_t Table) {
  return NVVM::InlinePtxOp::create(W.B, W.Loc, TypeRange{W.B.getI32Type()},
                                   ValueRange{Word, Mask, Other}, ValueRange(),
                                   "lop3.b32 {$w0}, {$r0}, {$r1}, {$r2}, " +
                                       std::to_string(Table) + ";",
                                   Value())
      .getResult(0);
}

/// To lower bits, or to upper ones where `Right` is negative.
Value CodeNumbers::shifted(Value Word, int64_t Right) {
  return Right < 0 ? W.B.createOrFold<arith::ShLIOp>(W.Loc, Word, i32(-Right))
                   : W.B.createOrFold<arith::ShRUIOp>(W.Loc, Word, i32(Right));
}

/// Four bytes by their numbers among those of two words.
Value CodeNumbers::permuted(Value Low, Value High, Value Bytes) {
  return NVVM::InlinePtxOp::create(W.B, W.Loc, TypeRange{W.B.getI32Type()},
                                   ValueRange{Low, High, Bytes}, ValueRange(),
                                   "prmt.b32 {$w0}, {$r0}, {$r1}, {$r2};",
                                   Value())
      .getResult(0);
}

/// The lower byte of each half less 128, as bf16. Such a number has 8 bits, so
/// seven go into the mantissa of 128, and the eighth says what is taken off:
/// 256 where it is 0, else 128.
Value CodeNumbers::bytesAsBf16(Value Two) {
  Type I32 = W.B.getI32Type();
  auto Pair = VectorType::get({2}, Element);
  auto Number = [&](Value Bits) -> Value {
    return LLVM::BitcastOp::create(W.B, W.Loc, Pair, Bits);
  };
  Value Seven = Number(selected(Two, 0x007f, BitsBf16, AndOr)),
        Off = Number(selected(Two, 0x0080, BitsBf16 | 0x8080, AndXor));
  // Exact, and on every chip: sm_80 adds no pairs of bf16.
  Value One = arith::ConstantOp::create(
      W.B, W.Loc, DenseElementsAttr::get(Pair, W.B.getFloatAttr(Element, 1.0)));
  return LLVM::BitcastOp::create(
      W.B, W.Loc, I32, LLVM::FMAOp::create(W.B, W.Loc, Seven, One, Off));
}

double CodeNumbers::factor() const {
  bool IsSmaller = Codes.Number && Element.isF16() && !ConvertsFp8 &&
                   isa<Float8E4M3FNType>(Codes.Number);
  return IsSmaller ? 0x1p8 : 1;
}

/// Two codes of FP8, bytes 0 and 2 of a word or bytes 1 and 3, as numbers.
Value CodeNumbers::floatsOf(Value Word, int64_t Pair) {
  bool IsF16 = Element.isF16(), IsE4M3 = isa<Float8E4M3FNType>(Codes.Number);
  Type I32 = W.B.getI32Type();
  auto Both = [&](int64_t Bits) { return i32(Bits << 16 | Bits); };
  // A code of E5M2 is the upper byte of f16.
  if (IsF16 && !IsE4M3)
    return Pair ? W.B.createOrFold<arith::AndIOp>(W.Loc, Word, Both(0xff00))
                : permuted(Word, i32(0), 0x2404);
  if (IsF16 && ConvertsFp8) {
    auto Bytes = VectorType::get({2}, W.B.getI8Type()),
         Pairs = VectorType::get({2}, W.B.getI16Type());
    Value All = LLVM::BitcastOp::create(
        W.B, W.Loc, Pairs, permuted(Word, i32(0), Pair ? 0x4431 : 0x4420));
    Value Two = LLVM::BitcastOp::create(
        W.B, W.Loc, Bytes, vector::ExtractOp::create(W.B, W.Loc, All, 0));
    return LLVM::BitcastOp::create(
        W.B, W.Loc, I32,
        NVVM::ConvertF8x2ToF16x2Op::create(
            W.B, W.Loc, VectorType::get({2}, Element), Two,
            /*relu=*/W.B.getBoolAttr(false), TypeAttr::get(Codes.Number)));
  }
  // Exponent and mantissa go to their places, the sign to its own.
  int64_t Place = IsF16 ? 7 : IsE4M3 ? 4 : 5;
  Value Magnitude = shifted(Word, Pair ? 8 - Place : -Place),
        Sign = shifted(Word, Pair ? 0 : -8);
  int64_t Mask = int64_t(0x7f) << Place;
  if (IsF16)
    return joined(Magnitude, Both(Mask),
                  W.B.createOrFold<arith::AndIOp>(W.Loc, Sign, Both(0x8000)),
                  AndOr);
  // Exponents of bf16 count from 127. Its smallest numbers are subnormal, but a
  // product in f32 would lose them. The factor has the sign.
  int64_t Factor = IsE4M3 ? BitsOfTwo120 : BitsOfTwo112;
  auto Two = VectorType::get({2}, Element);
  auto Number = [&](Value Bits) -> Value {
    return LLVM::BitcastOp::create(W.B, W.Loc, Two, Bits);
  };
  Value Small = Number(
            W.B.createOrFold<arith::AndIOp>(W.Loc, Magnitude, Both(Mask))),
        By = Number(selected(Sign, 0x8000, Factor, AndOr)),
        Nothing = arith::ConstantOp::create(
            W.B, W.Loc,
            DenseElementsAttr::get(Two, W.B.getFloatAttr(Element, -0.0)));
  return LLVM::BitcastOp::create(
      W.B, W.Loc, I32, LLVM::FMAOp::create(W.B, W.Loc, Small, By, Nothing));
}

} // namespace kpc::kernels
