//===- DataSizes.cpp - Sizes of a plan that data decides ------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/DataSizes.h"

#include "dialects/graph/InputValues.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::plan;

std::set<std::string, std::less<>> plan::symbolsOfData(ProgramOp Program) {
  std::set<std::string, std::less<>> Names, Given;
  for (auto Output : Program.getOps<OutputOp>())
    if (auto Decides = Output.getDecides())
      Decides->getDims().front().collectSymbols(Names);
  if (Names.empty())
    return Names;
  for (auto Input : Program.getOps<InputOp>())
    for (const shape::Expr &E : Input.portType().getDims())
      E.collectSymbols(Given);
  for (const graph::InputValue &V :
       graph::inputValues(Program->getParentOfType<ModuleOp>()))
    V.Size.collectSymbols(Given);
  for (const std::string &Name : Given)
    Names.erase(Name);
  return Names;
}

std::set<std::string, std::less<>> plan::symbolsNamedBy(Operation *Op) {
  std::set<std::string, std::less<>> Names;
  auto Collect = [&](ArrayRef<shape::Expr> Sizes) {
    for (const shape::Expr &E : Sizes)
      E.collectSymbols(Names);
  };
  AttrTypeWalker Walker;
  Walker.addWalk([&](graph::SymbolicTensorType Ty) { Collect(Ty.getDims()); });
  Walker.addWalk([&](graph::DimsAttr A) { Collect(A.getDims()); });
  Op->walk([&](Operation *Inner) {
    Walker.walk(Inner->getAttrDictionary());
    for (Type Ty : Inner->getOperandTypes())
      Walker.walk(Ty);
    for (Type Ty : Inner->getResultTypes())
      Walker.walk(Ty);
  });
  return Names;
}

/// Steps from the top of the program: a loop or branch is one.
static int64_t stepsOf(Operation &Op) {
  if (isStep(Op))
    return 1;
  int64_t Steps = 0;
  for (Region &Body : Op.getRegions())
    if (!Body.empty())
      Steps += countSteps(Body.front());
  return Steps;
}

static bool writes(Operation &Op, Value Output) {
  bool Found = false;
  Op.walk([&](Operation *Step) {
    if (auto Launch = dyn_cast<LaunchOp>(Step))
      for (Value V : Launch.getWrites())
        Found |= storageOf(V) == Output;
    if (auto Copy = dyn_cast<CopyOp>(Step))
      Found |= storageOf(Copy.getDestination()) == Output;
  });
  return Found;
}

std::optional<std::vector<SizeRead>> plan::readsOfSizes(ProgramOp Program) {
  std::set<std::string, std::less<>> OfData = symbolsOfData(Program);
  /// A number may be read before the steps from `Least` to `Most`.
  struct Room {
    int64_t Output, Least, Most;
    std::set<std::string, std::less<>> Symbols;
  };
  std::vector<Room> Rooms;
  Block &Body = Program.getBody().front();
  int64_t Steps = countSteps(Body);
  for (auto [I, Output] : llvm::enumerate(Program.getOps<OutputOp>())) {
    auto Decides = Output.getDecides();
    if (!Decides)
      continue;
    Room &R = Rooms.emplace_back(Room{static_cast<int64_t>(I), 0, Steps, {}});
    Decides->getDims().front().collectSymbols(R.Symbols);
    int64_t Step = 0;
    for (Operation &Op : Body) {
      int64_t Own = stepsOf(Op);
      if (Own == 0)
        continue;
      if (writes(Op, Output.getBuffer()))
        R.Least = Step + Own;
      for (const std::string &Name : symbolsNamedBy(&Op))
        if (OfData.count(Name) && R.Symbols.count(Name))
          R.Most = std::min(R.Most, Step);
      Step += Own;
    }
    if (R.Most < R.Least)
      return std::nullopt;
  }
  llvm::stable_sort(
      Rooms, [](const Room &A, const Room &B) { return A.Most < B.Most; });
  std::vector<SizeRead> Reads;
  for (const Room &R : Rooms) {
    bool Shares = !Reads.empty() && Reads.back().Step >= R.Least;
    Reads.push_back({R.Output, Shares ? Reads.back().Step : R.Most});
  }
  return Reads;
}
