//===- Recurrent.cpp - All steps of a recurrent layer ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The family, and the kernel from step to step:
///
///   keep weights; state -> exchange[0]; arrive
///   for each step:
///     inputs' part of the gates, own cells -> registers
///     wait for all blocks of the direction
///     exchange[step % 2] · weights -> sums of the warps -> gates -> cells
///     next state -> exchange[(step + 1) % 2], y; arrive
///
/// Two states are enough: a block that writes the next state has waited until
/// all blocks have ended the step that read it.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/recurrent/Recurrent.h"

#include "passes/kernels/form/SizeFacts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

using Values = SmallVector<Value>;

using schedule::RecurrentCost;
using schedule::RecurrentSchedule;
using schedule::RecurrentShape;

namespace {
constexpr int64_t GlobalSpace = 1, SharedSpace = 3;
/// i32 from one direction's counter to the next: a line of the second cache.
constexpr int64_t CounterPitch = 32;
} // namespace

RecurrentKernel::RecurrentKernel(FusedKernel &Form, kernel::RecurrentOp Op,
                                 const RecurrentShape &Shape,
                                 const RecurrentSchedule &S)
    : TileBuilder(Form), Op(Op), Shape(Shape), S(S),
      Factor(elementOf(Op.getR())) {}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value RecurrentKernel::pointerTo(Value Memref, int64_t Space) {
  Value Address =
      memref::ExtractAlignedPointerAsIndexOp::create(W.B, W.Loc, Memref);
  Address = arith::IndexCastOp::create(W.B, W.Loc, W.B.getI64Type(), Address);
  return LLVM::IntToPtrOp::create(
      W.B, W.Loc, LLVM::LLVMPointerType::get(W.B.getContext(), Space), Address);
}

Value RecurrentKernel::bytesAt(Value Pointer, Value Bytes) {
  Value Offset =
      arith::IndexCastOp::create(W.B, W.Loc, W.B.getI64Type(), Bytes);
  return LLVM::GEPOp::create(W.B, W.Loc, Pointer.getType(), W.B.getI8Type(),
                             Pointer, ArrayRef<LLVM::GEPArg>{Offset});
}

Value RecurrentKernel::elementAt(Value Base, Type Element, Value Index) {
  return bytesAt(Base, W.mul(Index, W.index(storageBytes(Element))));
}

Value RecurrentKernel::load(Type Ty, Value Pointer, unsigned Alignment) {
  return LLVM::LoadOp::create(W.B, W.Loc, Ty, Pointer, Alignment);
}

void RecurrentKernel::store(Value V, Value Pointer, unsigned Alignment) {
  LLVM::StoreOp::create(W.B, W.Loc, V, Pointer, Alignment);
}

Value RecurrentKernel::loadFloat(Value Base, Type Element, Value Index) {
  Value V = load(Element, elementAt(Base, Element, Index));
  if (Element.isF32())
    return V;
  return arith::ExtFOp::create(W.B, W.Loc, W.B.getF32Type(), V);
}

void RecurrentKernel::storeFloat(Value V, Value Base, Type Element,
                                 Value Index) {
  if (!Element.isF32())
    V = arith::TruncFOp::create(W.B, W.Loc, Element, V);
  store(V, elementAt(Base, Element, Index));
}

Values RecurrentKernel::wordsOf(Value Vector) {
  Values Words;
  for (int64_t I = 0; I < 4; ++I)
    Words.push_back(vector::ExtractOp::create(W.B, W.Loc, Vector, I));
  return Words;
}

Value RecurrentKernel::written(Scratch Which) {
  ValueRange All = Op.getWrites();
  return All[All.size() - 3 + size_t(Which)];
}

Value RecurrentKernel::choose(Value Condition, Value A, Value B) {
  return arith::SelectOp::create(W.B, W.Loc, Condition, A, B);
}

Value RecurrentKernel::linear(ArrayRef<std::pair<Value, Value>> All) {
  Value At = W.index(0);
  for (auto [Size, Index] : All)
    At = W.add(W.mul(At, Size), Index);
  return At;
}

//===----------------------------------------------------------------------===//
// Where things are
//===----------------------------------------------------------------------===//

void RecurrentKernel::place() {
  Steps = Op.getSteps();
  Batch = Op.getBatch();
  Hidden = W.index(Shape.Hidden);
  Thread = W.thread();
  // The same in all lanes, which the compiler is told by a shuffle.
  Value Mine = toI32(quotient(Thread, 32));
  Warp = toIndex(
      gpu::ShuffleOp::create(W.B, W.Loc, Mine, 0, 32, gpu::ShuffleMode::IDX)
          .getShuffleResult());
  Lane = rest(Thread, 32);
  Group = quotient(Lane, 4);
  Quad = rest(Lane, 4);
  int64_t Blocks = S.blocksOfDirection(Shape);
  Direction = quotient(W.block(), Blocks);
  FirstUnit = W.mul(rest(W.block(), Blocks), W.index(S.Units));

  auto Bytes = MemRefType::get(
      {ShapedType::kDynamic}, W.B.getI8Type(), MemRefLayoutAttrInterface(),
      gpu::AddressSpaceAttr::get(W.B.getContext(),
                                 gpu::GPUDialect::getWorkgroupAddressSpace()));
  Value Memory = gpu::DynamicSharedMemoryOp::create(W.B, W.Loc, Bytes);
  Weights = pointerTo(Memory, SharedSpace);
  Sums = bytesAt(Weights, W.index(S.Kept * S.partBytes(Shape)));

  Inputs = pointerTo(Op.getX().front(), GlobalSpace);
  for (auto [I, X] : llvm::enumerate(Op.getX().drop_front())) {
    Value IsBefore = W.less(Direction, W.index(int64_t(I) + 1));
    Inputs = choose(IsBefore, Inputs, pointerTo(X, GlobalSpace));
  }
  R = pointerTo(Op.getR(), GlobalSpace);
  Exchange = pointerTo(written(Scratch::Exchange), GlobalSpace);
  Cells = pointerTo(written(Scratch::Cells), GlobalSpace);
  Counter =
      elementAt(pointerTo(written(Scratch::Counters), GlobalSpace),
                W.B.getI32Type(), W.mul(Direction, W.index(CounterPitch)));
}

/// Rows of the batch, as many at a time as are multiplied at once.
void RecurrentKernel::eachPass(function_ref<void(Value)> Body) {
  std::optional<int64_t> Known = constantOf(OpFoldResult(Batch));
  if (Known && *Known <= S.Columns)
    return Body(W.index(0));
  W.loop(W.index(0), Batch, W.index(S.Columns), {},
         [&](Value FirstRow, ValueRange) {
           Body(FirstRow);
           return SmallVector<Value>();
         });
}

int64_t RecurrentKernel::cellsOfThread() const {
  return (S.Units * S.Columns + S.threads() - 1) / S.threads();
}

void RecurrentKernel::eachCell(function_ref<void(const Cell &)> Body) {
  eachPass([&](Value FirstRow) {
    for (int64_t Part = 0; Part < cellsOfThread(); ++Part) {
      Cell C = cell(FirstRow, Part);
      W.when(C.IsThere, [&] { Body(C); });
    }
  });
}

/// The `Part`-th of this thread's cells: neighbouring threads have neighbouring
/// units.
RecurrentKernel::Cell RecurrentKernel::cell(Value FirstRow, int64_t Part) {
  Value Number = W.add(Thread, W.index(Part * S.threads()));
  Cell C;
  C.LocalUnit = rest(Number, S.Units);
  C.LocalColumn = quotient(Number, S.Units);
  C.Unit = W.add(FirstUnit, C.LocalUnit);
  C.Row = W.add(FirstRow, C.LocalColumn);
  C.IsThere = W.both(W.both(W.less(C.Unit, Hidden), W.less(C.Row, Batch)),
                     W.less(C.LocalColumn, W.index(S.Columns)));
  Value One = W.index(1);
  C.Unit = compute<arith::MinSIOp>(C.Unit, sub(Hidden, One));
  C.Row = compute<arith::MinSIOp>(C.Row, sub(Batch, One));
  return C;
}

//===----------------------------------------------------------------------===//
// The barrier of all blocks of a direction
//===----------------------------------------------------------------------===//

/// What all threads of the block wrote is seen by who reads the counter and
/// acquires: the block's barrier and the release add up (PTX ISA, "Causality
/// Order").
void RecurrentKernel::arrive() {
  W.barrier();
  Value IsFirst = W.less(Thread, W.index(1));
  W.when(IsFirst, [&] {
    NVVM::InlinePtxOp::create(
        W.B, W.Loc, TypeRange(), ValueRange{Counter, i32(1)}, ValueRange(),
        "red.release.gpu.global.add.u32 [{$r0}], {$r1};", Value());
  });
}

/// `Times`: how often each block has arrived then.
void RecurrentKernel::waitForAll(Value Times) {
  Value Wanted = toI32(W.mul(Times, W.index(S.blocksOfDirection(Shape))));
  Value IsFirst = W.less(Thread, W.index(1));
  W.when(IsFirst, [&] {
    scf::WhileOp::create(
        W.B, W.Loc, TypeRange(), ValueRange(),
        [&](OpBuilder &B, Location L, ValueRange) {
          Value Seen = NVVM::InlinePtxOp::create(
                           B, L, TypeRange{B.getI32Type()}, ValueRange{Counter},
                           ValueRange(),
                           "ld.acquire.gpu.global.u32 {$w0}, [{$r0}];", Value())
                           .getResult(0);
          Value Goes = arith::CmpIOp::create(B, L, arith::CmpIPredicate::ult,
                                             Seen, Wanted);
          scf::ConditionOp::create(B, L, Goes, ValueRange());
        },
        [&](OpBuilder &B, Location L, ValueRange) {
          scf::YieldOp::create(B, L);
        });
  });
  W.barrier();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The first state becomes what blocks exchange; what pads its rows is zero in
/// both.
void RecurrentKernel::begin() {
  keepWeights();
  Value Zero = f32(0);
  Value State = pointerTo(Op.getState(), GlobalSpace);
  Value Memory = isLstm() ? pointerTo(Op.getCell(), GlobalSpace) : Value();
  Value Row = W.index(paddedHidden()), Directions = W.index(Shape.Directions);
  eachCell([&](const Cell &C) {
    Value At = linear({{Batch, Direction}, {Batch, C.Row}, {Hidden, C.Unit}});
    Value First = loadFloat(State, elementOf(Op.getState()), At);
    storeFloat(First, Cells, W.B.getF32Type(), At);
    if (Memory)
      storeFloat(loadFloat(Memory, elementOf(Op.getCell()), At), Cells,
                 W.B.getF32Type(),
                 W.add(W.mul(W.mul(Directions, Batch), Hidden), At));
    storeFloat(rounded(First), Exchange, Factor,
               linear({{Batch, Direction}, {Batch, C.Row}, {Row, C.Unit}}));
  });
  int64_t Padding = paddedHidden() - Shape.Hidden;
  if (Padding == 0)
    return;
  W.when(W.less(FirstUnit, W.index(1)), [&] {
    W.loop(Thread, W.mul(Batch, W.index(2 * Padding)), W.index(S.threads()), {},
           [&](Value I, ValueRange) {
             Value Column = W.add(rest(I, Padding), Hidden);
             Value Line = quotient(I, Padding);
             Value Which = compute<arith::DivUIOp>(Line, Batch);
             storeFloat(Zero, Exchange, Factor,
                        linear({{Directions, Which},
                                {Directions, Direction},
                                {Batch, compute<arith::RemUIOp>(Line, Batch)},
                                {Row, Column}}));
             return SmallVector<Value>();
           });
  });
}

/// What does not depend on other blocks.
void RecurrentKernel::readAhead(Cell &C, Value Time) {
  Type F32 = W.B.getF32Type();
  Value Line = linear({{Batch, Time}, {Batch, C.Row}});
  for (int64_t Gate = 0; Gate < Shape.Gates; ++Gate)
    C.Inputs.push_back(loadFloat(Inputs, elementOf(Op.getX().front()),
                                 linear({{W.index(Shape.Gates), Line},
                                         {W.index(Shape.Gates), W.index(Gate)},
                                         {Hidden, C.Unit}})));
  Value At = linear({{Batch, Direction}, {Batch, C.Row}, {Hidden, C.Unit}});
  if (isGru() || Op.getLengths())
    C.State = loadFloat(Cells, F32, At);
  if (isLstm())
    C.Memory = loadFloat(
        Cells, F32,
        W.add(W.mul(W.mul(W.index(Shape.Directions), Batch), Hidden), At));
  if (Op.getBias())
    C.Bias =
        loadFloat(pointerTo(Op.getBias(), GlobalSpace), elementOf(Op.getBias()),
                  linear({{Hidden, Direction}, {Hidden, C.Unit}}));
  if (Op.getLengths())
    C.Length = load(elementOf(Op.getLengths()),
                    elementAt(pointerTo(Op.getLengths(), GlobalSpace),
                              elementOf(Op.getLengths()), C.Row));
}

/// From the products of the gates to the next state; `Memory` becomes the next.
Value RecurrentKernel::nextState(const Cell &C, ArrayRef<Value> Products,
                                 Value &Memory) {
  auto Add = [&](Value A, Value B) { return compute<arith::AddFOp>(A, B); };
  auto Mul = [&](Value A, Value B) { return compute<arith::MulFOp>(A, B); };
  auto Tanh = [&](Value X) -> Value {
    return math::TanhOp::create(W.B, W.Loc, X);
  };
  auto Sigmoid = [&](Value X) -> Value {
    Value Minus = arith::NegFOp::create(W.B, W.Loc, X);
    Value Power = math::ExpOp::create(W.B, W.Loc, Minus);
    return compute<arith::DivFOp>(f32(1), Add(Power, f32(1)));
  };
  auto Gate = [&](int64_t I) { return Add(C.Inputs[I], Products[I]); };
  if (isLstm()) {
    Value In = Sigmoid(Gate(0)), Out = Sigmoid(Gate(1)),
          Forget = Sigmoid(Gate(2)), New = Tanh(Gate(3));
    Memory = Add(Mul(Forget, C.Memory), Mul(In, New));
    return Mul(Out, Tanh(Memory));
  }
  if (isGru()) {
    Value Update = Sigmoid(Gate(0)), Reset = Sigmoid(Gate(1));
    Value Past = C.Bias ? Add(Products[2], C.Bias) : Products[2];
    Value New = Tanh(Add(C.Inputs[2], Mul(Reset, Past)));
    Value Rest = compute<arith::SubFOp>(f32(1), Update);
    return Add(Mul(Rest, New), Mul(Update, C.State));
  }
  if (Op.getKind() == "tanh")
    return Tanh(Gate(0));
  return arith::MaximumFOp::create(W.B, W.Loc, Gate(0), f32(0));
}

void RecurrentKernel::update(const Cell &C, Value Time, Value Next) {
  Type F32 = W.B.getF32Type();
  W.when(C.IsThere, [&] {
    Values Products;
    for (int64_t Gate = 0; Gate < Shape.Gates; ++Gate)
      Products.push_back(
          sum(W.add(C.LocalUnit, W.index(Gate * S.Units)), C.LocalColumn));
    Value Memory, State = nextState(C, Products, Memory), Output = State;
    if (C.Length) {
      Value Place =
          arith::IndexCastOp::create(W.B, W.Loc, C.Length.getType(), Time);
      Value Inside = arith::CmpIOp::create(
          W.B, W.Loc, arith::CmpIPredicate::slt, Place, C.Length);
      Output = choose(Inside, State, f32(0));
      State = choose(Inside, State, C.State);
      if (Memory)
        Memory = choose(Inside, Memory, C.Memory);
    }
    Value Directions = W.index(Shape.Directions);
    Value At = linear({{Batch, Direction}, {Batch, C.Row}, {Hidden, C.Unit}});
    storeFloat(rounded(State), Exchange, Factor,
               linear({{Directions, Next},
                       {Directions, Direction},
                       {Batch, C.Row},
                       {W.index(paddedHidden()), C.Unit}}));
    storeFloat(State, Cells, F32, At);
    if (Memory)
      storeFloat(Memory, Cells, F32,
                 W.add(W.mul(W.mul(Directions, Batch), Hidden), At));
    Value Y = Op.getWrites().front();
    storeFloat(Output, pointerTo(Y, GlobalSpace), elementOf(Y),
               linear({{Batch, Time},
                       {Batch, C.Row},
                       {Directions, Direction},
                       {Hidden, C.Unit}}));
  });
}

void RecurrentKernel::step(Value Number) {
  Value Last = sub(sub(Steps, W.index(1)), Number), Time;
  for (auto [I, Reversed] : llvm::enumerate(Op.getReversed())) {
    Value Of = Reversed ? Last : Number;
    Time = Time ? choose(W.less(Direction, W.index(int64_t(I))), Time, Of) : Of;
  }
  Value Current = rest(Number, 2), Next = sub(W.index(1), Current);
  std::optional<int64_t> Known = constantOf(OpFoldResult(Batch));
  bool IsOnePass = Known && *Known <= S.Columns;
  Value Times = W.add(Number, W.index(1));
  auto Read = [&](Value FirstRow) {
    SmallVector<Cell> Mine;
    for (int64_t Part = 0; Part < cellsOfThread(); ++Part) {
      Mine.push_back(cell(FirstRow, Part));
      readAhead(Mine.back(), Time);
    }
    return Mine;
  };
  auto Finish = [&](Value FirstRow, ArrayRef<Cell> Mine) {
    multiply(FirstRow, Current);
    W.barrier();
    for (const Cell &C : Mine)
      update(C, Time, Next);
  };
  if (IsOnePass) {
    SmallVector<Cell> Mine = Read(W.index(0));
    waitForAll(Times);
    Finish(W.index(0), Mine);
    return arrive();
  }
  waitForAll(Times);
  eachPass([&](Value FirstRow) {
    SmallVector<Cell> Mine = Read(FirstRow);
    Finish(FirstRow, Mine);
    W.barrier(); // sums are written again
  });
  arrive();
}

/// The last state, and of an LSTM the last cell.
void RecurrentKernel::finish() {
  eachCell([&](const Cell &C) {
    Value At = linear({{Batch, Direction}, {Batch, C.Row}, {Hidden, C.Unit}});
    Value More = W.mul(W.mul(W.index(Shape.Directions), Batch), Hidden);
    for (unsigned I = 0; I < (isLstm() ? 2u : 1u); ++I) {
      Value To = Op.getWrites()[1 + I];
      Value From = I ? W.add(More, At) : At;
      storeFloat(loadFloat(Cells, W.B.getF32Type(), From),
                 pointerTo(To, GlobalSpace), elementOf(To), At);
    }
  });
}

LogicalResult RecurrentKernel::emit(GpuLaunch &Launch) {
  Launch.Block = {int32_t(S.threads()), 1, 1};
  Launch.Grid[0] = std::to_string(S.blocks(Shape));
  Launch.SharedBytes = S.sharedBytes(Shape);
  Launch.ResidentBlocks = 1;
  Form.Func->setAttr(kernel::CooperativeName, W.B.getUnitAttr());
  place();
  begin();
  arrive();
  W.loop(W.index(0), Steps, W.index(1), {}, [&](Value Number, ValueRange) {
    step(Number);
    return SmallVector<Value>();
  });
  finish();
  Op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The family
//===----------------------------------------------------------------------===//

FamilyAnswer queryRecurrent(FusedKernel &Form, const target::Target &T) {
  auto Ops = Form.Func.getBody().front().getOps<kernel::RecurrentOp>();
  if (Ops.empty())
    return FamilyAnswer::refuse(RefusalKind::Form, "it is no recurrent layer");
  kernel::RecurrentOp Op = *Ops.begin();
  Type Factor = cast<MemRefType>(Op.getR().getType()).getElementType();
  auto Shape = std::make_shared<RecurrentShape>();
  constexpr int64_t Unknown = 64;
  Shape->Steps = typicalOf(OpFoldResult(Op.getSteps()), Unknown);
  Shape->Batch = typicalOf(OpFoldResult(Op.getBatch()), Unknown);
  Shape->Hidden = Op.getHidden();
  Shape->Gates = Op.getKind() == "lstm" ? 4 : Op.getKind() == "gru" ? 3 : 1;
  Shape->Directions = int64_t(Op.getReversed().size());
  Shape->ElementBytes = Factor.getIntOrFloatBitWidth() / 8;
  Shape->Split = Factor.isF32() && !Op.getTf32();
  std::string Why;
  std::vector<RecurrentCost> Ranked =
      schedule::rankRecurrentSchedules(*Shape, T, &Why);
  if (Ranked.empty())
    return FamilyAnswer::refuse(RefusalKind::Target, Why);
  return FamilyAnswer::offer(
      std::move(Ranked),
      [&Form, Op, Shape](const RecurrentSchedule &S, GpuLaunch &Launch) {
        return RecurrentKernel(Form, Op, *Shape, S).emit(Launch);
      });
}

} // namespace kpc::kernels
