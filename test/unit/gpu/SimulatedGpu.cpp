//===- SimulatedGpu.cpp - Runs a built GPU kernel on the CPU --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimulatedGpu.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUCommon/GPUCommonPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>
#include <ucontext.h>

using namespace mlir;

namespace kpc::testing {

//===----------------------------------------------------------------------===//
// Threads as fibers
//===----------------------------------------------------------------------===//

namespace {

constexpr size_t StackBytes = 128 * 1024;

enum class State { Ready, AtBarrier, AtShuffle, Ended };

struct Fiber {
  ucontext_t Context;
  std::unique_ptr<char[]> Stack{new char[StackBytes]};
  State Where = State::Ready;
  int32_t Word = 0, Answer = 0, Mask = 0;
};

struct Machine {
  std::vector<Fiber> Fibers;
  ucontext_t Scheduler;
  size_t Current = 0;
  std::array<int64_t, 3> Block, BlockDim, GridDim;
  const uint64_t *Arguments = nullptr;
  void (*Entry)(const uint64_t *) = nullptr;

  void wait(State Where) {
    Fiber &F = Fibers[Current];
    F.Where = Where;
    swapcontext(&F.Context, &Scheduler);
  }
};

Machine *TheMachine = nullptr;

void fiberMain() {
  TheMachine->Entry(TheMachine->Arguments);
  TheMachine->wait(State::Ended);
}

int64_t threadId(int64_t D) {
  int64_t Linear = TheMachine->Current;
  for (int64_t I = 0; I < D; ++I)
    Linear /= TheMachine->BlockDim[I];
  return Linear % TheMachine->BlockDim[D];
}
int64_t blockId(int64_t D) { return TheMachine->Block[D]; }
int64_t blockDim(int64_t D) { return TheMachine->BlockDim[D]; }
int64_t gridDim(int64_t D) { return TheMachine->GridDim[D]; }
void barrier() { TheMachine->wait(State::AtBarrier); }
int32_t shuffle(int32_t Word, int32_t Mask) {
  Fiber &F = TheMachine->Fibers[TheMachine->Current];
  F.Word = Word;
  F.Mask = Mask;
  TheMachine->wait(State::AtShuffle);
  return F.Answer;
}

/// Lets every thread that can run do so until it waits.
void runReady(Machine &M, bool Backwards) {
  for (size_t I = 0; I < M.Fibers.size(); ++I) {
    M.Current = Backwards ? M.Fibers.size() - 1 - I : I;
    Fiber &F = M.Fibers[M.Current];
    if (F.Where == State::Ready)
      swapcontext(&M.Scheduler, &F.Context);
  }
}

/// Answers the shuffles of every warp whose lanes are all there.
bool answerShuffles(Machine &M, std::string &Error) {
  bool Any = false;
  for (size_t W = 0; W < M.Fibers.size(); W += 32) {
    size_t End = std::min(W + 32, M.Fibers.size()), There = 0;
    for (size_t I = W; I < End; ++I)
      There += M.Fibers[I].Where == State::AtShuffle;
    if (There == 0)
      continue;
    if (There != 32) {
      Error = "a shuffle that " + std::to_string(32 - There) +
              " lanes of a warp do not reach";
      return false;
    }
    for (size_t I = W; I < End; ++I)
      M.Fibers[I].Answer = M.Fibers[W + ((I - W) ^ M.Fibers[I].Mask)].Word;
    for (size_t I = W; I < End; ++I)
      M.Fibers[I].Where = State::Ready;
    Any = true;
  }
  return Any;
}

std::string runBlock(Machine &M, bool Backwards, int64_t &Barriers) {
  for (Fiber &F : M.Fibers) {
    getcontext(&F.Context);
    F.Context.uc_stack.ss_sp = F.Stack.get();
    F.Context.uc_stack.ss_size = StackBytes;
    F.Context.uc_link = nullptr;
    makecontext(&F.Context, fiberMain, 0);
    F.Where = State::Ready;
  }
  std::string Error;
  while (true) {
    runReady(M, Backwards);
    if (answerShuffles(M, Error))
      continue;
    if (!Error.empty())
      return Error;
    size_t Ended = 0;
    for (Fiber &F : M.Fibers)
      Ended += F.Where == State::Ended;
    if (Ended == M.Fibers.size())
      return {};
    if (Ended != 0)
      return "a barrier that " + std::to_string(Ended) +
             " threads of a block do not reach";
    ++Barriers;
    for (Fiber &F : M.Fibers)
      F.Where = State::Ready;
  }
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

/// gpu operations as calls of the functions above.
struct CallsForGpuOps {
  ModuleOp Module;
  OpBuilder B;

  explicit CallsForGpuOps(ModuleOp Module)
      : Module(Module), B(Module.getContext()) {}

  func::FuncOp declare(StringRef Name, TypeRange In, TypeRange Out) {
    if (auto Known = Module.lookupSymbol<func::FuncOp>(Name))
      return Known;
    OpBuilder::InsertionGuard Guard(B);
    B.setInsertionPointToStart(Module.getBody());
    auto F = func::FuncOp::create(B, Module.getLoc(), Name,
                                  B.getFunctionType(In, Out));
    F.setPrivate();
    return F;
  }

  template <typename Op> void coordinates(Operation *Root, StringRef Name) {
    auto F = declare(Name, B.getI64Type(), B.getI64Type());
    Root->walk([&](Op Id) {
      B.setInsertionPoint(Id);
      Value D = arith::ConstantOp::create(
          B, Id.getLoc(),
          B.getI64IntegerAttr(static_cast<int64_t>(Id.getDimension())));
      Value V = func::CallOp::create(B, Id.getLoc(), F, D).getResult(0);
      V = arith::IndexCastOp::create(B, Id.getLoc(), B.getIndexType(), V);
      Id.getResult().replaceAllUsesWith(V);
      Id.erase();
    });
  }

  void rewrite(Operation *Root) {
    coordinates<gpu::ThreadIdOp>(Root, "sim_thread_id");
    coordinates<gpu::BlockIdOp>(Root, "sim_block_id");
    coordinates<gpu::BlockDimOp>(Root, "sim_block_dim");
    coordinates<gpu::GridDimOp>(Root, "sim_grid_dim");
    auto Barrier = declare("sim_barrier", {}, {});
    Root->walk([&](gpu::BarrierOp Op) {
      B.setInsertionPoint(Op);
      func::CallOp::create(B, Op.getLoc(), Barrier, ValueRange());
      Op.erase();
    });
    Type I32 = B.getI32Type();
    auto Shuffle = declare("sim_shuffle", {I32, I32}, I32);
    Root->walk([&](gpu::ShuffleOp Op) {
      B.setInsertionPoint(Op);
      Type T = Op.getValue().getType();
      Value Word = Op.getValue();
      if (T != I32)
        Word = arith::BitcastOp::create(B, Op.getLoc(), I32, Word);
      Word = func::CallOp::create(B, Op.getLoc(), Shuffle,
                                  ValueRange{Word, Op.getOffset()})
                 .getResult(0);
      if (T != I32)
        Word = arith::BitcastOp::create(B, Op.getLoc(), T, Word);
      Op.getShuffleResult().replaceAllUsesWith(Word);
      Op.erase();
    });
  }
};

/// The kernel as a plain function, its shared memory as more arguments.
func::FuncOp asFunction(gpu::GPUFuncOp Kernel, ModuleOp Into) {
  OpBuilder B(Into.getContext());
  B.setInsertionPointToEnd(Into.getBody());
  SmallVector<Type> Types(Kernel.getBody().front().getArgumentTypes());
  auto F = func::FuncOp::create(B, Kernel.getLoc(), "kernel",
                                B.getFunctionType(Types, {}));
  IRMapping Map;
  Kernel.getBody().cloneInto(&F.getBody(), Map);
  F.walk([&](gpu::ReturnOp Return) {
    B.setInsertionPoint(Return);
    func::ReturnOp::create(B, Return.getLoc());
    Return.erase();
  });
  return F;
}

LogicalResult convertToLlvm(ModuleOp Module) {
  MLIRContext *Context = Module.getContext();
  RewritePatternSet Expand(Context);
  arith::populateCeilFloorDivExpandOpsPatterns(Expand);
  // Not every CPU converts to bf16.
  arith::populateExpandBFloat16Patterns(Expand);
  memref::populateExpandStridedMetadataPatterns(Expand);
  if (failed(applyPatternsGreedily(Module, std::move(Expand))))
    return failure();
  PassManager Passes(Context);
  Passes.addPass(createLowerAffinePass());
  Passes.addPass(createSCFToControlFlowPass());
  Passes.addPass(createConvertMathToLLVMPass());
  if (failed(Passes.run(Module)))
    return failure();
  LowerToLLVMOptions Options(Context);
  Options.useBarePtrCallConv = true;
  LLVMTypeConverter Types(Context, Options);
  populateGpuMemorySpaceAttributeConversions(
      Types, [](gpu::AddressSpace) { return 0u; });
  RewritePatternSet Patterns(Context);
  arith::populateArithToLLVMConversionPatterns(Types, Patterns);
  cf::populateControlFlowToLLVMConversionPatterns(Types, Patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(Types, Patterns);
  populateFuncToLLVMConversionPatterns(Types, Patterns);
  ub::populateUBToLLVMConversionPatterns(Types, Patterns);
  populateVectorToLLVMConversionPatterns(Types, Patterns);
  LLVMConversionTarget Target(*Context);
  Target.addLegalOp<ModuleOp>();
  if (failed(applyPartialConversion(Module, Target, std::move(Patterns))))
    return failure();
  PassManager Last(Context);
  Last.addPass(createReconcileUnrealizedCastsPass());
  return Last.run(Module);
}

/// `void entry(const uint64_t *)`, which calls `kernel` with its arguments.
void addEntry(llvm::Module &M) {
  llvm::Function *Kernel = M.getFunction("kernel");
  llvm::IRBuilder<> B(M.getContext());
  auto *F = llvm::Function::Create(
      llvm::FunctionType::get(B.getVoidTy(), {B.getPtrTy()}, false),
      llvm::Function::ExternalLinkage, "entry", M);
  B.SetInsertPoint(llvm::BasicBlock::Create(M.getContext(), "", F));
  std::vector<llvm::Value *> Arguments;
  for (llvm::Argument &A : Kernel->args())
    Arguments.push_back(B.CreateLoad(
        A.getType(),
        B.CreateConstGEP1_64(B.getInt64Ty(), F->getArg(0), A.getArgNo())));
  B.CreateCall(Kernel, Arguments);
  B.CreateRetVoid();
}

} // namespace

SimulatedKernel::SimulatedKernel() = default;
SimulatedKernel::~SimulatedKernel() = default;

std::unique_ptr<SimulatedKernel> SimulatedKernel::create(gpu::GPUModuleOp Gpu,
                                                         std::string &Error) {
  auto Kernel = *Gpu.getOps<gpu::GPUFuncOp>().begin();
  std::unique_ptr<SimulatedKernel> Result(new SimulatedKernel());
  for (unsigned I = 0; I < 3; ++I)
    Result->Block[I] = (*Kernel.getKnownBlockSize())[I];
  for (BlockArgument Shared : Kernel.getWorkgroupAttributions()) {
    auto Type = cast<MemRefType>(Shared.getType());
    Result->SharedBytes.push_back(Type.getNumElements() *
                                  Type.getElementTypeBitWidth() / 8);
  }
  OwningOpRef<ModuleOp> Module = ModuleOp::create(Gpu.getLoc());
  CallsForGpuOps(*Module).rewrite(asFunction(Kernel, *Module));
  Error = "lowering for the simulation failed";
  if (failed(convertToLlvm(*Module)))
    return nullptr;
  auto Context = std::make_unique<llvm::LLVMContext>();
  auto Llvm = translateModuleToLLVMIR(*Module, *Context);
  if (!Llvm)
    return nullptr;
  addEntry(*Llvm);

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto Fail = [&](llvm::Error E) {
    Error = llvm::toString(std::move(E));
    return nullptr;
  };
  auto Jit = llvm::orc::LLJITBuilder().create();
  if (!Jit)
    return Fail(Jit.takeError());
  llvm::orc::SymbolMap Symbols;
  auto Define = [&](const char *Name, auto *Function) {
    Symbols[(*Jit)->mangleAndIntern(Name)] = {
        llvm::orc::ExecutorAddr::fromPtr(Function),
        llvm::JITSymbolFlags::Exported};
  };
  Define("sim_thread_id", &threadId);
  Define("sim_block_id", &blockId);
  Define("sim_block_dim", &blockDim);
  Define("sim_grid_dim", &gridDim);
  Define("sim_barrier", &barrier);
  Define("sim_shuffle", &shuffle);
  auto &Library = (*Jit)->getMainJITDylib();
  if (auto E = Library.define(llvm::orc::absoluteSymbols(Symbols)))
    return Fail(std::move(E));
  if (auto E = (*Jit)->addIRModule(
          llvm::orc::ThreadSafeModule(std::move(Llvm), std::move(Context))))
    return Fail(std::move(E));
  auto Entry = (*Jit)->lookup("entry");
  if (!Entry)
    return Fail(Entry.takeError());
  Result->Entry = Entry->toPtr<void (*)(const uint64_t *)>();
  Result->Jit = std::move(*Jit);
  Error.clear();
  return Result;
}

std::string SimulatedKernel::run(const std::vector<uint64_t> &Parameters,
                                 const std::array<int64_t, 3> &Grid,
                                 bool Backwards) {
  Machine M;
  M.Fibers.resize(Block[0] * Block[1] * Block[2]);
  M.BlockDim = {Block[0], Block[1], Block[2]};
  M.GridDim = Grid;
  M.Entry = Entry;
  std::vector<uint64_t> Arguments = Parameters;
  std::vector<std::unique_ptr<char, void (*)(void *)>> Shared;
  for (int64_t Bytes : SharedBytes) {
    Shared.emplace_back(static_cast<char *>(std::aligned_alloc(
                            64, (std::max<int64_t>(Bytes, 64) + 63) / 64 * 64)),
                        std::free);
    Arguments.push_back(reinterpret_cast<uint64_t>(Shared.back().get()));
  }
  M.Arguments = Arguments.data();
  TheMachine = &M;
  std::string Error;
  for (int64_t Z = 0; Z < Grid[2] && Error.empty(); ++Z)
    for (int64_t Y = 0; Y < Grid[1] && Error.empty(); ++Y)
      for (int64_t X = 0; X < Grid[0] && Error.empty(); ++X) {
        M.Block = {X, Y, Z};
        for (size_t I = 0; I < Shared.size(); ++I)
          std::memset(Shared[I].get(), 0xFF, SharedBytes[I]);
        Error = runBlock(M, Backwards, Barriers);
      }
  TheMachine = nullptr;
  return Error;
}

} // namespace kpc::testing
