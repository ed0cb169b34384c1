//===- PracticalRange.h - How large sizes are in practice -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_DIALECTS_SHAPE_PRACTICALRANGE_H
#define KPC_DIALECTS_SHAPE_PRACTICALRANGE_H

#include "dialects/shape/Facts.h"

namespace kpc::shape {

/// The most that a dim without a range may be, which the runtime checks when it
/// binds: it, and it and one, are numbers of 32 bits.
inline constexpr int64_t LargestPracticalSize = 0x7ffffffe;

/// The range of a size whose symbols without an end have that one.
Interval practicalRange(const Facts &F, const Expr &E);

} // namespace kpc::shape

#endif // KPC_DIALECTS_SHAPE_PRACTICALRANGE_H
