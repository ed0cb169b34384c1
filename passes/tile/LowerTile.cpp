//===- LowerTile.cpp - From tile to nvvm and llvm -------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In: a gpu.module whose kernels hold tile ops with places in shared memory
/// (kpc-place-shared). Out: the same with nvvm and llvm ops; scf, arith and
/// memref stay for the passes behind. A view becomes a parameter of 128 bytes.
///
///   %d = tile.await %pending : !tile.pending<!d> -> !d
///   nvvm.wgmma.wait.group.sync.aligned 0
///   %d = llvm.inline_asm has_side_effects "", "=f,…,0,…" %s0, … : …
///
//===----------------------------------------------------------------------===//

#include "passes/tile/LowerTile.h"
#include "passes/tile/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace kpc::tile;

namespace {

void addConversions(TypeConverter &Types) {
  Types.addConversion([](Type Ty) { return Ty; });
  Types.addConversion(
      [](ViewType Ty) { return LLVM::LLVMPointerType::get(Ty.getContext()); });
  auto Shared = [](Type Ty) {
    return LLVM::LLVMPointerType::get(Ty.getContext(), 3);
  };
  Types.addConversion([=](SharedType Ty) { return Shared(Ty); });
  Types.addConversion([=](PipeType Ty) { return Shared(Ty); });
  Types.addConversion([](TensorMemoryType Ty) {
    return LLVM::LLVMPointerType::get(Ty.getContext(),
                                      unsigned(NVVM::NVVMMemorySpace::Tensor));
  });
  auto Word = [](Type Ty) { return IntegerType::get(Ty.getContext(), 32); };
  Types.addConversion([=](StageType Ty) { return Word(Ty); });
  Types.addConversion([=](CursorType Ty) { return Word(Ty); });
  auto Values = [](FragmentType Ty) {
    SmallVector<Type> Each(Ty.getPerThread(), Ty.getElement());
    return LLVM::LLVMStructType::getLiteral(Ty.getContext(), Each);
  };
  Types.addConversion([=](FragmentType Ty) { return Values(Ty); });
  Types.addConversion([](ColumnType Ty) {
    SmallVector<Type> Each(Ty.getPerThread(), Ty.getElement());
    return LLVM::LLVMStructType::getLiteral(Ty.getContext(), Each);
  });
  Types.addConversion([=](PackedType Ty) {
    SmallVector<Type> Each(Ty.getPerThread(), Word(Ty));
    return LLVM::LLVMStructType::getLiteral(Ty.getContext(), Each);
  });
  Types.addConversion([=](FactorsType Ty) {
    SmallVector<Type> Each(Ty.getPerThread(), Word(Ty));
    return LLVM::LLVMStructType::getLiteral(Ty.getContext(), Each);
  });
  Types.addConversion([=](PendingType Ty) {
    FragmentType Of = Ty.getFragment();
    if (!Of.isTmemLayout())
      return Values(Of);
    SmallVector<Type> Each(Of.getPerThread(), Word(Ty));
    return LLVM::LLVMStructType::getLiteral(Ty.getContext(), Each);
  });
  auto Cast = [](OpBuilder &B, Type Ty, ValueRange Values, Location Loc) {
    return UnrealizedConversionCastOp::create(B, Loc, Ty, Values).getResult(0);
  };
  Types.addSourceMaterialization(Cast);
  Types.addTargetMaterialization(Cast);
}

/// A view is a pointer to its parameter; the lowering of kernels makes that one
/// that is passed by value.
void passViewsAsPointers(gpu::GPUFuncOp Kernel) {
  Builder B(Kernel.getContext());
  auto Pointer = LLVM::LLVMPointerType::get(Kernel.getContext());
  SmallVector<Type> Inputs(Kernel.getFunctionType().getInputs());
  OpBuilder At = OpBuilder::atBlockBegin(&Kernel.getBody().front());
  for (unsigned I = 0; I < Inputs.size(); ++I) {
    if (!isa<ViewType>(Inputs[I]))
      continue;
    BlockArgument Argument = Kernel.getArgument(I);
    Type View = Inputs[I];
    Inputs[I] = Pointer;
    Argument.setType(Pointer);
    auto Cast = UnrealizedConversionCastOp::create(At, Kernel.getLoc(), View,
                                                   ValueRange{Argument});
    Argument.replaceAllUsesExcept(Cast.getResult(0), Cast);
  }
  Kernel.setFunctionType(B.getFunctionType(Inputs, {}));
}

ThreadPlace placeThread(gpu::GPUFuncOp Kernel) {
  OpBuilder B = OpBuilder::atBlockBegin(&Kernel.getBody().front());
  Location Loc = Kernel.getLoc();
  NvvmWriter W(B, Loc);
  Value Thread = W.toI32(gpu::ThreadIdOp::create(B, Loc, gpu::Dimension::x));
  // From lane 0: a value that ptxas keeps in uniform registers.
  Value Warp = NVVM::ShflOp::create(B, Loc, B.getI32Type(), W.i32(-1),
                                    W.shiftRight(Thread, 5), W.i32(0),
                                    W.i32(31), NVVM::ShflKind::idx, UnitAttr());
  return {Thread, W.bitAnd(Thread, 31), Warp};
}

struct LowerTile : PassWrapper<LowerTile, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerTile)
  StringRef getArgument() const override { return "kpc-lower-tile"; }
  StringRef getDescription() const override {
    return "Turns tile ops into nvvm and llvm";
  }
  void getDependentDialects(DialectRegistry &Registry) const override {
    Registry
        .insert<arith::ArithDialect, LLVM::LLVMDialect, memref::MemRefDialect,
                NVVM::NVVMDialect, scf::SCFDialect, vector::VectorDialect>();
  }

  static bool usesTile(gpu::GPUFuncOp Kernel) {
    return Kernel
        .walk([](Operation *Op) {
          return isa<TileDialect>(Op->getDialect()) ? WalkResult::interrupt()
                                                    : WalkResult::advance();
        })
        .wasInterrupted();
  }

  LogicalResult lower(gpu::GPUFuncOp Kernel) {
    MLIRContext *Context = &getContext();
    if (failed(verifyRoles(Kernel)) || failed(verifyPairs(Kernel)) ||
        failed(verifyRings(Kernel)) || failed(verifyEarlyCopies(Kernel)))
      return failure();
    keepPairs(Kernel);
    keepAddressesOfRings(Kernel);
    passViewsAsPointers(Kernel);
    keepWarpsOfRoles(Kernel);
    ThreadPlace Place = placeThread(Kernel);
    TypeConverter Types;
    addConversions(Types);
    RewritePatternSet Patterns(Context);
    populateRolePatterns(Types, Patterns, Place);
    populatePipePatterns(Types, Patterns, Place);
    populateCopyPatterns(Types, Patterns, Place);
    populateClusterPatterns(Types, Patterns, Place);
    populateMmaPatterns(Types, Patterns, Place);
    populateFragmentPatterns(Types, Patterns, Place);
    populateFragmentMovePatterns(Types, Patterns, Place);
    populateApplyPatterns(Types, Patterns, Place);
    populateTensorMemoryPatterns(Types, Patterns, Place);
    populateTensorScalePatterns(Types, Patterns, Place);
    populateThreadCopyPatterns(Types, Patterns, Place);
    populateMultiplyPatterns(Types, Patterns, Place);
    populateWindowPatterns(Types, Patterns, Place);
    populateScaledPatterns(Types, Patterns, Place);
    populateRingPatterns(Types, Patterns, Place);
    ConversionTarget Target(*Context);
    Target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    Target.addIllegalDialect<TileDialect>();
    scf::populateSCFStructuralTypeConversionsAndLegality(Types, Patterns,
                                                         Target);
    return applyPartialConversion(Kernel, Target, std::move(Patterns));
  }

  void runOnOperation() override {
    for (auto Kernel : llvm::to_vector(getOperation().getOps<gpu::GPUFuncOp>()))
      if (usesTile(Kernel) && failed(lower(Kernel)))
        return signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> kpc::tile::createLowerTilePass() {
  return std::make_unique<LowerTile>();
}

void kpc::tile::registerTilePasses() {
  registerPass(createPlaceSharedPass);
  registerPass(createLowerTilePass);
}
