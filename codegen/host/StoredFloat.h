//===- StoredFloat.h - Floats the CPU only stores ---------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Once arithmetic is expanded, bf16, and fp16 on a CPU without F16C, are only
/// loaded, moved, selected and stored. As floats LLVM may still widen and round
/// them to move them (elements of a masked load, say), which calls a support
/// library and makes signalling NaNs quiet: to LLVM they are integers.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_HOST_STOREDFLOAT_H
#define KPC_CODEGEN_HOST_STOREDFLOAT_H

#include "codegen/host/HostTarget.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"

namespace kpc::codegen {

/// Makes `Converter` turn such floats into integers, with the patterns that
/// this takes.
void convertStoredFloats(mlir::LLVMTypeConverter &Converter,
                         mlir::RewritePatternSet &Patterns,
                         const HostTargetOptions &Options);

} // namespace kpc::codegen

#endif // KPC_CODEGEN_HOST_STOREDFLOAT_H
