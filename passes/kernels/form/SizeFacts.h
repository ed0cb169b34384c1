//===- SizeFacts.h - What is known of a kernel's sizes ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Divisibility, bounds and optimum of sizes in a kernel, from the constants
/// in it and from the facts on its index arguments (kernel.size). Builders
/// choose vectors and tiles by them.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_FORM_SIZEFACTS_H
#define KPC_PASSES_KERNELS_FORM_SIZEFACTS_H

#include "mlir/IR/OpDefinition.h"

#include <cstdint>
#include <optional>

namespace kpc::kernels {

/// The value to choose schedules for where nothing is said of a size.
inline constexpr int64_t UnknownExtent = 512;

/// A number >= 1 that divides the size (any number for the constant 0: the
/// greatest int64_t).
int64_t divisorOf(mlir::OpFoldResult Size);

/// A power of two, at most 1024, that divides the product of the sizes.
int64_t powerOfTwoDivisor(llvm::ArrayRef<mlir::OpFoldResult> Sizes);

/// Whether two sizes leave the same rest when divided by `By`, for certain.
bool areCongruent(mlir::OpFoldResult A, mlir::OpFoldResult B, int64_t By);

/// An upper bound; none is known where empty.
std::optional<int64_t> maxOf(mlir::OpFoldResult Size);

/// The value to choose schedules for: the constant, what the optimum of the
/// arguments gives, else their maximum or minimum; `Unknown` if nothing is
/// known.
int64_t typicalOf(mlir::OpFoldResult Size, int64_t Unknown);

/// The product of two numbers of which none is negative, saturating.
int64_t saturatingMul(int64_t A, int64_t B);

/// The product of typical values, saturating.
int64_t typicalProduct(llvm::ArrayRef<mlir::OpFoldResult> Sizes,
                       int64_t Unknown);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_FORM_SIZEFACTS_H
