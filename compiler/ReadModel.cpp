//===- ReadModel.cpp - From a file to the graph of all targets ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Compilation.h"
#include "compiler/PrecisionPatterns.h"
#include "compiler/TakenDims.h"
#include "compiler/TextModel.h"
#include "compiler/import/onnx/ImportOnnx.h"
#include "compiler/import/torch/ImportProgram.h"
#include "compiler/import/torchscript/ImportScript.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/SizeReasons.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace kpc;
using namespace mlir;

bool Compilation::loadOnnx(const std::string &Path) {
  onnx::ImportOptions Import;
  for (const auto &[Name, Facts] : Options.Dims)
    Import.Dims.emplace(Name, Facts);
  Import.Places.insert(Options.Places.begin(), Options.Places.end());
  Import.Values.insert(Options.Values.begin(), Options.Values.end());
  Import.Custom = &Operators;
  Import.DataFolder = Options.DataFolder;
  Import.MostInlined = Options.Limits.UnrolledNodes;
  std::vector<onnx::NamedDim> Named;
  Import.Named = &Named;
  Import.Metadata = &Metadata;
  Module = onnx::importModel(Context, Path, Import, Weights, Diags);
  for (const onnx::NamedDim &D : Named)
    Report.Notes.push_back(
        "dim " + std::to_string(D.Axis) + " of input '" + printable(D.Input) +
        "' has no name in the model; it is called '" + printable(D.Name) +
        "', as in --dim " + printable(D.Name) + "=8");
  return static_cast<bool>(Module) && !Diags.hasErrors();
}

/// What both importers of PyTorch's files are told.
torch::ImportOptions Compilation::torchOptions() {
  torch::ImportOptions Import;
  for (const auto &[Name, Facts] : Options.Dims)
    Import.Dims.emplace(Name, Facts);
  Import.Places.insert(Options.Places.begin(), Options.Places.end());
  Import.Custom = &Operators;
  Import.Notes = &Report.Notes;
  return Import;
}

/// An archive of torch.export.
bool Compilation::loadProgram(const std::string &Path) {
  if (!Options.Values.empty()) {
    Diags.error(Code::ImportValueOption)
        .message("--value cannot apply to a program of torch.export")
        .hint("fix the value where the program is exported");
    return false;
  }
  torch::ImportOptions Import = torchOptions();
  Module = torch::importProgram(Context, Path, Import, Weights, Diags);
  return static_cast<bool>(Module) && !Diags.hasErrors();
}

/// An archive of torch.jit.save.
bool Compilation::loadScript(const std::string &Path) {
  torch::ImportOptions Import = torchOptions();
  torchscript::ScriptOptions Script;
  Script.Shapes = Options.InputShapes;
  Script.Types = Options.InputTypes;
  Script.Values = Options.Values;
  Script.ExplicitState = Options.ExplicitState;
  if (!Options.Targets.empty())
    Script.Others = " --arch " + llvm::join(Options.Targets, ",");
  if (!Options.Method.empty())
    Script.Method = Options.Method;
  Module =
      torchscript::importScript(Context, Path, Import, Script, Weights, Diags);
  return static_cast<bool>(Module) && !Diags.hasErrors();
}

/// Other formats hold what these options say.
bool Compilation::refuseScriptOptions() {
  auto Refuse = [&](const char *Option, const char *Way) {
    Diags.error(Code::ImportValueOption)
        .message(std::string(Option) +
                 " is for TorchScript, and the model is another file")
        .hint(Way);
  };
  size_t Errors = Diags.errorCount();
  if (!Options.InputShapes.empty())
    Refuse("--input-shape", "the model has shapes; --dim fixes dynamic ones");
  if (!Options.InputTypes.empty())
    Refuse("--input-type", "the model has types of its inputs; "
                           "--io-precision changes them");
  if (!Options.Method.empty())
    Refuse("--method", "the model has one function alone");
  if (Options.ExplicitState)
    Refuse("--state explicit", "state of such models is explicit already");
  return Diags.errorCount() == Errors;
}

/// A file that --emit wrote. Its weights are in the model it names.
bool Compilation::loadText() {
  Bridge.setCode(Code::GraphText);
  auto Buffer = llvm::MemoryBuffer::getFile(Options.Model);
  if (!Buffer) {
    Diags.error(Code::ImportUnreadable)
        .message("cannot read '" + Options.Model +
                 "': " + Buffer.getError().message());
    return false;
  }
  if (std::string Why = reasonAgainstText((*Buffer)->getBuffer());
      !Why.empty()) {
    Diags.error(Code::GraphText).message(Why);
    return false;
  }
  Module = parseSourceFile<ModuleOp>(Options.Model, &Context);
  if (!Module || !checkTextModel(*Module, Diags))
    return false;
  IsPlan = !Module->getOps<plan::ProgramOp>().empty();
  if (IsPlan) {
    PassManager Passes(&Context);
    Passes.addPass(graph::createVerifyLaunchSizes());
    if (failed(Passes.run(*Module)))
      return false;
  }
  Bridge.setCode(Code::GraphRefused);
  return reloadWeights(*Module, Options.Model, Weights, Diags) &&
         checkNamedWeights(*Module, Weights, Diags);
}

bool Compilation::loadGraph() {
  if (StringRef(Options.Model).ends_with(".mlir"))
    return loadText() && checkPrecisionPatterns(*Module, Options, Diags);
  if (!Operators.read(Options.Operators, Diags) || !loadModel(Options.Model) ||
      !checkPrecisionPatterns(*Module, Options, Diags))
    return false;
  shape::Facts Before = graph::symbolFacts(*Module);
  if (!runPasses("1-graph", *Module, [&](OpPassManager &Passes) {
        addGraphPasses(Passes, Options);
      }))
    return false;
  tellOfKeys(Before);
  return true;
}

/// Symbols of which passes say more than the model and its user did.
void Compilation::tellOfKeys(const shape::Facts &Before) {
  graph::SizeReasons Reasons = graph::sizeReasons(*Module);
  shape::Facts After = graph::symbolFacts(*Module);
  for (const auto &[Name, Known] : Before.symbols())
    if (auto It = After.symbols().find(Name);
        It != After.symbols().end() && It->second.Min > Known.Min)
      Report.Notes.push_back(Name + " is taken to be at least " +
                             std::to_string(It->second.Min) + ": " +
                             Reasons[Name] + ". With --dim " + Name +
                             "=0..N it may be 0, and attention is slower");
}

bool Compilation::load() {
  collectRemarks(Context, Report.Remarks);
  if (!loadGraph() ||
      !attachCalibration(*Module, Options, Moments, Report, Diags))
    return false;
  Report.Watched = watchedResults(*Module);
  return true;
}
