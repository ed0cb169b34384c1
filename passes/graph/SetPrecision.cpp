//===- SetPrecision.cpp - Stores f32 values as f16 or bf16 ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   %w = graph.weight …[] : f32     →  %w = graph.weight …[{cast = f16}] : f16
///   %1 = graph.region (%0, %w) {    →  %1 = graph.region (%0, %w) {
///   ^bb0(%a : f32, %b : f32):          ^bb0(%a : f16, %b : f16):
///     %2 = graph.conv %a, %b             %2 = graph.cast %a to f32
///     graph.yield %2 : f32               %3 = graph.cast %b to f32
///   }                                    %4 = graph.conv %2, %3
///                                        %5 = graph.cast %4 to f16
///                                        graph.yield %5 : f16
///                                      }
///
/// In: regions. Out: the same regions, and what lies in memory between them is
/// wide (f32) or narrow. What a kernel computes is f32 before and after, so a
/// value is rounded once, where it is stored, and constants inside kernels not
/// at all.
///
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/graph/FloatTypeNames.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/LeadingDimensions.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RegionFacts.h"
#include "passes/graph/StoredValues.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_SETPRECISION
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Gives `V` and the views of it the type `To`.
void setElementType(Value V, Type To) {
  V.setType(typeOf(V).withElementType(To));
  for (Operation *User : V.getUsers())
    if (auto View = dyn_cast<ReshapeOp>(User))
      setElementType(View.getY(), To);
}

void narrowWeight(WeightOp Weight, Type To) {
  OpBuilder B(Weight);
  SmallVector<Attribute> Recipe(Weight.getRecipe().getValue());
  Recipe.push_back(
      B.getDictionaryAttr(B.getNamedAttr("cast", TypeAttr::get(To))));
  Weight.setRecipeAttr(B.getArrayAttr(Recipe));
  setElementType(Weight, To);
}

/// Views of the result keep their type.
void narrowYielded(OpResult Result, Type To) {
  auto Yield = cast<YieldOp>(
      cast<RegionOp>(Result.getOwner()).getBody().front().getTerminator());
  OpOperand &Yielded = Yield->getOpOperand(Result.getResultNumber());
  OpBuilder B(Yield);
  Yielded.set(CastOp::create(B, Result.getLoc(), Yielded.get(), To));
  Result.setType(typeOf(Result).withElementType(To));
}

void narrowResult(OpResult Result, Type To) {
  narrowYielded(Result, To);
  setElementType(Result, To);
}

/// Widens what a region reads where it is no longer f32.
void widenInputs(RegionOp Region) {
  Block &Body = Region.getBody().front();
  OpBuilder B = OpBuilder::atBlockBegin(&Body);
  for (auto [Argument, Input] :
       llvm::zip_equal(Body.getArguments(), Region.getInputs())) {
    if (Argument.getType() == Input.getType())
      continue;
    Type Wide = typeOf(Argument).getElementType();
    Argument.setType(Input.getType());
    Value Inside = CastOp::create(B, Argument.getLoc(), Argument, Wide);
    Argument.replaceAllUsesExcept(Inside, Inside.getDefiningOp());
  }
}

/// The argument of its region that `V` is, in another order at most.
BlockArgument reorderedArgument(Value V) {
  while (Operation *Def = V.getDefiningOp()) {
    if (!isa<TransposeOp, SliceOp, CastOp>(Def))
      return {};
    V = Def->getOperand(0);
  }
  return cast<BlockArgument>(V);
}

/// The argument of its region that `V` is, bit for bit.
BlockArgument argumentItself(Value V) {
  while (auto Cast = V.getDefiningOp<CastOp>()) {
    OpFoldResult Same = Cast.fold(ArrayRef<Attribute>(Attribute()));
    if (!isa_and_nonnull<Value>(Same))
      return {};
    V = cast<Value>(Same);
  }
  return dyn_cast<BlockArgument>(V);
}

/// Where a caller's tensor has the narrow type already, the kernel that brought
/// it to f32 is a copy. Users read what it copies.
void eraseCopies(func::FuncOp Func) {
  SmallVector<RegionOp> Regions;
  Func.walk([&](RegionOp Region) { Regions.push_back(Region); });
  for (RegionOp Region : Regions) {
    Operation *Yield = Region.getBody().front().getTerminator();
    SmallVector<Value> Copied;
    for (auto [Yielded, Result] :
         llvm::zip_equal(Yield->getOperands(), Region.getResults())) {
      BlockArgument Argument = argumentItself(Yielded);
      if (!Argument || Argument.getType() != Result.getType())
        break;
      Copied.push_back(Region.getInputs()[Argument.getArgNumber()]);
    }
    if (Copied.empty() || Copied.size() != Region.getNumResults())
      continue;
    Region.replaceAllUsesWith(Copied);
    Region.erase();
  }
}

/// A kernel that only changes the type.
Value castInKernel(Value V, Type To, OpBuilder &B) {
  auto Region = RegionOp::create(
      B, V.getLoc(), TypeRange{typeOf(V).withElementType(To)}, "cast", V);
  Block *Body = B.createBlock(&Region.getBody(), {}, V.getType(), V.getLoc());
  Value Cast = CastOp::create(B, V.getLoc(), Body->getArgument(0), To);
  YieldOp::create(B, V.getLoc(), Cast);
  return Region.getResult(0);
}

/// Builders of attention take heads of 16 bits alone. Where its operand or
/// result is the caller's, or was asked to stay wide, a kernel of its own
/// changes the type.
void narrowAttention(AttentionOp Attention, Type To) {
  auto Region = Attention->getParentOfType<RegionOp>();
  if (!Region || !typeOf(Attention.getY()).getElementType().isF32())
    return;
  for (unsigned I = 0; I < 3; ++I) {
    BlockArgument Argument = reorderedArgument(Attention->getOperand(I));
    if (!Argument)
      continue;
    Value Input = Region.getInputs()[Argument.getArgNumber()];
    if (!typeOf(Input).getElementType().isF32())
      continue;
    OpBuilder B(Region);
    Region->setOperand(Argument.getArgNumber(), castInKernel(Input, To, B));
  }
  for (OpResult Result : Region.getResults()) {
    if (!typeOf(Result).getElementType().isF32())
      continue;
    narrowYielded(Result, To);
    OpBuilder B(Region->getContext());
    B.setInsertionPointAfter(Region);
    Value Wide = castInKernel(Result, B.getF32Type(), B);
    Result.replaceAllUsesExcept(Wide, Wide.getDefiningOp());
  }
}

/// Whether a user's operator gives `V`.
bool isCustom(Value V) {
  return V.getDefiningOp() && holdsCustom(V.getDefiningOp());
}

/// Contractions of fewer operations take less time as loops of two types than
/// another kernel takes to start.
constexpr int64_t LeastFlops = 1 << 22;

/// What a region multiplies, as its inputs' numbers.
SmallVector<unsigned> factorsOf(RegionOp Region) {
  SmallVector<unsigned> Factors = gemmInputs(Region);
  for (auto Conv : Region.getBody().front().getOps<ConvOp>())
    if (BlockArgument Image = reorderedArgument(Conv.getX()))
      Factors.push_back(Image.getArgNumber());
  return Factors;
}

bool multipliesInFp32(RegionOp Region, const NodePatterns &Kept) {
  return llvm::any_of(Region.getBody().front(), [&](Operation &Op) {
    return isa<MatmulOp, ConvOp>(Op) && Kept.match(&Op);
  });
}

/// Whether all users multiply `V` in fp32: then it is stored so.
bool isFactorOfFp32(Value V, const NodePatterns &Kept) {
  return !V.use_empty() && llvm::all_of(V.getUses(), [&](OpOperand &Use) {
    if (auto View = dyn_cast<ReshapeOp>(Use.getOwner()))
      return isFactorOfFp32(View.getResult(), Kept);
    auto Region = dyn_cast<RegionOp>(Use.getOwner());
    return Region && multipliesInFp32(Region, Kept) &&
           llvm::is_contained(factorsOf(Region), Use.getOperandNumber());
  });
}

/// Tensor cores take factors of one type. So a kernel of its own narrows what
/// is f32 for contractions whose other factor is narrow, or widens what is
/// narrow for those that were asked to be in fp32.
void joinTypesOfFactors(func::FuncOp Func, Type To, const NodePatterns &Kept,
                        const shape::Facts &Facts) {
  DenseMap<std::pair<Value, Type>, Value> Casts;
  SmallVector<RegionOp> Regions;
  Func.walk([&](RegionOp Region) { Regions.push_back(Region); });
  Type F32 = Float32Type::get(Func.getContext());
  for (RegionOp Region : Regions) {
    bool IsWide = multipliesInFp32(Region, Kept);
    Type Wanted = IsWide ? F32 : To, Other = IsWide ? To : F32;
    // Kernels of few rows multiply codes by 16 bits.
    bool HasTiles =
        !IsWide &&
        !Region.getBody().front().getOps<DequantiseTilesOp>().empty();
    if (!HasTiles && llvm::none_of(Region.getInputs(), [&](Value V) {
          return typeOf(V).getElementType() == Wanted;
        }))
      continue;
    std::optional<Expr> Flops = flopsOf(Region);
    bool IsSmall =
        Flops && Facts.optimum(*Flops).value_or(LeastFlops) < LeastFlops;
    for (unsigned Factor : factorsOf(Region)) {
      OpOperand &Use = Region->getOpOperand(Factor);
      Value V = Use.get(), Root = V;
      while (auto View = Root.getDefiningOp<ReshapeOp>())
        Root = View.getX();
      if (typeOf(V).getElementType() != Other || (IsSmall && !isCustom(Root)))
        continue;
      Value &Cast = Casts[{V, Wanted}];
      if (!Cast) {
        OpBuilder B(Region->getContext());
        B.setInsertionPointAfterValue(V);
        Cast = castInKernel(V, Wanted, B);
      }
      Use.set(Cast);
    }
  }
}

struct SetPrecisionPass : graph::impl::SetPrecisionBase<SetPrecisionPass> {
  using SetPrecisionBase::SetPrecisionBase;

  SmallVector<func::FuncOp> functions() {
    return llvm::filter_to_vector(
        getOperation().getOps<func::FuncOp>(),
        [](func::FuncOp Func) { return Func.getBody().hasOneBlock(); });
  }

  /// A pattern is found in a name of the model's and keeps nothing all the same
  /// where its nodes are folded, or their values are f32 without it.
  void remarkIdlePatterns(const shape::Facts &Facts) {
    auto Narrowed = [&](const NodePatterns &Pattern) {
      SmallVector<Value> All;
      for (func::FuncOp Func : functions())
        All.append(narrowValues(Func, Facts, Pattern, WideShare));
      return All;
    };
    if (Keep.empty())
      return;
    SmallVector<Value> Without = Narrowed(NodePatterns());
    for (const std::string &Text : Keep)
      if (Narrowed(*NodePatterns::read(Text, getOperation())) == Without)
        remark::missed(getOperation().getLoc(),
                       remark::RemarkOpts::name("idle").category("precision"))
            << "'" + Text +
                   "' keeps nothing in fp32 that would be narrower without it.";
  }

  void runOnOperation() override {
    FailureOr<Type> To = floatTypeNamed(Narrow, getOperation());
    FailureOr<NodePatterns> Kept = NodePatterns::read(Keep, getOperation());
    if (failed(To) || failed(Kept))
      return signalPassFailure();
    if (!*To || To->isF32())
      return;
    shape::Facts Facts = symbolFacts(getOperation());
    remarkIdlePatterns(Facts);
    for (func::FuncOp Func : functions()) {
      for (Value V : narrowValues(Func, Facts, *Kept, WideShare))
        if (auto Weight = V.getDefiningOp<WeightOp>())
          narrowWeight(Weight, *To);
        else if (!isFactorOfFp32(V, *Kept))
          narrowResult(cast<OpResult>(V), *To);
      SmallVector<AttentionOp> Attentions;
      Func.walk([&](AttentionOp Op) { Attentions.push_back(Op); });
      for (AttentionOp Op : Attentions)
        narrowAttention(Op, *To);
      joinTypesOfFactors(Func, *To, *Kept, Facts);
      Func.walk([](RegionOp Region) { widenInputs(Region); });
      eraseCopies(Func);
    }
  }
};

} // namespace
