//===- Deformed.h - Convolutions whose windows are deformed -----*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_DEFORMED_H
#define KPC_COMPILER_IMPORT_DEFORMED_H

#include "compiler/import/Emitter.h"

namespace kpc::frontend {

/// Offsets say for each element of each window where it is read instead.
struct Deformed {
  Value X;          ///< [N, C, H, W]
  Value W;          ///< [O, C / Groups, kh, kw]
  Value Offset;     ///< [N, OffsetGroups * kh * kw * 2, rows, columns]
  Value Bias, Mask; ///< null: none
  int64_t Groups = 1, OffsetGroups = 1;
  int64_t Kernel[2], Stride[2], Dilation[2], Low[2],
      High[2]; ///< rows, columns
};

/// Whether the ranks are those of two dimensions; reports if not.
bool areDeformable(Emitter &N, const Deformed &D);
/// [N, O, rows, columns]; null after a report.
Value deformedConv(Emitter &N, const Deformed &D);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_DEFORMED_H
