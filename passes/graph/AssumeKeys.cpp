//===- AssumeKeys.cpp - Attention that has a key --------------------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// In:  attention whose number of keys may be 0, of which no user spoke.
/// Out: the same, and a symbol that is at least 1.
///
///   {s = {}}  graph.attention %q, %k, %v : … <[1, 12, s, 64], f32> …
///   →  {s = {min = 1}}, graph.reasons = {s = "'MatMul_3' (MatMul) …"}
///
/// Kernels of attention copy keys by tensor maps, which have no size of 0. A
/// user who gives no range for a sequence does not mean an empty one, but would
/// have attention in three kernels for it.
///
//===----------------------------------------------------------------------===//

#include "dialects/graph/Graph.h"
#include "dialects/graph/SizeReasons.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "passes/graph/NodePatterns.h"
#include "passes/graph/Passes.h"

using namespace mlir;
using namespace kpc;
using namespace kpc::graph;

namespace kpc::graph {
#define GEN_PASS_DEF_ASSUMEKEYS
#include "passes/graph/Passes.h.inc"
} // namespace kpc::graph

namespace {

using Symbols = std::set<std::string, std::less<>>;

/// The symbols of inputs' sizes. Others count iterations, or what data decides.
Symbols symbolsOfInputs(ModuleOp Module) {
  Symbols Found;
  for (auto Func : Module.getOps<func::FuncOp>())
    for (Type T : Func.getArgumentTypes())
      if (auto Tensor = dyn_cast<SymbolicTensorType>(T))
        for (const shape::Expr &Dim : Tensor.getDims())
          Dim.collectSymbols(Found);
  return Found;
}

struct AssumeKeysPass : graph::impl::AssumeKeysBase<AssumeKeysPass> {
  using AssumeKeysBase::AssumeKeysBase;

  /// What is known when one symbol of the keys is at least 1, and that symbol.
  /// New tokens come first: past ones may be none beside them.
  std::optional<std::pair<shape::Facts, std::string>>
  withKey(AttentionOp Op, const shape::Facts &Facts, const Symbols &Free) {
    const shape::Expr &Keys = typeOf(Op.getV()).getDims()[2];
    Symbols New, All;
    typeOf(Op.getQ()).getDims()[2].collectSymbols(New);
    Keys.collectSymbols(All);
    for (bool IsNew : {true, false})
      for (const std::string &Symbol : All) {
        auto It = Facts.symbols().find(Symbol);
        if (New.count(Symbol) != IsNew || !Free.count(Symbol) ||
            It == Facts.symbols().end() || It->second.Min > 0 ||
            It->second.Max < 1)
          continue;
        shape::SymbolFacts Known = It->second;
        Known.Min = 1;
        if (Known.Optimum && *Known.Optimum < 1)
          Known.Optimum = std::nullopt;
        shape::Facts With = Facts;
        With.declare(Symbol, Known);
        if (With.range(Keys).Min > 0)
          return std::pair(std::move(With), Symbol);
      }
    return std::nullopt;
  }

  void runOnOperation() override {
    ModuleOp Module = getOperation();
    shape::Facts Facts = symbolFacts(Module);
    SizeReasons Reasons = sizeReasons(Module);
    Symbols Free = symbolsOfInputs(Module);
    for (const std::string &Name : Given)
      Free.erase(Name);
    bool Changed = false;
    Module.walk([&](AttentionOp Op) {
      if (Facts.range(typeOf(Op.getV()).getDims()[2]).Min > 0)
        return;
      auto Better = withKey(Op, Facts, Free);
      if (!Better)
        return;
      Facts = std::move(Better->first);
      Changed = true;
      std::string Node = nodeName(Op).str();
      Reasons.try_emplace(Better->second,
                          "the attention at '" + Node + "' needs a key");
      remark::passed(
          Op.getLoc(),
          remark::RemarkOpts::name("attention").category("recognition"))
          << "The size " + Better->second +
                 " is taken to be at least 1, for attention without keys has "
                 "no kernel.";
    });
    if (!Changed)
      return markAllAnalysesPreserved();
    setSymbolFacts(Module, Facts);
    setSizeReasons(Module, Reasons);
  }
};

} // namespace
