//===- PipelineText.cpp - The passes of each class as text ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What --print-pipeline prints: exactly what runs for each class of targets,
/// as kpc-opt takes it.
///
//===----------------------------------------------------------------------===//

#include "compiler/Compiler.h"
#include "compiler/GraphPipeline.h"

using namespace kpc;
using namespace mlir;

/// One pass a line, as deep as its nesting. MLIR's parser does not mind the
/// blanks; those between braces are options and stay as they are.
static std::string indented(StringRef Pipeline) {
  std::string Text;
  unsigned Depth = 0, Braces = 0;
  auto NewLine = [&] { Text += "\n" + std::string(size_t{2} * Depth, ' '); };
  for (char C : Pipeline) {
    Braces += C == '{';
    Braces -= C == '}';
    if (C == ')' && !Braces) {
      --Depth;
      NewLine();
    }
    if (C != ' ' || Text.back() != '{') // `{  max-iterations=10`
      Text += C;
    if (C == '(' && !Braces)
      ++Depth;
    if ((C == '(' || C == ',') && !Braces)
      NewLine();
  }
  return Text;
}

/// All that runs for one class, from the imported model to its plan.
static std::string pipelineText(const CompileOptions &Options,
                                const target::TargetClass &For) {
  std::string Text;
  llvm::raw_string_ostream Stream(Text);
  OpPassManager Passes(ModuleOp::getOperationName());
  addGraphPasses(Passes, Options);
  addPlanPasses(Passes, Options, For, {});
  Passes.printAsTextualPipeline(Stream);
  return indented(Text);
}

std::string kpc::pipelineText(const CompileOptions &Options) {
  std::vector<const target::Target *> Targets;
  for (const std::string &Name : targetNames(Options))
    if (target::Lookup Found = target::lookup(Name))
      for (const target::Target *T : Found.Targets)
        if (!llvm::is_contained(Targets, T))
          Targets.push_back(T);
  std::vector<target::TargetClass> Classes = target::classesOf(Targets);
  if (Classes.size() == 1)
    return ::pipelineText(Options, Classes.front());
  std::string Text;
  for (const target::TargetClass &For : Classes)
    Text += (Text.empty() ? "// " : "\n\n// ") + For.name() + "\n" +
            ::pipelineText(Options, For);
  return Text;
}
