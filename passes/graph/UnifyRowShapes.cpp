//===- UnifyRowShapes.cpp - One shape beside reshapes ---------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A group norm is written as a norm of rows, and what follows as of channels:
///
///   %0 = graph.reshape %x : <[n, 320, h, w]> to <[n, 32, "10*h*w"]>
///   %1 = graph.reduce sum, %0 axes [2]
///   …                            // on <[n, 32, "10*h*w"]>
///   %7 = graph.reshape %6 : … to <[n, 320, h, w]>
///   %8 = graph.broadcast %scale : <[320, 1, 1]> to <[n, 320, h, w]>
///   %9 = graph.mul %7, %8
///     →  %0 = graph.reshape %x : … to <[n, 32, 10, "h*w"]>
///        %1 = graph.reduce sum, %0 axes [2, 3]
///        …                       // on <[n, 32, 10, "h*w"]>
///        %7 = graph.reshape %scale : … to <[32, 10, 1]>
///        %8 = graph.broadcast %7 : … to <[n, 32, 10, "h*w"]>
///        %9 = graph.mul %6, %8
///        %10 = graph.reshape %9 : … to <[n, 320, h, w]>
///
/// In the dimensions that both shapes are made of, no reshape is left between:
/// those at the borders are the same memory, and form-regions may make one
/// kernel of all. Neighbours that nothing tells apart, as h and w, are one
/// dimension.
///
/// With `across-transposes`, only norms are written so that read a transpose,
/// as between channels-last convolutions: in these dimensions transposes move
/// through them (sink-transposes), and then the norm computes on [n, h·w, 32,
/// 10].
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RowCluster.h"
#include "passes/graph/RowSpace.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_UNIFYROWSHAPES
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

std::string textOf(ArrayRef<Expr> Sizes) {
  return "[" +
         llvm::join(
             llvm::map_range(Sizes, [](const Expr &E) { return E.str(); }),
             ", ") +
         "]";
}

/// Writes the ops of a cluster anew, in its dimensions.
class ClusterWriter {
public:
  explicit ClusterWriter(const RowCluster &Cluster)
      : Cluster(Cluster), B(Cluster.seed().getContext()) {}

  void run() {
    for (auto &[Op, Place] : Cluster.ops()) {
      B.setInsertionPoint(Op);
      New[Op->getResult(0)] = written(Op, Place);
    }
    // Users come later: those of the cluster are gone when it is an op's turn.
    for (auto &[Op, Place] : llvm::reverse(Cluster.ops()))
      release(Op);
  }

private:
  Value written(Operation *Op, const RowPlace &Place);
  Value refined(Value V, const RowPlace &Place);
  Value repeated(BroadcastOp Op, const RowPlace &Place);
  Value reshaped(Value V, ArrayRef<Expr> Sizes);
  void release(Operation *Op);

  const RowCluster &Cluster;
  OpBuilder B;
  /// What stands for a value, in the cluster's dimensions.
  DenseMap<Value, Value> New;
};

Value ClusterWriter::written(Operation *Op, const RowPlace &Place) {
  SymbolicTensorType Ty = typeOf(Op->getResult(0));
  SmallVector<Expr> Sizes = Cluster.sizesAt(Place, Ty);
  if (auto Reduce = dyn_cast<ReduceOp>(Op)) {
    Value X = refined(Reduce.getX(),
                      RowCluster::whole(typeOf(Reduce.getX()).getDims()));
    auto Axes = llvm::to_vector(
        llvm::seq<int64_t>(Cluster.outerRank(), typeOf(X).getRank()));
    Value Y = ReduceOp::create(B, Op->getLoc(), Reduce.getKind(), X, Axes);
    return reshaped(Y, Sizes);
  }
  SmallVector<Value> Operands;
  for (Value Operand : Op->getOperands())
    Operands.push_back(refined(Operand, Place));
  return B
      .create(Op->getLoc(), Op->getName().getIdentifier(), Operands,
              Ty.withDims(Sizes), Op->getAttrs())
      ->getResult(0);
}

Value behindReshapes(Value V) {
  while (auto Reshape = V.getDefiningOp<ReshapeOp>())
    V = Reshape.getX();
  return V;
}

/// A value in the cluster's dimensions; a view of it where it is none of the
/// cluster's.
Value ClusterWriter::refined(Value V, const RowPlace &Place) {
  Value Source = behindReshapes(V);
  SmallVector<Expr> Sizes = Cluster.sizesAt(Place, typeOf(V));
  if (Value Known = New.lookup(Source))
    return reshaped(Known, Sizes);
  auto Broadcast = V.getDefiningOp<BroadcastOp>();
  return New[Source] =
             Broadcast ? repeated(Broadcast, Place) : reshaped(V, Sizes);
}

Value ClusterWriter::repeated(BroadcastOp Op, const RowPlace &Place) {
  Value Small = Op.getY();
  RowPlace Before = Place;
  while (auto Broadcast = Small.getDefiningOp<BroadcastOp>()) {
    Before = RowCluster::placeBefore(Broadcast, Before);
    Small = Broadcast.getX();
  }
  SmallVector<Expr> Sizes = Cluster.sizesAt(Before, typeOf(Small));
  if (Value Known = New.lookup(behindReshapes(Small)))
    Small = reshaped(Known, Sizes);
  else
    Small = reshaped(Small, ArrayRef(Sizes).drop_while([](const Expr &Size) {
      return Size == Expr(1);
    }));
  SymbolicTensorType To = typeOf(Op.getY());
  return B.createOrFold<BroadcastOp>(
      Op.getLoc(), To.withDims(Cluster.sizesAt(Place, To)), Small);
}

Value ClusterWriter::reshaped(Value V, ArrayRef<Expr> Sizes) {
  if (typeOf(V).getDims() == Sizes)
    return V;
  V = behindReshapes(V);
  return B.createOrFold<ReshapeOp>(V.getLoc(), typeOf(V).withDims(Sizes), V);
}

/// Erases a view that only such views use; whether it was one.
bool eraseIfDead(Operation *View) {
  SmallVector<Operation *> Views{View};
  for (size_t I = 0; I < Views.size(); ++I)
    for (Operation *User : Views[I]->getUsers())
      if (isa<ReshapeOp, BroadcastOp>(User))
        Views.push_back(User);
  bool IsDead = false;
  for (Operation *Op : llvm::reverse(Views))
    if (Op->use_empty()) {
      IsDead = Op == View;
      Op->erase();
    }
  return IsDead;
}

/// What is not of the cluster reads the new value through a reshape, close to
/// where it does so: a kernel that has it as a second result must come before.
void ClusterWriter::release(Operation *Op) {
  Value Old = Op->getResult(0), Y = New.lookup(Old);
  for (OpOperand &Use : llvm::make_early_inc_range(Old.getUses())) {
    Operation *User = Use.getOwner();
    if (isa<ReshapeOp, BroadcastOp>(User) && eraseIfDead(User))
      continue;
    if (isa<ReshapeOp>(User)) {
      Use.set(behindReshapes(Y));
      continue;
    }
    B.setInsertionPoint(Op->getBlock()->findAncestorOpInBlock(*User));
    Use.set(reshaped(Y, typeOf(Old).getDims()));
  }
  Op->erase();
}

struct UnifyRowShapesPass
    : graph::impl::UnifyRowShapesBase<UnifyRowShapesPass> {
  UnifyRowShapesPass() = default;
  UnifyRowShapesPass(const UnifyRowShapesPass &Other)
      : UnifyRowShapesBase(Other) {}

  Option<bool> AcrossTransposes{
      *this, "across-transposes",
      llvm::cl::desc("Only norms that read a transpose through a reshape"),
      llvm::cl::init(false)};
  Option<int64_t> LongerThan{
      *this, "longer-than",
      llvm::cl::desc(
          "Only rows that no kernel keeps which keeps rows of so many "
          "elements; 0: all"),
      llvm::cl::init(0)};

  void runOnOperation() override {
    if (!isGraphFunction(getOperation()))
      return;
    for (Block *Body : blocksOf(getOperation()))
      refine(*Body);
  }

  bool isTaken(ReduceOp Op, const shape::Facts &Facts) const {
    if (LongerThan == 0)
      return true;
    std::optional<RowSpace> Rows = RowSpace::reducedBy(Op);
    return !Rows || !Rows->fitsKernel(LongerThan, Facts);
  }

  void refine(Block &Body) {
    auto Module = getOperation()->getParentOfType<ModuleOp>();
    shape::Facts Facts = symbolFacts(Module);
    DenseSet<Operation *> Taken;
    std::vector<RowCluster> Clusters;
    for (auto Reduce : Body.getOps<ReduceOp>())
      if (std::optional<RowCluster> Found =
              isTaken(Reduce, Facts)
                  ? RowCluster::grow(Reduce, Taken, AcrossTransposes)
                  : std::nullopt) {
        if (!AcrossTransposes)
          report(*Found);
        if (AcrossTransposes ? Found->isNorm() && Found->movesTransposes()
                             : Found->wantsOtherDims())
          Clusters.push_back(std::move(*Found));
      }
    for (const RowCluster &Cluster : Clusters)
      ClusterWriter(Cluster).run();
    if (Clusters.empty())
      return;
    for (Operation &Op : llvm::make_early_inc_range(llvm::reverse(Body)))
      if (isOpTriviallyDead(&Op))
        Op.erase();
  }

  static void report(RowCluster &Found) {
    if (!Found.isNorm())
      return;
    auto Options = remark::RemarkOpts::name("rows").category("recognition");
    ReduceOp Reduce = Found.seed();
    std::string Rows = "Rows of " + textOf(typeOf(Reduce.getX()).getDims());
    for (auto &[Reshape, Why] : Found.refused())
      remark::missed(Reshape->getLoc(), Options)
          << Rows + " are computed without what follows a reshape, because " +
                 Why.str() + ".";
    if (Found.wantsOtherDims())
      remark::passed(Reduce.getLoc(), Options)
          << Rows + " and what goes with them are computed as " +
                 textOf(Found.sizes()) + ".";
  }
};

} // namespace
