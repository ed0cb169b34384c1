//===- FuseQkv.cpp - Horizontal fusion of GEMMs ---------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %q = graph.matmul %x, %wq : <[r, 768], f32>, <[768, 768], f32>
///   %k = graph.matmul %x, %wk
///   %3 = graph.reshape %q : <[r, 768], f32> to <[b, s, 12, 64], f32>
///     →  %w = graph.concat %wq, %wk axis 1
///        %m = graph.matmul %x, %w : <[r, 768], f32>, <[768, 1536], f32>
///        %h = graph.reshape %m : <[r, 1536], f32> to <[b, s, 24, 64], f32>
///        %3 = graph.slice %h start <[0, 0, 0, 0]> : … to <[b, s, 12, 64], f32>
///
/// Queries, keys and values of one input: x is read once, and tiles fill the
/// chip that one of the products leaves idle. Biases are joined as well. Which
/// heads are whose is a place in one tensor: attention reads it there. The
/// joined weight is constant and is computed when compiling.
///
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/ConstantValues.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_FUSEQKV
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// A product with a constant, what is added to each of its rows, and the
/// reshape to heads behind.
struct ToHeads {
  MatmulOp Product;
  Value Bias; ///< a vector; null where there is none
  ReshapeOp Heads;
  int64_t Columns = 0;
  SmallVector<Expr, 5> Sizes; ///< [batch, sequence, heads, depth]

  static std::optional<ToHeads> read(MatmulOp Product);
  ArrayRef<Expr> dims() const { return Sizes; }
  bool goesWith(const ToHeads &Other) const {
    return dims().size() == Other.dims().size() &&
           dims().drop_back(2) == Other.dims().drop_back(2) &&
           dims().back() == Other.dims().back() && !Bias == !Other.Bias;
  }
};

/// The vector that `Add` adds to all rows of its other operand.
Value addedVector(AddOp Add, Value Other) {
  Value Side = Add.getA() == Other ? Add.getB() : Add.getA();
  auto Broadcast = Side.getDefiningOp<BroadcastOp>();
  if (!Broadcast || typeOf(Broadcast.getX()).getRank() != 1 ||
      typeOf(Broadcast.getX()).getDims()[0] != typeOf(Other).getDims().back() ||
      !isConstant(Broadcast.getX()))
    return {};
  return Broadcast.getX();
}

std::optional<ToHeads> ToHeads::read(MatmulOp Product) {
  SymbolicTensorType Ty = typeOf(Product.getY());
  std::optional<int64_t> Columns = Ty.getStaticDim(Ty.getRank() - 1);
  if (Ty.getRank() != 2 || !Columns || !Product->hasOneUse() ||
      !isConstant(Product.getB()))
    return std::nullopt;
  ToHeads Found{Product, {}, {}, *Columns, {}};
  Value Y = Product.getY();
  if (auto Add = dyn_cast<AddOp>(*Y.user_begin())) {
    Found.Bias = addedVector(Add, Y);
    if (!Found.Bias || !Add->hasOneUse())
      return std::nullopt;
    Y = Add.getY();
  }
  Found.Heads = dyn_cast<ReshapeOp>(*Y.user_begin());
  if (!Found.Heads)
    return std::nullopt;
  llvm::append_range(Found.Sizes, typeOf(Found.Heads.getY()).getDims());
  // Halves of heads, or pairs, for RoPE.
  if (Found.Sizes.size() == 5 &&
      (Found.Sizes[3] == Expr(2) || Found.Sizes[4] == Expr(2))) {
    Expr InHead = Found.Sizes.pop_back_val();
    Found.Sizes.back() = Found.Sizes.back() * InHead;
  }
  if (Found.Sizes.size() != 4)
    return std::nullopt;
  // A sequence of one: its transpose to [batch, heads, 1, depth] is a reshape.
  if (Found.Sizes[2] == Expr(1) &&
      Found.Sizes[1] * Found.Sizes[3] == Expr(*Columns))
    std::swap(Found.Sizes[1], Found.Sizes[2]);
  std::optional<int64_t> Count = Found.Sizes[2].asConstant(),
                         Depth = Found.Sizes[3].asConstant();
  if (!Count || !Depth || *Count * *Depth != *Columns)
    return std::nullopt;
  return Found;
}

/// Which operand of an attention the heads become, 3 for none that is near: an
/// order that does not depend on that of the ops.
unsigned operandOfAttention(Value Heads) {
  constexpr unsigned MostSteps = 64;
  SmallVector<Value> Worklist{Heads};
  unsigned Least = 3;
  for (unsigned Steps = 0; !Worklist.empty() && Steps < MostSteps; ++Steps)
    for (OpOperand &Use : Worklist.pop_back_val().getUses()) {
      if (isa<AttentionOp>(Use.getOwner()))
        Least = std::min(Least, Use.getOperandNumber());
      else if (!isa<MatmulOp>(Use.getOwner()))
        llvm::append_range(Worklist, Use.getOwner()->getResults());
    }
  return Least;
}

void merge(ArrayRef<ToHeads> Parts, OpBuilder &B) {
  SmallVector<Value> Weights, Biases;
  SmallVector<Location> Locs;
  int64_t Columns = 0;
  for (ToHeads Part : Parts) {
    Weights.push_back(Part.Product.getB());
    if (Part.Bias)
      Biases.push_back(Part.Bias);
    Locs.push_back(Part.Product.getLoc());
    Columns += Part.Columns;
  }
  Location Loc = FusedLoc::get(B.getContext(), Locs);
  ToHeads First = Parts.front();
  SymbolicTensorType Ty = typeOf(First.Product.getY());
  Value Weight = ConcatOp::create(B, Loc, Weights, 1);
  Value Y = MatmulOp::create(B, Loc, First.Product.getA(), Weight);
  if (!Biases.empty()) {
    Value Bias = ConcatOp::create(B, Loc, Biases, 0);
    Y = AddOp::create(B, Loc, Y,
                      BroadcastOp::create(B, Loc, Y.getType(), Bias));
  }
  SmallVector<Expr> Dims(First.dims());
  int64_t Depth = *Dims.back().asConstant();
  Dims[2] = Expr(Columns / Depth);
  Value Heads = ReshapeOp::create(B, Loc, Ty.withDims(Dims), Y);
  int64_t Begin = 0;
  for (ToHeads Part : Parts) {
    auto Start =
        DimsAttr::get(B.getContext(), {Expr(0), Expr(0), Expr(Begin), Expr(0)});
    Location Of = Part.Heads.getLoc();
    Value Own = SliceOp::create(B, Of, Ty.withDims(Part.Sizes), Heads, Start,
                                B.getDenseI64ArrayAttr({1, 1, 1, 1}));
    Part.Heads.replaceAllUsesWith(
        B.createOrFold<ReshapeOp>(Of, Part.Heads.getType(), Own));
    Begin += Part.Columns / Depth;
  }
  remark::passed(Loc,
                 remark::RemarkOpts::name("products").category("recognition"))
      << std::to_string(Parts.size()) +
             " GEMMs of one input are fused into one with N = " +
             std::to_string(Columns) + ".";
}

struct FuseQkvPass : graph::impl::FuseQkvBase<FuseQkvPass> {
  void runOnOperation() override {
    if (!isGraphFunction(getOperation()))
      return;
    llvm::MapVector<std::pair<Value, Type>, SmallVector<SmallVector<ToHeads>>>
        ByInput;
    Block &Body = getOperation().getBody().front();
    for (auto Op : Body.getOps<MatmulOp>()) {
      std::optional<ToHeads> Found = ToHeads::read(Op);
      if (!Found)
        continue;
      // Each product may have a view of its own.
      auto View = Op.getA().getDefiningOp<ReshapeOp>();
      auto &Sets =
          ByInput[{View ? View.getX() : Op.getA(), Op.getA().getType()}];
      auto *Fits = llvm::find_if(Sets, [&](ArrayRef<ToHeads> Set) {
        return Found->goesWith(Set.front());
      });
      if (Fits == Sets.end())
        Sets.push_back({*Found});
      else
        Fits->push_back(*Found);
    }
    bool Changed = false;
    for (auto &[Input, Sets] : ByInput)
      for (SmallVector<ToHeads> &Set : Sets)
        if (Set.size() > 1) {
          llvm::stable_sort(Set, [](ToHeads A, ToHeads C) {
            return operandOfAttention(A.Heads.getY()) <
                   operandOfAttention(C.Heads.getY());
          });
          OpBuilder B(Body.getTerminator());
          merge(Set, B);
          Changed = true;
        }
    if (!Changed)
      return;
    sortTopologically(&Body);
    for (Operation &Op : llvm::make_early_inc_range(llvm::reverse(Body)))
      if (isOpTriviallyDead(&Op))
        Op.erase();
  }
};

} // namespace
