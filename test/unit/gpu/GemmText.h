//===- GemmText.h - Kernels of GEMMs as text --------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_TEST_UNIT_GPU_GEMMTEXT_H
#define KPC_TEST_UNIT_GPU_GEMMTEXT_H

#include "KernelText.h"

#include <ostream>

namespace kpc::testing {

struct Product {
  const char *Name;
  const char *Type;
  int64_t Rows, Columns, Sum;
  bool Transposed = false; ///< w is stored columns × sum
  bool Finished = false;   ///< bias and ReLU behind it
  int64_t Batch = 0;       ///< 0: no such loop
};

inline void PrintTo(const Product &P, std::ostream *Out) { *Out << P.Name; }

/// Rows are dynamic, with P.Rows as their optimum.
KernelText textOf(const Product &P);

/// silu(x·w) ∘ (x·v), without the batch: two products of one x.
KernelText gateOf(const Product &P);

/// Heads that are turned: y = (x·w)·c + exchanged(x·w)·s, with angles of each
/// row.
struct RotatedHeads {
  const char *Name;
  int64_t Rows, Count, Half, Sum;
  bool Neighbours = false; ///< pairs are side by side, not half a head apart
};

inline void PrintTo(const RotatedHeads &H, std::ostream *Out) {
  *Out << H.Name;
}

KernelText turnedOf(const RotatedHeads &H);

} // namespace kpc::testing

#endif // KPC_TEST_UNIT_GPU_GEMMTEXT_H
