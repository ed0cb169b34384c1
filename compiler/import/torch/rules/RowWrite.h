//===- RowWrite.h - One row of a tensor is written --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_RULES_ROWWRITE_H
#define KPC_COMPILER_IMPORT_TORCH_RULES_ROWWRITE_H

#include "compiler/import/PartWrite.h"
#include "compiler/import/torch/Rules.h"

namespace kpc::torch {

inline bool isOneElement(Value Index) {
  return graph::typeOf(Index).getNumElements() == Expr(1);
}

/// x with `Row`, whose size along the axis is 1, at the place that `Index`, of
/// one element, says. A choice rather than a scatter: an output of this form
/// may take the memory of its input, as caches of keys and values do.
inline Value withRow(NodeImport &N, Value X, Value Index, int64_t Axis,
                     Value Row) {
  Dims Line(N.dims(X).size(), Expr(1));
  Value At = N.reshape(N.cast(Index, N.i64()), Line);
  Line[static_cast<size_t>(Axis)] = N.dims(X)[static_cast<size_t>(Axis)];
  return N.select(
      N.compare(graph::Predicate::eq, N.iota(Line, Axis, N.i64()), At), Row, X);
}

/// Whether slices of `From` along an axis are written to `X` as a choice: it is
/// an input, or a part of one, and at least one is written.
inline bool isChoice(NodeImport &N, Value X, Value Index) {
  return frontend::isPartOfInput(X) && graph::typeOf(Index).getRank() == 1 &&
         N.importer().facts().range(N.dims(Index)[0]).Min >= 1;
}

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_RULES_ROWWRITE_H
