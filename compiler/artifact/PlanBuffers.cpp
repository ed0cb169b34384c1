//===- PlanBuffers.cpp - A plan's buffers as the artifact's ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/artifact/PlanBuffers.h"

using namespace kpc;
using namespace mlir;
using kpc::shape::Expr;

static std::vector<Expr> dimsOf(Value Buffer) {
  ArrayRef<Expr> Dims = graph::typeOf(Buffer).getDims();
  return {Dims.begin(), Dims.end()};
}

static artifact::Port portOf(StringRef Name, graph::SymbolicTensorType Ty) {
  return {Name.str(), portTypeOf(Ty.getElementType()),
          std::vector<Expr>(Ty.getDims().begin(), Ty.getDims().end()),
          std::nullopt};
}

llvm::Expected<PlanBuffers> PlanBuffers::read(plan::ProgramOp Program,
                                              WeightTable &Weights,
                                              artifact::Contents &Ports) {
  PlanBuffers All;
  llvm::Error Failed = llvm::Error::success();
  Program.walk<WalkOrder::PreOrder>([&](Operation *Op) {
    Failed =
        llvm::joinErrors(std::move(Failed), All.declare(Op, Weights, Ports));
  });
  if (Failed)
    return std::move(Failed);
  All.setLiveIntervals(Program);
  return All;
}

void PlanBuffers::add(Value Buffer, artifact::BufferKind Kind,
                      uint32_t Position, std::string Name) {
  artifact::Buffer B;
  B.Kind = Kind;
  B.Index = Position;
  B.Size = plan::byteSize(graph::typeOf(Buffer));
  B.Name = std::move(Name);
  Index[Buffer] = Buffers.size();
  Buffers.push_back(std::move(B));
}

llvm::Error PlanBuffers::declare(Operation *Op, WeightTable &Weights,
                                 artifact::Contents &Ports) {
  for (Type Ty : Op->getResultTypes()) {
    auto Tensor = dyn_cast<graph::SymbolicTensorType>(Ty);
    if (!Tensor ||
        elementTypeOf(Tensor.getElementType()) != ElementType::Undefined)
      continue;
    std::string Name;
    llvm::raw_string_ostream(Name) << Tensor.getElementType();
    return llvm::createStringError(
        "expected a buffer of a type that an artifact holds, got '" + Name +
        "'; compile with --precision, or cast the values of that type");
  }
  if (auto Input = dyn_cast<plan::InputOp>(Op)) {
    add(Input.getBuffer(), artifact::BufferKind::Input, Ports.Inputs.size(),
        Input.getName().str());
    Ports.Inputs.push_back(portOf(Input.getName(), Input.portType()));
  } else if (auto Output = dyn_cast<plan::OutputOp>(Op)) {
    add(Output.getBuffer(), artifact::BufferKind::Output, Ports.Outputs.size(),
        Output.getName().str());
    Ports.Outputs.push_back(portOf(Output.getName(), Output.portType()));
    artifact::Port &Port = Ports.Outputs.back();
    Port.Alias = std::optional<uint32_t>(Output.getTakes());
    if (auto Decides = Output.getDecides()) {
      Port.Decides = Decides->getDims().front();
      Port.AtMost = Output.getAtMost()->getDims().front();
    }
  } else if (auto Weight = dyn_cast<plan::WeightOp>(Op)) {
    auto Index = Weights.add(Weight);
    if (!Index)
      return Index.takeError();
    add(Weight.getBuffer(), artifact::BufferKind::Weight, *Index,
        Weight.getSource().str());
  } else if (auto Constant = dyn_cast<plan::ConstantOp>(Op)) {
    uint32_t Index = Weights.add(Constant);
    add(Constant.getBuffer(), artifact::BufferKind::Weight, Index,
        Weights.nameOf(Index));
  } else if (auto Buffer = dyn_cast<plan::BufferOp>(Op)) {
    add(Buffer.getBuffer(), artifact::BufferKind::Arena, 0,
        Buffer.getName().str());
  }
  return llvm::Error::success();
}

/// A buffer lives from the first step that touches it to the last, or for as
/// long as the plan says.
void PlanBuffers::setLiveIntervals(plan::ProgramOp Program) {
  for (auto [Buffer, Live] : plan::touchedIntervals(Program)) {
    Buffers[indexOf(Buffer)].FirstStep = Live.First;
    Buffers[indexOf(Buffer)].LastStep = Live.Last;
  }
  Program.walk([&](plan::BufferOp Buffer) {
    if (auto Live = Buffer.getLive()) {
      Buffers[indexOf(Buffer.getBuffer())].FirstStep = (*Live)[0];
      Buffers[indexOf(Buffer.getBuffer())].LastStep = (*Live)[1];
    }
  });
}

artifact::Param PlanBuffers::param(Value V, artifact::Access Access) const {
  artifact::Param P = artifact::Param::buffer(indexOf(V), Access);
  P.Offset = plan::offsetInStorage(V);
  if (P.Offset)
    P.Length = plan::byteSize(graph::typeOf(V));
  return P;
}

std::vector<artifact::Value>
PlanBuffers::values(plan::ProgramOp Program) const {
  std::vector<artifact::Value> Values;
  auto Touched = plan::touchedIntervals(Program);
  Program.walk([&](plan::BufferOp Buffer) {
    artifact::Value V;
    V.Name = Buffer.getName().str();
    V.Buffer = indexOf(Buffer.getBuffer());
    V.Step = Touched.lookup(Buffer.getBuffer()).First;
    V.Type = elementTypeOf(graph::typeOf(Buffer.getBuffer()).getElementType());
    V.Dims = dimsOf(Buffer.getBuffer());
    Values.push_back(std::move(V));
  });
  return Values;
}
