//===- SinkScales.cpp - GEMMs and convolutions multiply codes -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %x = graph.mul (graph.cast %a to f32), %sx     %a, %b : f8E4M3FN
///   %w = graph.mul (graph.cast %b to f32), %sw
///   %y = graph.matmul %x, %w
///     →  %p = graph.matmul %a, %b        (f32)
///        %y = graph.mul %p, (graph.mul %sx, %sw)
///
///   %x = (%a - %za) * %sx,  %w = (%b - %zb) * %sw     %a, %b : i8 or ui8
///   %y = graph.matmul %x, %w
///     →  %p = graph.matmul %a, %b        (i32)
///        %q = %p - %za * (sum of (%b - %zb) along K) - (sum of %a) * %zb
///        %y = graph.mul (graph.cast %q to f32), (graph.mul %sx, %sw)
///
/// A scale that does not change along K is a factor of the whole sum. So what
/// is dequantised in front of a GEMM, by one scale or by one a row of A or a
/// column of B, is multiplied as it is, by tensor cores for codes, and the
/// scales are part of the epilogue. Transposes between stay in front of the
/// GEMM. GEMMs of i32 whose factors are codes (MatMulInteger) have no scales,
/// and convolutions are the same with the filter's outputs for columns. Of
/// attention see CodeHeads.h.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeHeads.h"
#include "passes/graph/CodeOperand.h"
#include "passes/graph/CodeProducts.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_SINKSCALES
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// The sum of integers along `Axes`, in i32, of size 1 there.
Value sumAlong(OpBuilder &B, Location Loc, Value X, ArrayRef<int64_t> Axes) {
  SmallVector<Expr> Ones(typeOf(X).getDims());
  for (int64_t Axis : Axes)
    Ones[Axis] = Expr(1);
  Value Sum = ReduceOp::create(B, Loc, ReduceKind::sum, X, Axes);
  return B.createOrFold<ReshapeOp>(Loc, typeOf(X).withDims(Ones), Sum);
}

Value asInt32(OpBuilder &B, Location Loc, Value Codes) {
  return CastOp::create(B, Loc, Codes, B.getI32Type());
}

/// Codes less their zero points, in i32.
Value centred(OpBuilder &B, Location Loc, const CodeOperand &Of) {
  Value X = asInt32(B, Loc, Of.Codes);
  if (Of.Zero)
    X = SubOp::create(
        B, Loc, X, spread(B, Loc, Of.Zero, typeOf(X), typeOf(X).getRank() - 1));
  return X;
}

/// What zero points of A take off a sum: they times the sums of B along `Axes`.
Value withoutZeroOfA(OpBuilder &B, Location Loc, Value Sum,
                     const CodeOperand &A, const CodeOperand &W,
                     ArrayRef<int64_t> Axes) {
  if (!A.Zero)
    return Sum;
  SymbolicTensorType To = typeOf(Sum);
  Value Sums = sumAlong(B, Loc, centred(B, Loc, W), Axes);
  // Of a filter, [1…, O] like the result's dims; sizes of 1 are repeated.
  SymbolicTensorType Line = typeOf(Sums);
  bool IsVector = typeOf(A.Zero).getRank() == 1;
  if (!IsVector) {
    Sums = MulOp::create(B, Loc, Sums, spread(B, Loc, A.Zero, Line, 0));
    return SubOp::create(B, Loc, Sum, BroadcastOp::create(B, Loc, To, Sums));
  }
  Value Product = MulOp::create(B, Loc, BroadcastOp::create(B, Loc, To, Sums),
                                spread(B, Loc, A.Zero, To, To.getRank() - 2));
  return SubOp::create(B, Loc, Sum, Product);
}

/// The same of B's: the sums of A along K, times they.
Value withoutZeroOfB(OpBuilder &B, Location Loc, Value Sum,
                     const CodeOperand &A, const CodeOperand &W) {
  if (!W.Zero)
    return Sum;
  SymbolicTensorType To = typeOf(Sum);
  Value Sums = sumAlong(B, Loc, asInt32(B, Loc, A.Codes), {To.getRank() - 1});
  Value Product = MulOp::create(B, Loc, BroadcastOp::create(B, Loc, To, Sums),
                                spread(B, Loc, W.Zero, To, To.getRank() - 1));
  return SubOp::create(B, Loc, Sum, Product);
}

/// A sum of codes in place of `Op`: scaled, and of its type.
void finish(OpBuilder &B, Operation *Op, Value Y, const CodeOperand &A,
            const CodeOperand &W) {
  Location Loc = Op->getLoc();
  Type To = typeOf(Op->getResult(0)).getElementType();
  if (isFloat(To)) {
    if (!typeOf(Y).getElementType().isF32())
      Y = CastOp::create(B, Loc, Y, B.getF32Type());
    Y = scaled(B, Y, A.Scale, W.Scale);
  }
  if (typeOf(Y).getElementType() != To)
    Y = CastOp::create(B, Loc, Y, To);
  Op->getResult(0).replaceAllUsesWith(Y);
  Op->erase();
}

struct SinkScalesPass : graph::impl::SinkScalesBase<SinkScalesPass> {
  using SinkScalesBase::SinkScalesBase;
  SinkScalesPass() = default;
  SinkScalesPass(const SinkScalesPass &Other) : SinkScalesBase(Other) {}

  Option<bool> WholeRows{
      *this, "whole-rows",
      llvm::cl::desc("FP8 only where TMA copies operands and the result"),
      llvm::cl::init(false)};

  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    shape::Facts Facts = symbolFacts(Func->getParentOfType<ModuleOp>());
    SmallVector<MatmulOp> Products;
    Func.walk([&](MatmulOp Op) { Products.push_back(Op); });
    for (MatmulOp Op : Products)
      if (isMade(Op))
        sink(Op, Facts);
    SmallVector<ConvOp> Filters;
    Func.walk([&](ConvOp Op) { Filters.push_back(Op); });
    for (ConvOp Op : Filters)
      if (isMade(Op))
        sink(Op, Facts);
    SmallVector<AttentionOp> Attentions;
    Func.walk([&](AttentionOp Op) { Attentions.push_back(Op); });
    for (AttentionOp Op : Attentions)
      if (Fp8)
        sink(Op, Facts);
  }

private:
  /// Whether sums of floats or of i32 are made, but not of codes.
  static bool isMade(Operation *Op) {
    Type To = typeOf(Op->getResult(0)).getElementType();
    bool Known = (isFloat(To) && !To.isF64()) || To.isSignlessInteger(32);
    return Known && !isCode(typeOf(Op->getOperand(0)).getElementType());
  }

  /// Codes are of one kind, and that is asked for.
  bool isTaken(Operation *Op, const CodeOperand &A,
               const CodeOperand &W) const {
    Type OfA = typeOf(A.Codes).getElementType(),
         OfW = typeOf(W.Codes).getElementType();
    bool MakesFloats = isFloat(typeOf(Op->getResult(0)).getElementType());
    return (Fp8 && isFp8(OfA) && isFp8(OfW)) ||
           (Int8 && isInt8(OfA) && isInt8(OfW) &&
            (Dequantised || !MakesFloats));
  }

  void sink(MatmulOp Op, const shape::Facts &Facts) {
    int64_t Rank = typeOf(Op.getY()).getRank();
    std::optional<CodeOperand> A = CodeOperand::read(Op->getOpOperand(0),
                                                     Rank - 2),
                               W = CodeOperand::read(Op->getOpOperand(1),
                                                     Rank - 1);
    if (!A || !W || !isTaken(Op, *A, *W))
      return;
    bool IsFp8 = isFp8(typeOf(A->Codes).getElementType());
    StringRef Why =
        IsFp8 ? refusalOfFp8(Op, Facts, WholeRows) : refusalOfInt8(Op, Facts);
    tell(Op, Why, IsFp8);
    if (!Why.empty())
      return;
    OpBuilder B(Op);
    Location Loc = Op.getLoc();
    if (!IsFp8)
      W->moveZero(B, Loc);
    Value Y = MatmulOp::create(B, Loc, A->Codes, W->Codes);
    Y = withoutZeroOfA(B, Loc, Y, *A, *W, {Rank - 2});
    Y = withoutZeroOfB(B, Loc, Y, *A, *W);
    finish(B, Op, Y, *A, *W);
  }

  void sink(ConvOp Op, const shape::Facts &Facts) {
    int64_t Rank = typeOf(Op.getY()).getRank();
    std::optional<CodeOperand> X = CodeOperand::read(Op->getOpOperand(0), -1),
                               W = CodeOperand::read(Op->getOpOperand(1),
                                                     Rank - 1);
    if (!X || !W || !isTaken(Op, *X, *W))
      return;
    if (isExactInFloats(Op))
      return multiplyFloats(Op);
    OpBuilder B(Op);
    Location Loc = Op.getLoc();
    bool IsFp8 = isFp8(typeOf(X->Codes).getElementType());
    if (!IsFp8)
      W->moveZero(B, Loc);
    StringRef Why = W->Zero && Op.getGroups() > 1
                        ? "the filter of groups has zero points"
                    : IsFp8 ? refusalOfFp8(Op, Facts)
                            : refusalOfInt8(Op, Facts);
    tell(Op, Why, IsFp8);
    if (!Why.empty())
      return;
    CodeOperand Image = *X, Filter = *W;
    Filter.Zero = {};
    SmallVector<int64_t> Low(Op.getLow()), High(Op.getHigh());
    surround(B, Loc, *X, Low, High);
    Value Y = ConvOp::create(B, Loc, X->Codes, W->Codes, Op.getStride(),
                             Op.getDilation(), Low, High, Op.getGroups());
    Y = withoutZeroOfA(B, Loc, Y, *X, Filter,
                       llvm::to_vector(llvm::seq<int64_t>(0, Rank - 1)));
    if (W->Zero)
      Y = SubOp::create(
          B, Loc, Y,
          MulOp::create(B, Loc, sumsOfWindows(B, Op, Image, typeOf(Y)),
                        spread(B, Loc, W->Zero, typeOf(Y), Rank - 1)));
    finish(B, Op, Y, *X, *W);
  }

  static void sink(AttentionOp Op, const shape::Facts &Facts) {
    Location Loc = Op.getLoc();
    std::optional<StringRef> Why = sinkScalesOfHeads(Op, Facts);
    if (!Why)
      return;
    if (Why->empty())
      remark::passed(Loc,
                     remark::RemarkOpts::name("fp8").category("quantisation"))
          << "Keys and values are read as codes of FP8.";
    else
      remark::missed(
          Loc, remark::RemarkOpts::name("refused").category("quantisation"))
          << "Keys and values of FP8 are dequantised in front of the "
             "attention, because "
          << Why->str() << ".";
  }

  /// The sums of what an image's codes are without their zero point, under the
  /// filter at each place: zero points of the filter take them off.
  static Value sumsOfWindows(OpBuilder &B, ConvOp Op, const CodeOperand &Image,
                             SymbolicTensorType To) {
    Location Loc = Op.getLoc();
    int64_t Rank = To.getRank();
    Value X = sumAlong(B, Loc, centred(B, Loc, Image), {Rank - 1});
    auto ForAll = [&](ArrayRef<int64_t> Spatial, int64_t Other) {
      SmallVector<int64_t> All(Rank, Other);
      llvm::copy(Spatial, All.begin() + 1);
      return All;
    };
    SmallVector<int64_t> Taps;
    for (int64_t Dim = 0; Dim + 2 < Rank; ++Dim)
      Taps.push_back(*typeOf(Op.getW()).getStaticDim(Dim));
    X = WindowOp::create(B, Loc, ReduceKind::sum, X, ForAll(Taps, 1),
                         ForAll(Op.getStride(), 1), ForAll(Op.getDilation(), 1),
                         ForAll(Op.getLow(), 0), ForAll(Op.getHigh(), 0));
    return BroadcastOp::create(B, Loc, To, X);
  }

  /// Whether f32 holds the sums of a depthwise convolution of integers, whose
  /// factors are codes less zero points.
  static bool isExactInFloats(ConvOp Op) {
    constexpr int64_t MostProducts = (int64_t(1) << 24) / (255 * 255);
    SymbolicTensorType Filter = typeOf(Op.getW());
    int64_t Rank = Filter.getRank();
    Expr Taps = 1;
    for (const Expr &Size : Filter.getDims().drop_back(2))
      Taps = Taps * Size;
    return isInteger(typeOf(Op.getY()).getElementType()) &&
           Op.getGroups() > 1 && Filter.getDims()[Rank - 2] == Expr(1) &&
           Taps.asConstant().value_or(MostProducts + 1) <= MostProducts;
  }

  /// Kernels of windows multiply floats, not integers.
  static void multiplyFloats(ConvOp Op) {
    OpBuilder B(Op);
    Location Loc = Op.getLoc();
    Type F32 = B.getF32Type();
    Value Y = ConvOp::create(B, Loc, CastOp::create(B, Loc, Op.getX(), F32),
                             CastOp::create(B, Loc, Op.getW(), F32),
                             Op.getStride(), Op.getDilation(), Op.getLow(),
                             Op.getHigh(), Op.getGroups());
    Op.replaceAllUsesWith(
        CastOp::create(B, Loc, Y, typeOf(Op.getY()).getElementType())
            .getResult());
    Op.erase();
  }

  /// What surrounds the image is its zero point. Where that is not 0, the codes
  /// are written with it around them.
  static void surround(OpBuilder &B, Location Loc, CodeOperand &X,
                       SmallVector<int64_t> &Low, SmallVector<int64_t> &High) {
    auto IsZero = [](int64_t V) { return V == 0; };
    if (!X.Zero || (llvm::all_of(Low, IsZero) && llvm::all_of(High, IsZero)))
      return;
    X.moveZero(B, Loc);
    if (!X.Zero)
      return;
    int64_t Rank = typeOf(X.Codes).getRank();
    SmallVector<int64_t> Front(Rank, 0), Back(Rank, 0), None(Rank, 0);
    llvm::copy(Low, Front.begin() + 1);
    llvm::copy(High, Back.begin() + 1);
    Value Filler =
        CastOp::create(B, Loc, X.Zero, typeOf(X.Codes).getElementType());
    X.Codes = PadOp::create(B, Loc, X.Codes, Filler, Front, Back, None);
    Low.assign(Low.size(), 0);
    High.assign(High.size(), 0);
  }

  static void tell(Operation *Op, StringRef Why, bool IsFp8) {
    StringRef Type = IsFp8 ? "FP8" : "8-bit integers";
    if (Why.empty())
      remark::passed(Op->getLoc(),
                     remark::RemarkOpts::name(IsFp8 ? "fp8" : "int8")
                         .category("quantisation"))
          << "Codes of " << Type.str()
          << " are multiplied, and scaled after the "
          << (isa<ConvOp>(Op) ? "convolution." : "GEMM.");
    else
      remark::missed(Op->getLoc(), remark::RemarkOpts::name("refused").category(
                                       "quantisation"))
          << "Operands of " << Type.str() << " are dequantised in front of the "
          << (isa<ConvOp>(Op) ? "convolution" : "GEMM") << ", because "
          << Why.str() << ".";
  }
};

} // namespace
