//===- Segments.cpp - A plan cut where it cannot be one graph -------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/cuda/Segments.h"

namespace kpc::rt::cuda {

namespace {

class Cutter {
public:
  explicit Cutter(const Binding &B) : B(B) {}

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

  // How many steps a loop runs in all; with a condition, more than any.
  int64_t loopSteps(uint32_t At) const {
    int64_t Runs = 0;
    for (uint32_t I = At; I < B.Controls[At].Next; ++I)
      if (B.Controls[I].HasCondition)
        return INT64_MAX;
    for (uint32_t I = B.Controls[At].First; I < B.Controls[At].End; ++I)
      if (__builtin_add_overflow(Runs, B.Steps[I].Runs, &Runs))
        return INT64_MAX;
    return Runs;
  }

  const Binding &B;
};

} // namespace

std::vector<Segment> cutIntoSegments(const Binding &B) {
  std::vector<Segment> Out;
  Cutter(B).cut(0, uint32_t(B.Steps.size()), 0, Out);
  if (Out.empty())
    Out.emplace_back(); // a plan that does nothing
  return Out;
}

Result<std::unique_ptr<BoundSteps>> unroll(Binding &B, const Segment &S) {
  auto Out = std::make_unique<BoundSteps>();
  auto Add = [&](uint32_t Step) -> Status {
    BoundStep Copy = B.Steps[Step];
    Copy.FirstParam = uint32_t(Out->Params.size());
    for (BoundParam P : B.params(B.Steps[Step])) {
      if (P.TensorMap >= 0) {
        Out->TensorMaps.push_back(B.TensorMaps[size_t(P.TensorMap)]);
        P.TensorMap = int32_t(Out->TensorMaps.size()) - 1;
      }
      Out->Params.push_back(P);
    }
    Out->Steps.push_back(Copy);
    return success();
  };
  auto None = [](const Place &) -> Result<bool> { return false; };
  if (Status Done = B.walk(S.First, S.End, S.Control, Add, None); !Done)
    return Done.takeError();
  return Result<std::unique_ptr<BoundSteps>>(std::move(Out));
}

} // namespace kpc::rt::cuda
