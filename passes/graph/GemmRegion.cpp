//===- GemmRegion.cpp - Regions of one GEMM -------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/GemmRegion.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

BlockArgument graph::argumentBehind(Value V) {
  auto Cast = V.getDefiningOp<CastOp>();
  if (!Cast)
    return dyn_cast<BlockArgument>(V);
  Type From = typeOf(Cast.getX()).getElementType(),
       To = typeOf(V).getElementType();
  return To.isF32() && (From.isF16() || From.isBF16() || From.isF32())
             ? dyn_cast<BlockArgument>(Cast.getX())
             : BlockArgument();
}

bool graph::isUsedInPlace(Value V) {
  ArrayRef<Expr> Dims = typeOf(V).getDims();
  SmallVector<Value> Worklist{V};
  DenseSet<Operation *> Seen;
  while (!Worklist.empty())
    for (Operation *User : Worklist.pop_back_val().getUsers()) {
      if (isa<YieldOp>(User) || !Seen.insert(User).second)
        continue;
      if (!User->hasTrait<ElementwiseTrait>() || User->getNumResults() != 1 ||
          typeOf(User->getResult(0)).getDims() != Dims)
        return false;
      Worklist.push_back(User->getResult(0));
    }
  return true;
}

std::optional<GemmRegion> GemmRegion::read(RegionOp Region) {
  std::optional<GemmRegion> Found = readAny(Region);
  if (Found && Found->Tiles)
    return std::nullopt;
  return Found;
}

std::optional<GemmRegion> GemmRegion::readAny(RegionOp Region) {
  GemmRegion Found{Region, {}, {}, {}, {}};
  if (Region.getNumResults() != 1)
    return std::nullopt;
  for (Operation &Op : Region.getBody().front().without_terminator()) {
    if (auto Gemm = dyn_cast<MatmulOp>(Op)) {
      if (Found.Matmul)
        return std::nullopt;
      Found.Matmul = Gemm;
    } else if (auto Tiles = dyn_cast<DequantiseTilesOp>(Op)) {
      if (Found.Tiles)
        return std::nullopt;
      Found.Tiles = Tiles;
    } else if (!Op.hasTrait<ElementwiseTrait>() &&
               !isa<BroadcastOp, ConstantOp>(Op)) {
      return std::nullopt;
    }
  }
  if (!Found.Matmul || typeOf(Found.Matmul.getY()).getRank() != 2 ||
      !isUsedInPlace(Found.Matmul.getY()))
    return std::nullopt;
  Found.A = argumentBehind(Found.Matmul.getA());
  if (!Found.Tiles)
    Found.B = argumentBehind(Found.Matmul.getB());
  else if (Found.Matmul.getB() != Found.Tiles.getY() ||
           !Found.Tiles->hasOneUse())
    return std::nullopt;
  if (!Found.A || !(Found.B || Found.Tiles))
    return std::nullopt;
  return Found;
}

/// Sizes are those that tile-few-row-weights asks for.
StringRef GemmRegion::refusalOfTiles() const {
  Type Element = typeOf(A).getElementType();
  DequantiseTilesOp Codes = Tiles;
  if (!Element.isF16() && !Element.isBF16())
    return "what is multiplied by codes is not of 16 bits. To fix: compile "
           "with --precision fp16 or bf16, and --io-precision, too";
  if (!llvm::all_of(Codes->getOperands(), argumentBehind))
    return "scales or zero points of codes are not in memory";
  return {};
}

StringRef GemmRegion::refusal(bool TakesFp8) const {
  if (Tiles)
    return refusalOfTiles();
  SymbolicTensorType Left = typeOf(A), Right = typeOf(B);
  Type Element = Left.getElementType();
  auto IsFp8 = [](Type Ty) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(Ty);
  };
  bool OfCodes = TakesFp8 && IsFp8(Element) && IsFp8(Right.getElementType());
  if (!OfCodes && ((!Element.isF16() && !Element.isBF16()) ||
                   Right.getElementType() != Element))
    return "its operands are not of 16 bits. To fix: compile with --precision "
           "fp16 or bf16";
  std::optional<int64_t> Sum = Right.getStaticDim(0),
                         Columns = Right.getStaticDim(1);
  // Elements in 16 bytes, of which TMA copies multiples: along K, and of 16
  // bits along N.
  int64_t Whole = 8, WholeSum = OfCodes ? 16 : Whole;
  if (OfCodes && (!Sum || !Columns || *Sum % WholeSum || *Columns % Whole))
    return "K is not a multiple of 16, or N not one of 8. To fix: pad the "
           "weight in the model";
  if (!Sum || !Columns || *Sum < 1 || *Sum % Whole || *Columns % Whole)
    return "K or N is not a multiple of 8. To fix: pad the weight in the model";
  return {};
}

FusedGemmSize GemmRegion::size() const {
  MatmulOp Product = Matmul;
  SymbolicTensorType Right = typeOf(Product.getB());
  FusedGemmSize Size{typeOf(A).getDims()[0], *Right.getStaticDim(1),
                     *Right.getStaticDim(0)};
  if (!Tiles)
    return Size;
  DequantiseTilesOp Codes = Tiles;
  auto BytesOf = [](Value V) {
    Type Stored = typeOf(argumentBehind(V)).getElementType();
    return int64_t(Stored.getIntOrFloatBitWidth() / 8);
  };
  Size.CodeBits = Codes.getBits();
  Size.Block = Codes.getBlock();
  Size.ScaleBytes = BytesOf(Codes.getScales());
  Size.ZeroBytes = Codes.getZeros() ? BytesOf(Codes.getZeros()) : 0;
  return Size;
}

RegionMerger::RegionMerger(OpBuilder &B, Location Loc, StringRef Name,
                           TypeRange Results)
    : Region(RegionOp::create(B, Loc, Results, Name, ValueRange())),
      Body(B.createBlock(&Region.getBody())) {}

BlockArgument RegionMerger::argument(Value Input) {
  auto *Known = llvm::find(Inputs, Input);
  if (Known != Inputs.end())
    return Body->getArgument(Known - Inputs.begin());
  Inputs.push_back(Input);
  return Body->addArgument(Input.getType(), Input.getLoc());
}

RegionOp RegionMerger::finish() {
  Region.getInputsMutable().assign(Inputs);
  return Region;
}
