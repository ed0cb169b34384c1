//===- HeavyShape.cpp - The loops around a heavy generic ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/HeavyShape.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace kpc::kernels {

shape::Facts factsOf(func::FuncOp Func) {
  shape::Facts Facts;
  for (unsigned I = 0; I < Func.getNumArguments(); ++I) {
    if (!Func.getArgument(I).getType().isIndex())
      continue;
    shape::SymbolFacts Known;
    auto Read = [&](StringRef Name, auto &To) {
      if (auto Attr = Func.getArgAttrOfType<IntegerAttr>(I, Name))
        To = Attr.getInt();
    };
    Read("kpc.min", Known.Min);
    Read("kpc.max", Known.Max);
    Read("kpc.divisor", Known.Divisor);
    Read("kpc.optimum", Known.Optimum);
    Facts.declare("arg" + std::to_string(I), Known);
  }
  return Facts;
}

/// Whether the heavy generic's results are reached from `Tensor` only at its
/// own indices.
static bool onlyAtIdentity(Value Tensor, bool Identity, Operation *Heavy,
                           llvm::DenseSet<std::pair<Value, int>> &Seen) {
  if (!Seen.insert({Tensor, Identity}).second)
    return true;
  Operation *Def = Tensor.getDefiningOp();
  if (Def == Heavy)
    return Identity;
  if (auto Cast = dyn_cast_if_present<tensor::CastOp>(Def))
    return onlyAtIdentity(Cast.getSource(), Identity, Heavy, Seen);
  auto Op = dyn_cast_if_present<linalg::GenericOp>(Def);
  if (!Op)
    return true;
  AffineMap Result = Op.getIndexingMapMatchingResult(cast<OpResult>(Tensor));
  for (OpOperand &Operand : Op->getOpOperands())
    if (Op.payloadUsesValueFromOperand(&Operand) &&
        !onlyAtIdentity(Operand.get(),
                        Identity && Result.isIdentity() &&
                            Op.getMatchingIndexingMap(&Operand).isIdentity(),
                        Heavy, Seen))
      return false;
  bool Fine = true;
  Op.getBody()->walk([&](tensor::ExtractOp Extract) {
    Fine &= onlyAtIdentity(Extract.getTensor(), false, Heavy, Seen);
  });
  return Fine;
}

std::optional<HeavyShape> HeavyShape::read(const KernelForm &Form) {
  HeavyShape Shape;
  Shape.Heavy = Form.Heavy;
  if (!Shape.Heavy || Form.SeveralHeavy)
    return std::nullopt;
  Shape.Heavy.getParallelDims(Shape.Parallel);
  Shape.Heavy.getReductionDims(Shape.Reduction);
  for (unsigned Loop = 0; Loop < Shape.Heavy.getNumLoops(); ++Loop) {
    OpFoldResult Size = loopSize(Shape.Heavy, Loop);
    if (!sizeExpr(Size))
      return std::nullopt;
    Shape.LoopSizes.push_back(Size);
  }
  // Results are the parallel loops in order.
  for (OpResult Result : Shape.Heavy->getResults()) {
    AffineMap Map = Shape.Heavy.getIndexingMapMatchingResult(Result);
    if (Map.getNumResults() != Shape.Parallel.size())
      return std::nullopt;
    for (auto [Expr, Loop] : llvm::zip_equal(Map.getResults(), Shape.Parallel))
      if (Expr != getAffineDimExpr(Loop, Map.getContext()))
        return std::nullopt;
  }
  Shape.Access.Opaque.assign(Shape.Parallel.size(), false);
  for (const KernelOutput &Out : Form.Outputs) {
    auto Type = cast<RankedTensorType>(Out.Tensor.getType());
    if (size_t(Type.getRank()) != Shape.Parallel.size())
      return std::nullopt;
    for (auto [Dim, Loop] : llvm::enumerate(Shape.Parallel))
      if (sizeExpr(tensorSize(Out.Tensor, Dim)) !=
          sizeExpr(Shape.LoopSizes[Loop]))
        return std::nullopt;
    llvm::DenseSet<std::pair<Value, int>> Seen;
    if (!onlyAtIdentity(Out.Tensor, true, Shape.Heavy, Seen))
      return std::nullopt;
    AccessMaps One = accessesOf(Out.Tensor);
    for (auto [Mine, Theirs] : llvm::zip_equal(Shape.Access.Opaque, One.Opaque))
      Mine |= Theirs;
    llvm::append_range(Shape.Access.Accesses, One.Accesses);
    addIdentityAccess(Shape.Access, Out.Memref);
  }
  return Shape;
}

} // namespace kpc::kernels
