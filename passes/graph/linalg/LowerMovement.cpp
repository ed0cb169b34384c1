//===- LowerMovement.cpp - Ops that move elements ------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Broadcasts and transposes become indexing maps; the others compute the
/// place of their element and read it with tensor.extract:
///
///   graph.slice %x start [2] step [3]  →  linalg.generic { %i = linalg.index 0
///                                           tensor.extract %x[%i * 3 + 2] }
///
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/graph/RefinedDims.h"
#include "passes/graph/linalg/IndexMath.h"
#include "passes/graph/linalg/ScalarCast.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

static Value lowerBroadcast(BroadcastOp Op, KernelWriter &W) {
  SymbolicTensorType From = typeOf(Op.getX()), To = typeOf(Op.getY());
  MLIRContext *Context = Op.getContext();
  int64_t New = To.getRank() - From.getRank();
  SmallVector<AffineExpr> Index;
  for (auto [I, Size] : llvm::enumerate(From.getDims())) {
    bool Repeats = Size == Expr(1) && To.getDims()[New + I] != Expr(1);
    Index.push_back(Repeats ? getAffineConstantExpr(0, Context)
                            : getAffineDimExpr(New + I, Context));
  }
  AffineMap Map = AffineMap::get(To.getRank(), 0, Index, Context);
  return W.map(To, W.tensor(Op.getX()), Map,
               [](OpBuilder &, Location, ValueRange X) { return X[0]; });
}

static Value lowerTranspose(TransposeOp Op, KernelWriter &W) {
  // y[d] = x[p] where p[perm[i]] = d[i].
  AffineMap Map = inversePermutation(
      AffineMap::getPermutationMap(Op.getPerm(), Op.getContext()));
  return W.map(typeOf(Op.getY()), W.tensor(Op.getX()), Map,
               [](OpBuilder &, Location, ValueRange X) { return X[0]; });
}

/// Where a reshape only adds or drops dimensions of size 1, the index of each
/// dimension of x as one of the result's; else none.
static std::optional<AffineMap> mapWithoutOnes(ReshapeOp Op) {
  ArrayRef<Expr> From = typeOf(Op.getX()).getDims(),
                 To = typeOf(Op.getY()).getDims();
  MLIRContext *Context = Op.getContext();
  SmallVector<AffineExpr> Index;
  size_t Next = 0;
  for (const Expr &Size : From) {
    if (Size == Expr(1)) {
      Index.push_back(getAffineConstantExpr(0, Context));
      continue;
    }
    while (Next < To.size() && To[Next] == Expr(1))
      ++Next;
    if (Next == To.size() || To[Next] != Size)
      return std::nullopt;
    Index.push_back(getAffineDimExpr(Next++, Context));
  }
  if (llvm::any_of(To.drop_front(Next),
                   [](const Expr &E) { return E != Expr(1); }))
    return std::nullopt;
  return AffineMap::get(To.size(), 0, Index, Context);
}

/// A reshape that keeps a dimension of more than one element beside those that
/// it splits and joins, and the sizes that all are made of. Of such the index
/// is found dimension by dimension: what is kept is contiguous still.
static std::optional<RefinedDims> partsBesideKept(ReshapeOp Op) {
  ArrayRef<Expr> From = typeOf(Op.getX()).getDims(),
                 To = typeOf(Op.getY()).getDims();
  RefinedDims Parts(From);
  if (llvm::is_contained(From, Expr(0)) || !Parts.add(To))
    return std::nullopt;
  auto Kept = [&](ArrayRef<Expr> Dims) {
    SmallVector<unsigned> Starts = Parts.startsOf(Dims);
    llvm::SmallBitVector Whole(Parts.dims().size());
    for (size_t I = 0; I < Dims.size(); ++I)
      if (Starts[I] + 1 == Starts[I + 1])
        Whole.set(Starts[I]);
    return Whole;
  };
  return Kept(From).anyCommon(Kept(To)) ? std::optional(Parts) : std::nullopt;
}

static Value lowerReshapeByDims(ReshapeOp Op, const RefinedDims &Parts,
                                KernelWriter &W) {
  Value X = W.tensor(Op.getX());
  SmallVector<Value> Sizes;
  for (const Expr &Size : Parts.dims())
    Sizes.push_back(W.size(Size));
  SmallVector<unsigned> From = Parts.startsOf(typeOf(Op.getX()).getDims()),
                        To = Parts.startsOf(typeOf(Op.getY()).getDims());
  return W.produce(
      typeOf(Op.getY()), [&](OpBuilder &B, Location L, ValueRange I) -> Value {
        IndexMath M{B, L};
        SmallVector<Value> Split, Joined;
        for (size_t Dim = 0; Dim + 1 < To.size(); ++Dim) {
          auto Own = ArrayRef(Sizes).slice(To[Dim], To[Dim + 1] - To[Dim]);
          if (Own.size() == 1)
            Split.push_back(I[Dim]);
          else
            llvm::append_range(Split, M.delinearize(I[Dim], Own));
        }
        for (size_t Dim = 0; Dim + 1 < From.size(); ++Dim) {
          size_t Count = From[Dim + 1] - From[Dim];
          auto Own = ArrayRef(Split).slice(From[Dim], Count);
          Joined.push_back(
              Count == 0 ? M.constant(0)
              : Count == 1
                  ? Own.front()
                  : M.linearize(Own, ArrayRef(Sizes).slice(From[Dim], Count)));
        }
        return tensor::ExtractOp::create(B, L, X, Joined);
      });
}

static Value lowerReshape(ReshapeOp Op, KernelWriter &W) {
  Value X = W.tensor(Op.getX());
  if (std::optional<AffineMap> Map = mapWithoutOnes(Op))
    return W.map(typeOf(Op.getY()), X, *Map,
                 [](OpBuilder &, Location, ValueRange X) { return X[0]; });
  if (std::optional<RefinedDims> Parts = partsBesideKept(Op))
    return lowerReshapeByDims(Op, *Parts, W);
  SmallVector<Value> From = W.sizes(typeOf(Op.getX())),
                     To = W.sizes(typeOf(Op.getY()));
  return W.produce(
      typeOf(Op.getY()), [&](OpBuilder &B, Location L, ValueRange I) -> Value {
        IndexMath M{B, L};
        Value Linear = M.linearize(I, To);
        return tensor::ExtractOp::create(B, L, X, M.delinearize(Linear, From));
      });
}

static Value lowerSlice(SliceOp Op, KernelWriter &W) {
  Value X = W.tensor(Op.getX());
  SmallVector<Value> Start;
  for (auto [E, Whole, Part] :
       llvm::zip_equal(Op.getStart().getDims(), typeOf(Op.getX()).getDims(),
                       typeOf(Op.getY()).getDims()))
    Start.push_back(Whole == Part ? W.size(E) : W.offset(E, Whole));
  return W.produce(
      typeOf(Op.getY()), [&](OpBuilder &B, Location L, ValueRange I) -> Value {
        IndexMath M{B, L};
        SmallVector<Value> Place;
        for (auto [D, S] : llvm::enumerate(Op.getStep()))
          Place.push_back(
              M.add(Start[D], S == 1 ? I[D] : M.mul(I[D], M.constant(S))));
        return tensor::ExtractOp::create(B, L, X, Place);
      });
}

/// if (i < n0 + n1) { if (i < n0) x0[i] else x1[i - n0] } else …: halves of the
/// inputs, so that many are not nested deeply.
static Value lowerConcat(ConcatOp Op, KernelWriter &W) {
  int64_t Axis = Op.getAxis();
  SmallVector<Value> Starts, Xs;
  Expr Start(0);
  for (Value X : Op.getXs()) {
    Xs.push_back(W.tensor(X));
    Starts.push_back(W.size(Start));
    Start = Start + typeOf(X).getDims()[Axis];
  }
  return W.produce(
      typeOf(Op.getY()), [&](OpBuilder &B, Location L, ValueRange I) -> Value {
        // One of the inputs [First, End).
        std::function<Value(OpBuilder &, size_t, size_t)> From =
            [&](OpBuilder &B, size_t First, size_t End) -> Value {
          IndexMath M{B, L};
          if (First + 1 == End) {
            SmallVector<Value> Place(I);
            Place[Axis] = M.sub(I[Axis], Starts[First]);
            return tensor::ExtractOp::create(B, L, Xs[First], Place);
          }
          size_t Middle = First + (End - First) / 2;
          return scf::IfOp::create(
                     B, L, M.less(I[Axis], Starts[Middle]),
                     [&](OpBuilder &B, Location L) {
                       scf::YieldOp::create(B, L, From(B, First, Middle));
                     },
                     [&](OpBuilder &B, Location L) {
                       scf::YieldOp::create(B, L, From(B, Middle, End));
                     })
              .getResult(0);
        };
        return From(B, 0, Xs.size());
      });
}

static Value lowerPad(PadOp Op, KernelWriter &W) {
  Value X = W.tensor(Op.getX()), Filler = W.tensor(Op.getFiller());
  SmallVector<Value> Sizes = W.sizes(typeOf(Op.getX()));
  return W.produce(
      typeOf(Op.getY()), [&](OpBuilder &B, Location L, ValueRange I) -> Value {
        IndexMath M{B, L};
        SmallVector<Value> Place;
        Value Inside;
        for (auto [D, Index] : llvm::enumerate(I)) {
          int64_t Low = Op.getLow()[D], Spread = Op.getInterior()[D] + 1;
          Value At = Low ? M.sub(Index, M.constant(Low)) : Index;
          if (Spread > 1) {
            // Only multiples of the spread hold an element; At may be negative,
            // which the range check below rules out before the quotient counts.
            Value Quotient = M.floorDiv(At, M.constant(Spread));
            Inside = M.both(Inside,
                            M.equal(M.mul(Quotient, M.constant(Spread)), At));
            At = Quotient;
          }
          Place.push_back(At);
          if (Low > 0 || Op.getHigh()[D] > 0)
            Inside = M.both(Inside, M.below(At, Sizes[D]));
        }
        auto Read = [&](OpBuilder &B) -> Value {
          return tensor::ExtractOp::create(B, L, X, Place);
        };
        if (!Inside)
          return Read(B);
        return scf::IfOp::create(
                   B, L, Inside,
                   [&](OpBuilder &B, Location L) {
                     scf::YieldOp::create(B, L, Read(B));
                   },
                   [&](OpBuilder &B, Location L) {
                     Value V =
                         tensor::ExtractOp::create(B, L, Filler, ValueRange{});
                     scf::YieldOp::create(B, L, V);
                   })
            .getResult(0);
      });
}

static Value lowerGather(GatherOp Op, KernelWriter &W) {
  Value X = W.tensor(Op.getX()), Indices = W.tensor(Op.getIndices());
  int64_t Axis = Op.getAxis(), Count = typeOf(Op.getIndices()).getRank();
  bool Unsigned = isUnsigned(typeOf(Op.getIndices()).getElementType());
  Value Size = W.size(typeOf(Op.getX()).getDims()[Axis]);
  return W.produce(
      typeOf(Op.getY()), [&](OpBuilder &B, Location L, ValueRange I) -> Value {
        IndexMath M{B, L};
        SmallVector<Value> Place(I.take_front(Axis));
        Value Index =
            tensor::ExtractOp::create(B, L, Indices, I.slice(Axis, Count));
        Place.push_back(M.clampedIndex(Index, Unsigned, Size));
        llvm::append_range(Place, I.drop_front(Axis + Count));
        return tensor::ExtractOp::create(B, L, X, Place);
      });
}

static Value lowerGatherElements(GatherElementsOp Op, KernelWriter &W) {
  Value X = W.tensor(Op.getX()), Indices = W.tensor(Op.getIndices());
  int64_t Axis = Op.getAxis();
  bool Unsigned = isUnsigned(typeOf(Op.getIndices()).getElementType());
  Value Size = W.size(typeOf(Op.getX()).getDims()[Axis]);
  return W.produce(typeOf(Op.getY()),
                   [&](OpBuilder &B, Location L, ValueRange I) -> Value {
                     IndexMath M{B, L};
                     SmallVector<Value> Place(I);
                     Value Index = tensor::ExtractOp::create(B, L, Indices, I);
                     Place[Axis] = M.clampedIndex(Index, Unsigned, Size);
                     return tensor::ExtractOp::create(B, L, X, Place);
                   });
}

static Value lowerGatherNd(GatherNdOp Op, KernelWriter &W) {
  Value X = W.tensor(Op.getX()), Indices = W.tensor(Op.getIndices());
  SymbolicTensorType XTy = typeOf(Op.getX()), IndexTy = typeOf(Op.getIndices());
  int64_t Batch = Op.getBatchDims(), Tuple = IndexTy.getRank() - 1;
  int64_t Length = *IndexTy.getStaticDim(Tuple);
  bool Unsigned = isUnsigned(IndexTy.getElementType());
  SmallVector<Value> Sizes = W.sizes(XTy);
  return W.produce(
      typeOf(Op.getY()), [&](OpBuilder &B, Location L, ValueRange I) -> Value {
        IndexMath M{B, L};
        SmallVector<Value> Place(I.take_front(Batch));
        for (int64_t K = 0; K < Length; ++K) {
          SmallVector<Value> Entry(I.take_front(Tuple));
          Entry.push_back(M.constant(K));
          Value Index = tensor::ExtractOp::create(B, L, Indices, Entry);
          Place.push_back(M.clampedIndex(Index, Unsigned, Sizes[Batch + K]));
        }
        llvm::append_range(Place, I.drop_front(Tuple));
        return tensor::ExtractOp::create(B, L, X, Place);
      });
}

static Value lowerIota(IotaOp Op, KernelWriter &W) {
  Type Element = W.computeType(typeOf(Op.getY()).getElementType());
  return W.produce(
      typeOf(Op.getY()), [&](OpBuilder &B, Location L, ValueRange I) -> Value {
        if (isa<FloatType>(Element)) {
          Value Int =
              arith::IndexCastOp::create(B, L, B.getI64Type(), I[Op.getAxis()]);
          return arith::SIToFPOp::create(B, L, Element, Int);
        }
        return arith::IndexCastOp::create(B, L, Element, I[Op.getAxis()]);
      });
}

static Value lowerSizes(SizesOp Op, KernelWriter &W) {
  SmallVector<Value> Values;
  for (const Expr &E : Op.getValues().getDims())
    Values.push_back(W.size(E));
  return W.produce(
      typeOf(Op.getY()), [&](OpBuilder &B, Location L, ValueRange I) -> Value {
        IndexMath M{B, L};
        Value Chosen = M.constant(0);
        for (auto [K, V] : llvm::enumerate(Values))
          Chosen = arith::SelectOp::create(B, L, M.equal(I[0], M.constant(K)),
                                           V, Chosen);
        return arith::IndexCastOp::create(B, L, B.getI64Type(), Chosen);
      });
}

/// Each byte is put together from the elements it holds.
static Value lowerPack(PackOp Op, KernelWriter &W) {
  Value X = W.tensor(Op.getX());
  SymbolicTensorType From = typeOf(Op.getX());
  Type Element = From.getElementType();
  int64_t Bits = Element.getIntOrFloatBitWidth();
  SmallVector<Value> Sizes = W.sizes(From);
  Value Count = W.size(From.getNumElements());
  return W.produce(
      typeOf(Op.getY()), [&](OpBuilder &B, Location L, ValueRange I) -> Value {
        IndexMath M{B, L};
        Value First = M.mul(I[0], M.constant(8 / Bits));
        Value Byte;
        for (int64_t N = 0; N < 8 / Bits; ++N) {
          Value At = M.add(First, M.constant(N));
          // The last byte may have room: an element that is there is read
          // instead, and left out.
          Value Inside = M.less(At, Count);
          At = arith::SelectOp::create(B, L, Inside, At, M.constant(0));
          Value V =
              tensor::ExtractOp::create(B, L, X, M.delinearize(At, Sizes));
          auto Number = [&](int64_t V) -> Value {
            return arith::ConstantOp::create(B, L,
                                             B.getI8IntegerAttr(int8_t(V)));
          };
          V = arith::AndIOp::create(B, L, V, Number((1 << Bits) - 1));
          V = arith::ShLIOp::create(B, L, V, Number(N * Bits));
          V = arith::SelectOp::create(B, L, Inside, V, Number(0));
          Byte = Byte ? arith::OrIOp::create(B, L, Byte, V).getResult() : V;
        }
        return Byte;
      });
}

static Value lowerUnpack(UnpackOp Op, KernelWriter &W) {
  Value X = W.tensor(Op.getX());
  SymbolicTensorType To = typeOf(Op.getY());
  Type Element = To.getElementType();
  int64_t Bits = Element.getIntOrFloatBitWidth();
  SmallVector<Value> Sizes = W.sizes(To);
  return W.produce(To, [&](OpBuilder &B, Location L, ValueRange I) -> Value {
    IndexMath M{B, L};
    Value PerByte = M.constant(8 / Bits);
    Value At = M.linearize(I, Sizes), Which = M.floorDiv(At, PerByte);
    Value Byte = tensor::ExtractOp::create(B, L, X, Which);
    Value Place = M.sub(At, M.mul(Which, PerByte));
    Value Shift = arith::IndexCastOp::create(B, L, B.getI8Type(),
                                             M.mul(Place, M.constant(Bits)));
    Value Low = arith::ShRUIOp::create(B, L, Byte, Shift);
    Type Unsigned = B.getIntegerType(8, /*isSigned=*/false);
    return bitcastScalar(B, L, Low, Unsigned, Element);
  });
}

/// One value repeated; other constants are buffers.
static FailureOr<Value> lowerConstant(ConstantOp Op, KernelWriter &W) {
  auto Elements = dyn_cast<DenseElementsAttr>(Op.getValue());
  if (!Elements || !Elements.isSplat())
    return failure();
  SymbolicTensorType Ty = typeOf(Op.getY());
  Type Compute = W.computeType(Ty.getElementType());
  TypedAttr Value;
  if (isNarrowFloat(Ty.getElementType())) {
    APInt Code = Elements.getSplatValue<APFloat>().bitcastToAPInt();
    Value = IntegerAttr::get(Compute, Code.zext(8));
  } else if (isNarrowInteger(Ty.getElementType())) {
    APInt V = Elements.getSplatValue<APInt>();
    Value = IntegerAttr::get(
        Compute, isUnsigned(Ty.getElementType()) ? V.zext(8) : V.sext(8));
  } else if (auto Float = dyn_cast<FloatType>(Compute)) {
    APFloat V = Elements.getSplatValue<APFloat>();
    bool Lossy;
    V.convert(Float.getFloatSemantics(), APFloat::rmNearestTiesToEven, &Lossy);
    Value = FloatAttr::get(Compute, V);
  } else {
    Value = IntegerAttr::get(Compute, Elements.getSplatValue<APInt>());
  }
  return W.filled(Ty, arith::ConstantOp::create(W.builder(), W.loc(), Value));
}

FailureOr<Value> graph::lowerMovement(Operation *Op, KernelWriter &W) {
  return llvm::TypeSwitch<Operation *, FailureOr<Value>>(Op)
      .Case([&](BroadcastOp Op) { return lowerBroadcast(Op, W); })
      .Case([&](TransposeOp Op) { return lowerTranspose(Op, W); })
      .Case([&](ReshapeOp Op) -> FailureOr<Value> {
        if (splitsColumns(Op))
          return failure();
        return lowerReshape(Op, W);
      })
      .Case([&](SliceOp Op) { return lowerSlice(Op, W); })
      .Case([&](ConcatOp Op) { return lowerConcat(Op, W); })
      .Case([&](PadOp Op) { return lowerPad(Op, W); })
      .Case([&](GatherOp Op) { return lowerGather(Op, W); })
      .Case([&](GatherElementsOp Op) { return lowerGatherElements(Op, W); })
      .Case([&](GatherNdOp Op) { return lowerGatherNd(Op, W); })
      .Case([&](PackOp Op) { return lowerPack(Op, W); })
      .Case([&](UnpackOp Op) { return lowerUnpack(Op, W); })
      .Case([&](IotaOp Op) { return lowerIota(Op, W); })
      .Case([&](SizesOp Op) { return lowerSizes(Op, W); })
      .Case([&](ConstantOp Op) { return lowerConstant(Op, W); })
      .Default(failure());
}
