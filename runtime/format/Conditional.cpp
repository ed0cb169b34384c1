//===- Conditional.cpp - What data decides without the host ---------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/format/Conditional.h"
#include "runtime/format/ValidateTarget.h"

#include <algorithm>

namespace kpc::format {

Motion motionOf(std::span<const int64_t> Words, int64_t Counter) {
  struct Item {
    Motion How = Motion::None;
    bool IsTwo = false;
  };
  std::vector<Item> Stack;
  for (uint32_t I = 0; I < Words.size(); ++I) {
    auto Code = Op(Words[I]);
    if (Code == Op::Constant) {
      Stack.push_back({Motion::None, Words[++I] == 2});
      continue;
    }
    if (Code == Op::Symbol) {
      bool Counts = Words[++I] == Counter;
      Stack.push_back({Counts ? Motion::Steps : Motion::None});
      continue;
    }
    Item B = Stack.back();
    Stack.pop_back();
    Item A = Stack.back();
    Stack.pop_back();
    Motion Most = std::max(A.How, B.How);
    if (Most == Motion::Steps && Code != Op::Add) {
      bool IsMultiple =
          Code == Op::Mul && std::min(A.How, B.How) != Motion::Steps;
      bool IsParity = Code == Op::Mod && B.IsTwo;
      Most = IsMultiple ? Motion::Steps
             : IsParity ? Motion::Turns
                        : Motion::Other;
    }
    Stack.push_back({Most});
  }
  return Stack.empty() ? Motion::Other : Stack.back().How;
}

namespace {

/// The loops that data ends around a step, inside a control.
class Reasons {
public:
  Reasons(const Model &M, const Target &T) : M(M), T(T) {}

  const char *of(uint32_t At) {
    const Control &Whole = *T.controls()->Get(At);
    for (const Readback *R : each(T.readbacks()))
      if (R->step() <= Whole.first_step())
        return "it follows sizes that data decides";
    for (uint32_t Step = Whole.first_step(); Step < Whole.end_step(); ++Step) {
      Counters.clear();
      for (uint32_t I = At; I < T.controls()->size(); ++I) {
        const Control &C = *T.controls()->Get(I);
        if (C.first_step() > Step)
          break;
        if (C.kind() == ControlKind::Loop && C.condition() != None &&
            C.first_step() <= Step && Step < C.end_step())
          Counters.push_back(C.counter());
      }
      if (Counters.empty())
        continue;
      if (const char *Why = ofStep(*T.steps()->Get(Step)))
        return Why;
    }
    return nullptr;
  }

private:
  const char *ofStep(const Step &S) {
    if (const Launch *L = S.action_as_Launch()) {
      if (const char *Why = ofLaunch(*L))
        return Why;
      for (const Alternative *A : each(L->alternatives()))
        if (const char *Why = ofLaunch(*A->launch()))
          return Why;
    } else if (const Copy *C = S.action_as_Copy()) {
      for (uint32_t Offset : {C->source_offset(), C->destination_offset()})
        if (const char *Why = ofNumber(Offset, /*IsPlace=*/true))
          return Why;
    }
    return nullptr;
  }

  const char *ofLaunch(const Launch &L) {
    for (const Param *P : each(L.params())) {
      bool IsPlace = P->kind() != ParamKind::Size;
      if (const char *Why =
              ofNumber(IsPlace ? P->offset() : P->size(), IsPlace))
        return Why;
    }
    return nullptr;
  }

  const char *ofNumber(uint32_t Number, bool IsPlace) {
    if (Number == None)
      return nullptr;
    unsigned Loops = 0;
    for (uint32_t Counter : Counters) {
      const auto &Words = *M.exprs()->Get(Number)->words();
      Motion How = motionOf({Words.data(), Words.size()}, Counter);
      if (How == Motion::Other || (How == Motion::Steps && !IsPlace))
        return IsPlace ? PlaceDoesNotStep : TakesIterationNumber;
      Loops += How == Motion::Steps;
    }
    return Loops > 1 ? "a place follows from the iterations of two loops that "
                       "data ends"
                     : nullptr;
  }

  const Model &M;
  const Target &T;
  std::vector<uint32_t> Counters;
};

bool dependsOnData(const Target &T, uint32_t At) {
  uint32_t End = T.controls()->Get(At)->end_step();
  for (uint32_t I = At;
       I < T.controls()->size() && T.controls()->Get(I)->first_step() < End;
       ++I)
    if (T.controls()->Get(I)->condition() != None)
      return true;
  return false;
}

} // namespace

const char *whyReadBack(const Model &M, const Target &T, uint32_t Control) {
  return Reasons(M, T).of(Control);
}

std::vector<const char *> readBackReasons(const Model &M, const Target &T) {
  uint32_t Count = count(T.controls());
  std::vector<const char *> Out(Count, nullptr);
  for (uint32_t At = 0; At < Count;) {
    const Control &C = *T.controls()->Get(At);
    const char *Why = dependsOnData(T, At) ? whyReadBack(M, T, At) : nullptr;
    if (!Why || C.kind() == ControlKind::If) {
      // What is inside a branch is looked at by itself; of what is a node
      // itself, nothing has a reason.
      Out[At++] = Why;
      continue;
    }
    for (uint32_t End = C.end_step();
         At < Count && T.controls()->Get(At)->first_step() < End; ++At)
      if (dependsOnData(T, At))
        Out[At] = Why;
  }
  return Out;
}

} // namespace kpc::format
