//===- BlockCodes.cpp - Codes with a scale for each block -----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/BlockCodes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

/// What is taken for the greatest magnitude of zeros: its scale is a normal
/// number of f32, and codes are finite.
static constexpr double Least = 1e-30;
/// The least number of E4M3: a block of less would have the scale 0.
static constexpr double LeastScale = 0x1p-9, GreatestE4M3 = 448;

BlockFormat BlockFormat::mxfp8(MLIRContext *Context) {
  return {Float8E4M3FNType::get(Context), Float8E8M0FNUType::get(Context), 32,
          GreatestE4M3, /*HasSecond=*/false};
}
BlockFormat BlockFormat::mxfp4(MLIRContext *Context) {
  return {Float4E2M1FNType::get(Context), Float8E8M0FNUType::get(Context), 32,
          6, /*HasSecond=*/false};
}
BlockFormat BlockFormat::nvfp4(MLIRContext *Context) {
  return {Float4E2M1FNType::get(Context), Float8E4M3FNType::get(Context), 16, 6,
          /*HasSecond=*/true};
}

std::optional<BlockFormat> BlockFormat::named(StringRef Name,
                                              MLIRContext *Context) {
  if (Name == "mxfp8")
    return mxfp8(Context);
  if (Name == "mxfp4")
    return mxfp4(Context);
  if (Name == "nvfp4")
    return nvfp4(Context);
  return std::nullopt;
}

Value graph::filled(OpBuilder &B, Location Loc, double V,
                    SymbolicTensorType Like) {
  Type F32 = B.getF32Type();
  Value One =
      ConstantOp::create(B, Loc,
                         DenseElementsAttr::get(RankedTensorType::get({}, F32),
                                                B.getFloatAttr(F32, V)));
  return Like.getRank() ? BroadcastOp::create(B, Loc, Like, One) : One;
}

Value graph::greatestAlong(OpBuilder &B, Location Loc, Value X, int64_t Axis) {
  SmallVector<Expr> Ones(typeOf(X).getDims());
  Ones[Axis] = Expr(1);
  Value Most =
      ReduceOp::create(B, Loc, ReduceKind::max, AbsOp::create(B, Loc, X),
                       ArrayRef<int64_t>{Axis});
  return B.createOrFold<ReshapeOp>(Loc, typeOf(X).withDims(Ones), Most);
}

namespace {

/// Arithmetic on the bits of f32: no target rounds powers of two differently.
class Powers {
public:
  Powers(OpBuilder &B, Location Loc)
      : B(B), Loc(Loc),
        Word(IntegerType::get(B.getContext(), 32, IntegerType::Unsigned)) {}

  /// The least power of two of which `Greatest` times is not less than X > 0.
  /// `Greatest` is 1.m times a power of two: a mantissa above m makes the
  /// exponent one more.
  Value above(Value X, double Greatest) {
    auto Bits = llvm::bit_cast<uint32_t>(float(Greatest));
    Value V = BitcastOp::create(B, Loc, X, Word);
    V = AddOp::create(B, Loc, V, number(Mantissa - (Bits & Mantissa), V));
    V = AndOp::create(B, Loc, V, number(Exponent, V));
    V = SubOp::create(B, Loc, V, number((Bits & Exponent) - One, V));
    return BitcastOp::create(B, Loc, V, B.getF32Type());
  }

  Value inverse(Value Power) {
    Value V = BitcastOp::create(B, Loc, Power, Word);
    V = SubOp::create(B, Loc, number(2 * One, V), V);
    return BitcastOp::create(B, Loc, V, B.getF32Type());
  }

private:
  static constexpr uint32_t Mantissa = 0x007fffff, Exponent = 0x7f800000,
                            One = 0x3f800000;
  Value number(uint32_t V, Value Like) {
    Value All = ConstantOp::create(
        B, Loc,
        DenseElementsAttr::get(RankedTensorType::get({}, Word), APInt(32, V)));
    return BroadcastOp::create(B, Loc, typeOf(Like), All);
  }

  OpBuilder &B;
  Location Loc;
  Type Word;
};

} // namespace

/// MX's: the scales are powers of two, and everything but the codes is exact.
static BlockCodes quantiseByPowers(OpBuilder &B, Location Loc, Value Parted,
                                   Value Most, const BlockFormat &F) {
  Powers P(B, Loc);
  Value Scale = P.above(Most, F.Greatest);
  Value Inverse = BroadcastOp::create(B, Loc, typeOf(Parted), P.inverse(Scale));
  Value Q = MulOp::create(B, Loc, Parted, Inverse);
  return {CastOp::create(B, Loc, Q, F.Code),
          CastOp::create(B, Loc, Scale, F.Scale)};
}

/// NVFP4's: scales are rounded, so codes may be a little beyond their range,
/// where FP4 has no infinity and takes its greatest number.
static BlockCodes quantiseByTwo(OpBuilder &B, Location Loc, Value Parted,
                                Value Most, const BlockFormat &F,
                                Value Second) {
  SymbolicTensorType Lines = typeOf(Most);
  Value Scale =
      MulOp::create(B, Loc, Most, filled(B, Loc, 1 / F.Greatest, Lines));
  if (Second) {
    Second = BroadcastOp::create(B, Loc, Lines, Second);
    Scale = DivOp::create(B, Loc, Scale, Second);
  }
  Scale = MaxOp::create(B, Loc, Scale, filled(B, Loc, LeastScale, Lines));
  Scale = MinOp::create(B, Loc, Scale, filled(B, Loc, GreatestE4M3, Lines));
  Value Code = CastOp::create(B, Loc, Scale, F.Scale);
  // What codes are multiplied by again.
  Value Factor = CastOp::create(B, Loc, Code, B.getF32Type());
  if (Second)
    Factor = MulOp::create(B, Loc, Factor, Second);
  Value Q = DivOp::create(B, Loc, Parted,
                          BroadcastOp::create(B, Loc, typeOf(Parted), Factor));
  return {CastOp::create(B, Loc, Q, F.Code), Code};
}

BlockCodes graph::quantiseInBlocks(OpBuilder &B, Location Loc, Value X,
                                   int64_t Axis, const BlockFormat &F,
                                   Value Second) {
  SymbolicTensorType Whole = typeOf(X);
  SmallVector<Expr> Split(Whole.getDims());
  Split[Axis] = Split[Axis].floorDiv(F.Block);
  SmallVector<Expr> Blocks(Split);
  Split.insert(Split.begin() + Axis + 1, Expr(F.Block));
  X = B.createOrFold<ReshapeOp>(Loc, Whole.withDims(Split), X);
  Value Most = greatestAlong(B, Loc, X, Axis + 1);
  Most = MaxOp::create(B, Loc, Most, filled(B, Loc, Least, typeOf(Most)));
  if (Second && typeOf(Second).getRank()) {
    SmallVector<Expr> Sizes(typeOf(Second).getDims());
    Sizes.insert(Sizes.begin() + Axis + 1, Expr(1));
    Second =
        B.createOrFold<ReshapeOp>(Loc, typeOf(Second).withDims(Sizes), Second);
  }
  BlockCodes Made = F.HasSecond ? quantiseByTwo(B, Loc, X, Most, F, Second)
                                : quantiseByPowers(B, Loc, X, Most, F);
  return {
      B.createOrFold<ReshapeOp>(Loc, Whole.withElementType(F.Code), Made.Codes),
      B.createOrFold<ReshapeOp>(
          Loc, Whole.withDims(Blocks).withElementType(F.Scale), Made.Scales)};
}
