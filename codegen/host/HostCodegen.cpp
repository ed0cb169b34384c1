//===- HostCodegen.cpp - Kernels to x86-64 machine code -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/host/HostCodegen.h"
#include "dialects/kernel/Kernel.h"

#include "codegen/host/HostLowering.h"
#include "codegen/host/LlvmToObject.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace kpc::codegen {

/// Names the kernels of a module, for errors.
static std::string namesOf(ModuleOp Kernels) {
  std::string Names;
  Kernels.walk([&](FunctionOpInterface Func) {
    Names += (Names.empty() ? "'" : ", '") + Func.getName().str() + "'";
  });
  return Names;
}

llvm::Expected<std::string> compileToObject(ModuleOp Kernels,
                                            const HostTargetOptions &Options,
                                            const HostListings &Listings) {
  std::string Names = namesOf(Kernels);
  if (failed(lowerHostKernels(Kernels, Options)))
    return llvm::createStringError("host code generation failed for %s",
                                   Names.c_str());
  llvm::LLVMContext Context;
  std::unique_ptr<llvm::Module> Module =
      translateModuleToLLVMIR(Kernels, Context, "kernel");
  if (!Module)
    return llvm::createStringError("no LLVM IR could be made for %s",
                                   Names.c_str());
  return objectOf(*Module, Options, Listings);
}

llvm::Expected<HostKernel>
buildAndCompileHostKernel(ModuleOp Kernels, const HostTargetOptions &Options,
                          const HostListings &Listings) {
  loadHostDialects(*Kernels.getContext());
  HostKernel Result;
  for (auto Func : Kernels.getOps<func::FuncOp>()) {
    if (failed(kernels::buildHostKernel(Func, Options.machine())))
      return llvm::createStringError("no host loops could be built for '%s'",
                                     Func.getName().str().c_str());
    kernel::WorkAttr Work = kernel::workOf(Func);
    Result.Launches.push_back({Func.getName().str(), Work.getUnits().str(),
                               Work.getGrain(),
                               kernel::scheduleOf(Func).getText().str()});
  }
  if (Listings.Loops) {
    llvm::raw_string_ostream OS(*Listings.Loops);
    Kernels.print(OS);
  }
  llvm::Expected<std::string> Object =
      compileToObject(Kernels, Options, Listings);
  if (!Object)
    return Object.takeError();
  Result.Object = std::move(*Object);
  return Result;
}

/// Loading the dialects takes longer than the lowering of a small kernel, so
/// that a thread keeps its context. It keeps the attributes and types of all
/// kernels that it has seen, and is made anew after some of them.
static MLIRContext &contextOfThread() {
  constexpr unsigned MostKernels = 64;
  thread_local std::unique_ptr<MLIRContext> Context;
  thread_local unsigned Kernels = 0;
  if (!Context || ++Kernels >= MostKernels) {
    DialectRegistry Registry;
    registerHostDialects(Registry);
    Context = std::make_unique<MLIRContext>(Registry,
                                            MLIRContext::Threading::DISABLED);
    Kernels = 0;
  }
  return *Context;
}

llvm::Expected<HostKernel>
buildAndCompileHostKernel(llvm::StringRef Text,
                          const HostTargetOptions &Options,
                          const HostListings &Listings) {
  MLIRContext &Context = contextOfThread();
  std::string Messages;
  ScopedDiagnosticHandler Handler(&Context, [&](Diagnostic &D) {
    if (D.getSeverity() == DiagnosticSeverity::Error)
      Messages += (Messages.empty() ? "" : "; ") + D.str();
  });
  OwningOpRef<ModuleOp> Module =
      parseSourceString<ModuleOp>(Text, ParserConfig(&Context));
  if (!Module)
    return llvm::createStringError("malformed kernel: %s", Messages.c_str());
  llvm::Expected<HostKernel> Result =
      buildAndCompileHostKernel(*Module, Options, Listings);
  if (!Result && !Messages.empty())
    return llvm::createStringError(llvm::toString(Result.takeError()) + ": " +
                                   Messages);
  return Result;
}

} // namespace kpc::codegen
