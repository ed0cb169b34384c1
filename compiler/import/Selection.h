//===- Selection.h - What flags select, and boxes that do not overlap -*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_SELECTION_H
#define KPC_COMPILER_IMPORT_SELECTION_H

#include "compiler/import/Control.h"

namespace kpc::frontend {

/// All elements as a vector.
Value flatten(Emitter &N, Value X);
/// How many flags of a vector are true, as an i64 scalar.
Value countTrue(Emitter &N, Value Flags);
/// For each element of a vector of flags, how many are true up to it, itself
/// included. `As`: an integer type that counts up to the vector's size.
Value runningCount(Emitter &N, Value Flags, Type As);
/// 1, 2, ... `Count`: what a running count is at the first, second, ... flag.
Value ordinals(Emitter &N, const Expr &Count, Value Running);
/// The index of the c-th true element for each c below `Count`; 0 where there
/// are fewer.
Value trueIndices(Emitter &N, Value Flags, const Expr &Count, Type As);
/// A vector of indices into a tensor's elements as its rows of indices.
SmallVector<Value> rowsOf(Emitter &N, Value Flat, Dims Sizes);

/// Round by round each class of each image takes its best box that is left,
/// and what overlaps with it is gone. `All` has boxes as two corners or, with
/// `AreCenters`, as centers and sizes, [batch, boxes, 4]. `Left` has the
/// scores, minus infinity where a box is gone, [batch, classes, boxes]. Gives
/// the boxes taken, [rounds, batch, classes], and whether there was one.
std::optional<std::pair<Value, Value>>
takeBoxes(Emitter &N, Value All, Value Left, Value Threshold, bool AreCenters,
          const Expr &Rounds, LoopBuilder Loop);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_SELECTION_H
