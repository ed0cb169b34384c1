//===- FusedRow.h - A row of A with all columns of B ------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sums of FusedSum.h for eight columns at a time: what an instruction's
/// time goes into.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_NUMBERS_FUSEDROW_H
#define KPC_EMULATOR_NUMBERS_FUSEDROW_H

#include "emulator/numbers/FusedSum.h"

#include <vector>

namespace kpc::emulator {

/// B, with the columns of a k beside each other.
class FusedColumns {
public:
  static constexpr unsigned Width = 8;
  /// Values[column * Pitch + k]; they stay where they are.
  FusedColumns(const MatrixValue *Values, unsigned Columns, unsigned K,
               unsigned Pitch);

  /// D[n] = the bits of fusedSum(Row, column First + n, C[n]); First is a
  /// multiple of Width.
  void multiply(const MatrixValue *Row, unsigned First, unsigned Count,
                const float *C, bool HasC, const SumRule &Rule,
                uint32_t *D) const;

private:
  const MatrixValue *Values;
  unsigned K, Pitch, Stride;
  std::vector<int32_t> Significands, Exponents; ///< [k][column]
  std::vector<bool> AreFinite;                  ///< by column
};

} // namespace kpc::emulator

#endif // KPC_EMULATOR_NUMBERS_FUSEDROW_H
