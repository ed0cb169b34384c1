//===- RecogniseGelu.cpp - One spelling of GELU ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   x * (erf(x / √2) + 1) * 0.5    →    x * 0.5 * (erf(x * √½) + 1)
///
/// with the factors of a product on either side, and 0.5 at any of them. This
/// is what ONNX's Gelu becomes, and what PyTorch computes before an exporter
/// spells it. The division would be a dozen instructions in an epilogue.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_RECOGNISEGELU
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Whether a value is one number, as f32 rounds it.
bool isNumber(Value V, double Number) {
  return splatValue(V) == double(float(Number));
}

/// The other operand of an op of two that may change places; null if neither
/// is `One`.
Value operandWith(Operation *Op, Value One) {
  Value A = Op->getOperand(0), B = Op->getOperand(1);
  return B == One ? A : A == One ? B : Value();
}

/// The other operand, where one is `Number`, and `Number`'s own value.
Value operandWithNumber(Operation *Op, double Number, Value &Its) {
  for (unsigned I : {0, 1})
    if (isNumber(Op->getOperand(I), Number)) {
      Its = Op->getOperand(I);
      return Op->getOperand(1 - I);
    }
  return {};
}

template <typename Kind> Kind onlyUser(Value V) {
  return V.hasOneUse() ? dyn_cast<Kind>(*V.getUsers().begin()) : Kind();
}

struct Gelu {
  Value X, Half, One;
  Operation *Argument = nullptr;
  AddOp Sum;    ///< erf(…) + 1
  MulOp Result; ///< the outermost product

  /// None where the op is part of something else, or already is as wanted.
  static std::optional<Gelu> read(ErfOp Erf);

private:
  bool readArgument(ErfOp Erf);
  bool readProducts();
};

bool Gelu::readArgument(ErfOp Erf) {
  Argument = Erf.getX().getDefiningOp();
  Value Factor;
  if (auto Div = dyn_cast_or_null<DivOp>(Argument)) {
    if (isNumber(Div.getB(), std::sqrt(2.0)))
      X = Div.getA();
  } else if (auto Mul = dyn_cast_or_null<MulOp>(Argument)) {
    X = operandWithNumber(Mul, std::sqrt(0.5), Factor);
  }
  return bool(X);
}

/// Two products are left of x, the sum and a half.
bool Gelu::readProducts() {
  auto Inner = onlyUser<MulOp>(Sum.getY());
  if (!Inner)
    return false;
  Value Other = operandWith(Inner, Sum.getY());
  if (isNumber(Other, 0.5)) {
    Half = Other;
    Result = onlyUser<MulOp>(Inner.getY());
    return Result && operandWith(Result, Inner.getY()) == X;
  }
  if (Other == X) {
    Result = onlyUser<MulOp>(Inner.getY());
    return Result && operandWithNumber(Result, 0.5, Half) == Inner.getY();
  }
  // Only the division, if any, is to go.
  auto Halved = Other.getDefiningOp<MulOp>();
  Result = Inner;
  return Halved && isa<DivOp>(Argument) &&
         operandWithNumber(Halved, 0.5, Half) == X;
}

std::optional<Gelu> Gelu::read(ErfOp Erf) {
  Gelu Found;
  if (!typeOf(Erf.getX()).getElementType().isF32() || !Found.readArgument(Erf))
    return std::nullopt;
  Found.Sum = onlyUser<AddOp>(Erf.getY());
  if (!Found.Sum ||
      operandWithNumber(Found.Sum, 1.0, Found.One) != Erf.getY() ||
      !Found.readProducts())
    return std::nullopt;
  return Found;
}

Value numberLike(OpBuilder &B, Location Loc, double Number, Value X) {
  SymbolicTensorType Ty = typeOf(X);
  auto Scalar = DenseElementsAttr::get(
      RankedTensorType::get({}, Ty.getElementType()), float(Number));
  Value One = ConstantOp::create(B, Loc, Scalar);
  return BroadcastOp::create(B, Loc, Ty, One);
}

void rewrite(Gelu G) {
  OpBuilder B(G.Result);
  Location Loc = G.Result.getLoc(), At = G.Argument->getLoc();
  Value Argument =
      MulOp::create(B, At, G.X, numberLike(B, At, std::sqrt(0.5), G.X));
  Value Gate = ErfOp::create(B, G.Sum.getLoc(), Argument);
  // In the order of the imported one: kernels are compared by their text.
  Value Halved = MulOp::create(B, Loc, G.X, G.Half);
  Value Sum = AddOp::create(B, G.Sum.getLoc(), Gate, G.One);
  Value Y = MulOp::create(B, Loc, Halved, Sum);
  Value Old = G.Result.getY();
  Old.replaceAllUsesWith(Y);
  remark::passed(Loc, remark::RemarkOpts::name("gelu").category("recognition"))
      << "GELU is recognised: its argument is multiplied, not divided.";
}

struct RecogniseGeluPass : graph::impl::RecogniseGeluBase<RecogniseGeluPass> {
  void runOnOperation() override {
    if (!isGraphFunction(getOperation()))
      return;
    SmallVector<ErfOp> All;
    getOperation().walk([&](ErfOp Erf) { All.push_back(Erf); });
    // One may be made of another: each is read when those before are written.
    for (ErfOp Erf : All)
      if (std::optional<Gelu> Found = Gelu::read(Erf))
        rewrite(*Found);
  }
};

} // namespace
