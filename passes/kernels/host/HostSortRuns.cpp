//===- HostSortRuns.cpp - Runs that one thread sorts and merges -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A unit sorts a run: pairs of runs are merged into memory on the stack and
/// back, from single elements on. Of longer runs a unit is a part of the
/// result, which it merges from where halving tells it to begin.
///
//===----------------------------------------------------------------------===//
#include "passes/kernels/form/RunPair.h"
#include "passes/kernels/form/SortedRuns.h"
#include "passes/kernels/host/HostBuilder.h"
#include "passes/kernels/host/HostLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

/// Elements of the result that a unit merges, at most.
constexpr int64_t MergedPart = 4096;

class RunNest {
public:
  RunNest(OpBuilder &B, Location Loc, ElementEmitter &Emitter, SortedRuns &Runs)
      : B(B), Loc(Loc), Emitter(Emitter), Runs(Runs),
        Whole(Emitter.materialize(B, Runs.Size)) {}

  /// The units of a range, of `Part` elements each.
  LogicalResult emit(const UnitRange &Range, int64_t Part) {
    auto NewScratch = [&]() -> Value {
      return memref::AllocaOp::create(
          B, Loc, MemRefType::get({Runs.to()}, B.getI64Type()));
    };
    if (!Runs.Op.merges())
      Scratch = NewScratch();
    if (!Runs.writesAll())
      Result = NewScratch();
    SmallVector<Value> Sizes;
    for (OpFoldResult Size : Runs.RowSizes)
      Sizes.push_back(Emitter.materialize(B, Size));
    Value More = add(Whole, index(Part - 1));
    Sizes.push_back(arith::DivUIOp::create(B, Loc, More, index(Part)));
    loop(Range.Begin, Range.End, index(1), [&](Value Unit) {
      Row = delinearize(B, Loc, Unit, Sizes);
      Value First =
          arith::MulIOp::create(B, Loc, Row.pop_back_val(), index(Part));
      if (Runs.Op.merges())
        mergePart(First, Part);
      else
        sortRun(First);
    });
    return Status;
  }

private:
  Value index(int64_t V) { return Emitter.constantIndex(B, V); }
  Value add(Value X, Value Y) { return arith::AddIOp::create(B, Loc, X, Y); }
  Value sub(Value X, Value Y) { return arith::SubIOp::create(B, Loc, X, Y); }
  Value min(Value X, Value Y) { return arith::MinSIOp::create(B, Loc, X, Y); }
  void loop(Value From, Value To, Value Step,
            llvm::function_ref<void(Value)> Body) {
    makeLoop(B, Loc, From, To, Step, {}, [&](OpBuilder &, Value I, ValueRange) {
      Body(I);
      return SmallVector<Value>();
    });
  }
  SmallVector<Value> at(Value Place) {
    SmallVector<Value> Index(Row);
    Index.push_back(Place);
    return Index;
  }
  Value element(OpBuilder &B, Value Place) {
    Value V = Emitter.element(B, Runs.Op.getX(), at(Place));
    if (V)
      return V;
    Status = failure();
    return arith::ConstantOp::create(B, Loc, B.getI64IntegerAttr(0));
  }

  /// Merges elements [Begin, Begin + Count) of what a pair gives.
  void merge(const RunPair &Pair, Value Begin, Value Count,
             llvm::function_ref<void(Value Number, Value Element)> Store) {
    RunPair::Heads At = Pair.headsAt(Begin);
    Value Carried[] = {At.TakenA, At.TakenB, At.NextA, At.NextB};
    makeLoop(B, Loc, index(0), Count, index(1), Carried,
             [&](OpBuilder &, Value I, ValueRange V) {
               auto [Element, Next] = Pair.take({V[0], V[1], V[2], V[3]});
               Store(I, Element);
               return SmallVector<Value>{Next.TakenA, Next.TakenB, Next.NextA,
                                         Next.NextB};
             });
  }

  void mergePart(Value First, int64_t Part) {
    Value Length = index(Runs.from());
    Value Inside = arith::RemUIOp::create(B, Loc, First, index(Runs.to()));
    Value OfPair = sub(First, Inside);
    Value Rest = sub(Whole, OfPair);
    Value SizeA = min(Rest, Length);
    Value SizeB = min(sub(Rest, SizeA), Length);
    RunPair Pair(B, Loc, SizeA, SizeB, Length, [&](OpBuilder &B, Value Place) {
      Value There = arith::AddIOp::create(B, Loc, OfPair, Place);
      return memref::LoadOp::create(B, Loc, Runs.source(), at(There));
    });
    merge(Pair, Inside, min(sub(Whole, First), index(Part)),
          [&](Value Number, Value Element) {
            memref::StoreOp::create(B, Loc, Element, Runs.Memref,
                                    at(add(First, Number)));
          });
  }

  void sortRun(Value First) {
    int64_t Size = Runs.to();
    unsigned Levels = llvm::Log2_64(Size);
    auto Read = [&](OpBuilder &B, bool FromScratch, Value Place) -> Value {
      if (FromScratch)
        return memref::LoadOp::create(B, Loc, Scratch, Place);
      if (Result)
        return memref::LoadOp::create(B, Loc, Result, Place);
      Value There = arith::AddIOp::create(B, Loc, First, Place);
      return memref::LoadOp::create(B, Loc, Runs.Memref, at(There));
    };
    auto Write = [&](bool ToScratch, Value Place, Value Element) {
      if (ToScratch || Result)
        memref::StoreOp::create(B, Loc, Element, ToScratch ? Scratch : Result,
                                Place);
      else
        memref::StoreOp::create(B, Loc, Element, Runs.Memref,
                                at(add(First, Place)));
    };
    // The last level writes the result.
    bool InScratch = Levels % 2 == 1;
    loop(index(0), index(Size), index(1),
         [&](Value I) { Write(InScratch, I, element(B, add(First, I))); });
    for (unsigned Level = 0; Level < Levels; ++Level) {
      Value Length = index(int64_t(1) << Level);
      loop(index(0), index(Size), index(int64_t(2) << Level), [&](Value Begin) {
        RunPair Pair(B, Loc, Length, Length, Length,
                     [&](OpBuilder &B, Value Place) {
                       return Read(B, InScratch,
                                   arith::AddIOp::create(B, Loc, Begin, Place));
                     });
        merge(Pair, index(0), index(int64_t(2) << Level),
              [&](Value Number, Value Element) {
                Write(!InScratch, add(Begin, Number), Element);
              });
      });
      InScratch = !InScratch;
    }
    if (Result)
      loop(index(0), Emitter.materialize(B, Runs.Written), index(1),
           [&](Value I) {
             memref::StoreOp::create(B, Loc,
                                     memref::LoadOp::create(B, Loc, Result, I),
                                     Runs.Memref, at(I));
           });
  }

  OpBuilder &B;
  Location Loc;
  ElementEmitter &Emitter;
  SortedRuns &Runs;
  /// The result lies in a buffer of its own where only the first elements are
  /// written.
  Value Whole, Scratch, Result;
  SmallVector<Value> Row;
  LogicalResult Status = success();
};

} // namespace

FailureOr<bool> buildHostSortRuns(FusedKernel &Form, const HostMachine &) {
  std::optional<SortedRuns> Runs = SortedRuns::read(Form);
  if (!Runs || (Runs->Op.merges() && !Runs->source()))
    return false;
  bool Merges = Runs->Op.merges();
  int64_t Part = Merges ? std::min(MergedPart, Runs->to()) : Runs->to();
  std::optional<shape::Expr> Work = Runs->parts(Part);
  if (!Work) {
    Form.Func.emitOpError("has rows whose size is no expression over the "
                          "kernel's size arguments");
    return failure();
  }
  UnitRange Range = addUnitRange(Form.Func);
  // A few microseconds of work, at about 2 ns for an element and a level.
  int64_t Grain = Merges ? MergedPart / Part : 256 / Part;
  setLaunch(Form.Func, *Work, std::max<int64_t>(Grain, 1),
            (Merges ? "merge " : "sort ") +
                std::to_string(Merges ? Runs->from() : Runs->to()));
  OpBuilder B(Form.Func.getBody().front().getTerminator());
  ElementEmitter Emitter;
  if (failed(RunNest(B, Form.Func.getLoc(), Emitter, *Runs).emit(Range, Part)))
    return failure();
  eraseTensorOps(Form.Func);
  return true;
}

} // namespace kpc::kernels
