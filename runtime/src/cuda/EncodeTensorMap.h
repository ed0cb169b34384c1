//===- EncodeTensorMap.h - Tensor maps as the device takes them -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_CUDA_ENCODETENSORMAP_H
#define KPC_RUNTIME_SRC_CUDA_ENCODETENSORMAP_H

#include "runtime/src/TensorMap.h"
#include "runtime/src/cuda/Driver.h"

namespace kpc::rt::cuda {

/// Fills in the descriptor for a device address, unless it is made for that
/// address already. Allocates nothing where nothing is wrong.
Status encodeTensorMap(const Driver &D, BoundTensorMap &Map, uint64_t Address);

/// Whether the driver has the encoders that a target's launches need.
Status checkEncoders(const Driver &D, const format::Target &T);

} // namespace kpc::rt::cuda

#endif // KPC_RUNTIME_SRC_CUDA_ENCODETENSORMAP_H
