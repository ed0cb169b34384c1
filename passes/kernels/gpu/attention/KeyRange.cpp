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
#include "passes/kernels/form/SizeFacts.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

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
  if (!isOf(At.Map, Dim) || At.Tensor.getDefiningOp<linalg::FillOp>())
    return 0;
  std::optional<Scalar> S = computedAt(At);
  return S ? growthOf(*S, Dim) : std::nullopt;
}

/// The number that a scalar is at index 0 of all loops; `Length` where it is in
/// memory. None where it is not made of such.
std::optional<int64_t> typicalOfScalar(const Scalar &S, int64_t Length) {
  if (std::optional<Place> Operand = operandBehind(S)) {
    if (std::optional<Scalar> Inner = computedAt(*Operand))
      return typicalOfScalar(*Inner, Length);
    Value Tensor = Operand->Tensor;
    while (auto Cast = Tensor.getDefiningOp<tensor::CastOp>())
      Tensor = Cast.getSource();
    if (auto Fill = Tensor.getDefiningOp<linalg::FillOp>())
      return typicalOfScalar({Fill.getInputs().front(), S.Of, S.Loops}, Length);
    return Length;
  }
  APInt Number;
  if (matchPattern(S.V, m_ConstantInt(&Number)))
    return Number.getSExtValue();
  Operation *Def = S.V.getDefiningOp();
  if (isa_and_present<linalg::IndexOp>(Def))
    return 0;
  if (S.V.getType().isIndex())
    return typicalOf(OpFoldResult(S.V), UnknownExtent);
  if (!Def || Def->getNumRegions())
    return std::nullopt;
  SmallVector<int64_t> Of;
  for (Value V : Def->getOperands()) {
    std::optional<int64_t> One = typicalOfScalar({V, S.Of, S.Loops}, Length);
    if (!One)
      return std::nullopt;
    Of.push_back(*One);
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(Def))
    return Of[0];
  if (isa<arith::AddIOp>(Def))
    return Of[0] + Of[1];
  if (isa<arith::SubIOp>(Def))
    return Of[0] - Of[1];
  if (isa<arith::MaxSIOp>(Def))
    return std::max(Of[0], Of[1]);
  if (isa<arith::MinSIOp>(Def))
    return std::min(Of[0], Of[1]);
  return std::nullopt;
}

/// One comparison of a conjunction: `Left < Right`, or at most, or the other
/// way round, of which one side grows with the key by one more.
struct Limit {
  Scalar Left, Right;
  bool IsEnd = false;    ///< it says where keys end
  bool IsStrict = false; ///< the sides may not be equal
  int64_t OfKey = 1;     ///< how `Left - Right` grows with the key
  int64_t OfQuery = 0;   ///< and with the query

  /// How the key that it names grows with the query.
  int64_t slope() const { return -OfQuery * OfKey; }
};

/// The key that a limit names for query 0, where its sides are these at 0.
int64_t edgeOf(const Limit &One, int64_t Left, int64_t Right) {
  int64_t Edge = One.OfKey == 1 ? Right - Left : Left - Right;
  return Edge + (One.IsEnd != One.IsStrict);
}

/// The conjunction that a condition is.
class Conjunction {
public:
  explicit Conjunction(const KeyCondition &Of) : Of(Of) {
    MLIRContext *Context = Of.Tensor.getContext();
    auto Ty = cast<RankedTensorType>(Of.Tensor.getType());
    SmallVector<AffineExpr> Indices;
    for (int64_t D = 0; D < Ty.getRank(); ++D)
      Indices.push_back(Ty.getDimSize(D) == 1
                            ? getAffineConstantExpr(0, Context)
                            : getAffineDimExpr(unsigned(D), Context));
    visit(Place{Of.Tensor,
                AffineMap::get(unsigned(Ty.getRank()), 0, Indices, Context)},
          nullptr);
  }

  SmallVector<Limit> Limits;
  /// What else must hold: of a generic, or an element in memory.
  SmallVector<Scalar> Others;
  int64_t Lead = 0; ///< first keys for which nothing of that need hold

private:
  void visit(const Place &At, const Scalar *From) {
    if (std::optional<Scalar> S = computedAt(At))
      visit(*S);
    else if (From)
      Others.push_back(*From);
    else
      IsInMemory = true;
  }

  void visit(const Scalar &S) {
    if (std::optional<Place> Operand = operandBehind(S))
      return visit(*Operand, &S);
    Operation *Def = S.V.getDefiningOp();
    if (auto Both = dyn_cast_or_null<arith::AndIOp>(Def)) {
      visit(Scalar{Both.getLhs(), S.Of, S.Loops});
      visit(Scalar{Both.getRhs(), S.Of, S.Loops});
      return;
    }
    if (auto Either = dyn_cast_or_null<arith::OrIOp>(Def))
      if (Limits.empty() && Others.empty() &&
          (leads(Either.getLhs(), Either.getRhs(), S) ||
           leads(Either.getRhs(), Either.getLhs(), S)))
        return;
    auto Is = dyn_cast_or_null<arith::CmpIOp>(Def);
    if (Lead || !Is || !addLimits(Is, S))
      Others.push_back(S);
  }

  /// Whether `First` says that a key is one of the first few, and `Rest` is
  /// limits alone, which are then added.
  bool leads(Value First, Value Rest, const Scalar &In) {
    Conjunction Few(Of, Scalar{First, In.Of, In.Loops}),
        Inner(Of, Scalar{Rest, In.Of, In.Loops});
    if (Few.Limits.size() != 1 || !Few.Others.empty() ||
        !Inner.Others.empty() || Inner.Lead || Inner.Limits.empty())
      return false;
    const Limit &One = Few.Limits[0];
    std::optional<int64_t> L = typicalOfScalar(One.Left, 0),
                           R = typicalOfScalar(One.Right, 0);
    if (!One.IsEnd || One.OfQuery || !L || !R || !isConstant(One.Left) ||
        !isConstant(One.Right))
      return false;
    int64_t End = edgeOf(One, *L, *R);
    if (End < 1 || End > MostLead)
      return false;
    Lead = End;
    llvm::append_range(Limits, Inner.Limits);
    return true;
  }

  /// Whether a scalar is made of the index of keys and constants.
  bool isConstant(const Scalar &S) {
    if (std::optional<Place> Operand = operandBehind(S)) {
      if (std::optional<Scalar> Inner = computedAt(*Operand))
        return isConstant(*Inner);
      auto Fill = Operand->Tensor.getDefiningOp<linalg::FillOp>();
      return Fill && matchPattern(Fill.getInputs().front(), m_Constant());
    }
    Operation *Def = S.V.getDefiningOp();
    if (!Def || matchPattern(Def, m_Constant()))
      return Def;
    return isa<linalg::IndexOp>(Def) ||
           (Def->getBlock() == linalg::GenericOp(S.Of).getBody() &&
            llvm::all_of(Def->getOperands(), [&](Value V) {
              return isConstant({V, S.Of, S.Loops});
            }));
  }

  bool addLimits(arith::CmpIOp Is, const Scalar &In) {
    if (!Is.getLhs().getType().isInteger(64))
      return false;
    auto Add = [&](bool Less, bool Strict) {
      return addLimit({Is.getLhs(), In.Of, In.Loops},
                      {Is.getRhs(), In.Of, In.Loops}, Less, Strict);
    };
    switch (Is.getPredicate()) {
    case arith::CmpIPredicate::slt:
      return Add(/*Less=*/true, /*Strict=*/true);
    case arith::CmpIPredicate::sle:
      return Add(/*Less=*/true, /*Strict=*/false);
    case arith::CmpIPredicate::sgt:
      return Add(/*Less=*/false, /*Strict=*/true);
    case arith::CmpIPredicate::sge:
      return Add(/*Less=*/false, /*Strict=*/false);
    case arith::CmpIPredicate::eq:
      return Add(/*Less=*/true, /*Strict=*/false) &&
             Add(/*Less=*/false, /*Strict=*/false);
    default:
      return false;
    }
  }

  /// `left - right` is f · key + g · query + rest. So with `≥ 0` and f = 1 keys
  /// begin at - g · query - rest, and with f = -1 they end after
  /// g · query + rest.
  bool addLimit(const Scalar &Left, const Scalar &Right, bool Less,
                bool Strict) {
    auto Growth = [&](unsigned Dim) -> std::optional<int64_t> {
      std::optional<int64_t> L = growthOf(Left, Dim), R = growthOf(Right, Dim);
      return L && R ? std::optional(*L - *R) : std::nullopt;
    };
    std::optional<int64_t> OfKey = Growth(Of.Key), OfQuery = 0;
    if (Of.Query)
      OfQuery = Growth(*Of.Query);
    if (!OfKey || std::abs(*OfKey) != 1 || !OfQuery)
      return false;
    Limits.push_back({Left, Right, /*IsEnd=*/Less == (*OfKey == 1), Strict,
                      *OfKey, *OfQuery});
    return true;
  }

  Conjunction(const KeyCondition &Of, const Scalar &S) : Of(Of) { visit(S); }

  /// First keys that take no block of their own.
  static constexpr int64_t MostLead = 32;
  const KeyCondition &Of;

public:
  bool IsInMemory = false; ///< all of it: there is nothing to take apart
};

/// Writes what a conjunction says.
class LimitWriter {
public:
  LimitWriter(GpuWriter &W, const KeyCondition &Of) : W(W), Of(Of), Parts(Of) {}

  /// With `OfAll`, what all queries see, not what some of them do.
  KeyRange range(bool OfAll) {
    KeyRange Range;
    for (const Limit &One : Parts.Limits)
      write(One, OfAll, Range);
    return Range;
  }

  Value rest(ValueRange Indices) {
    At.assign(Indices.begin(), Indices.end());
    Value All;
    for (const Scalar &One : Parts.Others) {
      Value Holds = valueOf(One);
      if (!Holds)
        return W.Emitter.element(W.B, Of.Tensor, Indices);
      All = !All ? Holds : W.both(All, Holds);
    }
    return All;
  }

private:
  void write(const Limit &One, bool OfAll, KeyRange &Range) {
    At = Of.At;
    At[Of.Key] = W.index(0);
    if (Of.Query) {
      // Of the last ends and the first beginnings, that of the query where it
      // is, or the other way round.
      bool OfLast = (One.slope() > 0) == One.IsEnd;
      Value First = Of.FirstQuery ? Of.FirstQuery : W.index(0);
      At[*Of.Query] = OfLast != OfAll ? Of.LastQuery : First;
    }
    Value L = valueOf(One.Left), R = valueOf(One.Right);
    if (!L || !R)
      return;
    // At key 0 the difference is the rest, of which f = 1 takes the negative.
    if (One.OfKey == 1)
      std::swap(L, R);
    Value Edge = arith::SubIOp::create(W.B, W.Loc, L, R);
    Edge =
        W.B.createOrFold<arith::IndexCastOp>(W.Loc, W.B.getIndexType(), Edge);
    if (One.IsEnd != One.IsStrict)
      Edge = W.add(Edge, W.index(1));
    Value &Known = One.IsEnd ? Range.End : Range.First;
    if (!Known)
      Known = Edge;
    else if (One.IsEnd)
      Known = arith::MinSIOp::create(W.B, W.Loc, Known, Edge);
    else
      Known = arith::MaxSIOp::create(W.B, W.Loc, Known, Edge);
  }

  /// An index at `At`; null where it would differ by a dimension that may be
  /// any.
  Value indexOf(AffineExpr E) {
    if (auto Dim = dyn_cast<AffineDimExpr>(E))
      return At[Dim.getPosition()];
    if (auto Constant = dyn_cast<AffineConstantExpr>(E))
      return W.index(Constant.getValue());
    bool IsKnown = E.isPureAffine();
    for (auto [D, Index] : llvm::enumerate(At))
      IsKnown &= Index || !E.isFunctionOfDim(unsigned(D));
    if (!IsKnown)
      return {};
    SmallVector<Value> Dims(At);
    for (Value &Index : Dims)
      Index = Index ? Index : W.index(0);
    return affine::expandAffineExpr(W.B, W.Loc, E, Dims, {});
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
  Conjunction Parts;
  SmallVector<Value> At; ///< where elements are read
};

} // namespace

KeyRange keysWhere(GpuWriter &W, const KeyCondition &Of) {
  return LimitWriter(W, Of).range(/*OfAll=*/false);
}

KeyRange keysOfAll(GpuWriter &W, const KeyCondition &Of) {
  return LimitWriter(W, Of).range(/*OfAll=*/true);
}

Value restOf(GpuWriter &W, const KeyCondition &Of, ValueRange At) {
  return LimitWriter(W, Of).rest(At);
}

KeyLimits keyLimits(const KeyCondition &Of, int64_t Length) {
  Conjunction Parts(Of);
  KeyLimits Known;
  Known.Lead = Parts.Lead;
  Known.IsAll = Parts.Others.empty() && !Parts.IsInMemory;
  Known.RestIsOfKey = llvm::all_of(Parts.Others, [&](const Scalar &One) {
    return growthOf(One, *Of.Query) == 0;
  });
  for (const Limit &One : Parts.Limits) {
    (One.IsEnd ? Known.HasEnd : Known.HasFirst) = true;
    std::optional<int64_t> L = typicalOfScalar(One.Left, Length),
                           R = typicalOfScalar(One.Right, Length);
    if (!L || !R || !One.slope())
      continue;
    int64_t Edge = edgeOf(One, *L, *R);
    std::optional<int64_t> &To = One.IsEnd ? Known.End : Known.First;
    To = !To ? Edge : One.IsEnd ? std::min(*To, Edge) : std::max(*To, Edge);
  }
  return Known;
}

} // namespace kpc::kernels
