//===- LowerOrder.cpp - Steps of sorts and what uses them ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   graph.sort_runs, digit_counts, order_by_digit  →  the kernel ops
///   graph.search_sorted  →  a generic that halves an interval
///   graph.fold_segments  →  a generic that walks a segment
///
//===----------------------------------------------------------------------===//

#include "dialects/kernel/Kernel.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/graph/linalg/IndexMath.h"
#include "passes/graph/linalg/LowerScatter.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

static Value emptyOf(SymbolicTensorType Ty, KernelWriter &W) {
  SmallVector<OpFoldResult> Sizes;
  for (const shape::Expr &E : Ty.getDims())
    Sizes.push_back(
        E.asConstant() ? OpFoldResult(W.builder().getIndexAttr(*E.asConstant()))
                       : OpFoldResult(W.size(E)));
  return tensor::EmptyOp::create(W.builder(), W.loc(), Sizes,
                                 W.computeType(Ty.getElementType()));
}

static Value lowerSortRuns(SortRunsOp Op, KernelWriter &W) {
  Value Init = emptyOf(typeOf(Op.getY()), W);
  return kernel::SortRunsOp::create(W.builder(), W.loc(), Init.getType(),
                                    W.tensor(Op.getX()), Op.getFrom(),
                                    Op.getTo(), Init);
}

static Value lowerDigitCounts(DigitCountsOp Op, KernelWriter &W) {
  Value Init = emptyOf(typeOf(Op.getY()), W);
  return kernel::DigitCountsOp::create(W.builder(), W.loc(), Init.getType(),
                                       W.tensor(Op.getX()), Op.getShift(),
                                       Init);
}

static Value lowerOrderByDigit(OrderByDigitOp Op, KernelWriter &W) {
  Value Init = emptyOf(typeOf(Op.getY()), W);
  return kernel::OrderByDigitOp::create(
      W.builder(), W.loc(), Init.getType(), W.tensor(Op.getX()),
      W.tensor(Op.getCounts()), Op.getShift(), Init);
}

static Value lowerSearchSorted(SearchSortedOp Op, KernelWriter &W) {
  SymbolicTensorType In = typeOf(Op.getSorted());
  Value Sorted = W.tensor(Op.getSorted()), Values = W.tensor(Op.getValues());
  bool Unsigned = isUnsigned(In.getElementType());
  using P = arith::CmpIPredicate;
  P Before = Op.getRight() ? (Unsigned ? P::ule : P::sle)
                           : (Unsigned ? P::ult : P::slt);
  Value Size = W.size(In.getDims()[0]);
  return W.produce(
      typeOf(Op.getY()), [&](OpBuilder &B, Location L, ValueRange I) -> Value {
        IndexMath M{B, L};
        Value Key = tensor::ExtractOp::create(B, L, Values, I);
        Type Index = B.getIndexType();
        // The answer lies in [Low, High].
        auto Loop = scf::WhileOp::create(
            B, L, TypeRange{Index, Index}, ValueRange{M.constant(0), Size},
            [&](OpBuilder &B, Location L, ValueRange Ends) {
              Value More =
                  arith::CmpIOp::create(B, L, P::ult, Ends[0], Ends[1]);
              scf::ConditionOp::create(B, L, More, Ends);
            },
            [&](OpBuilder &B, Location L, ValueRange Ends) {
              IndexMath M{B, L};
              Value Middle = arith::ShRUIOp::create(
                  B, L, M.add(Ends[0], Ends[1]), M.constant(1));
              Value Element = tensor::ExtractOp::create(B, L, Sorted, Middle);
              Value IsBefore =
                  arith::CmpIOp::create(B, L, Before, Element, Key);
              Value Low = arith::SelectOp::create(
                  B, L, IsBefore, M.add(Middle, M.constant(1)), Ends[0]);
              Value High =
                  arith::SelectOp::create(B, L, IsBefore, Ends[1], Middle);
              scf::YieldOp::create(B, L, ValueRange{Low, High});
            });
        return arith::IndexCastOp::create(B, L, B.getI64Type(),
                                          Loop.getResult(0));
      });
}

namespace {
/// Reads of what a segment's rows are combined with.
struct SegmentReader {
  FoldSegmentsOp Op;
  Value Updates, Order, Starts;

  static Value asIndex(OpBuilder &B, Location L, Value Element) {
    return arith::IndexCastOp::create(B, L, B.getIndexType(), Element);
  }
  Value startOf(OpBuilder &B, Location L, Value Row) const {
    return asIndex(B, L, tensor::ExtractOp::create(B, L, Starts, Row));
  }
  /// The element of column `Column` of the segment's update number `At`.
  Value updateAt(OpBuilder &B, Location L, Value At, Value Column) const {
    Value Row = asIndex(B, L, tensor::ExtractOp::create(B, L, Order, At));
    return tensor::ExtractOp::create(B, L, Updates, ValueRange{Row, Column});
  }
};
} // namespace

/// The last update of a segment, or what is there if it has none.
static Value lastOf(OpBuilder &B, Location L, const SegmentReader &Read,
                    Value Begin, Value End, Value Column, Value There) {
  IndexMath M{B, L};
  return scf::IfOp::create(
             B, L, M.less(Begin, End),
             [&](OpBuilder &B, Location L) {
               IndexMath M{B, L};
               Value Last = M.sub(End, M.constant(1));
               scf::YieldOp::create(B, L, Read.updateAt(B, L, Last, Column));
             },
             [&](OpBuilder &B, Location L) {
               scf::YieldOp::create(B, L, There);
             })
      .getResult(0);
}

static Value lowerFoldSegments(FoldSegmentsOp Op, KernelWriter &W) {
  // So many loads are on their way at once; their order is that of the sum.
  constexpr int64_t Ahead = 4;
  SymbolicTensorType Ty = typeOf(Op.getX());
  Value X = W.tensor(Op.getX());
  SegmentReader Read{Op, W.tensor(Op.getUpdates()), W.tensor(Op.getOrder()),
                     W.tensor(Op.getStarts())};
  bool Unsigned = isUnsigned(Ty.getElementType());
  ScatterKind Kind = Op.getKind();
  return W.produce(Ty, [&](OpBuilder &B, Location L, ValueRange I) -> Value {
    IndexMath M{B, L};
    Value Column = I[1];
    Value Begin = Read.startOf(B, L, I[0]);
    Value End = Read.startOf(B, L, M.add(I[0], M.constant(1)));
    Value There = tensor::ExtractOp::create(B, L, X, I);
    if (Kind == ScatterKind::none)
      return lastOf(B, L, Read, Begin, End, Column, There);
    auto Walk = [&](Value From, Value To, int64_t Step, Value Acc) {
      return scf::ForOp::create(
                 B, L, From, To, M.constant(Step), Acc,
                 [&](OpBuilder &B, Location L, Value At, ValueRange Acc) {
                   IndexMath M{B, L};
                   SmallVector<Value> New;
                   for (int64_t K = 0; K < Step; ++K)
                     New.push_back(
                         Read.updateAt(B, L, M.add(At, M.constant(K)), Column));
                   Value Sum = Acc[0];
                   for (Value One : New)
                     Sum = combineUpdate(B, L, Kind, Sum, One, Unsigned);
                   scf::YieldOp::create(B, L, Sum);
                 })
          .getResult(0);
    };
    Value Count = M.sub(End, Begin);
    Value Rest = arith::RemUIOp::create(B, L, Count, M.constant(Ahead));
    Value Whole = M.sub(End, Rest);
    return Walk(Whole, End, 1, Walk(Begin, Whole, Ahead, There));
  });
}

FailureOr<Value> graph::lowerOrder(Operation *Op, KernelWriter &W) {
  return llvm::TypeSwitch<Operation *, FailureOr<Value>>(Op)
      .Case([&](SortRunsOp Op) { return lowerSortRuns(Op, W); })
      .Case([&](DigitCountsOp Op) { return lowerDigitCounts(Op, W); })
      .Case([&](OrderByDigitOp Op) { return lowerOrderByDigit(Op, W); })
      .Case([&](SearchSortedOp Op) { return lowerSearchSorted(Op, W); })
      .Case([&](FoldSegmentsOp Op) { return lowerFoldSegments(Op, W); })
      .Default(failure());
}
