//===- SoftFloat.h - Float operations the CPU has not -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// x86-64-v2 has neither fused multiply-add nor conversions of fp16; LLVM would
/// call a support library for them. These patterns write them out.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_HOST_SOFTFLOAT_H
#define KPC_CODEGEN_HOST_SOFTFLOAT_H

#include "codegen/host/HostTarget.h"

#include "mlir/IR/PatternMatch.h"

namespace kpc::codegen {

void populateSoftFloatPatterns(mlir::RewritePatternSet &Patterns,
                               const HostTargetOptions &Options);

} // namespace kpc::codegen

#endif // KPC_CODEGEN_HOST_SOFTFLOAT_H
