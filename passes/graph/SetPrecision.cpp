//===- SetPrecision.cpp - Stores f32 values as f16 or bf16 -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %1 = graph.conv %x, %w : f32       →   %1 = graph.conv %x', %w' : f16
///   %2 = graph.reduce sum, %1 : f32        %2 = graph.reduce sum, cast(%1) :
///   f32
///
/// Each value is wide (as it was) or narrow; where an op and its operand
/// differ, a cast stands between them and is fused into one of their kernels.
///
//===----------------------------------------------------------------------===//

#include "passes/graph/ConstantValues.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_SETPRECISION
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Ops whose results lose too much in 16 bits.
bool isSensitive(Operation *Op) {
  if (auto Reduce = dyn_cast<ReduceOp>(Op))
    return Reduce.getKind() == ReduceKind::sum ||
           Reduce.getKind() == ReduceKind::prod;
  if (auto Window = dyn_cast<WindowOp>(Op))
    return Window.getKind() == ReduceKind::sum;
  if (auto Div = dyn_cast<DivOp>(Op))
    return !isConstant(Div.getB());
  return isa<ExpOp, Expm1Op, LogOp, Log1pOp, PowOp, SqrtOp, RsqrtOp,
             ReciprocalOp, CumSumOp>(Op);
}

class PrecisionSetter {
public:
  PrecisionSetter(func::FuncOp Func, Type Narrow, ArrayRef<std::string> Keep)
      : Func(Func), Narrow(Narrow) {
    for (const std::string &Pattern : Keep)
      Kept.emplace_back(Pattern);
  }

  void run() {
    for (Operation &Op : llvm::make_early_inc_range(Func.getBody().front()))
      if (!isa<func::ReturnOp>(Op))
        set(&Op);
    restoreResults();
  }

private:
  bool isWide(Operation *Op) const;
  bool isKept(Operation *Op) const;
  void set(Operation *Op);
  void restoreResults();
  Value cast(OpBuilder &B, Value V, Type To);
  static bool isF32(Value V) { return typeOf(V).getElementType().isF32(); }

  func::FuncOp Func;
  Type Narrow;
  std::vector<llvm::Regex> Kept;
  /// Values that were f32 and are narrow now, and those that are wide on
  /// purpose.
  DenseSet<Value> Wide;
  DenseMap<std::pair<Value, Type>, Value> Casts;
};

bool PrecisionSetter::isKept(Operation *Op) const {
  auto Name = Op->getLoc()->findInstanceOf<NameLoc>();
  return Name && llvm::any_of(Kept, [&](const llvm::Regex &R) {
           return R.match(Name.getName().strref());
         });
}

bool PrecisionSetter::isWide(Operation *Op) const {
  if (isSensitive(Op) || isKept(Op))
    return true;
  return !isa<ConvOp, MatmulOp>(Op) &&
         llvm::any_of(Op->getOperands(),
                      [&](Value V) { return Wide.contains(V); });
}

Value PrecisionSetter::cast(OpBuilder &B, Value V, Type To) {
  if (typeOf(V).getElementType() == To)
    return V;
  Value &Cast = Casts[{V, To}];
  if (!Cast) {
    OpBuilder::InsertionGuard Guard(B);
    B.setInsertionPointAfterValue(V);
    Cast = CastOp::create(B, V.getLoc(), V, To);
  }
  return Cast;
}

void PrecisionSetter::set(Operation *Op) {
  // Floats of the model's own other types stay; casts say what they mean.
  bool MakesF32 = llvm::any_of(Op->getResults(), isF32);
  bool TakesFloats = llvm::any_of(Op->getOperands(), [&](Value V) {
    Type T = typeOf(V).getElementType();
    return T.isF32() || T == Narrow;
  });
  if (isa<CastOp>(Op) || (!MakesF32 && !TakesFloats))
    return;
  OpBuilder B(Op);
  if (isa<ConstantOp, WeightOp, IotaOp>(Op))
    return; // cast where they are used
  bool StaysWide = isWide(Op);
  Type To = StaysWide ? B.getF32Type() : Narrow;
  for (OpOperand &Operand : Op->getOpOperands()) {
    Type T = typeOf(Operand.get()).getElementType();
    if (T.isF32() || T == Narrow)
      Operand.set(cast(B, Operand.get(), To));
  }
  for (Value Result : Op->getResults()) {
    if (!isF32(Result))
      continue;
    if (StaysWide)
      Wide.insert(Result);
    else
      Result.setType(typeOf(Result).withElementType(Narrow));
  }
}

void PrecisionSetter::restoreResults() {
  Operation *Return = Func.getBody().front().getTerminator();
  OpBuilder B(Return);
  for (auto [Operand, Ty] :
       llvm::zip_equal(Return->getOpOperands(), Func.getResultTypes()))
    Operand.set(cast(B, Operand.get(),
                     llvm::cast<SymbolicTensorType>(Ty).getElementType()));
}

Type typeByName(StringRef Name, Builder &B) {
  return llvm::StringSwitch<Type>(Name)
      .Case("f16", B.getF16Type())
      .Case("bf16", B.getBF16Type())
      .Case("f32", B.getF32Type())
      .Default(Type());
}

/// Gives float inputs and outputs another type, with casts inside.
void setIoType(func::FuncOp Func, Type Io) {
  Block &Body = Func.getBody().front();
  OpBuilder B(&Body, Body.begin());
  for (BlockArgument Argument : Body.getArguments()) {
    SymbolicTensorType Ty = typeOf(Argument);
    if (!isFloat(Ty.getElementType()) || Ty.getElementType() == Io)
      continue;
    Argument.setType(Ty.withElementType(Io));
    Value Inside =
        CastOp::create(B, Argument.getLoc(), Argument, Ty.getElementType());
    Argument.replaceAllUsesExcept(Inside, Inside.getDefiningOp());
  }
  Operation *Return = Body.getTerminator();
  B.setInsertionPoint(Return);
  for (OpOperand &Operand : Return->getOpOperands()) {
    SymbolicTensorType Ty = typeOf(Operand.get());
    if (isFloat(Ty.getElementType()) && Ty.getElementType() != Io)
      Operand.set(CastOp::create(B, Return->getLoc(), Operand.get(), Io));
  }
  Func.setType(
      B.getFunctionType(Body.getArgumentTypes(), Return->getOperandTypes()));
}

struct SetPrecisionPass : graph::impl::SetPrecisionBase<SetPrecisionPass> {
  using SetPrecisionBase::SetPrecisionBase;
  void runOnOperation() override {
    Builder B(&getContext());
    for (const std::string &Pattern : Keep) {
      std::string Error;
      if (!llvm::Regex(Pattern).isValid(Error)) {
        getOperation().emitError()
            << "'" << Pattern << "' is no regular expression: " << Error;
        return signalPassFailure();
      }
    }
    for (const std::string &Name : {Narrow.getValue(), Io.getValue()})
      if (!Name.empty() && !typeByName(Name, B)) {
        getOperation().emitError()
            << "'" << Name << "' is none of f32, f16, bf16";
        return signalPassFailure();
      }
    if (!isGraphFunction(getOperation()))
      return;
    auto Regions = getOperation().getOps<RegionOp>();
    if (!Regions.empty()) {
      (*Regions.begin())
          .emitError("a region is formed already; set-precision "
                     "comes before form-regions");
      return signalPassFailure();
    }
    if (Type Type = typeByName(Io, B))
      setIoType(getOperation(), Type);
    Type To = typeByName(Narrow, B);
    if (To && !To.isF32())
      PrecisionSetter(getOperation(), To,
                      llvm::SmallVector<std::string>(Keep.begin(), Keep.end()))
          .run();
  }
};

} // namespace
