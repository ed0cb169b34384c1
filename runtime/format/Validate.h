//===- Validate.h - What must hold in an artifact's table -------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// After `readTable` every index, range, program and enumerator of a table is
/// good: whoever reads it need not look again. What depends on the values of
/// symbols (sizes, offsets, grids) is checked where they are bound.
///
/// Not promised: that the code in the segments does what the table says. A
/// host image is native code; a kernel is given the pointers and sizes that
/// the table names and is trusted with them.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_FORMAT_VALIDATE_H
#define KPC_RUNTIME_FORMAT_VALIDATE_H

#include "runtime/format/Error.h"

#include <cstddef>
#include <cstdint>

namespace kpc::format {

struct Model;

/// The index that means "none".
inline constexpr uint32_t None = 0xffffffff;
/// Least upper bounds that a reader may rely on.
inline constexpr size_t MaxRank = 32;
inline constexpr size_t MaxExprDepth = 64;
inline constexpr size_t MaxParams = 1024;
/// Of a kernel. A tensor map is a parameter of 128 bytes; kernels that every
/// driver takes have 4 KiB of them.
inline constexpr size_t MaxTensorMaps = 31;
inline constexpr size_t MaxTensorMapRank = 5;
/// Loops and branches inside one another.
inline constexpr size_t MaxControlDepth = 16;

/// The postfix programs of artifact.fbs.
enum class Op : int64_t { Constant, Symbol, Add, Mul, FloorDiv, Mod, Min, Max };

/// Verifies the FlatBuffers structure and everything above. `Bytes` must be
/// aligned to 16 and live as long as the model. `FileSize` bounds the segments.
Result<const Model *> readTable(const uint8_t *Bytes, size_t Size,
                                uint64_t FileSize);

} // namespace kpc::format

#endif // KPC_RUNTIME_FORMAT_VALIDATE_H
