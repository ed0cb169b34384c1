//===- LowerReduction.cpp - Reductions over axes and windows -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   graph.reduce sum, %x axes [1]  →  linalg.generic {parallel, reduction}
///                                     ins(%x) outs(fill 0) { arith.addf }
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/graph/linalg/KernelWriter.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

Value graph::neutral(OpBuilder &B, Location Loc, ReduceKind Kind, Type Compute,
                     bool Unsigned) {
  if (Kind == ReduceKind::sum || Kind == ReduceKind::prod) {
    bool One = Kind == ReduceKind::prod;
    if (isa<FloatType>(Compute))
      return arith::ConstantOp::create(B, Loc, B.getFloatAttr(Compute, One));
    return arith::ConstantOp::create(B, Loc, B.getIntegerAttr(Compute, One));
  }
  bool Lowest = Kind == ReduceKind::max;
  if (auto Float = dyn_cast<FloatType>(Compute)) {
    APFloat Inf = APFloat::getInf(Float.getFloatSemantics(), Lowest);
    return arith::ConstantOp::create(B, Loc, B.getFloatAttr(Compute, Inf));
  }
  unsigned Width = Compute.getIntOrFloatBitWidth();
  APInt End = Unsigned ? (Lowest ? APInt::getMinValue(Width)
                                 : APInt::getMaxValue(Width))
                       : (Lowest ? APInt::getSignedMinValue(Width)
                                 : APInt::getSignedMaxValue(Width));
  return arith::ConstantOp::create(B, Loc, B.getIntegerAttr(Compute, End));
}

Value graph::combine(OpBuilder &B, Location Loc, ReduceKind Kind, Value A,
                     Value C, bool Unsigned) {
  bool Float = isa<FloatType>(A.getType());
  switch (Kind) {
  case ReduceKind::sum:
    if (Float)
      return arith::AddFOp::create(B, Loc, A, C);
    return arith::AddIOp::create(B, Loc, A, C);
  case ReduceKind::prod:
    if (Float)
      return arith::MulFOp::create(B, Loc, A, C);
    return arith::MulIOp::create(B, Loc, A, C);
  case ReduceKind::max:
    if (Float)
      return arith::MaximumFOp::create(B, Loc, A, C);
    if (Unsigned)
      return arith::MaxUIOp::create(B, Loc, A, C);
    return arith::MaxSIOp::create(B, Loc, A, C);
  case ReduceKind::min:
    if (Float)
      return arith::MinimumFOp::create(B, Loc, A, C);
    if (Unsigned)
      return arith::MinUIOp::create(B, Loc, A, C);
    return arith::MinSIOp::create(B, Loc, A, C);
  }
  llvm_unreachable("all kinds are above");
}

/// The value every accumulator of `Ty` begins with.
static Value initial(KernelWriter &W, ReduceKind Kind, SymbolicTensorType Ty) {
  return W.filled(Ty, neutral(W.builder(), W.loc(), Kind,
                              W.computeType(Ty.getElementType()),
                              isUnsigned(Ty.getElementType())));
}

static Value lowerReduce(ReduceOp Op, KernelWriter &W) {
  SymbolicTensorType From = typeOf(Op.getX()), To = typeOf(Op.getY());
  MLIRContext *Context = Op.getContext();
  // Loops: what stays, in order, then what is reduced, in order.
  unsigned Parallel = 0, Reduction = To.getRank();
  SmallVector<AffineExpr> Index;
  SmallVector<Value> Reduced;
  for (int64_t I = 0; I < From.getRank(); ++I) {
    bool Stays = !llvm::is_contained(Op.getAxes(), I);
    Index.push_back(
        getAffineDimExpr(Stays ? Parallel++ : Reduction++, Context));
    if (!Stays)
      Reduced.push_back(W.size(From.getDims()[I]));
  }
  AffineMap Map = AffineMap::get(From.getRank(), 0, Index, Context);
  bool Unsigned = isUnsigned(From.getElementType());
  return W.reduce(To, Reduced, W.tensor(Op.getX()), Map,
                  initial(W, Op.getKind(), To),
                  [&](OpBuilder &B, Location L, ValueRange X) {
                    return combine(B, L, Op.getKind(), X[1], X[0], Unsigned);
                  });
}

/// Whether `New` takes the place of `Old`, where there is one: NaN is better
/// than all.
static Value isBetter(ArgReduceOp Op, OpBuilder &B, Location L, Value New,
                      Value Old) {
  Type Element = typeOf(Op.getX()).getElementType();
  bool Max = Op.getKind() == ReduceKind::max, Last = Op.getSelectLast();
  if (!isFloat(Element)) {
    using P = arith::CmpIPredicate;
    static constexpr P Table[2][2][2] = {{{P::slt, P::sle}, {P::sgt, P::sge}},
                                         {{P::ult, P::ule}, {P::ugt, P::uge}}};
    return arith::CmpIOp::create(B, L, Table[isUnsigned(Element)][Max][Last],
                                 New, Old);
  }
  using P = arith::CmpFPredicate;
  static constexpr P Table[2][2] = {{P::OLT, P::OLE}, {P::OGT, P::OGE}};
  Value Better = arith::CmpFOp::create(B, L, Table[Max][Last], New, Old);
  // A NaN wins over a number, once.
  Value NewNan = arith::CmpFOp::create(B, L, P::UNO, New, New);
  Value OldNumber = arith::CmpFOp::create(B, L, P::ORD, Old, Old);
  return arith::OrIOp::create(B, L, Better,
                              arith::AndIOp::create(B, L, NewNan, OldNumber));
}

/// Two accumulators, the best value and its index.
static Value lowerArgReduce(ArgReduceOp Op, KernelWriter &W) {
  SymbolicTensorType From = typeOf(Op.getX()), To = typeOf(Op.getY());
  OpBuilder &B = W.builder();
  MLIRContext *Context = Op.getContext();
  unsigned Rank = To.getRank();
  int64_t Axis = Op.getAxis();
  SmallVector<AffineExpr> Index;
  for (unsigned I = 0; I < Rank; ++I)
    Index.push_back(getAffineDimExpr(I, Context));
  Index.insert(Index.begin() + Axis, getAffineDimExpr(Rank, Context));
  AffineMap Read = AffineMap::get(Rank + 1, 0, Index, Context);
  AffineMap Write = leadingDims(Rank + 1, Rank, Context);
  AffineMap Bound =
      AffineMap::get(Rank + 1, 0, getAffineDimExpr(Rank, Context));

  SymbolicTensorType Values = To.withElementType(From.getElementType());
  Value Best = initial(W, Op.getKind(), Values);
  Value First = W.filled(
      To, arith::ConstantOp::create(B, W.loc(), B.getI64IntegerAttr(-1)));
  Value Count = tensor::EmptyOp::create(
      B, W.loc(), ArrayRef{getAsOpFoldResult(W.size(From.getDims()[Axis]))},
      B.getI1Type());
  SmallVector<utils::IteratorType> Iterators(Rank,
                                             utils::IteratorType::parallel);
  Iterators.push_back(utils::IteratorType::reduction);
  auto Generic = linalg::GenericOp::create(
      B, W.loc(), TypeRange{Best.getType(), First.getType()},
      ValueRange{W.tensor(Op.getX()), Count}, ValueRange{Best, First},
      ArrayRef{Read, Bound, Write, Write}, Iterators,
      [&](OpBuilder &B, Location L, ValueRange X) {
        Value New = X[0], Old = X[2], OldIndex = X[3];
        Value Position = arith::IndexCastOp::create(
            B, L, B.getI64Type(), linalg::IndexOp::create(B, L, Rank));
        Value None = arith::CmpIOp::create(
            B, L, arith::CmpIPredicate::slt, OldIndex,
            arith::ConstantOp::create(B, L, B.getI64IntegerAttr(0)));
        Value Better = isBetter(Op, B, L, New, Old);
        Better = arith::OrIOp::create(B, L, Better, None);
        linalg::YieldOp::create(
            B, L,
            ValueRange{
                arith::SelectOp::create(B, L, Better, New, Old),
                arith::SelectOp::create(B, L, Better, Position, OldIndex)});
      });
  return Generic.getResult(1);
}

/// Running sums by definition: each element folds over its block, or the whole
/// axis, and takes what lies before it.
static Value lowerCumSum(CumSumOp Op, KernelWriter &W) {
  SymbolicTensorType Ty = typeOf(Op.getX());
  unsigned Rank = Ty.getRank();
  int64_t Axis = Op.getAxis();
  Value X = W.tensor(Op.getX());
  Value Size = W.size(Ty.getDims()[Axis]);
  Value Block = Op.getBlock() ? W.index(*Op.getBlock()) : Value();
  return W.reduce(
      Ty, Block ? Block : Size, {}, {}, initial(W, ReduceKind::sum, Ty),
      [&](OpBuilder &B, Location L, ValueRange Acc) -> Value {
        SmallVector<Value> Index = W.indices(B, Rank + 1);
        Value Tap = Index.pop_back_val(), Here = Index[Axis];
        if (Block) {
          Value Number = arith::DivUIOp::create(B, L, Here, Block);
          Value First = arith::MulIOp::create(B, L, Number, Block);
          Tap = arith::AddIOp::create(B, L, First, Tap);
          // The last block may end behind the axis: what is read there counts
          // in no sum.
          Value Last = arith::SubIOp::create(
              B, L, Size, arith::ConstantIndexOp::create(B, L, 1));
          Index[Axis] = arith::MinUIOp::create(B, L, Tap, Last);
        } else {
          Index[Axis] = Tap;
        }
        using P = arith::CmpIPredicate;
        P Order = Op.getReverse() ? (Op.getExclusive() ? P::ugt : P::uge)
                                  : (Op.getExclusive() ? P::ult : P::ule);
        Value Taken = arith::CmpIOp::create(B, L, Order, Tap, Here);
        if (Block && Op.getReverse())
          Taken = arith::AndIOp::create(
              B, L, Taken, arith::CmpIOp::create(B, L, P::ult, Tap, Size));
        Value Element = tensor::ExtractOp::create(B, L, X, Index);
        Value Sum = combine(B, L, ReduceKind::sum, Acc[0], Element, false);
        return arith::SelectOp::create(B, L, Taken, Sum, Acc[0]);
      });
}

/// Of floats, what leaves all others as they are.
static FloatAttr neutralNumber(ReduceKind Kind, Type Compute) {
  auto Float = cast<FloatType>(Compute);
  if (Kind == ReduceKind::sum || Kind == ReduceKind::prod)
    return FloatAttr::get(Float, Kind == ReduceKind::prod ? 1.0 : 0.0);
  return FloatAttr::get(Float, APFloat::getInf(Float.getFloatSemantics(),
                                               Kind == ReduceKind::max));
}

/// Whether the window slides over an image of floats with channels last, and
/// beyond its borders: builders know what is around an image (kernel.pad). An
/// image without pixels has no border.
static bool slidesOverBorder(WindowOp Op) {
  constexpr int64_t MostSpatial = 3;
  SymbolicTensorType Ty = typeOf(Op.getX());
  auto IsAround = [](int64_t Padding) { return Padding >= 0; };
  auto IsWhole = [&](int64_t Dim) {
    return Op.getWindow()[Dim] == 1 && Op.getStride()[Dim] == 1 &&
           Op.getLow()[Dim] == 0 && Op.getHigh()[Dim] == 0;
  };
  return isFloat(Ty.getElementType()) && Ty.getRank() >= 3 &&
         Ty.getRank() <= MostSpatial + 2 && IsWhole(0) &&
         IsWhole(Ty.getRank() - 1) && !Op.isPartition() &&
         llvm::all_of(Op.getLow(), IsAround) &&
         llvm::all_of(Op.getHigh(), IsAround) &&
         !llvm::is_contained(Ty.getDims(), shape::Expr(0));
}

/// The loops of a window: one for each axis of the result, then one for each
/// axis along which the window is wider than one element.
namespace {
struct WindowLoops {
  WindowLoops(WindowOp Op, KernelWriter &W)
      : Rank(typeOf(Op.getY()).getRank()) {
    Of.assign(Rank, 0);
    for (unsigned I = 0; I < Rank; ++I)
      if (Op.getWindow()[I] > 1) {
        Of[I] = Rank + Reduced.size();
        Reduced.push_back(W.index(Op.getWindow()[I]));
      }
  }
  unsigned count() const { return Rank + Reduced.size(); }

  unsigned Rank;
  SmallVector<Value> Reduced; ///< sizes of the window's own loops
  SmallVector<unsigned> Of;   ///< the window's loop along an axis; 0: none
};
} // namespace

static bool isInside(int64_t Padding) { return Padding <= 0; }

/// Where every element that is read exists, in `X` or around it: what is read
/// can be seen in the map.
static Value lowerWindowInside(WindowOp Op, KernelWriter &W, Value X,
                               const WindowLoops &Loops, bool IsSurrounded) {
  SymbolicTensorType To = typeOf(Op.getY());
  MLIRContext *Context = Op.getContext();
  bool Unsigned = isUnsigned(typeOf(Op.getX()).getElementType());
  SmallVector<AffineExpr> Index;
  for (unsigned I = 0; I < Loops.Rank; ++I) {
    AffineExpr Place = getAffineDimExpr(I, Context) * Op.getStride()[I];
    if (!IsSurrounded)
      Place = Place - Op.getLow()[I];
    if (Loops.Of[I])
      Place =
          Place + getAffineDimExpr(Loops.Of[I], Context) * Op.getDilation()[I];
    Index.push_back(Place);
  }
  auto Map = AffineMap::get(Loops.count(), 0, Index, Context);
  return W.reduce(To, Loops.Reduced, X, Map, initial(W, Op.getKind(), To),
                  [&](OpBuilder &B, Location L, ValueRange X) {
                    return combine(B, L, Op.getKind(), X[1], X[0], Unsigned);
                  });
}

/// Where the window's present element lies in the tensor, along axis `I`.
static Value placeUnderWindow(WindowOp Op, OpBuilder &B, Location L,
                              ArrayRef<Value> Loop, const WindowLoops &Loops,
                              unsigned I) {
  AffineExpr Place =
      getAffineDimExpr(0, B.getContext()) * Op.getStride()[I] - Op.getLow()[I];
  SmallVector<Value> Operands{Loop[I]};
  if (Loops.Of[I]) {
    Place = Place + getAffineDimExpr(1, B.getContext()) * Op.getDilation()[I];
    Operands.push_back(Loop[Loops.Of[I]]);
  }
  return affine::AffineApplyOp::create(
      B, L, AffineMap::get(Operands.size(), 0, Place), Operands);
}

/// Where the window reaches beyond the tensor: elements outside leave the
/// accumulator as it is.
static Value lowerWindowGuarded(WindowOp Op, KernelWriter &W, Value X,
                                const WindowLoops &Loops) {
  SymbolicTensorType From = typeOf(Op.getX()), To = typeOf(Op.getY());
  bool Unsigned = isUnsigned(From.getElementType());
  SmallVector<Value> Sizes = W.sizes(From);
  return W.reduce(
      To, Loops.Reduced, {}, {}, initial(W, Op.getKind(), To),
      [&](OpBuilder &B, Location L, ValueRange Acc) -> Value {
        SmallVector<Value> Loop = W.indices(B, Loops.count());
        SmallVector<Value> Index;
        Value Inside;
        for (unsigned I = 0; I < Loops.Rank; ++I) {
          Value At = placeUnderWindow(Op, B, L, Loop, Loops, I);
          Index.push_back(At);
          if (isInside(Op.getLow()[I]) && isInside(Op.getHigh()[I]))
            continue;
          // As unsigned, a negative index is beyond the size too.
          Value Fits = arith::CmpIOp::create(B, L, arith::CmpIPredicate::ult,
                                             At, Sizes[I]);
          Inside = Inside
                       ? arith::AndIOp::create(B, L, Inside, Fits).getResult()
                       : Fits;
        }
        auto Read = [&](OpBuilder &B, Location L) -> Value {
          return tensor::ExtractOp::create(B, L, X, Index);
        };
        auto IfInside = [&](auto Then, auto Else) {
          auto Yield = [](auto Make) {
            return [Make](OpBuilder &B, Location L) {
              scf::YieldOp::create(B, L, Value(Make(B, L)));
            };
          };
          return scf::IfOp::create(B, L, Inside, Yield(Then), Yield(Else))
              .getResult(0);
        };
        // Partial results can be joined where the accumulator is in no branch.
        if (Op.isPartition()) {
          Value Element = IfInside(Read, [&](OpBuilder &B, Location L) {
            return neutral(B, L, Op.getKind(), Acc[0].getType(), Unsigned);
          });
          return combine(B, L, Op.getKind(), Acc[0], Element, Unsigned);
        }
        return IfInside(
            [&](OpBuilder &B, Location L) {
              return combine(B, L, Op.getKind(), Acc[0], Read(B, L), Unsigned);
            },
            [&](OpBuilder &, Location) { return Acc[0]; });
      });
}

static Value lowerWindow(WindowOp Op, KernelWriter &W) {
  Value X = W.tensor(Op.getX());
  WindowLoops Loops(Op, W);
  bool IsSurrounded = slidesOverBorder(Op);
  if (IsSurrounded) {
    SymbolicTensorType Ty = typeOf(Op.getX());
    Type Compute = W.computeType(Ty.getElementType());
    X = W.surrounded(X, Ty, Op.getLow(), Op.getHigh(),
                     neutralNumber(Op.getKind(), Compute));
  }
  bool ReadsInside = IsSurrounded || (llvm::all_of(Op.getLow(), isInside) &&
                                      llvm::all_of(Op.getHigh(), isInside));
  return ReadsInside ? lowerWindowInside(Op, W, X, Loops, IsSurrounded)
                     : lowerWindowGuarded(Op, W, X, Loops);
}

FailureOr<Value> graph::lowerReduction(Operation *Op, KernelWriter &W) {
  return llvm::TypeSwitch<Operation *, FailureOr<Value>>(Op)
      .Case([&](ReduceOp Op) { return lowerReduce(Op, W); })
      .Case([&](ArgReduceOp Op) { return lowerArgReduce(Op, W); })
      .Case([&](CumSumOp Op) { return lowerCumSum(Op, W); })
      .Case([&](WindowOp Op) { return lowerWindow(Op, W); })
      .Default(failure());
}
