//===- ModelNeeds.cpp - What a model asks of sizes and runs ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/ModelNeeds.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/InputValues.h"
#include "dialects/graph/Requirements.h"
#include "dialects/graph/SizeReasons.h"
#include "dialects/plan/Plan.h"
#include "runtime/format/Conditional.h"

#include <set>

using namespace kpc;
using namespace mlir;

/// The symbols of the inputs' dims, which a caller chooses.
static std::set<std::string, std::less<>> dimsOfInputs(ModuleOp Plan) {
  std::set<std::string, std::less<>> Names;
  Plan.walk([&](plan::InputOp Input) {
    Type Ty = Input.getAs().value_or(Input.getBuffer().getType());
    for (const shape::Expr &E : cast<graph::SymbolicTensorType>(Ty).getDims())
      E.collectSymbols(Names);
  });
  return Names;
}

/// The name of the node that an op is of.
static std::string nodeOf(Operation *Op) {
  if (auto Named = dyn_cast<NameLoc>(Op->getLoc()))
    return Named.getName().str();
  return {};
}

namespace {
/// Which loops and branches a GPU has to be waited for: the rule of
/// runtime/format/Conditional.h for a plan that is no artifact yet.
class ReadBacks {
public:
  /// The symbols that data decides.
  explicit ReadBacks(ModuleOp Plan) {
    Plan.walk([&](plan::OutputOp Output) {
      if (Output.getDecides())
        Output.getDecides()->getDims().front().collectSymbols(DataSizes);
    });
  }

  /// In the order of the plan. A loop that is read back is so with all in it.
  std::string of(Operation *Control) {
    if (Reason.empty() || !Whole->isProperAncestor(Control)) {
      Whole = Control;
      Reason = find(Control);
    }
    std::string Out = Reason;
    if (isa<plan::IfOp>(Control) && Whole == Control)
      Reason.clear(); // what is inside may be nodes
    return Out;
  }
  /// A step before the controls that follow.
  void pass(plan::LaunchOp Launch) {
    IsBehindSizes |= namesAny(Launch.getSizes().getDims(), DataSizes);
  }

private:
  using Names = std::set<std::string, std::less<>>;
  static bool namesAny(ArrayRef<shape::Expr> Numbers, const Names &Symbols) {
    Names Named;
    for (const shape::Expr &E : Numbers)
      E.collectSymbols(Named);
    return llvm::any_of(Named, [&](const std::string &Name) {
      return Symbols.count(Name) != 0;
    });
  }

  std::string find(Operation *Control) {
    std::string Why;
    Control->walk([&](Operation *Op) {
      if (auto Launch = dyn_cast<plan::LaunchOp>(Op)) {
        pass(Launch);
        for (const shape::Expr &Size : Launch.getSizes().getDims())
          look(Op, Control, Size, /*IsPlace=*/false, Why);
      }
      if (isa<plan::LaunchOp, plan::CopyOp>(Op))
        for (Value Buffer : Op->getOperands())
          if (auto Offset = plan::offsetInStorage(Buffer))
            look(Op, Control, *Offset, /*IsPlace=*/true, Why);
    });
    return IsBehindSizes ? "it follows sizes that data decides" : Why;
  }

  static void look(Operation *Step, Operation *Control,
                   const shape::Expr &Number, bool IsPlace, std::string &Why) {
    for (Operation *Op = Step; Op != Control;) {
      Op = Op->getParentOp();
      auto Loop = dyn_cast<plan::LoopOp>(Op);
      if (!Loop || !Loop.getCondition())
        continue;
      std::vector<int64_t> Words =
          Number.postfix([&](std::string_view Name) -> int64_t {
            return Name == std::string_view(Loop.getCounter());
          });
      format::Motion How = format::motionOf(Words, /*Counter=*/1);
      if (How == format::Motion::Other)
        Why = IsPlace ? format::PlaceDoesNotStep : format::TakesIterationNumber;
      else if (How == format::Motion::Steps && !IsPlace)
        Why = format::TakesIterationNumber;
    }
  }

  Names DataSizes;
  bool IsBehindSizes = false;
  Operation *Whole = nullptr; ///< what `Reason` is of
  std::string Reason;
};
} // namespace

ModelNeeds kpc::needsOf(ModuleOp Graph, ModuleOp Plan) {
  ModelNeeds Needs;
  graph::SizeReasons Reasons = graph::sizeReasons(Graph);
  std::set<std::string, std::less<>> OfInputs = dimsOfInputs(Plan);
  shape::Facts Facts = graph::symbolFacts(Graph);
  for (const auto &[Name, Known] : Facts.symbols())
    if (OfInputs.count(Name)) {
      auto Why = Reasons.find(Name);
      Needs.Dims.push_back(
          {Name, Known, Why == Reasons.end() ? "" : Why->second});
    }
  for (const auto &[Name, Size] : graph::takenDims(Graph))
    Needs.Settled.emplace_back(Name, Size.str());
  for (const graph::Requirement &R : graph::requirements(Graph))
    Needs.Requirements.push_back(
        {R.Left.str(), R.Right.str(), R.Equal, R.Reason});
  for (const graph::InputValue &V : graph::inputValues(Graph))
    Needs.InputValues.emplace_back(graph::inputValueName(V.Input, V.Element),
                                   V.Size.str());
  ReadBacks Waits(Plan);
  Plan.walk<WalkOrder::PreOrder>([&](Operation *Op) {
    if (auto Launch = dyn_cast<plan::LaunchOp>(Op))
      Waits.pass(Launch);
    if (auto Output = dyn_cast<plan::OutputOp>(Op)) {
      if (Output.getDecides())
        Needs.DataSizes.emplace_back(
            Output.getDecides()->getDims().front().str(),
            Output.getAtMost() ? Output.getAtMost()->getDims().front().str()
                               : "");
    } else if (auto Loop = dyn_cast<plan::LoopOp>(Op)) {
      Needs.Controls.push_back({true, nodeOf(Op),
                                Loop.getCount().getDims().front().str(),
                                Loop.getCondition() != nullptr, Waits.of(Op)});
    } else if (isa<plan::IfOp>(Op)) {
      Needs.Controls.push_back({false, nodeOf(Op), "", false, Waits.of(Op)});
    }
  });
  Graph.walk([&](graph::CustomOp Op) {
    std::string Code = Op.getCuda() ? "CUDA" : "";
    if (Op.getHost())
      Code += Code.empty() ? "host" : ", host";
    Needs.Operators.push_back(
        {nodeOf(Op), Op.getOperatorName().str(), std::move(Code)});
  });
  return Needs;
}
