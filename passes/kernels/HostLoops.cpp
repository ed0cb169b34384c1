//===- HostLoops.cpp - Loops over work units ------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/HostLoops.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kpc::kernels {

UnitRange addUnitRange(func::FuncOp Func) {
  Type Index = IndexType::get(Func.getContext());
  for (int I = 0; I < 2; ++I)
    (void)Func.insertArgument(Func.getNumArguments(), Index, {}, Func.getLoc());
  return {Func.getArgument(Func.getNumArguments() - 2),
          Func.getArgument(Func.getNumArguments() - 1)};
}

void setLaunch(func::FuncOp Func, StringRef Work, int64_t Grain,
               StringRef Schedule) {
  Builder B(Func.getContext());
  Func->setAttr("kpc.work", B.getStringAttr(Work));
  Func->setAttr("kpc.grain", B.getI64IntegerAttr(std::max<int64_t>(Grain, 1)));
  Func->setAttr("kpc.schedule", B.getStringAttr(Schedule));
}

//===----------------------------------------------------------------------===//
// Sizes as text
//===----------------------------------------------------------------------===//

static std::string textOf(AffineExpr Expr, ArrayRef<std::string> Dims,
                          unsigned NumDims) {
  if (auto Const = dyn_cast<AffineConstantExpr>(Expr))
    return std::to_string(Const.getValue());
  if (auto Dim = dyn_cast<AffineDimExpr>(Expr))
    return Dims[Dim.getPosition()];
  if (auto Symbol = dyn_cast<AffineSymbolExpr>(Expr))
    return Dims[NumDims + Symbol.getPosition()];
  auto Binary = cast<AffineBinaryOpExpr>(Expr);
  std::string Lhs = textOf(Binary.getLHS(), Dims, NumDims);
  std::string Rhs = textOf(Binary.getRHS(), Dims, NumDims);
  if (Lhs.empty() || Rhs.empty())
    return {};
  switch (Expr.getKind()) {
  case AffineExprKind::Add:
    return "(" + Lhs + " + " + Rhs + ")";
  case AffineExprKind::Mul:
    return Lhs + "*" + Rhs;
  case AffineExprKind::FloorDiv:
    return "floordiv(" + Lhs + ", " + Rhs + ")";
  case AffineExprKind::CeilDiv:
    return "ceildiv(" + Lhs + ", " + Rhs + ")";
  case AffineExprKind::Mod:
    return "mod(" + Lhs + ", " + Rhs + ")";
  default:
    return {};
  }
}

std::string sizeText(OpFoldResult Size) {
  if (auto Known = constantOf(Size))
    return std::to_string(*Known);
  Value V = cast<Value>(Size);
  if (auto Arg = dyn_cast<BlockArgument>(V))
    return "arg" + std::to_string(Arg.getArgNumber());
  Operation *Def = V.getDefiningOp();
  SmallVector<std::string> Operands;
  for (Value Operand : Def->getOperands()) {
    Operands.push_back(sizeText(Operand));
    if (Operands.back().empty())
      return {};
  }
  if (auto Apply = dyn_cast<affine::AffineApplyOp>(Def))
    return textOf(Apply.getAffineMap().getResult(0), Operands,
                  Apply.getAffineMap().getNumDims());
  if (Operands.size() == 1)
    return isa<arith::IndexCastOp>(Def) ? Operands[0] : std::string();
  if (Operands.size() != 2)
    return {};
  auto Call = [&](const char *Name) {
    return Name + ("(" + Operands[0] + ", " + Operands[1] + ")");
  };
  auto Infix = [&](const char *Sign) {
    return "(" + Operands[0] + Sign + Operands[1] + ")";
  };
  return TypeSwitch<Operation *, std::string>(Def)
      .Case<arith::MulIOp>(
          [&](auto) { return Operands[0] + "*" + Operands[1]; })
      .Case<arith::AddIOp>([&](auto) { return Infix(" + "); })
      .Case<arith::SubIOp>([&](auto) { return Infix(" - "); })
      .Case<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(
          [&](auto) { return Call("floordiv"); })
      .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>(
          [&](auto) { return Call("ceildiv"); })
      .Case<arith::RemUIOp, arith::RemSIOp>([&](auto) { return Call("mod"); })
      .Case<arith::MinUIOp, arith::MinSIOp>([&](auto) { return Call("min"); })
      .Case<arith::MaxUIOp, arith::MaxSIOp>([&](auto) { return Call("max"); })
      .Default([](Operation *) { return std::string(); });
}

std::string productText(ArrayRef<OpFoldResult> Sizes) {
  int64_t Constant = 1;
  std::string Text;
  for (OpFoldResult Size : Sizes) {
    if (auto Known = constantOf(Size)) {
      Constant *= *Known;
      continue;
    }
    std::string One = sizeText(Size);
    if (One.empty())
      return {};
    Text += (Text.empty() ? "" : "*") + One;
  }
  if (Text.empty())
    return std::to_string(Constant);
  return Constant == 1 ? Text : Text + "*" + std::to_string(Constant);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

scf::ForOp makeLoop(OpBuilder &B, Location Loc, Value Lower, Value Upper,
                    Value Step, ValueRange Carried, LoopBody Body) {
  auto For = scf::ForOp::create(B, Loc, Lower, Upper, Step, Carried);
  OpBuilder::InsertionGuard Guard(B);
  if (!For.getBody()->empty())
    For.getBody()->back().erase();
  B.setInsertionPointToEnd(For.getBody());
  SmallVector<Value> Next =
      Body(B, For.getInductionVar(), For.getRegionIterArgs());
  scf::YieldOp::create(B, Loc, Next);
  return For;
}

SmallVector<Value> delinearize(OpBuilder &B, Location Loc, Value Linear,
                               ArrayRef<Value> Sizes) {
  SmallVector<Value> Indices(Sizes.size());
  Value Rest = Linear;
  for (size_t I = Sizes.size(); I-- > 1;) {
    if (getConstantIntValue(Sizes[I]) == 1) {
      Indices[I] = B.createOrFold<arith::ConstantIndexOp>(Loc, 0);
      continue;
    }
    Indices[I] = arith::RemUIOp::create(B, Loc, Rest, Sizes[I]);
    Rest = arith::DivUIOp::create(B, Loc, Rest, Sizes[I]);
  }
  if (!Sizes.empty())
    Indices[0] = Rest;
  return Indices;
}

Value product(OpBuilder &B, Location Loc, ElementEmitter &Emitter,
              ValueRange Sizes) {
  Value Result = Emitter.constantIndex(B, 1);
  for (Value Size : Sizes)
    Result = Emitter.mul(B, Loc, Result, Size);
  return Result;
}

} // namespace kpc::kernels
