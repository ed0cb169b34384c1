//===- CompileKernel.cpp - One GPU kernel, from linalg form to PTX --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/nvptx/CompileKernel.h"
#include "codegen/nvptx/TensorMapAttr.h"
#include "dialects/kernel/Kernel.h"
#include "dialects/kernel/KernelRecurrent.h"
#include "dialects/tile/Tile.h"
#include "mlir/Pass/PassManager.h"
#include "passes/kernels/gpu/GpuBuilder.h"
#include "passes/kernels/math/ExpandMath.h"
#include "passes/tile/Passes.h"

using namespace mlir;

namespace kpc::nvptx {

/// cvt to e4m3x2 and e5m2x2, as LLVM selects it.
static bool hasFp8Conversions(const target::Target &T) {
  return T.Compute >= 89 && T.PtxVersion >= 81;
}

/// The launch attributes that a builder has left.
static LogicalResult readLaunch(gpu::GPUFuncOp Kernel, CompiledKernel &Into) {
  kernel::LaunchAttr Launch = kernel::launchOf(Kernel);
  if (!Launch)
    return Kernel.emitOpError("expected 'kernel.launch', which says how it is "
                              "launched, got none");
  for (unsigned I = 0; I < 3; ++I) {
    Into.Grid[I] = cast<StringAttr>(Launch.getGrid()[I]).str();
    Into.Block[I] = Launch.getBlock()[I];
  }
  Into.Symbol = Kernel.getName().str();
  Into.SharedBytes = Launch.getShared();
  Into.NoEarlyStart = Launch.getNoEarlyStart();
  Into.Cooperative = Kernel->hasAttr(kernel::CooperativeName);
  if (kernel::BuffersAttr Buffers = kernel::buffersOf(Kernel))
    for (auto [I, Ty] : llvm::enumerate(Kernel.getFunctionType().getInputs()))
      if (isa<MemRefType>(Ty) && !Buffers.isRead(int64_t(I)) &&
          !Buffers.isWritten(int64_t(I)))
        Into.Unread.push_back(int64_t(I));
  if (kernel::ScheduleAttr Schedule = kernel::scheduleOf(Kernel))
    Into.Schedule = Schedule.getText().str();
  if (auto Costs = Kernel->getParentOp()->getAttrOfType<ArrayAttr>(
          kernel::KernelDialect::ScheduleCostsAttrHelper::getNameStr()))
    for (auto Text : Costs.getAsRange<StringAttr>())
      Into.ScheduleCosts.push_back(Text.str());
  auto Maps = readTensorMaps(Kernel);
  if (failed(Maps))
    return failure();
  Into.TensorMaps = std::move(*Maps);
  return success();
}

/// Whether a kernel is written in the tile dialect.
static bool holdsTile(gpu::GPUModuleOp Module) {
  return Module
      ->walk([](Operation *Op) {
        return isa_and_nonnull<tile::TileDialect>(Op->getDialect())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// What a kernel takes of tensor memory, or is given of it.
static int64_t tensorMemoryColumns(gpu::GPUFuncOp Kernel) {
  int64_t Taken = 0, Given = 0;
  Kernel.walk([&](Operation *Op) {
    if (auto Alloc = dyn_cast<tile::TmemAllocOp>(Op))
      Taken += Alloc.getMemory().getType().getColumns();
    for (Type Ty : Op->getOperandTypes())
      if (auto Memory = dyn_cast<tile::TensorMemoryType>(Ty))
        Given = std::max(Given, Memory.getColumns());
  });
  return std::max(Taken, Given);
}

FailureOr<CompiledKernel>
buildAndCompileGpuKernel(ModuleOp Module, const target::Target &T,
                         const GpuListings &Listings) {
  auto Kernels = llvm::to_vector(Module.getOps<func::FuncOp>());
  auto Built = llvm::to_vector(Module.getOps<gpu::GPUModuleOp>());
  if (Kernels.size() + Built.size() != 1)
    return Module.emitError("must hold one kernel, not ")
           << Kernels.size() + Built.size();
  FailureOr<gpu::GPUModuleOp> Gpu =
      Built.empty() ? kernels::buildGpuKernel(Kernels.front(), T)
                    : FailureOr<gpu::GPUModuleOp>(Built.front());
  if (failed(Gpu))
    return failure();
  if (Gpu->getOps<gpu::GPUFuncOp>().empty())
    return Gpu->emitError("holds no kernel");
  bool IsTile = holdsTile(*Gpu);
  if (Listings.Tile && IsTile) {
    llvm::raw_string_ostream Stream(*Listings.Tile);
    Module.print(Stream); // the outermost op: types get short names
  }
  if (Listings.InPtx && IsTile)
    locateInText(Module, "tile");
  PassManager Place(Module.getContext(), (*Gpu)->getName().getStringRef());
  Place.addPass(tile::createPlaceSharedPass());
  if (failed(Place.run(*Gpu)))
    return failure();
  CompiledKernel Result;
  auto Functions = Gpu->getOps<gpu::GPUFuncOp>();
  if (!llvm::hasSingleElement(Functions))
    return Gpu->emitError("must hold one function, not ")
           << std::distance(Functions.begin(), Functions.end());
  gpu::GPUFuncOp Kernel = *Functions.begin();
  if (failed(readLaunch(Kernel, Result)))
    return failure();
  if (Result.SharedBytes > T.Limit.SharedPerBlock)
    return Kernel.emitOpError("takes ")
           << Result.SharedBytes << " bytes of shared memory; a block of "
           << T.Name.data() << " has " << T.Limit.SharedPerBlock;
  int64_t Columns = tensorMemoryColumns(Kernel);
  if (Columns > T.Limit.TensorMemoryColumns)
    return Kernel.emitOpError("takes ")
           << Columns << " columns of tensor memory; a block of "
           << T.Name.data() << " has " << T.Limit.TensorMemoryColumns;
  PassManager Passes(Module.getContext(), (*Gpu)->getName().getStringRef());
  Passes.enableVerifier(verifiesEachPass());
  Passes.addPass(kernels::createExpandMathPass(hasFp8Conversions(T)));
  if (failed(Passes.run(*Gpu)))
    return failure();
  FailureOr<std::string> Ptx = compileToPtx(*Gpu, T, Listings);
  if (failed(Ptx))
    return failure();
  Result.Ptx = std::move(*Ptx);
  return Result;
}

} // namespace kpc::nvptx
