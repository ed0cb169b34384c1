//===- Plan.cpp - The plan dialect ---------------------------------------===//
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
  while (isa_and_present<ViewOp, PartOp>(Buffer.getDefiningOp()))
    Buffer = Buffer.getDefiningOp()->getOperand(0);
  return Buffer;
}

std::optional<shape::Expr> plan::offsetInStorage(Value Buffer) {
  std::optional<shape::Expr> Offset;
  while (isa_and_present<ViewOp, PartOp>(Buffer.getDefiningOp())) {
    if (auto Part = Buffer.getDefiningOp<PartOp>()) {
      Type Element = graph::typeOf(Buffer).getElementType();
      Offset =
          Offset.value_or(shape::Expr(0)) +
          Part.getOffset().getDims().front() * graph::elementBytes(Element);
    }
    Buffer = Buffer.getDefiningOp()->getOperand(0);
  }
  return Offset;
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

/// Fails unless all that `Holder` holds are records of a plan.
static LogicalResult checkRecords(Operation *Holder) {
  for (Region &Body : Holder->getRegions())
    for (Operation &Op : Body.getOps()) {
      bool OfProgram = isa<InputOp, OutputOp>(Op) && !isa<ProgramOp>(Holder);
      if (!isa<PlanDialect>(Op.getDialect()) || isa<ProgramOp>(Op) || OfProgram)
        return Holder->emitOpError()
               << "holds '" << Op.getName() << "', which is no record of a "
               << (OfProgram ? "part of a plan" : "plan");
    }
  return success();
}

LogicalResult ProgramOp::verify() { return checkRecords(*this); }

LogicalResult LoopOp::verify() {
  if (getCount().getDims().size() != 1)
    return emitOpError("counts its iterations in one expression, not in ")
           << getCount().getDims().size();
  if (graph::names(getCount().getDims(), getCounter()))
    return emitOpError("counts its iterations by its own counter '")
           << getCounter() << "'";
  if (Value Condition = getCondition()) {
    if (graph::typeOf(Condition).getNumElements() != shape::Expr(1))
      return emitOpError("takes one bool, not ") << Condition.getType();
  } else if (!getEnding().empty()) {
    return emitOpError("has steps for its end, but data does not end it");
  }
  return checkRecords(*this);
}

LogicalResult IfOp::verify() {
  if (graph::typeOf(getCondition()).getNumElements() != shape::Expr(1))
    return emitOpError("takes one bool, not ") << getCondition().getType();
  return checkRecords(*this);
}

LogicalResult PartOp::verify() {
  graph::SymbolicTensorType Whole = graph::typeOf(getOf()),
                            Part = graph::typeOf(getBuffer());
  if (getOffset().getDims().size() != 1)
    return emitOpError("begins at one place, not at ")
           << getOffset().getDims().size();
  if (Whole.getElementType() != Part.getElementType())
    return emitOpError("of ") << Whole << " cannot be " << Part;
  std::optional<int64_t> Begin = getOffset().getDims().front().asConstant(),
                         Size = Part.getNumElements().asConstant(),
                         Room = Whole.getNumElements().asConstant();
  if (Begin && Size && Room && (*Begin < 0 || *Begin > *Room - *Size))
    return emitOpError("of ")
           << *Size << " elements from " << *Begin << " on is outside the "
           << *Room << " of " << Whole;
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
    Type Element = graph::storedType(graph::typeOf(Buffer).getElementType());
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

int64_t plan::countSteps(Block &Body) {
  int64_t Steps = 0;
  Body.walk([&](Operation *Op) { Steps += isStep(*Op); });
  return Steps;
}

namespace {
/// Walks steps in order and notes which buffers each touches.
class TouchedBuffers {
public:
  void visit(Block &Body) {
    for (Operation &Op : Body) {
      if (isStep(Op)) {
        touchOperands(&Op, Step);
        ++Step;
        continue;
      }
      int64_t First = Step;
      if (isa<IfOp, LoopOp>(Op) && countSteps(Op) != 0)
        touchOperands(&Op, First);
      if (auto Loop = dyn_cast<LoopOp>(Op)) {
        visit(Loop.getBody().front());
        if (Step > First)
          keepDuring(Loop, First, Step - 1);
        if (!Loop.getEnding().empty())
          visit(Loop.getEnding().front());
        continue;
      }
      for (Region &Inner : Op.getRegions())
        visit(Inner.front());
    }
  }
  DenseMap<Value, LiveInterval> Touched;

private:
  static int64_t countSteps(Operation &Op) {
    int64_t Steps = 0;
    for (Region &Inner : Op.getRegions())
      if (!Inner.empty())
        Steps += plan::countSteps(Inner.front());
    return Steps;
  }
  void touch(Value Buffer, int64_t At) {
    auto [Found, New] =
        Touched.try_emplace(storageOf(Buffer), LiveInterval{At, At});
    Found->second.First = std::min(Found->second.First, At);
    Found->second.Last = std::max(Found->second.Last, At);
  }
  void touchOperands(Operation *Op, int64_t At) {
    for (Value Operand : Op->getOperands())
      touch(Operand, At);
  }
  /// The next iteration may read what this one wrote.
  void keepDuring(LoopOp Loop, int64_t First, int64_t Last) {
    if (Value Condition = Loop.getCondition())
      touch(Condition, Last);
    Loop.getBody().walk([&](Operation *Op) {
      if (!isStep(*Op) && !isa<IfOp, LoopOp>(Op))
        return;
      for (Value Operand : Op->getOperands()) {
        Value Storage = storageOf(Operand);
        if (!Loop.getBody().isAncestor(Storage.getParentRegion())) {
          touch(Storage, First);
          touch(Storage, Last);
        }
      }
    });
  }
  int64_t Step = 0;
};
} // namespace

DenseMap<Value, LiveInterval> plan::touchedIntervals(ProgramOp Program) {
  TouchedBuffers Buffers;
  Buffers.visit(Program.getBody().front());
  return std::move(Buffers.Touched);
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

/// Whether outputs may have the memory of the inputs that they name.
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

/// Whether the buffer of an input or output holds the packed bytes of the type
/// that the signature has.
template <typename Port> static LogicalResult checkPort(Port P) {
  if (!P.getAs())
    return success();
  auto Ty = cast<graph::SymbolicTensorType>(*P.getAs());
  if (graph::isSubByte(Ty.getElementType()) &&
      graph::packedType(Ty) == P.getBuffer().getType())
    return success();
  return P.emitOpError("'") << P.getName() << "' is " << P.getBuffer().getType()
                            << ", expected the packed bytes of " << Ty;
}

LogicalResult InputOp::verify() { return checkPort(*this); }

LogicalResult OutputOp::verify() {
  if (failed(checkPort(*this)))
    return failure();
  if (!getDecides() && !getAtMost())
    return success();
  auto Is = [](std::optional<graph::DimsAttr> A) {
    return A && A->getDims().size() == 1;
  };
  graph::SymbolicTensorType Ty = graph::typeOf(getBuffer());
  if (!Is(getDecides()) || !Is(getAtMost()) || getTakes() || getAs() ||
      Ty.getRank() != 0 || !Ty.getElementType().isSignlessInteger(64))
    return emitOpError("'") << getName()
                            << "' decides a size: expected one i64, one "
                               "expression that it decides and one that it is "
                               "at most";
  return success();
}

/// What an edit by hand gets wrong: a buffer that a step uses after its end.
LogicalResult ProgramOp::verifyRegions() {
  if (failed(checkTakenInputs(*this)))
    return failure();
  int64_t Steps = countSteps(getBody().front());
  auto Touched = touchedIntervals(*this);
  auto check = [&](BufferOp Buffer) -> LogicalResult {
    auto Live = Buffer.getLive();
    if (!Live)
      return success();
    auto fails = [&](int64_t Step, StringRef Why) {
      return Buffer.emitOpError("'")
             << Buffer.getName() << "' is live from step " << (*Live)[0]
             << " to " << (*Live)[1] << ", but step " << Step << Why;
    };
    if ((*Live)[1] >= std::max<int64_t>(Steps, 1))
      return fails((*Live)[1], " does not exist");
    auto Found = Touched.find(Buffer.getBuffer());
    if (Found == Touched.end())
      return success();
    if (Found->second.First < (*Live)[0])
      return fails(Found->second.First, " uses it");
    if (Found->second.Last > (*Live)[1])
      return fails(Found->second.Last, " uses it");
    return success();
  };
  return success(!walk([&](BufferOp Buffer) {
                    return WalkResult(check(Buffer));
                  }).wasInterrupted());
}
