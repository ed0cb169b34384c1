//===- RopeGemm.cpp - A GEMM and its RoPE as one region -------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/RopeGemm.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace {

/// What the product's operands are made of, which stays as it is.
bool isInFront(Operation &Op, GemmRegion &Gemm) {
  auto Makes = [&](Value V) { return V.getDefiningOp() == &Op; };
  return llvm::any_of(Gemm.Matmul->getOperands(), Makes) ||
         (Gemm.Tiles && llvm::any_of(Gemm.Tiles->getOperands(), Makes));
}

/// The GEMM's operands as its region reads them; of codes also scales and
/// zero points.
SmallVector<Value> operandsOf(GemmRegion &Gemm) {
  SmallVector<Value> All = {Gemm.Matmul.getA()};
  if (Gemm.Tiles)
    llvm::append_range(All, Gemm.Tiles->getOperands());
  else
    All.push_back(Gemm.Matmul.getB());
  return All;
}

bool hasOneElement(Value V) { return typeOf(V).getNumElements() == Expr(1); }

/// Writes the region.
class RopeGemm {
public:
  RopeGemm(GemmRegion &Gemm, RopeRegion &Rope, const RopeSizes &Sizes)
      : Gemm(Gemm), Rope(Rope), Sizes(Sizes), B(Rope.Region) {}

  RegionOp write();

private:
  using Along = RopeSizes::Along;

  Value seenAs(Value Input, ArrayRef<Expr> Dims);
  void writeGemm();
  void writeRope();
  void writeRopeGemm(Operation &Op);
  void writeBroadcast(BroadcastOp Op);
  Value positions(Location Loc);
  Value onlyRotated(Value Rotated, Value Straight);
  void clone(Operation &Op, ArrayRef<Expr> Dims);
  void cloneNumber(ConstantOp Op, size_t Rank);

  GemmRegion &Gemm;
  RopeRegion &Rope;
  const RopeSizes &Sizes;
  OpBuilder B;
  IRMapping Map;
  Value Positions;
};

/// A view of the input, outside of the region.
Value RopeGemm::seenAs(Value Input, ArrayRef<Expr> Dims) {
  return B.createOrFold<ReshapeOp>(Input.getLoc(), typeOf(Input).withDims(Dims),
                                   Input);
}

RegionOp RopeGemm::write() {
  SmallVector<std::pair<BlockArgument, Value>> Inputs;
  auto Operands = llvm::map_to_vector(operandsOf(Gemm), argumentBehind);
  for (BlockArgument Argument : Gemm.Region.getBody().getArguments()) {
    Value Input = Gemm.input(Argument);
    if (!llvm::is_contained(Operands, Argument))
      Input = seenAs(Input, *Sizes.ofGemm(typeOf(Argument).getDims()));
    Inputs.push_back({Argument, Input});
  }
  for (auto [Argument, Input] : llvm::zip_equal(
           Rope.Region.getBody().getArguments(), Rope.Region.getInputs()))
    if (Argument != Rope.X)
      Inputs.push_back(
          {Argument,
           seenAs(Input, Sizes.ofRope(typeOf(Argument).getDims())->Dims)});
  Type Result = typeOf(Rope.Region.getOutputs()[0]).withDims(Sizes.all());
  RegionMerger Joiner(
      B, B.getFusedLoc({Gemm.Region.getLoc(), Rope.Region.getLoc()}),
      (Gemm.Region.getName() + "+" + Rope.Region.getName()).str(), Result);
  for (auto [Argument, Input] : Inputs)
    Map.map(Argument, Joiner.argument(Input));
  writeGemm();
  Value Straight =
      Map.lookup(Gemm.Region.getBody().front().getTerminator()->getOperand(0));
  writeRope();
  Value Rotated =
      Map.lookup(Rope.Region.getBody().front().getTerminator()->getOperand(0));
  if (!Rope.rotatesAll())
    Rotated = onlyRotated(Rotated, Straight);
  else if (Operation *Rounded = Straight.getDefiningOp();
           Rounded && Rounded->use_empty())
    Rounded->erase();
  YieldOp::create(B, Rope.Region.getLoc(), Rotated);
  return Joiner.finish();
}

void RopeGemm::clone(Operation &Op, ArrayRef<Expr> Dims) {
  Value New = B.clone(Op, Map)->getResult(0);
  New.setType(typeOf(New).withDims(Dims));
}

/// One element, which has as many dimensions as what it meets: of one row it
/// was not repeated.
void RopeGemm::cloneNumber(ConstantOp Op, size_t Rank) {
  SymbolicTensorType Ty = typeOf(Op.getY());
  if (Ty.getRank() == 0)
    Rank = 0;
  auto Of = cast<DenseElementsAttr>(Op.getValue());
  SmallVector<int64_t> Ones(Rank, 1);
  Map.map(Op.getY(),
          ConstantOp::create(
              B, Op.getLoc(), Ty.withDims(SmallVector<Expr>(Rank, Expr(1))),
              Of.reshape(RankedTensorType::get(Ones, Of.getElementType()))));
}

void RopeGemm::writeGemm() {
  for (Operation &Op : Gemm.Region.getBody().front().without_terminator()) {
    Value Result = Op.getResult(0);
    if (auto Number = dyn_cast<ConstantOp>(Op);
        Number && typeOf(Number.getY()).getRank() == 2) {
      cloneNumber(Number, Sizes.all().size());
    } else if (Number || isInFront(Op, Gemm)) {
      B.clone(Op, Map);
    } else if (&Op == Gemm.Matmul) {
      Value Sums = B.clone(Op, Map)->getResult(0);
      Map.map(Result,
              ReshapeOp::create(B, Op.getLoc(),
                                typeOf(Sums).withDims(Sizes.all()), Sums));
    } else {
      clone(Op, *Sizes.ofGemm(typeOf(Result).getDims()));
    }
  }
}

void RopeGemm::writeRope() {
  // What was rounded for memory alone stays as it was computed.
  Value Heads =
      Map.lookup(Gemm.Region.getBody().front().getTerminator()->getOperand(0));
  Map.map(Rope.X, Heads);
  auto Rounded = Heads.getDefiningOp<CastOp>();
  for (Operation &Op : Rope.Region.getBody().front().without_terminator()) {
    auto Widened = dyn_cast<CastOp>(Op);
    if (Widened && Rounded && Widened.getX() == Rope.X &&
        typeOf(Op.getResult(0)).getElementType() ==
            typeOf(Rounded.getX()).getElementType())
      Map.map(Op.getResult(0), Rounded.getX());
    else
      writeRopeGemm(Op);
  }
}

void RopeGemm::writeRopeGemm(Operation &Op) {
  Value Result = Op.getResult(0);
  if (auto Number = dyn_cast<ConstantOp>(Op)) {
    cloneNumber(Number, typeOf(Result).getRank() > 2
                            ? Sizes.all().size()
                            : typeOf(Result).getRank());
  } else if (auto Slice = dyn_cast<SliceOp>(Op)) {
    Value X = Map.lookup(Slice.getX());
    int64_t Pairs = rotatedPairs(Slice);
    if (!Pairs)
      return Map.map(Result, X);
    SmallVector<Expr> Start(Sizes.all().size(), Expr(0));
    SmallVector<int64_t> Step(Start.size(), 1);
    Start[Start.size() - Pairs] = Expr(1);
    Step[Step.size() - Pairs] = -1;
    Map.map(Result, SliceOp::create(B, Op.getLoc(), X.getType(), X,
                                    DimsAttr::get(B.getContext(), Start),
                                    B.getDenseI64ArrayAttr(Step)));
  } else if (auto Broadcast = dyn_cast<BroadcastOp>(Op)) {
    writeBroadcast(Broadcast);
  } else {
    clone(Op, Sizes.ofRope(typeOf(Result).getDims())->Dims);
  }
}

/// From positions to rows, a row has that of its remainder.
void RopeGemm::writeBroadcast(BroadcastOp Op) {
  Value X = Map.lookup(Op.getX());
  auto From = *Sizes.ofRope(typeOf(Op.getX()).getDims()),
       To = *Sizes.ofRope(typeOf(Op.getY()).getDims());
  if (From.Front == Along::Positions && To.Front == Along::Rows)
    X = GatherOp::create(B, Op.getLoc(), X, positions(Op.getLoc()), 0);
  SymbolicTensorType Ty = typeOf(Op.getY()).withDims(To.Dims);
  Map.map(Op.getY(), B.createOrFold<BroadcastOp>(Op.getLoc(), Ty, X));
}

/// The position of each row; no memory has rows beyond 32 bits.
Value RopeGemm::positions(Location Loc) {
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
Value RopeGemm::onlyRotated(Value Rotated, Value Straight) {
  Location Loc = Rope.Region.getLoc();
  Type Number = B.getIntegerType(32, /*isSigned=*/false);
  SymbolicTensorType Ty = typeOf(Rotated);
  auto Heads =
      SymbolicTensorType::get({Expr(Rope.count()), Expr(1), Expr(1)}, Number);
  Value Head = IotaOp::create(B, Loc, Heads, 0);
  auto Compare = [&](Predicate Is, int64_t Limit) -> Value {
    Value One = ConstantOp::create(
        B, Loc, Heads.withDims({}),
        DenseElementsAttr::get(RankedTensorType::get({}, Number),
                               APInt(32, uint64_t(Limit))));
    return CompareOp::create(B, Loc, Is, Head,
                             BroadcastOp::create(B, Loc, Heads, One));
  };
  Value Within = Compare(Predicate::lt, Rope.First + Rope.Rotated);
  if (Rope.First)
    Within = AndOp::create(B, Loc, Within, Compare(Predicate::ge, Rope.First));
  Value All =
      BroadcastOp::create(B, Loc, Ty.withElementType(B.getI1Type()), Within);
  // Whichever it is, it is rounded once.
  auto Rounded = Rotated.getDefiningOp<CastOp>(),
       Other = Straight.getDefiningOp<CastOp>();
  if (!Rounded || !Other || Rounded.getX().getType() != Other.getX().getType())
    return SelectOp::create(B, Loc, All, Rotated, Straight);
  Value Wide = SelectOp::create(B, Loc, All, Rounded.getX(), Other.getX());
  Value Narrow = CastOp::create(B, Loc, Wide, Ty.getElementType());
  for (CastOp Op : {Rounded, Other})
    if (Op->use_empty())
      Op.erase();
  return Narrow;
}

} // namespace

StringRef graph::refusalOfRope(GemmRegion &Gemm, RopeRegion &Rope,
                               const RopeSizes &Sizes) {
  StringRef Behind = "its GEMM has an epilogue of more than a bias",
            Angles = "its angles do not depend on positions alone";
  SmallVector<Value> Operands = operandsOf(Gemm);
  auto Arguments = llvm::map_to_vector(Operands, argumentBehind);
  for (BlockArgument Argument : Gemm.Region.getBody().getArguments())
    if (!llvm::is_contained(Arguments, Argument) &&
        !Sizes.ofGemm(typeOf(Argument).getDims()))
      return Behind;
  for (auto [Operand, Argument] : llvm::zip_equal(Operands, Arguments))
    if (!Operand.hasOneUse() || !Argument.hasOneUse())
      return Behind;
  for (Operation &Op : Gemm.Region.getBody().front().without_terminator())
    if (!isInFront(Op, Gemm) && &Op != Gemm.Matmul &&
        (isa<ConstantOp>(Op)
             ? !hasOneElement(Op.getResult(0))
             : !Sizes.ofGemm(typeOf(Op.getResult(0)).getDims())))
      return Behind;
  for (BlockArgument Argument : Rope.Region.getBody().getArguments())
    if (Argument != Rope.X &&
        (!Sizes.ofRope(typeOf(Argument).getDims()) ||
         Sizes.hasRotatedHeads(typeOf(Argument).getDims())))
      return Angles;
  for (Operation &Op : Rope.Region.getBody().front().without_terminator())
    if (isa<ConstantOp>(Op) ? !hasOneElement(Op.getResult(0))
                            : !Sizes.ofRope(typeOf(Op.getResult(0)).getDims()))
      return Angles;
  return {};
}

RegionOp graph::writeRopeGemm(GemmRegion &Gemm, RopeRegion &Rope,
                              const RopeSizes &Sizes) {
  return RopeGemm(Gemm, Rope, Sizes).write();
}
