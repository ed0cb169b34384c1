//===- ResizeAxis.h - Resizing along one axis -------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_RESIZEAXIS_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_RESIZEAXIS_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

struct ResizeOptions {
  std::string Mode, Coordinates, Nearest;
  double CubicA = -0.75, Extrapolation = 0;
  bool ExcludeOutside = false, Antialias = false;
};

struct AxisResize {
  Expr In, Out;
  /// The factor that coordinates are computed with; none if it depends on
  /// sizes known only at run time.
  std::optional<double> Scale;
  /// The resized length: In * Scale, not rounded, where scales are given.
  double Length = 0;
  /// The factor as a scalar, where it is an input of the model.
  Value ScaleInput;
  double RoiStart = 0, RoiEnd = 1;
  /// The same as scalars, where the region is an input of the model.
  Value RoiStartInput, RoiEndInput;
};

/// Where sizes and scale are numbers: taps and weights are tables.
Value resizeByNumbers(NodeImport &N, Value X, int64_t Axis,
                      const ResizeOptions &O, const AxisResize &A);
/// Where the run knows them: taps and weights are computed.
Value resizeBySizes(NodeImport &N, Value X, int64_t Axis,
                    const ResizeOptions &O, const AxisResize &A);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_RESIZEAXIS_H
