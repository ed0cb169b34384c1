//===- Plan.cpp - The plan dialect -*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"
#include "dialects/graph/InferTypes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::plan;

#include "dialects/plan/PlanDialect.cpp.inc"
#include "dialects/plan/PlanEnums.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/plan/Plan.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/plan/Plan.cpp.inc"
      >();
}

Value plan::storageOf(Value Buffer) {
  while (auto View = Buffer.getDefiningOp<ViewOp>())
    Buffer = View.getOf();
  return Buffer;
}

shape::Expr plan::byteSize(graph::SymbolicTensorType Ty) {
  return Ty.getNumElements() * graph::elementBytes(Ty.getElementType());
}

static LogicalResult checkSameBytes(Operation *Op, Value A, Value B) {
  auto TyA = graph::typeOf(A), TyB = graph::typeOf(B);
  if (byteSize(TyA) == byteSize(TyB))
    return success();
  return Op->emitOpError() << "joins buffers of " << byteSize(TyA).str()
                           << " and " << byteSize(TyB).str() << " bytes";
}

LogicalResult ProgramOp::verify() {
  for (Operation &Op : getBody().front())
    if (!isa<PlanDialect>(Op.getDialect()) || isa<ProgramOp>(Op))
      return emitOpError() << "holds '" << Op.getName()
                           << "', which is no record of a plan";
  return success();
}

LogicalResult WeightOp::verify() {
  return graph::verifyRecipe(*this, graph::typeOf(getBuffer()), getRecipe());
}

LogicalResult ConstantOp::verify() {
  auto Value = dyn_cast<DenseElementsAttr>(getValue());
  graph::SymbolicTensorType Ty = graph::typeOf(getBuffer());
  bool Fits = Value && Value.getElementType() == Ty.getElementType() &&
              llvm::equal(Value.getType().getShape(), Ty.getDims(),
                          [](int64_t Size, const shape::Expr &E) {
                            return E.asConstant() == Size;
                          });
  if (Fits)
    return success();
  return emitOpError() << "of " << Ty << " needs dense elements of that type";
}

/// Fails unless a buffer is one that steps may write.
static LogicalResult checkWritable(Operation *Op, Value Buffer) {
  Operation *Storage = storageOf(Buffer).getDefiningOp();
  if (isa_and_present<OutputOp, BufferOp>(Storage))
    return success();
  return Op->emitOpError("writes what is neither an output nor a buffer");
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &Tables) {
  for (Value Buffer : getWrites())
    if (failed(checkWritable(*this, Buffer)))
      return failure();
  auto Kernel =
      Tables.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!Kernel)
    return emitOpError() << "launches '" << getKernel()
                         << "', which is no kernel of the module";
  // Kernels know integers without signs.
  SmallVector<Type> Wanted;
  for (Value Buffer : getOperands()) {
    Type Element = graph::typeOf(Buffer).getElementType();
    if (auto Int = dyn_cast<IntegerType>(Element))
      Element = IntegerType::get(getContext(), Int.getWidth());
    Wanted.push_back(MemRefType::get({}, Element));
  }
  Wanted.append(getSizes().getDims().size(), IndexType::get(getContext()));
  if (Kernel.getArgumentTypes() != ArrayRef<Type>(Wanted))
    return emitOpError() << "gives kernel '" << getKernel() << "' "
                         << TypeRange(Wanted) << ", but it takes "
                         << Kernel.getArgumentTypes();
  return success();
}

LogicalResult ViewOp::verify() {
  return checkSameBytes(*this, getOf(), getBuffer());
}

LogicalResult CopyOp::verify() {
  if (failed(checkWritable(*this, getDestination())))
    return failure();
  return checkSameBytes(*this, getSource(), getDestination());
}

bool plan::isStep(Operation &Op) { return isa<LaunchOp, CopyOp>(Op); }

DenseMap<Value, LiveInterval> plan::touchedIntervals(ProgramOp Program) {
  DenseMap<Value, LiveInterval> Touched;
  int64_t Step = 0;
  for (Operation &Op : Program.getBody().front()) {
    if (!isStep(Op))
      continue;
    for (Value Operand : Op.getOperands()) {
      auto [Found, New] =
          Touched.try_emplace(storageOf(Operand), LiveInterval{Step, Step});
      Found->second.Last = Step;
    }
    ++Step;
  }
  return Touched;
}

LogicalResult BufferOp::verify() {
  if (auto Live = getLive())
    if (Live->size() != 2 || (*Live)[0] < 0 || (*Live)[1] < (*Live)[0])
      return emitOpError("'")
             << getName() << "' must be live from one step to the same or a "
             << "later one";
  if (getArena() == ArenaClass::fixed &&
      !byteSize(graph::typeOf(getBuffer())).isConstant())
    return emitOpError("'")
           << getName() << "' is of the fixed arena, but its size depends "
           << "on dims";
  return success();
}

LogicalResult LaunchOp::verify() {
  if (auto Flops = getFlops(); Flops && Flops->getDims().size() != 1)
    return emitOpError("counts its operations in one expression, not in ")
           << Flops->getDims().size();
  return success();
}

/// What an edit by hand gets wrong: a buffer that a step uses after its end.
static LogicalResult checkTakenInputs(ProgramOp Program) {
  auto Inputs = llvm::to_vector(Program.getOps<InputOp>());
  for (auto Output : Program.getOps<OutputOp>()) {
    std::optional<int64_t> Taken = Output.getTakes();
    if (!Taken)
      continue;
    if (*Taken < 0 || *Taken >= int64_t(Inputs.size()))
      return Output.emitOpError("'") << Output.getName() << "' takes input "
                                     << *Taken << ", which does not exist";
    if (Inputs[*Taken].getType() != Output.getType())
      return Output.emitOpError("'")
             << Output.getName() << "' takes input '"
             << Inputs[*Taken].getName() << "', which is of another type";
  }
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  if (failed(checkTakenInputs(*this)))
    return failure();
  int64_t Steps = llvm::count_if(getBody().front(), isStep);
  auto Touched = touchedIntervals(*this);
  for (auto Buffer : getOps<BufferOp>()) {
    auto Live = Buffer.getLive();
    if (!Live)
      continue;
    auto fails = [&](int64_t Step, StringRef Why) {
      return Buffer.emitOpError("'")
             << Buffer.getName() << "' is live from step " << (*Live)[0]
             << " to " << (*Live)[1] << ", but step " << Step << Why;
    };
    if ((*Live)[1] >= std::max<int64_t>(Steps, 1))
      return fails((*Live)[1], " does not exist");
    auto Found = Touched.find(Buffer.getBuffer());
    if (Found == Touched.end())
      continue;
    if (Found->second.First < (*Live)[0])
      return fails(Found->second.First, " uses it");
    if (Found->second.Last > (*Live)[1])
      return fails(Found->second.Last, " uses it");
  }
  return success();
}
