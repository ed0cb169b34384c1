//===- SizeFacts.cpp - What is known of a kernel's sizes ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/SizeFacts.h"
#include "dialects/kernel/Kernel.h"
#include "passes/kernels/form/FusedKernel.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace kpc::kernels {

static constexpr int64_t Greatest = std::numeric_limits<int64_t>::max();

int64_t saturatingMul(int64_t A, int64_t B) {
  int64_t R;
  return __builtin_mul_overflow(A, B, &R) ? Greatest : R;
}

static int64_t saturatingAdd(int64_t A, int64_t B) {
  int64_t R;
  return __builtin_add_overflow(A, B, &R) ? Greatest : R;
}

static shape::SymbolFacts factsOf(BlockArgument Arg) {
  auto Func = dyn_cast<FunctionOpInterface>(Arg.getOwner()->getParentOp());
  if (!Func || Arg.getOwner() != &Func.getFunctionBody().front())
    return {};
  return kernel::argumentFacts(Func, Arg.getArgNumber());
}

int64_t divisorOf(OpFoldResult Size) {
  if (!Size)
    return 1;
  if (auto Known = constantOf(Size))
    return *Known == 0 ? Greatest : std::abs(*Known);
  Value V = cast<Value>(Size);
  if (auto Arg = dyn_cast<BlockArgument>(V))
    return factsOf(Arg).Divisor;
  Operation *Def = V.getDefiningOp();
  if (isa<arith::MulIOp>(Def)) {
    int64_t A = divisorOf(Def->getOperand(0)),
            B = divisorOf(Def->getOperand(1));
    int64_t R;
    return __builtin_mul_overflow(A, B, &R) ? std::max(A, B) : R;
  }
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
          arith::MinUIOp, arith::MaxUIOp>(Def))
    return std::gcd(divisorOf(Def->getOperand(0)),
                    divisorOf(Def->getOperand(1)));
  if (auto Apply = dyn_cast<affine::AffineApplyOp>(Def))
    return Apply.getAffineMap().getResult(0).getLargestKnownDivisor();
  return 1;
}

bool areCongruent(OpFoldResult A, OpFoldResult B, int64_t By) {
  if (!A || !B)
    return false;
  std::optional<int64_t> KnownA = constantOf(A), KnownB = constantOf(B);
  if (KnownA && KnownB)
    return (*KnownA - *KnownB) % By == 0;
  return A == B || (divisorOf(A) % By == 0 && divisorOf(B) % By == 0);
}

int64_t powerOfTwoDivisor(ArrayRef<OpFoldResult> Sizes) {
  int64_t Power = 1;
  for (OpFoldResult Size : Sizes) {
    int64_t Divisor = divisorOf(Size);
    int64_t Lowest = Divisor == Greatest ? 1024 : Divisor & -Divisor;
    Power = std::min<int64_t>(1024, Power * std::min<int64_t>(1024, Lowest));
  }
  return Power;
}

namespace {
/// Evaluates a size with a value for each argument; none where one is missing.
struct Evaluate {
  llvm::function_ref<std::optional<int64_t>(BlockArgument)> Of;

  std::optional<int64_t> operator()(OpFoldResult Size) const {
    if (!Size)
      return std::nullopt;
    if (auto Known = constantOf(Size))
      return Known;
    Value V = cast<Value>(Size);
    if (auto Arg = dyn_cast<BlockArgument>(V))
      return Of(Arg);
    Operation *Def = V.getDefiningOp();
    if (Def->getNumOperands() != 2 || isa<affine::AffineApplyOp>(Def))
      return std::nullopt;
    auto A = (*this)(Def->getOperand(0)), B = (*this)(Def->getOperand(1));
    if (!A || !B)
      return std::nullopt;
    if (isa<arith::MulIOp>(Def))
      return saturatingMul(*A, *B);
    if (isa<arith::AddIOp>(Def))
      return saturatingAdd(*A, *B);
    if (isa<arith::MinSIOp, arith::MinUIOp>(Def))
      return std::min(*A, *B);
    if (isa<arith::MaxSIOp, arith::MaxUIOp>(Def))
      return std::max(*A, *B);
    // What falls in an operand is bounded only where that is a constant.
    auto Constant = constantOf(OpFoldResult(Def->getOperand(1)));
    if (!Constant || *Constant <= 0)
      return std::nullopt;
    if (isa<arith::SubIOp>(Def))
      return *A - *Constant;
    if (isa<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(Def))
      return *A / *Constant;
    if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(Def))
      return *A / *Constant + (*A % *Constant != 0);
    if (isa<arith::RemUIOp, arith::RemSIOp>(Def))
      return *Constant - 1;
    return std::nullopt;
  }
};
} // namespace

std::optional<int64_t> maxOf(OpFoldResult Size) {
  auto Max = Evaluate{[](BlockArgument Arg) {
    int64_t Known = factsOf(Arg).Max;
    return Known == Greatest ? std::nullopt : std::optional(Known);
  }}(Size);
  return Max == Greatest ? std::nullopt : Max;
}

int64_t typicalOf(OpFoldResult Size, int64_t Unknown) {
  return Evaluate{[&](BlockArgument Arg) -> std::optional<int64_t> {
           shape::SymbolFacts Known = factsOf(Arg);
           for (int64_t Value :
                {Known.Optimum.value_or(0), Known.Max, Known.Min})
             if (Value > 0 && Value != Greatest)
               return Value;
           return Unknown;
         }}(Size)
      .value_or(Unknown);
}

int64_t typicalProduct(ArrayRef<OpFoldResult> Sizes, int64_t Unknown) {
  int64_t Product = 1;
  for (OpFoldResult Size : Sizes)
    Product = saturatingMul(Product, typicalOf(Size, Unknown));
  return Product;
}

} // namespace kpc::kernels
