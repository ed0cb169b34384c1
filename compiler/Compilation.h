//===- Compilation.h - One run of the compiler ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef KPC_COMPILER_COMPILATION_H
#define KPC_COMPILER_COMPILATION_H

#include "compiler/CalibratedGraph.h"
#include "compiler/Compiler.h"
#include "compiler/DiagnosticBridge.h"
#include "compiler/GraphPipeline.h"
#include "compiler/import/custom/Manifest.h"
#include "compiler/import/torch/ImportProgram.h"
#include "compiler/import/torch/Zip.h"
#include "compiler/import/torchscript/Archive.h"
#include "compiler/kernels/KernelPhase.h"
#include "compiler/target/TargetClass.h"
#include "dialects/RegisterDialects.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/FileSystem.h"

#include <chrono>

namespace kpc {

/// One run of the compiler: the data that phases pass on.
class Compilation {
public:
  Compilation(const CompileOptions &Options, Diagnostics &Diags)
      : Options(Options), Diags(Diags),
        Context(registry(), mlir::MLIRContext::Threading::DISABLED),
        Bridge(Context, Diags, Code::GraphRefused),
        Kernels(this->Options, Diags, Report) {
    Diags.setFile(Options.Model);
    Diags.setStrict(Options.Strict);
  }

  /// Each returns false after an error.
  bool chooseTargets();
  bool findTools() { return Kernels.findTools(Targets); }
  bool load();
  /// `Folds`: whether constants are computed, by kernels that run now.
  bool plan(bool Folds);
  void tellOfTf32();
  void tellOfKeys(const shape::Facts &Before);
  void tellOfCodes();
  /// Where a type is asked for that GEMMs quantise to, and none does, says why;
  /// false elsewhere.
  bool tellOfNoCodes();
  bool compileKernels();
  bool findCompilers() { return Kernels.findCompilers(ownPlans()); }
  /// Those that are expected, before any kernel is made.
  void warnOfSlowPaths();
  ModelNeeds needs();
  void estimate();
  bool writeArtifact();

  /// Whether the phase is what --emit asked for; then the work ends.
  bool emitted(Phase P);
  template <typename Step> bool timed(std::string_view Name, Step Run);

  CompileReport Report;

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry R;
    registerDialects(R);
    return R;
  }
  /// What the targets of one class share.
  struct ClassPlan {
    target::TargetClass For;
    mlir::OwningOpRef<mlir::ModuleOp> Module;
    std::vector<Remark> Remarks;
  };

  bool runPasses(llvm::StringRef Room, mlir::ModuleOp On,
                 llvm::function_ref<void(mlir::OpPassManager &)> Add);
  bool dumpInto(mlir::PassManager &Passes, llvm::StringRef Room);
  bool loadOnnx(const std::string &Path);
  torch::ImportOptions torchOptions();
  bool loadProgram(const std::string &Path);
  bool loadScript(const std::string &Path);
  bool refuseScriptOptions();
  bool loadModel(const std::string &Path) {
    if (torchscript::isScript(Path))
      return loadScript(Path);
    // Of a file that is not there nothing is known but that.
    return (!llvm::sys::fs::exists(Path) || refuseScriptOptions()) &&
           (torch::isZipFile(Path) ? loadProgram(Path) : loadOnnx(Path));
  }
  bool loadText();
  bool loadGraph();
  bool makePlan(ClassPlan &Plan, const PlanTools &Tools);
  mlir::ModuleOp planOf(const target::Target &T);
  llvm::SmallVector<KernelPhase::TargetPlan> ownPlans();

  CompileOptions Options;
  Diagnostics &Diags;
  mlir::MLIRContext Context;
  DiagnosticBridge Bridge;
  std::vector<const target::Target *> Targets;
  WeightStore Weights;
  SecondMoments Moments;
  custom::Operators Operators;
  std::vector<std::pair<std::string, std::string>> Metadata;
  /// The graph of all targets; a plan, where the input file is one.
  mlir::OwningOpRef<mlir::ModuleOp> Module;
  std::vector<ClassPlan> Plans;
  KernelPhase Kernels;
  std::vector<TargetKernels> Compiled;
  /// The input is a plan (text): it serves every target.
  bool IsPlan = false;
};

template <typename Step>
bool Compilation::timed(std::string_view Name, Step Run) {
  auto Start = std::chrono::steady_clock::now();
  bool Ok = Run();
  std::chrono::duration<double> Took = std::chrono::steady_clock::now() - Start;
  Report.Timing.emplace_back(Name, Took.count());
  return Ok;
}

} // namespace kpc

#endif // KPC_COMPILER_COMPILATION_H
