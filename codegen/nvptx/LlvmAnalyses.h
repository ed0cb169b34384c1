//===- LlvmAnalyses.h - What LLVM's passes ask about a kernel ----*- C++
//-*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_CODEGEN_NVPTX_LLVMANALYSES_H
#define KPC_CODEGEN_NVPTX_LLVMANALYSES_H

#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace kpc::nvptx {

/// The analyses of one target, as LLVM's passes look them up in each other.
struct LlvmAnalyses {
  explicit LlvmAnalyses(llvm::TargetMachine &Machine) : Builder(&Machine) {
    Builder.registerModuleAnalyses(Modules);
    Builder.registerCGSCCAnalyses(Graphs);
    Builder.registerFunctionAnalyses(Functions);
    Builder.registerLoopAnalyses(Loops);
    Builder.crossRegisterProxies(Loops, Functions, Graphs, Modules);
  }

  llvm::LoopAnalysisManager Loops;
  llvm::FunctionAnalysisManager Functions;
  llvm::CGSCCAnalysisManager Graphs;
  llvm::ModuleAnalysisManager Modules;
  llvm::PassBuilder Builder;
};

} // namespace kpc::nvptx

#endif // KPC_CODEGEN_NVPTX_LLVMANALYSES_H
