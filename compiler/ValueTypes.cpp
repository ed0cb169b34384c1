//===- ValueTypes.cpp - What import finds out of values -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Compiler.h"
#include "compiler/DiagnosticBridge.h"
#include "compiler/import/onnx/ImportOnnx.h"
#include "dialects/RegisterDialects.h"

using namespace kpc;

std::map<std::string, onnx::ValueInfo>
kpc::valueTypes(const CompileOptions &Options) {
  mlir::DialectRegistry Registry;
  registerDialects(Registry);
  mlir::MLIRContext Context(Registry, mlir::MLIRContext::Threading::DISABLED);
  Diagnostics Ignored;
  DiagnosticBridge Bridge(Context, Ignored, Code::GraphRefused);
  onnx::ImportOptions Import;
  for (const auto &[Name, Facts] : Options.Dims)
    Import.Dims.emplace(Name, Facts);
  Import.DataFolder = Options.DataFolder;
  std::map<std::string, onnx::ValueInfo> Types;
  Import.Types = &Types;
  WeightStore Weights;
  onnx::importModel(Context, Options.Model, Import, Weights, Ignored);
  return Types;
}
