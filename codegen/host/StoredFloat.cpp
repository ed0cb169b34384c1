//===- StoredFloat.cpp - Floats the CPU only stores -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/host/StoredFloat.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kpc::codegen {

static bool isOnlyStored(Type T, bool HasF16c) {
  return T.isBF16() || (T.isF16() && !HasF16c);
}

/// The same bits of an integer type.
static TypedAttr bitsOf(TypedAttr Value) {
  Type Bits = IntegerType::get(Value.getContext(), 16);
  if (auto Dense = dyn_cast<DenseElementsAttr>(Value))
    return Dense.bitcast(Bits);
  if (auto Float = dyn_cast<FloatAttr>(Value))
    return IntegerAttr::get(Bits, Float.getValue().bitcastToAPInt());
  return {};
}

namespace {
struct LowerConstant : ConvertOpToLLVMPattern<arith::ConstantOp> {
  LowerConstant(const LLVMTypeConverter &Converter, bool HasF16c)
      : ConvertOpToLLVMPattern(Converter, /*benefit=*/2), HasF16c(HasF16c) {}

  LogicalResult matchAndRewrite(arith::ConstantOp O, OpAdaptor,
                                ConversionPatternRewriter &R) const override {
    if (!isOnlyStored(getElementTypeOrSelf(O.getType()), HasF16c))
      return failure();
    TypedAttr Bits = bitsOf(O.getValue());
    Type To = getTypeConverter()->convertType(O.getType());
    if (!Bits || !To)
      return failure();
    R.replaceOpWithNewOp<LLVM::ConstantOp>(O, To, Bits);
    return success();
  }

  bool HasF16c;
};
} // namespace

void convertStoredFloats(LLVMTypeConverter &Converter,
                         RewritePatternSet &Patterns,
                         const HostTargetOptions &Options) {
  bool HasF16c = Options.HasF16c;
  Converter.addConversion([HasF16c](FloatType T) -> std::optional<Type> {
    if (!isOnlyStored(T, HasF16c))
      return std::nullopt;
    return IntegerType::get(T.getContext(), 16);
  });
  // Vectors that LLVM has would stay as they are.
  Converter.addConversion(
      [HasF16c, &Converter](VectorType T) -> std::optional<Type> {
        if (!isOnlyStored(T.getElementType(), HasF16c))
          return std::nullopt;
        Type Bits = IntegerType::get(T.getContext(), 16);
        return Converter.convertType(T.clone(Bits));
      });
  Patterns.add<LowerConstant>(Converter, HasF16c);
}

} // namespace kpc::codegen
