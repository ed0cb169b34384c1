//===- Regions.h - Regions of images, read between elements -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_REGIONS_H
#define KPC_COMPILER_IMPORT_REGIONS_H

#include "compiler/import/Control.h"

namespace kpc::frontend {

/// Where a fractional place of one axis lies: two elements, their weights.
struct Between {
  Value Index[2], Weight[2];
};

/// The place as an i64 index inside an axis of `Size` elements.
Value wholePlace(Emitter &N, Value V, const Expr &Size);

struct Regions {
  Value X;               ///< images, [N, C, H, W]
  Value Batch;           ///< the image of each region, [R]
  Value Low[2], High[2]; ///< rows and columns, [R], scaled
  int64_t Out[2];        ///< the sizes of a region's output
};

/// Boxes as x1, y1, x2, y2 from column `First` on.
void readBoxes(Emitter &N, Value Rois, int64_t First, double Scale, Regions &B);

/// RoiAlign with `Samples` samples an axis and output; `HalfPixel` is what
/// torchvision calls aligned. [R, C, rows, columns]
Value alignRegions(Emitter &N, const Regions &B, int64_t Samples,
                   bool HalfPixel, bool Max);

/// Builds a loop that data ends: whether it begins, what it carries, and an
/// iteration, which gives first whether there is another.
using DataLoopBuilder = llvm::function_ref<std::optional<SmallVector<Value>>(
    Value Begins, ArrayRef<Value> Inits, LoopFunction Body)>;

/// The same with as many samples as an output has elements, rounded up: the
/// run goes through the samples of the largest region.
Value alignRegionsBySize(Emitter &N, const Regions &B, bool HalfPixel, bool Max,
                         DataLoopBuilder Loop);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_REGIONS_H
