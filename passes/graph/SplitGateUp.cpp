//===- SplitGateUp.cpp - One GEMM becomes gate and up ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %m = graph.matmul %x, %w : <[r, 64], f32>, <[64, 256], f32>
///   %g = graph.slice %m, the front columns     → %wg = graph.slice %w, …
///   %u = graph.slice %m, the back columns         %g = graph.matmul %x, %wg
///   %y = silu(%g) · %u                            %wu = graph.slice %w, …
///                                                 %u = graph.matmul %x, %wu
///
/// Models join a gate's two weights to have one product; here they are wanted
/// apart, so that fuse-gated-mlp makes one kernel of both that writes the gated
/// values alone. The halves of the weight are constant and are computed when
/// compiling.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/CodeProducts.h"
#include "passes/graph/ConstantValues.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_SPLITGATEUP
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Elementwise ops behind each half among which both meet.
constexpr unsigned MostSteps = 16;

/// The elementwise ops that are made of `V` at the same place.
DenseSet<Operation *> madeInPlaceOf(Value V) {
  ArrayRef<Expr> Dims = typeOf(V).getDims();
  SmallVector<Value> Worklist{V};
  DenseSet<Operation *> Found;
  while (!Worklist.empty() && Found.size() < MostSteps)
    for (Operation *User : Worklist.pop_back_val().getUsers())
      if (User->hasTrait<ElementwiseTrait>() && User->getNumResults() == 1 &&
          typeOf(User->getResult(0)).getDims() == Dims &&
          Found.insert(User).second)
        Worklist.push_back(User->getResult(0));
  return Found;
}

/// Half the columns of a matrix, from `Start` on.
bool takesColumns(SliceOp Op, int64_t Start, int64_t Count) {
  SymbolicTensorType From = typeOf(Op.getX()), To = typeOf(Op.getY());
  ArrayRef<Expr> Starts = Op.getStart().getDims();
  return From.getDims()[0] == To.getDims()[0] &&
         To.getDims()[1] == Expr(Count) && Starts[0] == Expr(0) &&
         Starts[1] == Expr(Start) && Op.getStep()[0] == 1 &&
         Op.getStep()[1] == 1;
}

struct JoinedGate {
  MatmulOp Product;
  Value Bias; ///< a vector that is added to each row; null where there is none
  SliceOp Front, Back;
  int64_t Columns = 0; ///< of each half

  static std::optional<JoinedGate> read(MatmulOp Product);
  void split();

private:
  bool findBias(Value &Y);
};

/// Goes on from the product to the sum with a constant vector, if there is one.
bool JoinedGate::findBias(Value &Y) {
  if (!Y.hasOneUse())
    return true;
  auto Add = dyn_cast<AddOp>(*Y.user_begin());
  if (!Add)
    return false;
  Value Side = Add.getA() == Y ? Add.getB() : Add.getA();
  auto Broadcast = Side.getDefiningOp<BroadcastOp>();
  if (!Broadcast || typeOf(Broadcast.getX()).getRank() != 1 ||
      typeOf(Broadcast.getX()).getDims()[0] != typeOf(Y).getDims()[1] ||
      !isConstant(Broadcast.getX()))
    return false;
  Bias = Broadcast.getX();
  Y = Add.getY();
  return true;
}

std::optional<JoinedGate> JoinedGate::read(MatmulOp Product) {
  Value Y = Product.getY();
  SymbolicTensorType Ty = typeOf(Y);
  std::optional<int64_t> All =
      Ty.getRank() == 2 ? Ty.getStaticDim(1) : std::nullopt;
  JoinedGate Found{Product, {}, {}, {}, All.value_or(0) / 2};
  // Few rows read the codes of a weight, as long as they are all of it.
  if (!All || *All % 2 || !isConstant(Product.getB()) ||
      isOfCodes(Product.getB()) || !Found.findBias(Y) ||
      llvm::range_size(Y.getUses()) != 2)
    return std::nullopt;
  for (Operation *User : Y.getUsers()) {
    auto Slice = dyn_cast<SliceOp>(User);
    if (Slice && takesColumns(Slice, 0, Found.Columns))
      Found.Front = Slice;
    else if (Slice && takesColumns(Slice, Found.Columns, Found.Columns))
      Found.Back = Slice;
  }
  if (!Found.Front || !Found.Back)
    return std::nullopt;
  DenseSet<Operation *> Behind = madeInPlaceOf(Found.Front);
  if (llvm::none_of(madeInPlaceOf(Found.Back),
                    [&](Operation *Op) { return Behind.contains(Op); }))
    return std::nullopt;
  return Found;
}

void JoinedGate::split() {
  int64_t Start = 0;
  for (SliceOp Half : {Front, Back}) {
    OpBuilder B(Half);
    Location Loc = Half.getLoc();
    auto Part = [&](Value V) -> Value {
      SymbolicTensorType Ty = typeOf(V);
      SmallVector<Expr> Dims(Ty.getDims()), Begin(Dims.size(), Expr(0));
      Dims.back() = Expr(Columns);
      Begin.back() = Expr(Start);
      return SliceOp::create(
          B, Loc, Ty.withDims(Dims), V, DimsAttr::get(B.getContext(), Begin),
          B.getDenseI64ArrayAttr(SmallVector<int64_t>(Dims.size(), 1)));
    };
    Value Y = MatmulOp::create(B, Loc, Product.getA(), Part(Product.getB()));
    if (Bias)
      Y = AddOp::create(B, Loc, Y,
                        BroadcastOp::create(B, Loc, Y.getType(), Part(Bias)));
    Half.replaceAllUsesWith(Y);
    Half.erase();
    Start += Columns;
  }
  remark::passed(Product.getLoc(),
                 remark::RemarkOpts::name("gate").category("recognition"))
      << "A gate-up GEMM is split into two with N = " +
             std::to_string(Columns) + ".";
}

struct SplitGateUpPass : graph::impl::SplitGateUpBase<SplitGateUpPass> {
  void runOnOperation() override {
    if (!isGraphFunction(getOperation()))
      return;
    SmallVector<JoinedGate> All;
    getOperation().walk([&](MatmulOp Op) {
      if (std::optional<JoinedGate> Found = JoinedGate::read(Op))
        All.push_back(*Found);
    });
    for (JoinedGate &Found : All)
      Found.split();
    if (All.empty())
      return;
    Block &Body = getOperation().getBody().front();
    for (Operation &Op : llvm::make_early_inc_range(llvm::reverse(Body)))
      if (isOpTriviallyDead(&Op))
        Op.erase();
  }
};

} // namespace
