//===- TensorMapAttr.cpp - The tensor maps that a kernel asks for ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/TensorMapAttr.h"
#include "dialects/kernel/Kernel.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using kpc::artifact::KernelTensorMap;
using kpc::artifact::TensorMap;
using kpc::shape::Expr;

namespace kpc::nvptx {

// The runtime's bytes for each value of an enumeration, by its number.
static constexpr int64_t SwizzleBytes[] = {0, 32, 64, 128};
static constexpr int64_t PromotionBytes[] = {0, 64, 128, 256};

static ElementType elementTypeOf(Type Element) {
  if (Element.isF32() || Element.isTF32())
    return ElementType::F32;
  if (Element.isF64())
    return ElementType::F64;
  if (Element.isF16())
    return ElementType::F16;
  if (Element.isBF16())
    return ElementType::BF16;
  if (isa<Float8E4M3FNType>(Element))
    return ElementType::F8E4M3FN;
  if (isa<Float8E5M2Type>(Element))
    return ElementType::F8E5M2;
  if (isa<Float8E8M0FNUType>(Element))
    return ElementType::F8E8M0;
  bool Unsigned = Element.isUnsignedInteger();
  if (Element.isInteger(8))
    return Unsigned ? ElementType::U8 : ElementType::I8;
  if (Element.isInteger(16))
    return Unsigned ? ElementType::U16 : ElementType::I16;
  if (Element.isInteger(32))
    return Unsigned ? ElementType::U32 : ElementType::I32;
  if (Element.isInteger(64))
    return Unsigned ? ElementType::U64 : ElementType::I64;
  return ElementType::Undefined;
}

/// Which of `Values` `Bytes` is, which the attribute's verifier has seen to.
template <class Enum>
static Enum choice(ArrayRef<int64_t> Values, int64_t Bytes) {
  return Enum(llvm::find(Values, Bytes) - Values.begin());
}

static std::vector<Expr> exprs(ArrayAttr Texts) {
  std::vector<Expr> Out;
  for (auto Text : Texts.getAsRange<StringAttr>())
    Out.push_back(*Expr::parse(Text.getValue()));
  return Out;
}

static std::vector<uint32_t> extents(DenseI64ArrayAttr List) {
  ArrayRef<int64_t> Extents = List ? List.asArrayRef() : ArrayRef<int64_t>();
  return {Extents.begin(), Extents.end()};
}

static KernelTensorMap tensorMapOf(kernel::TensorMapAttr Asked) {
  KernelTensorMap Out;
  Out.Buffer = Asked.getBuffer();
  TensorMap &Map = Out.Map;
  Map.Element = elementTypeOf(Asked.getElement());
  Map.Tf32 = Asked.getElement().isTF32();
  Map.Dims = exprs(Asked.getDims());
  Map.Strides = exprs(Asked.getStrides());
  Map.Box = extents(Asked.getBox());
  Map.Traversal = extents(Asked.getTraversal());
  Map.Swizzle =
      choice<artifact::TensorMapSwizzle>(SwizzleBytes, Asked.getSwizzle());
  Map.Promotion =
      choice<artifact::TensorMapPromotion>(PromotionBytes, Asked.getL2());
  if (Asked.getFill() == kernel::TensorMapFill::Nan)
    Map.Fill = artifact::TensorMapFill::Nans;
  if (kernel::Im2colAttr Walk = Asked.getIm2col()) {
    Map.Mode = artifact::TensorMapMode::Im2col;
    Map.Lower.assign(Walk.getLower().asArrayRef().begin(),
                     Walk.getLower().asArrayRef().end());
    Map.Upper.assign(Walk.getUpper().asArrayRef().begin(),
                     Walk.getUpper().asArrayRef().end());
    Map.Channels = Walk.getChannels();
    Map.Pixels = Walk.getPixels();
  }
  return Out;
}

FailureOr<std::vector<KernelTensorMap>> readTensorMaps(gpu::GPUFuncOp Kernel) {
  std::vector<KernelTensorMap> Out;
  ArrayAttr Maps = kernel::tensorMapsOf(Kernel);
  if (!Maps)
    return Out;
  for (auto Asked : Maps.getAsRange<kernel::TensorMapAttr>()) {
    Out.push_back(tensorMapOf(Asked));
    if (Out.back().Map.Element == ElementType::Undefined)
      return Kernel.emitOpError("expected tensor maps of types of 8 to 64 bits "
                                "that can be copied, got ")
             << Asked.getElement();
  }
  return Out;
}

} // namespace kpc::nvptx
