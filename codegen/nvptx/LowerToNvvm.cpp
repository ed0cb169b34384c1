//===- LowerToNvvm.cpp - From gpu.module to the NVVM dialect --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/Nvptx.h"
#include "dialects/kernel/Kernel.h"
#include "passes/tile/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/LoweringOptions.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Affine/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cstdlib>

using namespace mlir;

namespace kpc::nvptx {

void registerTranslations(DialectRegistry &Registry) {
  Registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, gpu::GPUDialect,
                  cf::ControlFlowDialect, ub::UBDialect>();
  arith::registerConvertArithToLLVMInterface(Registry);
  cf::registerConvertControlFlowToLLVMInterface(Registry);
  registerConvertFuncToLLVMInterface(Registry);
  registerConvertMathToLLVMInterface(Registry);
  registerConvertMemRefToLLVMInterface(Registry);
  registerConvertNVVMToLLVMInterface(Registry);
  ub::registerConvertUBToLLVMInterface(Registry);
  vector::registerConvertVectorToLLVMInterface(Registry);
  NVVM::registerConvertGpuToNVVMInterface(Registry);
  registerBuiltinDialectTranslation(Registry);
  registerGPUDialectTranslation(Registry);
  registerLLVMDialectTranslation(Registry);
  registerNVVMDialectTranslation(Registry);
}

namespace {

/// floordivsi and its kin become divisions; upstream's pass for it would also
/// replace maximumf and minimumf, which have instructions of their own. Global
/// ids become block and thread ids. All of affine goes with them: a pass of its
/// own would fold all of the kernel once more.
struct ExpandIndexOpsPass
    : PassWrapper<ExpandIndexOpsPass, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandIndexOpsPass)
  StringRef getArgument() const override {
    return "kpc-nvptx-expand-index-ops";
  }
  void getDependentDialects(DialectRegistry &Registry) const override {
    Registry.insert<arith::ArithDialect, memref::MemRefDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet Patterns(&getContext());
    mlir::affine::populateAffineExpandIndexOpsPatterns(Patterns);
    populateAffineToStdConversionPatterns(Patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(Patterns);
    memref::populateExpandStridedMetadataPatterns(Patterns);
    populateGpuGlobalIdPatterns(Patterns);
    // LLVM merges equal blocks itself.
    GreedyRewriteConfig Config;
    Config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(Patterns), Config)))
      signalPassFailure();
  }
};

/// Math that has instructions becomes intrinsics. Upstream's pass for it would
/// try to fold every other op of the kernel.
struct LowerMathPass
    : PassWrapper<LowerMathPass, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerMathPass)
  StringRef getArgument() const override { return "kpc-nvptx-lower-math"; }
  void getDependentDialects(DialectRegistry &Registry) const override {
    Registry.insert<LLVM::LLVMDialect>();
  }
  void runOnOperation() override {
    LLVMTypeConverter Types(&getContext());
    RewritePatternSet Patterns(&getContext());
    populateMathToLLVMConversionPatterns(Types, Patterns);
    ConversionTarget Target(getContext());
    // What has none stays, for the pass that follows.
    Target.markUnknownOpDynamicallyLegal(
        [](Operation *Op) -> std::optional<bool> {
          if (isa_and_nonnull<math::MathDialect>(Op->getDialect()))
            return std::nullopt;
          return true;
        });
    if (failed(applyPartialConversion(getOperation(), Target,
                                      std::move(Patterns))))
      signalPassFailure();
  }
};

/// What is left of math would become calls of libdevice, which kpc does not
/// link.
struct CheckMathPass
    : PassWrapper<CheckMathPass, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckMathPass)
  StringRef getArgument() const override { return "kpc-nvptx-check-math"; }
  void runOnOperation() override {
    bool Bad = false;
    getOperation().walk([&](Operation *Op) {
      if (!isa_and_nonnull<math::MathDialect>(Op->getDialect()) &&
          !isa<arith::RemFOp>(Op))
        return;
      auto Kernel = Op->getParentOfType<gpu::GPUFuncOp>();
      Op->emitError() << "kernel '" << (Kernel ? Kernel.getName() : "?")
                      << "': '" << Op->getName() << "' on "
                      << Op->getOperand(0).getType()
                      << " has no GPU instruction and was not expanded";
      Bad = true;
    });
    if (Bad)
      signalPassFailure();
  }
};

/// Parameters never overlap where one is written, and those that are only read
/// may go through the read-only cache (ld.global.nc).
struct MarkParametersPass
    : PassWrapper<MarkParametersPass, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MarkParametersPass)
  StringRef getArgument() const override { return "kpc-mark-parameters"; }
  void runOnOperation() override {
    getOperation().walk([&](gpu::GPUFuncOp Kernel) {
      UnitAttr Yes = UnitAttr::get(&getContext());
      kernel::BuffersAttr Buffers = kernel::buffersOf(Kernel);
      if (!Buffers)
        return;
      for (unsigned I = 0; I < Kernel.getNumArguments(); ++I) {
        if (!isa<MemRefType>(Kernel.getArgument(I).getType()))
          continue;
        Kernel.setArgAttr(I, LLVM::LLVMDialect::getNoAliasAttrName(), Yes);
        if (Buffers.isRead(I) && !Buffers.isWritten(I))
          Kernel.setArgAttr(I, LLVM::LLVMDialect::getReadonlyAttrName(), Yes);
      }
    });
  }
};

/// The rest, in one conversion. Upstream's pass of this purpose refuses the
/// LLVM intrinsics that math has become (it wants libdevice instead).
struct ConvertToNvvmPass
    : PassWrapper<ConvertToNvvmPass, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertToNvvmPass)
  StringRef getArgument() const override { return "kpc-convert-to-nvvm"; }
  void getDependentDialects(DialectRegistry &Registry) const override {
    Registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  }
  void runOnOperation() override {
    LowerToLLVMOptions Options(&getContext());
    Options.useBarePtrCallConv = true;
    Options.overrideIndexBitwidth(64);
    LLVMTypeConverter Types(&getContext(), Options);
    configureGpuToNVVMTypeConverter(Types);
    RewritePatternSet Patterns(&getContext());
    populateGpuToNVVMConversionPatterns(Types, Patterns);
    arith::populateArithToLLVMConversionPatterns(Types, Patterns);
    cf::populateControlFlowToLLVMConversionPatterns(Types, Patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(Types, Patterns);
    populateFuncToLLVMConversionPatterns(Types, Patterns);
    ub::populateUBToLLVMConversionPatterns(Types, Patterns);
    populateVectorToLLVMConversionPatterns(Types, Patterns);
    LLVMConversionTarget Target(getContext());
    Target.addIllegalDialect<gpu::GPUDialect, math::MathDialect>();
    Target.addLegalDialect<NVVM::NVVMDialect>();
    Target.addLegalOp<gpu::GPUModuleOp>();
    // What can be folded LLVM folds, in a fraction of the time.
    ConversionConfig Config;
    Config.foldingMode = DialectConversionFoldingMode::Never;
    if (failed(applyPartialConversion(getOperation(), Target,
                                      std::move(Patterns), Config)))
      return signalPassFailure();
    getOperation().walk([](LLVM::LLVMFuncOp Kernel) {
      passTensorMapsByValue(Kernel);
      fixRegistersAtLaunch(Kernel);
      fixCluster(Kernel);
    });
    for (auto Global : getOperation().getOps<LLVM::GlobalOp>())
      shareAtLaunch(Global);
  }

  /// Shared memory whose size the launch tells is declared elsewhere; as a
  /// definition it would be a byte of its own.
  static void shareAtLaunch(LLVM::GlobalOp Global) {
    auto Array = dyn_cast<LLVM::LLVMArrayType>(Global.getGlobalType());
    if (Array && Array.getNumElements() == 0)
      Global.setLinkage(LLVM::Linkage::External);
  }

  /// The size of clusters is the kernel's own: a launch need not tell it.
  static void fixCluster(LLVM::LLVMFuncOp Kernel) {
    kernel::LaunchAttr Launch = kernel::launchOf(Kernel);
    if (Launch && Launch.getCluster() > 1)
      Kernel->setAttr(
          NVVM::NVVMDialect::getClusterDimAttrName(),
          DenseI32ArrayAttr::get(Kernel.getContext(),
                                 {int32_t(Launch.getCluster()), 1, 1}));
  }

  /// Tensor maps are the last parameters: 128 bytes each, from a multiple of 64
  /// on, read where they are by all blocks (PTX ISA 5.5.8).
  static void passTensorMapsByValue(LLVM::LLVMFuncOp Kernel) {
    ArrayAttr Maps = kernel::tensorMapsOf(Kernel);
    Builder B(Kernel.getContext());
    auto Bytes = LLVM::LLVMArrayType::get(B.getI8Type(), 128);
    unsigned End = Kernel.getNumArguments();
    for (unsigned I = End - (Maps ? Maps.size() : 0); I < End; ++I) {
      Kernel.setArgAttr(I, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(Bytes));
      Kernel.setArgAttr(I, LLVM::LLVMDialect::getAlignAttrName(),
                        B.getI64IntegerAttr(64));
      Kernel.setArgAttr(I, NVVM::NVVMDialect::getGridConstantAttrName(),
                        B.getUnitAttr());
    }
  }

  /// ptxas ignores setmaxnreg (C7508) where it does not know how many registers
  /// a block starts with: those of a multiprocessor, for one block. Where
  /// blocks take tensor memory, ptxas spills to make room for more of them than
  /// come.
  static void fixRegistersAtLaunch(LLVM::LLVMFuncOp Kernel) {
    auto Found = Kernel.walk([](Operation *Op) {
      return isa<NVVM::SetMaxRegisterOp, NVVM::Tcgen05AllocOp>(Op)
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (Found.wasInterrupted())
      Kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      Builder(Kernel.getContext()).getI32IntegerAttr(1));
  }
};

} // namespace

void buildNvvmPipeline(OpPassManager &Passes) {
  Passes.addPass(std::make_unique<MarkParametersPass>());
  Passes.addPass(tile::createLowerTilePass());
  Passes.addPass(std::make_unique<ExpandIndexOpsPass>());
  Passes.addPass(createSCFToControlFlowPass());
  Passes.addPass(std::make_unique<LowerMathPass>());
  Passes.addPass(std::make_unique<CheckMathPass>());
  Passes.addPass(std::make_unique<ConvertToNvvmPass>());
  Passes.addPass(createConvertNVVMToLLVMPass()); // those that are inline PTX
  Passes.addPass(createReconcileUnrealizedCastsPass());
}

void registerNvvmPipeline() {
  PassPipelineRegistration<>(
      "kpc-lower-to-nvvm",
      "Lowers the functions of a gpu.module to the llvm and nvvm dialects",
      [](OpPassManager &Passes) { buildNvvmPipeline(Passes); });
}

bool verifiesEachPass() {
  const char *Value = std::getenv("KPC_VERIFY_KERNELS");
  return Value && *Value;
}

LogicalResult lowerToNvvm(gpu::GPUModuleOp Module) {
  PassManager Passes(Module.getContext(), gpu::GPUModuleOp::getOperationName());
  Passes.enableVerifier(verifiesEachPass());
  buildNvvmPipeline(Passes);
  // LLVM verifies what it is given: emitPtx.
  return Passes.run(Module);
}

} // namespace kpc::nvptx
