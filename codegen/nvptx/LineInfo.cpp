//===- LineInfo.cpp - .loc directives that name lines of listings ---------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// In: a kernel in the tile dialect, or in the llvm and nvvm dialects. Out: the
// same, with locations ("KERNEL.tile.mlir":12:5) that the NVPTX back end prints
//
//   .loc 1 12 5
//
// so that a finding of the emulator, or a profiler, names the kernel's line.

#include "codegen/nvptx/Nvptx.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/LocationSnapshot.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace kpc::nvptx {

static constexpr llvm::StringLiteral Extension = ".mlir";

/// The kernel's name.
static std::string nameOf(Operation *Op) {
  std::string Name = "kernel";
  Op->walk([&](FunctionOpInterface Function) {
    Name = Function.getName().str();
    return WalkResult::interrupt();
  });
  return Name;
}

static bool isLocated(Operation *Op) {
  auto Place = dyn_cast<FileLineColLoc>(Op->getLoc());
  return Place && Place.getFilename().strref().ends_with(Extension);
}

void locateInText(Operation *Op, StringRef Level) {
  bool IsLocated = false;
  Op->walk(
      [&](FunctionOpInterface Function) { IsLocated |= isLocated(Function); });
  if (IsLocated)
    return;
  std::string File = nameOf(Op) + "." + Level.str() + Extension.str();
  llvm::raw_null_ostream Nowhere;
  generateLocationsFromIR(Nowhere, File, Op, OpPrintingFlags());
}

LogicalResult addLineTables(gpu::GPUModuleOp Module) {
  PassManager Passes(Module.getContext());
  Passes.addPass(LLVM::createDIScopeForLLVMFuncOpPass(
      {LLVM::DIEmissionKind::DebugDirectivesOnly}));
  return Passes.run(Module->getParentOfType<ModuleOp>());
}

} // namespace kpc::nvptx
