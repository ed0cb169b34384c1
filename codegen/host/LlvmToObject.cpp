//===- LlvmToObject.cpp - LLVM IR to an ELF object ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/host/LlvmToObject.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <mutex>

namespace kpc::codegen {

/// Kernels depend on no operating system; only the object format matters.
static constexpr const char *TripleText = "x86_64-unknown-linux-gnu";

static llvm::CodeGenOptLevel generationLevel(const HostTargetOptions &Options) {
  using Level = llvm::CodeGenOptLevel;
  return Options.Optimization == 0   ? Level::None
         : Options.Optimization == 1 ? Level::Less
                                     : Level::Aggressive;
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
machineFor(const HostTargetOptions &Options) {
  static std::once_flag Once;
  std::call_once(Once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string Error;
  llvm::Triple Triple(TripleText);
  const llvm::Target *Target =
      llvm::TargetRegistry::lookupTarget(Triple, Error);
  if (!Target)
    return llvm::createStringError("LLVM has no x86-64 back end: %s",
                                   Error.c_str());
  llvm::TargetOptions Machine;
  Machine.TrapUnreachable = false;
  std::unique_ptr<llvm::TargetMachine> TM(Target->createTargetMachine(
      Triple, Options.Cpu, Options.Features, Machine, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, generationLevel(Options)));
  if (!TM)
    return llvm::createStringError("LLVM cannot make code for %s",
                                   Options.Cpu.c_str());
  return TM;
}

static void setAttributes(llvm::Module &Module,
                          const HostTargetOptions &Options) {
  for (llvm::Function &F : Module) {
    if (F.isDeclaration())
      continue;
    F.addFnAttr(llvm::Attribute::NoUnwind);
    F.addFnAttr(llvm::Attribute::MustProgress);
    // Nothing to call: loops must not become memset or memcpy.
    F.addFnAttr("no-builtins");
    F.addFnAttr("target-cpu", Options.Cpu);
    if (!Options.Features.empty())
      F.addFnAttr("target-features", Options.Features);
    F.addFnAttr("prefer-vector-width", std::to_string(Options.VectorBits));
    F.addFnAttr("no-trapping-math", "true");
  }
}

static void optimise(llvm::Module &Module, llvm::TargetMachine &TM,
                     unsigned Level) {
  if (Level == 0)
    return;
  llvm::PipelineTuningOptions Tuning;
  Tuning.LoopVectorization = Level > 1;
  Tuning.LoopInterleaving = Level > 1;
  Tuning.SLPVectorization = Level > 1;
  Tuning.LoopUnrolling = Level > 1;
  llvm::PassBuilder Builder(&TM, Tuning);
  llvm::LoopAnalysisManager Loops;
  llvm::FunctionAnalysisManager Functions;
  llvm::CGSCCAnalysisManager Calls;
  llvm::ModuleAnalysisManager Modules;
  llvm::TargetLibraryInfoImpl Library(Module.getTargetTriple());
  Library.disableAllFunctions();
  Functions.registerPass([&] { return llvm::TargetLibraryAnalysis(Library); });
  Builder.registerModuleAnalyses(Modules);
  Builder.registerCGSCCAnalyses(Calls);
  Builder.registerFunctionAnalyses(Functions);
  Builder.registerLoopAnalyses(Loops);
  Builder.crossRegisterProxies(Loops, Functions, Calls, Modules);
  Builder
      .buildPerModuleDefaultPipeline(Level == 1 ? llvm::OptimizationLevel::O1
                                                : llvm::OptimizationLevel::O2)
      .run(Module, Modules);
}

static llvm::Expected<std::string> emit(llvm::Module &Module,
                                        llvm::TargetMachine &TM,
                                        llvm::CodeGenFileType Kind) {
  llvm::SmallVector<char, 0> Bytes;
  llvm::raw_svector_ostream OS(Bytes);
  llvm::legacy::PassManager Passes;
  if (TM.addPassesToEmitFile(Passes, OS, nullptr, Kind))
    return llvm::createStringError("LLVM cannot emit objects for x86-64");
  Passes.run(Module);
  return std::string(Bytes.begin(), Bytes.end());
}

/// Free-standing or an error.
static llvm::Error checkNoUndefined(llvm::StringRef Object,
                                    llvm::StringRef Kernel) {
  auto File = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(Object, Kernel));
  if (!File)
    return File.takeError();
  std::string Names;
  for (const llvm::object::SymbolRef &Symbol : (*File)->symbols()) {
    auto Flags = Symbol.getFlags();
    if (!Flags)
      return Flags.takeError();
    if (!(*Flags & llvm::object::SymbolRef::SF_Undefined))
      continue;
    auto Name = Symbol.getName();
    if (!Name)
      return Name.takeError();
    if (!Name->empty())
      Names += (Names.empty() ? "" : ", ") + Name->str();
  }
  if (Names.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      "kernel '%s' needs code from outside the image: %s", Kernel.str().c_str(),
      Names.c_str());
}

llvm::Expected<std::string> objectOf(llvm::Module &Module,
                                     const HostTargetOptions &Options,
                                     const HostListings &Listings) {
  auto TM = machineFor(Options);
  if (!TM)
    return TM.takeError();
  Module.setTargetTriple(llvm::Triple(TripleText));
  Module.setDataLayout((*TM)->createDataLayout());
  Module.setPICLevel(llvm::PICLevel::BigPIC);
  setAttributes(Module, Options);
  optimise(Module, **TM, Options.Optimization);
  if (Listings.Llvm) {
    llvm::raw_string_ostream OS(*Listings.Llvm);
    Module.print(OS, nullptr);
  }
  if (Listings.Assembly) {
    auto Copy = llvm::CloneModule(Module);
    auto Text = emit(*Copy, **TM, llvm::CodeGenFileType::AssemblyFile);
    if (!Text)
      return Text.takeError();
    *Listings.Assembly = std::move(*Text);
  }
  std::string Kernel;
  for (const llvm::Function &F : Module)
    if (!F.isDeclaration() && !F.hasLocalLinkage()) {
      Kernel = F.getName().str();
      break;
    }
  auto Object = emit(Module, **TM, llvm::CodeGenFileType::ObjectFile);
  if (!Object)
    return Object.takeError();
  if (llvm::Error Error = checkNoUndefined(*Object, Kernel))
    return std::move(Error);
  return Object;
}

} // namespace kpc::codegen
