//===- OrderBySizes.cpp - Steps behind the sizes that they need -----------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In:  a plan, one of whose outputs decides a size.
/// Out: the same, all that leads to the number in front of all that names it.
///
///   plan.launch @fill () -> (%a) … [n]      plan.launch @count (%x) -> (%n)
///   plan.launch @count (%x) -> (%n)     →   plan.launch @fill () -> (%a) … [n]
///
/// Each step has a rank: how many numbers must be read one after another before
/// it. It is above that of the numbers behind the sizes that the step names,
/// and not below that of a step whose memory it needs.
///
//===----------------------------------------------------------------------===//

#include "dialects/plan/DataSizes.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;

namespace kpc::graph {
#define GEN_PASS_DEF_ORDERBYSIZES
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

class Ranks {
public:
  explicit Ranks(plan::ProgramOp Program) : Program(Program) {
    for (const std::string &Name : plan::symbolsOfData(Program))
      OfSymbol[Name] = 1;
    for (Operation &Op : Program.getBody().front())
      if (isa<plan::LaunchOp, plan::CopyOp, plan::LoopOp, plan::IfOp>(Op))
        Steps.push_back({&Op, plan::symbolsNamedBy(&Op), 0});
  }

  bool anyDecided() const { return !OfSymbol.empty(); }

  /// False if a size is needed to count itself.
  bool compute() {
    for (size_t I = 0; I <= OfSymbol.size(); ++I) {
      rankSteps();
      if (!raiseSymbols())
        return true;
    }
    return false;
  }

  void reorder() {
    Block &Body = Program.getBody().front();
    llvm::stable_sort(
        Steps, [](const Step &A, const Step &B) { return A.Rank < B.Rank; });
    for (const Step &S : Steps)
      S.Op->moveBefore(&Body, Body.end());
  }

private:
  struct Step {
    Operation *Op;
    std::set<std::string, std::less<>> Names;
    unsigned Rank;
  };
  struct Use {
    unsigned Read = 0, Written = 0; ///< the highest ranks that did
  };

  void rankSteps() {
    Memory.clear();
    for (Step &S : Steps) {
      S.Rank = 0;
      for (const std::string &Name : S.Names)
        if (auto Found = OfSymbol.find(Name); Found != OfSymbol.end())
          S.Rank = std::max(S.Rank, Found->second);
      auto Visit = [&](auto OnRead, auto OnWrite) {
        S.Op->walk([&](Operation *Op) {
          if (auto Launch = dyn_cast<plan::LaunchOp>(Op)) {
            for (Value V : Launch.getReads())
              OnRead(Memory[plan::storageOf(V)]);
            for (Value V : Launch.getWrites())
              OnWrite(Memory[plan::storageOf(V)]);
          } else if (auto Copy = dyn_cast<plan::CopyOp>(Op)) {
            OnRead(Memory[plan::storageOf(Copy.getSource())]);
            OnWrite(Memory[plan::storageOf(Copy.getDestination())]);
          } else if (auto If = dyn_cast<plan::IfOp>(Op)) {
            OnRead(Memory[plan::storageOf(If.getCondition())]);
          } else if (auto Loop = dyn_cast<plan::LoopOp>(Op)) {
            if (Value Condition = Loop.getCondition())
              OnRead(Memory[plan::storageOf(Condition)]);
          }
        });
      };
      Visit([&](Use &U) { S.Rank = std::max(S.Rank, U.Written); },
            [&](Use &U) { S.Rank = std::max({S.Rank, U.Written, U.Read}); });
      Visit([&](Use &U) { U.Read = std::max(U.Read, S.Rank); },
            [&](Use &U) { U.Written = std::max(U.Written, S.Rank); });
    }
  }

  /// Above the steps that count them; whether one rose.
  bool raiseSymbols() {
    bool Rose = false;
    for (auto Output : Program.getOps<plan::OutputOp>()) {
      auto Decides = Output.getDecides();
      if (!Decides)
        continue;
      std::set<std::string, std::less<>> Names;
      Decides->getDims().front().collectSymbols(Names);
      unsigned Least = Memory[Output.getBuffer()].Written + 1;
      for (const std::string &Name : Names)
        if (auto Found = OfSymbol.find(Name);
            Found != OfSymbol.end() && Found->second < Least) {
          Found->second = Least;
          Rose = true;
        }
    }
    return Rose;
  }

  plan::ProgramOp Program;
  std::map<std::string, unsigned, std::less<>> OfSymbol;
  std::vector<Step> Steps;
  DenseMap<Value, Use> Memory;
};

struct OrderBySizesPass : graph::impl::OrderBySizesBase<OrderBySizesPass> {
  void runOnOperation() override {
    for (auto Program : getOperation().getOps<plan::ProgramOp>()) {
      Ranks Of(Program);
      if (!Of.anyDecided())
        continue;
      if (!Of.compute()) {
        Program.emitError("a size that data decides is needed by the steps "
                          "that count it");
        return signalPassFailure();
      }
      Of.reorder();
    }
  }
};

} // namespace
