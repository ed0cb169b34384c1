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

static Result finish(void *To, const TensorMap &Map, const char *Entry,
                     const std::string &Problem) {
  if (!Problem.empty()) {
    Device::get().setLastText(std::string(Entry) + ": " + Problem);
    return InvalidValue;
  }
  std::memcpy(To, &Map, sizeof Map);
  return Success;
}

KPC_EXPORT Result cuTensorMapEncodeTiled(
    void *Map, int Type, uint32_t Rank, void *Address, const uint64_t *Dims,
    const uint64_t *Strides, const uint32_t *Box, const uint32_t *Traversal,
    int Interleave, int Swizzle, int, int Fill) try {
  TensorMap M;
  return finish(Map, M, "cuTensorMapEncodeTiled",
                encodeTiled(M, Type, Rank, reinterpret_cast<uint64_t>(Address),
                            Dims, Strides, Box, Traversal, Interleave, Swizzle,
                            Fill));
}
KPC_CATCH

KPC_EXPORT Result cuTensorMapEncodeIm2col(
    void *Map, int Type, uint32_t Rank, void *Address, const uint64_t *Dims,
    const uint64_t *Strides, const int *Lower, const int *Upper,
    uint32_t Channels, uint32_t Pixels, const uint32_t *Traversal,
    int Interleave, int Swizzle, int, int Fill) try {
  TensorMap M;
  return finish(Map, M, "cuTensorMapEncodeIm2col",
                encodeIm2col(M, Type, Rank, reinterpret_cast<uint64_t>(Address),
                             Dims, Strides, {Lower, Upper, Channels, Pixels},
                             Traversal, Interleave, Swizzle, Fill));
}
KPC_CATCH
