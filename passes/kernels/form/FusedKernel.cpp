//===- FusedKernel.cpp - A kernel in linalg form --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/FusedKernel.h"
#include "dialects/kernel/KernelLoop.h"
#include "dialects/kernel/KernelRecurrent.h"

#include "dialects/kernel/Kernel.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kpc::kernels {

FailureOr<FusedKernel> FusedKernel::read(func::FuncOp Func) {
  FusedKernel Form;
  Form.Func = Func;
  if (!Func.getBody().hasOneBlock()) {
    Func.emitOpError("is not a kernel in linalg form: it has several blocks");
    return failure();
  }
  for (Operation &Op : Func.getBody().front()) {
    if (auto Store = dyn_cast<bufferization::MaterializeInDestinationOp>(Op)) {
      if (!isa<BaseMemRefType>(Store.getDest().getType())) {
        Store.emitOpError("of a kernel must write to a memref");
        return failure();
      }
      Form.Outputs.push_back({Store.getSource(), Store.getDest()});
    } else if (linalg::LinalgOp Loops = loopsOf(&Op)) {
      if (Loops.getNumReductionLoops() == 0)
        continue;
      Form.FirstRoot = Form.SeveralRoots ? linalg::LinalgOp() : Form.Root;
      Form.SeveralRoots |= Form.Root != nullptr;
      Form.Root = Loops;
    }
  }
  if (Form.Outputs.empty() &&
      Func.getBody().front().getOps<kernel::RecurrentOp>().empty()) {
    Func.emitOpError("is not a kernel in linalg form: it writes nothing");
    return failure();
  }
  return Form;
}

OpFoldResult tensorSize(Value Tensor, unsigned Dim) {
  auto Type = cast<RankedTensorType>(Tensor.getType());
  if (!Type.isDynamicDim(Dim))
    return Builder(Type.getContext()).getIndexAttr(Type.getDimSize(Dim));
  Operation *Def = Tensor.getDefiningOp();
  if (!Def) {
    // What a loop carries has one size in all steps.
    auto Carried = cast<BlockArgument>(Tensor);
    auto Loop = dyn_cast<kernel::LoopOp>(Carried.getOwner()->getParentOp());
    return Loop ? tensorSize(Loop.getInits()[Carried.getArgNumber() - 1], Dim)
                : OpFoldResult();
  }
  if (auto Loop = dyn_cast<kernel::LoopOp>(Def)) {
    unsigned Number = cast<OpResult>(Tensor).getResultNumber();
    if (Number < Loop.getNumCarried())
      return tensorSize(Loop.getInits()[Number], Dim);
    return Dim == 0 ? getAsOpFoldResult(Loop.getSteps())
                    : tensorSize(Loop.getYielded()[Number], Dim - 1);
  }
  if (auto Empty = dyn_cast<tensor::EmptyOp>(Def))
    return Empty.getMixedSizes()[Dim];
  if (auto ToTensor = dyn_cast<bufferization::ToTensorOp>(Def)) {
    auto View = ToTensor.getBuffer().getDefiningOp<memref::ReinterpretCastOp>();
    return View ? View.getMixedSizes()[Dim] : OpFoldResult();
  }
  if (auto Dest = dyn_cast<DestinationStyleOpInterface>(Def))
    return tensorSize(
        Dest.getDpsInitOperand(cast<OpResult>(Tensor).getResultNumber())->get(),
        Dim);
  if (auto Cast = dyn_cast<tensor::CastOp>(Def))
    return tensorSize(Cast.getSource(), Dim);
  return {};
}

OpFoldResult loopSize(linalg::LinalgOp Op, unsigned Loop) {
  OpFoldResult Found;
  // All maps at once: a GEMM makes them anew for each question.
  for (auto [Operand, Map] :
       llvm::zip_equal(Op->getOpOperands(), Op.getIndexingMapsArray())) {
    for (auto [Position, Expr] : llvm::enumerate(Map.getResults())) {
      auto DimExpr = dyn_cast<AffineDimExpr>(Expr);
      if (!DimExpr || DimExpr.getPosition() != Loop)
        continue;
      OpFoldResult Size = tensorSize(Operand.get(), Position);
      if (constantOf(Size))
        return Size;
      if (!Found)
        Found = Size;
    }
  }
  return Found;
}

/// Whether `V` is computed from an accumulator of `Op`.
static bool usesAccumulator(Value V, linalg::LinalgOp Op) {
  SmallVector<Value> Worklist{V};
  llvm::SmallPtrSet<Operation *, 16> Seen;
  while (!Worklist.empty()) {
    Value Next = Worklist.pop_back_val();
    if (auto Arg = dyn_cast<BlockArgument>(Next)) {
      if (Arg.getOwner() == Op.getBlock() &&
          Arg.getArgNumber() >= Op.getNumDpsInputs())
        return true;
      continue;
    }
    Operation *Def = Next.getDefiningOp();
    if (!Op->isProperAncestor(Def) || !Seen.insert(Def).second)
      continue;
    Def->walk([&](Operation *Inner) {
      llvm::append_range(Worklist, Inner->getOperands());
    });
  }
  return false;
}

Operation *combinerOf(linalg::LinalgOp Op, unsigned Number) {
  Value Yielded = Op.getBlock()->getTerminator()->getOperand(Number);
  Operation *Def = Yielded.getDefiningOp();
  BlockArgument Acc = Op.getBlock()->getArgument(Op.getNumDpsInputs() + Number);
  if (!Def || Def->getBlock() != Op.getBlock() || Def->getNumOperands() != 2 ||
      !Acc.hasOneUse() || *Acc.user_begin() != Def ||
      !arith::getNeutralElement(Def))
    return nullptr;
  Value Other = Def->getOperand(Def->getOperand(0) == Acc ? 1 : 0);
  return usesAccumulator(Other, Op) ? nullptr : Def;
}

linalg::LinalgOp loopsOf(Operation *Op) {
  return isa_and_present<linalg::GenericOp, kernel::GemmOp, kernel::ConvOp,
                         kernel::PadOp>(Op)
             ? cast<linalg::LinalgOp>(Op)
             : linalg::LinalgOp();
}

linalg::LinalgOp loopsBehind(Value Tensor) {
  return loopsOf(Tensor.getDefiningOp());
}

Value viewOf(Value Tensor) {
  if (auto ToTensor = Tensor.getDefiningOp<bufferization::ToTensorOp>())
    return ToTensor.getBuffer();
  return {};
}

OpFoldResult strideOf(Value Memref, unsigned Dim) {
  auto Type = cast<MemRefType>(Memref.getType());
  SmallVector<int64_t> Strides;
  int64_t Offset;
  if (succeeded(Type.getStridesAndOffset(Strides, Offset)) &&
      !ShapedType::isDynamic(Strides[Dim]))
    return Builder(Type.getContext()).getIndexAttr(Strides[Dim]);
  if (auto View = Memref.getDefiningOp<memref::ReinterpretCastOp>())
    return View.getMixedStrides()[Dim];
  return {};
}

std::optional<int64_t> constantOf(OpFoldResult Size) {
  if (!Size)
    return std::nullopt;
  return getConstantIntValue(Size);
}

using shape::Expr;

/// `Operands` stand for the dims and then the symbols of `Affine`.
static std::optional<Expr> exprOf(AffineExpr Affine, ArrayRef<Expr> Operands,
                                  unsigned NumDims) {
  if (auto Const = dyn_cast<AffineConstantExpr>(Affine))
    return Expr(Const.getValue());
  if (auto Dim = dyn_cast<AffineDimExpr>(Affine))
    return Operands[Dim.getPosition()];
  if (auto Symbol = dyn_cast<AffineSymbolExpr>(Affine))
    return Operands[NumDims + Symbol.getPosition()];
  auto Binary = cast<AffineBinaryOpExpr>(Affine);
  auto Lhs = exprOf(Binary.getLHS(), Operands, NumDims);
  auto Rhs = exprOf(Binary.getRHS(), Operands, NumDims);
  if (!Lhs || !Rhs)
    return std::nullopt;
  switch (Affine.getKind()) {
  case AffineExprKind::Add:
    return *Lhs + *Rhs;
  case AffineExprKind::Mul:
    return *Lhs * *Rhs;
  case AffineExprKind::FloorDiv:
    return Lhs->floorDiv(*Rhs);
  case AffineExprKind::CeilDiv:
    return Lhs->ceilDiv(*Rhs);
  case AffineExprKind::Mod:
    return Lhs->mod(*Rhs);
  default:
    return std::nullopt;
  }
}

std::optional<Expr> sizeExpr(OpFoldResult Size) {
  if (!Size)
    return std::nullopt;
  if (auto Known = constantOf(Size))
    return Expr(*Known);
  Value V = cast<Value>(Size);
  if (auto Arg = dyn_cast<BlockArgument>(V))
    return Expr::symbol("arg" + std::to_string(Arg.getArgNumber()));
  Operation *Def = V.getDefiningOp();
  SmallVector<Expr> In;
  for (Value Operand : Def->getOperands()) {
    if (!Operand.getType().isIntOrIndex())
      return std::nullopt;
    std::optional<Expr> One = sizeExpr(Operand);
    if (!One)
      return std::nullopt;
    In.push_back(*One);
  }
  using Result = std::optional<Expr>;
  return TypeSwitch<Operation *, Result>(Def)
      .Case<affine::AffineApplyOp>([&](affine::AffineApplyOp Apply) {
        AffineMap Map = Apply.getAffineMap();
        return exprOf(Map.getResult(0), In, Map.getNumDims());
      })
      .Case<arith::IndexCastOp>([&](auto) { return Result(In[0]); })
      .Case<arith::MulIOp>([&](auto) { return Result(In[0] * In[1]); })
      .Case<arith::AddIOp>([&](auto) { return Result(In[0] + In[1]); })
      .Case<arith::SubIOp>([&](auto) { return Result(In[0] - In[1]); })
      .Case<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(
          [&](auto) { return Result(In[0].floorDiv(In[1])); })
      .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>(
          [&](auto) { return Result(In[0].ceilDiv(In[1])); })
      .Case<arith::RemUIOp, arith::RemSIOp>(
          [&](auto) { return Result(In[0].mod(In[1])); })
      .Case<arith::MinUIOp, arith::MinSIOp>(
          [&](auto) { return Result(Expr::min(In[0], In[1])); })
      .Case<arith::MaxUIOp, arith::MaxSIOp>(
          [&](auto) { return Result(Expr::max(In[0], In[1])); })
      .Default([](Operation *) { return Result(); });
}

std::optional<shape::Expr> productExpr(ArrayRef<OpFoldResult> Sizes) {
  shape::Expr Product = 1;
  for (OpFoldResult Size : Sizes) {
    std::optional<shape::Expr> One = sizeExpr(Size);
    if (!One)
      return std::nullopt;
    Product = Product * *One;
  }
  return Product;
}

SmallVector<Value> loopIndicesOfElement(linalg::LinalgOp Op, unsigned Result,
                                        ValueRange Indices) {
  SmallVector<Value> Loops(Op.getNumLoops());
  AffineMap Map = Op.getIndexingMapMatchingResult(Op->getResult(Result));
  for (auto [Expr, Index] : llvm::zip_equal(Map.getResults(), Indices))
    if (auto Dim = dyn_cast<AffineDimExpr>(Expr))
      Loops[Dim.getPosition()] = Index;
  return Loops;
}

void eraseTensorOps(func::FuncOp Func) {
  SmallVector<Operation *> Ops;
  for (Operation &Op : Func.getBody().front())
    Ops.push_back(&Op);
  auto IsTensor = [](Type T) { return isa<TensorType>(T); };
  for (Operation *Op : llvm::reverse(Ops))
    if (isa<bufferization::MaterializeInDestinationOp>(Op) ||
        (llvm::any_of(Op->getResultTypes(), IsTensor) && Op->use_empty()))
      Op->erase();
}

} // namespace kpc::kernels
