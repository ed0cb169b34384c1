//===- Folding.h - Blocks of an image and back ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The blocks of an image that a window covers at each of its places, and the
/// sum of such blocks where they meet. One axis after another, as both are
/// linear and separable.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_FOLDING_H
#define KPC_COMPILER_IMPORT_FOLDING_H

#include "compiler/import/Emitter.h"

namespace kpc::frontend {

/// One spatial dimension of an image and of the blocks that cover it.
struct Fold {
  Expr Image;
  int64_t Block, Stride, Dilation, Low, High;
  /// The places that a block has along the dimension.
  Expr places() const {
    return (Image + (Low + High - Dilation * (Block - 1) - 1))
               .floorDiv(Expr(Stride)) +
           1;
  }
  bool operator==(const Fold &) const = default;
};

/// Elements along one axis of a block: each is a pad and a sum.
constexpr int64_t LargestBlock = 1024;

/// [N, C * block…, places…] to [N, C, image…], summed where blocks meet.
/// `Channels` is C.
Value foldBlocks(Emitter &E, Value X, const Expr &Channels,
                 ArrayRef<Fold> Folds);
/// [N, C, image…] to [N, C * block…, places…], the places one axis.
Value unfoldBlocks(Emitter &E, Value X, ArrayRef<Fold> Folds);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_FOLDING_H
