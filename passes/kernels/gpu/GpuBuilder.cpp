//===- GpuBuilder.cpp - Choice of a GPU builder ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/GpuBuilder.h"
#include "dialects/kernel/Kernel.h"
#include "passes/kernels/form/BoolStorage.h"
#include "passes/kernels/gpu/ApproximateMath.h"
#include "passes/kernels/gpu/FormedFor.h"
#include "passes/kernels/gpu/KernelFamily.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kpc::kernels {

/// `Buffers` without those of `Unread`.
static kernel::BuffersAttr withoutReads(kernel::BuffersAttr Buffers,
                                        ArrayRef<unsigned> Unread) {
  SmallVector<int64_t> Reads, Bytes;
  for (int64_t I : Buffers.getReads().asArrayRef()) {
    if (llvm::is_contained(Unread, unsigned(I)))
      continue;
    Reads.push_back(I);
    Bytes.push_back(Buffers.getWeightBytesOf(I));
  }
  Builder B(Buffers.getContext());
  return kernel::BuffersAttr::get(
      Buffers.getContext(), B.getDenseI64ArrayAttr(Reads), Buffers.getWrites(),
      Buffers.getWeightBytes() ? B.getDenseI64ArrayAttr(Bytes)
                               : DenseI64ArrayAttr());
}

/// Moves the body of the finished function into a gpu.func.
static gpu::GPUModuleOp wrapAsKernel(func::FuncOp Func,
                                     const GpuLaunch &Launch) {
  OpBuilder B(Func);
  Location Loc = Func.getLoc();
  auto Module = gpu::GPUModuleOp::create(B, Loc, Func.getName());
  B.setInsertionPointToStart(Module.getBody());
  SmallVector<Type> SharedTypes;
  SmallVector<memref::AllocOp> Shared;
  Func.walk([&](memref::AllocOp Alloc) {
    Shared.push_back(Alloc);
    SharedTypes.push_back(Alloc.getType());
  });
  auto Kernel = gpu::GPUFuncOp::create(B, Loc, Func.getName(),
                                       Func.getFunctionType(), SharedTypes);
  for (NamedAttribute Attr : Func->getDiscardableAttrs())
    if (Attr.getName() !=
        kernel::KernelDialect::ForcedScheduleAttrHelper::getNameStr())
      Kernel->setAttr(Attr.getName(), Attr.getValue());
  if (!Launch.Unread.empty())
    Kernel->setAttr(kernel::KernelDialect::BuffersAttrHelper::getNameStr(),
                    withoutReads(kernel::buffersOf(Func), Launch.Unread));
  Kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), B.getUnitAttr());
  Kernel.setKnownBlockSize(Launch.Block);
  ArrayAttr Grid =
      B.getStrArrayAttr({Launch.Grid[0], Launch.Grid[1], Launch.Grid[2]});
  Kernel->setAttr(kernel::KernelDialect::LaunchAttrHelper::getNameStr(),
                  kernel::LaunchAttr::get(
                      B.getContext(), Grid,
                      B.getDenseI32ArrayAttr(Launch.Block), Launch.SharedBytes,
                      std::max<int64_t>(Launch.Cluster, 1),
                      Launch.NoEarlyPdlTrigger, Launch.PrefetchesPart,
                      Launch.NoEarlyStart));
  if (Launch.ResidentBlocks > 0)
    Kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    B.getI32IntegerAttr(Launch.ResidentBlocks));
  Kernel->setAttr(kernel::KernelDialect::ScheduleAttrHelper::getNameStr(),
                  kernel::ScheduleAttr::get(B.getContext(), Launch.Schedule));
  SmallVector<StringRef> Costs(Launch.Costs.begin(), Launch.Costs.end());
  if (!Costs.empty())
    Module->setAttr(
        kernel::KernelDialect::ScheduleCostsAttrHelper::getNameStr(),
        B.getStrArrayAttr(Costs));

  Block &To = Kernel.getBody().front(), &From = Func.getBody().front();
  // The gpu.func's block has arguments for shared memory behind these.
  for (BlockArgument Old : From.getArguments())
    Old.replaceAllUsesWith(To.getArgument(Old.getArgNumber()));
  for (unsigned I = 0; I < Func.getNumArguments(); ++I) {
    Kernel.setArgAttrs(I, Func.getArgAttrDict(I));
    if (isa<MemRefType>(Kernel.getArgument(I).getType()))
      Kernel.setArgAttr(I, LLVM::LLVMDialect::getAlignAttrName(),
                        B.getI64IntegerAttr(64)); // the kernel ABI's word
  }
  if (!To.empty())
    To.clear();
  To.getOperations().splice(To.end(), From.getOperations());
  for (auto [Alloc, Memory] :
       llvm::zip_equal(Shared, Kernel.getWorkgroupAttributions())) {
    Alloc.getResult().replaceAllUsesWith(Memory);
    Alloc.erase();
  }
  Operation *Return = To.getTerminator();
  B.setInsertionPoint(Return);
  gpu::ReturnOp::create(B, Return->getLoc());
  Return->erase();
  Func.erase();
  return Module;
}

/// So many schedules are told of, with the parts of their costs.
static constexpr size_t ToldSchedules = 3;

static StringRef forcedSchedule(func::FuncOp Func) {
  kernel::ScheduleAttr Forced = kernel::forcedScheduleOf(Func);
  return Forced ? Forced.getText() : StringRef();
}

/// A schedule that the user asks for and that no family has.
static LogicalResult refuseForced(func::FuncOp Func,
                                  ArrayRef<std::string> Legal) {
  InFlightDiagnostic Error = Func.emitError("the schedule '")
                             << forcedSchedule(Func)
                             << "' is none of this kernel's: ";
  if (Legal.empty())
    return Error << "it has no schedules to choose from";
  constexpr size_t MostTold = 12;
  size_t Told = std::min(Legal.size(), MostTold);
  Error << "legal are '" << llvm::join(Legal.take_front(Told), "', '") << "'";
  if (Told < Legal.size())
    Error << " and " << Legal.size() - Told << " more";
  return Error;
}

/// A kernel that no family takes; the last family takes most.
static LogicalResult refuseKernel(func::FuncOp Func,
                                  const KernelOffers &Offers) {
  return Func.emitOpError("fits no kernel family; '")
         << Offers.refusals().back().Family << "' does not take it, because "
         << Offers.refusals().back().Reason;
}

/// Lanes that stand under one condition (the padding of a convolution) each
/// brought an scf.if of it: neighbours of one condition become one, in which
/// the back end joins their loads.
static LogicalResult mergeIfs(gpu::GPUModuleOp Module) {
  RewritePatternSet Patterns(Module.getContext());
  scf::IfOp::getCanonicalizationPatterns(Patterns, Module.getContext());
  return applyPatternsGreedily(Module, std::move(Patterns));
}

/// What builders write with; the form may use none of these yet.
static void loadDialects(MLIRContext *Context) {
  Context->loadDialect<
      arith::ArithDialect, gpu::GPUDialect, kernel::KernelDialect,
      LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect,
      NVVM::NVVMDialect, scf::SCFDialect, vector::VectorDialect>();
}

std::vector<schedule::RankedSchedule>
rankGpuSchedules(func::FuncOp Func, const target::Target &T) {
  FailureOr<FusedKernel> Form = FusedKernel::read(Func);
  if (!T.isGpu() || failed(Form))
    return {};
  return KernelOffers(*Form, T).ranking();
}

std::vector<schedule::Refusal> gpuRefusals(func::FuncOp Func,
                                           const target::Target &T) {
  FailureOr<FusedKernel> Form = FusedKernel::read(Func);
  if (!T.isGpu() || failed(Form))
    return {};
  return KernelOffers(*Form, T).refusals().vec();
}

FailureOr<gpu::GPUModuleOp> buildGpuKernel(func::FuncOp Func,
                                           const target::Target &T) {
  if (!T.isGpu())
    return Func.emitOpError("cannot be built for '")
           << T.Name.data() << "': it is not a GPU";
  FailureOr<FusedKernel> Form = FusedKernel::read(Func);
  if (failed(Form))
    return failure();
  StringRef Forced = forcedSchedule(Func);
  KernelOffers Offers(*Form, T, /*All=*/!Forced.empty());
  std::optional<KernelOffers::Place> Chosen =
      Forced.empty() ? Offers.best() : Offers.find(Forced);
  if (!Chosen)
    return Forced.empty() ? refuseKernel(Func, Offers)
                          : refuseForced(Func, Offers.texts());
  if (Forced.empty() && familiesAreStrict() &&
      failed(checkFormedFor(*Form, Offers, *Chosen)))
    return failure();
  GpuLaunch Launch;
  Launch.Schedule = Offers.schedule(*Chosen).Schedule;
  Launch.Costs = Offers.costs(*Chosen, ToldSchedules);
  loadDialects(Func.getContext());
  if (failed(Offers.answer(*Chosen).emit(Chosen->Schedule, Launch)))
    return failure();
  eraseTensorOps(Func);
  markApproximateMath(*Form);
  if (failed(storeBoolsAsBytes(Func)))
    return failure();
  gpu::GPUModuleOp Module = wrapAsKernel(Func, Launch);
  if (failed(mergeIfs(Module)))
    return failure();
  return Module;
}

namespace {
struct GpuBuildKernels : PassWrapper<GpuBuildKernels, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GpuBuildKernels)

  GpuBuildKernels() = default;
  GpuBuildKernels(const GpuBuildKernels &Other) : PassWrapper(Other) {}

  StringRef getArgument() const override { return "kpc-gpu-build-kernels"; }
  StringRef getDescription() const override {
    return "Turns kernels in their linalg form into gpu.func, each in a "
           "gpu.module of its own";
  }
  void getDependentDialects(DialectRegistry &Registry) const override {
    Registry.insert<affine::AffineDialect, arith::ArithDialect, gpu::GPUDialect,
                    kernel::KernelDialect, LLVM::LLVMDialect, math::MathDialect,
                    memref::MemRefDialect, NVVM::NVVMDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }
  void runOnOperation() override {
    target::Lookup Found = target::lookup(Arch, target::Machine());
    if (!Found) {
      getOperation().emitError(Found.Error);
      return signalPassFailure();
    }
    SmallVector<func::FuncOp> Kernels;
    for (func::FuncOp Func : getOperation().getOps<func::FuncOp>())
      if (kernel::buffersOf(Func))
        Kernels.push_back(Func);
    for (func::FuncOp Func : Kernels)
      if (failed(buildGpuKernel(Func, *Found.Targets.front())))
        signalPassFailure();
  }

  Option<std::string> Arch{*this, "arch",
                           llvm::cl::desc("the target, as --arch names it"),
                           llvm::cl::init("sm_90a")};
};
} // namespace

void registerGpuBuildPass() { PassRegistration<GpuBuildKernels>(); }

} // namespace kpc::kernels
