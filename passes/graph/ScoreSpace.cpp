//===- ScoreSpace.cpp - Scores of any rank in four dimensions -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/graph/ScoreSpace.h"

using namespace mlir;
using namespace kpc::graph;
using kpc::shape::Expr;

bool kpc::graph::keepsMatrices(ReshapeOp Op) {
  ArrayRef<Expr> From = typeOf(Op.getX()).getDims(),
                 To = typeOf(Op.getY()).getDims();
  return From.size() > 2 && To.size() > 2 &&
         From.take_back(2) == To.take_back(2);
}

static Expr productOf(ArrayRef<Expr> Sizes) {
  Expr Product(1);
  for (const Expr &Size : Sizes)
    Product = Product * Size;
  return Product;
}

static bool isOnes(ArrayRef<Expr> Sizes) {
  return llvm::all_of(Sizes, [](const Expr &S) { return S == Expr(1); });
}

std::optional<ScoreSpace> ScoreSpace::of(OpBuilder &B, ArrayRef<Expr> Widest) {
  ScoreSpace Space(B);
  ArrayRef<Expr> Last = Widest.take_back(2);
  switch (Widest.size()) {
  case 3:
    Space.Sizes = {Widest[0], Expr(1), Last[0], Last[1]};
    return Space;
  case 4:
    llvm::append_range(Space.Sizes, Widest);
    return Space;
  case 5:
    Space.Sizes = {Widest[0], Widest[1] * Widest[2], Last[0], Last[1]};
    Space.Windows = {Widest[1], Widest[2]};
    return Space;
  default:
    return std::nullopt;
  }
}

Value ScoreSpace::reshaped(Value V, ArrayRef<Expr> To) {
  SymbolicTensorType Ty = typeOf(V);
  return B.createOrFold<ReshapeOp>(V.getLoc(), Ty.withDims(To), V);
}

Value ScoreSpace::repeated(Value V, ArrayRef<Expr> To) {
  SymbolicTensorType Ty = typeOf(V);
  if (Ty.getDims() == To)
    return V;
  return BroadcastOp::create(B, V.getLoc(), Ty.withDims(To), V);
}

Value ScoreSpace::spread(Value V) {
  while (auto Op = V.getDefiningOp<ReshapeOp>()) {
    if (typeOf(V).getDims() == ArrayRef<Expr>(Sizes) || !keepsMatrices(Op))
      break;
    V = Op.getX();
  }
  SmallVector<Expr> From(typeOf(V).getDims());
  if (ArrayRef<Expr>(From) == ArrayRef<Expr>(Sizes))
    return V;
  Value Source = V;
  while (auto Op = Source.getDefiningOp<BroadcastOp>())
    Source = Op.getX();
  SmallVector<Expr> Small(typeOf(Source).getDims());
  Small.insert(Small.begin(), From.size() - Small.size(), Expr(1));
  auto Leading = [](SmallVector<Expr> &Of) {
    return MutableArrayRef<Expr>(Of).drop_back(2);
  };
  auto With = [&](ArrayRef<Expr> Front) {
    SmallVector<Expr> To(Front);
    To.append({Small[Small.size() - 2], Small.back()});
    return To;
  };
  bool IsWindowed =
      !Windows.empty() && Small.front() == Expr(1) && From.size() >= 4;
  if (isOnes(Leading(Small))) {
    Source = reshaped(Source, With({Expr(1), Expr(1)}));
  } else if (IsWindowed && From.back() == Sizes.back()) {
    // The same for each image: heads of all windows, of one image.
    SmallVector<Expr> Apart =
        From.size() == 5 ? SmallVector<Expr>{Expr(1), Small[1], Small[2]}
                         : SmallVector<Expr>{Expr(1), Expr(1), Small[1]};
    Source = reshaped(Source, With(Apart));
    Source = repeated(Source, With({Expr(1), Windows[0], Windows[1]}));
    Source = reshaped(Source, With({Expr(1), Sizes[1]}));
  } else {
    Source = reshaped(Source, With(Leading(Small)));
    Source = repeated(Source, With(Leading(From)));
    Source = reshaped(Source, With({Sizes[0], Sizes[1]}));
  }
  return repeated(Source, Sizes);
}

Value ScoreSpace::matrices(Value V) {
  ArrayRef<Expr> From = typeOf(V).getDims();
  if (From.size() < 3 || (From.size() == 4 && Windows.empty()))
    return From.size() < 3 ? Value() : V;
  const Expr &Rows = From[From.size() - 2], &Columns = From.back();
  if (productOf(From.drop_back(2)) == Sizes[0] * Sizes[1])
    return reshaped(V, {Sizes[0], Sizes[1], Rows, Columns});
  if (From.size() == 3)
    return reshaped(V, {From[0], Expr(1), Rows, Columns});
  // Groups of heads that share one: [batch, groups, 1, keys, depth].
  if (From.size() == 5 && !Windows.empty() && From[0] == Sizes[0] &&
      From[1] == Windows[0] && From[2] == Expr(1))
    return reshaped(V, {From[0], From[1], Rows, Columns});
  return {};
}
