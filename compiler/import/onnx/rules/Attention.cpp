//===- Attention.cpp - Import of attention --------------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// B batch, H heads of queries, G heads of keys and values, S queries, T keys,
// D the size of a head.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/onnx/rules/Attention.h"
#include "compiler/import/onnx/Importer.h"
#include "compiler/import/onnx/Rules.h"

#include <cmath>

using namespace kpc::graph;

namespace kpc::onnx {

static Value failRank(NodeImport &N, std::string_view What) {
  return N.fail(Code::ImportRank, std::string(What));
}

PackedHeads unpackHeads(NodeImport &N, Value Packed, int64_t Heads,
                        int64_t Groups) {
  int64_t Axis = N.rank(Packed) - 1;
  Expr Size = N.dims(Packed).back().floorDiv(Heads + 2 * Groups);
  return {N.sliceAxis(Packed, Axis, 0, Size * Heads),
          N.sliceAxis(Packed, Axis, Size * Heads, Size * Groups),
          N.sliceAxis(Packed, Axis, Size * (Heads + Groups), Size * Groups)};
}

Value splitHeads(NodeImport &N, Value X, int64_t Heads) {
  if (!X)
    return {};
  if (N.rank(X) != 3)
    return failRank(N, "what splits into heads has rank " +
                           std::to_string(N.rank(X)) +
                           ", but should have rank 3");
  Expr Hidden = N.dims(X)[2];
  Expr Size = Heads < 1 ? Expr(0) : Hidden.floorDiv(Heads);
  if (Heads > 1 && Size * Heads != Hidden && !Hidden.isConstant() &&
      N.unify(Hidden, Size * Heads)) {
    Hidden = N.dims(X)[2];
    Size = Hidden.floorDiv(Heads);
  }
  if (Heads < 1 || Size * Heads != Hidden)
    return N.fail(Code::ImportShape, "a last size of " + Hidden.str() +
                                         " does not split into " +
                                         std::to_string(Heads) + " heads");
  return N.reshape(X, {N.dims(X)[0], N.dims(X)[1], Expr(Heads), Size});
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

bool Attention::readSoftmaxType() {
  if (!N.hasAttribute("softmax_precision"))
    return true;
  auto Given = static_cast<ElementType>(N.intAttribute("softmax_precision", 1));
  SoftmaxType = graphType(N.builder().getContext(), Given);
  if (SoftmaxType && graph::isFloat(SoftmaxType))
    return true;
  N.fail(Code::ImportAttributeValue, "attribute 'softmax_precision' is " +
                                         elementTypeName(Given) +
                                         ", which is not a float type");
  return false;
}

bool Attention::readScale() {
  std::optional<int64_t> Size = N.dims(Q)[3].asConstant();
  if (!N.hasAttribute("scale") && !Size.value_or(0)) {
    N.unsupported("without the attribute 'scale' the size of a head, " +
                  N.dims(Q)[3].str() + ", must be a number");
    return false;
  }
  double Default = Size.value_or(0) ? 1 / std::sqrt(double(*Size)) : 1;
  Scale = N.floatAttribute("scale", Default);
  // Both factors of the product are scaled by the root.
  if (Scale < 0 || std::isnan(Scale))
    N.fail(Code::ImportAttributeValue, "attribute 'scale' is negative");
  return !N.bad();
}

bool Attention::read() {
  N.expectInputs(3, N.opset() < 24 ? 6 : 7);
  Q = N.input(0), K = N.input(1), V = N.input(2);
  Mask = N.optionalInput(3), PastKey = N.optionalInput(4);
  PastValue = N.optionalInput(5), Valid = N.optionalInput(6);
  Causal = N.flagAttribute("is_causal");
  Mode = N.intAttribute("qk_matmul_output_mode", 0);
  Softcap = N.floatAttribute("softcap", 0);
  if (N.opset() >= 25) {
    Left = N.intAttribute("left_window_size", -1);
    Right = N.intAttribute("right_window_size", -1);
  }
  int64_t QueryHeads = N.intAttribute("q_num_heads", 0);
  int64_t KeyHeads = N.intAttribute("kv_num_heads", 0);
  if (N.bad() || !readSoftmaxType())
    return false;
  Flat = N.rank(Q) == 3;
  for (Value X : {Q, K, V})
    if (N.rank(X) != (Flat ? 3 : 4))
      return failRank(N, "Q, K and V should have rank 4, or all rank 3"), false;
  if (!PastKey != !PastValue || (PastKey && Valid)) {
    N.fail(Code::ImportArity, "'past_key' and 'past_value' go together, and "
                              "not with 'nonpad_kv_seqlen'");
    return false;
  }
  if (Left < -1 || Right < -1 || Mode < 0 || Mode > 3) {
    N.fail(Code::ImportAttributeValue,
           "a window size below -1, or an output mode outside 0 to 3");
    return false;
  }
  if (Flat) {
    for (auto [X, Heads] : {std::pair(&Q, QueryHeads), std::pair(&K, KeyHeads),
                            std::pair(&V, KeyHeads)})
      if (Value Split = splitHeads(N, *X, Heads); !Split)
        return false;
      else
        *X = N.transpose(Split, {0, 2, 1, 3});
  }
  return !N.bad() && readScale();
}

/// The product of A [B, H, S, x] and C [B, G, x, y]; each head of C serves H/G
/// heads of A.
Value Attention::perGroup(Value A, Value C) {
  if (!A || !C)
    return {};
  Expr Heads = N.dims(A)[1], Groups = N.dims(C)[1];
  if (Heads == Groups)
    return N.matmul(A, C);
  Expr Each = Groups == Expr(0) ? Expr(0) : Heads.floorDiv(Groups);
  if (Each * Groups != Heads)
    return N.fail(Code::ImportShape, Heads.str() +
                                         " heads of Q do not divide "
                                         "among " +
                                         Groups.str() + " heads of K and V");
  Dims Many(N.dims(A)), Few(N.dims(C));
  Many[1] = Groups;
  Many.insert(Many.begin() + 2, Each);
  Few.insert(Few.begin() + 2, Expr(1));
  Value Y = N.matmul(N.reshape(A, Many), N.reshape(C, Few));
  if (!Y)
    return {};
  Dims Whole(N.dims(Y));
  Whole.erase(Whole.begin() + 1);
  Whole[1] = Heads;
  return N.reshape(Y, Whole);
}

Value Attention::scores() {
  Value Root = N.like(std::sqrt(Scale), Q);
  Value Turned = N.transpose(K, {0, 1, 3, 2});
  return perGroup(N.mul(Q, Root), N.mul(Turned, Root));
}

/// The mask with as many columns as there are keys; what it does not reach is
/// masked.
Value Attention::paddedMask(const Expr &Keys) {
  Expr Missing = Keys - N.dims(Mask).back();
  bool Bools = graph::isBool(N.element(Mask));
  if (Missing == Expr(0))
    return Mask;
  if (!Missing.asConstant()) {
    if (!N.unify(N.dims(Mask).back(), Keys))
      return N.fail(Code::ImportShape,
                    "the mask has " + N.dims(Mask).back().str() +
                        " columns for " + Keys.str() + " keys");
    return Mask;
  }
  auto Rank = static_cast<size_t>(N.rank(Mask));
  Ints Zero(Rank, 0), High(Rank, 0);
  High.back() = *Missing.asConstant();
  Value Filler = N.like(Bools ? 0 : -INFINITY, Mask);
  return N.pad(Mask, Filler, Zero, High, Zero);
}

/// Whether queries see the keys up to their own, and nothing else is asked.
bool Attention::isTriangle() const {
  return Causal && !Valid && Left < 0 && Right < 0;
}

/// Which keys a query sees by position: bools [S, T] or [B, 1, S, T]; null
/// where it sees all.
Value Attention::allowed() {
  bool Positions = Causal || Left >= 0 || Right >= 0;
  Expr Queries = N.dims(Q)[2], Keys = N.dims(K)[2];
  Value Seen;
  auto Both = [&](Value A) { Seen = Seen ? N.binary<AndOp>(Seen, A) : A; };
  Value Column = N.iota({Queries, Keys}, 1, N.i64()), Key = Column;
  if (Before)
    Key = N.sub(Key, N.scalarInt(Before, N.i64()));
  Value Count = Valid ? N.reshape(N.cast(Valid, N.i64()),
                                  {N.dims(Q)[0], Expr(1), Expr(1), Expr(1)})
                      : Value();
  if (Positions) {
    // How far a query stands behind a key.
    Value Behind = N.sub(N.iota({Queries, Keys}, 0, N.i64()), Key);
    if (Valid)
      Behind = N.add(Behind, N.sub(Count, N.sizeScalar(Queries, N.i64())));
    else if (PastKey)
      Behind = N.add(Behind, N.sizeScalar(N.dims(PastKey)[2], N.i64()));
    auto AtLeast = [&](int64_t Least) {
      Both(N.compare(Predicate::ge, Behind, N.scalarInt(Least, N.i64())));
    };
    if (Causal)
      AtLeast(0);
    if (Right >= 0)
      AtLeast(-Right);
    if (Left >= 0)
      Both(N.compare(Predicate::le, Behind, N.scalarInt(Left, N.i64())));
  }
  if (Valid)
    Both(N.compare(Predicate::lt, Key, Count));
  // All see those before the first.
  if (Before && Seen)
    Seen = N.binary<OrOp>(
        N.compare(Predicate::lt, Column, N.scalarInt(Before, N.i64())), Seen);
  return Seen;
}

/// What is added to the scores; null where nothing is.
Value Attention::bias() {
  Value Sum;
  auto Hidden = [&](Value Seen) {
    return N.select(Seen, N.like(0, Q), N.like(-INFINITY, Q));
  };
  if (Mask) {
    if (N.rank(Mask) < 1)
      return failRank(N, "'attn_mask' is a scalar");
    Mask = paddedMask(N.dims(K)[2]);
    if (!Mask)
      return {};
    Sum = graph::isBool(N.element(Mask)) ? Hidden(Mask) : Mask;
  }
  if (Value Seen = allowed()) {
    Value Positions = Hidden(Seen);
    Sum = Sum ? N.add(Sum, Positions) : Positions;
  }
  return Sum;
}

/// A row in which every key is masked is a row of zeros.
Value Attention::probabilities(Value Logits, Value Bias) {
  if (SoftmaxType)
    Logits = N.cast(Logits, SoftmaxType);
  Value P = N.cast(N.softmax(Logits, {3}, /*Logarithm=*/false), N.element(Q));
  if (!P || !Bias)
    return P;
  Value Top = N.reduce(ReduceKind::max, Bias, {N.rank(Bias) - 1}, true);
  if (!Top)
    return {};
  Value Empty = N.compare(Predicate::eq, Top, N.like(-INFINITY, Top));
  return N.select(Empty, N.like(0, P), P);
}

/// Sizes that operands share get one name; false where they cannot.
bool Attention::sizesAgree() {
  auto Agree = [&](Value A, Value C, unsigned I) {
    return N.unify(N.dims(A)[I], N.dims(C)[I]);
  };
  if (!Agree(Q, K, 0) || !Agree(Q, V, 0) || !Agree(K, V, 1) ||
      !Agree(K, V, 2) || !Agree(Q, K, 3))
    return false;
  std::optional<int64_t> Heads = N.dims(Q)[1].asConstant(),
                         Groups = N.dims(K)[1].asConstant();
  return N.dims(Q)[1] == N.dims(K)[1] ||
         (Heads && Groups && *Groups > 0 && *Heads % *Groups == 0);
}

/// A mask with a size for each of the scores' dimensions; null where it does
/// not fit them.
Value Attention::fourSizes(Value Tensor) {
  int64_t Rank = N.rank(Tensor);
  if (Rank > 4)
    return {};
  Tensor = N.unsqueeze(Tensor, llvm::to_vector(llvm::seq(4 - Rank)));
  for (unsigned I = 0; Tensor && I < 4; ++I) {
    const Expr &Size = N.dims(Tensor)[I];
    Expr Score = I < 3 ? N.dims(Q)[I] : N.dims(K)[2];
    if (Size != Expr(1) && !N.unify(Size, Score))
      return {};
  }
  return Tensor;
}

/// A key of zeros in front, whose score is 0 but for what the bias adds. In
/// front, so that a triangle stays one.
bool Attention::addSink() {
  Expr Heads = N.dims(Q)[1], Keys = N.dims(K)[2];
  Value Score;
  if (Sink)
    Score = N.reshape(N.cast(Sink, N.element(Q)),
                      {Expr(1), Heads, Expr(1), Expr(1)});
  if (Mask) {
    if (!isTriangle()) {
      Value Seen = allowed();
      Causal = false;
      Left = Right = -1;
      Valid = {};
      if (Seen)
        Mask = N.add(Mask, N.select(Seen, N.like(0, Q), N.like(-INFINITY, Q)));
    }
    Value Whole = fourSizes(Mask);
    if (!Score)
      Score = N.like(0, Q);
    if (!Whole || !Score)
      return N.fail(Code::ImportShape, "the bias does not fit the scores"),
             false;
    Dims Sizes(N.dims(Whole)), Column;
    if (Sink)
      Sizes[1] = Heads;
    Column = Sizes;
    Column[3] = Expr(1);
    Mask = N.concat({N.broadcast(Score, Column), N.broadcast(Whole, Sizes)}, 3);
  } else if (Score) {
    Dims Sizes = {Expr(1), Heads, Expr(1), Keys + 1};
    Value IsFirst = N.compare(Predicate::lt, N.iota(Sizes, 3, N.i64()),
                              N.broadcast(N.scalarInt(1, N.i64()), Sizes));
    Mask = N.select(IsFirst, N.broadcast(Score, Sizes),
                    N.broadcast(N.like(0, Q), Sizes));
  }
  for (Value *X : {&K, &V}) {
    Dims Sizes(N.dims(*X));
    Sizes[2] = Expr(1);
    *X = N.concat({N.full(0, Sizes, N.element(*X)), *X}, 2);
  }
  Before = 1;
  return !N.bad();
}

/// As one op; null where that has no word for what is asked.
Value Attention::oneOp() {
  if (N.wants(3) || SoftmaxType || !(Scale > 0) || !std::isfinite(Scale) ||
      N.element(Q) != N.element(K) || N.element(Q) != N.element(V) ||
      !N.isFloat(Q) || !sizesAgree())
    return {};
  Value Bias, Seen;
  if (Mask) {
    if (N.rank(Mask) < 1)
      return {};
    Mask = paddedMask(N.dims(K)[2]);
    if (!Mask)
      return {};
    bool Bools = graph::isBool(N.element(Mask));
    if (!Bools && N.element(Mask) != N.element(Q))
      return {};
    Value Whole = fourSizes(Mask);
    if (!Whole)
      return {};
    (Bools ? Seen : Bias) = Whole;
  }
  // A plain triangle is an attribute; other positions are a mask.
  bool Triangle = isTriangle();
  if (!Triangle)
    if (Value Positions = allowed()) {
      Positions = fourSizes(Positions);
      Seen = Seen && Positions ? N.binary<AndOp>(Seen, Positions) : Positions;
      if (!Seen)
        return {};
    }
  mlir::Builder &B = N.builder();
  SmallVector<mlir::NamedAttribute> Attributes = {
      B.getNamedAttr("scale", B.getF64FloatAttr(Scale)),
      B.getNamedAttr(
          "operandSegmentSizes",
          B.getDenseI32ArrayAttr({1, 1, 1, Bias ? 1 : 0, Seen ? 1 : 0}))};
  if (Softcap > 0)
    Attributes.push_back(B.getNamedAttr("softcap", B.getF64FloatAttr(Softcap)));
  if (Triangle) {
    Expr Past = (PastKey ? N.dims(PastKey)[2] : Expr(0)) + Before;
    Attributes.push_back(
        B.getNamedAttr("causal", graph::DimsAttr::get(B.getContext(), {Past})));
  }
  SmallVector<Value> Operands = {Q, K, V};
  for (Value Optional : {Bias, Seen})
    if (Optional)
      Operands.push_back(Optional);
  return N.build(graph::AttentionOp::getOperationName(), Operands, Attributes);
}

Value Attention::compute() {
  if (PastKey) {
    if (N.rank(PastKey) != 4 || N.rank(PastValue) != 4)
      return failRank(N, "'past_key' and 'past_value' should have rank 4");
    K = N.concat({PastKey, K}, 2);
    V = N.concat({PastValue, V}, 2);
  }
  if (!K || !V)
    return {};
  if (!HasSink)
    return attend();
  Value Keys = K, Values = V;
  Value Y = addSink() ? attend() : Value();
  K = Keys;
  V = Values;
  if (Shown)
    Shown = N.sliceAxis(Shown, 3, Before, N.dims(K)[2]);
  return Y;
}

Value Attention::attend() {
  if (Value Y = oneOp(); Y || N.bad())
    return Y;
  Value Product = scores();
  Value Stages[4] = {Product};
  if (Product && Softcap > 0)
    Product = N.mulScalar(
        N.unary<TanhOp>(N.div(Product, N.like(Softcap, Product))), Softcap);
  Stages[1] = Product;
  Value Bias = bias();
  if (N.bad())
    return {};
  Value Logits = Bias ? N.add(Product, Bias) : Product;
  Stages[2] = Logits;
  Value P = Stages[3] = probabilities(Logits, Bias);
  Shown = Stages[Mode];
  return perGroup(P, V);
}

void Attention::finish(Value Y) {
  if (Flat && Y) {
    Y = N.transpose(Y, {0, 2, 1, 3});
    Y = N.reshape(Y, {N.dims(Y)[0], N.dims(Y)[1], N.dims(Y)[2] * N.dims(Y)[3]});
  }
  N.result(0, Y);
  N.result(1, K);
  N.result(2, V);
}

static void importAttention(NodeImport &N) {
  Attention A{N};
  if (!A.read())
    return;
  A.finish(A.compute());
  if (A.Shown)
    N.result(3, A.Shown);
}

//===----------------------------------------------------------------------===//
// FlexAttention
//===----------------------------------------------------------------------===//

/// A tensor through a subgraph of the node; itself where there is none.
static Value modified(NodeImport &N, const char *Name, Value X) {
  if (!X || !N.hasAttribute(Name))
    return X;
  const Graph *G = N.graphAttribute(Name);
  if (!G || G->Inputs.size() != 1 || G->Outputs.size() != 1)
    return N.fail(Code::ImportAttributeValue,
                  "attribute '" + std::string(Name) +
                      "' should be a graph of one input and one output");
  std::optional<SmallVector<Value>> Y = N.importer().inlineGraph(*G, {X}, N);
  if (!Y)
    return N.fail(Code::ImportAttributeValue,
                  "attribute '" + std::string(Name) + "' does not import");
  if (N.dims(Y->front()) != N.dims(X) || N.element(Y->front()) != N.element(X))
    return N.fail(Code::ImportShape, "attribute '" + std::string(Name) +
                                         "' makes " +
                                         dimsText(N.dims(Y->front())) + " of " +
                                         dimsText(N.dims(X)));
  return Y->front();
}

static void importFlexAttention(NodeImport &N) {
  Attention A{N};
  N.expectInputs(3, 3);
  A.Q = N.input(0), A.K = N.input(1), A.V = N.input(2);
  if (N.bad())
    return;
  for (Value X : {A.Q, A.K, A.V})
    if (N.rank(X) != 4) {
      failRank(N, "Q, K and V should have rank 4");
      return;
    }
  if (!A.readScale() || !A.readSoftmaxType())
    return;
  bool Plain = !N.hasAttribute("score_mod") && !N.hasAttribute("prob_mod");
  Type Stored = N.element(A.Q);
  if (Plain) {
    N.result(0, A.compute());
    return;
  }
  Type Wide = A.SoftmaxType ? A.SoftmaxType : Stored.isF64() ? Stored : N.f32();
  for (Value *X : {&A.Q, &A.K, &A.V})
    *X = N.cast(*X, Wide);
  Value Scores = modified(N, "score_mod", A.scores());
  if (!Scores)
    return;
  Value P =
      modified(N, "prob_mod", N.softmax(Scores, {3}, /*Logarithm=*/false));
  N.result(0, N.cast(A.perGroup(P, A.V), Stored));
}

ArrayRef<Rule> attentionRules() {
  static const Rule Rows[] = {
      {"", "Attention", 23, Newest, importAttention,
       "the size of a head must be known when compiling"},
      {"", "RotaryEmbedding", 23, Newest, importRotaryEmbedding,
       "the size of a head must be known when compiling"},
      {"ai.onnx.preview", "FlexAttention", 1, 1, importFlexAttention,
       "the size of a head must be known when compiling"},
  };
  return Rows;
}

} // namespace kpc::onnx
