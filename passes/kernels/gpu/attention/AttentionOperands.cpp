//===- AttentionOperands.cpp - Where heads lie in memory ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/AttentionOperands.h"
#include "passes/kernels/form/RootShape.h"
#include "passes/kernels/form/SizeFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace kpc::kernels {

using shape::Expr;

namespace {

/// The tensor whose elements are all that `Tensor` repeats.
Value throughBroadcasts(Value Tensor) {
  while (auto Op = Tensor.getDefiningOp<linalg::GenericOp>()) {
    if (Op.getNumDpsInputs() != 1 || Op.getBody()->getTerminator()->getOperand(
                                         0) != Op.getBody()->getArgument(0))
      return Tensor;
    Tensor = Op.getDpsInputOperand(0)->get();
  }
  return Tensor;
}

} // namespace

std::optional<double> filledWith(Value Tensor) {
  auto Fill = throughBroadcasts(Tensor).getDefiningOp<linalg::FillOp>();
  FloatAttr Of;
  if (!Fill || !matchPattern(Fill.value(), m_Constant(&Of)))
    return std::nullopt;
  return Of.getValueAsDouble();
}

namespace {

/// Of E4M3.
constexpr double GreatestFp8 = 448;

/// What a generic takes a part of with steps of 1, and from where on in each
/// dimension; null if it does more.
Value slicedBy(linalg::GenericOp Op, std::array<int64_t, 4> &Start) {
  if (Op.getNumDpsInputs() || Op->getNumResults() != 1 ||
      Op.getNumReductionLoops() || Op.getNumLoops() != 4)
    return {};
  auto Extract = Op.getBody()
                     ->getTerminator()
                     ->getOperand(0)
                     .getDefiningOp<tensor::ExtractOp>();
  if (!Extract || Extract.getIndices().size() != 4)
    return {};
  for (auto [D, Index] : llvm::enumerate(Extract.getIndices())) {
    Value Loop = Index;
    Start[D] = 0;
    if (auto Sum = Loop.getDefiningOp<arith::AddIOp>()) {
      std::optional<int64_t> Left = constantOf(Sum.getLhs()),
                             Right = constantOf(Sum.getRhs());
      if (!Left && !Right)
        return {};
      Loop = Right ? Sum.getLhs() : Sum.getRhs();
      Start[D] = Right ? *Right : *Left;
    }
    auto At = Loop.getDefiningOp<linalg::IndexOp>();
    if (!At || At.getDim() != D)
      return {};
  }
  return Extract.getTensor();
}

/// The argument whose one number a tensor repeats.
std::optional<unsigned> repeatedArgument(Value Tensor) {
  Value Memref = viewOf(throughBroadcasts(Tensor));
  auto View = Memref ? Memref.getDefiningOp<memref::ReinterpretCastOp>()
                     : memref::ReinterpretCastOp();
  if (!View || !View.getType().hasStaticShape() ||
      View.getType().getNumElements() != 1 ||
      !View.getType().getElementType().isF32() ||
      constantOf(View.getMixedOffsets()[0]) != 0)
    return std::nullopt;
  auto Base = dyn_cast<BlockArgument>(View.getSource());
  return Base ? std::optional(Base.getArgNumber()) : std::nullopt;
}

/// The tensor that `In`, an operand of a generic, has numbers of if each is
/// that of a whole row; null: they differ along rows.
Value rowsOf(linalg::GenericOp Op, BlockArgument In) {
  if (In.getArgNumber() >= Op.getNumDpsInputs())
    return {};
  OpOperand *Operand = Op.getMatchingOpOperand(In);
  auto Repeat = Operand->get().getDefiningOp<linalg::GenericOp>();
  if (!Repeat || Repeat.getNumDpsInputs() != 1 ||
      !Op.getMatchingIndexingMap(Operand).isIdentity() ||
      Repeat.getBody()->getTerminator()->getOperand(0) !=
          Repeat.getBody()->getArgument(0) ||
      !Repeat.getMatchingIndexingMap(Repeat.getDpsInitOperand(0)).isIdentity())
    return {};
  AffineMap Map = Repeat.getMatchingIndexingMap(Repeat.getDpsInputOperand(0));
  bool Differs = llvm::any_of(Map.getResults(), [&](AffineExpr E) {
    return E.isFunctionOfDim(Map.getNumDims() - 1);
  });
  return Differs ? Value() : Operand->get();
}

/// What a generic hands on in other types or times single numbers, which
/// `Through` then says; null if it does more.
OpOperand *copiedBy(linalg::GenericOp Op, Permuted &Through) {
  if (Op->getNumResults() != 1 || Op.getNumReductionLoops() ||
      Op.getNumLoops() != 4)
    return nullptr;
  auto Constant = [&](Value V) -> std::optional<double> {
    FloatAttr Of;
    if (matchPattern(V, m_Constant(&Of)))
      return Of.getValueAsDouble();
    auto In = dyn_cast<BlockArgument>(V);
    if (!In || In.getOwner() != Op.getBody())
      return std::nullopt;
    return filledWith(Op.getMatchingOpOperand(In)->get());
  };
  auto Argument = [&](Value V) -> std::optional<unsigned> {
    auto In = dyn_cast<BlockArgument>(V);
    return In && In.getOwner() == Op.getBody()
               ? repeatedArgument(Op.getMatchingOpOperand(In)->get())
               : std::nullopt;
  };
  auto Rows = [&](Value V) -> Value {
    auto In = dyn_cast<BlockArgument>(V);
    return In && In.getOwner() == Op.getBody() ? rowsOf(Op, In) : Value();
  };
  Value Yielded = Op.getBody()->getTerminator()->getOperand(0);
  Permuted Seen = Through;
  while (Operation *Def = Yielded.getDefiningOp()) {
    Value From = Def->getNumOperands() ? Def->getOperand(0) : Value();
    if (isa<arith::BitcastOp>(Def)) {
      Seen.Code = Def->getResult(0).getType();
    } else if (isa<arith::TruncFOp>(Def) &&
               isa<Float8E4M3FNType>(Def->getResult(0).getType())) {
      if (Seen.hasFactor())
        return nullptr;
      Seen.Narrowed = Def->getResult(0).getType();
    } else if (isa<arith::MinimumFOp, arith::MaximumFOp>(Def)) {
      // The limits of the codes themselves: these saturate.
      bool IsFirst = !Constant(From);
      std::optional<double> Limit =
          Constant(IsFirst ? Def->getOperand(1) : From);
      double Sign = isa<arith::MaximumFOp>(Def) ? -1 : 1;
      if (!Seen.Narrowed || Seen.hasFactor() || Limit != Sign * GreatestFp8)
        return nullptr;
      if (!IsFirst)
        From = Def->getOperand(1);
    } else if (isa<arith::MulFOp>(Def)) {
      Value Number = Def->getOperand(1);
      if (!Constant(Number) && !Argument(Number) && !Rows(Number))
        std::swap(From, Number);
      if (std::optional<double> By = Constant(Number))
        Seen.Factor *= *By;
      else if (std::optional<unsigned> At = Argument(Number);
               At && !Seen.FactorArgument)
        Seen.FactorArgument = At;
      else if (Value Each = Rows(Number); Each && !Seen.RowFactor)
        Seen.RowFactor = Each;
      else
        return nullptr;
    } else if (!isa<arith::ExtFOp, arith::TruncFOp>(Def)) {
      return nullptr;
    }
    Yielded = From;
  }
  auto In = dyn_cast<BlockArgument>(Yielded);
  if (!In || In.getOwner() != Op.getBody() ||
      In.getArgNumber() >= Op.getNumDpsInputs())
    return nullptr;
  Through = Seen;
  return Op.getMatchingOpOperand(In);
}

} // namespace

Permuted throughCopies(Permuted At) {
  while (true) {
    if (auto Cast = At.Tensor.getDefiningOp<tensor::CastOp>()) {
      At.Tensor = Cast.getSource();
      continue;
    }
    auto Op = At.Tensor.getDefiningOp<linalg::GenericOp>();
    std::array<int64_t, 4> Start;
    if (Value Whole = Op ? slicedBy(Op, Start) : Value()) {
      for (auto [To, Dim] : llvm::zip_equal(At.Start, At.Dims))
        To += Start[Dim];
      At.Tensor = Whole;
      continue;
    }
    Permuted Before = At;
    OpOperand *Copied = Op ? copiedBy(Op, Before) : nullptr;
    if (!Copied)
      return At;
    AffineMap In = Op.getMatchingIndexingMap(Copied);
    AffineMap Out = Op.getMatchingIndexingMap(Op.getDpsInitOperand(0));
    if (!In.isPermutation() || !Out.isIdentity())
      return At;
    At = Before;
    for (unsigned &Dim : At.Dims)
      Dim = *In.getResultPosition(getAffineDimExpr(Dim, Op.getContext()));
    At.Tensor = Copied->get();
  }
}

std::optional<HeadsInMemory> place(Value Memref,
                                   const std::array<unsigned, 4> &Dims) {
  auto View = Memref ? Memref.getDefiningOp<memref::ReinterpretCastOp>()
                     : memref::ReinterpretCastOp();
  auto Base =
      View ? dyn_cast<BlockArgument>(View.getSource()) : BlockArgument();
  if (!Base || constantOf(View.getMixedOffsets()[0]) != 0)
    return std::nullopt;
  HeadsInMemory Place;
  Place.Argument = Base.getArgNumber();
  Place.Element = cast<MemRefType>(Memref.getType()).getElementType();
  for (unsigned I = 0; I < 4; ++I) {
    std::optional<Expr> Stride = sizeExpr(strideOf(Memref, Dims[I]));
    if (!Stride)
      return std::nullopt;
    Place.Strides[I] = *Stride;
    Place.StrideSizes[I] = strideOf(Memref, Dims[I]);
  }
  return Place;
}

std::optional<HeadsInMemory> operandIn(Value Tensor, Value *RowFactor) {
  Permuted From = throughCopies({Tensor});
  if (RowFactor && From.Dims == Permuted().Dims)
    std::swap(*RowFactor, From.RowFactor);
  auto [Batch, Head, Row, Column] = From.Start;
  std::optional<HeadsInMemory> Place = place(viewOf(From.Tensor), From.Dims);
  if (!Place || Batch || Row || Column || From.hasFactor() || From.Narrowed)
    return std::nullopt;
  if (From.Code)
    Place->Element = From.Code;
  Place->FirstHead = Head;
  return Place;
}

} // namespace kpc::kernels
