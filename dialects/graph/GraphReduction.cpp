//===- GraphReduction.cpp - Types of reductions and contractions -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/InferTypes.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> Loc,
                                         Adaptor Op,
                                         SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType From = typeOf(Op.getX());
  llvm::SmallBitVector Reduced(From.getRank());
  for (int64_t Axis : Op.getAxes()) {
    if (Axis < 0 || Axis >= From.getRank() || Reduced.test(Axis))
      return emitOptionalError(Loc, "axis ", Axis,
                               " is outside the rank or named twice");
    Reduced.set(Axis);
  }
  SmallVector<Expr> Dims;
  for (int64_t I = 0; I < From.getRank(); ++I)
    if (!Reduced.test(I))
      Dims.push_back(From.getDims()[I]);
  return appendTensor(Loc, Dims, From.getElementType(), Types);
}

LogicalResult ArgReduceOp::inferReturnTypes(MLIRContext *Context,
                                            std::optional<Location> Loc,
                                            Adaptor Op,
                                            SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType From = typeOf(Op.getX());
  int64_t Axis = Op.getAxis();
  if (Axis < 0 || Axis >= From.getRank())
    return emitOptionalError(Loc, "axis ", Axis, " is outside the rank");
  // The text "" is read as no kind at all.
  ReduceKindAttr Kind = Op.getKindAttr();
  if (!Kind || (Kind.getValue() != ReduceKind::max &&
                Kind.getValue() != ReduceKind::min))
    return emitOptionalError(Loc, "kind is neither max nor min");
  SmallVector<Expr> Dims(From.getDims());
  Dims.erase(Dims.begin() + Axis);
  return appendTensor(Loc, Dims, IntegerType::get(Context, 64), Types);
}

LogicalResult CumSumOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> Loc,
                                         Adaptor Op,
                                         SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  int64_t Axis = Op.getAxis();
  if (Axis < 0 || Axis >= typeOf(Op.getX()).getRank())
    return emitOptionalError(Loc, "axis ", Axis, " is outside the rank");
  std::optional<int64_t> Block = Op.getBlock();
  if (Block && *Block < 1)
    return emitOptionalError(Loc, "expected a block of 1 or more, got ",
                             *Block);
  Types.push_back(Op.getX().getType());
  return success();
}

/// The number of places a window of `Window` taps takes on `Size` elements.
static Expr windowCount(const Expr &Size, int64_t Window, int64_t Stride,
                        int64_t Dilation, int64_t Low, int64_t High) {
  Expr Reach = (Expr(Window) - 1) * Dilation + 1;
  return (Size + Low + High - Reach).floorDiv(Expr(Stride)) + 1;
}

/// Checks lists of window parameters: `Count` entries each, in sane ranges.
static LogicalResult checkWindow(std::optional<Location> Loc, size_t Count,
                                 ArrayRef<int64_t> Stride,
                                 ArrayRef<int64_t> Dilation,
                                 ArrayRef<int64_t> Low,
                                 ArrayRef<int64_t> High) {
  if (Stride.size() != Count || Dilation.size() != Count ||
      Low.size() != Count || High.size() != Count)
    return emitOptionalError(Loc, "needs ", Count,
                             " entries in stride, dilation, low, high");
  auto Positive = [](int64_t V) { return V > 0; };
  if (!llvm::all_of(Stride, Positive) || !llvm::all_of(Dilation, Positive))
    return emitOptionalError(Loc, "strides and dilations must be positive");
  return success();
}

bool WindowOp::isPartition() {
  constexpr int64_t LeastLine = 32, MostPoolTaps = 64;
  auto Is = [](ArrayRef<int64_t> All, int64_t V) {
    return llvm::all_of(All, [=](int64_t One) { return One == V; });
  };
  int64_t Taps = 1, Wide = 0;
  for (int64_t Size : getWindow()) {
    Taps *= Size;
    Wide += Size > 1;
  }
  return (Taps > MostPoolTaps || (Wide == 1 && Taps >= LeastLine)) &&
         getStride() == getWindow() && Is(getLow(), 0) && Is(getDilation(), 1);
}

LogicalResult WindowOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> Loc,
                                         Adaptor Op,
                                         SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType From = typeOf(Op.getX());
  size_t Rank = From.getRank();
  if (Op.getWindow().size() != Rank ||
      llvm::any_of(Op.getWindow(), [](int64_t W) { return W < 1; }))
    return emitOptionalError(Loc, "needs ", Rank, " positive window sizes");
  if (failed(checkWindow(Loc, Rank, Op.getStride(), Op.getDilation(),
                         Op.getLow(), Op.getHigh())))
    return failure();
  SmallVector<Expr> Dims;
  for (size_t I = 0; I < Rank; ++I)
    Dims.push_back(windowCount(From.getDims()[I], Op.getWindow()[I],
                               Op.getStride()[I], Op.getDilation()[I],
                               Op.getLow()[I], Op.getHigh()[I]));
  return appendTensor(Loc, Dims, From.getElementType(), Types);
}

/// What products of two factors are added up in; null where they are not
/// multiplied. Codes are added up in more bits than they have.
static Type sumType(Type A, Type B) {
  if (isFp8(A) && isFp8(B))
    return Float32Type::get(A.getContext());
  if (isInt8(A) && isInt8(B))
    return IntegerType::get(A.getContext(), 32);
  return A == B ? A : Type();
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> Loc,
                                         Adaptor Op,
                                         SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType A = typeOf(Op.getA()), B = typeOf(Op.getB());
  int64_t Rank = A.getRank();
  Type Sum = sumType(A.getElementType(), B.getElementType());
  if (Rank < 2 || B.getRank() != Rank || !Sum)
    return emitOptionalError(
        Loc, "operands ", A, " and ", B,
        " need one element type and one rank of at least 2");
  if (A.getDims()[Rank - 1] != B.getDims()[Rank - 2])
    return emitOptionalError(Loc, "a has ", A.getDims()[Rank - 1].str(),
                             " columns, b has ", B.getDims()[Rank - 2].str(),
                             " rows");
  SmallVector<Expr> Dims;
  for (int64_t I = 0; I < Rank - 2; ++I) {
    const Expr &SizeA = A.getDims()[I], &SizeB = B.getDims()[I];
    if (SizeA != SizeB && SizeA != Expr(1) && SizeB != Expr(1))
      return emitOptionalError(Loc, "batch sizes ", SizeA.str(), " and ",
                               SizeB.str(), " differ");
    Dims.push_back(SizeA == Expr(1) ? SizeB : SizeA);
  }
  Dims.push_back(A.getDims()[Rank - 2]);
  Dims.push_back(B.getDims()[Rank - 1]);
  return appendTensor(Loc, Dims, Sum, Types);
}

/// x with its zeros around it is a value on the way: it must be possible too.
static LogicalResult checkPadded(std::optional<Location> Loc,
                                 SymbolicTensorType X, ArrayRef<int64_t> Low,
                                 ArrayRef<int64_t> High) {
  SmallVector<Expr> Dims(X.getDims());
  for (auto [I, L, H] : llvm::enumerate(Low, High))
    Dims[I + 1] = Dims[I + 1] + L + H;
  SmallVector<Type> Padded;
  return appendTensor(Loc, Dims, X.getElementType(), Padded);
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *,
                                       std::optional<Location> Loc, Adaptor Op,
                                       SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType X = typeOf(Op.getX()), W = typeOf(Op.getW());
  int64_t Spatial = X.getRank() - 2, Groups = Op.getGroups();
  Type Sum = sumType(X.getElementType(), W.getElementType());
  if (Spatial < 1 || W.getRank() != X.getRank() || !Sum)
    return emitOptionalError(
        Loc, "operands ", X, " and ", W,
        " need one element type and one rank of at least 3");
  if (failed(checkWindow(Loc, Spatial, Op.getStride(), Op.getDilation(),
                         Op.getLow(), Op.getHigh())))
    return failure();
  if (Groups < 1 || X.getDims()[Spatial + 1] != W.getDims()[Spatial] * Groups)
    return emitOptionalError(Loc, "x has ", X.getDims()[Spatial + 1].str(),
                             " channels, w takes ", W.getDims()[Spatial].str(),
                             " in each of ", Groups, " groups");
  std::optional<int64_t> Out = W.getStaticDim(Spatial + 1);
  if (Out && *Out % Groups != 0)
    return emitOptionalError(Loc, *Out, " output channels do not divide into ",
                             Groups, " groups");
  if (failed(checkPadded(Loc, X, Op.getLow(), Op.getHigh())))
    return failure();
  SmallVector<Expr> Dims{X.getDims()[0]};
  for (int64_t I = 0; I < Spatial; ++I) {
    std::optional<int64_t> Taps = W.getStaticDim(I);
    if (!Taps || *Taps < 1)
      return emitOptionalError(Loc, "kernel size ", W.getDims()[I].str(),
                               " is not a positive number");
    Dims.push_back(windowCount(X.getDims()[I + 1], *Taps, Op.getStride()[I],
                               Op.getDilation()[I], Op.getLow()[I],
                               Op.getHigh()[I]));
  }
  Dims.push_back(W.getDims()[Spatial + 1]);
  return appendTensor(Loc, Dims, Sum, Types);
}

LogicalResult ConvTransposeOp::inferReturnTypes(MLIRContext *,
                                                std::optional<Location> Loc,
                                                Adaptor Op,
                                                SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())))
    return failure();
  SymbolicTensorType X = typeOf(Op.getX()), W = typeOf(Op.getW());
  int64_t Spatial = X.getRank() - 2, Groups = Op.getGroups();
  if (Spatial < 1 || W.getRank() != X.getRank() ||
      W.getElementType() != X.getElementType())
    return emitOptionalError(
        Loc, "operands ", X, " and ", W,
        " need one element type and one rank of at least 3");
  if (failed(checkWindow(Loc, Spatial, Op.getStride(), Op.getDilation(),
                         Op.getLow(), Op.getHigh())))
    return failure();
  const Expr &Channels = X.getDims()[Spatial + 1];
  if (Groups < 1 || Channels != W.getDims()[Spatial] ||
      Channels.floorDiv(Groups) * Groups != Channels)
    return emitOptionalError(Loc, "x has ", Channels.str(),
                             " channels, w takes ", W.getDims()[Spatial].str(),
                             " in ", Groups, " groups");
  SmallVector<Expr> Dims{X.getDims()[0]};
  for (int64_t I = 0; I < Spatial; ++I) {
    std::optional<int64_t> Taps = W.getStaticDim(I);
    if (!Taps || *Taps < 1)
      return emitOptionalError(Loc, "kernel size ", W.getDims()[I].str(),
                               " is not a positive number");
    Expr More = (Expr(*Taps) - 1) * Op.getDilation()[I] + 1 -
                Op.getStride()[I] - Op.getLow()[I] - Op.getHigh()[I];
    Expr Size = X.getDims()[I + 1] * Op.getStride()[I] + More;
    Dims.push_back(More.asConstant().value_or(-1) < 0 ? Expr::max(Size, Expr(0))
                                                      : Size);
  }
  Dims.push_back(W.getDims()[Spatial + 1] * Groups);
  return appendTensor(Loc, Dims, X.getElementType(), Types);
}

/// Sizes, each of which is the scores' or 1.
static LogicalResult checkShared(std::optional<Location> Loc, StringRef What,
                                 Value Tensor, ArrayRef<Expr> Scores) {
  ArrayRef<Expr> Dims = typeOf(Tensor).getDims();
  bool Fits = Dims.size() == Scores.size();
  for (size_t I = 0; Fits && I < Dims.size(); ++I)
    Fits = Dims[I] == Expr(1) || Dims[I] == Scores[I];
  if (Fits)
    return success();
  return emitOptionalError(Loc, What, " ", typeOf(Tensor),
                           " does not fit scores of ", Scores[0].str(), ", ",
                           Scores[1].str(), ", ", Scores[2].str(), ", ",
                           Scores[3].str());
}

/// What does not depend on sizes.
static LogicalResult checkScores(std::optional<Location> Loc,
                                 AttentionOp::Adaptor Op) {
  auto Positive = [](const APFloat &V) {
    return V.isFinite() && !V.isZero() && !V.isNegative();
  };
  if (!Positive(Op.getScale()))
    return emitOptionalError(Loc, "scale is not positive");
  if (Op.getSoftcap() && !Positive(*Op.getSoftcap()))
    return emitOptionalError(Loc, "softcap is not positive");
  if (Op.getCausal() && Op.getCausal()->getDims().size() != 1)
    return emitOptionalError(Loc, "causal is one expression");
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> Loc,
                                            Adaptor Op,
                                            SmallVectorImpl<Type> &Types) {
  if (failed(checkTensors(Loc, Op.getOperands())) ||
      failed(checkScores(Loc, Op)))
    return failure();
  SymbolicTensorType Q = typeOf(Op.getQ()), K = typeOf(Op.getK()),
                     V = typeOf(Op.getV());
  for (SymbolicTensorType Ty : {Q, K, V})
    if (Ty.getRank() != 4 || Ty.getElementType() != Q.getElementType())
      return emitOptionalError(Loc,
                               "q, k and v need one element type and four "
                               "dimensions, not ",
                               Ty);
  ArrayRef<Expr> QD = Q.getDims(), KD = K.getDims(), VD = V.getDims();
  if (QD[0] != KD[0] || QD[0] != VD[0] || KD[1] != VD[1] || KD[2] != VD[2] ||
      QD[3] != KD[3])
    return emitOptionalError(Loc, "q ", Q, ", k ", K, " and v ", V,
                             " do not fit together");
  std::optional<int64_t> Heads = Q.getStaticDim(1), Groups = K.getStaticDim(1);
  if (QD[1] != KD[1] && (!Heads || !Groups || !*Groups || *Heads % *Groups))
    return emitOptionalError(Loc, QD[1].str(), " heads do not divide among ",
                             KD[1].str(), " groups");
  std::array<Expr, 4> Scores = {QD[0], QD[1], QD[2], KD[2]};
  if (Op.getBias() &&
      (failed(checkShared(Loc, "bias", Op.getBias(), Scores)) ||
       typeOf(Op.getBias()).getElementType() != Q.getElementType()))
    return emitOptionalError(Loc, "bias is of q's type and the scores' sizes");
  if (Op.getMask() && failed(checkShared(Loc, "mask", Op.getMask(), Scores)))
    return failure();
  return appendTensor(Loc, {QD[0], QD[1], QD[2], VD[3]}, Q.getElementType(),
                      Types);
}
