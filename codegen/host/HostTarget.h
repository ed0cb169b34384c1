//===- HostTarget.h - The CPU that code is made for -------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_HOST_HOSTTARGET_H
#define KPC_CODEGEN_HOST_HOSTTARGET_H

#include "passes/kernels/host/HostBuilder.h"

#include "llvm/Support/Error.h"

#include <string>

namespace kpc::codegen {

/// What host code is made for.
struct HostTargetOptions {
  std::string Cpu = "x86-64-v3"; ///< as LLVM names it
  std::string Features;          ///< beyond those of the CPU, "+a,-b"
  unsigned VectorBits = 256;     ///< width that vectors are made for
  bool HasFma = true;
  bool HasF16c = true; ///< conversions to and from fp16 in hardware
  /// 0: no optimisations of LLVM's; 1: no vectors that it makes, no unrolled
  /// loops; 2: all.
  unsigned Optimization = 2;

  /// From a level: x86-64-v2, x86-64-v3, x86-64-v4, or native (this machine).
  static llvm::Expected<HostTargetOptions> fromName(llvm::StringRef Name);

  /// What builders need to know of it.
  kernels::HostMachine machine() const;
};

} // namespace kpc::codegen

#endif // KPC_CODEGEN_HOST_HOSTTARGET_H
