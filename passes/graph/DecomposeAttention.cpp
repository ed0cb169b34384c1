//===- DecomposeAttention.cpp - Attention as products and a softmax -------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %y = graph.attention %q, %k, %v scale 0.25
///     →  %t = graph.transpose %k …
///        %s = graph.matmul (%q * 0.5), (%t * 0.5)
///        %p = exp(%s - max %s) / sum …
///        %y = graph.matmul %p, %v
///
/// Kept as it is where every target has a builder that takes it. Heads of which
/// builders take the next multiple of 8 are filled up to that with zeros, which
/// neither scores nor the columns that are kept depend on.
///
//===----------------------------------------------------------------------===//

#include "compiler/target/Target.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeHeads.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/StoredValues.h"
#include "passes/graph/TargetNames.h"
#include "passes/schedule/AttentionBlackwellSchedule.h"
#include "passes/schedule/AttentionSyncSchedule.h"
#include "passes/schedule/DecodeSchedule.h"
#include "passes/schedule/MmaSyncSchedule.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_DECOMPOSEATTENTION
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Writes the ops that an attention is made of. B batch, H heads, G groups, S
/// queries, T keys.
class Decomposition {
public:
  explicit Decomposition(AttentionOp Op)
      : Op(Op), B(Op), Loc(Op.getLoc()),
        Element(typeOf(Op.getQ()).getElementType()) {}

  Value write();

private:
  using Dims = SmallVector<Expr>;
  static Dims dims(Value V) { return Dims(typeOf(V).getDims()); }

  Value scalar(double V, Type Ty) {
    auto Tensor = RankedTensorType::get({}, Ty);
    APFloat Rounded(V);
    bool Lost;
    Rounded.convert(llvm::cast<FloatType>(Ty).getFloatSemantics(),
                    APFloat::rmNearestTiesToEven, &Lost);
    return ConstantOp::create(B, Loc, DenseElementsAttr::get(Tensor, Rounded));
  }
  Value spread(Value V, ArrayRef<Expr> To) {
    if (ArrayRef<Expr>(typeOf(V).getDims()) == To)
      return V;
    return BroadcastOp::create(B, Loc, typeOf(V).withDims(To), V);
  }
  Value like(double V, Value X) {
    return spread(scalar(V, typeOf(X).getElementType()), typeOf(X).getDims());
  }
  Value reshape(Value V, ArrayRef<Expr> To) {
    return ReshapeOp::create(B, Loc, typeOf(V).withDims(To), V);
  }
  Value toType(Value V, Type To) {
    if (typeOf(V).getElementType() == To)
      return V;
    return CastOp::create(B, Loc, V, To);
  }
  template <typename Made> Value make(Value X, Value Y) {
    return Made::create(B, Loc, X, Y);
  }
  /// Along the last axis, which stays with size 1.
  Value reduceLast(ReduceKind Kind, Value X) {
    Dims Kept = dims(X);
    Kept.back() = Expr(1);
    return reshape(ReduceOp::create(B, Loc, Kind, X,
                                    ArrayRef<int64_t>{typeOf(X).getRank() - 1}),
                   Kept);
  }

  Value perGroup(Value X, Value Y);
  Value scores();
  Value hidden();
  Value softmax(Value Scores);

  AttentionOp Op;
  OpBuilder B;
  Location Loc;
  Type Element;
};

/// The product of X [B, H, S, x] and Y [B, G, x, y].
Value Decomposition::perGroup(Value X, Value Y) {
  Dims Many = dims(X), Few = dims(Y);
  if (Many[1] == Few[1])
    return make<MatmulOp>(X, Y);
  Expr Heads = Many[1], Each = Heads.floorDiv(Few[1]);
  Many[1] = Few[1];
  Many.insert(Many.begin() + 2, Each);
  Few.insert(Few.begin() + 2, Expr(1));
  Value Product = make<MatmulOp>(reshape(X, Many), reshape(Y, Few));
  Dims Whole = dims(Product);
  Whole.erase(Whole.begin() + 1);
  Whole[1] = Heads;
  return reshape(Product, Whole);
}

Value Decomposition::scores() {
  // Each factor is scaled by the root, so that 16-bit products keep their
  // range.
  double Root = std::sqrt(Op.getScale().convertToDouble());
  Value Transposed =
      TransposeOp::create(B, Loc, Op.getK(), ArrayRef<int64_t>{0, 1, 3, 2});
  Value Q = Op.getQ();
  Value Scores = perGroup(make<MulOp>(Q, like(Root, Q)),
                          make<MulOp>(Transposed, like(Root, Transposed)));
  if (Op.getSoftcap()) {
    double Cap = Op.getSoftcap()->convertToDouble();
    Value Bent = TanhOp::create(B, Loc, make<DivOp>(Scores, like(Cap, Scores)));
    Scores = make<MulOp>(Bent, like(Cap, Bent));
  }
  return Scores;
}

/// What is added to the scores, as few sizes as it has; null where nothing is.
Value Decomposition::hidden() {
  Value Sum = Op.getBias();
  auto AddSeen = [&](Value Seen) {
    Dims Sizes = dims(Seen);
    Value Bias =
        SelectOp::create(B, Loc, Seen, spread(scalar(0, Element), Sizes),
                         spread(scalar(-INFINITY, Element), Sizes));
    if (!Sum) {
      Sum = Bias;
      return;
    }
    Dims Both = dims(Sum);
    for (auto [One, Other] : llvm::zip_equal(Both, Sizes))
      if (One == Expr(1))
        One = Other;
    Sum = make<AddOp>(spread(Sum, Both), spread(Bias, Both));
  };
  if (Op.getMask())
    AddSeen(Op.getMask());
  if (std::optional<DimsAttr> Causal = Op.getCausal()) {
    Type I64 = B.getI64Type();
    Expr Queries = typeOf(Op.getQ()).getDims()[2],
         Keys = typeOf(Op.getK()).getDims()[2];
    auto Ty = SymbolicTensorType::get({Expr(1), Expr(1), Queries, Keys}, I64);
    Value Query = IotaOp::create(B, Loc, Ty, 2),
          Key = IotaOp::create(B, Loc, Ty, 3);
    Expr Offset = Causal->getDims()[0];
    if (Offset != Expr(0)) {
      Value Size =
          SizesOp::create(B, Loc, DimsAttr::get(Op.getContext(), {Offset}));
      Query = make<AddOp>(Query, spread(reshape(Size, {}), Ty.getDims()));
    }
    AddSeen(CompareOp::create(B, Loc, Predicate::ge, Query, Key));
  }
  return Sum;
}

Value Decomposition::softmax(Value Scores) {
  Type Wide = Element.isF64() ? Element : Type(B.getF32Type());
  Value X = toType(Scores, Wide);
  Dims Sizes = dims(X);
  Value Shifted = make<SubOp>(X, spread(reduceLast(ReduceKind::max, X), Sizes));
  Value Powers = ExpOp::create(B, Loc, Shifted);
  Value Sum = spread(reduceLast(ReduceKind::sum, Powers), Sizes);
  return toType(make<DivOp>(Powers, Sum), Element);
}

Value Decomposition::write() {
  Value Scores = scores(), Hidden = hidden();
  Dims Sizes = dims(Scores);
  if (!Hidden)
    return perGroup(softmax(Scores), Op.getV());
  Value P = softmax(make<AddOp>(Scores, spread(Hidden, Sizes)));
  // A row in which every key is hidden is a row of zeros.
  Value Most = reduceLast(ReduceKind::max, Hidden);
  Value None =
      CompareOp::create(B, Loc, Predicate::eq, Most, like(-INFINITY, Most));
  P = SelectOp::create(B, Loc, spread(None, Sizes), like(0, P), P);
  return perGroup(P, Op.getV());
}

/// Elements of a head that builders take.
constexpr int64_t HeadUnit = 8;

/// `V` with zeros behind each head's elements, up to whole units.
Value filledUp(OpBuilder &B, Location Loc, Value V) {
  int64_t Size = *typeOf(V).getStaticDim(3);
  int64_t More = int64_t(llvm::alignTo(uint64_t(Size), HeadUnit)) - Size;
  if (!More)
    return V;
  auto Scalar = RankedTensorType::get({}, typeOf(V).getElementType());
  auto Zero =
      DenseElementsAttr::get(Scalar, B.getZeroAttr(Scalar.getElementType()));
  Value Filler = ConstantOp::create(B, Loc, Zero);
  return PadOp::create(B, Loc, V, Filler, ArrayRef<int64_t>{0, 0, 0, 0},
                       ArrayRef<int64_t>{0, 0, 0, More},
                       ArrayRef<int64_t>{0, 0, 0, 0});
}

/// Kernels compute tanh with an error of 2^-22: times a greater cap it is more
/// than that of products, which are split or rounded.
constexpr double MostExactCap = 256, MostCap = 4096;

/// The same attention of heads in whole units, and the columns of it that were
/// there before.
void fillHeads(AttentionOp Op) {
  OpBuilder B(Op);
  Location Loc = Op.getLoc();
  SymbolicTensorType To = typeOf(Op.getY());
  Value Q = filledUp(B, Loc, Op.getQ()), K = filledUp(B, Loc, Op.getK()),
        V = filledUp(B, Loc, Op.getV());
  Value Y = AttentionOp::create(B, Loc, Q, K, V, Op.getBias(), Op.getMask(),
                                Op.getScaleAttr(), Op.getSoftcapAttr(),
                                Op.getCausalAttr());
  if (typeOf(Y) != To) {
    auto Start = DimsAttr::get(B.getContext(), SmallVector<Expr>(4, Expr(0)));
    Y = SliceOp::create(B, Loc, To, Y, Start, ArrayRef<int64_t>{1, 1, 1, 1});
  }
  Op.replaceAllUsesWith(Y);
  Op.erase();
}

struct DecomposeAttentionPass
    : graph::impl::DecomposeAttentionBase<DecomposeAttentionPass> {
  using DecomposeAttentionBase::DecomposeAttentionBase;

  /// Why not every target has a builder for it with heads in whole units, where
  /// f32 that is not `Kept` is stored in 16 bits; empty: all have. `Many`: what
  /// schedules for many queries are asked for.
  std::string refusal(AttentionOp Op, ArrayRef<const target::Target *> All,
                      const shape::Facts &Facts, const NodePatterns &Kept,
                      schedule::AttentionShape &Many) {
    SymbolicTensorType Q = typeOf(Op.getQ()), V = typeOf(Op.getV());
    Type Element = Q.getElementType();
    std::optional<int64_t> Depth = Q.getStaticDim(3), Width = V.getStaticDim(3);
    bool IsKept = Kept.match(Op),
         IsF32 = Element.isF32() && (!Narrow || IsKept);
    bool Is16 =
        Element.isF16() || Element.isBF16() || (Element.isF32() && !IsF32);
    if (All.empty())
      return "there is no target";
    if (!Depth || !Width)
      return "the size of its heads is not known";
    if (!Is16 && !IsF32)
      return "it is neither of 16 bits nor of f32";
    if (Facts.range(V.getDims()[2]).Min < 1)
      return "its number of keys may be 0";
    schedule::DecodeShape Few;
    // What a schedule has registers for depends on these, too.
    Many.Causal = Op.getCausal().has_value();
    Many.Scored = Op.getBias() || Op.getMask();
    Many.Capped = Op.getSoftcap().has_value();
    Many.Depth = Few.Depth = int64_t(llvm::alignTo(uint64_t(*Depth), HeadUnit));
    Many.Width = Few.Width = int64_t(llvm::alignTo(uint64_t(*Width), HeadUnit));
    bool IsFew = hasFewQueries(Q.getDims()[2], Facts);
    // Filling up would move all keys and values twice more for few queries.
    if (IsFew && isRagged(Op))
      return "it has few queries, and its heads are no multiple of 8 elements";
    if (IsF32 && IsFew)
      return "it is of f32 and has few queries";
    if (IsF32) {
      Many.ElementBytes = 4;
      Many.Split = !Tf32 || IsKept;
    }
    if (std::optional<APFloat> Cap = Op.getSoftcap();
        Cap && Cap->convertToDouble() > (Many.Split ? MostExactCap : MostCap))
      return "its softcap is too large for the kernel's tanh";
    for (const target::Target *T : All)
      if (Many.Split && !schedule::paysToSplit(*T))
        return "f32 is not rounded, and multiply-adds are as fast on " +
               std::string(T->Name);
    for (const target::Target *T : All)
      if (!schedule::fitsAttention(Many, *T) &&
          !schedule::fitsAttentionSync(Many, *T) &&
          (!IsFew || schedule::rankDecodeSchedules(Few, *T).empty()))
        return "there is none for " + std::string(T->Name);
    return {};
  }

  static bool isRagged(AttentionOp Op) {
    return *typeOf(Op.getQ()).getStaticDim(3) % HeadUnit ||
           *typeOf(Op.getV()).getStaticDim(3) % HeadUnit;
  }

  /// What heads that are filled up cost.
  static void tellFilled(AttentionOp Op) {
    remark::missed(Op.getLoc(),
                   remark::RemarkOpts::name("heads").category("recognition"))
        << "Kernels in front of an attention fill up its heads to a multiple "
           "of 8 elements, as copies of 16 bytes ask. Heads of such a size "
           "need none.";
  }

  /// Where a chip with tensor memory has mma.sync's kernel alone.
  static void tellSync(AttentionOp Op, ArrayRef<const target::Target *> All,
                       const schedule::AttentionShape &Many) {
    for (const target::Target *T : All) {
      if (!T->Can.Tcgen05)
        continue;
      std::string Why = schedule::whyNoAttentionBlackwell(Many, *T);
      if (Why.empty())
        continue;
      remark::missed(
          Op.getLoc(),
          remark::RemarkOpts::name("attention").category("recognition"))
          << "On " + std::string(T->Name) +
                 " an attention of many queries uses mma.sync, not tcgen05, "
                 "because " +
                 Why +
                 ". Heads of these sizes, with --precision fp16 or bf16, "
                 "use tcgen05.";
      return;
    }
  }

  /// Where a GPU might have had the one kernel.
  static void tell(AttentionOp Op, ArrayRef<const target::Target *> All,
                   StringRef Why) {
    if (llvm::any_of(All, [](const target::Target *T) { return T->isGpu(); }))
      remark::missed(
          Op.getLoc(),
          remark::RemarkOpts::name("attention").category("recognition"))
          << "An attention is not one kernel, because " + Why.str() + ".";
  }

  void runOnOperation() override {
    auto All = targetsNamed(Targets, getOperation());
    FailureOr<NodePatterns> Kept = NodePatterns::read(Keep, getOperation());
    if (failed(All) || failed(Kept))
      return signalPassFailure();
    shape::Facts Facts = symbolFacts(getOperation());
    SmallVector<AttentionOp> Ops;
    getOperation().walk([&](AttentionOp Op) { Ops.push_back(Op); });
    for (AttentionOp Op : Ops) {
      if (Op->getParentOfType<RegionOp>())
        continue;
      schedule::AttentionShape Many;
      std::string Why = refusal(Op, *All, Facts, *Kept, Many);
      if (Why.empty()) {
        if (!hasFewQueries(typeOf(Op.getQ()).getDims()[2], Facts))
          tellSync(Op, *All, Many);
        if (isRagged(Op)) {
          tellFilled(Op);
          fillHeads(Op);
        }
        continue;
      }
      tell(Op, *All, Why);
      Op.replaceAllUsesWith(Decomposition(Op).write());
      Op.erase();
    }
  }
};

} // namespace
