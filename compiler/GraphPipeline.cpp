//===- GraphPipeline.cpp - The passes of each phase -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/GraphPipeline.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "passes/graph/Passes.h"

using namespace kpc;
using namespace mlir;

void kpc::addGraphPasses(OpPassManager &Passes, const CompileOptions &) {
  Passes.addPass(createCanonicalizerPass());
  Passes.addPass(createCSEPass());
}

void kpc::addKernelPasses(OpPassManager &Passes,
                          const CompileOptions &Options) {
  graph::FormRegionsOptions Regions;
  Regions.Fuse = Options.Fuse;
  Passes.addNestedPass<func::FuncOp>(graph::createFormRegions(Regions));
  Passes.addPass(graph::createLowerRegions());
  Passes.addPass(graph::createVerifyKernelForm());
}

std::string kpc::pipelineText(const CompileOptions &Options) {
  std::string Text;
  llvm::raw_string_ostream Stream(Text);
  OpPassManager Passes(ModuleOp::getOperationName());
  addGraphPasses(Passes, Options);
  addKernelPasses(Passes, Options);
  Passes.printAsTextualPipeline(Stream);
  return Text;
}
