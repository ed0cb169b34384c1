//===- HostMap.cpp - Loops over output elements ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Every output element is pulled by itself. Neighbouring dims that all buffers
/// walk in one linear step become one loop; a unit is a row (the last such
/// run), or an element where all is one run. The inner loop is left to LLVM's
/// vectoriser. This builder takes every kernel: it is the meaning of the linalg
/// form.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/OutputSections.h"
#include "passes/kernels/host/HostBuilder.h"
#include "passes/kernels/host/HostPartialSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

/// Elements worth a task: a few microseconds of simple arithmetic.
constexpr int64_t TaskElements = 16384;

class MapNest {
public:
  MapNest(OpBuilder &B, Location Loc, ElementEmitter &Emitter,
          const OutputSection &S)
      : B(B), Loc(Loc), Emitter(Emitter), S(S) {}

  LogicalResult emit(Value Begin, Value End) {
    Zero = Emitter.constantIndex(B, 0);
    One = Emitter.constantIndex(B, 1);
    makeLoop(B, Loc, Begin, End, One, {},
             [&](OpBuilder &, Value Unit, ValueRange) {
               unit(Unit);
               return SmallVector<Value>();
             });
    return Result;
  }

private:
  Value runSize(unsigned Run) {
    SmallVector<Value> Sizes;
    for (OpFoldResult Size : S.runSizes(Run))
      Sizes.push_back(Emitter.materialize(B, Size));
    return product(B, Loc, Emitter, Sizes);
  }

  void unit(Value Unit) {
    SmallVector<Value> Indices(S.Sizes.size(), Zero);
    if (S.isFlat()) {
      if (!S.Runs.empty())
        Indices[S.Runs.front().back()] = Unit;
      return store(Indices);
    }
    SmallVector<Value> Sizes;
    for (unsigned Run = 0; Run + 1 < S.Runs.size(); ++Run)
      Sizes.push_back(runSize(Run));
    SmallVector<Value> At = delinearize(B, Loc, Unit, Sizes);
    for (auto [Run, Index] : llvm::enumerate(At))
      Indices[S.Runs[Run].back()] = Index;
    makeLoop(B, Loc, Zero, runSize(S.Runs.size() - 1), One, {},
             [&](OpBuilder &, Value Index, ValueRange) {
               Indices[S.Runs.back().back()] = Index;
               store(Indices);
               return SmallVector<Value>();
             });
  }

  void store(ArrayRef<Value> Indices) {
    for (const KernelOutput &Out : S.Outputs) {
      Value Element = Emitter.element(B, Out.Tensor, Indices);
      if (!Element) {
        Result = failure();
        return;
      }
      memref::StoreOp::create(B, Loc, Element, Out.Memref, Indices);
    }
  }

  OpBuilder &B;
  Location Loc;
  ElementEmitter &Emitter;
  const OutputSection &S;
  Value Zero, One;
  LogicalResult Result = success();
};

/// Elements computed by one unit of `S`, as far as it is known.
int64_t unitCost(const OutputSection &S, const FusedKernel &Form) {
  int64_t Cost = 1;
  if (!S.isFlat())
    for (OpFoldResult Size : S.runSizes(S.Runs.size() - 1))
      Cost *= constantOf(Size).value_or(16);
  if (Form.Root) {
    SmallVector<unsigned> Dims;
    linalg::LinalgOp Root = Form.Root;
    Root.getReductionDims(Dims);
    for (unsigned Loop : Dims)
      Cost *= constantOf(loopSize(Root, Loop)).value_or(16);
  }
  return std::max<int64_t>(Cost, 1);
}

} // namespace

FailureOr<bool> buildHostMap(FusedKernel &Form, const HostMachine &Machine) {
  SmallVector<OutputSection> Sections = formSections(Form);
  shape::Expr Work;
  int64_t Grain = 0;
  for (const OutputSection &S : Sections) {
    std::optional<shape::Expr> Units = productExpr(S.unitSizes());
    if (!Units) {
      Form.Func.emitOpError("has an output whose size is no expression over "
                            "the kernel's size arguments");
      return failure();
    }
    Work = Work + *Units;
    Grain = std::max(Grain, TaskElements / unitCost(S, Form));
  }
  UnitRange Range = addUnitRange(Form.Func);
  setLaunch(Form.Func, Work, Grain,
            Sections.size() > 1         ? "map sections"
            : Sections.front().isFlat() ? "map flat"
                                        : "map rows");
  OpBuilder B(Form.Func.getBody().front().getTerminator());
  ElementEmitter Emitter;
  pullSumsInBlocks(Emitter);
  Location Loc = Form.Func.getLoc();
  Value Start = Emitter.constantIndex(B, 0);
  for (const OutputSection &S : Sections) {
    Value Begin = Range.Begin, End = Range.End;
    if (Sections.size() > 1) {
      // This section's units stand at [Start, Start + Units) of all units.
      SmallVector<Value> Sizes;
      for (OpFoldResult Size : S.unitSizes())
        Sizes.push_back(Emitter.materialize(B, Size));
      Value Next = Emitter.add(B, Loc, Start, product(B, Loc, Emitter, Sizes));
      Begin = arith::MaxSIOp::create(B, Loc, Begin, Start);
      End = arith::MinSIOp::create(B, Loc, End, Next);
      Begin = arith::SubIOp::create(B, Loc, Begin, Start);
      End = arith::SubIOp::create(B, Loc, End, Start);
      Start = Next;
    }
    if (failed(MapNest(B, Loc, Emitter, S).emit(Begin, End)))
      return failure();
  }
  eraseTensorOps(Form.Func);
  return true;
}

} // namespace kpc::kernels
