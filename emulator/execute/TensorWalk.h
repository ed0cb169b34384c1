//===- TensorWalk.h - Which bytes a tensor copy moves -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A tensor map, coordinates and a place in shared memory give the pairs of
/// places that a copy moves, in units of 16 bytes. Tiled: a box. im2col: a
/// column of pixels, walked from the base pixel through the bounding box of
/// the map's corners, each at an offset (a filter's tap).
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_EXECUTE_TENSORWALK_H
#define KPC_EMULATOR_EXECUTE_TENSORWALK_H

#include "emulator/execute/TensorMap.h"

#include <vector>

namespace kpc::emulator {

/// 16 bytes in shared memory; the first Valid ones are the tensor's.
struct CopyUnit {
  uint64_t Shared, Global;
  unsigned Valid;
};

struct TensorPlace {
  int64_t Start[5] = {};    ///< coordinates, innermost first
  uint32_t Offsets[3] = {}; ///< im2col: of W, H, D
  uint64_t Shared = 0;
};

std::vector<CopyUnit> walk(const TensorMap &Map, const TensorPlace &Place);

/// What a unit's other bytes are, and how loaded ones are converted.
void fillUnit(const TensorMap &Map, const CopyUnit &Unit, uint8_t *To);

} // namespace kpc::emulator

#endif // KPC_EMULATOR_EXECUTE_TENSORWALK_H
