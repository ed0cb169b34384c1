//===- Calibration.cpp - What calibration found of operands ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Calibration.h"
#include "passes/graph/ConstantValues.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

DictionaryAttr OperandStatistics::attribute(MLIRContext *Context) const {
  Builder B(Context);
  SmallVector<NamedAttribute> All;
  for (auto [Name, Number] :
       {std::pair("least", Least), std::pair("greatest", Greatest),
        std::pair("range", Range)})
    All.push_back(B.getNamedAttr(Name, B.getF64FloatAttr(Number)));
  if (ScalesOfRows)
    All.push_back(B.getNamedAttr("rows", B.getUnitAttr()));
  for (auto [Name, List] : {std::pair("largest", &Largest),
                            std::pair("mean", &Mean), std::pair("rms", &Rms)})
    if (!List->empty())
      All.push_back(B.getNamedAttr(
          Name,
          DenseElementsAttr::get(
              RankedTensorType::get({int64_t(List->size())}, B.getF32Type()),
              ArrayRef<float>(*List))));
  return B.getDictionaryAttr(All);
}

/// None where the dictionary does not hold what it should: a graph's text may
/// be anything.
static std::optional<OperandStatistics> read(DictionaryAttr From) {
  OperandStatistics Found;
  for (auto [Name, Into] : {std::pair("least", &Found.Least),
                            std::pair("greatest", &Found.Greatest),
                            std::pair("range", &Found.Range)}) {
    auto Number = From.getAs<FloatAttr>(Name);
    if (!Number || !Number.getValue().isFinite())
      return std::nullopt;
    *Into = Number.getValueAsDouble();
  }
  Found.ScalesOfRows = From.contains("rows");
  for (auto [Name, Into] :
       {std::pair("largest", &Found.Largest), std::pair("mean", &Found.Mean),
        std::pair("rms", &Found.Rms)}) {
    auto List = From.getAs<DenseElementsAttr>(Name);
    if (List && List.getElementType().isF32())
      llvm::append_range(*Into, List.getValues<float>());
  }
  return Found;
}

std::optional<OperandStatistics> graph::statisticsOf(Operation *Product) {
  auto Of = Product->getAttrOfType<DictionaryAttr>(OperandAttr);
  if (!Of)
    if (auto All =
            Product->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(
                CalibrationAttr))
      Of = All.getAs<DictionaryAttr>(nodeName(Product));
  return Of ? read(Of) : std::nullopt;
}

/// Whether values are made of codes that stay in the artifact.
static bool staysAsCodes(Value V) {
  while (isa_and_present<TransposeOp, ReshapeOp, CastOp>(V.getDefiningOp()))
    V = V.getDefiningOp()->getOperand(0);
  return isa_and_present<DequantiseOp, DequantiseTilesOp>(V.getDefiningOp());
}

bool graph::multipliesWeight(Operation *Op) {
  if (!isa<MatmulOp, ConvOp>(Op))
    return false;
  Type Element = typeOf(Op->getOperand(0)).getElementType();
  Value Weight = Op->getOperand(1);
  return (Element.isF32() || Element.isF16() || Element.isBF16()) &&
         isConstant(Weight) && !staysAsCodes(Weight) &&
         !isConstant(Op->getOperand(0));
}
