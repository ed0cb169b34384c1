//===- ShareKernels.cpp - Scalars that layers differ in -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   graph.region "first"(%x)  {          %s = graph.constant [1, 1] 0.3
///     %c = graph.constant splat 0.3      graph.region "first"(%x, %s) {
///     %y = graph.mul %x, %c         →      %c = graph.broadcast %s
///     … }                                  %y = graph.mul %x, %c … }
///   graph.region "second"(%y) {          %t = graph.constant [1, 1] 0.7
///     %c = graph.constant splat 0.7      graph.region "second"(%y, %t) {
///     … }                                  … }
///
/// Layers of a calibrated network differ in the scales of their codes alone:
/// with these in memory, one kernel serves all layers.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/GraphFunction.h"
#include "passes/graph/KernelWords.h"
#include "passes/graph/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_SHAREKERNELS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

AttentionOp attentionOf(RegionOp Region) {
  auto All = Region.getBody().front().getOps<AttentionOp>();
  return All.empty() ? AttentionOp() : *All.begin();
}

/// Whether `V` is the result of an attention as it is stored: in another order,
/// with other sizes, times something.
bool isOfAttention(Value V) {
  while (Operation *Op = V.getDefiningOp()) {
    if (isa<AttentionOp>(Op))
      return true;
    if (!isa<TransposeOp, ReshapeOp, CastOp>(Op))
      return false;
    V = Op->getOperand(0);
  }
  return false;
}

/// Whether all that reads `Number`, or that repeats it, is `Reads`.
bool isReadBy(Value Number, bool (*Reads)(Operation *)) {
  return llvm::all_of(Number.getUsers(), [&](Operation *User) {
    auto Repeated = dyn_cast<BroadcastOp>(User);
    return Repeated ? isReadBy(Repeated.getResult(), Reads) : Reads(User);
  });
}

/// A number of f32 that is only a factor or a term. What else a number may be,
/// as a bound of codes, kernels know by its value: by a known divisor they find
/// codes without a division. Those of attention know what is not a factor of
/// the result, too.
bool isScalar(Operation *Op) {
  auto Constant = dyn_cast<ConstantOp>(Op);
  auto Region = Op->getParentOfType<RegionOp>();
  if (!Constant || !Region || !typeOf(Constant).getElementType().isF32() ||
      !splatValue(Constant.getResult()))
    return false;
  if (!attentionOf(Region))
    return isReadBy(Constant.getResult(), [](Operation *User) {
      return isa<MulOp, AddOp, SubOp>(User);
    });
  return isReadBy(Constant.getResult(), [](Operation *User) {
    return isa<MulOp>(User) && isOfAttention(User->getOperand(0));
  });
}

/// Heads of codes have a scale that kernels of few queries know.
bool keepsScalars(RegionOp Region) {
  AttentionOp Attention = attentionOf(Region);
  return Attention && typeOf(Region.getOutputs()[0])
                              .getElementType()
                              .getIntOrFloatBitWidth() != 8;
}

SmallVector<ConstantOp> scalarsOf(RegionOp Region) {
  SmallVector<ConstantOp> All;
  Region.walk([&](ConstantOp Op) {
    if (isScalar(Op))
      All.push_back(Op);
  });
  return All;
}

/// The region reads the scalar from memory.
void readScalar(RegionOp Region, ConstantOp Scalar) {
  OpBuilder B(Region);
  Location Loc = Scalar.getLoc();
  SymbolicTensorType Ty = typeOf(Scalar);
  SmallVector<int64_t> Ones(Ty.getRank(), 1);
  auto Type = RankedTensorType::get(Ones, B.getF32Type());
  float Number = float(*splatValue(Scalar.getResult()));
  Value Outside =
      ConstantOp::create(B, Loc, DenseElementsAttr::get(Type, Number));
  Region.getInputsMutable().append(Outside);
  Value Inside = Region.getBody().addArgument(Outside.getType(), Loc);
  B.setInsertionPoint(Scalar);
  if (typeOf(Inside) != Ty)
    Inside = BroadcastOp::create(B, Loc, Ty, Inside);
  Scalar.getResult().replaceAllUsesWith(Inside);
  Scalar.erase();
}

struct ShareKernelsPass : graph::impl::ShareKernelsBase<ShareKernelsPass> {
  void runOnOperation() override {
    func::FuncOp Func = getOperation();
    if (!isGraphFunction(Func))
      return;
    // What equal regions read has one type each, so that of blocks is enough.
    llvm::MapVector<StringAttr, SmallVector<RegionOp>> Groups;
    Func.walk([&](RegionOp Region) {
      if (keepsScalars(Region))
        return;
      Groups[StringAttr::get(&getContext(),
                             wordsOf(Region.getBody(), isScalar))]
          .push_back(Region);
    });
    for (auto &[Words, Regions] : Groups)
      if (Regions.size() > 1)
        share(Regions);
  }

private:
  static void share(ArrayRef<RegionOp> Regions) {
    SmallVector<SmallVector<ConstantOp>> Scalars;
    for (RegionOp Region : Regions)
      Scalars.push_back(scalarsOf(Region));
    for (size_t I = 0; I < Scalars.front().size(); ++I) {
      double First = *splatValue(Scalars.front()[I].getResult());
      if (llvm::all_of(Scalars, [&](ArrayRef<ConstantOp> Of) {
            return splatValue(ConstantOp(Of[I]).getResult()) == First;
          }))
        continue;
      for (auto [Region, Of] : llvm::zip_equal(Regions, Scalars))
        readScalar(Region, Of[I]);
    }
  }
};

} // namespace
