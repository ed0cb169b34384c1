//===- LowerCustom.cpp - The kernel of a user's operator ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kernel's arguments are the buffers, then the sizes that the user's
/// function takes, each an argument even where it is a number: so one kernel
/// serves all shapes.
///
//===----------------------------------------------------------------------===//

#include "dialects/graph/CustomCode.h"
#include "dialects/kernel/Kernel.h"
#include "passes/graph/linalg/KernelWriter.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

/// As manifests name it: "f32", "u8", "bool".
static std::string elementName(Type Element) {
  if (Element.isInteger(1))
    return "bool";
  std::string Text;
  llvm::raw_string_ostream(Text) << Element;
  return Element.isUnsignedInteger() ? "u" + Text.substr(2) : Text;
}

Value KernelWriter::sizeArgument(const Expr &E) {
  unsigned Position = Kernel.getNumArguments();
  (void)Kernel.insertArgument(Position, B.getIndexType(), {}, CurrentLoc);
  Sizes.push_back(E);
  return Kernel.getArguments().back();
}

LogicalResult KernelWriter::writeCustom(CustomOp Op) {
  CurrentLoc = Op.getLoc();
  bool IsCuda = Op.getCuda().has_value();
  std::string Problem;
  std::optional<CustomCode> Code =
      CustomCode::read(IsCuda ? *Op.getCuda() : *Op.getHost(), IsCuda,
                       /*WithSizes=*/true, Problem);
  if (!Code || (IsCuda && Op.getHost()))
    return Op.emitError("a custom operator becomes a kernel when "
                        "isolate-custom has chosen its code");
  SmallVector<Value> Given;
  for (Value V : llvm::concat<Value>(Op.getInputs(),
                                     SmallVector<Value>(Op.getOutputs()))) {
    SymbolicTensorType Ty = typeOf(V);
    Code->Tensors.emplace_back(elementName(Ty.getElementType()),
                               std::to_string(Ty.getRank()));
    if (!IsCuda)
      for (const Expr &Dim : Ty.getDims())
        Given.push_back(sizeArgument(Dim));
  }
  for (const Expr &Size : Code->Sizes)
    Given.push_back(sizeArgument(Size));
  size_t Inputs = Op.getInputs().size(), Buffers = Inputs + Op.getNumResults();
  ValueRange All = Kernel.getArguments();
  kernel::CustomOp::create(B, CurrentLoc, Op.getOperatorNameAttr(),
                           All.take_front(Inputs),
                           All.take_front(Buffers).drop_front(Inputs), Given,
                           IsCuda ? B.getUnitAttr() : UnitAttr(),
                           Code->toAttr(B.getContext(), /*WithSizes=*/false));
  func::ReturnOp::create(B, CurrentLoc);
  return success();
}
