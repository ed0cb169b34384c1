//===- VerifyLaunchSizes.cpp - Launches against their kernels -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Changes nothing. In: a plan and its kernels. A kernel sees a buffer through
/// a view whose sizes are numbers, index arguments, and sums and products of
/// them; with the launch's sizes in their place, the view must be dense and
/// have as many elements as the buffer. Where that cannot be proved, the launch
/// is an error.
///
///   plan.launch @f (%x) -> (%y) sizes <[batch]> …   // %x of [batch, 4]: taken
///   plan.launch @f (%x) -> (%y) sizes <[5]> …       // 20 is not batch*4
///
///   func.func @f(%x: memref<f32>, …, %n: index) {
///     memref.reinterpret_cast %x to offset: [0], sizes: [%n, 4], …
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "passes/graph/LeadingDimensions.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_VERIFYLAUNCHSIZES
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

class LaunchCheck {
public:
  LaunchCheck(plan::LaunchOp Launch, const shape::Facts &Facts)
      : Launch(Launch), Facts(Facts) {}

  LogicalResult run(func::FuncOp Kernel);

private:
  LogicalResult checkView(memref::ReinterpretCastOp View, unsigned Argument);
  std::optional<Expr> sizeOf(OpFoldResult Size, unsigned Depth = 0);
  /// Expressions above the border may hold divisions that only facts decide.
  bool isEqual(const Expr &A, const Expr &B) const {
    return A == B || Facts.isEqual(A, B).value_or(false);
  }
  /// Whether rows of `Row` elements lie `Stride` apart because the buffer's are
  /// padded to so many.
  bool isPadded(const Expr &Stride, const Expr &Row,
                SymbolicTensorType Buffer) const {
    unsigned Bits = Buffer.getElementType().getIntOrFloatBitWidth();
    return Buffer.getRank() >= 2 && isEqual(Stride, Buffer.getDims().back()) &&
           (isEqual(Stride, paddedRow(Row, Bits, RowBytes)) ||
            isEqual(Stride, paddedRow(Row, Bits, LineBytes)));
  }
  InFlightDiagnostic fault(unsigned Argument) {
    return Launch.emitError()
           << "launch '" << Launch.getName().value_or(Launch.getKernel())
           << "' of kernel '" << Launch.getKernel() << "': argument "
           << Argument;
  }

  plan::LaunchOp Launch;
  const shape::Facts &Facts;
};

/// What a size of a kernel is in this launch: a number, an argument, or sums
/// and products of them, as strides are; none where it is computed otherwise.
std::optional<Expr> LaunchCheck::sizeOf(OpFoldResult Size, unsigned Depth) {
  if (std::optional<int64_t> Number = getConstantIntValue(Size))
    return Expr(*Number);
  constexpr unsigned Deepest = 32;
  Operation *Op = cast<Value>(Size).getDefiningOp();
  if (isa_and_nonnull<arith::MulIOp, arith::AddIOp>(Op) && Depth < Deepest) {
    std::optional<Expr> A = sizeOf(Op->getOperand(0), Depth + 1),
                        B = sizeOf(Op->getOperand(1), Depth + 1);
    if (!A || !B)
      return std::nullopt;
    return isa<arith::MulIOp>(Op) ? *A * *B : *A + *B;
  }
  auto Argument = dyn_cast<BlockArgument>(cast<Value>(Size));
  if (!Argument || !isa<func::FuncOp>(Argument.getOwner()->getParentOp()))
    return std::nullopt;
  ArrayRef<Expr> Sizes = Launch.getSizes().getDims();
  size_t Position = Argument.getArgNumber() - Launch.getNumOperands();
  if (Argument.getArgNumber() < Launch.getNumOperands() ||
      Position >= Sizes.size())
    return std::nullopt;
  return Sizes[Position];
}

LogicalResult LaunchCheck::checkView(memref::ReinterpretCastOp View,
                                     unsigned Argument) {
  SmallVector<OpFoldResult> Sizes = View.getMixedSizes();
  SmallVector<OpFoldResult> Strides = View.getMixedStrides();
  SymbolicTensorType Buffer = typeOf(Launch.getOperand(Argument));
  Expr Count(1);
  for (size_t I = Sizes.size(); I-- > 0;) {
    std::optional<Expr> Size = sizeOf(Sizes[I]), Stride = sizeOf(Strides[I]);
    if (!Size || !Stride)
      return fault(Argument) << " is seen through a view whose sizes are "
                                "computed in the kernel";
    // Rows may be longer in memory than in the view.
    if (I + 2 == Sizes.size() && isPadded(*Stride, Count, Buffer))
      Count = *Stride;
    if (!isEqual(*Stride, Count))
      return fault(Argument)
             << ": dim " << I << " of the kernel's view has stride "
             << Stride->str() << ", but the dims after it have " << Count.str()
             << " elements";
    Count = Count * *Size;
  }
  if (isEqual(Count, Buffer.getNumElements()))
    return success();
  return fault(Argument) << " is a buffer of " << Buffer.getNumElements().str()
                         << " elements, but with the launch's sizes the "
                            "kernel's view has "
                         << Count.str();
}

LogicalResult LaunchCheck::run(func::FuncOp Kernel) {
  for (BlockArgument Argument : Kernel.getArguments()) {
    if (Argument.getArgNumber() >= Launch.getNumOperands())
      break;
    for (Operation *User : Argument.getUsers())
      if (auto View = dyn_cast<memref::ReinterpretCastOp>(User))
        if (failed(checkView(View, Argument.getArgNumber())))
          return failure();
  }
  return success();
}

struct VerifyLaunchSizesPass
    : graph::impl::VerifyLaunchSizesBase<VerifyLaunchSizesPass> {
  void runOnOperation() override {
    shape::Facts Facts = symbolFacts(getOperation());
    getOperation().walk([&](plan::LaunchOp Launch) {
      auto Kernel =
          getOperation().lookupSymbol<func::FuncOp>(Launch.getKernel());
      if (Kernel && !Kernel.isDeclaration() &&
          failed(LaunchCheck(Launch, Facts).run(Kernel)))
        signalPassFailure();
    });
    markAllAnalysesPreserved();
  }
};

} // namespace
