//===- Sampling.h - Images, read at the places of a grid --------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_SAMPLING_H
#define KPC_COMPILER_IMPORT_SAMPLING_H

#include "compiler/import/Emitter.h"

namespace kpc::frontend {

enum class SampleMode { Nearest, Linear, Cubic };
enum class SamplePadding { Zeros, Border, Reflection };

struct Sampling {
  SampleMode Mode = SampleMode::Linear;
  SamplePadding Padding = SamplePadding::Zeros;
  bool AlignCorners = false;
  /// Of the nearest element: a place is rounded before it is brought into the
  /// image, as ONNX has it, or behind that, as PyTorch does.
  bool RoundsFirst = true;
};

/// [N, C, spatial...] at the places of [N, out..., axes], which name the last
/// axis first and lie in [-1, 1]: [N, C, out...]. For two and three spatial
/// axes that have elements.
Value sampleGrid(Emitter &N, Value X, Value Grid, const Sampling &S);

} // namespace kpc::frontend

#endif // KPC_COMPILER_IMPORT_SAMPLING_H
