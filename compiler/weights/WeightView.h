//===- WeightView.h - A weight's bytes in another order ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a recipe leaves of a weight: the source's elements in the order of
/// strides, cast to another type. Any part of the result can be read by itself,
/// so threads share the work.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_WEIGHTS_WEIGHTVIEW_H
#define KPC_COMPILER_WEIGHTS_WEIGHTVIEW_H

#include "codegen/artifact/Contents.h"
#include "llvm/ADT/SmallVector.h"

#include <span>

namespace kpc {

struct WeightView {
  /// Of the result, in row-major order; strides in elements of the source.
  llvm::SmallVector<int64_t> Dims, Strides;
  ElementType From = ElementType::Undefined, To = ElementType::Undefined;
};

/// Whether elements of one type can be cast to the other: equal types, and
/// floats of 16, 32 and 64 bits to nearest even.
bool canCast(ElementType From, ElementType To);

/// Reads `View` of `Bytes`, which must live as long as the reader.
artifact::WeightReader readerOf(WeightView View,
                                std::span<const uint8_t> Bytes);

} // namespace kpc

#endif // KPC_COMPILER_WEIGHTS_WEIGHTVIEW_H
