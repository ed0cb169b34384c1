//===- StoredValues.cpp - Which values a precision narrows ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Rounding a value to 16 bits changes each of its elements by the same share
/// whatever its size is: to first order each stored value adds as much to the
/// error of the result. What it saves is its bytes, and, of what a matrix
/// product or a convolution reads and writes, the time: tensor cores take
/// operands of 16 bits, both of one type. So what heavy contractions touch is
/// narrow, however small. Of the rest the small ones stay f32, smallest first,
/// up to a fixed share of all bytes, of weights and of other values each:
/// biases, scales, gates, pooled features, the filters of depthwise layers.
///
/// That is of relative errors. Values of which an absolute error counts stay
/// f32 in any case (ExactValues.h).
///
//===----------------------------------------------------------------------===//

#include "passes/graph/StoredValues.h"
#include "passes/graph/CodeProducts.h"
#include "passes/graph/GraphFunction.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

bool graph::isSensitive(Operation *Op) {
  if (auto Window = dyn_cast<WindowOp>(Op))
    return Window.getKind() == ReduceKind::sum;
  return isa<ReduceOp, ExpOp, Expm1Op, LogOp, Log1pOp, PowOp, SqrtOp, RsqrtOp,
             ReciprocalOp, CumSumOp>(Op);
}

namespace {

/// The value whose memory `V` is.
Value rootOf(Value V) {
  while (auto View = V.getDefiningOp<ReshapeOp>())
    V = View.getX();
  return V;
}

/// Visits each use of a value and of its views that is no view.
void forEachUse(Value V, function_ref<void(OpOperand &)> Visit) {
  for (OpOperand &Use : V.getUses())
    if (auto View = dyn_cast<ReshapeOp>(Use.getOwner()))
      forEachUse(View.getY(), Visit);
    else
      Visit(Use);
}

/// The value that a kernel reads as an operand, seen through what only moves
/// its elements; null if the kernel computes it.
Value rootOfOperand(RegionOp Region, Value V) {
  while (isa_and_present<BroadcastOp, ReshapeOp, SliceOp, TransposeOp>(
      V.getDefiningOp()))
    V = V.getDefiningOp()->getOperand(0);
  auto Argument = dyn_cast<BlockArgument>(V);
  return Argument ? rootOf(Region.getInputs()[Argument.getArgNumber()])
                  : Value();
}

BlockArgument argumentOf(OpOperand &Use) {
  auto Region = cast<RegionOp>(Use.getOwner());
  return Region.getBody().getArgument(Use.getOperandNumber());
}

/// Whether the use is one of an attention's heads: what is added to its scores
/// is not multiplied.
bool isOfHeads(OpOperand &Use) {
  return isa<AttentionOp>(Use.getOwner()) && Use.getOperandNumber() < 3;
}

/// Whether each row of a GEMM's result is multiplied by a number of its own: a
/// norm's, with which the result is no wider than that of the norm.
bool scalesRowsOfGemm(Operation *Op) {
  auto Mul = dyn_cast<MulOp>(Op);
  if (!Mul)
    return false;
  auto Factor = Mul.getB().getDefiningOp<BroadcastOp>();
  return Mul.getA().getDefiningOp<MatmulOp>() && Factor &&
         typeOf(Factor.getX()).getRank() == 2 &&
         typeOf(Factor.getX()).getDims().back() == Expr(1);
}

bool isReadByContractionsAlone(Value V) {
  return llvm::all_of(V.getUses(), [](OpOperand &Use) {
    Operation *User = Use.getOwner();
    if (isa<BroadcastOp, ReshapeOp, SliceOp, TransposeOp>(User))
      return isReadByContractionsAlone(User->getResult(0));
    return isOfHeads(Use) || isa<MatmulOp, ConvOp>(User);
  });
}

/// A constant that f16 has no number for: what hides a score.
bool isHuge(Operation *Op) {
  constexpr double MostOfF16 = 65504;
  std::optional<double> Number =
      isa<ConstantOp>(Op) ? splatValue(Op->getResult(0)) : std::nullopt;
  return Number && std::isfinite(*Number) && std::abs(*Number) > MostOfF16;
}

/// Ops each of whose result's elements is one of an operand's, or zero: narrow
/// operands give a result that is narrow already.
bool choosesElements(Operation *Op) {
  if (auto Reduce = dyn_cast<ReduceOp>(Op))
    return Reduce.getKind() == ReduceKind::max ||
           Reduce.getKind() == ReduceKind::min;
  if (auto Window = dyn_cast<WindowOp>(Op))
    return Window.getKind() == ReduceKind::max ||
           Window.getKind() == ReduceKind::min;
  return isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp, ConcatOp, GatherOp,
             GatherElementsOp, GatherNdOp, ReluOp, MinOp, MaxOp, YieldOp>(Op);
}

/// Whether a kernel's results are elements of what kernels have stored, which
/// says how wide they are.
bool choosesStored(RegionOp Region) {
  return llvm::all_of(Region.getBody().front(),
                      [](Operation &Op) { return choosesElements(&Op); }) &&
         llvm::none_of(Region.getInputs(), [](Value V) {
           return isa<BlockArgument>(rootOf(V)) &&
                  typeOf(V).getElementType().isF32();
         });
}

/// Whether codes of 8 bits for a product are made of `V`, element by element,
/// in the same kernel.
bool becomesCodes(Value V) {
  constexpr unsigned MostSteps = 16;
  SmallVector<Value> Worklist{V};
  for (unsigned Steps = 0; !Worklist.empty() && Steps < MostSteps; ++Steps)
    for (Operation *User : Worklist.pop_back_val().getUsers()) {
      if (!isa<MulOp, AddOp, MinOp, MaxOp, RoundOp, CastOp>(User))
        continue;
      if (isCode(typeOf(User->getResult(0)).getElementType()))
        return true;
      Worklist.push_back(User->getResult(0));
    }
  return false;
}

/// A contraction is heavy from this share of what contractions do on average:
/// less, and its time is nothing to the model's.
constexpr double LeastShare = 1.0 / 16;
/// Multiply-adds that take about 10 us as loops, which no model notices.
constexpr double LeastWork = 1 << 21;

/// The contractions that take the time, which tensor cores save.
class HeavyContractions {
public:
  HeavyContractions(func::FuncOp Func, const shape::Facts &Facts);
  bool contains(Operation *Op) const { return Root.contains(Op); }
  /// Whether `V`, as it is, is an operand of one.
  bool read(Value V) const;
  static double workOf(Operation *Op, const shape::Facts &Facts);

private:
  DenseSet<Operation *> Root;
};

/// Multiply-adds, at the sizes that schedules are chosen for; 0 for what tensor
/// cores do not do: other ops, and convolutions that sum each channel by
/// itself.
double HeavyContractions::workOf(Operation *Op, const shape::Facts &Facts) {
  constexpr double Unknown = 1e12;
  shape::Expr Sum = 1;
  if (auto Conv = dyn_cast<ConvOp>(Op)) {
    ArrayRef<shape::Expr> Filter = typeOf(Conv.getW()).getDims();
    if (Filter[Filter.size() - 2] == shape::Expr(1))
      return 0;
    for (const shape::Expr &Size : Filter.drop_back())
      Sum = Sum * Size;
  } else if (auto Matmul = dyn_cast<MatmulOp>(Op)) {
    Sum = typeOf(Matmul.getA()).getDims().back();
  } else {
    return 0;
  }
  std::optional<int64_t> Results = Facts.optimum(
                             typeOf(Op->getResult(0)).getNumElements()),
                         Terms = Facts.optimum(Sum);
  return Results && Terms ? double(*Results) * double(*Terms) : Unknown;
}

HeavyContractions::HeavyContractions(func::FuncOp Func,
                                     const shape::Facts &Facts) {
  SmallVector<std::pair<Operation *, double>> All;
  double Work = 0;
  Func.walk([&](Operation *Op) {
    if (double One = workOf(Op, Facts); One > 0) {
      All.push_back({Op, One});
      Work += One;
    }
  });
  for (auto [Op, One] : All)
    if (One >= LeastShare * Work / double(All.size()))
      Root.insert(Op);
}

bool HeavyContractions::read(Value V) const {
  return llvm::any_of(V.getUses(), [&](OpOperand &Use) {
    Operation *User = Use.getOwner();
    if (isa<BroadcastOp, ReshapeOp, SliceOp, TransposeOp>(User))
      return read(User->getResult(0));
    return contains(User) || isOfHeads(Use);
  });
}

class StorageChoice {
public:
  StorageChoice(func::FuncOp Func, const shape::Facts &Facts,
                const NodePatterns &Kept, unsigned WideShare,
                const ExactValues *Exact)
      : Func(Func), Facts(Facts), Kept(Kept), WideShare(WideShare),
        Exact(Exact), Contractions(Func, Facts) {}

  SmallVector<Value> run();

private:
  bool holdsKept(Operation *Op);
  bool staysWide(Value V);
  void findWideResults(RegionOp Region);
  bool isForTensorCores(Value V);
  void sortOut(Value V);
  DenseSet<Value> valuesToNarrow() const;
  void narrowBesideWeights();
  void narrowBesideValues();
  bool takeFromBudget(Value V);
  int64_t &budgetOf(Value V) {
    return V.getDefiningOp<WeightOp>() ? WeightBudget : ValueBudget;
  }
  int64_t elements(Value V) const;

  func::FuncOp Func;
  const shape::Facts &Facts;
  const NodePatterns &Kept;
  unsigned WideShare;
  const ExactValues *Exact;
  HeavyContractions Contractions;
  /// f32 because of what they are, and so are elementwise ops that use them.
  DenseSet<Value> Sensitive;
  /// Sums of codes, which are beyond f16 whatever reads them.
  DenseSet<Value> Raw;
  /// May be narrow. Those that only choose elements follow their operands.
  SmallVector<Value> Candidates, Followers;
  /// Are narrow in any case.
  SmallVector<Value> Forced;
  /// Elements that may yet stay wide.
  int64_t WeightBudget = 0, ValueBudget = 0;
  DenseSet<Value> Narrow;
};

bool StorageChoice::holdsKept(Operation *Op) {
  auto Region = dyn_cast<RegionOp>(Op);
  return Region &&
         llvm::any_of(Region.getBody().front(),
                      [&](Operation &Inner) { return Kept.match(&Inner); });
}

/// Whether `V` has one scale for each column of codes: few bytes, whose least
/// ones 16 bits have no numbers for.
bool scalesColumns(BlockArgument V) {
  return llvm::any_of(V.getUsers(), [&](Operation *User) {
    auto Tiles = dyn_cast<DequantiseTilesOp>(User);
    return Tiles && Tiles.getScales() == V && typeOf(V).getDims()[0] == Expr(1);
  });
}

/// Outputs of the model, what a kept node writes or reads of the weights, what
/// a user's operator touches, and scales of columns.
bool StorageChoice::staysWide(Value V) {
  bool Stays = holdsKept(V.getDefiningOp()) || holdsCustom(V.getDefiningOp()),
       Read = false;
  forEachUse(V, [&](OpOperand &Use) {
    Read |= isa<RegionOp>(Use.getOwner());
    Stays |= !isa<RegionOp>(Use.getOwner()) || holdsCustom(Use.getOwner()) ||
             (V.getDefiningOp<WeightOp>() &&
              (holdsKept(Use.getOwner()) || scalesColumns(argumentOf(Use))));
  });
  return Stays || !Read;
}

void StorageChoice::findWideResults(RegionOp Region) {
  DenseSet<Value> Wide, Constant;
  Block &Body = Region.getBody().front();
  for (auto [Argument, Input] :
       llvm::zip_equal(Body.getArguments(), Region.getInputs())) {
    Value Root = rootOf(Input);
    if (Sensitive.contains(Root))
      Wide.insert(Argument);
    if (isa_and_present<WeightOp, ConstantOp>(Root.getDefiningOp()))
      Constant.insert(Argument);
  }
  bool Chooses = choosesStored(Region);
  auto IsConstant = [&](Value V) { return Constant.contains(V); };
  auto IsWide = [&](Value V) { return Wide.contains(V); };
  for (Operation &Op : Body.without_terminator()) {
    auto Div = dyn_cast<DivOp>(&Op);
    bool ReadsWide = llvm::any_of(Op.getOperands(), IsWide);
    if (llvm::all_of(Op.getOperands(), IsConstant)) {
      Constant.insert_range(Op.getResults());
      if (ReadsWide || isHuge(&Op))
        Wide.insert_range(Op.getResults());
    } else if ((isSensitive(&Op) && !Chooses) ||
               (Div && !IsConstant(Div.getB())) ||
               (!isa<AttentionOp, ConvOp, MatmulOp>(Op) &&
                !finishesRawProduct(&Op) && !scalesRowsOfGemm(&Op) &&
                ReadsWide)) {
      Wide.insert_range(Op.getResults());
    }
  }
  for (auto [Result, Yielded] : llvm::zip_equal(
           Region.getResults(), Body.getTerminator()->getOperands())) {
    bool Contracted = true;
    forEachUse(Result, [&](OpOperand &Use) {
      Contracted &= isa<RegionOp>(Use.getOwner()) &&
                    isReadByContractionsAlone(argumentOf(Use));
    });
    if (isRawProduct(Yielded))
      Raw.insert(Result);
    if ((IsWide(Yielded) && !Contracted) || Raw.contains(Result))
      Sensitive.insert(Result);
  }
}

/// Whether a heavy contraction reads `V`, or its kernel writes it as a value
/// that 16 bits do for: one of which 8 bits are multiplied is such a value,
/// where others (a residual) read it as well.
bool StorageChoice::isForTensorCores(Value V) {
  auto Region = V.getDefiningOp<RegionOp>();
  if (Region &&
      becomesCodes(Region.getBody().front().getTerminator()->getOperand(
          cast<OpResult>(V).getResultNumber())))
    return true;
  bool Touches = Region && !Sensitive.contains(V) &&
                 llvm::any_of(Region.getBody().front(), [&](Operation &Op) {
                   return Contractions.contains(&Op) || isa<AttentionOp>(Op);
                 });
  forEachUse(V, [&](OpOperand &Use) {
    Touches |=
        isa<RegionOp>(Use.getOwner()) &&
        (Contractions.read(argumentOf(Use)) || becomesCodes(argumentOf(Use)));
  });
  return Touches;
}

void StorageChoice::sortOut(Value V) {
  if (!typeOf(V).getElementType().isF32() || Raw.contains(V) ||
      (Exact && Exact->contains(V)) || staysWide(V))
    return;
  if (isForTensorCores(V)) {
    Forced.push_back(V);
    return;
  }
  if (Sensitive.contains(V))
    return;
  auto Region = V.getDefiningOp<RegionOp>();
  bool Follows =
      Region && llvm::all_of(Region.getBody().front(), [](Operation &Op) {
        return choosesElements(&Op);
      });
  (Follows ? Followers : Candidates).push_back(V);
}

/// At the sizes that schedules are chosen for; where these are unknown, as many
/// as there can be.
int64_t StorageChoice::elements(Value V) const {
  constexpr int64_t Most = int64_t(1) << 40;
  std::optional<int64_t> Count = Facts.optimum(typeOf(V).getNumElements());
  return Count ? std::clamp<int64_t>(*Count, 0, Most) : Most;
}

bool StorageChoice::takeFromBudget(Value V) {
  int64_t Count = elements(V);
  if (Count > budgetOf(V))
    return false;
  budgetOf(V) -= Count;
  return true;
}

/// Candidates and followers, but for sums that nothing has scaled: of a large
/// image such a sum is beyond f16.
DenseSet<Value> StorageChoice::valuesToNarrow() const {
  DenseSet<Value> Free(Candidates.begin(), Candidates.end());
  Free.insert_range(Followers);
  for (Value V : Candidates) {
    auto Region = V.getDefiningOp<RegionOp>();
    if (!Region)
      continue;
    Operation *Last = Region.getBody()
                          .front()
                          .getTerminator()
                          ->getOperand(cast<OpResult>(V).getResultNumber())
                          .getDefiningOp();
    while (isa_and_present<ReshapeOp, TransposeOp>(Last))
      Last = Last->getOperand(0).getDefiningOp();
    auto Reduce = dyn_cast_or_null<ReduceOp>(Last);
    auto Window = dyn_cast_or_null<WindowOp>(Last);
    if ((Reduce && Reduce.getKind() == ReduceKind::sum) ||
        (Window && Window.getKind() == ReduceKind::sum))
      Free.erase(V);
  }
  return Free;
}

/// Whether a column of codes has several scales.
bool hasBlocks(DequantiseTilesOp Op) {
  return typeOf(Op.getScales()).getDims().front() != shape::Expr(1);
}

/// Tensor cores, and kernels of few rows, take factors of one type: what a
/// narrow weight is multiplied with is narrow, too, however small.
void StorageChoice::narrowBesideWeights() {
  DenseSet<Value> Free = valuesToNarrow();
  Func.walk([&](RegionOp Region) {
    for (Operation &Op : Region.getBody().front()) {
      // Kernels multiply what codes stand for in 16 bits, and so the codes by
      // the scales of their blocks.
      auto Tiles = isa<MatmulOp>(Op)
                       ? Op.getOperand(1).getDefiningOp<DequantiseTilesOp>()
                       : DequantiseTilesOp();
      bool AreTiles = bool(Tiles);
      if (!AreTiles && HeavyContractions::workOf(&Op, Facts) == 0)
        continue;
      if (AreTiles && hasBlocks(Tiles)) {
        Value Scales = rootOfOperand(Region, Tiles.getScales());
        if (Scales && Free.contains(Scales))
          Narrow.insert(Scales);
      }
      Value Left = rootOfOperand(Region, Op.getOperand(0)),
            Right =
                AreTiles ? Value() : rootOfOperand(Region, Op.getOperand(1));
      bool IsNarrow =
          Right && Right.getDefiningOp<WeightOp>() && Narrow.contains(Right);
      if (Left && (AreTiles || IsNarrow) && Free.contains(Left))
        Narrow.insert(Left);
    }
  });
}

/// The same the other way: what is multiplied with a narrow value is narrow, be
/// it a weight or another value, although the contraction does little of the
/// model's work. As loops of two types it would take 100 times as long.
void StorageChoice::narrowBesideValues() {
  DenseSet<Value> Free = valuesToNarrow();
  SmallVector<std::pair<Value, Value>> Factors;
  Func.walk([&](RegionOp Region) {
    for (Operation &Op : Region.getBody().front())
      if (HeavyContractions::workOf(&Op, Facts) >= LeastWork)
        Factors.push_back({rootOfOperand(Region, Op.getOperand(0)),
                           rootOfOperand(Region, Op.getOperand(1))});
  });
  // A value that has become narrow may be the other factor of an earlier one.
  for (bool Changes = true; Changes;) {
    Changes = false;
    for (auto [Left, Right] : Factors) {
      if (!Left || !Right || Narrow.contains(Left) == Narrow.contains(Right))
        continue;
      Value Wide = Narrow.contains(Left) ? Right : Left;
      if (Free.contains(Wide))
        Changes |= Narrow.insert(Wide).second;
    }
  }
}

SmallVector<Value> StorageChoice::run() {
  Func.walk<WalkOrder::PreOrder>([&](Operation *Op) {
    if (auto Region = dyn_cast<RegionOp>(Op))
      findWideResults(Region);
    if (isa<RegionOp, WeightOp>(Op))
      llvm::for_each(Op->getResults(), [&](Value V) { sortOut(V); });
  });
  for (Value V : llvm::concat<Value>(Forced, Candidates, Followers))
    budgetOf(V) += elements(V);
  Narrow.insert_range(Forced);
  for (int64_t *Budget : {&WeightBudget, &ValueBudget})
    *Budget = WideShare ? *Budget / WideShare : 0;

  SmallVector<Value> BySize(Candidates);
  llvm::stable_sort(
      BySize, [&](Value A, Value B) { return elements(A) < elements(B); });
  for (Value V : BySize)
    if (!takeFromBudget(V))
      Narrow.insert(V);
  for (Value V : Followers) {
    bool AnyNarrow =
        llvm::any_of(V.getDefiningOp()->getOperands(),
                     [&](Value In) { return Narrow.contains(rootOf(In)); });
    // A row's greatest element is as wide as the row.
    auto Region = cast<RegionOp>(V.getDefiningOp());
    bool Reduces = !Region.getBody().front().getOps<ReduceOp>().empty();
    if (AnyNarrow || (!Reduces && !takeFromBudget(V)))
      Narrow.insert(V);
  }

  narrowBesideWeights();
  narrowBesideValues();
  SmallVector<Value> Ordered;
  Func.walk<WalkOrder::PreOrder>([&](Operation *Op) {
    llvm::copy_if(Op->getResults(), std::back_inserter(Ordered),
                  [&](Value V) { return Narrow.contains(V); });
  });
  return Ordered;
}

} // namespace

SmallVector<Value> graph::narrowValues(func::FuncOp Func,
                                       const shape::Facts &Facts,
                                       const NodePatterns &Kept,
                                       unsigned WideShare,
                                       const ExactValues *Exact) {
  return StorageChoice(Func, Facts, Kept, WideShare, Exact).run();
}
