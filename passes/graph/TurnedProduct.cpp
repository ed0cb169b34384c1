//===- TurnedProduct.cpp - A product and its rotary embedding in one ------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/TurnedProduct.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace {

/// What the product's operands are made of, which stays as it is.
bool isInFront(Operation &Op, ProductRegion &Product) {
  return &Op == Product.Product.getA().getDefiningOp() ||
         &Op == Product.Product.getB().getDefiningOp();
}

bool hasOneElement(Value V) { return typeOf(V).getNumElements() == Expr(1); }

/// Writes the region.
class TurnedProduct {
public:
  TurnedProduct(ProductRegion &Product, RotaryRegion &Rotary,
                const TurnedSizes &Sizes)
      : Product(Product), Rotary(Rotary), Sizes(Sizes), B(Rotary.Region) {}

  RegionOp write();

private:
  using Along = TurnedSizes::Along;

  Value seenAs(Value Input, ArrayRef<Expr> Dims);
  void writeProduct();
  void writeRotary();
  void writeTurned(Operation &Op);
  void writeBroadcast(BroadcastOp Op);
  Value positions(Location Loc);
  Value onlyTurned(Value Turned, Value Straight);
  void clone(Operation &Op, ArrayRef<Expr> Dims);

  ProductRegion &Product;
  RotaryRegion &Rotary;
  const TurnedSizes &Sizes;
  OpBuilder B;
  IRMapping Map;
  Value Positions;
};

/// A view of the input, outside of the region.
Value TurnedProduct::seenAs(Value Input, ArrayRef<Expr> Dims) {
  return B.createOrFold<ReshapeOp>(Input.getLoc(), typeOf(Input).withDims(Dims),
                                   Input);
}

RegionOp TurnedProduct::write() {
  SmallVector<std::pair<BlockArgument, Value>> Inputs;
  for (BlockArgument Argument : Product.Region.getBody().getArguments()) {
    Value Input = Product.input(Argument);
    if (Argument != Product.A && Argument != Product.B)
      Input = seenAs(Input, *Sizes.ofProduct(typeOf(Argument).getDims()));
    Inputs.push_back({Argument, Input});
  }
  for (auto [Argument, Input] : llvm::zip_equal(
           Rotary.Region.getBody().getArguments(), Rotary.Region.getInputs()))
    if (Argument != Rotary.X)
      Inputs.push_back(
          {Argument,
           seenAs(Input, Sizes.ofRotary(typeOf(Argument).getDims())->Dims)});
  Type Result = typeOf(Rotary.Region.getOutputs()[0]).withDims(Sizes.all());
  RegionJoiner Joiner(
      B, B.getFusedLoc({Product.Region.getLoc(), Rotary.Region.getLoc()}),
      (Product.Region.getName() + "+" + Rotary.Region.getName()).str(), Result);
  for (auto [Argument, Input] : Inputs)
    Map.map(Argument, Joiner.argument(Input));
  writeProduct();
  Value Straight = Map.lookup(
      Product.Region.getBody().front().getTerminator()->getOperand(0));
  writeRotary();
  Value Turned = Map.lookup(
      Rotary.Region.getBody().front().getTerminator()->getOperand(0));
  if (!Rotary.turnsAll())
    Turned = onlyTurned(Turned, Straight);
  else if (Operation *Rounded = Straight.getDefiningOp();
           Rounded && Rounded->use_empty())
    Rounded->erase();
  YieldOp::create(B, Rotary.Region.getLoc(), Turned);
  return Joiner.finish();
}

void TurnedProduct::clone(Operation &Op, ArrayRef<Expr> Dims) {
  Value New = B.clone(Op, Map)->getResult(0);
  New.setType(typeOf(New).withDims(Dims));
}

void TurnedProduct::writeProduct() {
  for (Operation &Op : Product.Region.getBody().front().without_terminator()) {
    Value Result = Op.getResult(0);
    if (isa<ConstantOp>(Op) || isInFront(Op, Product)) {
      B.clone(Op, Map);
    } else if (&Op == Product.Product) {
      Value Sums = B.clone(Op, Map)->getResult(0);
      Map.map(Result,
              ReshapeOp::create(B, Op.getLoc(),
                                typeOf(Sums).withDims(Sizes.all()), Sums));
    } else {
      clone(Op, *Sizes.ofProduct(typeOf(Result).getDims()));
    }
  }
}

void TurnedProduct::writeRotary() {
  // What was rounded for memory alone stays as it was computed.
  Value Heads = Map.lookup(
      Product.Region.getBody().front().getTerminator()->getOperand(0));
  Map.map(Rotary.X, Heads);
  auto Rounded = Heads.getDefiningOp<CastOp>();
  for (Operation &Op : Rotary.Region.getBody().front().without_terminator()) {
    auto Widened = dyn_cast<CastOp>(Op);
    if (Widened && Rounded && Widened.getX() == Rotary.X &&
        typeOf(Op.getResult(0)).getElementType() ==
            typeOf(Rounded.getX()).getElementType())
      Map.map(Op.getResult(0), Rounded.getX());
    else
      writeTurned(Op);
  }
}

void TurnedProduct::writeTurned(Operation &Op) {
  Value Result = Op.getResult(0);
  if (isa<ConstantOp>(Op)) {
    B.clone(Op, Map);
  } else if (auto Slice = dyn_cast<SliceOp>(Op)) {
    Value X = Map.lookup(Slice.getX());
    if (!exchangesHalves(Slice))
      return Map.map(Result, X);
    SmallVector<Expr> Start(Sizes.all().size(), Expr(0));
    SmallVector<int64_t> Step(Start.size(), 1);
    Start[Start.size() - 2] = Expr(1);
    Step[Step.size() - 2] = -1;
    Map.map(Result, SliceOp::create(B, Op.getLoc(), X.getType(), X,
                                    DimsAttr::get(B.getContext(), Start),
                                    B.getDenseI64ArrayAttr(Step)));
  } else if (auto Broadcast = dyn_cast<BroadcastOp>(Op)) {
    writeBroadcast(Broadcast);
  } else {
    clone(Op, Sizes.ofRotary(typeOf(Result).getDims())->Dims);
  }
}

/// From positions to rows, a row has that of its remainder.
void TurnedProduct::writeBroadcast(BroadcastOp Op) {
  Value X = Map.lookup(Op.getX());
  auto From = *Sizes.ofRotary(typeOf(Op.getX()).getDims()),
       To = *Sizes.ofRotary(typeOf(Op.getY()).getDims());
  if (From.Front == Along::Positions && To.Front == Along::Rows)
    X = GatherOp::create(B, Op.getLoc(), X, positions(Op.getLoc()), 0);
  SymbolicTensorType Ty = typeOf(Op.getY()).withDims(To.Dims);
  Map.map(Op.getY(), B.createOrFold<BroadcastOp>(Op.getLoc(), Ty, X));
}

/// The position of each row; no memory has rows beyond 32 bits.
Value TurnedProduct::positions(Location Loc) {
  if (Positions)
    return Positions;
  Type Number = B.getIntegerType(32, /*isSigned=*/false);
  auto Ty = SymbolicTensorType::get({Sizes.rows()}, Number);
  Value Row = IotaOp::create(B, Loc, Ty, 0);
  Value Count = SizesOp::create(
      B, Loc, DimsAttr::get(B.getContext(), {Sizes.positions()}));
  Count = CastOp::create(B, Loc, Count, Number);
  return Positions =
             ModOp::create(B, Loc, Row, BroadcastOp::create(B, Loc, Ty, Count));
}

/// Of the heads that are not turned, what they were.
Value TurnedProduct::onlyTurned(Value Turned, Value Straight) {
  Location Loc = Rotary.Region.getLoc();
  Type Number = B.getIntegerType(32, /*isSigned=*/false);
  SymbolicTensorType Ty = typeOf(Turned);
  auto Heads =
      SymbolicTensorType::get({Expr(Rotary.count()), Expr(1), Expr(1)}, Number);
  Value Head = IotaOp::create(B, Loc, Heads, 0);
  auto Compare = [&](Predicate Is, int64_t Limit) -> Value {
    Value One = ConstantOp::create(
        B, Loc, Heads.withDims({}),
        DenseElementsAttr::get(RankedTensorType::get({}, Number),
                               APInt(32, uint64_t(Limit))));
    return CompareOp::create(B, Loc, Is, Head,
                             BroadcastOp::create(B, Loc, Heads, One));
  };
  Value Within = Compare(Predicate::lt, Rotary.First + Rotary.Turned);
  if (Rotary.First)
    Within =
        AndOp::create(B, Loc, Within, Compare(Predicate::ge, Rotary.First));
  Value All =
      BroadcastOp::create(B, Loc, Ty.withElementType(B.getI1Type()), Within);
  // Whichever it is, it is rounded once.
  auto Rounded = Turned.getDefiningOp<CastOp>(),
       Other = Straight.getDefiningOp<CastOp>();
  if (!Rounded || !Other || Rounded.getX().getType() != Other.getX().getType())
    return SelectOp::create(B, Loc, All, Turned, Straight);
  Value Wide = SelectOp::create(B, Loc, All, Rounded.getX(), Other.getX());
  Value Narrow = CastOp::create(B, Loc, Wide, Ty.getElementType());
  for (CastOp Op : {Rounded, Other})
    if (Op->use_empty())
      Op.erase();
  return Narrow;
}

} // namespace

StringRef graph::refusalOfTurned(ProductRegion &Product, RotaryRegion &Rotary,
                                 const TurnedSizes &Sizes) {
  StringRef Behind = "its product ends in more than a bias",
            Angles = "its angles are not those of positions";
  for (BlockArgument Argument : Product.Region.getBody().getArguments())
    if (Argument != Product.A && Argument != Product.B &&
        !Sizes.ofProduct(typeOf(Argument).getDims()))
      return Behind;
  for (Value Operand : Product.Product->getOperands())
    if (!Operand.hasOneUse() || !argumentBehind(Operand).hasOneUse())
      return Behind;
  for (Operation &Op : Product.Region.getBody().front().without_terminator())
    if (!isInFront(Op, Product) && &Op != Product.Product &&
        (isa<ConstantOp>(Op)
             ? !hasOneElement(Op.getResult(0))
             : !Sizes.ofProduct(typeOf(Op.getResult(0)).getDims())))
      return Behind;
  for (BlockArgument Argument : Rotary.Region.getBody().getArguments())
    if (Argument != Rotary.X &&
        (!Sizes.ofRotary(typeOf(Argument).getDims()) ||
         Sizes.hasTurnedHeads(typeOf(Argument).getDims())))
      return Angles;
  for (Operation &Op : Rotary.Region.getBody().front().without_terminator())
    if (isa<ConstantOp>(Op)
            ? !hasOneElement(Op.getResult(0))
            : !Sizes.ofRotary(typeOf(Op.getResult(0)).getDims()))
      return Angles;
  return {};
}

RegionOp graph::writeTurned(ProductRegion &Product, RotaryRegion &Rotary,
                            const TurnedSizes &Sizes) {
  return TurnedProduct(Product, Rotary, Sizes).write();
}
