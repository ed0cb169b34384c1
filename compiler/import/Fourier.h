//===- Fourier.h - Transforms of a known length -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A complex number is a pair of reals, the last axis. Short transforms are one
/// product with a matrix of cosines and sines. Longer ones are taken apart into
/// such products by their factors; those with large prime factors are
/// convolutions with a chirp.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_FOURIER_H
#define KPC_COMPILER_IMPORT_FOURIER_H

#include "compiler/import/Emitter.h"

namespace kpc::frontend {

/// The longest transform: its factors between the steps are a table.
inline constexpr int64_t LongestTransform = 1 << 20;

/// The first `Bins` of the transform of [..., Length] reals, or of
/// [..., Length, 2] where `IsComplex`; times `Scale`. [..., Bins, 2]
Value fourier(Emitter &N, Value X, bool IsComplex, int64_t Bins, bool Inverse,
              double Scale);

/// The real signal of `Length` from the first half of its spectrum,
/// [..., Length / 2 + 1, 2]: what is left out mirrors what is there.
/// [..., Length]
Value realSignal(Emitter &N, Value X, int64_t Length, double Scale);

/// Whether it is known, and neither 0 nor too long.
bool isTransformable(const Expr &Length);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_FOURIER_H
