//===- FuseSiblings.cpp - Horizontal fusion of small kernels --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %1 = graph.region "present_key"(%past_key, %k)
///   %2 = graph.region "present_value"(%past_value, %v)
///     →  %1, %2 = graph.region "…"(%past_key, %k, %past_value, %v)
///
///   %1 = graph.region "present"(%past, %k) : … f32
///   %2 = graph.region "cast"(%1)           : … f16
///     →  %1, %2 = graph.region "present+cast"(%past, %k)
///
/// Regions of the same sizes that are equally far from the inputs of the model
/// cannot wait for one another, and neither becomes later by the other. One
/// launch does the work of both. A token of a language model, which waits more
/// for launches than for memory, has such pairs in each layer: what appends to
/// the caches of keys and values.
///
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/ConstantValues.h"
#include "passes/graph/GemmRegion.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RegionRoles.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_FUSESIBLINGS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Results that one kernel may have of several.
constexpr size_t MostTogether = 4;
/// Ops of all of them: registers and arguments of a kernel have an end.
constexpr size_t MostOps = 32;

/// Whether a region may replace some elements of an input in its place: its
/// kernel then leaves the others alone, if all its results are such.
bool mayReplaceInPlace(RegionOp Region) {
  auto Through = [](Value V) {
    auto Cast = V.getDefiningOp<CastOp>();
    return Cast ? Value(Cast.getX()) : V;
  };
  return llvm::any_of(
      Region.getBody().front().getTerminator()->getOperands(), [&](Value V) {
        auto Select = Through(V).getDefiningOp<SelectOp>();
        return Select && (isa<BlockArgument>(Through(Select.getA())) ||
                          isa<BlockArgument>(Through(Select.getB())));
      });
}

/// Whether each element of the region is computed by itself, as it lies. New
/// rows of a cache may be heads in another order, whose elements lie as before.
bool isMap(RegionOp Region) {
  size_t Count = 0;
  Block &Body = Region.getBody().front();
  bool OfCache = mayReplaceInPlace(Region) || !Body.getOps<ConcatOp>().empty();
  for (Operation &Op : Body.without_terminator()) {
    bool Moves =
        isa<ConcatOp, SliceOp, BroadcastOp, ReshapeOp, IotaOp, ConstantOp>(
            Op) ||
        (OfCache && (isOrderOfHeads(&Op) || isa<GatherElementsOp>(Op)));
    if (!(Moves || Op.hasTrait<ElementwiseTrait>()) || ++Count > MostOps)
      return false;
  }
  return true;
}

/// Whether two regions do the same to what they read, with attributes of their
/// own: what is best for one is best for both.
bool areTwins(RegionOp A, RegionOp C) {
  auto OpsOf = [](RegionOp R) {
    return R.getBody().front().without_terminator();
  };
  return A.getResultTypes() == C.getResultTypes() &&
         llvm::equal(OpsOf(A), OpsOf(C), [](Operation &X, Operation &Y) {
           return X.getName() == Y.getName() &&
                  X.getResultTypes() == Y.getResultTypes() &&
                  llvm::equal(X.getOperandTypes(), Y.getOperandTypes());
         });
}

/// The map with room for a result, one of whose results is all that this one
/// reads, at the same place; null where it reads anything else.
RegionOp madeInPlaceOf(RegionOp Reader) {
  if (Reader.getInputs().size() != 1 || Reader.getNumResults() != 1 ||
      !isMap(Reader))
    return {};
  Value Read = Reader.getInputs()[0];
  auto From = Read.getDefiningOp<RegionOp>();
  bool InPlace = llvm::all_of(
      Reader.getBody().front().without_terminator(), [](Operation &Op) {
        return Op.hasTrait<ElementwiseTrait>() || isa<ConstantOp>(Op);
      });
  if (!From || !InPlace || mayReplaceInPlace(From) ||
      From.getNumResults() == MostTogether || !isMap(From) ||
      typeOf(Read).getDims() != typeOf(Reader.getOutputs()[0]).getDims())
    return {};
  return From;
}

struct FuseSiblingsPass : graph::impl::FuseSiblingsBase<FuseSiblingsPass> {
  void runOnOperation() override {
    func::FuncOp Main = getOperation();
    if (!isGraphFunction(Main) || !Main.getBody().hasOneBlock())
      return;
    Block &Body = Main.getBody().front();
    bool Changed = false;
    for (RegionOp Reader : llvm::to_vector(Body.getOps<RegionOp>()))
      if (RegionOp From = madeInPlaceOf(Reader)) {
        absorb(From, Reader);
        Changed = true;
      }
    // Steps of kernels from the model's inputs; constants have none.
    DenseMap<Operation *, unsigned> Level;
    std::map<unsigned, SmallVector<SmallVector<RegionOp>>> Families;
    for (Operation &Op : Body) {
      unsigned Own = 0;
      bool IsOfInputs = false;
      auto Look = [&](Operation *Reader) {
        for (Value Operand : Reader->getOperands()) {
          Operation *Def = Operand.getDefiningOp();
          IsOfInputs |= !Def || Level.contains(Def);
          if (Def)
            Own = std::max(Own, Level.lookup(Def));
        }
      };
      // Loops and branches read what is around them.
      if (isa<RegionOp>(Op))
        Look(&Op);
      else
        Op.walk(Look);
      if (!IsOfInputs)
        continue;
      auto Region = dyn_cast<RegionOp>(Op);
      Level[&Op] = Own + (Op.getNumRegions() ? 1 : 0);
      if (!Region || !isMap(Region))
        continue;
      auto &Here = Families[Own];
      auto *Twins = llvm::find_if(Here, [&](ArrayRef<RegionOp> Some) {
        size_t Results = (Some.size() + 1) * Region.getNumResults();
        return Results <= MostTogether && areTwins(Some.front(), Region);
      });
      if (Twins == Here.end())
        Here.push_back({Region});
      else
        Twins->push_back(Region);
    }
    for (auto &[Own, Here] : Families)
      for (SmallVector<RegionOp> &Twins : Here)
        if (Twins.size() > 1) {
          merge(Twins);
          Changed = true;
        }
    if (Changed && !sortTopologically(&Body))
      return signalPassFailure();
  }

  /// Copies what a region holds; what it yields is left in `Yielded`.
  static void copy(RegionOp From, IRMapping &Map, OpBuilder &B,
                   SmallVectorImpl<Value> &Yielded) {
    Block &Inner = From.getBody().front();
    for (Operation &Op : Inner.without_terminator())
      B.clone(Op, Map);
    for (Value V : Inner.getTerminator()->getOperands())
      Yielded.push_back(Map.lookup(V));
  }

  static void absorb(RegionOp From, RegionOp Reader) {
    OpBuilder B(From);
    SmallVector<Type> Types(From.getResultTypes());
    llvm::append_range(Types, Reader.getResultTypes());
    auto Read = cast<OpResult>(Reader.getInputs()[0]);
    RegionMerger Joiner(B, B.getFusedLoc({From.getLoc(), Reader.getLoc()}),
                        (From.getName() + "+" + Reader.getName()).str(), Types);
    IRMapping Map;
    for (auto [Input, Argument] :
         llvm::zip_equal(From.getInputs(), From.getBody().getArguments()))
      Map.map(Argument, Joiner.argument(Input));
    SmallVector<Value> Yielded;
    copy(From, Map, B, Yielded);
    Map.map(Reader.getBody().getArgument(0), Yielded[Read.getResultNumber()]);
    copy(Reader, Map, B, Yielded);
    YieldOp::create(B, Reader.getLoc(), Yielded);
    RegionOp Both = Joiner.finish();
    remark::passed(Both.getLoc(),
                   remark::RemarkOpts::name("siblings").category("fusion"))
        << "A kernel that reads each element of another's result is part of "
           "that.";
    Reader.getOutputs()[0].replaceAllUsesWith(Both.getOutputs().back());
    From.replaceAllUsesWith(Both.getOutputs().drop_back());
    Reader.erase();
    From.erase();
  }

  static void merge(ArrayRef<RegionOp> Twins) {
    RegionOp Last = Twins.back();
    OpBuilder B(Last);
    SmallVector<Location> Locs;
    SmallVector<Type> Types;
    SmallVector<StringRef> Names;
    for (RegionOp One : Twins) {
      Locs.push_back(One.getLoc());
      Names.push_back(One.getName());
      llvm::append_range(Types, One.getResultTypes());
    }
    RegionMerger Joiner(B, B.getFusedLoc(Locs), llvm::join(Names, "+"), Types);
    SmallVector<Value> Yielded;
    for (RegionOp One : Twins) {
      IRMapping Map;
      for (auto [Input, Argument] :
           llvm::zip_equal(One.getInputs(), One.getBody().getArguments()))
        Map.map(Argument, Joiner.argument(Input));
      copy(One, Map, B, Yielded);
    }
    YieldOp::create(B, Last.getLoc(), Yielded);
    RegionOp Whole = Joiner.finish();
    remark::passed(Whole.getLoc(),
                   remark::RemarkOpts::name("siblings").category("fusion"))
        << std::to_string(Twins.size()) +
               " kernels of the same form and sizes are one launch.";
    size_t Next = 0;
    for (RegionOp One : Twins) {
      for (Value Old : One.getOutputs())
        Old.replaceAllUsesWith(Whole.getOutputs()[Next++]);
      One.erase();
    }
  }
};

} // namespace
