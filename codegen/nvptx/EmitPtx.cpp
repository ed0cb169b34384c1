//===- EmitPtx.cpp - From LLVM IR to PTX text -----------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/EarlyLaunch.h"
#include "codegen/nvptx/LlvmAnalyses.h"
#include "codegen/nvptx/Nvptx.h"
#include "codegen/nvptx/PairCodes.h"
#include "dialects/kernel/Kernel.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Vectorize/LoadStoreVectorizer.h"

#include <mutex>

using namespace mlir;

namespace kpc::nvptx {

static const char *const TripleText = "nvptx64-nvidia-cuda";

/// The first version with `.pragma "used_bytes_mask"` (PTX ISA, Pragmas).
static constexpr int32_t FirstPtxOfUsedBytes = 83;

static std::unique_ptr<llvm::TargetMachine>
makeTargetMachine(const target::Target &T, std::string &Error) {
  static std::once_flag Once;
  std::call_once(Once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple Triple(TripleText);
  const llvm::Target *Llvm = llvm::TargetRegistry::lookupTarget(Triple, Error);
  if (!Llvm)
    return nullptr;
  llvm::TargetOptions Options;
  // Multiply and add stay apart unless the IR says fma: the error-free steps
  // of the math expansions rely on it, and ptxas keeps `.rn` forms apart too.
  Options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(Llvm->createTargetMachine(
      Triple, T.LlvmChip, T.LlvmFeatures, Options, llvm::Reloc::PIC_));
}

/// Collects what LLVM reports while it works; errors it reports this way do
/// not end the process.
namespace {
struct CollectDiagnostics : llvm::DiagnosticHandler {
  explicit CollectDiagnostics(std::string &To) : To(To) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &Info) override {
    if (Info.getSeverity() != llvm::DS_Error)
      return true;
    llvm::raw_string_ostream Stream(To);
    llvm::DiagnosticPrinterRawOStream Printer(Stream);
    Info.print(Printer);
    Stream << "\n";
    return true;
  }
  std::string &To;
};
} // namespace

std::unique_ptr<llvm::Module> translateToLlvm(gpu::GPUModuleOp Module,
                                              llvm::LLVMContext &Context) {
  std::unique_ptr<llvm::Module> Llvm =
      translateModuleToLLVMIR(Module, Context, Module.getName(),
                              /*disableVerification=*/true);
  if (!Llvm)
    Module.emitError("cannot be translated to LLVM IR");
  return Llvm;
}

/// One masked load as the loads of the elements it asks for, joined where they
/// are aligned.
static void splitMaskedLoad(llvm::IntrinsicInst &Load,
                            const llvm::DataLayout &Layout) {
  auto *Ty = llvm::cast<llvm::FixedVectorType>(Load.getType());
  llvm::Type *Element = Ty->getElementType();
  llvm::Value *Pointer = Load.getArgOperand(0);
  auto *Mask = llvm::cast<llvm::Constant>(Load.getArgOperand(1));
  llvm::Value *Result = Load.getArgOperand(2);
  llvm::Align Aligned = Load.getParamAlign(0).valueOrOne();
  uint64_t Bytes = Layout.getTypeStoreSize(Element);
  unsigned Count = Ty->getNumElements();
  llvm::IRBuilder<> B(&Load);
  auto IsAsked = [&](unsigned I) {
    return I < Count && !Mask->getAggregateElement(I)->isNullValue();
  };
  for (unsigned I = 0; I < Count;) {
    if (!IsAsked(I)) {
      ++I;
      continue;
    }
    unsigned Width = 1;
    auto Reaches = [&](unsigned Wide) {
      for (unsigned K = 0; K < Wide; ++K)
        if (!IsAsked(I + K))
          return false;
      return (I & (Wide - 1)) == 0 &&
             llvm::commonAlignment(Aligned, I * Bytes).value() >= Wide * Bytes;
    };
    while (Reaches(2 * Width))
      Width *= 2;
    llvm::Type *PartTy =
        Width == 1 ? Element : llvm::FixedVectorType::get(Element, Width);
    llvm::LoadInst *Part = B.CreateAlignedLoad(
        PartTy, B.CreateConstInBoundsGEP1_64(Element, Pointer, I),
        llvm::commonAlignment(Aligned, I * Bytes));
    Part->copyMetadata(Load, {llvm::LLVMContext::MD_invariant_load});
    for (unsigned K = 0; K < Width; ++K)
      Result = B.CreateInsertElement(
          Result, Width == 1 ? Part : B.CreateExtractElement(Part, K), I + K);
    I += Width;
  }
  Load.replaceAllUsesWith(Result);
  Load.eraseFromParent();
}

/// Joins neighbouring loads and stores, as LLVM's code generator does for all
/// targets, but reads nothing that the kernel does not ask for. From three of
/// four elements LLVM makes a load of all four, which is masked: ptxas is told
/// by a pragma of PTX 8.3 which bytes count. Without the pragma the load of a
/// tensor's last elements would reach beyond its end.
static void joinWithinBounds(llvm::Module &Llvm, llvm::TargetMachine &Machine) {
  LlvmAnalyses Analyses(Machine);
  for (llvm::Function &F : Llvm) {
    if (F.isDeclaration())
      continue;
    llvm::LoadStoreVectorizerPass().run(F, Analyses.Functions);
    SmallVector<llvm::IntrinsicInst *> Masked;
    for (llvm::Instruction &I : llvm::instructions(F))
      if (auto *Call = llvm::dyn_cast<llvm::IntrinsicInst>(&I);
          Call && Call->getIntrinsicID() == llvm::Intrinsic::masked_load)
        Masked.push_back(Call);
    for (llvm::IntrinsicInst *Load : Masked)
      splitMaskedLoad(*Load, Llvm.getDataLayout());
    // The code generator's own run of the same pass leaves such functions be.
    F.addFnAttr(llvm::Attribute::NoImplicitFloat);
  }
}

FailureOr<std::string> emitPtx(gpu::GPUModuleOp Module, llvm::Module &Llvm,
                               const target::Target &T,
                               const GpuListings &Listings) {
  std::string Error;
  std::unique_ptr<llvm::TargetMachine> Machine = makeTargetMachine(T, Error);
  if (!Machine)
    return Module.emitError("LLVM cannot write PTX: ") << Error;
  std::string Reported;
  Llvm.getContext().setDiagnosticHandler(
      std::make_unique<CollectDiagnostics>(Reported));
  Llvm.setTargetTriple(llvm::Triple(TripleText));
  Llvm.setDataLayout(Machine->createDataLayout());
  std::string Broken;
  llvm::raw_string_ostream BrokenStream(Broken);
  if (llvm::verifyModule(Llvm, &BrokenStream))
    return Module.emitError("LLVM IR is not valid: ") << Broken;
  if (llvm::Error Wrong = optimiseKernel(Llvm, *Machine))
    return Module.emitError("LLVM: ") << llvm::toString(std::move(Wrong));
  pairCodes(Llvm);
  if (T.launchesEarly())
    launchEarly(Module, Llvm, T.PtxVersion);
  if (T.PtxVersion < FirstPtxOfUsedBytes)
    joinWithinBounds(Llvm, *Machine);
  if (Listings.Llvm) {
    llvm::raw_string_ostream Stream(*Listings.Llvm);
    Llvm.print(Stream, nullptr);
  }

  llvm::SmallString<0> Text;
  llvm::raw_svector_ostream Stream(Text);
  llvm::legacy::PassManager Codegen;
  if (Machine->addPassesToEmitFile(Codegen, Stream, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return Module.emitError("LLVM cannot write PTX for ") << T.Name.data();
  Codegen.run(Llvm);
  if (!Reported.empty())
    return Module.emitError("LLVM: ") << StringRef(Reported).rtrim();
  return Text.str().str();
}

FailureOr<std::string> compileToPtx(gpu::GPUModuleOp Module,
                                    const target::Target &T,
                                    const GpuListings &Listings) {
  if (T.isHost())
    return Module.emitError("the target '")
           << T.Name.data() << "' is not a GPU";
  if (failed(lowerToNvvm(Module)))
    return failure();
  if (Listings.Nvvm) {
    llvm::raw_string_ostream Stream(*Listings.Nvvm);
    Stream << Module << "\n";
  }
  if (Listings.InPtx) {
    locateInText(Module, "nvvm");
    if (failed(addLineTables(Module)))
      return failure();
  }
  llvm::LLVMContext Context;
  std::unique_ptr<llvm::Module> Llvm = translateToLlvm(Module, Context);
  if (!Llvm || failed(checkForNvptx(Module, *Llvm)))
    return failure();
  return emitPtx(Module, *Llvm, T, Listings);
}

} // namespace kpc::nvptx
