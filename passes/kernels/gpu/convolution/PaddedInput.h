//===- PaddedInput.h - What windows slide over ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The input of convolutions and pools: a tensor with a constant around it, at
/// indices such as `2 * oh + kh`.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_CONVOLUTION_PADDEDINPUT_H
#define KPC_PASSES_KERNELS_GPU_CONVOLUTION_PADDEDINPUT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "llvm/ADT/APFloat.h"

#include <optional>

namespace kpc::kernels {

/// A tensor surrounded by a constant.
struct Padding {
  mlir::Value Source;
  llvm::SmallVector<int64_t> Low; ///< elements in front, for each dimension
  llvm::APFloat Outside;
};

/// Reads the generic that surrounds a tensor of floats; none where `Tensor` is
/// made by anything else.
std::optional<Padding> readPadding(mlir::Value Tensor);

/// The factor of each dim in a sum of dims times constants; false where it is
/// anything else.
bool addFactors(mlir::AffineExpr E, int64_t Times,
                llvm::SmallDenseMap<unsigned, int64_t> &Factors);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_CONVOLUTION_PADDEDINPUT_H
