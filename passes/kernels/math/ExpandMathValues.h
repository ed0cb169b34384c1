//===- ExpandMathValues.h - Arithmetic written as arithmetic ----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// SSA values with operators, so that an expansion reads like the formula it
/// is. A `Real` is a float, an `Int` an integer, a `Mask` an i1; each a scalar
/// or a vector. Numbers mixed in become constants of the other operand's type.
///
///   Real R = fma(K, -Ln2, X);      // math.fma
///   return select(X > 1.0, R, X);  // arith.cmpf, arith.select
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_MATH_EXPANDMATHVALUES_H
#define KPC_PASSES_KERNELS_MATH_EXPANDMATHVALUES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace kpc::expand {

using Builder = mlir::ImplicitLocOpBuilder;

/// `Element`, in a vector of Shape's shape where that is one.
inline mlir::Type shapedLike(mlir::Type Shape, mlir::Type Element) {
  if (auto V = llvm::dyn_cast<mlir::VectorType>(Shape))
    return V.clone(Element);
  return Element;
}

/// A constant, splat where the type is a vector.
inline mlir::Value constantOf(Builder &B, mlir::Type Ty, mlir::Attribute One) {
  auto Attr = llvm::cast<mlir::TypedAttr>(One);
  if (auto V = llvm::dyn_cast<mlir::VectorType>(Ty))
    Attr = mlir::DenseElementsAttr::get(V, One);
  return mlir::arith::ConstantOp::create(B, Attr);
}

struct Mask {
  mlir::Value V;
  Builder *B;
};

struct Int {
  mlir::Value V;
  Builder *B;

  unsigned width() const {
    return mlir::getElementTypeOrSelf(V.getType()).getIntOrFloatBitWidth();
  }
  Int like(uint64_t C) const {
    mlir::Type Element = mlir::getElementTypeOrSelf(V.getType());
    llvm::APInt Bits(width(), C, /*isSigned=*/false, /*implicitTrunc=*/true);
    return {constantOf(*B, V.getType(), mlir::IntegerAttr::get(Element, Bits)),
            B};
  }
};

struct Real {
  mlir::Value V;
  Builder *B;

  unsigned width() const {
    return mlir::getElementTypeOrSelf(V.getType()).getIntOrFloatBitWidth();
  }
  bool isF64() const { return width() == 64; }
  Real like(double C) const {
    mlir::Type Element = mlir::getElementTypeOrSelf(V.getType());
    return {constantOf(*B, V.getType(), mlir::FloatAttr::get(Element, C)), B};
  }
  Real infinity() const {
    return like(std::numeric_limits<double>::infinity());
  }
  Real nan() const { return like(std::numeric_limits<double>::quiet_NaN()); }
};

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

template <typename Op> Real binary(Real X, Real Y) {
  return {Op::create(*X.B, X.V, Y.V), X.B};
}
template <typename Op> Real unary(Real X) {
  return {Op::create(*X.B, X.V), X.B};
}

inline Real operator+(Real X, Real Y) {
  return binary<mlir::arith::AddFOp>(X, Y);
}
inline Real operator-(Real X, Real Y) {
  return binary<mlir::arith::SubFOp>(X, Y);
}
inline Real operator*(Real X, Real Y) {
  return binary<mlir::arith::MulFOp>(X, Y);
}
inline Real operator/(Real X, Real Y) {
  return binary<mlir::arith::DivFOp>(X, Y);
}
inline Real operator+(Real X, double C) { return X + X.like(C); }
inline Real operator-(Real X, double C) { return X - X.like(C); }
inline Real operator*(Real X, double C) { return X * X.like(C); }
inline Real operator-(double C, Real X) { return X.like(C) - X; }
inline Real operator+(double C, Real X) { return X.like(C) + X; }
inline Real operator/(double C, Real X) { return X.like(C) / X; }
inline Real operator-(Real X) { return unary<mlir::arith::NegFOp>(X); }

/// X * Y + Z, rounded once.
inline Real fma(Real X, Real Y, Real Z) {
  return {mlir::math::FmaOp::create(*X.B, X.V, Y.V, Z.V), X.B};
}
inline Real fma(Real X, Real Y, double Z) { return fma(X, Y, X.like(Z)); }
inline Real fma(Real X, double Y, Real Z) { return fma(X, X.like(Y), Z); }
inline Real fma(Real X, double Y, double Z) {
  return fma(X, X.like(Y), X.like(Z));
}
inline Real sqrt(Real X) { return unary<mlir::math::SqrtOp>(X); }
inline Real abs(Real X) { return unary<mlir::math::AbsFOp>(X); }
inline Real trunc(Real X) { return unary<mlir::math::TruncOp>(X); }

/// sum of Coefficients[i] * X^i, from the highest.
inline Real polynomial(Real X, llvm::ArrayRef<double> Coefficients) {
  Real R = X.like(Coefficients.back());
  for (double C : llvm::reverse(Coefficients.drop_back()))
    R = fma(R, X, C);
  return R;
}

//===----------------------------------------------------------------------===//
// Comparisons: ordered, so false where an operand is NaN
//===----------------------------------------------------------------------===//

inline Mask compare(mlir::arith::CmpFPredicate P, Real X, Real Y) {
  return {mlir::arith::CmpFOp::create(*X.B, P, X.V, Y.V), X.B};
}
inline Mask operator<(Real X, Real Y) {
  return compare(mlir::arith::CmpFPredicate::OLT, X, Y);
}
inline Mask operator>(Real X, Real Y) { return Y < X; }
inline Mask operator<(Real X, double C) { return X < X.like(C); }
inline Mask operator>(Real X, double C) { return X.like(C) < X; }
inline Mask operator>=(Real X, Real Y) {
  return compare(mlir::arith::CmpFPredicate::OGE, X, Y);
}
inline Mask operator==(Real X, Real Y) {
  return compare(mlir::arith::CmpFPredicate::OEQ, X, Y);
}
inline Mask operator==(Real X, double C) { return X == X.like(C); }
inline Mask isNaN(Real X) {
  return compare(mlir::arith::CmpFPredicate::UNO, X, X);
}

inline Mask operator&(Mask X, Mask Y) {
  return {mlir::arith::AndIOp::create(*X.B, X.V, Y.V), X.B};
}
inline Mask operator|(Mask X, Mask Y) {
  return {mlir::arith::OrIOp::create(*X.B, X.V, Y.V), X.B};
}
inline Mask operator!(Mask X) {
  mlir::Value True = constantOf(*X.B, X.V.getType(), X.B->getBoolAttr(true));
  return {mlir::arith::XOrIOp::create(*X.B, X.V, True), X.B};
}

inline Real select(Mask M, Real X, Real Y) {
  return {mlir::arith::SelectOp::create(*X.B, M.V, X.V, Y.V), X.B};
}
inline Real select(Mask M, Real X, double Y) { return select(M, X, X.like(Y)); }
inline Real select(Mask M, double X, Real Y) { return select(M, Y.like(X), Y); }
inline Int select(Mask M, Int X, Int Y) {
  return {mlir::arith::SelectOp::create(*X.B, M.V, X.V, Y.V), X.B};
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

template <typename Op> Int binary(Int X, Int Y) {
  return {Op::create(*X.B, X.V, Y.V), X.B};
}
inline Int operator+(Int X, Int Y) { return binary<mlir::arith::AddIOp>(X, Y); }
inline Int operator-(Int X, Int Y) { return binary<mlir::arith::SubIOp>(X, Y); }
inline Int operator*(Int X, Int Y) { return binary<mlir::arith::MulIOp>(X, Y); }
inline Int operator&(Int X, Int Y) { return binary<mlir::arith::AndIOp>(X, Y); }
inline Int operator|(Int X, Int Y) { return binary<mlir::arith::OrIOp>(X, Y); }
inline Int operator^(Int X, Int Y) { return binary<mlir::arith::XOrIOp>(X, Y); }
inline Int operator<<(Int X, Int Y) {
  return binary<mlir::arith::ShLIOp>(X, Y);
}
inline Int shiftRight(Int X, Int Y) { // brings in zeros
  return binary<mlir::arith::ShRUIOp>(X, Y);
}
inline Int shiftRightSigned(Int X, Int Y) {
  return binary<mlir::arith::ShRSIOp>(X, Y);
}
inline Int operator+(Int X, uint64_t C) { return X + X.like(C); }
inline Int operator-(Int X, uint64_t C) { return X - X.like(C); }
inline Int operator&(Int X, uint64_t C) { return X & X.like(C); }
inline Int operator|(Int X, uint64_t C) { return X | X.like(C); }
inline Int operator<<(Int X, uint64_t C) { return X << X.like(C); }
inline Int shiftRight(Int X, uint64_t C) { return shiftRight(X, X.like(C)); }
inline Int shiftRightSigned(Int X, uint64_t C) {
  return shiftRightSigned(X, X.like(C));
}

inline Mask compare(mlir::arith::CmpIPredicate P, Int X, Int Y) {
  return {mlir::arith::CmpIOp::create(*X.B, P, X.V, Y.V), X.B};
}
inline Mask equal(Int X, Int Y) {
  return compare(mlir::arith::CmpIPredicate::eq, X, Y);
}
inline Mask equal(Int X, uint64_t C) { return equal(X, X.like(C)); }
inline Mask notEqual(Int X, uint64_t C) {
  return compare(mlir::arith::CmpIPredicate::ne, X, X.like(C));
}
inline Mask lessSigned(Int X, Int Y) {
  return compare(mlir::arith::CmpIPredicate::slt, X, Y);
}
inline Mask lessUnsigned(Int X, Int Y) {
  return compare(mlir::arith::CmpIPredicate::ult, X, Y);
}

//===----------------------------------------------------------------------===//
// Between them
//===----------------------------------------------------------------------===//

inline Int bitsOf(Real X) {
  mlir::Type Ty = shapedLike(X.V.getType(), X.B->getIntegerType(X.width()));
  return {mlir::arith::BitcastOp::create(*X.B, Ty, X.V), X.B};
}
inline Real fromBits(Int X) {
  mlir::Type Element = X.width() == 64   ? mlir::Type(X.B->getF64Type())
                       : X.width() == 32 ? mlir::Type(X.B->getF32Type())
                                         : mlir::Type(X.B->getBF16Type());
  return {mlir::arith::BitcastOp::create(
              *X.B, shapedLike(X.V.getType(), Element), X.V),
          X.B};
}
/// `Magnitude`, whose own sign is plus, with the sign of `Sign`. Not by
/// llvm.copysign: LLVM moves that past roundings and may then round its second
/// operand from f64 to f16, for which x86 has no instruction.
inline Real withSign(Real Magnitude, Real Sign) {
  uint64_t Top = uint64_t(1) << (Magnitude.width() - 1);
  return fromBits(bitsOf(Magnitude) ^ (bitsOf(Sign) & Top));
}

template <typename Op>
mlir::Value convertTo(Builder &B, mlir::Value V, mlir::Type Element) {
  return Op::create(B, shapedLike(V.getType(), Element), V);
}
inline Real widen(Real X) {
  return {convertTo<mlir::arith::ExtFOp>(*X.B, X.V, X.B->getF64Type()), X.B};
}
inline Real narrow(Real X) {
  return {convertTo<mlir::arith::TruncFOp>(*X.B, X.V, X.B->getF32Type()), X.B};
}
inline Real signedToF64(Int X) {
  return {convertTo<mlir::arith::SIToFPOp>(*X.B, X.V, X.B->getF64Type()), X.B};
}
inline Int resize(Int X, unsigned Width, bool Signed = false) {
  mlir::Type Element = X.B->getIntegerType(Width);
  if (Width < X.width())
    return {convertTo<mlir::arith::TruncIOp>(*X.B, X.V, Element), X.B};
  if (Width == X.width())
    return X;
  if (Signed)
    return {convertTo<mlir::arith::ExtSIOp>(*X.B, X.V, Element), X.B};
  return {convertTo<mlir::arith::ExtUIOp>(*X.B, X.V, Element), X.B};
}

/// What a float format is made of.
struct Format {
  unsigned FractionBits; ///< without the hidden one
  int64_t Bias;
  int64_t MaxExponent; ///< field of infinity and NaN
};
inline Format formatOf(Real X) {
  return X.isF64() ? Format{52, 1023, 2047} : Format{23, 127, 255};
}

/// 2^K as a float of X's type, for K in the range of normal numbers.
inline Real powerOfTwo(Int K, const Format &F) {
  return fromBits((K + uint64_t(F.Bias)) << uint64_t(F.FractionBits));
}

/// X * 2^K rounded once, for K between twice the exponents of the format.
inline Real scale(Real X, Int K) {
  Format F = formatOf(X);
  Int Half = shiftRightSigned(K, 1);
  return X * powerOfTwo(Half, F) * powerOfTwo(K - Half, F);
}

} // namespace kpc::expand

#endif // KPC_PASSES_KERNELS_MATH_EXPANDMATHVALUES_H
