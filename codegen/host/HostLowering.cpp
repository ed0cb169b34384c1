//===- HostLowering.cpp - Loops to the LLVM dialect -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/host/HostLowering.h"
#include "dialects/kernel/Kernel.h"

#include "codegen/host/SoftFloat.h"
#include "codegen/host/StoredFloat.h"
#include "passes/kernels/form/BoolStorage.h"
#include "passes/kernels/math/ExpandMath.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace kpc::codegen {

void registerHostDialects(DialectRegistry &Registry) {
  Registry.insert<affine::AffineDialect, arith::ArithDialect,
                  bufferization::BufferizationDialect, cf::ControlFlowDialect,
                  func::FuncDialect, kernel::KernelDialect,
                  linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
                  ub::UBDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(Registry);
  registerLLVMDialectTranslation(Registry);
}

void loadHostDialects(MLIRContext &Context) {
  DialectRegistry Registry;
  registerHostDialects(Registry);
  Context.appendDialectRegistry(Registry);
  for (StringRef Name : Registry.getDialectNames())
    Context.getOrLoadDialect(Name);
}

//===----------------------------------------------------------------------===//
// Arithmetic that the CPU has not
//===----------------------------------------------------------------------===//

/// Math functions, and floats that the CPU only stores, in plain arithmetic:
/// LLVM would call a library for them.
static LogicalResult expandArithmetic(ModuleOp Kernels,
                                      const HostTargetOptions &Options) {
  RewritePatternSet Patterns(Kernels.getContext());
  kernels::populateExpandMathPatterns(Patterns);
  populateSoftFloatPatterns(Patterns, Options);
  arith::populateCeilFloorDivExpandOpsPatterns(Patterns);
  affine::populateAffineExpandIndexOpsPatterns(Patterns);
  GreedyRewriteConfig Config;
  Config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  return applyPatternsGreedily(Kernels, std::move(Patterns), Config);
}

//===----------------------------------------------------------------------===//
// The host ABI
//===----------------------------------------------------------------------===//

/// Makes `Body` internal and adds the entry that unpacks its parameters.
static void makeEntry(LLVM::LLVMFuncOp Body) {
  OpBuilder B(Body);
  Location Loc = Body.getLoc();
  MLIRContext *Context = B.getContext();
  StringAttr Symbol = Body.getSymNameAttr();
  Body.setSymName((Symbol.getValue() + ".body").str());
  Body.setLinkage(LLVM::Linkage::Internal);
  Body.setNoInline(true);
  Body.setDsoLocal(true);
  for (unsigned I = 0; I < Body.getNumArguments(); ++I)
    if (isa<LLVM::LLVMPointerType>(Body.getArgument(I).getType())) {
      Body.setArgAttr(I, LLVM::LLVMDialect::getNoAliasAttrName(),
                      B.getUnitAttr());
      // What the runtime's arena and weights guarantee, in bytes.
      Body.setArgAttr(I, LLVM::LLVMDialect::getAlignAttrName(),
                      B.getI64IntegerAttr(64));
    }

  Type Pointer = LLVM::LLVMPointerType::get(Context);
  Type Word = B.getI64Type();
  auto Type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(Context),
                                          {Pointer, Word, Word});
  auto Entry = LLVM::LLVMFuncOp::create(B, Loc, Symbol.getValue(), Type);
  Entry.setDsoLocal(true);
  Block *Block = Entry.addEntryBlock(B);
  B.setInsertionPointToStart(Block);
  SmallVector<Value> Arguments;
  unsigned NumParams = Body.getNumArguments() - 2;
  for (unsigned I = 0; I < NumParams; ++I) {
    Value At = LLVM::GEPOp::create(B, Loc, Pointer, Word, Block->getArgument(0),
                                   LLVM::GEPArg(I));
    Arguments.push_back(
        LLVM::LoadOp::create(B, Loc, Body.getArgument(I).getType(), At));
  }
  Arguments.push_back(Block->getArgument(1));
  Arguments.push_back(Block->getArgument(2));
  LLVM::CallOp::create(B, Loc, Body, Arguments);
  LLVM::ReturnOp::create(B, Loc, ValueRange());
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

static LogicalResult lowerControlFlow(ModuleOp Kernels) {
  RewritePatternSet Patterns(Kernels.getContext());
  populateSCFToControlFlowConversionPatterns(Patterns);
  populateAffineToStdConversionPatterns(Patterns);
  ConversionTarget Target(*Kernels.getContext());
  Target.addIllegalDialect<scf::SCFDialect, affine::AffineDialect>();
  Target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(Kernels, Target, std::move(Patterns));
}

static LogicalResult convertToLlvm(ModuleOp Kernels,
                                   const HostTargetOptions &Options) {
  MLIRContext *Context = Kernels.getContext();
  LowerToLLVMOptions Lowering(Context);
  Lowering.useBarePtrCallConv = true;
  Lowering.overrideIndexBitwidth(64);
  LLVMTypeConverter Converter(Context, Lowering);
  RewritePatternSet Patterns(Context);
  convertStoredFloats(Converter, Patterns, Options);
  populateFuncToLLVMConversionPatterns(Converter, Patterns);
  cf::populateControlFlowToLLVMConversionPatterns(Converter, Patterns);
  arith::populateArithToLLVMConversionPatterns(Converter, Patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(Converter, Patterns);
  populateMathToLLVMConversionPatterns(Converter, Patterns);
  populateVectorToLLVMConversionPatterns(Converter, Patterns);
  vector::populateVectorStepLoweringPatterns(Patterns); // masks become steps
  ub::populateUBToLLVMConversionPatterns(Converter, Patterns);
  LLVMConversionTarget Target(*Context);
  Target.addLegalOp<ModuleOp>();
  if (failed(applyPartialConversion(Kernels, Target, std::move(Patterns))))
    return failure();
  PassManager Passes(Context);
  Passes.addPass(createReconcileUnrealizedCastsPass());
  return Passes.run(Kernels);
}

/// What the kernel dialect says of functions and arguments means nothing to
/// LLVM, and does not hold of pointers.
static void dropKernelAttributes(ModuleOp Kernels) {
  auto IsOurs = [](NamedAttribute Attr) {
    return isa_and_present<kernel::KernelDialect>(Attr.getNameDialect());
  };
  for (auto Func : Kernels.getOps<func::FuncOp>()) {
    for (NamedAttribute Attr : llvm::to_vector(Func->getDiscardableAttrs()))
      if (IsOurs(Attr))
        Func->removeDiscardableAttr(Attr.getName());
    for (unsigned I = 0; I < Func.getNumArguments(); ++I)
      for (NamedAttribute Attr :
           llvm::to_vector(cast<FunctionOpInterface>(*Func).getArgAttrs(I)))
        if (IsOurs(Attr))
          Func.removeArgAttr(I, Attr.getName());
  }
}

LogicalResult lowerHostKernels(ModuleOp Kernels,
                               const HostTargetOptions &Options) {
  dropKernelAttributes(Kernels);
  PassManager Passes(Kernels.getContext());
  Passes.addPass(createCanonicalizerPass());
  Passes.addPass(kernels::createExpandMathPass());
  Passes.addPass(createCSEPass());
  Passes.addPass(createLoopInvariantCodeMotionPass());
  if (failed(Passes.run(Kernels)))
    return failure();
  for (auto Func : Kernels.getOps<func::FuncOp>())
    if (failed(kernels::storeBoolsAsBytes(Func)))
      return failure();
  if (failed(expandArithmetic(Kernels, Options)) ||
      failed(lowerControlFlow(Kernels)) ||
      failed(convertToLlvm(Kernels, Options)))
    return failure();
  for (auto Func :
       llvm::make_early_inc_range(Kernels.getOps<LLVM::LLVMFuncOp>()))
    if (!Func.isExternal())
      makeEntry(Func);
  return success();
}

namespace {
struct HostLower : PassWrapper<HostLower, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HostLower)
  StringRef getArgument() const override { return "kpc-host-lower"; }
  StringRef getDescription() const override {
    return "Lowers host loops to the LLVM dialect, with entries of the host "
           "ABI";
  }
  void getDependentDialects(DialectRegistry &Registry) const override {
    registerHostDialects(Registry);
  }
  void runOnOperation() override {
    if (failed(lowerHostKernels(getOperation(), HostTargetOptions())))
      signalPassFailure();
  }
};
} // namespace

void registerHostLoweringPass() { PassRegistration<HostLower>(); }

} // namespace kpc::codegen
