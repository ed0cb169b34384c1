//===- Spatial.h - Strides, dilations and pads of spatial operators *- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_ONNX_RULES_SPATIAL_H
#define KPC_COMPILER_IMPORT_ONNX_RULES_SPATIAL_H

#include "compiler/import/onnx/NodeImport.h"

namespace kpc::onnx {

/// One entry a spatial dimension.
struct Spatial {
  Ints Kernel, Stride, Dilation, Low, High;
  size_t count() const { return Kernel.size(); }
};

/// Reads strides, dilations, pads and auto_pad, checked and completed. `Sizes`
/// are x's spatial sizes; `CeilMode` may add to `High` so that the last window
/// is not cut off. None after a report.
std::optional<Spatial> spatialAttributes(NodeImport &N, Ints Kernel,
                                         ArrayRef<Expr> Sizes,
                                         bool CeilMode = false);

/// What of auto_pad `spatialAttributes` refuses.
inline constexpr std::string_view AutoPadLimits =
    "with strides, auto_pad needs sizes that are known when compiling";

/// kernel_shape, or the sizes that the weights have; none after a report.
std::optional<Ints> kernelShape(NodeImport &N, ArrayRef<Expr> WeightSizes);

/// [N, C, spatial…] to [N, spatial…, C] and back.
Value channelsLast(NodeImport &N, Value X);
Value channelsFirst(NodeImport &N, Value X);
/// [O, C/g, spatial…] to [spatial…, C/g, O].
Value kernelLayout(NodeImport &N, Value W);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_SPATIAL_H
