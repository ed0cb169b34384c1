//===- PairCodes.h - Two numbers of FP8 by one instruction ------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_NVPTX_PAIRCODES_H
#define KPC_CODEGEN_NVPTX_PAIRCODES_H

#include "llvm/IR/Module.h"

namespace kpc::nvptx {

/// Where vectors are filled with codes of FP8, each converted with a zero,
/// converts neighbours together.
void pairCodes(llvm::Module &Llvm);

} // namespace kpc::nvptx

#endif // KPC_CODEGEN_NVPTX_PAIRCODES_H
