//===- ImplicitGemm.h - A convolution as a GEMM -----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What builders for tensor cores ask of a kernel whose root is a
/// `kernel.conv`: where x and w lie in memory. Channels last; one to three
/// spatial dimensions.
///
///   y[n, oh, ow, o] = Σ x[n, oh·stride + kh·dilation − low, …, c]
///                       · w[kh, kw, c, o]          over kh, kw, c
///
/// As a product: rows are (n, oh, ow), columns o, the sum (kh, kw, c).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_PASSES_KERNELS_GPU_CONVOLUTION_IMPLICITGEMM_H
#define KPC_PASSES_KERNELS_GPU_CONVOLUTION_IMPLICITGEMM_H

#include "compiler/target/Target.h"
#include "passes/kernels/gpu/gemm/GemmMatch.h"
#include "passes/schedule/Refusal.h"

namespace kpc::kernels {

struct ImplicitGemm {
  /// One spatial dimension.
  struct Axis {
    int64_t Stride = 1, Dilation = 1;
    int64_t Low = 0; ///< zeros before the first element
    /// Zeros behind the last; negative where that many are never read.
    int64_t High = 0;
    int64_t Taps = 1;
    shape::Expr Size, Pitch; ///< of x: elements, and between neighbours
    shape::Expr TapPitch;    ///< of w: elements between neighbours

    /// Elements from a filter's first tap to its last.
    int64_t reach() const { return (Taps - 1) * Dilation; }
  };

  /// Rows are places of the filter, columns its outputs. A has the memory of x
  /// and the element alone; B has that of w, and its strides along the channels
  /// and the outputs.
  GemmMatch P;
  llvm::SmallVector<Axis> Axes; ///< outermost first
  shape::Expr Images, ImagePitch, Channels;
  /// Groups of outputs, each of which sums over channels of its own; `Channels`
  /// are then those of one group. 1: all outputs sum over all channels.
  int64_t Groups = 1;
  /// For each equal part of the outputs, a mask of the taps that are not zeros
  /// of w; empty where none is known to be.
  llvm::SmallVector<int64_t> Live = {};

  int64_t taps() const;
  /// Elements of w from one tap to the next, the last dimension's the fastest;
  /// none where taps are no one dimension.
  std::optional<shape::Expr> tapPitch() const;
  /// Whether channels are contiguous in the filter, else outputs are.
  bool isKMajor() const { return P.B.RowStride == shape::Expr(1); }
  /// Bytes at whose multiples pixels begin, and rows of the filter (outputs, or
  /// the channels of one); 16 at most.
  int64_t pixelAlignment() const;
  int64_t filterAlignment() const;
  /// Takes the innermost dimension's taps for channels, where they are one
  /// piece of memory: pixels side by side, without zeros around them. What was
  /// a step of the filter becomes the pitch of pixels.
  bool foldTapsIntoChannels();
  /// Whether that was done and a pixel's channels go on in the next pixels.
  bool channelsGoOn() const;
  /// None where the kernel is something else.
  static std::optional<ImplicitGemm> read(FusedKernel &Form);
  /// The same for builders that know what to do with groups.
  static std::optional<ImplicitGemm> readAny(FusedKernel &Form);
};

/// Products of an output for which instructions of matrices pay where fewer
/// than 8 outputs fill them.
inline constexpr int64_t LeastSumOfFew = 64;

/// Why cp.async and mma.sync do not do this convolution; none: they do.
std::optional<schedule::Refusal> refusalByMmaSync(const ImplicitGemm &Conv,
                                                  const target::Target &T);

} // namespace kpc::kernels

#endif // KPC_PASSES_KERNELS_GPU_CONVOLUTION_IMPLICITGEMM_H
