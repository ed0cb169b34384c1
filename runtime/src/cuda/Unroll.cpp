//===- Unroll.cpp - The steps of a graph, as often as they run ------------===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/cuda/Unroll.h"
#include "runtime/src/cuda/ConditionKernels.h"

#include <algorithm>

namespace kpc::rt::cuda {

namespace {

// More than a copy takes in the time of a readback (about 10 us at 1.5 TB/s,
// read and written).
constexpr uint64_t MostMoved = 8 << 20;
constexpr uint64_t ScratchAlignment = 256;
constexpr uint64_t MoveThreads = 128, MoveBytes = 16, MostMoveBlocks = 264;

uint64_t aligned(uint64_t Bytes) {
  return (Bytes + ScratchAlignment - 1) & ~(ScratchAlignment - 1);
}

BoundParam pointer(const Place &At, uint8_t Access) {
  BoundParam P;
  P.At = At;
  P.Access = Access;
  return P;
}
BoundParam number(uint64_t Size) {
  BoundParam P;
  P.IsSize = true;
  P.Size = Size;
  return P;
}

/// A place in the iterations p, p+2, …: `Step` bytes further each time.
struct Moved {
  Place At, Room;
  int64_t Step = 0;
  uint32_t Loop = 0;
};

class Unroller {
public:
  Unroller(Binding &B, bool IsLimited) : B(B), IsLimited(IsLimited) {
    Moving.resize(B.Params.size());
    for (const BoundControl &C : B.Controls)
      for (const auto *List : {&C.Moving, &C.MovingAtEnd})
        for (const MovingParam &M : *List)
          Moving[M.Param] = &M;
    Out.ScratchBytes = aligned(B.Controls.size() * SlotBytes);
  }

  Result<UnrolledSteps> run(uint32_t First, uint32_t End, uint32_t At) {
    Out.Steps = std::make_unique<BoundSteps>();
    if (Status S = steps(First, End, At, *Out.Steps); !S)
      return S.takeError();
    if (Out.Conditions == 0)
      Out.ScratchBytes = 0;
    return std::move(Out);
  }

private:
  /// A loop around the step at hand that data ends.
  struct Around {
    uint32_t Control;
    int64_t Iteration, Most; ///< 0 or 1, and the greatest number
  };
  static constexpr uint64_t SlotBytes = 16;

  static Error refusal(const char *Why) {
    return failure(ErrorCode::Internal, "%s", Why);
  }

  Status steps(uint32_t Step, uint32_t End, uint32_t At, BoundSteps &Into) {
    while (Step < End) {
      if (At == B.Controls.size() || B.Controls[At].First != Step) {
        if (Status S = step(Step++, Into); !S)
          return S;
        continue;
      }
      if (Status S = control(At, Into); !S)
        return S;
      Step = B.Controls[At].End;
      At = B.Controls[At].Next;
    }
    return success();
  }

  Status control(uint32_t At, BoundSteps &Into) {
    const BoundControl &C = B.Controls[At];
    if (C.HasCondition)
      return C.IsLoop ? loop(At, Into) : branch(At, Into);
    for (int64_t I = 0; I < C.Count; ++I) {
      if (Status S = B.startIteration(C, I); !S)
        return S;
      if (Status S = steps(C.First, C.End, At + 1, Into); !S)
        return S;
    }
    return success();
  }

  Status branch(uint32_t At, BoundSteps &Into) {
    const BoundControl &C = B.Controls[At];
    auto Then = std::make_unique<BoundSteps>(),
         Else = std::make_unique<BoundSteps>();
    if (Status S = steps(C.First, C.Else, At + 1, *Then); !S)
      return S;
    if (Status S = steps(C.Else, C.End, B.firstInElse(At), *Else); !S)
      return S;
    return choose(C.Condition, At, 0, std::move(Then), std::move(Else), Into);
  }

  /// Runs one of two bodies.
  Status choose(const Place &Condition, uint32_t At, unsigned Flags,
                std::unique_ptr<BoundSteps> Then,
                std::unique_ptr<BoundSteps> Else, BoundSteps &Into) {
    uint32_t First = Out.Conditions, Second = First + 1;
    bool HasThen = !Then->Steps.empty(), HasElse = !Else->Steps.empty();
    if (!HasThen && !HasElse)
      return success();
    Out.Conditions += 2;
    // A node that is set twice has the second value.
    if (HasElse)
      Flags |= DecideFlag::HasSecond | DecideFlag::Negated;
    if (Status S = decide(Condition, At, Flags, UINT64_MAX,
                          HasThen ? First : Second, Second, Into);
        !S)
      return S;
    if (HasThen)
      if (Status S = hold(StepKind::If, At, First, std::move(Then), Into); !S)
        return S;
    if (HasElse)
      return hold(StepKind::If, At, Second, std::move(Else), Into);
    return success();
  }

  Status loop(uint32_t At, BoundSteps &Into) {
    const BoundControl &C = B.Controls[At];
    uint32_t Whole = Out.Conditions, Odd = Whole + 1;
    Out.Conditions += 2;
    unsigned Ends = C.MustEnd ? DecideFlag::MustEnd : 0;
    auto Decide = [&](unsigned Flags, uint32_t First, BoundSteps &To) {
      return decide(C.Condition, At, Flags | Ends | DecideFlag::Counts,
                    uint64_t(C.Count), First, Whole, To);
    };
    if (C.Count > 0) {
      if (Status S = Decide(0, Whole, Into); !S)
        return S;
      auto Body = std::make_unique<BoundSteps>();
      if (Status S = iteration(At, 0, *Body); !S)
        return S;
      if (C.Count == 1) {
        if (Status S = Decide(DecideFlag::Next, Whole, *Body); !S)
          return S;
      } else {
        auto Other = std::make_unique<BoundSteps>();
        if (Status S = iteration(At, 1, *Other); !S)
          return S;
        if (Status S = Decide(DecideFlag::Next, Whole, *Other); !S)
          return S;
        if (Status S =
                Decide(DecideFlag::Next | DecideFlag::HasSecond, Odd, *Body);
            !S)
          return S;
        if (Status S = hold(StepKind::If, At, Odd, std::move(Other), *Body); !S)
          return S;
      }
      if (Status S = hold(StepKind::While, At, Whole, std::move(Body), Into);
          !S)
        return S;
    }
    return ending(At, Into);
  }

  Status iteration(uint32_t At, int64_t I, BoundSteps &Into) {
    const BoundControl &C = B.Controls[At];
    if (Status S = B.startIteration(C, I); !S)
      return S;
    Loops.push_back({At, I, C.Count - 1});
    Status S = steps(C.First, C.Else, At + 1, Into);
    Loops.pop_back();
    return S;
  }

  // The steps behind a loop, for an even and an odd number of iterations.
  Status ending(uint32_t At, BoundSteps &Into) {
    const BoundControl &C = B.Controls[At];
    if (C.Else == C.End)
      return success();
    std::unique_ptr<BoundSteps> Bodies[2];
    for (int64_t I = 0; I < 2; ++I) {
      Bodies[I] = std::make_unique<BoundSteps>();
      if (I > C.Count)
        continue;
      if (Status S = B.endLoop(C, I); !S)
        return S;
      Loops.push_back({At, I, C.Count});
      Status S = steps(C.Else, C.End, B.firstInElse(At), *Bodies[I]);
      Loops.pop_back();
      if (!S)
        return S;
    }
    if (C.Count == 0)
      return steps(C.Else, C.End, B.firstInElse(At), Into);
    return choose(slot(At), At, DecideFlag::Parity, std::move(Bodies[1]),
                  std::move(Bodies[0]), Into);
  }

  /// Where a control's counter is. What decides a node writes it and the node
  /// reads it, so that they run in this order.
  static Place slot(uint32_t At) {
    return {Base::Scratch, 0, At * SlotBytes, SlotBytes};
  }

  Status add(BoundSteps &Into, BoundStep S, std::span<const BoundParam> Given) {
    if (++Out.Count > MostLoopSteps && IsLimited)
      return refusal("its graph would have too many steps");
    S.FirstParam = uint32_t(Into.Params.size());
    S.ParamCount = uint32_t(Given.size());
    for (BoundParam P : Given) {
      if (P.TensorMap >= 0) {
        Into.TensorMaps.push_back(B.TensorMaps[size_t(P.TensorMap)]);
        P.TensorMap = int32_t(Into.TensorMaps.size()) - 1;
      }
      Into.Params.push_back(P);
    }
    Into.Steps.push_back(S);
    return success();
  }

  Status decide(const Place &Condition, uint32_t At, unsigned Flags,
                uint64_t Limit, uint32_t First, uint32_t Second,
                BoundSteps &Into) {
    BoundStep S;
    S.Kind = StepKind::Decide;
    S.Kernel = unsigned(OwnKernel::Decide);
    S.Grid = S.Block = {1, 1, 1};
    const BoundParam Given[] = {pointer(Condition, 1), pointer(slot(At), 3),
                                number(Flags),         number(Limit),
                                number(First),         number(Second)};
    return add(Into, S, Given);
  }

  Status hold(StepKind Kind, uint32_t At, uint32_t Handle,
              std::unique_ptr<BoundSteps> Body, BoundSteps &Into) {
    BoundStep S;
    S.Kind = Kind;
    S.Kernel = uint32_t(Into.Bodies.size());
    S.Work = Handle;
    // It touches what its steps touch.
    std::vector<BoundParam> Given = {pointer(slot(At), 1)};
    for (const BoundParam &P : Body->Params)
      if (!P.IsSize && P.Access && P.At.Length)
        Given.push_back(pointer(P.At, P.Access));
    Into.Bodies.push_back(std::move(Body));
    return add(Into, S, Given);
  }

  Status step(uint32_t Index, BoundSteps &Into) {
    const BoundStep &S = B.Steps[Index];
    // A loop may be long and do nothing.
    if (IsLimited && ++Visited > 4 * MostLoopSteps)
      return refusal("its graph would have too many steps");
    if (S.Empty)
      return success();
    std::vector<BoundParam> Given;
    std::vector<Moved> Moves;
    for (uint32_t I = 0; I < S.ParamCount; ++I) {
      Given.push_back(B.Params[S.FirstParam + I]);
      Moved &M = Moves.emplace_back();
      M.At = Given.back().At;
      if (Status Done = motion(S.FirstParam + I, M); !Done)
        return Done;
    }
    if (std::all_of(Moves.begin(), Moves.end(),
                    [](const Moved &M) { return M.Step == 0; }))
      return add(Into, S, Given);
    return S.Kind == StepKind::Copy ? move(Moves[0], Moves[1], Into)
                                    : throughScratch(S, Given, Moves, Into);
  }

  /// How a parameter moves with the loops around that data ends.
  Status motion(uint32_t Param, Moved &Out) {
    const MovingParam *M = Moving[Param];
    const BoundParam &P = B.Params[Param];
    for (const Around &L : Loops) {
      uint32_t Counter = B.Controls[L.Control].Counter;
      auto When = [&](int64_t I) {
        return M ? B.valueWhen(M->Expr, Counter, I) : std::optional(int64_t(0));
      };
      // Both iterations that are looked at need not exist; the last one does.
      int64_t Times = (L.Most - L.Iteration) / 2;
      std::optional<int64_t> Now = When(L.Iteration), Next, Last = Now;
      if (Times > 0) {
        Next = When(L.Iteration + 2);
        Last = When(L.Iteration + 2 * Times);
      } else {
        Next = Now;
      }
      if (!Now || !Next || !Last)
        return refusal("a number of its last iteration is too large");
      if (*Now == *Next)
        continue;
      if (P.IsSize || Out.Step)
        return refusal("a number follows from its iterations");
      for (int64_t Offset : {*Now, *Last})
        if (Offset < 0 || uint64_t(Offset) > M->Room.Length ||
            P.At.Length > M->Room.Length - uint64_t(Offset))
          return refusal("its data alone keeps it inside a buffer");
      Out.Step = *Next - *Now;
      Out.Loop = L.Control;
      Out.Room = M->Room;
    }
    return success();
  }

  Status move(const Moved &To, const Moved &From, BoundSteps &Into) {
    if (To.Step && From.Step && To.Loop != From.Loop)
      return refusal("a copy follows from the iterations of two loops");
    BoundStep S;
    S.Kind = StepKind::Move;
    S.Kernel = unsigned(OwnKernel::Move);
    uint64_t Bytes = To.At.Length,
             Blocks = (Bytes + MoveThreads * MoveBytes - 1) /
                      (MoveThreads * MoveBytes);
    if (Bytes > MostMoved)
      return refusal("copies of what moves with its iterations take longer");
    S.Grid = {uint32_t(std::min(Blocks, MostMoveBlocks)), 1, 1};
    S.Block = {uint32_t(MoveThreads), 1, 1};
    const BoundParam Given[] = {
        pointer(slot(To.Step ? To.Loop : From.Loop), 1), pointer(To.At, 0),
        number(uint64_t(To.Step)), pointer(From.At, 0),
        number(uint64_t(From.Step)), number(Bytes),
        // Not for the kernel: what any iteration touches.
        pointer(To.Step ? To.Room : To.At, 2),
        pointer(From.Step ? From.Room : From.At, 1)};
    return add(Into, S, Given);
  }

  /// A kernel takes scratch memory in place of what moves.
  Status throughScratch(const BoundStep &S, std::vector<BoundParam> &Given,
                        const std::vector<Moved> &Moves, BoundSteps &Into) {
    std::vector<std::pair<Moved, Moved>> Back; ///< place, scratch
    for (size_t I = 0; I < Given.size(); ++I) {
      // What is empty is nowhere: a copy of it would have no blocks.
      if (Moves[I].Step == 0 || Moves[I].At.Length == 0)
        continue;
      const Place &At = Moves[I].At;
      Moved Scratch;
      // A kernel may have one place as a pointer and as a tensor map.
      for (size_t J = 0; J < I; ++J)
        if (Moves[J].Step && Moves[J].At.Where == At.Where &&
            Moves[J].At.Index == At.Index) {
          bool IsSame = Moves[J].At.Offset == At.Offset &&
                        Moves[J].At.Length == At.Length &&
                        Moves[J].Step == Moves[I].Step;
          if (IsSame)
            Scratch.At = Given[J].At;
          else if ((Given[J].Access | Given[I].Access) & 2)
            return refusal("a kernel writes one of two places that move");
        }
      if (!Scratch.At.Length) {
        Scratch.At = {Base::Scratch, 0, Out.ScratchBytes, At.Length};
        Out.ScratchBytes += aligned(At.Length);
        // What is written as well: the kernel may leave some of it as it is.
        if (Status Done = move(Scratch, Moves[I], Into); !Done)
          return Done;
      }
      if (Given[I].Access & 2)
        Back.emplace_back(Moves[I], Scratch);
      Given[I].At = Scratch.At;
    }
    if (Status Done = add(Into, S, Given); !Done)
      return Done;
    for (const auto &[To, From] : Back)
      if (Status Done = move(To, From, Into); !Done)
        return Done;
    return success();
  }

  Binding &B;
  bool IsLimited;
  int64_t Visited = 0; ///< steps, those that do nothing among them
  std::vector<const MovingParam *> Moving; ///< of each parameter
  std::vector<Around> Loops;
  UnrolledSteps Out;
};

} // namespace

Result<UnrolledSteps> unroll(Binding &B, uint32_t First, uint32_t End,
                             uint32_t At, bool IsLimited) {
  return Unroller(B, IsLimited).run(First, End, At);
}

} // namespace kpc::rt::cuda
