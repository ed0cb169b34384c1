//===- DumpCase.cpp - Prints a case's kernel at every level ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   kpc_gpu_dump                        the names of the cases
//   kpc_gpu_dump CASE|FILE [TARGET]     the linalg form, the built kernel, PTX
//
//===----------------------------------------------------------------------===//
#include "CaseData.h"
#include "Cases.h"

#include "codegen/nvptx/CompileKernel.h"
#include "compiler/workers/Subprocess.h"

#include "llvm/Support/raw_ostream.h"

using namespace kpc;
using namespace kpc::testing;

/// Prints the built kernel and its PTX.
static int dump(const std::string &Text, const target::Target &T) {
  CompilerContext Compiler;
  llvm::outs() << Text << "\n";
  for (bool Whole : {false, true}) {
    auto Module = Compiler.parse(Text);
    if (!Module)
      break;
    if (!Whole) {
      if (mlir::succeeded(kernels::buildGpuKernel(
              *Module->getOps<mlir::func::FuncOp>().begin(), T)))
        llvm::outs() << *Module << "\n";
      continue;
    }
    auto Kernel = nvptx::buildAndCompileGpuKernel(*Module, T);
    if (mlir::succeeded(Kernel))
      llvm::outs() << Kernel->Ptx << "\n";
  }
  llvm::errs() << Compiler.Reported;
  return Compiler.Reported.empty() ? 0 : 1;
}

int main(int argc, char **argv) {
  const target::Target *T = target::findTarget(argc > 2 ? argv[2] : "sm_90a");
  if (argc > 3 || (argc > 1 && argv[1][0] == '-') || !T || !T->isGpu()) {
    llvm::errs() << "usage: kpc_gpu_dump [CASE|FILE [TARGET]]\n";
    return 2;
  }
  if (argc < 2) {
    for (const Case &C : allCases())
      llvm::outs() << C.Kernel.name() << "\n";
    return 0;
  }
  std::string Error;
  if (auto Text = readFile(argv[1], Error)) {
    // A worker's job holds the kernel behind a header.
    size_t Begin = Text->find("func.func"), End = Text->rfind("\n}");
    return dump(Text->substr(Begin, End + 3 - Begin), *T);
  }
  for (const Case &C : allCases())
    if (C.Kernel.name() == argv[1])
      return dump(C.Kernel.text(), *T);
  llvm::errs() << Error << "\n";
  return 2;
}
