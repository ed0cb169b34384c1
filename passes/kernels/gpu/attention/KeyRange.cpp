//===- KeyRange.cpp - Between which keys a condition holds ----------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/kernels/gpu/attention/KeyRange.h"
#include "passes/kernels/form/AccessMaps.h"
#include "passes/kernels/form/FusedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace kpc::kernels {

namespace {

/// A tensor at indices that are expressions over those of a condition.
struct Place {
  Value Tensor;
  AffineMap Map;
};

/// A scalar of an op's loops, whose indices are such expressions.
struct Scalar {
  Value V;
  linalg::GenericOp Of;
  AffineMap Loops;
};

/// What an op of loops computes, which casts may follow; none for what is in
/// memory, filled, or reduced.
std::optional<Scalar> computedAt(Place At) {
  while (auto Cast = At.Tensor.getDefiningOp<tensor::CastOp>())
    At.Tensor = Cast.getSource();
  auto Op = At.Tensor.getDefiningOp<linalg::GenericOp>();
  if (!Op || Op->getNumResults() != 1 || Op.getNumReductionLoops() ||
      !Op.getMatchingIndexingMap(Op.getDpsInitOperand(0)).isIdentity())
    return std::nullopt;
  return Scalar{Op.getBody()->getTerminator()->getOperand(0), Op, At.Map};
}

/// The operand that a scalar is an element of; none where it is computed.
std::optional<Place> operandBehind(const Scalar &S) {
  auto Argument = dyn_cast<BlockArgument>(S.V);
  linalg::GenericOp Op = S.Of;
  if (!Argument || Argument.getOwner() != Op.getBody() ||
      Argument.getArgNumber() >= unsigned(Op.getNumDpsInputs()))
    return std::nullopt;
  OpOperand *Operand = Op.getMatchingOpOperand(Argument);
  return Place{Operand->get(),
               Op.getMatchingIndexingMap(Operand).compose(S.Loops)};
}

bool isOf(AffineMap Map, unsigned Dim) {
  return llvm::any_of(Map.getResults(),
                      [&](AffineExpr E) { return E.isFunctionOfDim(Dim); });
}

std::optional<int64_t> growthOf(const Place &At, unsigned Dim);

/// How much a scalar grows with the index of dimension `Dim`; none where it is
/// not linear.
std::optional<int64_t> growthOf(const Scalar &S, unsigned Dim) {
  if (std::optional<Place> Operand = operandBehind(S))
    return growthOf(*Operand, Dim);
  Operation *Def = S.V.getDefiningOp();
  if (!Def)
    return std::nullopt;
  if (auto Loop = dyn_cast<linalg::IndexOp>(Def)) {
    AffineExpr E = S.Loops.getResult(unsigned(Loop.getDim()));
    return E.isPureAffine() ? std::optional(factorOf(E, Dim)) : std::nullopt;
  }
  if (Def->getNumRegions() || isa<tensor::ExtractOp>(Def))
    return std::nullopt;
  SmallVector<int64_t> Of;
  for (Value V : Def->getOperands()) {
    std::optional<int64_t> One =
        V.getParentBlock() == linalg::GenericOp(S.Of).getBody()
            ? growthOf(Scalar{V, S.Of, S.Loops}, Dim)
            : std::optional<int64_t>(0);
    if (!One)
      return std::nullopt;
    Of.push_back(*One);
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(Def))
    return Of[0];
  if (isa<arith::AddIOp>(Def))
    return Of[0] + Of[1];
  if (isa<arith::SubIOp>(Def))
    return Of[0] - Of[1];
  bool IsFixed = llvm::all_of(Of, [](int64_t Each) { return Each == 0; });
  return IsFixed ? std::optional<int64_t>(0) : std::nullopt;
}

std::optional<int64_t> growthOf(const Place &At, unsigned Dim) {
  if (!isOf(At.Map, Dim))
    return 0;
  std::optional<Scalar> S = computedAt(At);
  return S ? growthOf(*S, Dim) : std::nullopt;
}

/// Reads limits out of a condition.
class Limits {
public:
  Limits(GpuWriter &W, const KeyCondition &Of) : W(W), Of(Of) {}

  KeyRange run() {
    MLIRContext *Context = Of.Tensor.getContext();
    auto Ty = cast<RankedTensorType>(Of.Tensor.getType());
    SmallVector<AffineExpr> Indices;
    for (int64_t D = 0; D < Ty.getRank(); ++D)
      Indices.push_back(Ty.getDimSize(D) == 1
                            ? getAffineConstantExpr(0, Context)
                            : getAffineDimExpr(unsigned(D), Context));
    visit({Of.Tensor,
           AffineMap::get(unsigned(Ty.getRank()), 0, Indices, Context)});
    return Range;
  }

private:
  void visit(const Place &At) {
    if (std::optional<Scalar> S = computedAt(At))
      visit(*S);
  }

  void visit(const Scalar &S) {
    if (std::optional<Place> Operand = operandBehind(S))
      return visit(*Operand);
    Operation *Def = S.V.getDefiningOp();
    if (auto Both = dyn_cast_or_null<arith::AndIOp>(Def)) {
      visit(Scalar{Both.getLhs(), S.Of, S.Loops});
      visit(Scalar{Both.getRhs(), S.Of, S.Loops});
    } else if (auto Is = dyn_cast_or_null<arith::CmpIOp>(Def)) {
      limit(Is, S);
    }
  }

  void limit(arith::CmpIOp Is, const Scalar &In) {
    if (!Is.getLhs().getType().isInteger(64))
      return;
    Scalar Left{Is.getLhs(), In.Of, In.Loops},
        Right{Is.getRhs(), In.Of, In.Loops};
    switch (Is.getPredicate()) {
    case arith::CmpIPredicate::slt:
      return limit(Left, Right, /*Less=*/true, /*Strict=*/true);
    case arith::CmpIPredicate::sle:
      return limit(Left, Right, /*Less=*/true, /*Strict=*/false);
    case arith::CmpIPredicate::sgt:
      return limit(Left, Right, /*Less=*/false, /*Strict=*/true);
    case arith::CmpIPredicate::sge:
      return limit(Left, Right, /*Less=*/false, /*Strict=*/false);
    case arith::CmpIPredicate::eq:
      limit(Left, Right, /*Less=*/true, /*Strict=*/false);
      return limit(Left, Right, /*Less=*/false, /*Strict=*/false);
    default:
      return;
    }
  }

  /// `left - right` is f · key + g · query + rest. So with `≥ 0` and f = 1 keys
  /// begin at - g · query - rest, and with f = -1 they end after
  /// g · query + rest.
  void limit(const Scalar &Left, const Scalar &Right, bool Less, bool Strict) {
    auto Growth = [&](unsigned Dim) -> std::optional<int64_t> {
      std::optional<int64_t> L = growthOf(Left, Dim), R = growthOf(Right, Dim);
      return L && R ? std::optional(*L - *R) : std::nullopt;
    };
    std::optional<int64_t> OfKey = Growth(Of.Key);
    if (!OfKey || std::abs(*OfKey) != 1)
      return;
    // Whether it says where keys end.
    bool IsEnd = Less == (*OfKey == 1);
    At = Of.At;
    At[Of.Key] = W.index(0);
    if (Of.Query) {
      std::optional<int64_t> OfQuery = Growth(*Of.Query);
      if (!OfQuery)
        return;
      // The limit grows with the query by - OfQuery / OfKey. Of the last ends
      // and the first beginnings, that of the query where it is.
      bool Grows = -*OfQuery * *OfKey > 0;
      At[*Of.Query] = Grows == IsEnd ? Of.LastQuery : W.index(0);
    }
    Value L = valueOf(Left), R = valueOf(Right);
    if (!L || !R)
      return;
    // At key 0 the difference is the rest, of which f = 1 takes the negative.
    if (*OfKey == 1)
      std::swap(L, R);
    Value Edge = arith::SubIOp::create(W.B, W.Loc, L, R);
    Edge =
        W.B.createOrFold<arith::IndexCastOp>(W.Loc, W.B.getIndexType(), Edge);
    if (IsEnd != Strict)
      Edge = W.add(Edge, W.index(1));
    Value &Known = IsEnd ? Range.End : Range.First;
    if (!Known)
      Known = Edge;
    else if (IsEnd)
      Known = arith::MinSIOp::create(W.B, W.Loc, Known, Edge);
    else
      Known = arith::MaxSIOp::create(W.B, W.Loc, Known, Edge);
  }

  /// An index at `At`; null where it would differ by a dimension that may be
  /// any, or is a sum.
  Value indexOf(AffineExpr E) {
    if (auto Dim = dyn_cast<AffineDimExpr>(E))
      return At[Dim.getPosition()];
    auto Constant = dyn_cast<AffineConstantExpr>(E);
    return Constant ? W.index(Constant.getValue()) : Value();
  }

  Value valueOf(const Scalar &S) {
    if (std::optional<Place> Operand = operandBehind(S)) {
      SmallVector<Value> Indices;
      for (AffineExpr E : Operand->Map.getResults()) {
        Indices.push_back(indexOf(E));
        if (!Indices.back())
          return {};
      }
      return W.Emitter.element(W.B, Operand->Tensor, Indices);
    }
    Operation *Def = S.V.getDefiningOp();
    if (!Def)
      return {};
    if (auto Loop = dyn_cast<linalg::IndexOp>(Def))
      return indexOf(S.Loops.getResult(unsigned(Loop.getDim())));
    if (Def->getNumRegions() || isa<tensor::ExtractOp>(Def))
      return {};
    if (Def->getBlock() != linalg::GenericOp(S.Of).getBody())
      return S.V;
    IRMapping Map;
    for (Value Operand : Def->getOperands()) {
      Value Own = valueOf({Operand, S.Of, S.Loops});
      if (!Own)
        return {};
      Map.map(Operand, Own);
    }
    return W.B.clone(*Def, Map)->getResult(0);
  }

  GpuWriter &W;
  const KeyCondition &Of;
  KeyRange Range;
  SmallVector<Value> At; ///< where elements are read
};

} // namespace

KeyRange keysWhere(GpuWriter &W, const KeyCondition &Of) {
  return Limits(W, Of).run();
}

} // namespace kpc::kernels
