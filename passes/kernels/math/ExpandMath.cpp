//===- ExpandMath.cpp - Math ops as plain arithmetic: the pass ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/math/ExpandMath.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/kernels/math/ExpandMathFunctions.h"

using namespace mlir;
using namespace kpc::expand;

namespace {

/// Scalars and vectors of this element type alone.
template <typename ElementTy> bool isOf(Type Ty) {
  return !isa<TensorType>(Ty) && isa<ElementTy>(getElementTypeOrSelf(Ty));
}
bool isHalf(Type Ty) { return isOf<Float16Type>(Ty) || isOf<BFloat16Type>(Ty); }

using UnaryFn = Real (*)(Real);
using BinaryFn = Real (*)(Real, Real);

/// An op on one float: by F32 on f32 where there is one, else by F64 between
/// widening and narrowing.
template <typename Op> struct ExpandUnary : OpRewritePattern<Op> {
  ExpandUnary(MLIRContext *Ctx, UnaryFn F32, UnaryFn F64)
      : OpRewritePattern<Op>(Ctx), F32(F32), F64(F64) {}

  LogicalResult matchAndRewrite(Op O, PatternRewriter &R) const override {
    Type Ty = O.getType();
    ImplicitLocOpBuilder B(O.getLoc(), R);
    Real X{O.getOperand(), &B};
    if (isOf<Float64Type>(Ty))
      R.replaceOp(O, F64(X).V);
    else if (isOf<Float32Type>(Ty))
      R.replaceOp(O, (F32 ? F32(X) : narrow(F64(widen(X)))).V);
    else
      return failure();
    return success();
  }

  UnaryFn F32, F64;
};

template <typename Op> struct ExpandBinary : OpRewritePattern<Op> {
  ExpandBinary(MLIRContext *Ctx, BinaryFn F32, BinaryFn F64)
      : OpRewritePattern<Op>(Ctx), F32(F32), F64(F64) {}

  LogicalResult matchAndRewrite(Op O, PatternRewriter &R) const override {
    Type Ty = O.getType();
    ImplicitLocOpBuilder B(O.getLoc(), R);
    Real X{O->getOperand(0), &B}, Y{O->getOperand(1), &B};
    if (isOf<Float64Type>(Ty))
      R.replaceOp(O, F64(X, Y).V);
    else if (isOf<Float32Type>(Ty))
      R.replaceOp(O, F32(X, Y).V);
    else
      return failure();
    return success();
  }

  BinaryFn F32, F64;
};

/// 1 + erf(x), 1 + tanh(x): shorter than the function, and exact where the sum
/// is small.
template <typename Op> struct ApproximatePlusOne : OpRewritePattern<Op> {
  ApproximatePlusOne(MLIRContext *Ctx, UnaryFn F)
      : OpRewritePattern<Op>(Ctx, /*benefit=*/3), F(F) {}

  LogicalResult matchAndRewrite(Op O, PatternRewriter &R) const override {
    arith::AddFOp Add = plusOne(O);
    if (!Add || !mayApproximate(O))
      return failure();
    ImplicitLocOpBuilder B(O.getLoc(), R);
    Real Sum = F({O.getOperand(), &B});
    R.replaceOp(Add, Sum.V);
    R.eraseOp(O);
    return success();
  }

  UnaryFn F;
};

/// With the processor's own approximations.
template <typename Op, typename Fn> struct Approximate : OpRewritePattern<Op> {
  Approximate(MLIRContext *Ctx, Fn F)
      : OpRewritePattern<Op>(Ctx, /*benefit=*/2), F(F) {}

  LogicalResult matchAndRewrite(Op O, PatternRewriter &R) const override {
    if (!mayApproximate(O))
      return failure();
    ImplicitLocOpBuilder B(O.getLoc(), R);
    Real X{O->getOperand(0), &B};
    if constexpr (std::is_same_v<Fn, UnaryFn>)
      R.replaceOp(O, F(X).V);
    else
      R.replaceOp(O, F(X, {O->getOperand(1), &B}).V);
    return success();
  }

  Fn F;
};

/// An op on f16 or bf16, done in f32. One f32 operation rounded to fewer than
/// half its bits is the operation itself rounded once.
template <typename Op> struct WidenHalf : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op O, PatternRewriter &R) const override {
    if (!isHalf(O->getOperand(0).getType()))
      return failure();
    Location L = O.getLoc();
    auto ToF32 = [&](Type Ty) { return shapedLike(Ty, R.getF32Type()); };
    SmallVector<Value> Operands;
    for (Value V : O->getOperands()) {
      if (isHalf(V.getType()))
        V = arith::ExtFOp::create(R, L, ToF32(V.getType()), V);
      Operands.push_back(V);
    }
    SmallVector<Type> Types;
    for (Type Ty : O->getResultTypes())
      Types.push_back(isHalf(Ty) ? ToF32(Ty) : Ty);
    Operation *Wide = R.create(L, O->getName().getIdentifier(), Operands, Types,
                               O->getAttrs());
    SmallVector<Value> Results;
    for (auto [New, Old] : llvm::zip(Wide->getResults(), O->getResultTypes())) {
      Value V = New;
      if (isHalf(Old))
        V = arith::TruncFOp::create(R, L, Old, V);
      Results.push_back(V);
    }
    R.replaceOp(O, Results);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Ops with an expansion of their own
//===----------------------------------------------------------------------===//

struct ExpandSinCos : OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::SincosOp O,
                                PatternRewriter &R) const override {
    Value X = O.getOperand();
    Value S = math::SinOp::create(R, O.getLoc(), X);
    Value C = math::CosOp::create(R, O.getLoc(), X);
    R.replaceOp(O, {S, C});
    return success();
  }
};

/// A whole exponent of 32 bits is exact in f64; of 64 bits, one beyond 2^53
/// differs from its rounding by nothing that a result other than 0, 1 or
/// infinity could show.
struct ExpandFPowI : OpRewritePattern<math::FPowIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FPowIOp O,
                                PatternRewriter &R) const override {
    Type Ty = O.getType();
    if (!isOf<Float32Type>(Ty) && !isOf<Float64Type>(Ty))
      return failure();
    ImplicitLocOpBuilder B(O.getLoc(), R);
    Real X{O.getLhs(), &B};
    Real Y = signedToF64({O.getRhs(), &B});
    R.replaceOp(O, X.isF64()
                       ? kpc::expand::pow(X, Y, Goal::Double).V
                       : narrow(kpc::expand::pow(widen(X), Y, Goal::Single)).V);
    return success();
  }
};

struct ExpandIPowI : OpRewritePattern<math::IPowIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::IPowIOp O,
                                PatternRewriter &R) const override {
    if (!isOf<IntegerType>(O.getType()))
      return failure();
    ImplicitLocOpBuilder B(O.getLoc(), R);
    R.replaceOp(O, integerPower({O.getLhs(), &B}, {O.getRhs(), &B}).V);
    return success();
  }
};

/// maxnumf and minnumf of f16 and bf16, by comparison: LLVM narrows the f32
/// op to f16 and then calls fmaxf.
template <typename Op, arith::CmpFPredicate Better>
struct ExpandHalfExtremum : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op O, PatternRewriter &R) const override {
    if (!isHalf(O.getType()))
      return failure();
    ImplicitLocOpBuilder B(O.getLoc(), R);
    Real X{convertTo<arith::ExtFOp>(B, O.getLhs(), B.getF32Type()), &B};
    Real Y{convertTo<arith::ExtFOp>(B, O.getRhs(), B.getF32Type()), &B};
    Value TakeX = arith::OrIOp::create(B, compare(Better, X, Y).V, isNaN(Y).V);
    R.replaceOpWithNewOp<arith::SelectOp>(O, TakeX, O.getLhs(), O.getRhs());
    return success();
  }
};

struct ExpandClamp : OpRewritePattern<math::ClampFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ClampFOp O,
                                PatternRewriter &R) const override {
    if (!isOf<FloatType>(O.getType()))
      return failure();
    Value Lower =
        arith::MaximumFOp::create(R, O.getLoc(), O.getValue(), O.getMin());
    R.replaceOpWithNewOp<arith::MinimumFOp>(O, Lower, O.getMax());
    return success();
  }
};

/// isnan, isinf, isfinite, isnormal: comparisons.
template <typename Op> struct ExpandClass : OpRewritePattern<Op> {
  using Fn = Mask (*)(Real);
  ExpandClass(MLIRContext *Ctx, Fn Test)
      : OpRewritePattern<Op>(Ctx), Test(Test) {}
  LogicalResult matchAndRewrite(Op O, PatternRewriter &R) const override {
    Type Ty = O->getOperand(0).getType();
    if (!isOf<Float32Type>(Ty) && !isOf<Float64Type>(Ty))
      return failure();
    ImplicitLocOpBuilder B(O.getLoc(), R);
    R.replaceOp(O, Test(Real{O->getOperand(0), &B}).V);
    return success();
  }
  Fn Test;
};

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// From bf16 by a shift, from fewer bits by arithmetic on them; to f64 by way
/// of f32. `ByInstruction`: scalars of FP8 in kernels of GPUs that have one.
struct ExpandExtF : OpRewritePattern<arith::ExtFOp> {
  ExpandExtF(MLIRContext *Ctx, bool ByInstruction)
      : OpRewritePattern(Ctx), ByInstruction(ByInstruction) {}

  LogicalResult matchAndRewrite(arith::ExtFOp O,
                                PatternRewriter &R) const override {
    Type From = O.getIn().getType(), To = O.getType();
    ImplicitLocOpBuilder B(O.getLoc(), R);
    Value F32;
    if (isOf<BFloat16Type>(From))
      F32 = bf16ToF32(O.getIn(), B).V;
    else if (ByInstruction && isa<Float8E4M3FNType, Float8E5M2Type>(From) &&
             O->getParentOfType<gpu::GPUModuleOp>())
      F32 = convertFromFp8(O.getIn(), B).V;
    else if (!isa<TensorType>(From) &&
             getElementTypeOrSelf(From).getIntOrFloatBitWidth() < 16)
      F32 = narrowToF32(O.getIn(), B).V;
    else if (isOf<Float16Type>(From) && isOf<Float64Type>(To))
      F32 = convertTo<arith::ExtFOp>(B, O.getIn(), B.getF32Type());
    else
      return failure();
    R.replaceOp(O, isOf<Float64Type>(To) ? widen({F32, &B}).V : F32);
    return success();
  }

  bool ByInstruction;
};

struct ExpandTruncF : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp O,
                                PatternRewriter &R) const override {
    Type From = O.getIn().getType(), To = O.getType();
    if (O.getRoundingmodeAttr() || !isHalf(To))
      return failure();
    // GPUs from sm_80 on have an instruction for one and for a pair.
    if (isOf<Float32Type>(From) && O->getParentOfType<gpu::GPUModuleOp>())
      return failure();
    ImplicitLocOpBuilder B(O.getLoc(), R);
    Real X{O.getIn(), &B};
    if (isOf<Float64Type>(From))
      X = narrowToOdd(X);
    else if (!isOf<Float32Type>(From) || isOf<Float16Type>(To))
      return failure();
    R.replaceOp(O, isOf<BFloat16Type>(To)
                       ? f32ToBF16(X)
                       : convertTo<arith::TruncFOp>(B, X.V, B.getF16Type()));
    return success();
  }
};

/// To FP8, by way of f32: of narrower floats, and of integers, which f32 rounds
/// only where FP8 has no such number. `ByInstruction`: scalars in kernels of
/// GPUs that have one.
template <typename Op> struct ExpandToFp8 : OpRewritePattern<Op> {
  ExpandToFp8(MLIRContext *Ctx, bool ByInstruction)
      : OpRewritePattern<Op>(Ctx), ByInstruction(ByInstruction) {}

  LogicalResult matchAndRewrite(Op O, PatternRewriter &R) const override {
    Type To = O.getType(), From = O.getIn().getType();
    auto Narrow = dyn_cast<FloatType>(getElementTypeOrSelf(To));
    if (isa<TensorType>(To) || isOf<Float64Type>(From) ||
        !isa_and_present<Float8E4M3FNType, Float8E5M2Type>(Narrow))
      return failure();
    ImplicitLocOpBuilder B(O.getLoc(), R);
    Real X{O.getIn(), &B};
    if (isHalf(From))
      X.V = convertTo<arith::ExtFOp>(B, X.V, B.getF32Type());
    else if (!isOf<Float32Type>(From))
      X.V = convertTo<Op>(B, X.V, B.getF32Type());
    bool Converts = ByInstruction && X.V.getType().isF32() &&
                    O->template getParentOfType<gpu::GPUModuleOp>();
    std::optional<Int> Saturated =
        Converts ? saturateToFp8(X, Narrow) : std::nullopt;
    Int Code = Saturated  ? *Saturated
               : Converts ? convertToFp8(X, Narrow)
                          : f32ToFp8(X, Narrow);
    // Whoever takes the codes needs no number of FP8, which LLVM has none of.
    for (Operation *User : llvm::make_early_inc_range(O->getUsers()))
      if (auto Cast = dyn_cast<arith::BitcastOp>(User);
          Cast && Cast.getType() == Code.V.getType())
        R.replaceOp(Cast, Code.V);
    R.replaceOpWithNewOp<arith::BitcastOp>(O, To, Code.V);
    return success();
  }

  bool ByInstruction;
};

/// Integer to f16 or bf16. An integer that f32 has to round is infinite in
/// f16; for bf16 wide ones keep their tail as one sticky bit on the way
/// through f64.
template <typename Op> struct ExpandIntToHalf : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op O, PatternRewriter &R) const override {
    Type To = O.getType();
    if (!isHalf(To) || !isOf<IntegerType>(O.getIn().getType()))
      return failure();
    ImplicitLocOpBuilder B(O.getLoc(), R);
    Int X{O.getIn(), &B};
    if (isOf<Float16Type>(To)) {
      Value F32 = convertTo<Op>(B, X.V, B.getF32Type());
      R.replaceOp(O, convertTo<arith::TruncFOp>(B, F32, B.getF16Type()));
      return success();
    }
    if (X.width() > 53) {
      constexpr uint64_t Tail = 0x7FF;
      Int Sticky = (X & X.like(~Tail)) |
                   select(notEqual(X & Tail, 0), X.like(Tail + 1), X.like(0));
      bool Signed = std::is_same_v<Op, arith::SIToFPOp>;
      // Whether the bits above 2^53 are but copies of the sign.
      Int Top = Signed ? shiftRightSigned(X, 53) : shiftRight(X, 53);
      Mask Exact = equal(Top, 0);
      if (Signed)
        Exact = Exact | equal(Top, ~uint64_t(0));
      X = select(Exact, X, Sticky);
    }
    Value F64 = convertTo<Op>(B, X.V, B.getF64Type());
    R.replaceOp(O, convertTo<arith::TruncFOp>(B, F64, B.getBF16Type()));
    return success();
  }
};

template <typename Op> struct ExpandHalfToInt : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op O, PatternRewriter &R) const override {
    if (!isHalf(O.getIn().getType()))
      return failure();
    ImplicitLocOpBuilder B(O.getLoc(), R);
    Value F32 = convertTo<arith::ExtFOp>(B, O.getIn(), B.getF32Type());
    R.replaceOpWithNewOp<Op>(O, O.getType(), F32);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct ExpandMathPass : PassWrapper<ExpandMathPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)

  explicit ExpandMathPass(bool HasFp8Instructions) {
    Fp8Instructions = HasFp8Instructions;
  }
  ExpandMathPass(const ExpandMathPass &Other) : PassWrapper(Other) {
    Fp8Instructions = bool(Other.Fp8Instructions);
  }

  StringRef getArgument() const override { return "kpc-expand-math"; }
  StringRef getDescription() const override {
    return "Rewrite math ops into arithmetic that needs no library";
  }
  void getDependentDialects(DialectRegistry &R) const override {
    R.insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect,
             NVVM::NVVMDialect, scf::SCFDialect, vector::VectorDialect>();
  }
  LogicalResult initialize(MLIRContext *Ctx) override {
    RewritePatternSet Set(Ctx);
    kpc::kernels::populateExpandMathPatterns(Set, Fp8Instructions);
    Patterns = std::move(Set);
    return success();
  }
  void runOnOperation() override {
    GreedyRewriteConfig Config;
    Config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), Patterns, Config)))
      signalPassFailure();
  }

  Option<bool> Fp8Instructions{
      *this, "fp8-instructions", llvm::cl::init(false),
      llvm::cl::desc("The GPU has conversions to FP8: from sm_89 on")};
  FrozenRewritePatternSet Patterns;
};

} // namespace

static Real powF32(Real X, Real Y) {
  return kpc::expand::pow(X, Y, Goal::Single);
}
static Real powF64(Real X, Real Y) {
  return kpc::expand::pow(X, Y, Goal::Double);
}
static Real atan2F32(Real Y, Real X) {
  return narrow(kpc::expand::atan2(widen(Y), widen(X)));
}

template <typename Op>
static void addUnary(RewritePatternSet &P, UnaryFn F32, UnaryFn F64) {
  P.add<ExpandUnary<Op>>(P.getContext(), F32, F64);
}
template <typename Op>
static void addBinary(RewritePatternSet &P, BinaryFn F32, BinaryFn F64) {
  P.add<ExpandBinary<Op>>(P.getContext(), F32, F64);
}

static void addFunctions(RewritePatternSet &P) {
  addUnary<math::ExpOp>(P, expF32, kpc::expand::exp);
  addUnary<math::Exp2Op>(P, exp2F32, kpc::expand::exp2);
  addUnary<math::ExpM1Op>(P, expm1F32, kpc::expand::expm1);
  addUnary<math::SinhOp>(P, sinhF32, kpc::expand::sinh);
  addUnary<math::CoshOp>(P, coshF32, kpc::expand::cosh);
  addUnary<math::TanhOp>(P, tanhF32, kpc::expand::tanh);
  addUnary<math::LogOp>(P, logF32, kpc::expand::log);
  addUnary<math::Log2Op>(P, nullptr, kpc::expand::log2);
  addUnary<math::Log10Op>(P, nullptr, kpc::expand::log10);
  addUnary<math::Log1pOp>(P, log1pF32, kpc::expand::log1p);
  addUnary<math::AsinhOp>(P, asinhF32, kpc::expand::asinh);
  addUnary<math::AcoshOp>(P, acoshF32, kpc::expand::acosh);
  addUnary<math::AtanhOp>(P, atanhF32, kpc::expand::atanh);
  addUnary<math::SinOp>(P, sinF32, kpc::expand::sin);
  addUnary<math::CosOp>(P, cosF32, kpc::expand::cos);
  addUnary<math::TanOp>(P, tanF32, kpc::expand::tan);
  addUnary<math::AsinOp>(P, asinF32, kpc::expand::asin);
  addUnary<math::AcosOp>(P, acosF32, kpc::expand::acos);
  addUnary<math::AtanOp>(P, atanF32, kpc::expand::atan);
  addBinary<math::Atan2Op>(P, atan2F32, kpc::expand::atan2);
  addUnary<math::ErfOp>(P, erfF32, kpc::expand::erf);
  addUnary<math::ErfcOp>(P, nullptr, kpc::expand::erfc);
  addBinary<math::PowFOp>(P, powF32, powF64);
  addUnary<math::CbrtOp>(P, nullptr, kpc::expand::cbrt);
  addUnary<math::RsqrtOp>(P, rsqrt, rsqrt);
  addUnary<math::RoundOp>(P, roundHalfAway, roundHalfAway);
  addBinary<arith::RemFOp>(P, kpc::expand::remainder, kpc::expand::remainder);
}

static void addApproximations(RewritePatternSet &P) {
  MLIRContext *Ctx = P.getContext();
  P.add<Approximate<math::ExpOp, UnaryFn>>(Ctx, approximateExp);
  P.add<Approximate<math::ErfOp, UnaryFn>>(Ctx, approximateErf);
  P.add<Approximate<math::TanhOp, UnaryFn>>(Ctx, approximateTanh);
  P.add<Approximate<arith::DivFOp, BinaryFn>>(Ctx, approximateDivide);
  P.add<Approximate<math::PowFOp, BinaryFn>>(Ctx, approximatePower);
  P.add<ApproximatePlusOne<math::ErfOp>>(Ctx, approximateOnePlusErf);
  P.add<ApproximatePlusOne<math::TanhOp>>(Ctx, approximateOnePlusTanh);
}

static void addClasses(RewritePatternSet &P) {
  MLIRContext *Ctx = P.getContext();
  P.add<ExpandClass<math::IsNaNOp>>(Ctx, [](Real X) { return isNaN(X); });
  P.add<ExpandClass<math::IsInfOp>>(
      Ctx, [](Real X) { return abs(X) == X.infinity(); });
  P.add<ExpandClass<math::IsFiniteOp>>(
      Ctx, [](Real X) { return abs(X) < X.infinity(); });
  P.add<ExpandClass<math::IsNormalOp>>(Ctx, [](Real X) {
    Real A = abs(X);
    return (A < A.infinity()) & (A >= A.like(X.isF64() ? 0x1p-1022 : 0x1p-126));
  });
}

template <typename... Ops> static void widenHalf(RewritePatternSet &P) {
  P.add<WidenHalf<Ops>...>(P.getContext());
}

void kpc::kernels::populateExpandMathPatterns(RewritePatternSet &P,
                                              bool Fp8Instructions) {
  P.add<ExpandToFp8<arith::TruncFOp>, ExpandToFp8<arith::SIToFPOp>,
        ExpandToFp8<arith::UIToFPOp>, ExpandExtF>(P.getContext(),
                                                  Fp8Instructions);
  addApproximations(P);
  addGelu(P);
  addFunctions(P);
  addClasses(P);
  addQuantise(P);
  P.add<ExpandSinCos, ExpandFPowI, ExpandIPowI, ExpandClamp, ExpandTruncF,
        ExpandIntToHalf<arith::SIToFPOp>, ExpandIntToHalf<arith::UIToFPOp>,
        ExpandHalfToInt<arith::FPToSIOp>, ExpandHalfToInt<arith::FPToUIOp>>(
      P.getContext());
  widenHalf<math::ExpOp, math::Exp2Op, math::ExpM1Op, math::SinhOp,
            math::CoshOp, math::TanhOp, math::LogOp, math::Log2Op,
            math::Log10Op, math::Log1pOp, math::AsinhOp, math::AcoshOp,
            math::AtanhOp, math::SinOp, math::CosOp, math::TanOp, math::AsinOp,
            math::AcosOp, math::AtanOp, math::Atan2Op, math::ErfOp,
            math::ErfcOp, math::PowFOp, math::FPowIOp, math::CbrtOp,
            math::RsqrtOp, math::RoundOp>(P);
  widenHalf<math::SqrtOp, math::FmaOp, math::FloorOp, math::CeilOp,
            math::TruncOp, math::RoundEvenOp, math::AbsFOp, math::CopySignOp,
            math::IsNaNOp, math::IsInfOp, math::IsFiniteOp, math::IsNormalOp>(
      P);
  widenHalf<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
            arith::RemFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
            arith::CmpFOp>(P);
  P.add<ExpandHalfExtremum<arith::MaxNumFOp, arith::CmpFPredicate::OGT>,
        ExpandHalfExtremum<arith::MinNumFOp, arith::CmpFPredicate::OLT>>(
      P.getContext());
}

std::unique_ptr<Pass> kpc::kernels::createExpandMathPass(bool Fp8Instructions) {
  return std::make_unique<ExpandMathPass>(Fp8Instructions);
}

void kpc::kernels::registerExpandMathPass() {
  registerPass([] { return createExpandMathPass(); });
}
