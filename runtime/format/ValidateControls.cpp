//===- ValidateControls.cpp - What must hold of loops and branches --------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/ValidateTarget.h"

#include <set>

namespace kpc::format {

namespace {

class ControlValidator {
public:
  ControlValidator(const Model &M, const Target &T,
                   const std::vector<ExprFacts> &Facts)
      : M(M), T(T), Facts(Facts), CountersAt(count(T.steps())) {}

  Result<std::vector<std::vector<uint32_t>>> run() {
    size_t Index = 0;
    for (const Control *C : each(T.controls())) {
      if (!isGood(*C))
        return malformed("control %zu is not good", Index);
      if (!fits(*C))
        return malformed("control %zu is neither next to nor inside those "
                         "before it",
                         Index);
      if (C->kind() == ControlKind::Loop)
        for (uint32_t Step = C->first_step(); Step < C->end_step(); ++Step)
          CountersAt[Step].push_back(C->counter());
      Open.push_back(C);
      ++Index;
    }
    return std::move(CountersAt);
  }

private:
  bool isPlainExpr(uint32_t Index) const {
    return exprExists(M, Index) && Facts[Index].isPlain();
  }

  bool isGood(const Control &C) {
    if (C.kind() > ControlKind::MAX || C.first_step() >= C.end_step() ||
        C.end_step() > count(T.steps()))
      return false;
    if (C.kind() == ControlKind::Loop &&
        !(isPlainExpr(C.count()) && C.counter() < count(M.symbols()) &&
          M.symbols()->Get(C.counter())->source() ==
              SymbolSource::LoopCounter &&
          M.symbols()->Get(C.counter())->min() == 0 &&
          Taken.insert(C.counter()).second))
      return false;
    return (C.kind() == ControlKind::Loop && C.condition() == None) ||
           hasGoodCondition(C);
  }

  bool hasGoodCondition(const Control &C) const {
    if (C.condition() >= count(T.buffers()) || C.else_step() < C.first_step() ||
        C.else_step() > C.end_step() ||
        (C.condition_offset() != None && !isPlainExpr(C.condition_offset())))
      return false;
    const Buffer *B = T.buffers()->Get(C.condition());
    // A branch asks once, a loop before each iteration.
    bool IsLoop = C.kind() == ControlKind::Loop;
    if (IsLoop && C.else_step() == C.first_step())
      return false;
    uint32_t Last = IsLoop ? C.else_step() - 1 : C.first_step();
    return B->kind() != BufferKind::Arena ||
           (B->first_step() <= C.first_step() && Last <= B->last_step());
  }

  // Lets those go that end before `C`, which must then lie within the last of
  // the others, and on one side of it.
  bool fits(const Control &C) {
    while (!Open.empty() && Open.back()->end_step() <= C.first_step())
      Open.pop_back();
    if (Open.size() >= MaxControlDepth)
      return false;
    if (C.first_step() < LastFirst)
      return false;
    LastFirst = C.first_step();
    if (Open.empty())
      return true;
    const Control &Around = *Open.back();
    return C.end_step() <= Around.end_step() &&
           ((Around.kind() == ControlKind::Loop &&
             Around.condition() == None) ||
            C.end_step() <= Around.else_step() ||
            C.first_step() >= Around.else_step());
  }

  const Model &M;
  const Target &T;
  const std::vector<ExprFacts> &Facts;
  std::vector<std::vector<uint32_t>> CountersAt;
  std::vector<const Control *> Open; ///< those around the last, outer first
  uint32_t LastFirst = 0;
  std::set<uint32_t> Taken; ///< counters
};

} // namespace

Result<std::vector<std::vector<uint32_t>>>
validateControls(const Model &M, const Target &T,
                 const std::vector<ExprFacts> &Facts) {
  return ControlValidator(M, T, Facts).run();
}

} // namespace kpc::format
