//===- Segments.cpp - A plan cut where it cannot be one graph -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/cuda/Segments.h"
#include "runtime/format/Conditional.h"

namespace kpc::rt::cuda {

namespace {

class Cutter {
public:
  Cutter(Binding &B, const format::Target &T, bool Conditions,
         const Log &TheLog)
      : B(B), T(T), Conditions(Conditions), TheLog(TheLog) {}

  void cut(uint32_t Step, uint32_t End, uint32_t At,
           std::vector<Segment> &Out) {
    while (Step < End) {
      if (At == B.Controls.size() || B.Controls[At].First != Step) {
        graphIn(Out, Step, At, 0).End = Step + 1;
        ++Step;
        continue;
      }
      const BoundControl &C = B.Controls[At];
      int64_t Runs = loopSteps(At);
      if (Runs <= MostLoopSteps) {
        Segment &Graph = graphIn(Out, Step, At, Runs);
        Graph.End = C.End;
        Graph.LoopSteps += Runs;
      } else {
        Segment &Own = Out.emplace_back();
        Own.Control = At;
        Own.What = C.IsLoop ? Segment::Kind::OneByOne : Segment::Kind::Branch;
        if (!C.IsLoop) {
          cut(C.First, C.Else, At + 1, Own.Then);
          cut(C.Else, C.End, B.firstInElse(At), Own.Else);
        }
      }
      Step = C.End;
      At = C.Next;
    }
  }

private:
  // The graph that goes on with `Step`: the last, or a new one.
  static Segment &graphIn(std::vector<Segment> &Out, uint32_t Step, uint32_t At,
                          int64_t Runs) {
    if (Out.empty() || Out.back().What != Segment::Kind::Graph ||
        Out.back().LoopSteps + Runs > MostLoopSteps) {
      Segment &New = Out.emplace_back();
      New.First = New.End = Step;
      New.Control = At;
    }
    return Out.back();
  }

  // How many steps a loop runs in all; as conditional nodes, how many there
  // are. More than any where its conditions are read back.
  int64_t loopSteps(uint32_t At) {
    int64_t Runs = 0;
    for (uint32_t I = At; I < B.Controls[At].Next; ++I)
      if (B.Controls[I].HasCondition)
        return conditionalSteps(At);
    for (uint32_t I = B.Controls[At].First; I < B.Controls[At].End; ++I)
      if (__builtin_add_overflow(Runs, B.Steps[I].Runs, &Runs))
        return INT64_MAX;
    return Runs;
  }

  int64_t conditionalSteps(uint32_t At) {
    if (!Conditions)
      return INT64_MAX;
    const BoundControl &C = B.Controls[At];
    std::string Why;
    if (const char *Known = format::whyReadBack(B.table(), T, At)) {
      Why = Known;
    } else {
      auto Tried = unroll(B, C.First, C.End, At, /*IsLimited=*/true);
      if (Tried)
        return Tried->Count;
      Why = Tried.error().Message;
    }
    TheLog.info(formatted("steps %u to %u wait for the device: %s", C.First,
                          C.End - 1, Why.c_str()));
    return INT64_MAX;
  }

  Binding &B;
  const format::Target &T;
  bool Conditions;
  const Log &TheLog;
};

} // namespace

std::vector<Segment> cutIntoSegments(Binding &B, const format::Target &T,
                                     bool Conditions, const Log &TheLog) {
  std::vector<Segment> Out;
  Cutter(B, T, Conditions, TheLog).cut(0, uint32_t(B.Steps.size()), 0, Out);
  if (Out.empty())
    Out.emplace_back(); // a plan that does nothing
  return Out;
}

} // namespace kpc::rt::cuda
