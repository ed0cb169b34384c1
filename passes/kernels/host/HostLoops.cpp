//===- HostLoops.cpp - Loops over work units ------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/host/HostLoops.h"
#include "dialects/kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace kpc::kernels {

UnitRange addUnitRange(func::FuncOp Func) {
  Type Index = IndexType::get(Func.getContext());
  for (int I = 0; I < 2; ++I)
    (void)Func.insertArgument(Func.getNumArguments(), Index, {}, Func.getLoc());
  return {Func.getArgument(Func.getNumArguments() - 2),
          Func.getArgument(Func.getNumArguments() - 1)};
}

void setLaunch(func::FuncOp Func, const shape::Expr &Work, int64_t Grain,
               StringRef Schedule) {
  MLIRContext *Context = Func.getContext();
  Func->setAttr(
      kernel::KernelDialect::WorkAttrHelper::getNameStr(),
      kernel::WorkAttr::get(Context, Work.str(), std::max<int64_t>(Grain, 1)));
  Func->setAttr(kernel::KernelDialect::ScheduleAttrHelper::getNameStr(),
                kernel::ScheduleAttr::get(Context, Schedule));
}

void keepRolled(scf::ForOp For) {
  MLIRContext *Context = For.getContext();
  auto Yes = BoolAttr::get(Context, true);
  auto Unroll = LLVM::LoopUnrollAttr::get(Context, Yes, {}, {}, {}, {}, {}, {});
  auto Annotation = LLVM::LoopAnnotationAttr::get(
      Context, {}, {}, {}, Unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
  For->setAttr("llvm.loop_annotation", Annotation);
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
