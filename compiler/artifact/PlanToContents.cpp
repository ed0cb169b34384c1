//===- PlanToContents.cpp - A plan as an artifact's contents --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/artifact/PlanToContents.h"
#include "codegen/host/HostLinker.h"
#include "compiler/artifact/KernelRecords.h"
#include "compiler/artifact/PlanSteps.h"
#include "compiler/artifact/SizeAssumptions.h"
#include "compiler/import/custom/ElementTypes.h"
#include "compiler/kernels/CompileCustom.h"
#include "compiler/kernels/KernelUses.h"
#include "dialects/graph/CustomCode.h"
#include "dialects/plan/DataSizes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

#include <set>

using namespace kpc;
using namespace mlir;
using llvm::createStringError;
using llvm::Expected;

namespace {

/// Dims and loop counters. Kernels may ask for more.
llvm::Error addSymbols(ModuleOp Module, plan::ProgramOp Program,
                       std::vector<artifact::Symbol> &Symbols) {
  std::set<std::string> Counters;
  Program.walk(
      [&](plan::LoopOp Loop) { Counters.insert(Loop.getCounter().str()); });
  std::set<std::string, std::less<>> OfData = plan::symbolsOfData(Program);
  shape::Facts Facts = graph::symbolFacts(Module);
  for (const auto &[Name, Known] : Facts.symbols()) {
    // The front ends' name for counters, which no dim has: a loop without uses
    // is gone, and runs need not know what counted it.
    if (llvm::StringRef(Name).starts_with("kpc_iteration") &&
        !Counters.count(Name))
      continue;
    artifact::SymbolSource Source =
        Counters.count(Name) ? artifact::SymbolSource::LoopCounter
        : OfData.count(Name) ? artifact::SymbolSource::Data
                             : artifact::SymbolSource::Dim;
    auto Same = llvm::find_if(
        Symbols, [&](const artifact::Symbol &S) { return S.Name == Name; });
    if (Same == Symbols.end())
      Symbols.push_back({Name, Known, Source});
    else if (Same->Source != Source)
      return createStringError("'" + Name +
                               "' is a dim in one plan and a loop's counter "
                               "in another");
  }
  return llvm::Error::success();
}

/// Sizes that data decides are read behind the step that counts them, and as
/// late as the steps that need them allow: so one wait may serve several.
llvm::Error addReadbacks(plan::ProgramOp Program, artifact::Target &T) {
  std::optional<std::vector<plan::SizeRead>> Reads =
      plan::readsOfSizes(Program);
  if (!Reads)
    return createStringError("a size that data decides is needed before it is "
                             "known; please report this");
  for (const plan::SizeRead &R : *Reads)
    T.Readbacks.push_back(
        {static_cast<uint32_t>(R.Output), static_cast<uint32_t>(R.Step)});
  return llvm::Error::success();
}

/// An output may take an input's memory where every plan allows it.
void keepSharedAliases(const artifact::Contents &Of, artifact::Contents &All) {
  for (auto [Own, Kept] : llvm::zip_equal(Of.Outputs, All.Outputs))
    if (Own.Alias != Kept.Alias)
      Kept.Alias.reset();
}

/// One target: its code, and the plan's steps with it.
class TargetBuilder {
public:
  TargetBuilder(const KernelUses &Uses, const TargetKernels &Compiled,
                bool Strip)
      : Uses(Uses), Compiled(Compiled), Strip(Strip) {}

  Expected<artifact::Target> build(plan::ProgramOp Program,
                                   const PlanBuffers &Buffers,
                                   std::vector<artifact::Symbol> &Symbols,
                                   std::vector<artifact::Library> &Libraries);

private:
  llvm::Error addHostCode(std::vector<artifact::Library> &Libraries);
  llvm::Error addHostFunction(StringRef Symbol, const CompiledKernel &Kernel,
                              kernel::CustomOp Custom,
                              std::vector<artifact::Library> &Libraries);
  void addGpuCode();
  void addGpuKernel(StringRef Symbol, StringRef Of,
                    const CompiledKernel &Kernel);
  ModuleOp plan() const { return Compiled.Plan; }
  artifact::Kernel describeKernel(StringRef Symbol, StringRef Of,
                                  const CompiledKernel &Kernel);
  void addKernel(StringRef Symbol, artifact::Kernel K) {
    KernelIndex[Symbol.str()] = T.Kernels.size();
    T.Kernels.push_back(std::move(K));
  }

  const KernelUses &Uses;
  const TargetKernels &Compiled;
  bool Strip;
  artifact::Target T;
  std::map<std::string, uint32_t, std::less<>> KernelIndex;
};

/// A function of a shared object. Equal objects are one.
llvm::Error
TargetBuilder::addHostFunction(StringRef Symbol, const CompiledKernel &Kernel,
                               kernel::CustomOp Custom,
                               std::vector<artifact::Library> &Libraries) {
  std::string Problem;
  auto Code = graph::CustomCode::read(Custom.getCode(), /*IsCuda=*/false,
                                      /*WithSizes=*/false, Problem);
  if (!Code)
    return createStringError("bad code of '" + Symbol + "': " + Problem);
  artifact::HostFunction F;
  size_t Inputs = Custom.getReads().size();
  for (auto [I, Tensor] : llvm::enumerate(Code->Tensors)) {
    Type Element = custom::elementType(plan().getContext(), Tensor.first);
    (I < Inputs ? F.Inputs : F.Outputs)
        .emplace_back(portTypeOf(Element),
                      static_cast<uint8_t>(std::stoul(Tensor.second)));
  }
  for (const std::string &Type : Code->Arguments)
    F.Arguments.push_back(Type == "i32"   ? artifact::ArgumentType::I32
                          : Type == "i64" ? artifact::ArgumentType::I64
                          : Type == "f32" ? artifact::ArgumentType::F32
                                          : artifact::ArgumentType::F64);
  artifact::Library Wanted{Code->Library.empty() ? Code->File : Code->Library,
                           Kernel.Code};
  auto Same = llvm::find_if(Libraries, [&](const artifact::Library &L) {
    return L.Name == Wanted.Name && L.Image == Wanted.Image;
  });
  F.Library = Same - Libraries.begin();
  if (Same == Libraries.end())
    Libraries.push_back(std::move(Wanted));
  artifact::Kernel K = describeKernel(Symbol, Symbol, Kernel);
  K.Function = std::move(F);
  addKernel(Symbol, std::move(K));
  return llvm::Error::success();
}

/// One image for all kernels of kpc's own.
llvm::Error
TargetBuilder::addHostCode(std::vector<artifact::Library> &Libraries) {
  std::vector<StringRef> Objects;
  llvm::StringSet<> Entries;
  for (const auto &[Symbol, Kernel] : Compiled.Kernels) {
    auto Func = plan().lookupSymbol<func::FuncOp>(Symbol);
    if (kernel::CustomOp Custom = Func ? customIn(Func) : nullptr) {
      if (llvm::Error E = addHostFunction(Symbol, Kernel, Custom, Libraries))
        return E;
    } else if (Entries.insert(Kernel.Entry).second) {
      Objects.push_back(Kernel.Code);
    }
  }
  if (Objects.empty())
    return llvm::Error::success();
  auto Image = codegen::linkHostImage(Objects);
  if (!Image)
    return Image.takeError();
  for (const auto &[Symbol, Kernel] : Compiled.Kernels) {
    if (KernelIndex.count(Symbol))
      continue;
    auto Offset = Image->Symbols.find(Kernel.Entry);
    if (Offset == Image->Symbols.end())
      return createStringError("the image lacks kernel '" + Symbol + "'");
    artifact::Kernel K = describeKernel(Symbol, Symbol, Kernel);
    K.Entry = Offset->second;
    addKernel(Symbol, std::move(K));
  }
  T.Modules.push_back({std::move(Image->Bytes), {}});
  return llvm::Error::success();
}

/// A module for each kernel and each of its variants.
void TargetBuilder::addGpuCode() {
  for (const auto &[Symbol, Kernel] : Compiled.Kernels) {
    addGpuKernel(Symbol, Symbol, Kernel);
    auto Variants = Compiled.Variants.find(Symbol);
    if (Variants == Compiled.Variants.end())
      continue;
    for (const CompiledVariant &V : Variants->second)
      addGpuKernel(V.Symbol, Symbol, V.Kernel);
  }
}

/// `Of`: the kernel that the plan names, of which this may be a variant.
artifact::Kernel TargetBuilder::describeKernel(StringRef Symbol, StringRef Of,
                                               const CompiledKernel &Kernel) {
  auto Func = plan().lookupSymbol<func::FuncOp>(Of);
  artifact::Kernel K;
  K.Symbol = Kernel.Function.empty() ? Kernel.Entry : Kernel.Function;
  KernelUse Use;
  if (auto Found = Uses.find(Of.str()); Found != Uses.end())
    Use = Found->second;
  // A variant has the same letters behind its name as behind its symbol.
  K.DisplayName = (Use.Name.empty() ? Of.str() : Use.Name) +
                  Symbol.drop_front(Of.size()).str();
  for (StringRef Node : Use.Nodes)
    K.SourceNodes.push_back(Node.str());
  K.Precision = precisionOf(Func, Kernel);
  for (Type Argument : Func.getArgumentTypes())
    K.Params.push_back(isa<MemRefType>(Argument) ? artifact::ParamKind::Buffer
                                                 : artifact::ParamKind::Size);
  if (Kernel.Arguments >= 0)
    K.Params.resize(Kernel.Arguments);
  K.Params.insert(K.Params.end(), Kernel.TensorMaps.size(),
                  artifact::ParamKind::TensorMap);
  K.Family = Kernel.Schedule;
  // The costs are of the best that there was to choose from.
  for (StringRef Cost : Kernel.ScheduleCosts)
    if (Cost.consume_front(Kernel.Schedule) && Cost.consume_front(": "))
      K.Expected = Cost.str();
  K.Registers = Kernel.Registers;
  K.SpillBytes = Kernel.SpillBytes;
  return K;
}

void TargetBuilder::addGpuKernel(StringRef Symbol, StringRef Of,
                                 const CompiledKernel &Kernel) {
  artifact::Kernel K = describeKernel(Symbol, Of, Kernel);
  K.Module = T.Modules.size();
  // A custom kernel does not wait for what it depends on.
  K.EarlyLaunch = Compiled.Target->launchesEarly() && Kernel.Function.empty() &&
                  !Kernel.NoEarlyStart;
  K.Cooperative = Kernel.Cooperative;
  artifact::Module M;
  M.Image.assign(Kernel.Code.begin(), Kernel.Code.end());
  if (!Strip || M.Image.empty())
    M.Ptx = Kernel.Ptx;
  T.Modules.push_back(std::move(M));
  T.LeastDriver = std::max<uint32_t>(T.LeastDriver, Kernel.LeastDriver);
  addKernel(Symbol, std::move(K));
}

Expected<artifact::Target>
TargetBuilder::build(plan::ProgramOp Program, const PlanBuffers &Buffers,
                     std::vector<artifact::Symbol> &Symbols,
                     std::vector<artifact::Library> &Libraries) {
  describeTarget(T, *Compiled.Target);
  T.Buffers = Buffers.all();
  if (Compiled.Target->isGpu())
    addGpuCode();
  else if (llvm::Error E = addHostCode(Libraries))
    return E;
  StepBuilder Steps(Buffers, Compiled, KernelIndex, Symbols, T);
  if (llvm::Error E = Steps.add(Program.getBody().front()))
    return E;
  T.Values = Buffers.values(Program);
  if (llvm::Error E = addReadbacks(Program, T))
    return E;
  return std::move(T);
}

/// A plan: what it declares, which kernels it launches.
struct DeclaredPlan {
  plan::ProgramOp Program;
  PlanBuffers Buffers;
  KernelUses Uses;
};

Expected<DeclaredPlan> declare(ModuleOp Module, WeightTable &Weights,
                               artifact::Contents &Contents) {
  auto Programs = Module.getOps<plan::ProgramOp>();
  if (Programs.empty())
    return createStringError("the module holds no plan.program");
  plan::ProgramOp Program = *Programs.begin();
  if (llvm::Error E = addSymbols(Module, Program, Contents.Symbols))
    return E;
  // Every plan declares all ports, in the model's order.
  artifact::Contents Ports;
  auto Buffers = PlanBuffers::read(Program, Weights, Ports);
  if (!Buffers)
    return Buffers.takeError();
  if (Contents.Outputs.empty()) {
    Contents.Inputs = std::move(Ports.Inputs);
    Contents.Outputs = std::move(Ports.Outputs);
  } else {
    keepSharedAliases(Ports, Contents);
  }
  if (llvm::Error E = addSizeAssumptions(Module, Contents))
    return E;
  return DeclaredPlan{Program, std::move(*Buffers), kernelUses(Program)};
}

} // namespace

Expected<artifact::Contents>
kpc::planToContents(const WeightStore &Weights,
                    const std::vector<TargetKernels> &Targets, bool Strip) {
  artifact::Contents Contents;
  WeightTable Table(Weights, Contents.Weights);
  std::map<Operation *, DeclaredPlan> Plans;
  for (const TargetKernels &Compiled : Targets) {
    auto Plan = Plans.find(Compiled.Plan);
    if (Plan == Plans.end()) {
      auto Declared = declare(Compiled.Plan, Table, Contents);
      if (!Declared)
        return Declared.takeError();
      Plan = Plans.emplace(Compiled.Plan, std::move(*Declared)).first;
    }
    const DeclaredPlan &Of = Plan->second;
    auto T = TargetBuilder(Of.Uses, Compiled, Strip)
                 .build(Of.Program, Of.Buffers, Contents.Symbols,
                        Contents.Libraries);
    if (!T)
      return T.takeError();
    Contents.Targets.push_back(std::move(*T));
  }
  return Contents;
}
