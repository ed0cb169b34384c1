//===- PlanToContents.cpp - Plan and kernels as the artifact's contents ---===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/artifact/PlanToContents.h"
#include "codegen/host/HostLinker.h"
#include "compiler/artifact/KernelRecords.h"
#include "compiler/artifact/PlanWeights.h"
#include "compiler/weights/WeightRecipe.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace kpc;
using namespace mlir;
using kpc::shape::Expr;
using llvm::createStringError;
using llvm::Expected;

namespace {

std::vector<Expr> dimsOf(Value Buffer) {
  ArrayRef<Expr> Dims = graph::typeOf(Buffer).getDims();
  return {Dims.begin(), Dims.end()};
}

/// All that a kernel, which several launches may share, computes.
struct LaunchedFor {
  std::string Name; ///< of the first launch
  llvm::SetVector<StringRef> Nodes;
};

class ContentsBuilder {
public:
  ContentsBuilder(ModuleOp Module, const WeightStore &Weights, bool Strip)
      : Module(Module), Weights(Weights), Strip(Strip) {}

  llvm::Error run(const std::vector<TargetKernels> &Targets);
  artifact::Contents take() { return std::move(Contents); }

private:
  llvm::Error declare(plan::ProgramOp Program);
  llvm::Error declare(Operation *Op);
  llvm::Error addWeight(plan::WeightOp Op);
  uint32_t addBuffer(Value Buffer, artifact::BufferKind Kind, uint32_t Index,
                     std::string Name);
  void setLiveIntervals(plan::ProgramOp Program);
  void collectLaunches(plan::ProgramOp Program);
  llvm::Error addTarget(plan::ProgramOp Program, const TargetKernels &Compiled);
  llvm::Error addCode(artifact::Target &T, const TargetKernels &Compiled);
  artifact::Kernel describeKernel(StringRef Symbol, StringRef Of,
                                  const CompiledKernel &Kernel);
  void addGpuKernel(artifact::Target &T, const TargetKernels &Compiled,
                    StringRef Symbol, StringRef Of,
                    const CompiledKernel &Kernel);
  Expected<artifact::Launch> launch(plan::LaunchOp Op,
                                    const artifact::Target &T,
                                    const TargetKernels &Compiled);
  Expected<artifact::Launch> launchOf(StringRef Symbol,
                                      const CompiledKernel &Kernel,
                                      plan::LaunchOp Op,
                                      const artifact::Target &T);
  llvm::Error addVariants(artifact::Launch &L, plan::LaunchOp Op,
                          const artifact::Target &T,
                          ArrayRef<CompiledVariant> Variants);
  std::string multiprocessors();
  void addValues(artifact::Target &T, plan::ProgramOp Program);
  llvm::Error addSteps(artifact::Target &T, Block &Body,
                       const TargetKernels &Compiled);
  llvm::Error addLoop(artifact::Target &T, plan::LoopOp Loop,
                      const TargetKernels &Compiled);
  llvm::Error addIf(artifact::Target &T, plan::IfOp If,
                    const TargetKernels &Compiled);
  artifact::Param bufferParam(Value V, artifact::Access Access) const;
  uint32_t bufferOf(Value V) const { return Index.lookup(plan::storageOf(V)); }

  ModuleOp Module;
  const WeightStore &Weights;
  bool Strip;
  artifact::Contents Contents;
  std::vector<artifact::Buffer> Buffers;
  DenseMap<Value, uint32_t> Index; ///< of storage
  std::map<std::string, uint32_t> WeightIndex;
  std::map<std::string, LaunchedFor> Launched; ///< by the kernel's symbol
  std::map<std::string, uint32_t> KernelIndex; ///< of the current target
};

llvm::Error ContentsBuilder::run(const std::vector<TargetKernels> &Targets) {
  auto Programs = Module.getOps<plan::ProgramOp>();
  if (Programs.empty())
    return createStringError("the module holds no plan.program");
  plan::ProgramOp Program = *Programs.begin();
  shape::Facts Facts = graph::symbolFacts(Module);
  std::set<std::string> Counters;
  Program.walk(
      [&](plan::LoopOp Loop) { Counters.insert(Loop.getCounter().str()); });
  for (const auto &[Name, Known] : Facts.symbols())
    Contents.Symbols.push_back({Name, Known,
                                Counters.count(Name)
                                    ? artifact::SymbolSource::LoopCounter
                                    : artifact::SymbolSource::Dim});
  if (llvm::Error E = declare(Program))
    return E;
  setLiveIntervals(Program);
  collectLaunches(Program);
  for (const TargetKernels &Compiled : Targets)
    if (llvm::Error E = addTarget(Program, Compiled))
      return E;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

uint32_t ContentsBuilder::addBuffer(Value Buffer, artifact::BufferKind Kind,
                                    uint32_t Position, std::string Name) {
  artifact::Buffer B;
  B.Kind = Kind;
  B.Index = Position;
  B.Size = plan::byteSize(graph::typeOf(Buffer));
  B.Name = std::move(Name);
  Index[Buffer] = Buffers.size();
  Buffers.push_back(std::move(B));
  return Buffers.size() - 1;
}

llvm::Error ContentsBuilder::addWeight(plan::WeightOp Op) {
  auto Prepared = preparedWeight(Op.getSource(), Op.getRecipe(),
                                 graph::typeOf(Op.getBuffer()), Weights);
  if (!Prepared)
    return Prepared.takeError();
  std::string Key = Op.getSource().str() + recipeText(Op.getRecipe());
  auto [Known, Inserted] =
      WeightIndex.try_emplace(Key, Contents.Weights.size());
  if (Inserted)
    Contents.Weights.push_back(std::move(*Prepared));
  addBuffer(Op.getBuffer(), artifact::BufferKind::Weight, Known->second,
            Op.getSource().str());
  return llvm::Error::success();
}

llvm::Error ContentsBuilder::declare(plan::ProgramOp Program) {
  llvm::Error Failed = llvm::Error::success();
  Program.walk<WalkOrder::PreOrder>([&](Operation *Op) {
    Failed = llvm::joinErrors(std::move(Failed), declare(Op));
  });
  return Failed;
}

artifact::Port portOf(StringRef Name, Value Buffer) {
  return {Name.str(), elementTypeOf(graph::typeOf(Buffer).getElementType()),
          dimsOf(Buffer), std::nullopt};
}

llvm::Error ContentsBuilder::declare(Operation *Op) {
  if (auto Input = dyn_cast<plan::InputOp>(Op)) {
    addBuffer(Input.getBuffer(), artifact::BufferKind::Input,
              Contents.Inputs.size(), Input.getName().str());
    Contents.Inputs.push_back(portOf(Input.getName(), Input.getBuffer()));
  } else if (auto Output = dyn_cast<plan::OutputOp>(Op)) {
    addBuffer(Output.getBuffer(), artifact::BufferKind::Output,
              Contents.Outputs.size(), Output.getName().str());
    Contents.Outputs.push_back(portOf(Output.getName(), Output.getBuffer()));
    Contents.Outputs.back().Alias = std::optional<uint32_t>(Output.getTakes());
  } else if (auto Weight = dyn_cast<plan::WeightOp>(Op)) {
    return addWeight(Weight);
  } else if (auto Constant = dyn_cast<plan::ConstantOp>(Op)) {
    std::string Name = "constant" + std::to_string(Contents.Weights.size());
    addBuffer(Constant.getBuffer(), artifact::BufferKind::Weight,
              Contents.Weights.size(), Name);
    Contents.Weights.push_back(constantWeight(Name, Constant.getValue()));
  } else if (auto Buffer = dyn_cast<plan::BufferOp>(Op)) {
    addBuffer(Buffer.getBuffer(), artifact::BufferKind::Arena, 0,
              Buffer.getName().str());
  }
  return llvm::Error::success();
}

/// A buffer lives from the first step that touches it to the last, or for as
/// long as the plan says.
void ContentsBuilder::setLiveIntervals(plan::ProgramOp Program) {
  for (auto [Buffer, Live] : plan::touchedIntervals(Program)) {
    Buffers[bufferOf(Buffer)].FirstStep = Live.First;
    Buffers[bufferOf(Buffer)].LastStep = Live.Last;
  }
  Program.walk([&](plan::BufferOp Buffer) {
    if (auto Live = Buffer.getLive()) {
      Buffers[bufferOf(Buffer.getBuffer())].FirstStep = (*Live)[0];
      Buffers[bufferOf(Buffer.getBuffer())].LastStep = (*Live)[1];
    }
  });
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

/// What the launches of each kernel are for. Several kernels may be of one
/// node: those behind the first get a number, as their symbols do.
void ContentsBuilder::collectLaunches(plan::ProgramOp Program) {
  std::set<std::string> Taken;
  std::map<std::string, unsigned> NextSuffix;
  Program.walk([&](plan::LaunchOp Launch) {
    LaunchedFor &For = Launched[Launch.getKernel().str()];
    if (For.Name.empty()) {
      StringRef Wanted = Launch.getName().value_or(Launch.getKernel());
      For.Name = Wanted.str();
      while (!Taken.insert(For.Name).second)
        For.Name = (Wanted + "_" + Twine(++NextSuffix[Wanted.str()])).str();
    }
    if (auto Nodes = Launch.getNodes())
      For.Nodes.insert_range(Nodes->getAsValueRange<StringAttr>());
  });
}

llvm::Error ContentsBuilder::addCode(artifact::Target &T,
                                     const TargetKernels &Compiled) {
  KernelIndex.clear();
  bool Host = Compiled.Target->isHost();
  codegen::LinkedImage Image;
  if (Host && !Compiled.Kernels.empty()) {
    std::vector<StringRef> Objects;
    for (const auto &[Symbol, Kernel] : Compiled.Kernels)
      Objects.push_back(Kernel.Code);
    auto Linked = codegen::linkHostImage(Objects);
    if (!Linked)
      return Linked.takeError();
    Image = std::move(*Linked);
    T.Modules.push_back({Image.Bytes, {}});
  }
  for (const auto &[Symbol, Kernel] : Compiled.Kernels) {
    if (!Host) {
      addGpuKernel(T, Compiled, Symbol, Symbol, Kernel);
      auto Variants = Compiled.Variants.find(Symbol);
      if (Variants != Compiled.Variants.end())
        for (const CompiledVariant &V : Variants->second)
          addGpuKernel(T, Compiled, V.Symbol, Symbol, V.Kernel);
      continue;
    }
    auto Offset = Image.Symbols.find(Symbol);
    if (Offset == Image.Symbols.end())
      return createStringError("the image lacks kernel '" + Symbol + "'");
    artifact::Kernel K = describeKernel(Symbol, Symbol, Kernel);
    K.Entry = Offset->second;
    KernelIndex[Symbol] = T.Kernels.size();
    T.Kernels.push_back(std::move(K));
  }
  return llvm::Error::success();
}

/// `Of`: the kernel that the plan names, of which this may be a variant.
artifact::Kernel ContentsBuilder::describeKernel(StringRef Symbol, StringRef Of,
                                                 const CompiledKernel &Kernel) {
  auto Func = Module.lookupSymbol<func::FuncOp>(Of);
  artifact::Kernel K;
  K.Symbol = Symbol;
  const LaunchedFor &For = Launched[Of.str()];
  // A variant has the same letters behind its name as behind its symbol.
  K.DisplayName = (For.Name.empty() ? Of.str() : For.Name) +
                  Symbol.drop_front(Of.size()).str();
  for (StringRef Node : For.Nodes)
    K.SourceNodes.push_back(Node.str());
  K.Precision = precisionOf(Func);
  for (Type Argument : Func.getArgumentTypes())
    K.Params.push_back(isa<MemRefType>(Argument) ? artifact::ParamKind::Buffer
                                                 : artifact::ParamKind::Size);
  K.Params.insert(K.Params.end(), Kernel.TensorMaps.size(),
                  artifact::ParamKind::TensorMap);
  K.Family = Kernel.Schedule;
  K.Registers = Kernel.Registers;
  K.SpillBytes = Kernel.SpillBytes;
  return K;
}

void ContentsBuilder::addGpuKernel(artifact::Target &T,
                                   const TargetKernels &Compiled,
                                   StringRef Symbol, StringRef Of,
                                   const CompiledKernel &Kernel) {
  artifact::Kernel K = describeKernel(Symbol, Of, Kernel);
  K.Module = T.Modules.size();
  K.EarlyLaunch = Compiled.Target->launchesEarly();
  artifact::Module M;
  M.Image.assign(Kernel.Code.begin(), Kernel.Code.end());
  if (!Strip || M.Image.empty())
    M.Ptx = Kernel.Ptx;
  T.Modules.push_back(std::move(M));
  T.LeastDriver = std::max<uint32_t>(T.LeastDriver, Kernel.LeastDriver);
  KernelIndex[Symbol.str()] = T.Kernels.size();
  T.Kernels.push_back(std::move(K));
}

/// The name that expressions of the artifact have for the device's
/// multiprocessors; a dim of the model may be called as kernels call them.
std::string ContentsBuilder::multiprocessors() {
  for (const artifact::Symbol &S : Contents.Symbols)
    if (S.Source == artifact::SymbolSource::MultiprocessorCount)
      return S.Name;
  std::string Name = MultiprocessorsSymbol;
  auto Taken = [&](const artifact::Symbol &S) { return S.Name == Name; };
  while (llvm::any_of(Contents.Symbols, Taken))
    Name += "_";
  Contents.Symbols.push_back(
      {Name, {.Min = 1}, artifact::SymbolSource::MultiprocessorCount});
  return Name;
}

/// How a kernel is launched where `Op` stands.
Expected<artifact::Launch>
ContentsBuilder::launchOf(StringRef Symbol, const CompiledKernel &Kernel,
                          plan::LaunchOp Op, const artifact::Target &T) {
  artifact::Launch L;
  L.Kernel = KernelIndex[Symbol.str()];
  for (Value V : Op.getReads())
    L.Params.push_back(bufferParam(V, artifact::Read));
  for (Value V : Op.getWrites())
    L.Params.push_back(bufferParam(V, artifact::Write));
  std::map<std::string, Expr, std::less<>> Args;
  for (const Expr &Size : Op.getSizes().getDims()) {
    Args.emplace("arg" + std::to_string(L.Params.size()), Size);
    L.Params.push_back(artifact::Param::size(Size));
  }
  if (T.Kind == artifact::TargetKind::Cuda && usesMultiprocessors(Kernel))
    Args.emplace(MultiprocessorsSymbol, Expr::symbol(multiprocessors()));
  auto set = [&](Expr &To, const std::string &Text) -> llvm::Error {
    Expected<Expr> E = substituted(Text, Args);
    if (!E)
      return E.takeError();
    To = *E;
    return llvm::Error::success();
  };
  if (llvm::Error E = set(L.Work, Kernel.Work))
    return E;
  L.Grain = Kernel.Grain;
  if (T.Kind == artifact::TargetKind::Host)
    return L;
  for (unsigned I = 0; I < 3; ++I) {
    if (llvm::Error E = set(L.Grid[I], Kernel.Grid[I]))
      return E;
    L.Block[I] = Kernel.Block[I];
  }
  if (llvm::Error E = set(L.Shared, Kernel.Shared))
    return E;
  for (const artifact::KernelTensorMap &Asked : Kernel.TensorMaps) {
    auto P = tensorMapParam(Asked, L, Args);
    if (!P)
      return createStringError("kernel '" + Symbol +
                               "': " + llvm::toString(P.takeError()));
    L.Params.push_back(std::move(*P));
  }
  return L;
}

/// Each part of a variant's sizes is an alternative of its own.
llvm::Error ContentsBuilder::addVariants(artifact::Launch &L, plan::LaunchOp Op,
                                         const artifact::Target &T,
                                         ArrayRef<CompiledVariant> Variants) {
  ArrayRef<Expr> Sizes = Op.getSizes().getDims();
  for (const CompiledVariant &V : Variants) {
    auto Instead = launchOf(V.Symbol, V.Kernel, Op, T);
    if (!Instead)
      return Instead.takeError();
    for (const schedule::SizeBounds &Part : V.Where) {
      artifact::Alternative A;
      for (const schedule::SizeBound &Bound : Part) {
        Expr Product = 1;
        for (unsigned Size : Bound.Sizes)
          Product = Product * Sizes[Size];
        A.Bounds.push_back({Product, Bound.Least, Bound.Most});
      }
      A.Instead = *Instead;
      L.Alternatives.push_back(std::move(A));
    }
  }
  return llvm::Error::success();
}

Expected<artifact::Launch>
ContentsBuilder::launch(plan::LaunchOp Op, const artifact::Target &T,
                        const TargetKernels &Compiled) {
  StringRef Symbol = Op.getKernel();
  auto Found = Compiled.Kernels.find(Symbol.str());
  if (Found == Compiled.Kernels.end())
    return createStringError("launch of kernel '" + Symbol +
                             "', which was not compiled");
  auto L = launchOf(Symbol, Found->second, Op, T);
  if (!L)
    return L;
  L->Name = Op.getName().value_or("").str();
  if (auto Nodes = Op.getNodes())
    for (StringRef Node : Nodes->getAsValueRange<StringAttr>())
      L->SourceNodes.push_back(Node.str());
  if (auto Flops = Op.getFlops())
    L->Flops = Flops->getDims().front();
  auto Variants = Compiled.Variants.find(Symbol.str());
  if (Variants != Compiled.Variants.end())
    if (llvm::Error E = addVariants(*L, Op, T, Variants->second))
      return E;
  return L;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Of a part its own bytes.
artifact::Param ContentsBuilder::bufferParam(Value V,
                                             artifact::Access Access) const {
  artifact::Param P = artifact::Param::buffer(bufferOf(V), Access);
  P.Offset = plan::offsetInStorage(V);
  if (P.Offset)
    P.Length = plan::byteSize(graph::typeOf(V));
  return P;
}

llvm::Error ContentsBuilder::addSteps(artifact::Target &T, Block &Body,
                                      const TargetKernels &Compiled) {
  for (Operation &Op : Body) {
    if (auto Launch = dyn_cast<plan::LaunchOp>(Op)) {
      auto L = launch(Launch, T, Compiled);
      if (!L)
        return L.takeError();
      T.Steps.push_back(std::move(*L));
    } else if (auto Copy = dyn_cast<plan::CopyOp>(Op)) {
      T.Steps.push_back(artifact::Copy{
          bufferOf(Copy.getSource()), plan::offsetInStorage(Copy.getSource()),
          bufferOf(Copy.getDestination()),
          plan::offsetInStorage(Copy.getDestination()),
          plan::byteSize(graph::typeOf(Copy.getSource()))});
    } else if (auto Loop = dyn_cast<plan::LoopOp>(Op)) {
      if (llvm::Error E = addLoop(T, Loop, Compiled))
        return E;
    } else if (auto If = dyn_cast<plan::IfOp>(Op)) {
      if (llvm::Error E = addIf(T, If, Compiled))
        return E;
    }
  }
  return llvm::Error::success();
}

llvm::Error ContentsBuilder::addLoop(artifact::Target &T, plan::LoopOp Loop,
                                     const TargetKernels &Compiled) {
  Block &Body = Loop.getBody().front();
  uint32_t First = T.Steps.size(), Steps = plan::countSteps(Body);
  if (Steps)
    T.Controls.push_back(artifact::Loop{First, First + Steps,
                                        Loop.getCount().getDims().front(),
                                        Loop.getCounter().str()});
  return addSteps(T, Body, Compiled);
}

llvm::Error ContentsBuilder::addIf(artifact::Target &T, plan::IfOp If,
                                   const TargetKernels &Compiled) {
  Block &Then = If.getThen().front(), &Otherwise = If.getOtherwise().front();
  uint32_t First = T.Steps.size(), Else = First + plan::countSteps(Then),
           End = Else + plan::countSteps(Otherwise);
  if (First != End)
    T.Controls.push_back(
        artifact::If{First, Else, End, bufferOf(If.getCondition()),
                     plan::offsetInStorage(If.getCondition())});
  if (llvm::Error E = addSteps(T, Then, Compiled))
    return E;
  return addSteps(T, Otherwise, Compiled);
}

llvm::Error ContentsBuilder::addTarget(plan::ProgramOp Program,
                                       const TargetKernels &Compiled) {
  artifact::Target T;
  describeTarget(T, *Compiled.Target);
  T.Buffers = Buffers;
  if (llvm::Error E = addCode(T, Compiled))
    return E;
  if (llvm::Error E = addSteps(T, Program.getBody().front(), Compiled))
    return E;
  addValues(T, Program);
  Contents.Targets.push_back(std::move(T));
  return llvm::Error::success();
}

/// Each buffer of the arena is a value of the graph, valid once written.
void ContentsBuilder::addValues(artifact::Target &T, plan::ProgramOp Program) {
  auto Touched = plan::touchedIntervals(Program);
  Program.walk([&](plan::BufferOp Buffer) {
    artifact::Value V;
    V.Name = Buffer.getName().str();
    V.Buffer = bufferOf(Buffer.getBuffer());
    V.Step = Touched.lookup(Buffer.getBuffer()).First;
    V.Type = elementTypeOf(graph::typeOf(Buffer.getBuffer()).getElementType());
    V.Dims = dimsOf(Buffer.getBuffer());
    T.Values.push_back(std::move(V));
  });
}

} // namespace

Expected<artifact::Contents>
kpc::planToContents(ModuleOp Module, const WeightStore &Weights,
                    const std::vector<TargetKernels> &Targets, bool Strip) {
  ContentsBuilder Builder(Module, Weights, Strip);
  if (llvm::Error E = Builder.run(Targets))
    return E;
  return Builder.take();
}
