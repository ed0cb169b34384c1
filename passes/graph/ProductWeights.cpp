//===- ProductWeights.cpp - The numbers of a weight -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/ProductWeights.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

static std::optional<std::vector<float>> readConstant(ConstantOp Op) {
  auto Elements = dyn_cast<DenseElementsAttr>(Op.getValue());
  if (!Elements || !Elements.getElementType().isF32())
    return std::nullopt;
  auto Values = Elements.getValues<float>();
  return std::vector<float>(Values.begin(), Values.end());
}

/// What smooth-channels makes: a weight times a factor of each channel, which
/// is a vector along the last dim but one.
static std::optional<std::vector<float>> readProduct(MulOp Op,
                                                     const WeightReader &Read) {
  auto Repeated = Op.getB().getDefiningOp<BroadcastOp>();
  auto Factors =
      Repeated ? Repeated.getX().getDefiningOp<ConstantOp>() : ConstantOp();
  std::optional<int64_t> Columns =
      typeOf(Op.getA()).getDims().back().asConstant();
  if (!Factors || !Columns || *Columns < 1)
    return std::nullopt;
  auto Numbers = numbersOf(Op.getA(), Read), Of = readConstant(Factors);
  SymbolicTensorType Ty = typeOf(Factors);
  int64_t Rank = Ty.getRank();
  if (!Numbers || !Of || Of->empty() || Rank < 2 ||
      Ty.getStaticDim(Rank - 2) != int64_t(Of->size()))
    return std::nullopt;
  for (auto [I, Number] : llvm::enumerate(*Numbers))
    Number *= (*Of)[int64_t(I) / *Columns % int64_t(Of->size())];
  return Numbers;
}

std::optional<std::vector<float>> graph::numbersOf(Value V,
                                                   const WeightReader &Read) {
  while (isa_and_present<ReshapeOp, CastOp>(V.getDefiningOp())) {
    V = V.getDefiningOp()->getOperand(0);
    if (!isFloat(typeOf(V).getElementType()))
      return std::nullopt;
  }
  if (auto Constant = V.getDefiningOp<ConstantOp>())
    return readConstant(Constant);
  if (auto Product = V.getDefiningOp<MulOp>())
    return readProduct(Product, Read);
  return Read && V.getDefiningOp<WeightOp>() ? Read(V) : std::nullopt;
}

std::optional<ProductWeights> ProductWeights::of(Operation *Product,
                                                 const WeightReader &Read) {
  Value Weight = Product->getOperand(1);
  SymbolicTensorType Ty = typeOf(Weight);
  int64_t Rank = Ty.getRank();
  auto Conv = dyn_cast<ConvOp>(Product);
  if (!Ty.hasStaticShape() || (Conv ? Conv.getGroups() != 1 : Rank != 2))
    return std::nullopt;
  ProductWeights Found;
  Found.TakesZero = !Conv;
  Found.N = *Ty.getStaticDim(Rank - 1);
  Found.Channels = *Ty.getStaticDim(Rank - 2);
  int64_t Count = *Ty.getNumElements().asConstant();
  if (Found.N < 1 || Found.Channels < 1)
    return std::nullopt;
  Found.K = Count / Found.N;
  auto Numbers = numbersOf(Weight, Read);
  if (!Numbers || int64_t(Numbers->size()) != Count)
    return std::nullopt;
  Found.Numbers = std::move(*Numbers);
  return Found;
}
