//===- Inflate.h - Deflated bytes, inflated ---------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_IMPORT_TORCH_INFLATE_H
#define KPC_COMPILER_IMPORT_TORCH_INFLATE_H

#include <cstdint>
#include <span>
#include <vector>

namespace kpc::torch {

/// Inflates a raw stream of RFC 1951 to exactly `Size` bytes; false if it is
/// damaged or makes another number. Memory is bounded by `Size`.
bool inflate(std::span<const uint8_t> Packed, uint64_t Size,
             std::vector<uint8_t> &Out);

} // namespace kpc::torch

#endif // KPC_COMPILER_IMPORT_TORCH_INFLATE_H
