//===- TensorMap.h - How a TMA unit sees a buffer ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The table TensorMap of runtime/format/artifact.fbs as a plain struct: what
/// the runtime gives to cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col.
/// Lists are in the order of the dims, innermost first.
///
/// Between a kernel and its launch the expressions are over `argN`, the
/// kernel's arguments counted from 0; in the artifact, over its symbols.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_ARTIFACT_TENSORMAP_H
#define KPC_CODEGEN_ARTIFACT_TENSORMAP_H

#include "dialects/shape/Expr.h"
#include "runtime/format/ElementType.h"

#include <cstdint>
#include <vector>

namespace kpc::artifact {

enum class TensorMapMode : uint8_t { Tiled = 0, Im2col = 1 };
enum class TensorMapSwizzle : uint8_t {
  None = 0,
  Bytes32 = 1,
  Bytes64 = 2,
  Bytes128 = 3
};
/// To L2.
enum class TensorMapPromotion : uint8_t {
  None = 0,
  Bytes64 = 1,
  Bytes128 = 2,
  Bytes256 = 3
};
/// Of what lies outside the dims.
enum class TensorMapFill : uint8_t { Zeros = 0, Nans = 1 };

struct TensorMap {
  TensorMapMode Mode = TensorMapMode::Tiled;
  ElementType Element = ElementType::Undefined;
  bool Tf32 = false;                ///< F32 is rounded to tf32 when it is read
  std::vector<shape::Expr> Dims;    ///< elements
  std::vector<shape::Expr> Strides; ///< bytes, of all dims but the first
  std::vector<uint32_t> Box;        ///< tiled: elements that one copy takes
  /// One of so many elements is taken; empty: each.
  std::vector<uint32_t> Traversal;
  TensorMapSwizzle Swizzle = TensorMapSwizzle::None;
  TensorMapPromotion Promotion = TensorMapPromotion::Bytes128;
  TensorMapFill Fill = TensorMapFill::Zeros;
  /// Im2col: corners of the box of pixels, of all dims but the first and last.
  std::vector<int32_t> Lower, Upper;
  uint32_t Channels = 0; ///< im2col: of a pixel
  uint32_t Pixels = 0;   ///< im2col: of a column
};

/// A tensor map as a kernel asks for it: it follows the kernel's other
/// parameters and sees the buffer that argument `Buffer` points to.
struct KernelTensorMap {
  uint32_t Buffer = 0;
  TensorMap Map;
};

} // namespace kpc::artifact

#endif // KPC_CODEGEN_ARTIFACT_TENSORMAP_H
