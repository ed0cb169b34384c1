//===- MoveQuantisation.cpp - Quantised values move as codes --------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
///   quantised(max pool(dequantised(%codes)))  →  max pool(%codes)
///   conv(concat(dequantised(%a), dequantised(%b)), …)
///     →  conv(dequantised(concat(%a, %b)), …)
///
/// where all of them have one scale and one zero point. With the scale s > 0,
/// dequantising is a function f of each code alone, and never decreases. So:
///
/// - an op that moves elements has the same elements before f and after it;
/// - max(f(a), f(b)) is f(max(a, b)), and min likewise;
/// - a number that is f(c) of a code c may be that code: 0 is f(zero point).
///
/// A pair goes where quantising gives the codes again (Quantised::undoes()).
/// Parts of other scales, and floats, are quantised before a concat joins them.
///
/// Only what leads to such a pair moves, or to a convolution or a GEMM with a
/// weight, which multiply codes.
///
//===----------------------------------------------------------------------===//

#include "dialects/shape/Facts.h"
#include "passes/graph/ConstantValues.h"
#include "passes/graph/GraphFunction.h"
#include "passes/graph/NodePatterns.h"
#include "passes/graph/Passes.h"
#include "passes/graph/QuantisedPairs.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;
using kpc::shape::Expr;

namespace kpc::graph {
#define GEN_PASS_DEF_MOVEQUANTISATION
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

/// Most ops that are looked through from one op.
constexpr unsigned MostSteps = 32;

bool isMaxOrMin(ReduceKind Kind) {
  return Kind == ReduceKind::max || Kind == ReduceKind::min;
}

/// Where the elements come from that an op moves or selects; empty: it does
/// something else.
SmallVector<unsigned, 4> movedOperands(Operation *Op) {
  if (isa<ReshapeOp, TransposeOp, SliceOp, BroadcastOp, PadOp, GatherOp,
          GatherElementsOp, GatherNdOp, ReluOp>(Op))
    return {0};
  if (isa<ConcatOp>(Op))
    return llvm::to_vector<4>(llvm::seq<unsigned>(0, Op->getNumOperands()));
  if (isa<SelectOp>(Op))
    return {1, 2};
  if (isa<MaxOp, MinOp>(Op)) {
    if (repeatedNumber(Op->getOperand(1)))
      return {0};
    if (repeatedNumber(Op->getOperand(0)))
      return {1};
    return {0, 1};
  }
  if (auto Reduce = dyn_cast<ReduceOp>(Op);
      Reduce && isMaxOrMin(Reduce.getKind()))
    return {0};
  if (auto Window = dyn_cast<WindowOp>(Op);
      Window && isMaxOrMin(Window.getKind()))
    return {0};
  return {};
}

/// What codes of an operand GEMMs and convolutions find by themselves.
bool isLookedThrough(Operation *Op) {
  if (auto Cast = dyn_cast<CastOp>(Op))
    return isFloat(typeOf(Cast.getX()).getElementType()) &&
           isFloat(typeOf(Cast.getY()).getElementType());
  return isa<TransposeOp, ReshapeOp>(Op);
}

/// Whether codes are all within bounds: their type's are, or those of the op
/// that made them.
bool areWithin(Value Codes, double Lowest, double Highest,
               unsigned Steps = MostSteps) {
  Type Ty = typeOf(Codes).getElementType();
  CodeScale Range;
  Range.Code = Ty;
  if (Lowest <= double(Range.least()) && Highest >= double(Range.most()))
    return true;
  if (std::optional<double> Number = repeatedNumber(Codes))
    return Lowest <= *Number && *Number <= Highest;
  Operation *Def = Codes.getDefiningOp();
  if (!Def || Steps == 0)
    return false;
  if (std::optional<Quantised> Made = Quantised::read(Def))
    return Lowest <= Made->Lowest && Made->Highest <= Highest;
  if (auto Pad = dyn_cast<PadOp>(Def);
      Pad && !areWithin(Pad.getFiller(), Lowest, Highest, 0))
    return false;
  // A number that is compared with is itself a result.
  if (isa<MaxOp, MinOp>(Def))
    return llvm::all_of(Def->getOperands(), [&](Value V) {
      return areWithin(V, Lowest, Highest, Steps / 2);
    });
  SmallVector<unsigned, 4> From = movedOperands(Def);
  return !From.empty() && llvm::all_of(From, [&](unsigned I) {
    return areWithin(Def->getOperand(I), Lowest, Highest,
                     (Steps - 1) / unsigned(From.size()));
  });
}

class Moves {
public:
  explicit Moves(func::FuncOp Main)
      : Main(Main), Facts(symbolFacts(Main->getParentOfType<ModuleOp>())) {}

  bool run() {
    Main.walk([&](Operation *Op) {
      if (Quantised::read(Op))
        Roots.push_back(Op);
    });
    // New ones are those of the parts, which may have parts as well.
    for (size_t I = 0; I < Roots.size(); ++I)
      if (raise(Roots[I])) {
        Roots[I] = nullptr;
        Changed = true;
      }
    llvm::erase(Roots, nullptr);
    mark();
    Main.walk([&](Operation *Op) {
      if (Wanted.contains(Op))
        Changed |= move(Op);
    });
    for (Operation *Op : Roots)
      Changed |= cancel(Op);
    return Changed;
  }

private:
  bool raise(Operation *Op);
  void mark();
  void markBack(Value V, std::optional<CodeScale> Like, unsigned Steps);
  bool fits(Operation *Op) const;
  bool isWanted(Operation *Op, const CodeScale &By) const;
  bool move(Operation *Op);
  Value moved(Operation *Op, ArrayRef<Dequantised> From,
              ArrayRef<unsigned> Places);
  void tell(Operation *Op, const CodeScale &By);
  bool cancel(Operation *Op);

  func::FuncOp Main;
  shape::Facts Facts;
  /// Ops that lead to something that takes codes: those of the given scales, or
  /// of any (none).
  DenseMap<Operation *, SmallVector<std::optional<CodeScale>, 1>> Wanted;
  /// Casts that end a quantisation.
  SmallVector<Operation *> Roots;
  /// Nodes that a remark is of: one node may be several ops.
  llvm::StringSet<> Reported;
  bool Changed = false;
};

/// Quantises parts before they are put together: what makes each writes codes.
/// An op for each element, as quantising is, may come before or after.
bool Moves::raise(Operation *Op) {
  std::optional<Quantised> Made = Quantised::read(Op);
  auto Concat = Made ? Made->X.getDefiningOp<ConcatOp>() : ConcatOp();
  if (!Concat || !Concat->hasOneUse() || Concat.getXs().size() < 2)
    return false;
  OpBuilder B(Op);
  SmallVector<Value> Parts;
  for (Value X : Concat.getXs()) {
    if (Operation *Def = X.getDefiningOp())
      B.setInsertionPointAfter(Def);
    else
      B.setInsertionPoint(Op);
    Roots.push_back(Made->cloneFor(X, B));
    Parts.push_back(Roots.back()->getResult(0));
  }
  B.setInsertionPoint(Op);
  Value Whole = ConcatOp::create(B, Concat.getLoc(), Parts, Concat.getAxis());
  Op->getResult(0).replaceAllUsesWith(Whole);
  tell(Concat, *Made);
  // What is left of it would be a user of the parts.
  for (Operation *Step : Made->Steps)
    if (Step->use_empty())
      Step->erase();
  if (Concat->use_empty())
    Concat->erase();
  return true;
}

void Moves::mark() {
  for (Operation *Op : Roots) {
    std::optional<Quantised> Made = Quantised::read(Op);
    markBack(Made->X, *Made, MostSteps);
  }
  Main.walk([&](Operation *Op) {
    // A weight stays what it is; a product of two activations is attention's,
    // which has its own way to codes.
    Value Data;
    if (auto Conv = dyn_cast<ConvOp>(Op))
      Data = Conv.getX();
    else if (auto Product = dyn_cast<MatmulOp>(Op);
             Product && isConstant(Product.getB()))
      Data = Product.getA();
    while (Data && Data.getDefiningOp() &&
           isLookedThrough(Data.getDefiningOp()))
      Data = Data.getDefiningOp()->getOperand(0);
    // What is repeated is smaller before.
    if (Data && !Data.getDefiningOp<BroadcastOp>())
      markBack(Data, std::nullopt, MostSteps);
  });
}

/// Marks what `V` is moved or selected by.
void Moves::markBack(Value V, std::optional<CodeScale> Like, unsigned Steps) {
  Operation *Op = V.getDefiningOp();
  SmallVector<unsigned, 4> From;
  if (Op && Steps > 0)
    From = movedOperands(Op);
  if (From.empty())
    return;
  auto &Known = Wanted[Op];
  auto IsKnown = [&](const std::optional<CodeScale> &Other) {
    return Other.has_value() == Like.has_value() && (!Other || *Other == *Like);
  };
  if (llvm::any_of(Known, IsKnown))
    return;
  Known.push_back(Like);
  for (unsigned I : From)
    markBack(Op->getOperand(I), Like, Steps - 1);
}

bool Moves::isWanted(Operation *Op, const CodeScale &By) const {
  auto Found = Wanted.find(Op);
  return Found != Wanted.end() &&
         llvm::any_of(Found->second,
                      [&](const auto &Like) { return !Like || *Like == By; });
}

/// Whether each result of an op that selects is one of its operand's elements,
/// and not minus infinity: no codes stand for that.
bool Moves::fits(Operation *Op) const {
  auto IsSome = [&](const Expr &Size) { return Facts.range(Size).Min > 0; };
  if (auto Reduce = dyn_cast<ReduceOp>(Op))
    return llvm::all_of(Reduce.getAxes(), [&](int64_t Axis) {
      return IsSome(typeOf(Reduce.getX()).getDims()[Axis]);
    });
  auto Window = dyn_cast<WindowOp>(Op);
  if (!Window)
    return true;
  // A window that begins and ends among elements, or next to them, has one.
  for (auto [Size, Taps, Dilation, Low, High] :
       llvm::zip_equal(typeOf(Window.getX()).getDims(), Window.getWindow(),
                       Window.getDilation(), Window.getLow(), Window.getHigh()))
    if ((Low > 0 || High > 0) &&
        (Dilation != 1 || Low >= Taps || High >= Taps || !IsSome(Size)))
      return false;
  return true;
}

/// The op on codes; null where a number that it has is no code.
Value Moves::moved(Operation *Op, ArrayRef<Dequantised> From,
                   ArrayRef<unsigned> Places) {
  const CodeScale &By = From.front();
  OpBuilder B(Op);
  Location Loc = Op->getLoc();
  auto Code = [&](int64_t C) -> Value {
    return ConstantOp::create(
        B, Loc,
        DenseElementsAttr::get(RankedTensorType::get({}, By.Code),
                               B.getIntegerAttr(By.Code, C)));
  };
  auto Repeated = [&](int64_t C) -> Value {
    SymbolicTensorType To = typeOf(From.front().Codes);
    Value One = Code(C);
    return To.getRank() == 0 ? One
                             : BroadcastOp::create(B, Loc, To, One).getResult();
  };
  if (isa<ReluOp>(Op)) {
    if (By.Zero <= By.least())
      return From.front().Codes;
    if (By.Zero > By.most())
      return {};
    return MaxOp::create(B, Loc, From.front().Codes, Repeated(By.Zero));
  }
  SmallVector<Value> Operands(Op->getOperands());
  for (auto [Place, Of] : llvm::zip_equal(Places, From))
    Operands[Place] = Of.Codes;
  if (isa<MaxOp, MinOp>(Op) && Places.size() == 1) {
    double Bound = *repeatedNumber(Op->getOperand(1 - Places.front()));
    // All codes are on one side of it.
    if (isa<MaxOp>(Op) ? Bound <= By.numberOf(By.least())
                       : Bound >= By.numberOf(By.most()))
      return From.front().Codes;
    std::optional<int64_t> C = By.codeOf(Bound);
    if (!C)
      return {};
    Operands[1 - Places.front()] = Repeated(*C);
  }
  if (auto Pad = dyn_cast<PadOp>(Op)) {
    std::optional<double> Filler = repeatedNumber(Pad.getFiller());
    std::optional<int64_t> C =
        Filler ? By.codeOf(*Filler) : std::optional<int64_t>();
    if (!C)
      return {};
    Operands[1] = Code(*C);
  }
  OperationState State(Loc, Op->getName());
  State.addOperands(Operands);
  State.addTypes(typeOf(Op->getResult(0)).withElementType(By.Code));
  State.addAttributes(Op->getAttrs());
  return B.create(State)->getResult(0);
}

bool Moves::move(Operation *Op) {
  SmallVector<unsigned, 4> Places = movedOperands(Op);
  SmallVector<Dequantised> From;
  for (unsigned I : Places) {
    std::optional<Dequantised> Read = Dequantised::read(Op->getOperand(I));
    if (!Read || (!From.empty() && !(*Read == From.front())))
      return false;
    From.push_back(*Read);
  }
  if (From.empty() || !isWanted(Op, From.front()) || !fits(Op) ||
      llvm::all_of(From, [](const auto &Of) { return isConstant(Of.Codes); }))
    return false;
  Value Codes = moved(Op, From, Places);
  if (!Codes)
    return false;
  OpBuilder B(Op);
  B.setInsertionPointAfter(Op);
  // Dequantising is the operand's node, and goes on to be.
  Location Loc = Op->getOperand(Places.front()).getLoc();
  Value Result = Op->getResult(0);
  tell(Op, From.front());
  Result.replaceAllUsesWith(dequantised(B, Loc, Codes, From.front()));
  return true;
}

void Moves::tell(Operation *Op, const CodeScale &By) {
  StringRef Node = nodeName(Op);
  if (!Node.empty() && !Reported.insert(Node).second)
    return;
  std::string Text;
  llvm::raw_string_ostream(Text) << "It works on codes of " << By.Code
                                 << " in place of " << By.Number << ".";
  remark::passed(Op->getLoc(),
                 remark::RemarkOpts::name("codes").category("recognition"))
      << Text;
}

/// Leaves a quantisation out that gives the codes again.
bool Moves::cancel(Operation *Op) {
  std::optional<Quantised> Made = Quantised::read(Op);
  std::optional<Dequantised> From =
      Made ? Dequantised::read(Made->X) : std::nullopt;
  if (!From || !Made->undoes(*From) ||
      !areWithin(From->Codes, Made->Lowest, Made->Highest))
    return false;
  remark::passed(Op->getLoc(),
                 remark::RemarkOpts::name("pair").category("recognition"))
      << "It quantises what was dequantised with the same scale and zero "
         "point, and is left out.";
  Op->getResult(0).replaceAllUsesWith(From->Codes);
  return true;
}

struct MoveQuantisationPass
    : graph::impl::MoveQuantisationBase<MoveQuantisationPass> {
  void runOnOperation() override {
    if (!Moves(getOperation()).run())
      return markAllAnalysesPreserved();
    for (Block *Of : blocksOf(getOperation()))
      for (Operation &Op : llvm::make_early_inc_range(llvm::reverse(*Of)))
        if (isOpTriviallyDead(&Op))
          Op.erase();
  }
};

} // namespace
