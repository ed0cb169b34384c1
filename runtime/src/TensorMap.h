//===- TensorMap.h - A tensor map with its sizes known ----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the driver's encoders take but the address, and room for the 128 bytes
/// that they make of it, so that a run allocates nothing.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_TENSORMAP_H
#define KPC_RUNTIME_SRC_TENSORMAP_H

#include "runtime/src/Errors.h"
#include "runtime/src/Evaluate.h"

#include <array>

namespace kpc::rt {

/// Lists are in the order of the dims, innermost first.
struct BoundTensorMap {
  /// The kernel's parameter: encoded for `Address`, blank where that is 0.
  alignas(64) std::array<uint64_t, 16> Descriptor{};
  uint64_t Address = 0;

  const format::TensorMap *Table = nullptr;
  const format::Kernel *Kernel = nullptr;
  std::array<uint64_t, format::MaxTensorMapRank> Dims{};
  std::array<uint64_t, format::MaxTensorMapRank> Strides{}; ///< of dims 1 …
  uint32_t Param = 0; ///< its position among the kernel's parameters
  std::array<uint32_t, format::MaxTensorMapRank> Box{}, Traversal{};
  std::array<int32_t, format::MaxTensorMapRank> Lower{}, Upper{};

  uint32_t rank() const { return format::count(Table->dims()); }
};

/// Evaluates the sizes and checks them against what tensor maps can hold and
/// against the `Length` bytes that the map is of.
Result<BoundTensorMap> bindTensorMap(const format::TensorMap &Table,
                                     const format::Kernel &Kernel,
                                     uint32_t Param, const Evaluation &Values,
                                     uint64_t Length);

/// An error of one tensor map: "tensor map (parameter 4) of 'gemm': …".
Error tensorMapError(const format::Kernel &Kernel, uint32_t Param,
                     ErrorCode Code, const std::string &What);

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_TENSORMAP_H
