//===- PartWrite.h - A part of a tensor is written --------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A write to a part of a tensor joins what is there with the part. Where the
/// tensor is an input, as caches are, it is a choice for each element instead:
/// an output of this form may take the memory of the input.
///
///   select(is written, what is written, cache)
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_PARTWRITE_H
#define KPC_COMPILER_IMPORT_PARTWRITE_H

#include "compiler/import/Emitter.h"

namespace kpc::frontend {

/// Whether two values are the same computation of the same values, such as two
/// counts of one mask.
bool isSame(Value A, Value C, unsigned Depth = 8);

/// Whether a value is an input of the function, or such with elements replaced.
bool isInputWithWrites(Value V);
/// The same of what moves of such a value show.
bool isPartOfInput(Value V);

/// Whether `Part` is `Whole`, or made of it by movement of elements alone.
bool isMovedFrom(Value Part, Value Whole);

/// Puts a part in its place in a whole.
using PlaceFunction = llvm::function_ref<Value(Value Whole, Value Part)>;

/// `Whole` with `Part` by `Place`, which only moves elements, as a choice.
/// `Old` is the part as it was: what the part has of it is not written.
Value choosePart(Emitter &E, Value Whole, Value Part, Value Old,
                 PlaceFunction Place);

/// `X` with slices of `From` along an axis where the vector `Index` says, as a
/// choice. At least one is written.
Value chooseRows(Emitter &E, Value X, Value Index, int64_t Axis, Value From);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_PARTWRITE_H
