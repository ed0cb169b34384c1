//===- PlanSteps.cpp - A plan's steps as a target's -----------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/artifact/PlanSteps.h"
#include "compiler/artifact/KernelRecords.h"

using namespace kpc;
using namespace mlir;
using kpc::shape::Expr;
using llvm::createStringError;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// The name that expressions of the artifact have for the device's
/// multiprocessors; a dim of the model may be called as kernels call them.
std::string StepBuilder::multiprocessors() {
  for (const artifact::Symbol &S : Symbols)
    if (S.Source == artifact::SymbolSource::MultiprocessorCount)
      return S.Name;
  std::string Name = MultiprocessorsSymbol;
  auto Taken = [&](const artifact::Symbol &S) { return S.Name == Name; };
  while (llvm::any_of(Symbols, Taken))
    Name += "_";
  Symbols.push_back(
      {Name, {.Min = 1}, artifact::SymbolSource::MultiprocessorCount});
  return Name;
}

/// How a kernel is launched where `Op` stands.
Expected<artifact::Launch> StepBuilder::launchOf(StringRef Symbol,
                                                 const CompiledKernel &Kernel,
                                                 plan::LaunchOp Op) {
  artifact::Launch L;
  L.Kernel = KernelIndex.at(Symbol.str());
  for (Value V : Op.getReads())
    L.Params.push_back(Buffers.param(V, artifact::Read));
  // What this code does not read is not waited for: it is given a buffer that
  // it reads anyway.
  auto IsRead = [&](const artifact::Param &P) {
    return !llvm::is_contained(Kernel.Unread, &P - L.Params.data());
  };
  auto Read = llvm::find_if(L.Params, IsRead);
  if (Read != L.Params.end())
    for (int64_t I : Kernel.Unread)
      L.Params[I] = *Read;
  for (Value V : Op.getWrites())
    L.Params.push_back(Buffers.param(V, artifact::Write));
  ArgumentSizes Args;
  for (const Expr &Size : Op.getSizes().getDims()) {
    Args.emplace("arg" + std::to_string(L.Params.size()), Size);
    L.Params.push_back(artifact::Param::size(Size));
  }
  if (T.Kind == artifact::TargetKind::Cuda && usesMultiprocessors(Kernel))
    Args.emplace(MultiprocessorsSymbol, Expr::symbol(multiprocessors()));
  auto Set = [&](Expr &To, const std::string &Text) -> llvm::Error {
    Expected<Expr> E = substituted(Text, Args);
    if (!E)
      return E.takeError();
    To = *E;
    return llvm::Error::success();
  };
  if (llvm::Error E = Set(L.Work, Kernel.Work))
    return E;
  L.Grain = Kernel.Grain;
  auto KeepGiven = [&] {
    if (Kernel.Arguments >= 0)
      L.Params.resize(Kernel.Arguments);
  };
  if (T.Kind == artifact::TargetKind::Host) {
    KeepGiven();
    return L;
  }
  for (unsigned I = 0; I < 3; ++I) {
    if (llvm::Error E = Set(L.Grid[I], Kernel.Grid[I]))
      return E;
    L.Block[I] = Kernel.Block[I];
  }
  if (llvm::Error E = Set(L.Shared, Kernel.Shared))
    return E;
  KeepGiven();
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
llvm::Error StepBuilder::addVariants(artifact::Launch &L, plan::LaunchOp Op,
                                     ArrayRef<CompiledVariant> Variants) {
  ArrayRef<Expr> Sizes = Op.getSizes().getDims();
  for (const CompiledVariant &V : Variants) {
    auto Instead = launchOf(V.Symbol, V.Kernel, Op);
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

Expected<artifact::Launch> StepBuilder::launch(plan::LaunchOp Op) {
  StringRef Symbol = Op.getKernel();
  auto Found = Compiled.Kernels.find(Symbol.str());
  if (Found == Compiled.Kernels.end())
    return createStringError("launch of kernel '" + Symbol +
                             "', which was not compiled");
  auto L = launchOf(Symbol, Found->second, Op);
  if (!L)
    return L;
  L->Name = Op.getName().value_or("").str();
  if (auto Nodes = Op.getNodes())
    for (StringRef Node : Nodes->getAsValueRange<StringAttr>())
      L->SourceNodes.push_back(Node.str());
  if (auto Flops = Op.getFlops())
    L->Flops = Flops->getDims().front();
  L->Kind = Op.getKind().value_or("").str();
  L->Title = Op.getTitle().value_or("").str();
  L->Scope = Op.getScope().value_or("").str();
  auto Variants = Compiled.Variants.find(Symbol.str());
  if (Variants != Compiled.Variants.end())
    if (llvm::Error E = addVariants(*L, Op, Variants->second))
      return E;
  return L;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

llvm::Error StepBuilder::add(Block &Body) {
  for (Operation &Op : Body)
    if (llvm::Error E = add(Op))
      return E;
  return llvm::Error::success();
}

llvm::Error StepBuilder::add(Operation &Op) {
  if (auto Loop = dyn_cast<plan::LoopOp>(Op))
    return addLoop(Loop);
  if (auto If = dyn_cast<plan::IfOp>(Op))
    return addIf(If);
  if (auto Launch = dyn_cast<plan::LaunchOp>(Op)) {
    auto L = launch(Launch);
    if (!L)
      return L.takeError();
    T.Steps.push_back(std::move(*L));
  } else if (auto Copy = dyn_cast<plan::CopyOp>(Op)) {
    T.Steps.push_back(
        artifact::Copy{Buffers.indexOf(Copy.getSource()),
                       plan::offsetInStorage(Copy.getSource()),
                       Buffers.indexOf(Copy.getDestination()),
                       plan::offsetInStorage(Copy.getDestination()),
                       plan::byteSize(graph::typeOf(Copy.getSource()))});
  }
  return llvm::Error::success();
}

llvm::Error StepBuilder::addLoop(plan::LoopOp Loop) {
  Block &Body = Loop.getBody().front();
  Block *Ending =
      Loop.getEnding().empty() ? nullptr : &Loop.getEnding().front();
  uint32_t First = T.Steps.size(), Behind = First + plan::countSteps(Body),
           End = Behind + (Ending ? plan::countSteps(*Ending) : 0);
  artifact::Loop Of{First, End, Loop.getCount().getDims().front(),
                    Loop.getCounter().str()};
  if (Value Condition = Loop.getCondition())
    Of.Until = {Behind, Buffers.indexOf(Condition),
                plan::offsetInStorage(Condition)};
  if (First != End)
    T.Controls.push_back(Of);
  if (llvm::Error E = add(Body); E || !Ending)
    return E;
  return add(*Ending);
}

llvm::Error StepBuilder::addIf(plan::IfOp If) {
  Block &Then = If.getThen().front(), &Otherwise = If.getOtherwise().front();
  uint32_t First = T.Steps.size(), Else = First + plan::countSteps(Then),
           End = Else + plan::countSteps(Otherwise);
  if (First != End)
    T.Controls.push_back(
        artifact::If{First, Else, End, Buffers.indexOf(If.getCondition()),
                     plan::offsetInStorage(If.getCondition())});
  if (llvm::Error E = add(Then))
    return E;
  return add(Otherwise);
}
