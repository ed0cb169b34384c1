//===- RecogniseAttention.cpp - Products around a softmax become attention -*-
// C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %t = graph.transpose %k [0, 1, 3, 2]
///   %s = graph.matmul %q, %t                 %y = graph.attention %q, %k, %v
///   %x = %s * 0.125 + %bias              →           bias %bias scale 0.125
///   %p = exp(%x - max %x) / sum …
///   %y = graph.matmul %p, %v
///
/// By structure alone: from each product whose left operand is a softmax over
/// its last dimension back to the product in front of it. Factors may stand on
/// either side of that product; heads of keys and values may be repeated. What
/// was found, and what looked like it and is not, is a remark of category
/// `recognition`.
///
/// Attention that a model names itself, as PyTorch's programs do, is written in
/// the same words: its mask is sorted, and its heads are no longer repeated.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeHeads.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/LinearIndex.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RowSpace.h"
#include "passes/graph/ScorePlaces.h"
#include "passes/graph/ScoreSpace.h"
#include "passes/graph/ScoreTerms.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_RECOGNISEATTENTION
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// `V` before casts from float to float.
Value throughCasts(Value V) {
  while (auto Cast = V.getDefiningOp<CastOp>()) {
    if (!isFloat(typeOf(Cast.getX()).getElementType()))
      break;
    V = Cast.getX();
  }
  return V;
}

/// The reduction over the last dimension, of which `V` is the result in each
/// place of its row.
ReduceOp rowValue(Value V, ReduceKind Kind) {
  while (Operation *Def = V.getDefiningOp()) {
    auto Reshape = dyn_cast<ReshapeOp>(Def);
    if (!isa<BroadcastOp>(Def) && !(Reshape && movesOnesOnly(Reshape)))
      break;
    V = Def->getOperand(0);
  }
  auto Reduce = V.getDefiningOp<ReduceOp>();
  if (!Reduce || Reduce.getKind() != Kind ||
      Reduce.getAxes() !=
          ArrayRef<int64_t>{typeOf(Reduce.getX()).getRank() - 1})
    return {};
  return Reduce;
}

/// What a softmax over the last dimension is of; null where `P` is none.
Value softmaxOf(Value P) {
  P = throughCasts(P);
  // Rows that see no key: 0 instead of NaN, as graph.attention has it.
  if (auto Select = P.getDefiningOp<SelectOp>()) {
    auto IsNan = Select.getCondition().getDefiningOp<IsNanOp>();
    if (!IsNan || IsNan.getX() != Select.getB() ||
        constantScalar(Select.getA()) != 0.0)
      return {};
    P = throughCasts(Select.getB());
  }
  auto Div = P.getDefiningOp<DivOp>();
  auto Exp = Div ? Div.getA().getDefiningOp<ExpOp>() : ExpOp();
  auto Sum = Exp ? rowValue(Div.getB(), ReduceKind::sum) : ReduceOp();
  auto Shifted = Exp ? Exp.getX().getDefiningOp<SubOp>() : SubOp();
  auto Top = Shifted ? rowValue(Shifted.getB(), ReduceKind::max) : ReduceOp();
  if (!Sum || !Top || Sum.getX() != Exp.getY() || Top.getX() != Shifted.getA())
    return {};
  return Shifted.getA();
}

/// `V` without the constant factors in front of it, which `Factor` takes.
Value withoutFactors(Value V, double &Factor) {
  while (true) {
    V = throughCasts(V);
    auto Mul = V.getDefiningOp<MulOp>();
    auto Div = V.getDefiningOp<DivOp>();
    if (Mul) {
      std::optional<double> A = constantScalar(Mul.getA()),
                            C = constantScalar(Mul.getB());
      if (!A && !C)
        return V;
      Factor *= C ? *C : *A;
      V = C ? Mul.getA() : Mul.getB();
    } else if (std::optional<double> C =
                   Div ? constantScalar(Div.getB()) : std::nullopt) {
      Factor /= *C;
      V = Div.getA();
    } else {
      return V;
    }
  }
}

/// Dims of a permutation that keeps all but two of them.
SmallVector<int64_t> swappedLast(int64_t Rank) {
  auto Perm = llvm::to_vector(llvm::seq<int64_t>(0, Rank));
  std::swap(Perm[Rank - 1], Perm[Rank - 2]);
  return Perm;
}

/// Whether `V` is the same along its last dimension: a factor of a row.
bool isOfRows(Value V) {
  auto Broadcast = V.getDefiningOp<BroadcastOp>();
  if (!Broadcast)
    return false;
  SymbolicTensorType From = typeOf(Broadcast.getX());
  return From.getRank() == 0 || From.getDims().back() == Expr(1);
}

/// Follows scores from what the softmax is of to their product: what stands
/// behind it may be there. Null where there is none. `Sizes` becomes those of
/// the first value on the way of four dimensions or more.
Value scoresUnder(Value V, SmallVectorImpl<Expr> *Sizes = nullptr) {
  constexpr unsigned MostSteps = 16;
  for (unsigned Steps = 0; Steps < MostSteps; ++Steps) {
    double Ignored = 1;
    V = withoutFactors(V, Ignored);
    if (Sizes && typeOf(V).getRank() > int64_t(Sizes->size()))
      Sizes->assign(typeOf(V).getDims().begin(), typeOf(V).getDims().end());
    Operation *Def = V.getDefiningOp();
    if (isa_and_present<MatmulOp, TanhOp>(Def))
      return V;
    if (auto Select = dyn_cast_or_null<SelectOp>(Def))
      V = constantScalar(Select.getB()) ? Select.getA() : Select.getB();
    else if (auto Sum = dyn_cast_or_null<AddOp>(Def))
      V = Sum.getA().getDefiningOp<BroadcastOp>() ? Sum.getB() : Sum.getA();
    else if (isa_and_present<MulOp, DivOp>(Def) && isOfRows(Def->getOperand(1)))
      V = Def->getOperand(0);
    else if (isa_and_present<MulOp>(Def) && isOfRows(Def->getOperand(0)))
      V = Def->getOperand(1);
    else if (auto Op = dyn_cast_or_null<ReshapeOp>(Def);
             Op && keepsMatrices(Op))
      V = Op.getX();
    else
      return {};
  }
  return {};
}

/// Keys or values before each head was repeated for several of the queries'.
Value beforeRepeat(OpBuilder &B, Value Heads, const Expr &Many) {
  auto Merge = Heads.getDefiningOp<ReshapeOp>();
  auto Repeat = Merge ? Merge.getX().getDefiningOp<BroadcastOp>() : nullptr;
  if (!Repeat)
    return Heads;
  SymbolicTensorType From = typeOf(Repeat.getX()), To = typeOf(Repeat.getY());
  ArrayRef<Expr> Few = From.getDims(), All = To.getDims();
  if (From.getRank() != 5 || To.getRank() != 5 || Few[2] != Expr(1) ||
      All[1] * All[2] != Many || Few[0] != All[0] || Few[1] != All[1] ||
      Few[3] != All[3] || Few[4] != All[4])
    return Heads;
  return B.createOrFold<ReshapeOp>(
      Heads.getLoc(), From.withDims({Few[0], Few[1], Few[3], Few[4]}),
      Repeat.getX());
}

/// "12 heads of 64, causal, with a mask"
std::string describe(AttentionOp Op) {
  ArrayRef<Expr> QD = typeOf(Op.getQ()).getDims(),
                 KD = typeOf(Op.getK()).getDims();
  std::string Text = QD[1].str() + " heads of " + QD[3].str();
  if (QD[1] != KD[1])
    Text += " on " + KD[1].str() + " of keys and values";
  if (Op.getCausal())
    Text += ", causal";
  if (Value Mask = Op.getMask()) {
    Operation *Def = Mask.getDefiningOp();
    Text += Def && isOfPlaces(Def) ? ", with a mask that compares places"
                                   : ", with a mask";
  }
  if (Op.getBias())
    Text += ", with a bias";
  if (Op.getSoftcap())
    Text += ", with a softcap";
  return Text;
}

/// One attempt at one product.
class Attention {
public:
  Attention(MatmulOp Product, const shape::Facts &Facts)
      : Product(Product), Facts(Facts), B(Product) {}

  /// Null, with `Why` where it looked like attention.
  Value write();
  std::string Why;
  std::string what() const { return describe(Y.getDefiningOp<AttentionOp>()); }

private:
  Value logits();
  bool readScores(Value Logits);
  bool readOperands();
  bool shareHeads();
  Value towardsProduct(Value X, double &Factor);
  Value keysBeforeTranspose(Value Transposed);
  Value timesRows(Value Queries);
  bool refuse(const std::string &Text) {
    Why = Text;
    return false;
  }

  MatmulOp Product, ScoreProduct;
  const shape::Facts &Facts;
  OpBuilder B;
  double Scale = 1;
  std::optional<double> Softcap;
  std::optional<ScoreSpace> Space;
  std::optional<ScoreTerms> Terms;
  /// [batch, heads, queries, 1] that rows of scores are multiplied by, or
  /// divided (`true`).
  SmallVector<std::pair<Value, bool>> RowFactors;
  Value Q, K, V, Y;
};

/// `X` without factors, of all scores or of rows, and without reshapes that
/// rename leading dimensions.
Value Attention::towardsProduct(Value X, double &Factor) {
  while (true) {
    X = withoutFactors(X, Factor);
    auto Reshape = X.getDefiningOp<ReshapeOp>();
    if (Reshape && keepsMatrices(Reshape)) {
      X = Reshape.getX();
      continue;
    }
    auto Mul = X.getDefiningOp<MulOp>();
    auto Div = X.getDefiningOp<DivOp>();
    Operation *By = Mul ? Mul.getOperation() : Div.getOperation();
    if (!By)
      return X;
    bool Second = isOfRows(By->getOperand(1));
    if (!Second && !(Mul && isOfRows(Mul.getA())))
      return X;
    RowFactors.push_back({By->getOperand(Second ? 1 : 0), Div != nullptr});
    X = By->getOperand(Second ? 0 : 1);
  }
}

/// Walks from what the softmax is of back to the product.
bool Attention::readScores(Value Logits) {
  SymbolicTensorType Ty = typeOf(Logits);
  SmallVector<Expr> Widest(Ty.getDims());
  scoresUnder(Logits, &Widest);
  if (std::optional<ScoreSpace> Known = ScoreSpace::of(B, Widest))
    Space.emplace(*Known);
  else
    return refuse("its scores have " + std::to_string(Widest.size()) +
                  " dimensions");
  Terms.emplace(B, Ty.withDims(Space->sizes()));
  Value X = Logits;
  while (true) {
    double Factor = 1;
    X = towardsProduct(X, Factor);
    bool Scaled = Factor != 1 || !RowFactors.empty();
    if (Scaled && !X.getDefiningOp<MatmulOp>() && !X.getDefiningOp<TanhOp>())
      return refuse("a factor stands after what is added to its scores");
    if (auto Matmul = X.getDefiningOp<MatmulOp>()) {
      Scale *= Factor;
      ScoreProduct = Matmul;
      return true;
    }
    if (auto Tanh = X.getDefiningOp<TanhOp>()) {
      bool OfRows = !RowFactors.empty();
      double Inner = 1;
      auto Matmul =
          towardsProduct(Tanh.getX(), Inner).getDefiningOp<MatmulOp>();
      if (!Matmul || OfRows || !(Factor > 0) || !(Inner > 0))
        return refuse("its tanh is not of a product");
      // factor · tanh(inner · s) = cap · tanh(scale · s / cap)
      Softcap = Factor;
      Scale *= Inner * Factor;
      ScoreProduct = Matmul;
      return true;
    }
    if (auto Select = X.getDefiningOp<SelectOp>()) {
      std::optional<double> A = constantScalar(Select.getA()),
                            C = constantScalar(Select.getB());
      Value Seen = Select.getCondition();
      std::optional<double> Hidden = C ? C : A;
      if (!Hidden || !ScoreTerms::hides(*Hidden))
        return refuse("a select among its scores hides none");
      if (!C)
        Seen = NotOp::create(B, Select.getLoc(), Seen);
      if (!Terms->hide(Space->spread(Seen), *Hidden))
        return refuse("its mask does not fit the scores");
      X = C ? Select.getA() : Select.getB();
      continue;
    }
    auto Add = X.getDefiningOp<AddOp>();
    if (!Add)
      return refuse(X.getDefiningOp()
                        ? "its scores are the result of " +
                              X.getDefiningOp()->getName().stripDialect().str()
                        : "its scores are an input of the model");
    bool Left = scoresUnder(Add.getA()) != nullptr;
    if (!Left && !scoresUnder(Add.getB()))
      return refuse("its scores are a sum without a product");
    if (!Terms->add(Space->spread(Left ? Add.getB() : Add.getA())))
      return refuse("what is added to its scores does not fit them");
    X = Left ? Add.getA() : Add.getB();
  }
}

/// Keys with their own size last, of those that are turned for the product;
/// null where turning them back would move all of them for a few queries.
Value Attention::keysBeforeTranspose(Value Transposed) {
  Location Loc = Transposed.getLoc();
  SymbolicTensorType Ty = typeOf(Transposed);
  auto TurnedBack = [&](Value V) {
    return B.createOrFold<TransposeOp>(Loc, V,
                                       swappedLast(typeOf(V).getRank()));
  };
  // Batch and heads as one dimension while the keys were turned.
  auto Split = Transposed.getDefiningOp<ReshapeOp>();
  if (Split && keepsMatrices(Split) &&
      Split.getX().getDefiningOp<TransposeOp>()) {
    SmallVector<Expr> Sizes(Ty.getDims());
    std::swap(Sizes[Sizes.size() - 1], Sizes[Sizes.size() - 2]);
    return B.createOrFold<ReshapeOp>(Loc, Ty.withDims(Sizes),
                                     TurnedBack(Split.getX()));
  }
  if (!Transposed.getDefiningOp<TransposeOp>() &&
      hasFewQueries(Space->sizes()[2], Facts))
    return {};
  return TurnedBack(Transposed);
}

/// What rows of scores are multiplied by, queries may be.
Value Attention::timesRows(Value Queries) {
  for (auto [By, Divides] : RowFactors) {
    Location Loc = By.getLoc();
    Value Spread = Space->spread(By);
    while (auto Op = Spread.getDefiningOp<BroadcastOp>())
      Spread = Op.getX();
    SymbolicTensorType Ty = typeOf(Spread).withDims(typeOf(Queries).getDims());
    Value Factor = BroadcastOp::create(B, Loc, Ty, Spread);
    if (typeOf(Queries) != Ty)
      Queries = CastOp::create(B, Loc, Queries, Ty.getElementType());
    Queries = Divides ? DivOp::create(B, Loc, Queries, Factor).getResult()
                      : MulOp::create(B, Loc, Queries, Factor).getResult();
  }
  return Queries;
}

/// What the softmax of the product's left operand is of; null where that is no
/// softmax, or is used elsewhere as well.
Value Attention::logits() {
  Value Powers = Product.getA();
  bool Once = Powers.hasOneUse();
  for (auto Op = Powers.getDefiningOp<ReshapeOp>(); Op && keepsMatrices(Op);
       Op = Powers.getDefiningOp<ReshapeOp>()) {
    Powers = Op.getX();
    Once = Once && Powers.hasOneUse();
  }
  Value Logits = softmaxOf(Powers);
  if (!Logits || Once)
    return Logits;
  refuse("its weights are used elsewhere as well");
  return {};
}

/// Queries, keys and values as [batch, heads, rows, size of a head].
bool Attention::readOperands() {
  Q = withoutFactors(ScoreProduct.getA(), Scale);
  Value Transposed = withoutFactors(ScoreProduct.getB(), Scale);
  K = keysBeforeTranspose(Transposed);
  if (!K)
    return refuse("its keys lie transposed, and its queries are few");
  K = withoutFactors(K, Scale);
  if (!(Scale > 0) || !std::isfinite(Scale))
    return refuse("its scores are scaled by a number that is not positive");
  V = throughCasts(Product.getB());
  // Queries times a factor need not fit 16 bits where scores do.
  bool IsF32 = typeOf(Product.getB()).getElementType().isF32() &&
               typeOf(Q).getElementType().isF32();
  if (!RowFactors.empty() && !IsF32)
    return refuse(
        "rows of its scores are multiplied, and its queries are not of f32");
  Q = Space->matrices(Q), K = Space->matrices(K), V = Space->matrices(V);
  if (!Q || !K || !V)
    return refuse(
        "its queries, keys or values are shared in a way that has no word");
  Q = timesRows(Q);
  return true;
}

/// Each head of keys and values once, for all heads of queries that share it.
bool Attention::shareHeads() {
  const Expr &Heads = typeOf(Q).getDims()[1];
  Value FewK = beforeRepeat(B, K, Heads), FewV = beforeRepeat(B, V, Heads);
  if (typeOf(FewK).getDims()[1] == typeOf(FewV).getDims()[1])
    K = FewK, V = FewV;
  ArrayRef<Expr> QD = typeOf(Q).getDims(), KD = typeOf(K).getDims(),
                 VD = typeOf(V).getDims();
  // Products share one head, whatever the number of others: attention shares
  // heads where numbers divide.
  std::optional<int64_t> Many = typeOf(Q).getStaticDim(1),
                         Few = typeOf(K).getStaticDim(1);
  bool Divides = QD[1] == KD[1] || (Many && Few && *Few && *Many % *Few == 0);
  if (QD[0] != KD[0] || QD[0] != VD[0] || KD[1] != VD[1] || !Divides)
    return refuse("its keys or values are shared in a way that has no word");
  return true;
}

Value Attention::write() {
  Value Logits = logits();
  if (!Logits || !readScores(Logits) || !readOperands() || !shareHeads())
    return {};
  Type Element = typeOf(Product.getB()).getElementType();
  auto OfType = [&](Value In) -> Value {
    if (!In || typeOf(In).getElementType() == Element)
      return In;
    return CastOp::create(B, In.getLoc(), In, Element);
  };
  Location Loc = Product.getLoc();
  DimsAttr Causal;
  if (std::optional<Expr> Offset = Terms->causal())
    Causal = DimsAttr::get(B.getContext(), {*Offset});
  FloatAttr Cap;
  if (Softcap)
    Cap = B.getF64FloatAttr(*Softcap);
  Value Bias = OfType(Terms->bias()), Mask = Terms->mask();
  Y = AttentionOp::create(B, Loc, OfType(Q), OfType(K), OfType(V), Bias, Mask,
                          B.getF64FloatAttr(Scale), Cap, Causal);
  return B.createOrFold<ReshapeOp>(Loc, Product.getType(), Y);
}

/// What the model itself calls attention, in the words that are found in
/// others: null where these are no better than its own.
AttentionOp inBetterWords(AttentionOp Op) {
  OpBuilder B(Op);
  SymbolicTensorType QTy = typeOf(Op.getQ());
  ArrayRef<Expr> QD = QTy.getDims();
  double Scale = Op.getScale().convertToDouble(), Factor = 1;
  Value Q = withoutFactors(Op.getQ(), Factor),
        K = withoutFactors(Op.getK(), Factor), V = Op.getV();
  bool Scaled = Factor != 1 && Factor > 0 && std::isfinite(Scale * Factor) &&
                typeOf(Q) == QTy && typeOf(K) == typeOf(Op.getK());
  if (!Scaled)
    Q = Op.getQ(), K = Op.getK(), Factor = 1;
  Value FewK = beforeRepeat(B, K, QD[1]), FewV = beforeRepeat(B, V, QD[1]);
  // The op divides heads only where their numbers are known.
  bool Fewer = FewK != K && QTy.getStaticDim(1) &&
               typeOf(FewK).getStaticDim(1) &&
               typeOf(FewK).getDims()[1] == typeOf(FewV).getDims()[1];
  if (Fewer)
    K = FewK, V = FewV;
  std::optional<Expr> Causal;
  if (Op.getCausal())
    Causal = Op.getCausal()->getDims()[0];
  ScoreTerms Terms(
      B, QTy.withDims({QD[0], QD[1], QD[2], typeOf(Op.getK()).getDims()[2]}),
      Causal);
  Value Mask = Op.getMask(), Bias = Op.getBias();
  bool Sorted = (Mask || Bias) && (!Mask || Terms.hide(Mask, -INFINITY)) &&
                (!Bias || Terms.add(Bias));
  auto Changes = [](Value Old, Value New) {
    return Old && (!New || typeOf(New) != typeOf(Old));
  };
  Sorted =
      Sorted && (Terms.causal() || Terms.comparesPlaces() ||
                 Changes(Mask, Terms.mask()) || Changes(Bias, Terms.bias()));
  if (Sorted)
    Causal = Terms.causal(), Mask = Terms.mask(), Bias = Terms.bias();
  if (!Scaled && !Fewer && !Sorted)
    return {};
  DimsAttr Triangle;
  if (Causal)
    Triangle = DimsAttr::get(B.getContext(), {*Causal});
  return AttentionOp::create(B, Op.getLoc(), Q, K, V, Bias, Mask,
                             B.getF64FloatAttr(Scale * Factor),
                             Op.getSoftcapAttr(), Triangle);
}

struct RecogniseAttentionPass
    : graph::impl::RecogniseAttentionBase<RecogniseAttentionPass> {
  void runOnOperation() override {
    if (!isGraphFunction(getOperation()))
      return;
    SmallVector<AttentionOp> Named;
    getOperation().walk([&](AttentionOp Op) { Named.push_back(Op); });
    for (AttentionOp Op : Named)
      if (AttentionOp Better = inBetterWords(Op)) {
        remark::passed(
            Op.getLoc(),
            remark::RemarkOpts::name("attention").category("recognition"))
            << "The model's attention is one of " + describe(Better) + ".";
        Op.replaceAllUsesWith(Better.getY());
        Op.erase();
      }
    shape::Facts Facts =
        symbolFacts(getOperation()->getParentOfType<ModuleOp>());
    SmallVector<MatmulOp> Products;
    getOperation().walk([&](MatmulOp Op) { Products.push_back(Op); });
    for (MatmulOp Op : Products) {
      Attention Found(Op, Facts);
      Value Y = Found.write();
      if (Y) {
        remark::passed(
            Op.getLoc(),
            remark::RemarkOpts::name("attention").category("recognition"))
            << "A softmax between two GEMMs is one attention of " +
                   Found.what() + ".";
        Op.replaceAllUsesWith(Y);
        Op.erase();
      } else if (!Found.Why.empty()) {
        remark::missed(
            Op.getLoc(),
            remark::RemarkOpts::name("attention").category("recognition"))
            << "A softmax between two GEMMs is not one attention, because " +
                   Found.Why + ".";
      }
    }
    eraseDeadOps();
  }

  /// What only the products used, last first.
  void eraseDeadOps() {
    for (Operation &Op : llvm::make_early_inc_range(
             llvm::reverse(getOperation().getBody().front())))
      if (isOpTriviallyDead(&Op))
        Op.erase();
  }
};

} // namespace
