//===- SlidingWindow.h - A reduction over a window ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whether a kernel's root reduces windows that slide over an image with
/// channels last, channel by channel: a `kernel.conv` of one channel a group
/// (depthwise), which says itself what slides, or a generic that pools.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_CONVOLUTION_SLIDINGWINDOW_H
#define KPC_PASSES_KERNELS_GPU_CONVOLUTION_SLIDINGWINDOW_H

#include "passes/kernels/gpu/GpuReduction.h"
#include "passes/kernels/gpu/gemm/GemmMatch.h"

#include "llvm/ADT/APFloat.h"

namespace kpc::kernels {

/// One spatial dimension. One that an image has not is of size 1.
struct WindowAxis {
  int64_t Stride = 1, Dilation = 1, Taps = 1;
  int64_t Low = 0;              ///< elements around the image, in front
  mlir::OpFoldResult Size, Out; ///< of the image; places of the window
  mlir::OpFoldResult Pitch;     ///< between neighbours in memory
};

/// y[n, od, oh, ow, c] = Σ over kd, kh, kw of a function of the pixel
/// x[n, od·stride + kd·dilation − low, …, c] and of what else the body reads.
/// Images have one to three spatial dimensions.
struct SlidingWindow {
  static constexpr unsigned Depth = 0, Height = 1, Width = 2;

  Reduction R;
  unsigned Input = 0; ///< the operand that the window slides over
  WindowAxis Axes[3] = {};
  unsigned TapLoops[3] = {0, 0, 0}; ///< numbers among R.Reduced
  unsigned Rank = 0;                ///< spatial dimensions
  Matrix X = {};                    ///< the memory alone
  mlir::OpFoldResult ImagePitch = {};
  llvm::APFloat Outside{0.0f}; ///< as stored

  static std::optional<SlidingWindow> read(FusedKernel &Form);
  /// The axis that is dimension `Number` of the image.
  unsigned axisOf(unsigned Number) const { return 3 - Rank + Number; }
  int64_t taps() const {
    return Axes[Depth].Taps * Axes[Height].Taps * Axes[Width].Taps;
  }
  /// Whether neighbouring places read the same pixels.
  bool overlaps() const {
    return llvm::any_of(Axes, [](const WindowAxis &A) {
      return A.Stride <= (A.Taps - 1) * A.Dilation &&
             constantOf(A.Out).value_or(2) > 1;
    });
  }

private:
  bool readConv();
  bool readPool();
  bool readAxis(mlir::AffineExpr At, unsigned Number);
  bool readMemory(mlir::Value Tensor);
};

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_CONVOLUTION_SLIDINGWINDOW_H
