//===- Api.h - The driver API as the emulator offers it ---------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Names, values and structs of the CUDA driver API (CUDA 11.4 and
/// parts of 12.3), written out so
/// that no CUDA header is needed. Handles are the emulator's own objects.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_EMULATOR_DRIVER_API_H
#define KPC_EMULATOR_DRIVER_API_H

#include <cstddef>
#include <cstdint>

#define KPC_EXPORT extern "C" __attribute__((visibility("default")))

/// Ends an entry point that is a function-try-block: nothing that is thrown
/// leaves the library.
#define KPC_CATCH                                                              \
  catch (...) {                                                                \
    return kpc::emulator::driver::caught();                                    \
  }

namespace kpc::emulator::driver {

using Result = int; ///< CUresult

inline constexpr Result Success = 0, InvalidValue = 1, OutOfMemory = 2,
                        InvalidDevice = 101, InvalidImage = 200,
                        InvalidPtx = 218, InvalidHandle = 400, NotFound = 500,
                        IllegalAddress = 700, IllegalInstruction = 715,
                        LaunchTimeout = 702, MisalignedAddress = 716,
                        LaunchFailed = 719, NotSupported = 801, Unknown = 999;

/// The code of the exception that is handled now; its text is kept.
Result caught();

struct KernelNodeParams { // CUDA_KERNEL_NODE_PARAMS_v1
  void *Function;
  unsigned Grid[3], Block[3], SharedBytes;
  void **Params;
  void **Extra;
};

struct GraphEdge { // CUgraphEdgeData
  unsigned char FromPort, ToPort, Type, Reserved[5];
};
inline constexpr unsigned char EdgeProgrammatic = 1;

struct ConditionalNodeParams { // CUgraphNodeParams of conditional nodes
  int Type, Reserved0[3];
  uint64_t Handle;
  int Kind;
  unsigned Size;
  void **Bodies;
  void *Context;
  uint64_t Reserved1[25], Reserved2;
};
inline constexpr int ConditionalType = 13, ConditionalIf = 0,
                     ConditionalWhile = 1;

struct MemsetNodeParams { // CUDA_MEMSET_NODE_PARAMS_v1
  uint64_t To;
  size_t Pitch;
  unsigned Value, ElementSize;
  size_t Width, Height;
};

struct Copy3D { // CUDA_MEMCPY3D_v2
  size_t FromX, FromY, FromZ, FromLod;
  unsigned FromType;
  const void *FromHost;
  uint64_t From;
  void *FromArray, *Reserved0;
  size_t FromPitch, FromHeight;
  size_t ToX, ToY, ToZ, ToLod;
  unsigned ToType;
  void *ToHost;
  uint64_t To;
  void *ToArray, *Reserved1;
  size_t ToPitch, ToHeight;
  size_t Width, Height, Depth;
};
inline constexpr unsigned MemoryHost = 1, MemoryDevice = 2, MemoryUnified = 4;

} // namespace kpc::emulator::driver

#endif // KPC_EMULATOR_DRIVER_API_H
