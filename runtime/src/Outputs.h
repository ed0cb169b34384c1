//===- Outputs.h - Outputs that the library allocated -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Shared by the caller's handle and by DLPack tensors made of it; the last one
/// to go frees the memory, also after the session.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_OUTPUTS_H
#define KPC_RUNTIME_SRC_OUTPUTS_H

#include "kpc/runtime.h"
#include "runtime/src/Memory.h"

#include <string>
#include <vector>

namespace kpc::rt {

struct OutputSet {
  struct One {
    std::string Name;
    std::vector<int64_t> Dims;
    Block Data;
    kpc_named_tensor Tensor{};
  };
  std::vector<One> All;
  std::vector<kpc_named_tensor> Tensors; ///< of all, in order
};

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_OUTPUTS_H
