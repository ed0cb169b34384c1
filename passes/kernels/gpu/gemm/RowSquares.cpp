//===- RowSquares.cpp - Sums of squares of a GEMM's rows ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/kernel/Kernel.h"
#include "passes/kernels/gpu/gemm/GemmMatch.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace kpc::kernels {

std::optional<GemmMatch::RowSquares> GemmMatch::squares() const {
  BlockArgument Argument = kernel::rowSquaresOf(C.R.Form.Func, A.Argument);
  if (!Argument)
    return std::nullopt;
  RowSquares Found{Argument.getArgNumber(), {}};
  for (Operation *View : Argument.getUsers()) {
    // One element for each row, which is where its number is read.
    auto Ty = dyn_cast<MemRefType>(View->getResult(0).getType());
    if (!Ty || Ty.getRank() < 2 ||
        llvm::any_of(Ty.getShape().drop_front(),
                     [](int64_t Size) { return Size != 1; }))
      return std::nullopt;
    for (Operation *Tensor : View->getUsers()) {
      if (!isa<bufferization::ToTensorOp>(Tensor))
        return std::nullopt;
      Found.Tensors.push_back(Tensor->getResult(0));
    }
  }
  return Found;
}

Value GemmMatch::RowSquares::factors() const {
  if (Tensors.size() != 1)
    return {};
  auto IsOfRows = [](Value V) {
    auto Ty = cast<ShapedType>(V.getType());
    return Ty.getRank() > 1 && Ty.getElementType().isF32() &&
           llvm::all_of(Ty.getShape().drop_front(),
                        [](int64_t Size) { return Size == 1; });
  };
  Value V = Tensors.front();
  while (V.hasOneUse()) {
    auto Next = dyn_cast<linalg::GenericOp>(*V.user_begin());
    if (!Next || Next->getNumResults() != 1 || !IsOfRows(Next->getResult(0)))
      break;
    V = Next->getResult(0);
  }
  return V;
}

} // namespace kpc::kernels
