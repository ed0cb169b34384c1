//===- RowChoice.cpp - How rows are cut for a GPU -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/rows/RowChoice.h"
#include "passes/kernels/form/SizeFacts.h"
#include "passes/kernels/gpu/GpuReduction.h"

using namespace mlir;

namespace kpc::kernels {

using schedule::RowShape;

namespace {

/// Typical sizes of which nothing is known.
constexpr int64_t UnknownRow = 1024, UnknownRows = 4096;
/// Rows of fewer vectors go element by element where they begin anywhere.
constexpr int64_t LeastVectors = 16;
/// Instructions of an element that are not in the kernel's bodies.
constexpr int64_t OtherOperations = 6;

/// Strides of wide views beside the last; what a vector's alignment hangs on.
struct Strides {
  int64_t Divisor = 1024;           ///< of those that are known
  SmallVector<OpFoldResult> Others; ///< to be checked when the kernel runs

  void add(OpFoldResult Size, int64_t Wanted) {
    int64_t Divides = divisorOf(Size);
    if (Divides % Wanted == 0)
      return;
    if (constantOf(Size))
      while (Divisor > 1 && Divides % Divisor)
        Divisor /= 2;
    else if (!llvm::is_contained(Others, Size))
      Others.push_back(Size);
  }
};

Strides stridesOf(const RowKernel &K, int64_t Wanted) {
  Strides Found;
  Found.add(K.RowSizes.back(), Wanted);
  for (Value View : K.WideViews) {
    unsigned Rank = cast<MemRefType>(View.getType()).getRank();
    if (Rank == 0 || constantOf(strideOf(View, Rank - 1)) != 1) {
      Found.Divisor = 1;
      break;
    }
    for (unsigned Dim = 0; Dim + 1 < Rank; ++Dim)
      if (OpFoldResult Stride = strideOf(View, Dim))
        Found.add(Stride, Wanted);
      else
        Found.Divisor = 1;
  }
  return Found;
}

/// The strides of the dims before the row, where they are the same for all
/// views as far as alignment goes; else none. Only of rows that are one dim.
SmallVector<OpFoldResult> commonStrides(const RowKernel &K, int64_t Lanes) {
  SmallVector<OpFoldResult> Common;
  size_t Outer = K.OuterSizes.size();
  std::optional<int64_t> Length = constantOf(K.RowSizes.back());
  if (K.RowSizes.size() != 1 || Outer == 0 || !Length ||
      *Length < LeastVectors * Lanes)
    return {};
  for (Value View : K.WideViews) {
    SmallVector<int64_t> Strides;
    int64_t Offset;
    auto Type = cast<MemRefType>(View.getType());
    if (Type.getRank() != int64_t(Outer) + 1 ||
        failed(Type.getStridesAndOffset(Strides, Offset)) ||
        Strides.back() != 1 || ShapedType::isDynamic(Offset) || Offset % Lanes)
      return {};
    for (unsigned Dim = 0; Dim < Outer; ++Dim) {
      OpFoldResult Stride = strideOf(View, Dim);
      if (View == K.WideViews.front())
        Common.push_back(Stride);
      if (!areCongruent(Stride, Common[Dim], Lanes))
        return {};
    }
  }
  return Common;
}

int64_t operationsOf(const RowKernel &K) {
  int64_t Count = OtherOperations;
  for (Operation &One : K.Form.Func.getOps())
    if (linalg::LinalgOp Op = loopsOf(&One))
      Count += Op.getNumLoops() == K.OuterSizes.size() + K.RowSizes.size()
                   ? int64_t(Op.getBlock()->getOperations().size()) - 1
                   : 0;
  return Count;
}

int64_t elementRegisters(const RowKernel &K) {
  bool Wide = llvm::any_of(K.Reductions, [](const RowReduction &R) {
    return llvm::any_of(R.Combiners, [](Operation *Combiner) {
      return Combiner->getResult(0).getType().getIntOrFloatBitWidth() > 32;
    });
  });
  return Wide ? 2 : 1;
}

} // namespace

RowChoice readRowChoice(const RowKernel &K) {
  RowChoice C;
  std::optional<int64_t> Most = Reduction::boundOf(K.RowSizes);
  RowShape &Shape = C.Shape;
  Shape.Length = typicalProduct(K.RowSizes, UnknownRow);
  if (!Most)
    Shape.Length = std::max(Shape.Length, UnknownRow);
  Shape.Rows = std::max(typicalProduct(K.OuterSizes, UnknownRows), int64_t(1));
  Shape.BytesRead = K.BytesRead;
  Shape.BytesWritten = K.BytesWritten;
  Shape.Buffers = K.WideViews.size();
  Shape.Reductions = K.Reductions.size();
  Shape.Operations = operationsOf(K);
  Shape.ElementRegisters = elementRegisters(K);
  int64_t Wanted = std::max<int64_t>(16 / K.LeastBytes, 1);
  Strides Found = stridesOf(K, Wanted);
  C.Lanes = std::min(Wanted, Found.Divisor);
  if (C.Lanes > 1)
    C.Check = Found.Others;
  C.MayBeOdd = !C.Check.empty();
  if (C.Lanes < Wanted) {
    C.Strides = commonStrides(K, Wanted);
    if (!C.Strides.empty()) {
      C.Lanes = Wanted;
      C.Check.clear();
      C.MayBeOdd = false;
    }
  }
  Shape.Lanes = C.Lanes;
  C.MayBeEmpty = llvm::any_of(K.RowSizes, [](OpFoldResult Size) {
    return constantOf(Size).value_or(0) < 1;
  });
  C.MaxLength = Most;
  return C;
}

} // namespace kpc::kernels
