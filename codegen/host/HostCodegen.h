//===- HostCodegen.h - Kernels to x86-64 machine code -----------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// From a kernel to an object, and from objects to a host image:
///
///   Expected<HostKernel> K = buildAndCompileHostKernel(Module, Options);
///   K->Object, K->Launches[0].Work                // "arg4*49"
///   Expected<LinkedImage> Image = linkHostImage({K->Object, …});
///
/// Code is free-standing: a kernel that needs any symbol from outside is an
/// error. The same input gives the same bytes.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_HOST_HOSTCODEGEN_H
#define KPC_CODEGEN_HOST_HOSTCODEGEN_H

#include "codegen/host/HostTarget.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kpc::codegen {

/// How the runtime starts a kernel: see passes/kernels/host/HostBuilder.h.
struct HostLaunch {
  std::string Symbol;
  std::string Work;
  int64_t Grain = 1;
  std::string Schedule;
};

struct HostKernel {
  std::string Object; ///< an ELF object
  std::vector<HostLaunch> Launches;
};

/// What to write on the way, for --emit. Null members are not written.
struct HostListings {
  std::string *Loops = nullptr; ///< after the builder, MLIR
  std::string *Llvm = nullptr;  ///< optimised LLVM IR
  std::string *Assembly = nullptr;
};

/// Compiles kernels that builders have made loops of. `Kernels` is lowered in
/// place.
llvm::Expected<std::string> compileToObject(mlir::ModuleOp Kernels,
                                            const HostTargetOptions &Options,
                                            const HostListings &Listings = {});

/// All the way from the linalg form. `Kernels` is consumed. MLIR diagnostics
/// go to the context's handler; the error returned names the kernel.
llvm::Expected<HostKernel>
buildAndCompileHostKernel(mlir::ModuleOp Kernels,
                          const HostTargetOptions &Options,
                          const HostListings &Listings = {});

/// The same from text, in a context of its own.
llvm::Expected<HostKernel>
buildAndCompileHostKernel(llvm::StringRef Text,
                          const HostTargetOptions &Options,
                          const HostListings &Listings = {});

} // namespace kpc::codegen

#endif // KPC_CODEGEN_HOST_HOSTCODEGEN_H
