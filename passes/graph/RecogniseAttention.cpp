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
#include "passes/graph/GraphFunction.h"
#include "passes/graph/LinearIndex.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RowSpace.h"
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

/// Whether `V` is a product with what may be done to scores behind it.
bool endsInGemm(Value V) {
  constexpr unsigned MostSteps = 16;
  for (unsigned Steps = 0; Steps < MostSteps; ++Steps) {
    double Ignored = 1;
    V = withoutFactors(V, Ignored);
    Operation *Def = V.getDefiningOp();
    if (isa_and_present<MatmulOp, TanhOp>(Def))
      return true;
    if (auto Select = dyn_cast_or_null<SelectOp>(Def))
      V = constantScalar(Select.getB()) ? Select.getA() : Select.getB();
    else if (auto Sum = dyn_cast_or_null<AddOp>(Def))
      V = Sum.getA().getDefiningOp<BroadcastOp>() ? Sum.getB() : Sum.getA();
    else
      return false;
  }
  return false;
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
  if (Op.getMask())
    Text += ", with a mask";
  if (Op.getBias())
    Text += ", with a bias";
  if (Op.getSoftcap())
    Text += ", with a softcap";
  return Text;
}

/// One attempt at one product.
class Attention {
public:
  explicit Attention(MatmulOp Product) : Product(Product), B(Product) {}

  /// Null, with `Why` where it looked like attention.
  Value write();
  std::string Why;
  std::string what() const { return describe(Y.getDefiningOp<AttentionOp>()); }

private:
  bool readScores(Value Logits);
  Value keysBeforeTranspose(Value Transposed);
  Value fourDims(Value V);
  bool refuse(const std::string &Text) {
    Why = Text;
    return false;
  }

  MatmulOp Product, ScoreProduct;
  OpBuilder B;
  double Scale = 1;
  std::optional<double> Softcap;
  std::optional<ScoreTerms> Terms;
  Value Q, K, V, Y;
};

/// Walks from what the softmax is of back to the product.
bool Attention::readScores(Value Logits) {
  SymbolicTensorType Ty = typeOf(Logits);
  if (Ty.getRank() == 4)
    Terms.emplace(B, Ty);
  else if (Ty.getRank() == 3)
    Terms.emplace(B, Ty.withDims({Ty.getDims()[0], Expr(1), Ty.getDims()[1],
                                  Ty.getDims()[2]}));
  else
    return refuse("its scores have " + std::to_string(Ty.getRank()) +
                  " dimensions");
  Value X = Logits;
  while (true) {
    double Factor = 1;
    X = withoutFactors(X, Factor);
    if (Factor != 1 && !X.getDefiningOp<MatmulOp>() &&
        !X.getDefiningOp<TanhOp>())
      return refuse("a factor stands behind what is added to its scores");
    if (auto Matmul = X.getDefiningOp<MatmulOp>()) {
      Scale *= Factor;
      ScoreProduct = Matmul;
      return true;
    }
    if (auto Tanh = X.getDefiningOp<TanhOp>()) {
      double Inner = 1;
      Value Under = withoutFactors(Tanh.getX(), Inner);
      auto Matmul = Under.getDefiningOp<MatmulOp>();
      if (!Matmul || !(Factor > 0) || !(Inner > 0))
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
      if (!Terms->hide(Seen, *Hidden))
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
    bool Left = endsInGemm(Add.getA());
    if (!Left && !endsInGemm(Add.getB()))
      return refuse("its scores are a sum without a product");
    if (!Terms->add(Left ? Add.getB() : Add.getA()))
      return refuse("what is added to its scores does not fit them");
    X = Left ? Add.getA() : Add.getB();
  }
}

/// [batch, heads, keys, depth] of [batch, heads, depth, keys].
Value Attention::keysBeforeTranspose(Value Transposed) {
  Location Loc = Transposed.getLoc();
  int64_t Rank = typeOf(Transposed).getRank();
  if (Transposed.getDefiningOp<TransposeOp>())
    return B.createOrFold<TransposeOp>(Loc, Transposed, swappedLast(Rank));
  // Batch and heads as one dimension while the keys were turned.
  auto Out = Transposed.getDefiningOp<ReshapeOp>();
  auto Transpose =
      Out ? Out.getX().getDefiningOp<TransposeOp>() : TransposeOp();
  if (!Transpose || Rank != 4 ||
      !llvm::equal(Transpose.getPerm(), swappedLast(3)))
    return {};
  SymbolicTensorType Ty = typeOf(Transposed), Flat = typeOf(Transpose.getX());
  SmallVector<Expr> Sizes(Ty.getDims());
  std::swap(Sizes[2], Sizes[3]);
  if (Flat.getDims()[1] != Sizes[2] || Flat.getDims()[2] != Sizes[3])
    return {};
  return B.createOrFold<ReshapeOp>(Loc, Ty.withDims(Sizes), Transpose.getX());
}

Value Attention::fourDims(Value In) {
  SymbolicTensorType Ty = typeOf(In);
  if (Ty.getRank() == 4)
    return In;
  ArrayRef<Expr> D = Ty.getDims();
  return B.createOrFold<ReshapeOp>(
      In.getLoc(), Ty.withDims({D[0], Expr(1), D[1], D[2]}), In);
}

Value Attention::write() {
  Value Logits = softmaxOf(Product.getA());
  if (!Logits)
    return {};
  if (!Product.getA().hasOneUse()) {
    refuse("its weights are used elsewhere as well");
    return {};
  }
  if (!readScores(Logits))
    return {};
  Q = withoutFactors(ScoreProduct.getA(), Scale);
  Value Transposed = withoutFactors(ScoreProduct.getB(), Scale);
  K = keysBeforeTranspose(Transposed);
  if (!K) {
    refuse("its keys are not the transpose of anything");
    return {};
  }
  K = withoutFactors(K, Scale);
  if (!(Scale > 0) || !std::isfinite(Scale)) {
    refuse("its scores are scaled by a number that is not positive");
    return {};
  }
  V = throughCasts(Product.getB());
  Q = fourDims(Q), K = fourDims(K), V = fourDims(V);
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
  if (QD[0] != KD[0] || QD[0] != VD[0] || KD[1] != VD[1] || !Divides) {
    refuse("its keys or values are shared in a way that has no word");
    return {};
  }
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
  ScoreTerms Terms(
      B, QTy.withDims({QD[0], QD[1], QD[2], typeOf(Op.getK()).getDims()[2]}));
  std::optional<Expr> Causal;
  if (Op.getCausal())
    Causal = Op.getCausal()->getDims()[0];
  Value Mask = Op.getMask(), Bias = Op.getBias();
  bool Sorted = !Causal && (Mask || Bias) &&
                (!Mask || Terms.hide(Mask, -INFINITY)) &&
                (!Bias || Terms.add(Bias));
  auto Changes = [](Value Old, Value New) {
    return Old && (!New || typeOf(New) != typeOf(Old));
  };
  Sorted = Sorted && (Terms.causal() || Changes(Mask, Terms.mask()) ||
                      Changes(Bias, Terms.bias()));
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
    SmallVector<MatmulOp> Products;
    getOperation().walk([&](MatmulOp Op) { Products.push_back(Op); });
    for (MatmulOp Op : Products) {
      Attention Found(Op);
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
