//===- SoftFloat.cpp - Float operations the CPU has not -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/host/SoftFloat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace kpc::codegen {

namespace {

Type shaped(Type Like, Type Element) {
  if (auto Vector = dyn_cast<VectorType>(Like))
    return Vector.clone(Element);
  return Element;
}

/// Short names for arithmetic on scalars or vectors of one shape.
struct Maths {
  ImplicitLocOpBuilder B;
  Type Like;

  Maths(Operation *Op, PatternRewriter &R)
      : B(Op->getLoc(), R), Like(Op->getResult(0).getType()) {}

  Type f32() { return shaped(Like, B.getF32Type()); }
  Type f64() { return shaped(Like, B.getF64Type()); }
  Type integer(unsigned Bits) { return shaped(Like, B.getIntegerType(Bits)); }

  Value constant(Type T, Attribute Element) {
    auto Vector = dyn_cast<VectorType>(T);
    return arith::ConstantOp::create(
        B, Vector ? cast<TypedAttr>(SplatElementsAttr::get(Vector, Element))
                  : cast<TypedAttr>(Element));
  }
  Value bits(uint32_t V) {
    return constant(integer(32), B.getI32IntegerAttr(int32_t(V)));
  }
  Value real(Type T, double V) {
    return constant(T, B.getFloatAttr(getElementTypeOrSelf(T), V));
  }
  template <typename Op> Value make(Type T, Value X) {
    return Op::create(B, T, X);
  }
  template <typename Op> Value make(Value X, Value Y) {
    return Op::create(B, X, Y);
  }
  Value add(Value X, Value Y) { return make<arith::AddFOp>(X, Y); }
  Value sub(Value X, Value Y) { return make<arith::SubFOp>(X, Y); }
  Value mul(Value X, Value Y) { return make<arith::MulFOp>(X, Y); }
  Value compare(arith::CmpIPredicate P, Value X, Value Y) {
    return arith::CmpIOp::create(B, P, X, Y);
  }
  Value select(Value C, Value X, Value Y) {
    return arith::SelectOp::create(B, C, X, Y);
  }
};

/// X*Y + Z of f32 in f64: the product is exact there, so that one rounding of
/// the sum to f64 precedes that to f32.
Value fmaF32(Maths &M, Value X, Value Y, Value Z) {
  auto Wide = [&](Value V) { return M.make<arith::ExtFOp>(M.f64(), V); };
  Value Sum = M.add(M.mul(Wide(X), Wide(Y)), Wide(Z));
  return M.make<arith::TruncFOp>(M.f32(), Sum);
}

/// X*Y + Z of f64 by Dekker's product and Knuth's sum: the errors of both are
/// added at the end. Exact but for the last rounding where nothing overflows.
Value fmaF64(Maths &M, Value X, Value Y, Value Z) {
  auto Split = [&](Value V, Value &High, Value &Low) {
    Value Scaled = M.mul(V, M.real(M.f64(), 134217729.0)); // 2^27 + 1
    High = M.sub(Scaled, M.sub(Scaled, V));
    Low = M.sub(V, High);
  };
  Value XH, XL, YH, YL;
  Split(X, XH, XL);
  Split(Y, YH, YL);
  Value Product = M.mul(X, Y);
  Value Error = M.sub(M.mul(XH, YH), Product);
  Error = M.add(Error, M.mul(XH, YL));
  Error = M.add(Error, M.mul(XL, YH));
  Error = M.add(Error, M.mul(XL, YL));
  Value Sum = M.add(Product, Z);
  Value Back = M.sub(Sum, Product);
  Value RestOfProduct = M.sub(Product, M.sub(Sum, Back));
  Value Rest = M.add(RestOfProduct, M.sub(Z, Back));
  Value Whole = M.add(Sum, M.add(Rest, Error));
  // Infinity minus infinity in the errors says nothing: keep the plain sum.
  Value Number =
      arith::CmpFOp::create(M.B, arith::CmpFPredicate::ORD, Whole, Whole);
  return M.select(Number, Whole, Sum);
}

template <typename Op> struct ExpandFma : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op O, PatternRewriter &R) const override {
    Maths M(O, R);
    Value X = O->getOperand(0), Y = O->getOperand(1), Z = O->getOperand(2);
    Type Element = getElementTypeOrSelf(O.getType());
    if (Element.isF32())
      R.replaceOp(O, fmaF32(M, X, Y, Z));
    else if (Element.isF64())
      R.replaceOp(O, fmaF64(M, X, Y, Z));
    else
      return failure();
    return success();
  }
};

struct ExpandFromF16 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp O,
                                PatternRewriter &R) const override {
    if (!getElementTypeOrSelf(O.getIn().getType()).isF16() ||
        !getElementTypeOrSelf(O.getType()).isF32())
      return failure();
    Maths M(O, R);
    Value Half = M.make<arith::ExtUIOp>(
        M.integer(32), M.make<arith::BitcastOp>(M.integer(16), O.getIn()));
    Value Sign = M.make<arith::ShLIOp>(
        M.make<arith::AndIOp>(Half, M.bits(0x8000)), M.bits(16));
    Value Rest = M.make<arith::AndIOp>(Half, M.bits(0x7FFF));
    Value Moved = M.make<arith::ShLIOp>(Rest, M.bits(13));
    // The exponent's bias: 127 - 15, and twice that for infinity and NaN.
    Value Normal = M.make<arith::AddIOp>(Moved, M.bits(112u << 23));
    Value Infinite = M.make<arith::AddIOp>(Moved, M.bits(224u << 23));
    Value Small = M.make<arith::BitcastOp>(
        M.integer(32), M.mul(M.make<arith::UIToFPOp>(M.f32(), Rest),
                             M.real(M.f32(), 0x1p-24)));
    using P = arith::CmpIPredicate;
    Value Bits =
        M.select(M.compare(P::uge, Rest, M.bits(0x7C00)), Infinite, Normal);
    Bits = M.select(M.compare(P::ult, Rest, M.bits(0x0400)), Small, Bits);
    Bits = M.make<arith::OrIOp>(Bits, Sign);
    R.replaceOpWithNewOp<arith::BitcastOp>(O, O.getType(), Bits);
    return success();
  }
};

struct ExpandToF16 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp O,
                                PatternRewriter &R) const override {
    if (!getElementTypeOrSelf(O.getIn().getType()).isF32() ||
        !getElementTypeOrSelf(O.getType()).isF16())
      return failure();
    Maths M(O, R);
    Value Bits = M.make<arith::BitcastOp>(M.integer(32), O.getIn());
    Value Sign = M.make<arith::ShRUIOp>(
        M.make<arith::AndIOp>(Bits, M.bits(0x80000000u)), M.bits(16));
    Value Rest = M.make<arith::AndIOp>(Bits, M.bits(0x7FFFFFFF));
    // To nearest, ties to even, by the bits that fall off.
    Value Odd = M.make<arith::AndIOp>(M.make<arith::ShRUIOp>(Rest, M.bits(13)),
                                      M.bits(1));
    Value Rounded =
        M.make<arith::AddIOp>(Rest, M.make<arith::AddIOp>(Odd, M.bits(0xFFF)));
    Value Normal = M.make<arith::ShRUIOp>(
        M.make<arith::SubIOp>(Rounded, M.bits(112u << 23)), M.bits(13));
    Normal = M.make<arith::MinUIOp>(Normal, M.bits(0x7C00));
    // Below 2^-14 the sum with 1/2 rounds to multiples of 2^-24.
    Value Sum =
        M.add(M.make<arith::BitcastOp>(M.f32(), Rest), M.real(M.f32(), 0.5));
    Value Small = M.make<arith::SubIOp>(
        M.make<arith::BitcastOp>(M.integer(32), Sum), M.bits(0x3F000000));
    Value Nan = M.make<arith::OrIOp>(
        M.make<arith::AndIOp>(M.make<arith::ShRUIOp>(Rest, M.bits(13)),
                              M.bits(0x3FF)),
        M.bits(0x7E00));
    using P = arith::CmpIPredicate;
    Value Half =
        M.select(M.compare(P::ult, Rest, M.bits(0x38800000)), Small, Normal);
    Half = M.select(M.compare(P::ugt, Rest, M.bits(0x7F800000)), Nan, Half);
    Half = M.make<arith::OrIOp>(Half, Sign);
    R.replaceOpWithNewOp<arith::BitcastOp>(
        O, O.getType(), M.make<arith::TruncIOp>(M.integer(16), Half));
    return success();
  }
};

} // namespace

void populateSoftFloatPatterns(RewritePatternSet &Patterns,
                               const HostTargetOptions &Options) {
  if (!Options.HasFma)
    Patterns.add<ExpandFma<math::FmaOp>, ExpandFma<vector::FMAOp>>(
        Patterns.getContext());
  if (!Options.HasF16c)
    Patterns.add<ExpandFromF16, ExpandToF16>(Patterns.getContext());
}

} // namespace kpc::codegen
