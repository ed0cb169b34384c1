//===- Binding.h - A plan with its sizes known ------------------*- C++ -*-===//
//
// Part of kpc, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a target's plan comes to for one choice of symbols: every expression a
/// number, every range inside its buffer, every value at its place in the
/// arena. A run adds nothing but base addresses.
///
//===----------------------------------------------------------------------===//
#ifndef KPC_RUNTIME_SRC_BINDING_H
#define KPC_RUNTIME_SRC_BINDING_H

#include "runtime/src/Arena.h"
#include "runtime/src/BindTimes.h"
#include "runtime/src/Model.h"
#include "runtime/src/TensorMap.h"

#include <array>
#include <memory>
#include <span>
#include <vector>

namespace kpc::rt {

/// What an address is relative to. `Scratch` is memory that a recorded graph
/// owns.
enum class Base : uint8_t { Input, Output, Weight, Arena, Scratch };

/// Bytes of one buffer.
struct Place {
  Base Where = Base::Arena;
  uint32_t Index = 0; ///< the input, output or weight
  uint64_t Offset = 0;
  uint64_t Length = 0;
};

struct BoundParam {
  uint64_t Size = 0; ///< for sizes
  Place At;          ///< for pointers and tensor maps
  /// For tensor maps of steps that are not empty: which of the binding's.
  int32_t TensorMap = -1;
  bool IsSize = false;
  uint8_t Access = 0; ///< 1 read, 2 write
};

/// The last four are in no plan: devices make them of loops and branches.
enum class StepKind : uint8_t { Launch, Copy, Fill, Decide, Move, If, While };

struct BoundStep {
  StepKind Kind = StepKind::Launch;
  bool Empty = false; ///< nothing to do: no work, or no bytes
  uint32_t Kernel = 0;
  uint32_t FirstParam = 0, ParamCount = 0;
  std::array<uint32_t, 3> Grid{}, Block{};
  uint32_t Shared = 0;
  int64_t Work = 0, Grain = 1;
  int64_t Flops = -1;
  int64_t Runs = 1; ///< in one run of the plan, if its branches are taken
  uint32_t Pattern = 0;
  uint8_t PatternBytes = 1;
};

/// Steps and what they are given.
struct BoundSteps {
  std::vector<BoundStep> Steps;
  /// Of launches: as the kernel takes them. Of a copy: destination, source. Of
  /// a fill: the destination.
  std::vector<BoundParam> Params;
  std::vector<BoundTensorMap> TensorMaps;
  std::vector<std::unique_ptr<BoundSteps>> Bodies; ///< of If and While

  std::span<const BoundParam> params(const BoundStep &S) const {
    return {Params.data() + S.FirstParam, S.ParamCount};
  }
};

/// A parameter that is another in each iteration of a loop.
struct MovingParam {
  uint32_t Param = 0;
  uint32_t Expr = 0; ///< of its size, or of its place's offset in `Room`
  Place Room;
};

/// Steps [First, End) that run `Count` times, or of which a condition says
/// whether those before `Else` run or those from there on. In a loop with a
/// condition those before `Else` run while it holds, up to `Count` times, and
/// then those from there on once.
struct BoundControl {
  bool IsLoop = true;
  bool HasCondition = false;
  uint32_t First = 0, End = 0, Else = 0;
  uint32_t Next = 0; ///< the first control that is not inside this one
  int64_t Count = 0;
  bool MustEnd = false; ///< only data ends it: `Count` is the session's limit
  uint32_t Counter = 0; ///< symbol
  Place Condition;
  /// Those of which this is the innermost loop that they depend on.
  std::vector<MovingParam> Moving;
  /// The same, of steps from `Else` on: there the counter is the number of
  /// iterations.
  std::vector<MovingParam> MovingAtEnd;

  uint32_t bodyEnd() const { return HasCondition ? Else : End; }
};

/// Of a loop that only data ends, unless the session says otherwise.
inline constexpr int64_t DefaultIterations = 10'000'000;
/// The error of a loop that data should have ended by then.
Error neverEnds(const BoundControl &Loop);

/// State that a device keeps for a bound shape (a recorded graph).
class Recording {
public:
  virtual ~Recording() = default;
};

/// The part of a plan between two readbacks of sizes that data decides. The
/// whole plan where there are none.
struct Stage {
  uint32_t Number = 0;
  uint32_t First = 0, End = UINT32_MAX; ///< steps
  /// For each symbol whether it is decided only behind this stage. What depends
  /// on such a symbol is left out.
  std::span<const uint8_t> Open;
};

/// The steps before which a target reads sizes back, each once.
std::vector<uint32_t> stageBorders(const format::Target &T);

struct BindOptions {
  bool KeepValues = false;                    ///< no two values share memory
  int64_t MostIterations = DefaultIterations; ///< of loops that only data ends
};

class Binding : public BoundSteps {
public:
  static Result<std::unique_ptr<Binding>> make(const Model &M,
                                               const format::Target &T,
                                               std::span<const int64_t> Symbols,
                                               const Stage &Part,
                                               const BindOptions &Options);

  /// Bytes that a launch touches in the direction given by `Access`. What it
  /// is given as a pointer and through tensor maps counts once.
  int64_t bytesTouched(const BoundStep &S, uint8_t Access) const;

  const format::Model &table() const { return *Table; }
  /// The value of an expression with the counters of loops as they stand, but
  /// for one of them.
  std::optional<int64_t> valueWhen(uint32_t Expr, uint32_t Counter, int64_t Is);
  /// Brings the parameters inside a loop to its iteration `I`.
  Status startIteration(const BoundControl &Loop, int64_t I);
  /// Brings those of its end to its number of iterations.
  Status endLoop(const BoundControl &Loop, int64_t Iterations);
  /// Calls `Visit(Step)` for the steps of a run in order, their parameters
  /// being those of the iteration at hand. `Holds(Place)` reads a condition.
  template <class Visit, class Condition>
  Status walk(Visit OnStep, Condition Holds) {
    return walk(0, uint32_t(Steps.size()), 0, OnStep, Holds);
  }
  /// The same for some steps; `At` is the first control behind their begin.
  template <class Visit, class Condition>
  Status walk(uint32_t Step, uint32_t End, uint32_t At, Visit &OnStep,
              Condition &Holds) {
    while (Step < End) {
      if (At == Controls.size() || Controls[At].First != Step) {
        if (Status S = OnStep(Step); !S)
          return S;
        ++Step;
        continue;
      }
      if (Status S = walkControl(At, OnStep, Holds); !S)
        return S;
      Step = Controls[At].End;
      At = Controls[At].Next;
    }
    return success();
  }
  template <class Visit, class Condition>
  Status walkControl(uint32_t At, Visit &OnStep, Condition &Holds) {
    const BoundControl &C = Controls[At];
    if (C.HasCondition)
      return C.IsLoop ? walkUntil(At, OnStep, Holds)
                      : walkBranch(At, OnStep, Holds);
    for (int64_t I = 0; I < C.Count; ++I) {
      if (Status S = startIteration(C, I); !S)
        return S;
      if (Status S = walk(C.First, C.End, At + 1, OnStep, Holds); !S)
        return S;
    }
    return success();
  }
  template <class Visit, class Condition>
  Status walkBranch(uint32_t At, Visit &OnStep, Condition &Holds) {
    const BoundControl &C = Controls[At];
    Result<bool> Taken = Holds(C.Condition);
    if (!Taken)
      return Taken.takeError();
    return *Taken ? walk(C.First, C.Else, At + 1, OnStep, Holds)
                  : walk(C.Else, C.End, firstInElse(At), OnStep, Holds);
  }
  template <class Visit, class Condition>
  Status walkUntil(uint32_t At, Visit &OnStep, Condition &Holds) {
    const BoundControl &C = Controls[At];
    int64_t I = 0;
    for (; I < C.Count; ++I) {
      Result<bool> GoesOn = Holds(C.Condition);
      if (!GoesOn)
        return GoesOn.takeError();
      if (!*GoesOn)
        break;
      if (Status S = startIteration(C, I); !S)
        return S;
      if (Status S = walk(C.First, C.Else, At + 1, OnStep, Holds); !S)
        return S;
    }
    if (C.MustEnd && I == C.Count) {
      Result<bool> GoesOn = Holds(C.Condition);
      if (!GoesOn)
        return GoesOn.takeError();
      if (*GoesOn)
        return neverEnds(C);
    }
    if (Status S = endLoop(C, I); !S)
      return S;
    return walk(C.Else, C.End, firstInElse(At), OnStep, Holds);
  }
  /// The first control inside `At` that lies behind its `Else`.
  uint32_t firstInElse(uint32_t At) const {
    uint32_t Inside = At + 1;
    while (Inside < Controls[At].Next &&
           Controls[Inside].First < Controls[At].Else)
      ++Inside;
    return Inside;
  }

  struct PortShape {
    std::vector<int64_t> Dims;
    uint64_t Bytes = 0;
    uint64_t Alignment = 1; ///< that some step needs
    bool Open = false;      ///< its size is decided behind this stage
  };
  struct ValueShape {
    std::vector<int64_t> Dims;
    Place At;
  };

  std::vector<int64_t> Symbols;
  uint32_t StageNumber = 0;
  /// Steps of the stage: [FirstStep, EndStep).
  uint32_t FirstStep = 0, EndStep = 0;
  std::vector<PortShape> Inputs, Outputs;
  std::vector<BoundControl> Controls; ///< by first step, outer ones first
  std::vector<ValueShape> Values;
  ArenaPlan Arena;
  kpc_bind_times Times{};
  uint64_t LastUse = 0;
  std::unique_ptr<Recording> Recorded;

private:
  friend class Binder;
  Status move(std::span<const MovingParam> Moving, int64_t Iteration);
  const format::Model *Table = nullptr;
  std::vector<int64_t> Counted; ///< symbols, counters of loops as they stand
};

} // namespace kpc::rt

#endif // KPC_RUNTIME_SRC_BINDING_H
