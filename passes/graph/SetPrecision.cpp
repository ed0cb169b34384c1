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
#include "passes/graph/InputCosts.h"
#include "passes/graph/LeadingDimensions.h"
#include "passes/graph/Passes.h"
#include "passes/graph/RegionFacts.h"
#include "passes/graph/StoredValues.h"
#include "passes/graph/TargetNames.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

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

/// Whether `V` keeps its type because somebody else's code has it: the caller's
/// tensors, and what a user's operator gives.
bool isForeign(Value V) {
  auto Argument = dyn_cast<BlockArgument>(V);
  return isCustom(V) ||
         (Argument && isa<func::FuncOp>(Argument.getOwner()->getParentOp()));
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

/// Tensor cores take factors of one type. So kernels of their own narrow what
/// is f32 for contractions whose other factor is narrow, and widen what is
/// narrow for those that were asked to be in fp32.
class FactorCasts {
public:
  FactorCasts(Type To, const shape::Facts &Facts, const ExactValues &Exact,
              const NodePatterns &Kept,
              ArrayRef<const target::Target *> Targets)
      : To(To), Facts(Facts), Exact(Exact), Kept(Kept), Targets(Targets) {}

  void run(func::FuncOp Func) {
    SmallVector<RegionOp> Regions;
    Func.walk([&](RegionOp Region) { Regions.push_back(Region); });
    Type F32 = Float32Type::get(Func.getContext());
    for (RegionOp Region : Regions) {
      Block &Body = Region.getBody().front();
      if (llvm::any_of(Body,
                       [&](Operation &Op) { return Exact.isExactSum(&Op); }))
        continue;
      bool IsWide = multipliesInFp32(Region, Kept);
      // Kernels of few rows multiply codes by 16 bits.
      bool HasTiles = !IsWide && !Body.getOps<DequantiseTilesOp>().empty();
      Type Wanted = IsWide ? F32 : To;
      if (HasTiles || llvm::any_of(Region.getInputs(), [&](Value V) {
            return typeOf(V).getElementType() == Wanted;
          }))
        castOther(Region, IsWide ? To : F32, Wanted);
      else if (!IsWide)
        narrowBoth(Region);
    }
  }

private:
  static Value rootOf(Value V) {
    while (auto View = V.getDefiningOp<ReshapeOp>())
      V = View.getX();
    return V;
  }

  void castFactor(OpOperand &Use, Type Wanted) {
    Value &Cast = Casts[{Use.get(), Wanted}];
    if (!Cast) {
      OpBuilder B(Use.getOwner()->getContext());
      B.setInsertionPointAfterValue(Use.get());
      Cast = castInKernel(Use.get(), Wanted, B);
    }
    Use.set(Cast);
  }

  /// Factors of another type than the one that is wanted.
  void castOther(RegionOp Region, Type Other, Type Wanted) {
    std::optional<Expr> Flops = flopsOf(Region);
    bool IsSmall =
        Flops && Facts.optimum(*Flops).value_or(LeastFlops) < LeastFlops;
    for (unsigned Factor : factorsOf(Region)) {
      OpOperand &Use = Region->getOpOperand(Factor);
      if (typeOf(Use.get()).getElementType() == Other &&
          (!IsSmall || isCustom(rootOf(Use.get()))))
        castFactor(Use, Wanted);
    }
  }

  /// The factors of a GEMM that are both the caller's, where that is faster.
  void narrowBoth(RegionOp Region) {
    Block &Body = Region.getBody().front();
    auto Gemms = llvm::to_vector<2>(Body.getOps<MatmulOp>());
    SmallVector<unsigned> Factors = gemmInputs(Region);
    if (Targets.empty() || Gemms.size() != 1 || Factors.size() != 2 ||
        llvm::any_of(Body, [&](Operation &Op) { return Kept.match(&Op); }))
      return;
    SetVector<Value> Wide;
    SmallVector<Expr> Sizes;
    for (unsigned Factor : Factors) {
      Value V = Region.getInputs()[Factor];
      if (!isForeign(rootOf(V)) || !typeOf(V).getElementType().isF32())
        return;
      if (!Casts.contains({V, To}) && Wide.insert(V))
        Sizes.push_back(typeOf(V).getNumElements());
    }
    std::optional<InputCosts> Costs =
        costsOfInputs(Gemms.front(), Sizes, Facts, Targets);
    if (!Costs)
      return;
    // Microseconds; less is within what cost models are off by.
    constexpr double LeastGain = 1;
    bool Pays = Costs->Narrow + LeastGain <= Costs->Wide;
    auto Named = remark::RemarkOpts::name("inputs").category("precision");
    auto Say = [&](auto Remark) {
      Remark << (Pays ? "Kernels of their own bring both inputs to 16 bits: "
                      : "Both inputs stay f32: ") +
                    llvm::formatv("{0:f1} us with these kernels, {1:f1} "
                                  "without, by the cost model.",
                                  Costs->Narrow, Costs->Wide)
                        .str();
    };
    if (!Pays)
      return Say(remark::missed(Region.getLoc(), Named));
    Say(remark::passed(Region.getLoc(), Named));
    for (unsigned Factor : Factors)
      castFactor(Region->getOpOperand(Factor), To);
  }

  Type To;
  const shape::Facts &Facts;
  const ExactValues &Exact;
  const NodePatterns &Kept;
  ArrayRef<const target::Target *> Targets;
  DenseMap<std::pair<Value, Type>, Value> Casts;
};

struct SetPrecisionPass : graph::impl::SetPrecisionBase<SetPrecisionPass> {
  using SetPrecisionBase::SetPrecisionBase;

  SmallVector<func::FuncOp> functions() {
    return llvm::filter_to_vector(
        getOperation().getOps<func::FuncOp>(),
        [](func::FuncOp Func) { return Func.getBody().hasOneBlock(); });
  }

  /// Says what would be narrow if no absolute error counted.
  void remarkExact(func::FuncOp Func, const shape::Facts &Facts,
                   const NodePatterns &Kept, const ExactValues &Exact) {
    for (Value V :
         narrowValues(Func, Facts, Kept, WideShare, /*Exact=*/nullptr))
      if (Operation *Reason = Exact.reasonOf(V)) {
        StringRef Node = nodeName(Reason);
        std::string Reader =
            (Node.empty() ? Reason->getName().getStringRef() : Node).str();
        remark::passed(V.getLoc(),
                       remark::RemarkOpts::name("exact").category("precision"))
            << "Is stored in fp32: '" + Reader +
                   "' reads what is made of it to an absolute precision.";
      }
  }

  /// A pattern is found in a name of the model's and keeps nothing all the same
  /// where its nodes are folded, or their values are f32 without it.
  void remarkIdlePatterns(const shape::Facts &Facts) {
    auto Narrowed = [&](const NodePatterns &Pattern) {
      SmallVector<Value> All;
      for (func::FuncOp Func : functions()) {
        ExactValues Exact(Func);
        All.append(narrowValues(Func, Facts, Pattern, WideShare, &Exact));
      }
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
    auto All = targetsNamed(Targets, getOperation());
    if (failed(To) || failed(Kept) || failed(All))
      return signalPassFailure();
    if (!*To || To->isF32())
      return;
    shape::Facts Facts = symbolFacts(getOperation());
    remarkIdlePatterns(Facts);
    for (func::FuncOp Func : functions()) {
      ExactValues Exact(Func);
      remarkExact(Func, Facts, *Kept, Exact);
      for (Value V : narrowValues(Func, Facts, *Kept, WideShare, &Exact))
        if (auto Weight = V.getDefiningOp<WeightOp>())
          narrowWeight(Weight, *To);
        else if (!isFactorOfFp32(V, *Kept))
          narrowResult(cast<OpResult>(V), *To);
      SmallVector<AttentionOp> Attentions;
      Func.walk([&](AttentionOp Op) { Attentions.push_back(Op); });
      for (AttentionOp Op : Attentions)
        narrowAttention(Op, *To);
      FactorCasts(*To, Facts, Exact, *Kept, *All).run(Func);
      Func.walk([](RegionOp Region) { widenInputs(Region); });
      eraseCopies(Func);
    }
  }
};

} // namespace
