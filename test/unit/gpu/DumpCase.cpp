//===- DumpCase.cpp - Prints a case's kernel at every level ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   kpc_gpu_dump CASE [TARGET]     the linalg form, the built kernel, PTX
//
//===----------------------------------------------------------------------===//
#include "CaseData.h"
#include "Cases.h"

#include "codegen/nvptx/CompileKernel.h"

#include "llvm/Support/raw_ostream.h"

using namespace kpc;
using namespace kpc::testing;

int main(int argc, char **argv) {
  const target::Target *T = target::findTarget(argc > 2 ? argv[2] : "sm_90a");
  for (const Case &C : allCases()) {
    if (argc < 2) {
      llvm::outs() << C.Kernel.name() << "\n";
      continue;
    }
    if (C.Kernel.name() != argv[1] || !T)
      continue;
    CompilerContext Compiler;
    llvm::outs() << C.Kernel.text() << "\n";
    for (bool Whole : {false, true}) {
      auto Module = Compiler.parse(C.Kernel.text());
      if (!Whole) {
        if (mlir::succeeded(kernels::buildGpuKernel(
                *Module->getOps<mlir::func::FuncOp>().begin(), *T)))
          llvm::outs() << *Module << "\n";
        continue;
      }
      auto Kernel = nvptx::buildAndCompileGpuKernel(*Module, *T);
      if (mlir::succeeded(Kernel))
        llvm::outs() << Kernel->Ptx << "\n";
    }
    llvm::errs() << Compiler.Reported;
    return 0;
  }
  return argc < 2 ? 0 : 1;
}
