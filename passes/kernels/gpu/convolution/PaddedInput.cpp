//===- PaddedInput.cpp - What windows slide over --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/convolution/PaddedInput.h"
#include "passes/kernels/form/FusedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

/// `V` as an index of the generic less a constant: dimension and constant.
std::optional<std::pair<unsigned, int64_t>> shiftedIndex(Value V) {
  int64_t Low = 0;
  if (auto Sub = V.getDefiningOp<arith::SubIOp>()) {
    auto Constant = Sub.getRhs().getDefiningOp<arith::ConstantIndexOp>();
    if (!Constant)
      return std::nullopt;
    Low = Constant.value();
    V = Sub.getLhs();
  }
  auto Index = V.getDefiningOp<linalg::IndexOp>();
  if (!Index)
    return std::nullopt;
  return std::pair(unsigned(Index.getDim()), Low);
}

/// The comparisons `index < size` (unsigned) that a condition is made of; none
/// where it is anything else.
bool boundsOf(Value Condition,
              SmallVectorImpl<std::pair<Value, Value>> &Bounds) {
  if (auto And = Condition.getDefiningOp<arith::AndIOp>())
    return boundsOf(And.getLhs(), Bounds) && boundsOf(And.getRhs(), Bounds);
  auto Compare = Condition.getDefiningOp<arith::CmpIOp>();
  if (!Compare || Compare.getPredicate() != arith::CmpIPredicate::ult)
    return false;
  Bounds.push_back({Compare.getLhs(), Compare.getRhs()});
  return true;
}

/// Whether places that are outside of the source are exactly those that the
/// condition excludes.
bool excludesOutside(const Padding &Pad, Value Tensor, tensor::ExtractOp Read,
                     ArrayRef<std::pair<Value, Value>> Bounds) {
  SmallVector<bool> Checked(Pad.Low.size(), false);
  for (auto [Index, Bound] : Bounds) {
    auto At = shiftedIndex(Index);
    if (!At || At->second != Pad.Low[At->first] ||
        sizeExpr(OpFoldResult(Bound)) !=
            sizeExpr(tensorSize(Pad.Source, At->first)))
      return false;
    Checked[At->first] = true;
  }
  for (unsigned D = 0; D < Pad.Low.size(); ++D)
    if (!Checked[D] && (Pad.Low[D] || sizeExpr(tensorSize(Tensor, D)) !=
                                          sizeExpr(tensorSize(Pad.Source, D))))
      return false;
  return true;
}

} // namespace

std::optional<Padding> readPadding(Value Tensor) {
  auto Op = Tensor.getDefiningOp<linalg::GenericOp>();
  if (!Op || Op->getNumResults() != 1 || Op.getNumReductionLoops() ||
      !Op.getIndexingMapMatchingResult(cast<OpResult>(Tensor)).isIdentity())
    return std::nullopt;
  auto If =
      Op.getBody()->getTerminator()->getOperand(0).getDefiningOp<scf::IfOp>();
  llvm::APFloat Outside(0.0f);
  // Codes of integers are surrounded by zeros alone.
  if (!If || If->getNumResults() != 1 ||
      (!matchPattern(If.elseYield().getOperand(0), m_ConstantFloat(&Outside)) &&
       !matchPattern(If.elseYield().getOperand(0), m_Zero())))
    return std::nullopt;
  auto Read = If.thenYield().getOperand(0).getDefiningOp<tensor::ExtractOp>();
  SmallVector<std::pair<Value, Value>> Bounds;
  if (!Read || !boundsOf(If.getCondition(), Bounds))
    return std::nullopt;
  Padding Pad{Read.getTensor(), {}, Outside};
  for (auto [D, Index] : llvm::enumerate(Read.getIndices())) {
    auto At = shiftedIndex(Index);
    if (!At || At->first != D || At->second < 0)
      return std::nullopt;
    Pad.Low.push_back(At->second);
  }
  if (!excludesOutside(Pad, Tensor, Read, Bounds))
    return std::nullopt;
  return Pad;
}

bool addFactors(AffineExpr E, int64_t Times,
                llvm::SmallDenseMap<unsigned, int64_t> &Factors) {
  if (auto Dim = dyn_cast<AffineDimExpr>(E)) {
    Factors[Dim.getPosition()] += Times;
    return true;
  }
  if (auto Constant = dyn_cast<AffineConstantExpr>(E))
    return Constant.getValue() == 0;
  auto Binary = dyn_cast<AffineBinaryOpExpr>(E);
  if (!Binary)
    return false;
  if (E.getKind() == AffineExprKind::Add)
    return addFactors(Binary.getLHS(), Times, Factors) &&
           addFactors(Binary.getRHS(), Times, Factors);
  auto Constant = dyn_cast<AffineConstantExpr>(Binary.getRHS());
  return E.getKind() == AffineExprKind::Mul && Constant &&
         addFactors(Binary.getLHS(), Times * Constant.getValue(), Factors);
}

} // namespace kpc::kernels
