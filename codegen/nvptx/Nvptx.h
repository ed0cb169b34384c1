//===- Nvptx.h - From gpu.module to PTX -------------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The last steps of a GPU kernel inside the compiler: a gpu.module whose
/// functions use scf, arith, math, memref, vector and gpu becomes PTX text.
///
///   gpu.module -lowerToNvvm-> llvm + nvvm -translateToLlvm-> LLVM IR
///              -checkForNvptx (what would abort LLVM is a diagnostic here)
///              -emitPtx-> PTX
///
/// Kernels take bare pointers and 64-bit sizes in the order of their
/// arguments. Failures are diagnostics at the kernel; what LLVM still aborts
/// on ends the worker process this runs in.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_NVPTX_NVPTX_H
#define KPC_CODEGEN_NVPTX_NVPTX_H

#include "compiler/target/Target.h"
#include "mlir/Support/LLVM.h"

#include <memory>
#include <string>

namespace llvm {
class Error;
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm
namespace mlir {
class DialectRegistry;
class OpPassManager;
class Operation;
namespace gpu {
class GPUModuleOp;
}
} // namespace mlir

namespace kpc::nvptx {

/// What the steps below need in the MLIR context.
void registerTranslations(mlir::DialectRegistry &Registry);

/// The passes of lowerToNvvm, on gpu.module.
void buildNvvmPipeline(mlir::OpPassManager &Passes);

/// The pipeline `kpc-lower-to-nvvm`, for kpc-opt.
void registerNvvmPipeline();

/// Whether a kernel's IR is verified after each pass, and not only as its
/// builder leaves it and as LLVM gets it: the environment has
/// KPC_VERIFY_KERNELS, as all tests in Python do.
bool verifiesEachPass();

/// Rewrites the module in place into the llvm and nvvm dialects.
mlir::LogicalResult lowerToNvvm(mlir::gpu::GPUModuleOp Module);

/// Null after a diagnostic. emitPtx verifies what comes out.
std::unique_ptr<llvm::Module> translateToLlvm(mlir::gpu::GPUModuleOp Module,
                                              llvm::LLVMContext &Context);

/// Diagnoses, at `Module`, calls and intrinsics that the NVPTX back end of
/// LLVM has no instruction for: it would end the process.
mlir::LogicalResult checkForNvptx(mlir::gpu::GPUModuleOp Module,
                                  const llvm::Module &Llvm);

/// What to write on the way, for --emit. Null members are not written.
struct GpuListings {
  std::string *Tile = nullptr; ///< the tile dialect; empty: it is loops
  std::string *Nvvm = nullptr; ///< lowered MLIR, before its translation
  std::string *Llvm = nullptr; ///< optimised LLVM IR
  /// PTX names, with .loc, the lines of `Tile`, or of `Nvvm` where the kernel
  /// is not in the tile dialect.
  bool InPtx = false;
};

/// Gives every operation the place that it has in the text that --emit LEVEL
/// prints of `Op`. Only the first call for a kernel does.
void locateInText(mlir::Operation *Op, llvm::StringRef Level);

/// Line tables of these places, for the translation to LLVM IR.
mlir::LogicalResult addLineTables(mlir::gpu::GPUModuleOp Module);

/// Runs LLVM's optimisations.
llvm::Error optimiseKernel(llvm::Module &Llvm, llvm::TargetMachine &Machine);

/// Optimises and prints; consumes `Llvm`.
mlir::FailureOr<std::string> emitPtx(mlir::gpu::GPUModuleOp Module,
                                     llvm::Module &Llvm,
                                     const target::Target &T,
                                     const GpuListings &Listings = {});

/// All of the above. The module is left in its lowered form.
mlir::FailureOr<std::string> compileToPtx(mlir::gpu::GPUModuleOp Module,
                                          const target::Target &T,
                                          const GpuListings &Listings = {});

} // namespace kpc::nvptx

#endif // KPC_CODEGEN_NVPTX_NVPTX_H
