//===- CompileCustom.cpp - The kernel of a custom operator ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/kernels/CompileCustom.h"
#include "codegen/host/SystemCompiler.h"
#include "codegen/nvptx/Nvrtc.h"
#include "codegen/nvptx/Ptxas.h"
#include "compiler/import/custom/ElementTypes.h"
#include "dialects/graph/CustomCode.h"

using namespace kpc;
using llvm::createStringError;
using llvm::Expected;

kernel::CustomOp kpc::customIn(mlir::func::FuncOp Kernel) {
  if (Kernel.isExternal() || Kernel.getBody().front().empty())
    return {};
  return llvm::dyn_cast<kernel::CustomOp>(Kernel.getBody().front().front());
}

/// The parameters of the function that was compiled must be those that the
/// launch gives it.
static llvm::Error checkParameters(const nvptx::CudaCode &Built,
                                   const graph::CustomCode &Code,
                                   size_t Buffers) {
  bool Found = false;
  std::vector<unsigned> Has =
      nvptx::entryParameters(Built.Ptx, Built.Entry, Found);
  if (!Found)
    return createStringError(Code.File + ": expected a __global__ function '" +
                             Code.Function + "'");
  std::vector<unsigned> Wants(Buffers, 8);
  for (const std::string &Type : Code.Arguments)
    Wants.push_back(graph::customArgumentBytes(Type));
  if (Has.size() != Wants.size())
    return createStringError(Code.File + ": expected " +
                             std::to_string(Wants.size()) + " parameters of '" +
                             Code.Function + "' (" + std::to_string(Buffers) +
                             " pointers, then the manifest's " +
                             std::to_string(Code.Arguments.size()) +
                             " arguments), got " + std::to_string(Has.size()));
  for (size_t I = 0; I < Has.size(); ++I)
    if (Has[I] != Wants[I])
      return createStringError(
          Code.File + ": expected parameter " + std::to_string(I) + " of '" +
          Code.Function + "' to have " + std::to_string(Wants[I]) +
          " bytes, as the " +
          (I < Buffers ? "pointer" : Code.Arguments[I - Buffers]) +
          " that it is given, got " + std::to_string(Has[I]));
  return llvm::Error::success();
}

static llvm::Error assemble(const KernelJob &Job, const target::Target &T,
                            const graph::CustomCode &Code,
                            CompiledKernel &Kernel) {
  nvptx::Ptxas Program = nvptx::findPtxas(Job.Ptxas);
  if (!Program)
    return createStringError(Program.Missing);
  nvptx::Assembly Assembled = nvptx::assemblePtx(Program, Kernel.Ptx, T);
  if (!Assembled.ok())
    return createStringError("ptxas refuses what NVRTC made of " + Code.File +
                             ": " + Assembled.Error);
  Kernel.Code = std::move(Assembled.Cubin);
  Kernel.LeastDriver = target::leastDriver(T, Program.Version);
  for (const nvptx::KernelUsage &Usage : Assembled.Kernels)
    if (Usage.Name == Kernel.Function) {
      Kernel.Registers = Usage.Registers;
      Kernel.SpillBytes = Usage.SpillStoreBytes;
    }
  return llvm::Error::success();
}

static Expected<CompiledKernel> compileForGpu(const KernelJob &Job,
                                              const target::Target &T,
                                              kernel::CustomOp Custom,
                                              const graph::CustomCode &Code) {
  nvptx::Nvrtc Library = nvptx::findNvrtc(Job.Nvrtc);
  if (!Library)
    return createStringError(Library.Missing);
  nvptx::CudaCode Built =
      nvptx::compileCuda(Library,
                         {Code.File, Code.Source, Code.Function, Code.Macros,
                          Code.Headers, Code.Options},
                         T);
  if (!Built.ok())
    return createStringError(Built.Error);
  size_t Buffers = Custom.getReads().size() + Custom.getWrites().size();
  if (llvm::Error Wrong = checkParameters(Built, Code, Buffers))
    return Wrong;
  CompiledKernel Kernel;
  Kernel.Ptx = std::move(Built.Ptx);
  Kernel.Function = std::move(Built.Entry);
  Kernel.Arguments = int64_t(Buffers + Code.Arguments.size());
  Kernel.Schedule = "custom " + Code.Function;
  auto Behind = [&](size_t I) {
    return "arg" + std::to_string(size_t(Kernel.Arguments) + I);
  };
  for (size_t I = 0; I < 3; ++I) {
    Kernel.Grid[I] = Behind(I);
    Kernel.Block[I] = Code.Block[I];
  }
  Kernel.Shared = Behind(3);
  // PTX of a newer CUDA than the target's own asks for a driver of that.
  Kernel.LeastDriver = std::max<int64_t>(T.LeastDriver, Library.Version);
  if (!Job.Ptxas.empty() && T.TheKind != target::Kind::Portable)
    if (llvm::Error Wrong = assemble(Job, T, Code, Kernel))
      return Wrong;
  return Kernel;
}

static Expected<CompiledKernel> compileForHost(const KernelJob &Job,
                                               const target::Target &T,
                                               const graph::CustomCode &Code) {
  CompiledKernel Kernel;
  Kernel.Function = Code.Function;
  Kernel.Schedule = "custom " + Code.Function;
  if (!Code.Library.empty())
    return Kernel;
  codegen::SystemCompiler Compiler = codegen::findSystemCompiler(Job.Cxx);
  if (!Compiler)
    return createStringError(Compiler.Missing);
  codegen::SharedObject Built = codegen::compileSharedObject(
      Compiler,
      {Code.File, Code.Source, Code.Macros, Code.Headers, Code.Options},
      T.LlvmChip);
  if (!Built.ok())
    return createStringError(Built.Error);
  Kernel.Code = std::move(Built.Bytes);
  return Kernel;
}

/// A kernel's arguments are the op's operands, as many as its code says: plans
/// may be edited.
static bool fitsFunction(kernel::CustomOp Custom,
                         const graph::CustomCode &Code) {
  auto Kernel = Custom->getParentOfType<mlir::func::FuncOp>();
  if (!Kernel || !llvm::equal(Custom.getOperands(), Kernel.getArguments()))
    return false;
  uint64_t Dims = Code.IsCuda ? graph::CustomLaunchSizes : 0;
  for (const auto &[Type, Rank] : Code.Tensors) {
    unsigned Number = 0;
    constexpr unsigned Highest = 32;
    if (!custom::isElementType(Type) ||
        llvm::StringRef(Rank).getAsInteger(10, Number) || Number > Highest)
      return false;
    Dims += Code.IsCuda ? 0 : Number;
  }
  return Code.Tensors.size() ==
             Custom.getReads().size() + Custom.getWrites().size() &&
         Custom.getSizes().size() == Code.Arguments.size() + Dims;
}

Expected<CompiledKernel> kpc::compileCustom(const KernelJob &Job,
                                            const target::Target &T,
                                            kernel::CustomOp Custom) {
  std::string Problem;
  std::optional<graph::CustomCode> Code = graph::CustomCode::read(
      Custom.getCode(), Custom.getCuda(), /*WithSizes=*/false, Problem);
  if (!Code)
    return createStringError("'" + Job.Symbol + "' has bad code: " + Problem);
  if (Code->IsCuda != T.isGpu())
    return createStringError("'" + Job.Symbol + "' has code for " +
                             (Code->IsCuda ? "GPUs" : "the host") +
                             " alone; emit the plan for this target");
  if (!fitsFunction(Custom, *Code))
    return createStringError("'" + Job.Symbol +
                             "' is not given what its code "
                             "says: buffers, then sizes");
  return T.isGpu() ? compileForGpu(Job, T, Custom, *Code)
                   : compileForHost(Job, T, *Code);
}
