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
  /// Of `Low`, what is cut off again in front, where auto_pad depends on sizes
  /// that only the run knows; and what is left after it. Empty elsewhere.
  Dims Skipped, Padded;
  size_t count() const { return Kernel.size(); }
};

/// Reads strides, dilations, pads and auto_pad, checked and completed. `Sizes`
/// are x's spatial sizes; `CeilMode` may add to `High` so that the last window
/// is not cut off. None after a report.
std::optional<Spatial> spatialAttributes(NodeImport &N, Ints Kernel,
                                         ArrayRef<Expr> Sizes,
                                         bool CeilMode = false);

/// x, channels last, as its windows lie on it: itself, or padded by `Filler`
/// where pads depend on sizes; then `S` has no pads any more.
Value underWindows(NodeImport &N, Value X, Value Filler, Spatial &S);
/// The same for a sum of products.
Value underWindows(NodeImport &N, Value X, Spatial &S);
/// Refuses pads that depend on sizes, which are `Sizes`.
bool refuseSkipped(NodeImport &N, const Spatial &S, ArrayRef<Expr> Sizes);

/// The means of windows, by the node's attributes; null after a report.
Value averagePool(NodeImport &N, Value X, bool ChannelsLast);

/// kernel_shape, or the sizes that the weights have; none after a report.
std::optional<Ints> kernelShape(NodeImport &N, ArrayRef<Expr> WeightSizes);

/// [N, C, spatial…] to [N, spatial…, C] and back.
Value channelsLast(NodeImport &N, Value X);
Value channelsFirst(NodeImport &N, Value X);
/// [O, C/g, spatial…] to [spatial…, C/g, O].
Value kernelLayout(NodeImport &N, Value W);

} // namespace kpc::onnx

#endif // KPC_COMPILER_IMPORT_ONNX_RULES_SPATIAL_H
