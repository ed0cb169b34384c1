//===- HostTranspose.cpp - Maps that read across their output's rows ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An elementwise kernel in which some tensor is contiguous along another dim
/// than the output's last one. Row by row, each element of that tensor would
/// take a cache line of its own. Here a unit is a block of that dim ("cross")
/// times the whole last one ("along"); the tensor is transposed in registers,
/// a square of vectors at a time, into a strip of memory that then reads as
/// the output is written.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/OutputSections.h"
#include "passes/kernels/form/RootShape.h"
#include "passes/kernels/host/HostBuilder.h"
#include "passes/kernels/host/HostLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

/// Squares of a strip: what is read of one row at a time.
constexpr int64_t StripSquares = 4;
/// Sizes from which a square pays.
constexpr int64_t LeastSize = 8;

struct TransposePlan {
  OutputSection Section;
  unsigned Cross = 0; ///< a run
  unsigned Along = 0; ///< the last run
  SmallVector<Access> Staged;
  int64_t Lanes = 1; ///< a square's side

  int64_t strip() const { return Lanes * StripSquares; }
};

std::optional<TransposePlan> planTranspose(const FusedKernel &Form,
                                           const HostMachine &Machine) {
  if (Form.Root)
    return std::nullopt;
  SmallVector<OutputSection> Sections = formSections(Form);
  if (Sections.size() != 1 || Sections.front().Runs.size() < 2)
    return std::nullopt;
  TransposePlan Plan;
  Plan.Section = Sections.front();
  Plan.Along = Plan.Section.Runs.size() - 1;
  Plan.Lanes = Machine.VectorBits / 32;
  auto DimOf = [&](unsigned Run) { return Plan.Section.Runs[Run].back(); };
  std::optional<unsigned> Cross;
  llvm::DenseMap<Value, unsigned> Reads;
  SmallVector<AccessMaps> All;
  for (const KernelOutput &Out : Plan.Section.Outputs)
    All.push_back(accessesOf(Out.Tensor));
  for (const AccessMaps &Maps : All)
    for (const Access &A : Maps.Accesses)
      ++Reads[A.Tensor];
  for (const AccessMaps &Maps : All)
    for (const Access &A : Maps.Accesses) {
      auto Step = Maps.stride(A, DimOf(Plan.Along));
      if (!Step || *Step == shape::Expr(0) || *Step == shape::Expr(1))
        continue;
      Type Element = cast<MemRefType>(A.Memref.getType()).getElementType();
      unsigned Rank = cast<MemRefType>(A.Memref.getType()).getRank();
      if (Reads[A.Tensor] != 1 || Element.isInteger(1) || Rank == 0 ||
          constantOf(strideOf(A.Memref, Rank - 1)) != 1)
        continue;
      for (unsigned Run = 0; Run < Plan.Along; ++Run)
        if (Maps.stride(A, DimOf(Run)) == shape::Expr(1) &&
            (!Cross || *Cross == Run)) {
          Cross = Run;
          Plan.Staged.push_back(A);
          break;
        }
    }
  if (!Cross)
    return std::nullopt;
  Plan.Cross = *Cross;
  shape::Facts Facts = factsOf(Form.Func);
  for (unsigned Run : {Plan.Cross, Plan.Along}) {
    int64_t Typical = 1;
    for (OpFoldResult Size : Plan.Section.runSizes(Run)) {
      auto Text = sizeExpr(Size);
      if (!Text)
        return std::nullopt;
      Typical *= Facts.optimum(*Text).value_or(16);
    }
    if (Typical < LeastSize)
      return std::nullopt;
  }
  return Plan;
}

class TransposeNest {
public:
  TransposeNest(OpBuilder &B, FusedKernel &Form, const TransposePlan &Plan)
      : B(B), Loc(Form.Func.getLoc()), Form(Form), Plan(Plan) {}

  LogicalResult emit(Value Begin, Value End) {
    Zero = index(0);
    SmallVector<Value> Counts;
    for (unsigned Run = 0; Run < Plan.Section.Runs.size(); ++Run) {
      Sizes.push_back(runSize(Run));
      if (Run != Plan.Along)
        Counts.push_back(Run == Plan.Cross ? ceilDiv(Sizes.back(), Plan.Lanes)
                                           : Sizes.back());
    }
    for (const Access &A : Plan.Staged)
      Strips.push_back(scratch(A));
    loop(Begin, End, 1, [&](Value Unit) {
      SmallVector<Value> At = delinearize(B, Loc, Unit, Counts);
      Indices.assign(Plan.Section.Sizes.size(), Zero);
      for (auto [Run, Index] : llvm::enumerate(At))
        Indices[dimOf(Run)] = Index;
      CrossStart = mul(Indices[dimOf(Plan.Cross)], Plan.Lanes);
      CrossCount = least(sub(Sizes[Plan.Cross], CrossStart), Plan.Lanes);
      loop(Zero, Sizes[Plan.Along], Plan.strip(), [&](Value Start) {
        AlongStart = Start;
        AlongCount = least(sub(Sizes[Plan.Along], Start), Plan.strip());
        strip();
      });
    });
    return Result;
  }

private:
  unsigned dimOf(unsigned Run) const { return Plan.Section.Runs[Run].back(); }

  void strip() {
    for (unsigned I = 0; I < Plan.Staged.size(); ++I)
      stage(I);
    loop(Zero, CrossCount, 1, [&](Value Row) {
      loop(Zero, AlongCount, 1, [&](Value Column) {
        SmallVector<Value> At(Indices);
        At[dimOf(Plan.Cross)] = add(CrossStart, Row);
        At[dimOf(Plan.Along)] = add(AlongStart, Column);
        Emitter.setElementHook(
            [&](OpBuilder &, Location, Value Tensor, ValueRange) -> Value {
              for (auto [A, Strip] : llvm::zip_equal(Plan.Staged, Strips))
                if (A.Tensor == Tensor)
                  return memref::LoadOp::create(B, Loc, Strip,
                                                ValueRange{Row, Column});
              return {};
            });
        for (const KernelOutput &Out : Plan.Section.Outputs)
          if (Value V = Emitter.element(B, Out.Tensor, At))
            memref::StoreOp::create(B, Loc, V, Out.Memref, At);
          else
            Result = failure();
        Emitter.setElementHook(nullptr);
      });
    });
  }

  /// Fills a strip: whole squares in registers, what is left by elements.
  void stage(unsigned I) {
    Value Whole = arith::CmpIOp::create(B, Loc, arith::CmpIPredicate::eq,
                                        CrossCount, index(Plan.Lanes));
    Value Squares =
        arith::DivUIOp::create(B, Loc, AlongCount, index(Plan.Lanes));
    Squares = arith::SelectOp::create(B, Loc, Whole, Squares, Zero);
    Value Done = mul(Squares, Plan.Lanes);
    loop(Zero, Done, Plan.Lanes, [&](Value Column) { square(I, Column); });
    loop(Done, AlongCount, 1, [&](Value Column) {
      loop(Zero, CrossCount, 1, [&](Value Row) {
        Value V = memref::LoadOp::create(B, Loc, Plan.Staged[I].Memref,
                                         sourceIndices(I, Row, Column));
        memref::StoreOp::create(B, Loc, V, Strips[I], ValueRange{Row, Column});
      });
    });
  }

  /// Where the element for a row and a column of the strip stands.
  SmallVector<Value> sourceIndices(unsigned I, Value Row, Value Column) {
    SmallVector<Value> At(Indices);
    At[dimOf(Plan.Cross)] = add(CrossStart, Row);
    At[dimOf(Plan.Along)] = add(AlongStart, Column);
    SmallVector<Value> Source;
    for (AffineExpr Expr : Plan.Staged[I].Map.getResults())
      Source.push_back(Emitter.apply(B, Loc, Expr, At));
    return Source;
  }

  void square(unsigned I, Value Column) {
    const Access &A = Plan.Staged[I];
    Type Element = cast<MemRefType>(A.Memref.getType()).getElementType();
    auto Vector = VectorType::get({Plan.Lanes}, Element);
    SmallVector<Value> Rows;
    for (int64_t L = 0; L < Plan.Lanes; ++L)
      Rows.push_back(vector::LoadOp::create(
          B, Loc, Vector, A.Memref,
          sourceIndices(I, Zero, add(Column, index(L)))));
    transpose(Rows);
    for (int64_t L = 0; L < Plan.Lanes; ++L)
      vector::StoreOp::create(B, Loc, Rows[L], Strips[I],
                              ValueRange{index(L), Column});
  }

  /// Swaps the off-diagonal blocks, of half the side, then of a quarter, ….
  void transpose(SmallVector<Value> &Rows) {
    int64_t L = Plan.Lanes;
    for (int64_t Distance = L / 2; Distance >= 1; Distance /= 2) {
      SmallVector<int64_t> Upper, Lower;
      for (int64_t K = 0; K < L; ++K) {
        bool Far = K & Distance;
        Upper.push_back(Far ? L + K - Distance : K);
        Lower.push_back(Far ? L + K : K + Distance);
      }
      for (int64_t R = 0; R < L; ++R) {
        if (R & Distance)
          continue;
        Value X = Rows[R], Y = Rows[R + Distance];
        Rows[R] = vector::ShuffleOp::create(B, Loc, X, Y, Upper);
        Rows[R + Distance] = vector::ShuffleOp::create(B, Loc, X, Y, Lower);
      }
    }
  }

  Value scratch(const Access &A) {
    OpBuilder::InsertionGuard Guard(B);
    B.setInsertionPointToStart(&Form.Func.getBody().front());
    Type Element = cast<MemRefType>(A.Memref.getType()).getElementType();
    auto Type = MemRefType::get({Plan.Lanes, Plan.strip()}, Element);
    return memref::AllocaOp::create(B, Loc, Type, B.getI64IntegerAttr(64));
  }

  Value runSize(unsigned Run) {
    SmallVector<Value> Factors;
    for (OpFoldResult Size : Plan.Section.runSizes(Run))
      Factors.push_back(Emitter.materialize(B, Size));
    return product(B, Loc, Emitter, Factors);
  }
  Value index(int64_t V) { return Emitter.constantIndex(B, V); }
  Value add(Value X, Value Y) { return Emitter.add(B, Loc, X, Y); }
  Value mul(Value X, int64_t Y) { return Emitter.mul(B, Loc, X, index(Y)); }
  Value sub(Value X, Value Y) { return arith::SubIOp::create(B, Loc, X, Y); }
  Value least(Value X, int64_t Y) {
    return arith::MinSIOp::create(B, Loc, X, index(Y));
  }
  Value ceilDiv(Value X, int64_t Y) {
    return arith::DivUIOp::create(B, Loc, add(X, index(Y - 1)), index(Y));
  }
  void loop(Value Lower, Value Upper, int64_t Step,
            llvm::function_ref<void(Value)> Body) {
    makeLoop(B, Loc, Lower, Upper, index(Step), {},
             [&](OpBuilder &, Value At, ValueRange) {
               Body(At);
               return SmallVector<Value>();
             });
  }

  OpBuilder &B;
  Location Loc;
  FusedKernel &Form;
  const TransposePlan &Plan;
  ElementEmitter Emitter;
  Value Zero;
  SmallVector<Value> Sizes, Strips, Indices;
  Value CrossStart, CrossCount, AlongStart, AlongCount;
  LogicalResult Result = success();
};

} // namespace

FailureOr<bool> buildHostTranspose(FusedKernel &Form,
                                   const HostMachine &Machine) {
  std::optional<TransposePlan> Plan = planTranspose(Form, Machine);
  if (!Plan)
    return false;
  shape::Expr Work = 1;
  for (unsigned Run = 0; Run < Plan->Section.Runs.size(); ++Run) {
    if (Run == Plan->Along)
      continue;
    shape::Expr Size = 1;
    for (OpFoldResult One : Plan->Section.runSizes(Run)) {
      auto Text = sizeExpr(One);
      if (!Text)
        return false;
      Size = Size * *Text;
    }
    Work = Work * (Run == Plan->Cross ? Size.ceilDiv(Plan->Lanes) : Size);
  }
  int64_t Row = 1;
  for (OpFoldResult One : Plan->Section.runSizes(Plan->Along))
    Row *= constantOf(One).value_or(16);
  UnitRange Range = addUnitRange(Form.Func);
  // Some ten microseconds at a few elements per nanosecond.
  setLaunch(Form.Func, Work, 16384 / std::max<int64_t>(Row * Plan->Lanes, 1),
            llvm::formatv("transpose side={0}", Plan->Lanes).str());
  OpBuilder B(Form.Func.getBody().front().getTerminator());
  if (failed(TransposeNest(B, Form, *Plan).emit(Range.Begin, Range.End)))
    return failure();
  eraseTensorOps(Form.Func);
  return true;
}

} // namespace kpc::kernels
