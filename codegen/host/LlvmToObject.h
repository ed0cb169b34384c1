//===- LlvmToObject.h - LLVM IR to an ELF object ----------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_HOST_LLVMTOOBJECT_H
#define KPC_CODEGEN_HOST_LLVMTOOBJECT_H

#include "codegen/host/HostCodegen.h"

#include "llvm/IR/Module.h"

namespace kpc::codegen {

/// Optimises `Module` and emits an ELF object. An object that needs symbols
/// from outside is an error that names them and the kernel.
llvm::Expected<std::string> objectOf(llvm::Module &Module,
                                     const HostTargetOptions &Options,
                                     const HostListings &Listings);

} // namespace kpc::codegen

#endif // KPC_CODEGEN_HOST_LLVMTOOBJECT_H
