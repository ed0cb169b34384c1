//===- TensorMapEntries.cpp - cuTensorMapEncode* --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "emulator/driver/Device.h"
#include "emulator/execute/TensorMap.h"

#include <cstring>

using namespace kpc::emulator;
using namespace kpc::emulator::driver;

KPC_EXPORT Result cuTensorMapEncodeTiled(
    void *Map, int Type, uint32_t Rank, void *Address, const uint64_t *Dims,
    const uint64_t *Strides, const uint32_t *Box, const uint32_t *Traversal,
    int Interleave, int Swizzle, int, int Fill) {
  TensorMap M;
  std::string Problem =
      encodeTiled(M, Type, Rank, reinterpret_cast<uint64_t>(Address), Dims,
                  Strides, Box, Traversal, Interleave, Swizzle, Fill);
  if (!Problem.empty()) {
    Device::get().setLastText("cuTensorMapEncodeTiled: " + Problem);
    return InvalidValue;
  }
  std::memcpy(Map, &M, sizeof M);
  return Success;
}
